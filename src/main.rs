//! `ptxasw`, and under the name `ptxas` a stand-in for NVIDIA's assembler.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptxasw::main(std::env::args_os())
}
