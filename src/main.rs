//! `ptxasw`, and under the name `ptxas` a stand-in for NVIDIA's assembler.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A tenth of the time of the system's allocator is its own: terms are small and many, and made by several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ptxasw::main(std::env::args_os())
}
