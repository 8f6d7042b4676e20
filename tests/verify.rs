//! `ptxasw verify`: pairs of kernels by hand with the verdict they must get, our own rewrites, the
//! meaning of instructions, and the command line.
//!
//! `tests/verify/{equal,different,unknown}/NAME.ptx` and `NAME.rewritten.ptx` must get the verdict of their folder, for
//! the reasons in `NAME.txt`; `BLESS=1 cargo test --test main verify::` writes that file. Equal pairs must also compute
//! the same in the interpreter, and different ones something else: a proof or counterexample that an execution
//! contradicts is wrong.

mod certificates;
mod command_line;
mod malformed;
mod names;
mod pairs;
mod rewrites;
mod semantics;

use crate::common;
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options, Verification, verify};

/// What the validator says of two texts; with the comment `// without the solver` a text is judged by rules alone, with
/// `// without wrapping` as `--assume-no-wrap` does.
fn validate(name: &str, original: &str, rewritten: &str) -> Verification {
    let (before, after) = (SourceFile::new(name, original), SourceFile::new(name, rewritten));
    verify(&before, &after, &options_of(original)).unwrap_or_else(|error| panic!("{error}"))
}

/// The options that a text asks for by these comments.
fn options_of(original: &str) -> Options {
    let mut options = Options::default();
    if original.contains("// without the solver") {
        options.queries = 0;
    }
    options.assume_no_wrap = original.contains("// without wrapping");
    options
}
