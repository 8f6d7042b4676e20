//! Emitted code against the sketch: executed in the interpreter, and compared with the goals.

use super::kernel::Kernel;
use super::taint;
use crate::interp;
use crate::isa::ScalarType;
use crate::launch::{Buffer, Launch, Type};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;
use crate::synth::Lowered;
use crate::synth::program::{CellId, Statement};
use crate::synth::term::{Fold, InputId, Node, TermId, Terms, UNDEFINED};
use std::collections::BTreeMap;
use typed_index_collections::{TiSlice, TiVec};

/// How often reductions are executed, each time on other numbers.
const ROUNDS: u64 = 3;

/// Whether a sketch only moves values.
pub fn is_movement(sketch: &Lowered) -> bool {
    let program = &sketch.program;
    !program.statements.iter().any(|statement| matches!(statement, Statement::Fold { .. }))
        && program.goals.iter().all(|goal| matches!(program.terms.node(goal.term), Node::Atom(..)))
}

/// Pairwise distinct numbers, also when truncated to 32 bits: products with an odd number.
fn distinct(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The value of a term; none for an unspecified one.
fn value(terms: &Terms, term: TermId, inputs: &TiSlice<InputId, Vec<u64>>) -> Option<u64> {
    let go = |term: &TermId| value(terms, *term, inputs);
    match terms.node(term) {
        Node::Undefined => None,
        Node::Atom(input, index) => inputs[*input].get(*index as usize).copied(),
        Node::Product(factors) => {
            factors.iter().try_fold(1u64, |product, factor| Some(product.wrapping_mul(go(factor)?)))
        }
        Node::Fold(op, values) => {
            let values: Vec<u64> = values.iter().map(go).collect::<Option<_>>()?;
            let values = values.into_iter();
            match op {
                Fold::Sum => Some(values.fold(0, u64::wrapping_add)),
                Fold::Xor => Some(values.fold(0, |a, b| a ^ b)),
                Fold::Or => Some(values.fold(0, |a, b| a | b)),
                Fold::And => Some(values.fold(u64::MAX, |a, b| a & b)),
                Fold::Min => values.map(|v| v as i64).min().map(|v| v as u64),
                Fold::Max => values.map(|v| v as i64).max().map(|v| v as u64),
                Fold::List => None,
            }
        }
    }
}

/// Executes a kernel's code, its first entry or the named one, and compares the stored values with the goals.
///
/// # Errors
/// The code cannot be parsed, it faults, an address or a lane depends on data, or a value is wrong.
pub fn check(
    kernel: &Kernel,
    sketch: &Lowered,
    code: &str,
    entry: &str,
    width: ScalarType,
) -> Result<(), String> {
    let source = SourceFile::new(kernel.name.as_str(), code);
    let module = ptx::parse(&source, Depth::All).map_err(|error| error.to_string())?;
    let movement = is_movement(sketch);
    taint::check(&module, entry, movement)?;
    for round in 0..if movement { 1 } else { ROUNDS } {
        let mut random = fastrand::Rng::with_seed(round);
        let mut number = 0;
        let mut element = || {
            number += 1;
            match (movement, width) {
                (true, _) => distinct(number),
                // (With a sign, so that the larger of two is the same one in 32 bits as in 64.)
                (false, ScalarType::B32) => i64::from(random.i32(..)) as u64,
                (false, _) => random.u64(..),
            }
        };
        let inputs: TiVec<InputId, Vec<u64>> = kernel
            .inputs
            .iter()
            .map(|(_, count)| (0..*count).map(|_| element()).collect())
            .collect();
        let outcome = interp::run(&module, &launch(kernel, &inputs, entry, width))
            .map_err(|fault| fault.to_string())?;
        compare(kernel, sketch, &inputs, &outcome.buffers, width)?;
    }
    Ok(())
}

/// The launch of one warp.
fn launch(
    kernel: &Kernel,
    inputs: &TiSlice<InputId, Vec<u64>>,
    entry: &str,
    width: ScalarType,
) -> Launch {
    let ty = if width == ScalarType::B32 { Type::U32 } else { Type::U64 };
    let bytes = |elements: &[u64]| -> Vec<u8> {
        elements
            .iter()
            .flat_map(|e| e.to_le_bytes()[..width.bits() as usize / 8].to_vec())
            .collect()
    };
    let mut launch = Launch::one_warp(entry.to_owned());
    let mut add = |name: String, bytes: Vec<u8>| launch.point_into(name, Buffer { ty, bytes }, 0);
    for ((name, _), elements) in kernel.inputs.iter().zip(inputs) {
        add(format!("input {name}"), bytes(elements));
    }
    for &goal in &kernel.goals {
        let array = &kernel.arrays[goal];
        let size = array.count() * kernel.lanes.places() * width.bits() as usize / 8;
        add(format!("output {}", array.name), vec![0xa5; size]);
    }
    launch
}

fn compare(
    kernel: &Kernel,
    sketch: &Lowered,
    inputs: &TiSlice<InputId, Vec<u64>>,
    buffers: &BTreeMap<String, Buffer>,
    width: ScalarType,
) -> Result<(), String> {
    let program = &sketch.program;
    let lanes = kernel.lanes.places();
    let mut compared = 0;
    for &goal in &kernel.goals {
        let name = &kernel.arrays[goal].name;
        let actual: Vec<u64> = buffers[&format!("output {name}")].elements().collect();
        let array = &sketch.arrays[name];
        for (flat, cell) in array.cells.iter().enumerate() {
            let wanted = program
                .goals
                .iter()
                .filter(|goal| goal.cell == *cell && *cell != CellId::UNDEFINED);
            for goal in wanted.filter(|goal| goal.term != UNDEFINED) {
                let Some(mut expected) = value(&program.terms, goal.term, inputs) else { continue };
                if width == ScalarType::B32 {
                    expected &= u64::from(u32::MAX);
                }
                let (lane, register) = sketch.place(array, flat);
                let element = lanes * register + lane;
                if actual[element] != expected {
                    let found = actual[element];
                    return Err(format!(
                        "{} is {found:#x} in lane {lane}, and {expected:#x} is right",
                        goal.name
                    ));
                }
                compared += 1;
            }
        }
    }
    if compared == 0 { Err("no goal could be compared".to_owned()) } else { Ok(()) }
}
