//! Kernels by the thousands, rewritten, executed and judged: by generators, by tables of instructions, by planted
//! mistakes.

#![allow(unreachable_pub, reason = "nobody uses a test binary")]

use mimalloc::MiMalloc;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

mod affine_kernels;
/// What the binaries share.
mod common {
    use std::path::Path;

    pub mod assembler;
    pub mod header;
    pub mod missing;
    pub mod noticed;
    pub mod shapes;
    mod work;

    pub use work::{percent_of, share};

    /// The root of the repository.
    pub fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }
}
mod graph;
mod random;
mod turns;

mod affine;
mod chains;
mod differential;
mod far;
mod fuzz;
mod graphs;
mod instructions;
mod interp;
mod mistakes;
mod mutation;
mod networks;
mod undone;
