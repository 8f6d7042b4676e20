//! `ptxasw verify`: pairs of kernels by hand with the verdict they must get, our own rewrites, the
//! meaning of instructions, and the command line.
//!
//! `tests/verify/{equal,different,unknown}/NAME.ptx` and `NAME.rewritten.ptx` must get the verdict of their folder, for
//! the reasons in `NAME.txt`; `BLESS=1 cargo test --test main verify::` writes that file. Equal pairs must also compute
//! the same in the interpreter, and different ones something else: a proof or counterexample that an execution
//! contradicts is wrong.

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
    let mut options = Options::default();
    if original.contains("// without the solver") {
        options.queries = 0;
    }
    options.assume_no_wrap = original.contains("// without wrapping");
    verify(&before, &after, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The validator would prove nothing if it knew how the rewriter thinks.
#[test]
fn the_validator_does_not_use_the_rewriter() {
    let (mut pending, mut files) = (vec![common::root().join("src/verify")], Vec::new());
    while let Some(path) = pending.pop() {
        match path.is_dir() {
            true => {
                let entries = std::fs::read_dir(&path).expect("a folder");
                pending.extend(entries.map(|entry| entry.expect("an entry").path()));
            }
            false => files.push(path),
        }
    }
    assert!(files.len() > 70, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let code: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n")
            .collect();
        for stage in ["emulate", "shuffle", "rewrite", "pipeline"] {
            let (path, group) = (format!("{stage}::"), format!("use crate::{stage}"));
            assert!(
                !code.contains(&format!("crate::{path}")) && !code.contains(&group),
                "{} uses {stage}",
                file.display()
            );
        }
        assert!(!code.contains("use crate::{"), "{}: write out each used path", file.display());
    }
}
