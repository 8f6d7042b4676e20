//! What a call of ptxas means to the stand-in, as `cargo run -p ptxasw-assembler --example call`:
//!
//!     ptxas -arch=sm_80 -O3 vecadd.sm_80.ptx -o vecadd.cubin
//!       Some("sm_80"), ["vecadd.sm_80.ptx"] to Some("vecadd.cubin")
//!     ptxas -arch sm_80 -g vecadd.sm_80.ptx
//!       Some("sm_80"), ["vecadd.sm_80.ptx"] to None, handed over: code to be debugged stays as it is
//!     ptxas --version
//!       None, [] to None, handed over: ptxas only prints something

use std::ffi::OsString;

use ptxasw_assembler::ptxas::command_line::CommandLine;

/// The lines of the head.
pub(crate) fn text() -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for call in [
        "-arch=sm_80 -O3 vecadd.sm_80.ptx -o vecadd.cubin",
        "-arch sm_80 -g vecadd.sm_80.ptx",
        "--version",
    ] {
        let words: Vec<OsString> = call.split(' ').map(OsString::from).collect();
        let line = CommandLine::parse(&words, &|_| None);
        let inputs: Vec<_> = line.inputs.iter().map(|input| line.value(input)).collect();
        let (architecture, output) = (line.architecture.as_deref(), line.output.as_deref());
        out += &format!("ptxas {call}\n  {architecture:?}, {inputs:?} to {output:?}");
        out += &line.hand_over.map_or(String::new(), |why| format!(", handed over: {why}"));
        out += "\n";
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), std::fmt::Error> {
    print!("{}", text()?);
    Ok(())
}
