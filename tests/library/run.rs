//! Kernels in the interpreter, and texts and architectures for the compilers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ptxasw::interp;
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::Module;

/// Values in memory: their type and their bits.
#[derive(Clone, Debug)]
pub struct Values {
    pub ty: Type,
    pub bits: Vec<u64>,
}

/// How a kernel is started.
pub struct Start {
    pub threads: u32,
    pub meet: Meet,
    pub numbers: Vec<i32>,
}

/// What lies in memory before a kernel has written to it.
pub const UNTOUCHED: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// Runs a kernel on one block; what buffers hold afterwards. They come first among the arguments.
pub fn run(module: &Module, kernel: &str, buffers: &[Values], start: &Start) -> Vec<Vec<u64>> {
    let names: Vec<String> = (0..buffers.len()).map(|at| format!("b{at}")).collect();
    let held = buffers.iter().map(|values| {
        let size = if values.ty == Type::U64 { 8 } else { 4 };
        let bytes = values.bits.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec());
        Buffer { ty: values.ty, bytes: bytes.collect() }
    });
    let pointers = names.iter().map(|name| Argument::Pointer { buffer: name.clone(), offset: 0 });
    let numbers = start.numbers.iter().map(|n| Argument::Value(n.to_le_bytes().to_vec()));
    let launch = Launch {
        kernel: Some(kernel.to_owned()),
        grid: [1; 3],
        block: [start.threads, 1, 1],
        dynamic_shared: 0,
        buffers: names.iter().cloned().zip(held).collect::<BTreeMap<_, _>>(),
        pointers: Default::default(),
        args: pointers.chain(numbers).collect(),
        limit: DEFAULT_LIMIT,
        races: true,
        // Shuffles read lanes beyond the block's last thread; their values are not used.
        uninitialized: true,
        meet: start.meet,
        values: Default::default(),
        store_conflicts: true,
        variables: None,
        symbolic_args: Default::default(),
    };
    let outcome = interp::run(module, &launch).unwrap_or_else(|fault| panic!("{kernel}: {fault}"));
    names.iter().map(|name| outcome.buffers[name].elements().collect()).collect()
}

/// The part of a text with the head and the kernels of one operator alone: to parse all of it for each takes longer.
pub fn only(text: &str, operator: &str) -> String {
    let mut parts = text.split("\n\t// .globl\t");
    let mut own = parts.next().unwrap().to_owned();
    for part in parts {
        let name = part.split_whitespace().next().unwrap();
        let is_own =
            ["scan", "reduce"].iter().any(|kind| name == format!("{operator}_{kind}_kernel"));
        if is_own {
            own.push('\n');
            own.push_str(part.split_once('\n').unwrap().1);
        }
    }
    own
}

/// The architectures without a letter that an assembler knows, the oldest first, up to sm_121.
pub fn architectures(ptxas: &Path) -> Vec<String> {
    let said = Command::new(ptxas).arg("--help").output().expect("ptxas can be started");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let numbers = said.split("'sm_").skip(1).filter_map(|rest| rest.split('\'').next());
    let mut numbers: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    numbers.retain(|number| (70..=121).contains(number));
    numbers.sort_unstable();
    numbers.dedup();
    numbers.iter().map(|number| format!("sm_{number}")).collect()
}
