//! A header of the library: its guard, its includes, its namespace.

use super::notes::wrapped;

/// A part of the first line of each file, which identifies files of the library.
pub const MARK: &str = "written by `ptxasw synth --library`";

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

/// A text without its guards, for a header that has one.
pub(super) fn bare(text: &str) -> String {
    let guards = ["#ifndef ", "#define ", "#endif"];
    let kept = text.lines().filter(|line| !guards.iter().any(|guard| line.starts_with(guard)));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// A header: its purpose as a comment, its guard, its includes, and its text in the namespace `ptxasw`.
pub(super) fn bracketed(file: &str, about: &str, includes: &[&str], text: &str) -> String {
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
