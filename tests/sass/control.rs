//! The control fields, which `nvdisasm` does not print, against the code: who reads a result that a scoreboard tells of waits
//! for that scoreboard, loads and shuffles have one, and who reads a result of fixed latency comes late enough.

use std::collections::BTreeMap;

use super::Count;
use ptxasw::sass::code::Function;
use ptxasw::sass::encoding::{Operand, Slot};
use ptxasw::sass::graph::Graph;
use ptxasw::sass::opcodes::{Opcodes, Role};
use ptxasw::sass::schedule::is_unscheduled;

/// The fewest cycles from an instruction of fixed latency to one that reads its result, in a thread's register.
/// Source: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), Table 4.1, and the same of
/// Turing (2019): 4 cycles for the fastest instructions. Nothing is published of 9.0 and newer, where ptxas leaves 3 behind the
/// low word of a wide product.
fn shortest(architecture: u32, uniform: bool) -> u32 {
    match architecture {
        // (The results of the uniform datapath: Turing, 2019.)
        _ if uniform => 2,
        90.. => 3,
        _ => 4,
    }
}

/// A result that has not been read yet.
#[derive(Clone, Copy)]
struct Result {
    /// The scoreboard that tells of the result.
    written: Option<u8>,
    /// Whether a later instruction of the same unit will tell of it.
    is_pending: bool,
    /// The one that tells that the operands have been read. A unit that works in order needs no other.
    read: Option<u8>,
    /// Cycles since it was issued.
    age: u32,
    opcode: &'static str,
}

/// Whether results always come by a scoreboard: nobody knows when.
fn has_scoreboard(role: Role) -> bool {
    matches!(role, Role::LoadGlobal | Role::LoadGeneric | Role::LoadLocal) || is_in_order(role)
}

/// Whether results come in the order of the instructions, so that the scoreboard of a later one tells of them, too: shared
/// memory, and the shuffles, which use its crossbar.
fn is_in_order(role: Role) -> bool {
    matches!(role, Role::LoadShared | Role::Shuffle)
}

/// What reads a result too early, and results that nothing tells of.
pub fn violations(architecture: u32, function: &Function, count: &mut Count) -> Vec<String> {
    let (Some(table), Ok(graph)) = (Opcodes::of(architecture), Graph::new(function, architecture))
    else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    for block in &graph.blocks {
        if is_unscheduled(&function.instructions[block.first..block.end], table) {
            continue;
        }
        let mut results: BTreeMap<(bool, u8), Result> = BTreeMap::new();
        for &instruction in &function.instructions[block.first..block.end] {
            let Some(opcode) = table.get(instruction) else { break };
            let control = instruction.control();
            if matches!(opcode.class.role, Role::PartialWait | Role::Error) {
                // Which of the results it waits for is not written there; what reports errors waits for all.
                results.clear();
            }
            let waits = |number: u8| control.waits >> number & 1 != 0;
            results.retain(|_, result| !result.written.or(result.read).is_some_and(waits));
            let number = |operand: &Operand| {
                Some((operand.uniform, instruction.operand(*operand, architecture)?))
            };
            let sources = opcode.operands.iter().filter(|operand| operand.slot != Slot::D);
            for read in sources.filter_map(number) {
                let Some(result) = results.get(&read) else { continue };
                let says = |what: &str| {
                    let (from, to) = (result.opcode, opcode.mnemonic);
                    format!("{from} to {to} at {:#x}: {what}", instruction.offset)
                };
                let least = shortest(architecture, read.0);
                match result.written {
                    _ if result.is_pending => wrong.push(says("no scoreboard")),
                    Some(number) => wrong.push(says(&format!("no wait for scoreboard {number}"))),
                    None if result.age < least => {
                        wrong.push(says(&format!("{} cycles", result.age)));
                    }
                    None => count.distances += 1,
                }
            }
            count.readers += usize::from(control.waits != 0);
            if is_in_order(opcode.class.role) && control.writes.is_some() {
                for earlier in results.values_mut().filter(|result| result.is_pending) {
                    *earlier = Result { written: control.writes, is_pending: false, ..*earlier };
                }
            }
            let stall = u32::from(control.stall).max(1);
            let written = opcode.operands.iter().find(|operand| operand.slot == Slot::D);
            if let Some(written) = written.and_then(number) {
                let role = opcode.class.role;
                let is_told = !has_scoreboard(role) || control.writes.is_some();
                if !is_told && !is_in_order(role) {
                    let offset = instruction.offset;
                    wrong.push(format!("{} at {offset:#x}: no scoreboard", opcode.mnemonic));
                }
                let result = Result {
                    written: control.writes,
                    is_pending: !is_told,
                    read: control.reads,
                    age: 0,
                    opcode: opcode.mnemonic,
                };
                results.insert(written, result);
            }
            results.values_mut().for_each(|result| result.age += stall);
        }
    }
    wrong
}
