//! Writes queries as SMT-LIB text that any solver can answer.

use std::path::Path;

use z3::SatResult;

/// Writes one query with its answer. If the folder cannot be written, that costs a warning, not the
/// build.
pub(super) fn dump(
    folder: &Path,
    number: u32,
    purpose: &str,
    solver: &z3::Solver,
    result: SatResult,
) {
    let answer = match result {
        SatResult::Sat => "sat",
        SatResult::Unsat => "unsat",
        SatResult::Unknown => "unknown",
    };
    let text = format!("; {purpose}\n(set-info :status {answer})\n{solver}\n(check-sat)\n");
    // The content names the file, so that parallel builds do not overwrite each other's queries.
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{number:04}-{purpose}-{digest:016x}.smt2"));
    if let Err(error) = std::fs::write(&path, text) {
        log::warn!("cannot write the query {}: {error}", path.display());
    }
}
