//! Kernels with random control-flow graphs, rewritten, executed and proved.

#![expect(clippy::disallowed_methods, reason = "seeds come from outside")]

mod assembled;
mod belief;
mod cases;
mod listing;
mod meets;
mod planted;
mod postdominators;
mod seeds;

use crate::common::assembler;
use crate::random::files;
use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}
