//! Whether a called function may bring lanes together.
//!
//! In: a call, and the text of its file. Out: a guess that errs on the safe side. Only one function
//! is parsed at a time, so the callee's body is looked for in the text, comments and strings aside, and
//! searched for the words that every such instruction has.

use memchr::memmem;
use rustc_hash::FxHashMap;

use super::resolve::{Arg, Inst};
use crate::source::{SourceFile, comments};

/// Functions of the CUDA runtime without a definition in any module; they do not wait for other threads
/// (CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").
const RUNTIME: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Longer texts are not searched: a file may have as many calls as functions.
const MAX_TEXT: usize = 4 << 20;

/// The body of every function that may synchronise lanes has one of these words; `call` is among them, since the
/// callees of a callee are not examined.
const WORDS: [&str; 4] = [".sync", "barrier", "bar.warp", "call"];

/// Cache: whether the functions that one function calls may synchronise lanes.
#[derive(Default)]
pub(super) struct Callees<'s>(FxHashMap<&'s str, bool>);

impl<'s> Callees<'s> {
    /// Whether lanes may be brought together in the function that an instruction calls.
    pub(super) fn may_synchronise(&mut self, source: &SourceFile, call: &Inst<'_, 's>) -> bool {
        let Some(name) = callee(call) else { return true };
        *self.0.entry(name).or_insert_with(|| body_may_synchronise(source, name))
    }
}

/// The function that is called, where it is called by its name.
fn callee<'s>(call: &Inst<'_, 's>) -> Option<&'s str> {
    let callee = call.args.iter().find_map(|arg| match arg {
        Arg::Symbol { name, .. } => Some(*name),
        _ => None,
    });
    // Called through a register: the results, if any, stand in a list in front of the callee.
    let direct = call.args.iter().take(2).any(|arg| matches!(arg, Arg::Symbol { .. }));
    callee.filter(|_| direct)
}

/// Whether the function `name` may bring lanes together.
fn body_may_synchronise(source: &SourceFile, name: &str) -> bool {
    if RUNTIME.contains(&name) {
        return false;
    }
    if source.text().len() > MAX_TEXT {
        return true;
    }
    let text = &*comments::code(source.text());
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
    // The linker may put another module's function in the place of a weak one.
    if !head.contains(".func") || head.contains(".weak") {
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
    // Braces do not match: whatever follows.
    Some(&behind[open..])
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(the_words_of_the_body_decide, comments_and_strings_are_no_code);

    fn may_synchronise(text: &str) -> bool {
        body_may_synchronise(&SourceFile::new("test.ptx", text), "f")
    }

    fn the_words_of_the_body_decide() {
        assert!(!may_synchronise(".func f () { ret; }"));
        assert!(may_synchronise(".func f () { bar.warp.sync 0xffffffff; ret; }"));
        assert!(may_synchronise(".func f () { { ret; } bar.warp.sync 0xffffffff; ret; }"));
        assert!(may_synchronise(".weak .func f () { ret; }"));
        assert!(may_synchronise(".func f ();"));
        assert!(may_synchronise(".func g () { ret; }"));
    }

    fn comments_and_strings_are_no_code() {
        for hidden in [
            ".func f () { // }\n bar.warp.sync 0xffffffff; ret; }",
            ".func f () { /* } */ bar.warp.sync 0xffffffff; ret; }",
            ".func f () {\n# }\n bar.warp.sync 0xffffffff; ret; }",
            ".func f () { .pragma \"}\"; bar.warp.sync 0xffffffff; ret; }",
            "// .func f () { }\n.func g () { ret; }",
            "// .func f () { }\n.func (.param .b32 r) /* ; */ f () { bar.warp.sync 1; ret; }",
        ] {
            assert!(may_synchronise(hidden), "{hidden}");
        }
        assert!(!may_synchronise(".func f () { // bar.warp.sync\n ret; }"));
    }
}
