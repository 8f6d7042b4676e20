//! Whether a called function may bring lanes together.
//!
//! In: a call, and the text of its file. Out: a guess that errs on the safe side. Only one function
//! is parsed at a time, so the callee's body is looked for in the text and searched for the words
//! that every such instruction has.

use memchr::memmem;

use super::resolve::{Arg, Inst};
use crate::source::SourceFile;

/// What the CUDA runtime provides without a definition in any module, and which waits for nobody
/// (CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").
const RUNTIME: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Longer texts are not searched: a file may have as many calls as functions.
const MAX_TEXT: usize = 4 << 20;

/// Words of which every warp-level synchronisation has one; a function that calls another one is
/// not looked into any further.
const WORDS: [&str; 4] = [".sync", "barrier", "bar.warp", "call"];

/// Whether lanes may be brought together in the function that an instruction calls.
pub(super) fn may_synchronise(source: &SourceFile, call: &Inst<'_, '_>) -> bool {
    let callee = call.args.iter().find_map(|arg| match arg {
        Arg::Symbol { name, .. } => Some(*name),
        _ => None,
    });
    // Called through a register: the results, if any, stand in a list in front of the callee.
    let direct = call.args.iter().take(2).any(|arg| matches!(arg, Arg::Symbol { .. }));
    let Some(name) = callee.filter(|_| direct) else { return true };
    if RUNTIME.contains(&name) {
        return false;
    }
    let text = source.text();
    if text.len() > MAX_TEXT {
        return true;
    }
    let mut defined = false;
    for at in memmem::find_iter(text.as_bytes(), name) {
        match definition(text, at, name.len()) {
            Some(body) if WORDS.iter().any(|word| body.contains(word)) => return true,
            Some(_) => defined = true,
            None => {}
        }
    }
    !defined
}

/// The body behind a function's name, if the name stands in the head of a definition.
fn definition(text: &str, at: usize, length: usize) -> Option<&str> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let (before, behind) = (&text[..at], &text[at + length..]);
    if before.ends_with(of_name) || behind.starts_with(of_name) {
        return None;
    }
    let head = &before[before.rfind([';', '}']).map_or(0, |end| end + 1)..];
    if !head.contains(".func") {
        return None;
    }
    let open = behind.find(['{', ';']).filter(|&open| behind[open..].starts_with('{'))?;
    let mut depth = 0usize;
    for (place, brace) in behind[open..].match_indices(['{', '}']) {
        match brace {
            "{" => depth += 1,
            _ => depth -= 1,
        }
        if depth == 0 {
            return Some(&behind[open..open + place]);
        }
    }
    // Braces in comments: whatever follows.
    Some(&behind[open..])
}
