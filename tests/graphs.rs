//! Kernels with random control-flow graphs, rewritten, executed and proved.

#![expect(clippy::disallowed_methods, reason = "seeds come from outside")]

#[path = "graphs/assembled.rs"]
mod assembled;
#[path = "common/assembler.rs"]
mod assembler;
#[path = "graphs/belief.rs"]
mod belief;
#[path = "graphs/cases.rs"]
mod cases;
#[path = "fuzz/files.rs"]
#[expect(dead_code, reason = "another test reads them")]
mod files;
mod graph;
#[path = "graphs/listing.rs"]
mod listing;
#[path = "graphs/meets.rs"]
mod meets;
#[path = "graphs/planted.rs"]
mod planted;
#[path = "graphs/postdominators.rs"]
mod postdominators;
#[expect(dead_code, unused_imports, reason = "its kernels are for another test")]
mod random;
#[path = "graphs/seeds.rs"]
mod seeds;

use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
