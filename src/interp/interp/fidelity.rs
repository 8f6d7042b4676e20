//! What a run rests on besides its input: operations that the PTX ISA leaves open.
//!
//! In: a module, and a launch that runs without a fault. Out: the executed instructions whose results may have other bits on a
//! GPU, and where approximate values decide more than values: branches and addresses.
//!
//! The launch is executed again. Approximate values are marked and followed as [`super::poison`] follows undetermined ones; a
//! use that would be a fault there is noted here. Marks end at branches whose paths do more than compute, and where `cp.async`
//! copies bytes that the launch has stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::fault::Fault;
use super::kernel::Kernel;
use super::profile::Profile;
use super::program::Program;
use super::recorder::Recorder;
use crate::launch::Launch;
use crate::ptx::{Instruction, Module, Operand, Statement};
use crate::source::Span;

/// Why the result of an instruction is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Open {
    /// An approximation, whose error alone the PTX ISA bounds. The interpreter computes in double precision and rounds once.
    Approximate,
    /// A matrix product of floating-point numbers: order and rounding of its sums are open. The interpreter adds in double
    /// precision in ascending order and rounds once.
    Product,
    /// A multiplication that an assembler may join with an addition into one `fma`; the interpreter rounds twice.
    Contraction,
    /// An atomic sum of floating-point numbers, which depends on the order of the threads.
    Sum,
    /// An atomic operation whose old value is used, which depends on the order of the threads.
    OldValue,
}

/// An executed instruction whose result is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInstruction {
    /// The instruction.
    pub span: Span,
    /// The opcode with its modifiers.
    pub opcode: String,
    /// Why its result is open.
    pub open: Open,
    /// How many lanes have executed it.
    pub lanes: u64,
}

/// A use of an approximate value that decides more than a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The instruction.
    pub span: Span,
    /// What the value decides, in words.
    pub what: &'static str,
}

/// What a run rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fidelity {
    /// The executed instructions whose results are open, in the order of the text.
    pub open: Vec<OpenInstruction>,
    /// Where approximate values and matrix products, and what was computed from them, reach branches and addresses.
    pub reached: Vec<Reached>,
}

/// Follows the instructions whose results are approximate.
fn recorder(program: &Program, open: &BTreeMap<Span, (Open, String)>) -> Recorder {
    let is_marked =
        |span: &Span| matches!(open.get(span), Some((Open::Approximate | Open::Product, _)));
    let sites = program.functions.iter().flat_map(|function| {
        let marked = function.spans.iter_enumerated().filter(|(_, span)| is_marked(span));
        marked.map(|(pc, _)| function.site(pc))
    });
    Recorder::new(sites)
}

/// Executes a launch and tells its fidelity.
///
/// # Errors
/// The launch faults; or a value is marked whose way is not followed, which the message says.
pub fn fidelity(module: &Module<'_>, launch: &Launch) -> Result<Fidelity, Fault> {
    let launch = Launch { uninitialized: true, races: false, ..launch.clone() };
    let kernel = Kernel::new(module, &launch, false)?;
    let open = open_instructions(module);
    let recorder = Arc::new(recorder(&kernel.program, &open));
    let executed = kernel.execute_marked::<Profile>(&launch, &recorder)?;
    let mut found: Vec<OpenInstruction> = Vec::new();
    for instruction in executed.instructions(&kernel.program) {
        if let Some((open, opcode)) = open.get(&instruction.span) {
            let lanes = instruction.counters.lane_instructions;
            let (span, open, opcode) = (instruction.span, *open, opcode.clone());
            found.push(OpenInstruction { span, opcode, open, lanes });
        }
    }
    found.sort_by_key(|instruction| instruction.span);
    let reached = recorder.reached().into_iter();
    let reached = reached.map(|(site, what)| Reached { span: kernel.program.span(site), what });
    let mut reached: Vec<Reached> = reached.collect();
    reached.dedup();
    Ok(Fidelity { open: found, reached })
}

/// The instructions of a module whose results are open.
fn open_instructions(module: &Module<'_>) -> BTreeMap<Span, (Open, String)> {
    let mut found = BTreeMap::new();
    for function in module.functions() {
        let mut all = Vec::new();
        collect(function.statements().unwrap_or_default(), &mut all);
        let mut reads: FxHashMap<&str, Vec<&Instruction<'_>>> = FxHashMap::default();
        for &instruction in &all {
            let written = instruction.operands.first().map(Operand::span);
            for name in instruction.names() {
                if written.is_none_or(|written| written.start != name.span.start) {
                    reads.entry(name.text).or_default().push(instruction);
                }
            }
        }
        for instruction in all {
            if let Some(open) = why_open(instruction, &reads) {
                found.insert(instruction.span, (open, instruction.opcode.text.to_owned()));
            }
        }
    }
    found
}

fn collect<'m, 's>(statements: &'m [Statement<'s>], all: &mut Vec<&'m Instruction<'s>>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => all.push(instruction),
            Statement::Block { statements, .. } => collect(statements, all),
            _ => {}
        }
    }
}

/// Whether a modifier is a floating-point type.
fn is_float(part: &str) -> bool {
    ["f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f32x2", "f64"].contains(&part)
        || ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"].iter().any(|kind| part.starts_with(kind))
}

/// Whether an instruction is `name`, without a rounding that would keep it apart from others.
fn is_loose(parts: &[&str], name: &str) -> bool {
    let rounds = |part: &&str| ["rn", "rz", "rm", "rp"].contains(part);
    parts[0] == name && parts.iter().any(|part| is_float(part)) && !parts.iter().any(rounds)
}

/// Why the result of an instruction is open, if it is; `reads`: the instructions that read a register.
fn why_open(
    instruction: &Instruction<'_>,
    reads: &FxHashMap<&str, Vec<&Instruction<'_>>>,
) -> Option<Open> {
    let parts: Vec<&str> = instruction.opcode.text.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let of_floats = parts.iter().any(|part| is_float(part));
    let readers = || {
        let d = match instruction.operands.first() {
            Some(Operand::Name(name)) => reads.get(name.text),
            _ => None,
        };
        d.into_iter().flatten()
    };
    match parts[0] {
        _ if has("approx") => Some(Open::Approximate),
        "div" if has("full") => Some(Open::Approximate),
        "mma" if of_floats => Some(Open::Product),
        "wmma" if has("mma") && of_floats => Some(Open::Product),
        "atom" | "red" | "cp" if has("add") && of_floats => Some(Open::Sum),
        "atom" => readers().next().map(|_| Open::OldValue),
        "mul" if is_loose(&parts, "mul") => {
            let joins = |reader: &&Instruction<'_>| {
                let parts: Vec<&str> = reader.opcode.text.split('.').collect();
                is_loose(&parts, "add") || is_loose(&parts, "sub")
            };
            readers().any(joins).then_some(Open::Contraction)
        }
        _ => None,
    }
}
