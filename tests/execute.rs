//! Kernels by the thousands, rewritten, executed and judged: by generators, by tables of instructions, by planted
//! mistakes.

mod affine_kernels;
/// What the binaries share.
mod common {
    use std::path::Path;

    pub mod assembler;
    pub mod header;
    pub mod shapes;

    /// How many of `all` random kernels are tried: as many percent as `PTXASW_TEST_WORK` says, 25 if it is not set. A
    /// longer run sets 100. (Kernels that were found to fail are replayed whatever it says.)
    ///
    /// # Panics
    /// The variable is no number.
    #[expect(clippy::disallowed_methods, reason = "how much is tried is asked for from outside")]
    pub fn share(all: u64) -> u64 {
        let percent = match std::env::var("PTXASW_TEST_WORK") {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("PTXASW_TEST_WORK={text}")),
            Err(_) => 25,
        };
        (all * percent / 100).max(1)
    }

    /// The root of the repository.
    pub fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }
}
mod graph;
mod random;

mod affine;
mod chains;
mod differential;
mod fuzz;
mod graphs;
mod instructions;
mod interp;
mod mutation;
