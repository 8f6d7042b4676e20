//! The library: CUDA headers with all that `synth` knows how to derive.
//!
//! In: nothing but the sketches beside this file. Out: headers for `#include`, whose index expressions and operators
//! are searched for and proved each time they are written; each function says its formula, what was proved of it and
//! by what, and the test that executes it. The texts depend on nothing else: they are the same on every machine.
//!
//! - `notes`: the comments. `movement`: sketches of steps and folds, solved.
//! - `structs`, `windows`, `scans`, `operators`: one header each.

mod movement;
mod notes;
mod operators;
mod scans;
mod structs;
mod windows;

use notes::{Notes, annotated, wrapped};
pub use operators::{Operator, loops};
pub use structs::sketch as struct_sketch;
pub use windows::RADII;

use super::emit::CUDA_HELPERS;
use super::network::emit::HELPERS;
use super::scan::emit::ARITHMETIC;

/// What the first line of each file has, by which files of the library are known.
pub const MARK: &str = "written by `ptxasw synth --library`";

/// The file that includes all others.
pub const ALL: &str = "library.cuh";

/// A header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The name of its file.
    pub file: &'static str,
    /// Its text.
    pub text: String,
    /// How many functions it has.
    pub functions: usize,
}

/// The library with what it was made of.
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
    let mut headers = vec![common()?, structs::header()?, windows::header()?, scans::header()?];
    headers.push(operators::header(&operators)?);
    let files: Vec<&str> = headers.iter().map(|header| header.file).collect();
    let text = bracketed(ALL, "All of the library.", &files, "");
    headers.push(Header { file: ALL, text, functions: 0 });
    Ok(Library { headers, operators })
}

/// What the other headers are made of.
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
            "none; what is made of it is compared with serial loops",
            "tests/library.rs, all of it",
        ))
    })?;
    let about = "What the other headers are made of.";
    Ok(Header { file: "common.cuh", text: bracketed("common.cuh", about, &[], &text), functions })
}

/// A text without its guards, for a header that has one.
fn bare(text: &str) -> String {
    let guards = ["#ifndef ", "#define ", "#endif"];
    let kept = text.lines().filter(|line| !guards.iter().any(|guard| line.starts_with(guard)));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// A header: what it is about, its guard, what it includes, and its text in the namespace `ptxasw`.
fn bracketed(file: &str, about: &str, includes: &[&str], text: &str) -> String {
    let guard = file.trim_end_matches(".cuh").to_uppercase();
    let mut made = format!("// {file}, {MARK}: it writes this file anew.\n");
    wrapped(&mut made, about);
    made.push_str(&format!("#ifndef PTXASW_LIBRARY_{guard}\n#define PTXASW_LIBRARY_{guard}\n\n"));
    includes.iter().for_each(|file| made.push_str(&format!("#include \"{file}\"\n")));
    if !text.is_empty() {
        made.push_str(&format!("\nnamespace ptxasw {{\n{text}\n}}\n"));
    }
    made.push_str("\n#endif\n");
    made
}
