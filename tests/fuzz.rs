//! Random structured kernels, rewritten and judged: thousands in every test run, and for hours by
//! `scripts/fuzz kernels`. Bugs planted into the rewriter, to see that the judges notice.
//!
//! - `tests/random/`: the generator, the checks, the reducer;
//! - `tests/fuzz/found/`: what was found, replayed;
//! - `tests/fuzz/planted/`: for each planted bug a kernel on which it shows;
//! - `tests/fuzz/names.rs`: the same kernels in scopes that declare names anew;
//! - `tests/fuzz/bytes/`: what the targets of cargo-fuzz (`tests/fuzz-targets/`) found.
//!
//! `PTXASW_FUZZ_SEED` and `PTXASW_FUZZ_COUNT` choose the kernels of the test run.

#![expect(clippy::disallowed_methods, reason = "seeds and time limits come from outside")]

mod bytes;
mod exits;
mod layouts;
mod names;
mod planted;
mod replay;
mod seeds;
mod strategies;
mod texts;
mod turns;

use crate::common::assembler;
use crate::common::header;
use crate::random::{Case, files};
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A number from the environment.
/// Writes a kernel, its launch and the rewritten kernel to the folder of
/// `PTXASW_FUZZ_KEEP`, for judges outside of the tests (a GPU, a simulator of machine code).
fn keep(name: &str, case: &Case, strategies: &str, rewritten: &str) {
    let Some(folder) = std::env::var_os("PTXASW_FUZZ_KEEP").map(PathBuf::from) else { return };
    let rewritten_name = format!("{name}.{strategies}.ptx");
    let texts = [(format!("{name}.ptx"), &*case.ptx), (format!("{name}.json"), &*case.launch)];
    for (name, text) in texts.into_iter().chain([(rewritten_name, rewritten)]) {
        std::fs::write(folder.join(name), text).expect("PTXASW_FUZZ_KEEP names a folder");
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}
