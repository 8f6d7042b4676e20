//! `ptxasw`, and under the name `ptxas` a stand-in for NVIDIA's assembler.

use ptxasw::cli::wrapper;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let called_as = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    match words.as_slice() {
        words if wrapper::is_ptxas(&called_as) => wrapper::main(&called_as, words),
        [command, dashes, rest @ ..] if command == "ptxas" && dashes == "--" => {
            wrapper::main(&called_as, rest)
        }
        _ => ExitCode::from(2),
    }
}
