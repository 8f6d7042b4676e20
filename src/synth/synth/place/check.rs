//! The emitted kernel in the interpreter: the loaded values, and the wavefronts of shared memory.

use super::problem::Placement;
use super::search::Outcome;
use crate::interp;
use crate::launch::{Buffer, Launch, Type};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

/// Executes the kernel and compares the loaded values with the stored ones, and its wavefronts with the model's.
///
/// # Errors
/// The code cannot be parsed, it faults, an element is wrong, or the wavefronts differ.
pub fn check(
    name: &str,
    placement: &Placement,
    outcome: &Outcome,
    code: &str,
) -> Result<(), String> {
    let source = SourceFile::new(name, code);
    let module = ptx::parse(&source, Depth::All).map_err(|error| error.to_string())?;
    let element = placement.element as usize;
    // Bytes that differ between neighbouring elements.
    let size = placement.cells() * element;
    let input: Vec<u8> = (0..size).map(|at| (at ^ at >> 8) as u8 ^ (at >> 3) as u8).collect();
    let loads = &placement.accesses[1..];
    let rounds = |bytes: u64| 32 * bytes as usize;
    let written: usize = loads.iter().map(|a| a.rounds.len() * rounds(a.bytes)).sum();
    let outputs = vec![0xa5; written.max(1)];
    let mut launch = Launch {
        // Accesses may load elements that the first one has not stored; these are counted and not compared.
        uninitialized: false,
        ..Launch::one_warp(format!("{name}_kernel"))
    };
    for (name, bytes) in [("input", input.clone()), ("output", outputs)] {
        launch.point_into(name.to_owned(), Buffer { ty: Type::U8, bytes }, 0);
    }
    let done = interp::run(&module, &launch).map_err(|fault| fault.to_string())?;
    let counted = done.counters.shared_wavefronts;
    if counted != u64::from(outcome.cost.all()) {
        let model = outcome.cost.all();
        return Err(format!("it takes {counted} wavefronts, and by the model {model}"));
    }
    // Elements that the first access has stored.
    let mut stored = vec![false; placement.cells()];
    let first = &placement.accesses[0];
    let several = (first.bytes / placement.element) as usize;
    for cell in first.rounds.iter().flatten() {
        stored[*cell..][..several].fill(true);
    }
    let output = &done.buffers["output"].bytes;
    let mut start = 0;
    for access in loads {
        let bytes = access.bytes as usize;
        for (cells, mask) in access.rounds.iter().zip(&access.masks) {
            let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
            for (&cell, lane) in cells.iter().zip(lanes) {
                let wanted = &input[cell * element..][..bytes];
                if stored[cell] && output[start + lane * bytes..][..bytes] != *wanted {
                    return Err(format!("lane {lane} loads something else than element {cell}"));
                }
            }
            start += rounds(access.bytes);
        }
    }
    Ok(())
}
