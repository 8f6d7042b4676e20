//! The library: CUDA headers with all that `synth` knows how to derive.
//!
//! In: only the sketches beside this file. Out: headers for `#include`, whose index expressions and operators are
//! searched for and proved each time they are written. The comment of each function has its formula, the proof with the
//! prover, and the test that executes it. The texts do not depend on the machine.
//!
//! - `header`: the frame of a header. `notes`: the comments. `movement`: sketches of steps and folds, solved.
//! - `structs`, `windows`, `collectives`, `scans`, `operators`: one header each.

mod collectives;
mod header;
mod movement;
mod notes;
mod operators;
mod scans;
mod structs;
mod windows;

use header::{bare, bracketed};
use notes::{Notes, annotated};

pub use header::{Header, MARK};
pub use operators::{Operator, loops};
pub use structs::sketch as struct_sketch;
pub use windows::RADII;

use super::emit::CUDA_HELPERS;
use super::network::emit::HELPERS;
use super::scan::emit::ARITHMETIC;

/// The file that includes all others.
pub const ALL: &str = "library.cuh";

/// The library with the operators that it was derived from.
pub struct Library {
    /// The headers.
    pub headers: Vec<Header>,
    /// The operators of loops.
    pub operators: Vec<Operator>,
}

/// Derives the library.
///
/// # Errors
/// Something has no solution, or one that is wrong: an error of this program.
pub fn derive() -> Result<Library, String> {
    let operators = operators::solve()?;
    let headers = [common()?, structs::header()?, windows::header()?, collectives::header()];
    let mut headers = Vec::from(headers);
    headers.extend([scans::header()?, operators::header(&operators)?]);
    let files: Vec<&str> = headers.iter().map(|header| header.file).collect();
    let text = bracketed(ALL, "All of the library.", &files, "");
    headers.push(Header { file: ALL, text, functions: 0 });
    Ok(Library { headers, operators })
}

/// The helpers that the other headers use.
fn common() -> Result<Header, String> {
    let text = [CUDA_HELPERS, HELPERS, ARITHMETIC].map(bare).join("\n");
    let (text, functions) = annotated(&text, &|name| {
        let formula = match name {
            "shuffle" => "value of lane l / LANES * LANES + lane % LANES",
            "turn" => "row[i] = row[(i + by) % N] as it was, for by <= MOST",
            "by_words" => "word w of the result = shuffle(word w of value, w)",
            "moved" => "value of lane `lane`",
            "moved_up" => "value of lane l - by, the own one where l < by",
            "moved_down" => "value of lane l + by, the own one where l + by > 31",
            "chosen" => "first ? a : b",
            "least" => "b < a ? b : a",
            "greatest" => "a < b ? b : a",
            "quotient" => "q with a = q * b + r and 0 <= r < |b|",
            "remainder" => "r with a = q * b + r and 0 <= r < |b|",
            _ => return None,
        };
        Some(Notes::new(
            formula,
            "none; its callers are compared with serial loops",
            "tests/library.rs, all of it",
        ))
    })?;
    let about = "Helpers of the other headers.";
    Ok(Header { file: "common.cuh", text: bracketed("common.cuh", about, &[], &text), functions })
}
