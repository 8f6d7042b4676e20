//! An entry that calls the function for one warp.

use std::fmt::Write as _;

use crate::isa::ScalarType;
use crate::synth::emit::kernel::Kernel;

/// The kernel that calls the function for one warp and stores the returned arrays: register `r` of lane `l` of an array
/// is element `lanes * r + l`.
pub(super) fn entry(kernel: &Kernel, element: ScalarType) -> String {
    let (name, bits, bytes) = (&kernel.name, element.bits(), element.bits() as usize / 8);
    let (size, lanes) = (kernel.results() * bytes, kernel.lanes.places());
    let goals = kernel.goals.iter().map(|&goal| &kernel.arrays[goal]);
    let names = kernel.inputs.iter().map(|(name, _)| name.as_str());
    let params: Vec<String> = names
        .clone()
        .chain(goals.clone().map(|array| array.name.as_str()))
        .enumerate()
        .map(|(at, name)| format!("\t.param .u64 {name}_{at}"))
        .collect();
    let mut text = format!(".visible .entry {name}_kernel(\n{}\n)\n{{\n", params.join(",\n"));
    let inputs = kernel.inputs.len();
    let _ = write!(
        text,
        "\t.reg .b64 %a<{}>;\n\t.reg .b{bits} %v<{}>;\n\t.reg .b32 %lane;\n\t.reg .pred %p;\n\
         \t.param .align {bytes} .b8 result_[{size}];\n\tmov.u32 %lane, %laneid;\n",
        params.len() + 1,
        kernel.results(),
    );
    for (at, (name, _)) in kernel.inputs.iter().enumerate() {
        let _ = write!(text, "\tld.param.u64 %a{at}, [{name}_{at}];\n\t.param .b64 {name}_;\n");
        let _ = writeln!(text, "\tst.param.b64 [{name}_], %a{at};");
    }
    let arguments: String = names.map(|name| format!("{name}_, ")).collect();
    let _ = write!(
        text,
        "\t.param .b32 lane_;\n\tst.param.b32 [lane_], %lane;\n\
         \tcall.uni (result_), {name}, ({arguments}lane_);\n"
    );
    if lanes < 32 {
        let _ = write!(text, "\tsetp.ge.u32 %p, %lane, {lanes};\n\t@%p ret;\n");
    }
    let mut value = 0;
    for (number, array) in goals.enumerate() {
        let at = inputs + number;
        let _ = write!(
            text,
            "\tld.param.u64 %a{at}, [{}_{at}];\n\tcvta.to.global.u64 %a{at}, %a{at};\n\
             \tmad.wide.u32 %a{at}, %lane, {bytes}, %a{at};\n",
            array.name
        );
        for register in 0..array.count() {
            let (from, to) = (value * bytes, register * lanes * bytes);
            let _ = writeln!(text, "\tld.param.b{bits} %v{value}, [result_+{from}];");
            let _ = writeln!(text, "\tst.global.b{bits} [%a{at}+{to}], %v{value};");
            value += 1;
        }
    }
    text.push_str("\tret;\n}\n");
    text
}
