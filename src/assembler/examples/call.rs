//! What a call of ptxas means to the stand-in, as `cargo run -p ptxasw-assembler --example call`:
//!
//!     x

use std::ffi::OsString;

use ptxasw_assembler::ptxas::command_line::CommandLine;

/// The lines of the head.
pub(crate) fn text() -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for call in [
        "-arch=sm_80 -O3 vecadd.sm_80.ptx -o vecadd.cubin",
        "--version",
        "-arch sm_80 a.ptx --no-such-option",
    ] {
        let words: Vec<OsString> = call.split(' ').map(OsString::from).collect();
        let line = CommandLine::parse(&words, &|_| None);
        let inputs: Vec<_> = line.inputs.iter().map(|input| line.value(input)).collect();
        out += &format!(
            "ptxas {call}\n  architecture {:?}\n  inputs {inputs:?}, output {:?}\n  handed over: {:?}\n",
            line.architecture, line.output, line.hand_over
        );
    }
    Ok(out)
}

fn main() -> Result<(), std::fmt::Error> {
    print!("{}", text()?);
    Ok(())
}
