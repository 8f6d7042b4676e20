//! Original and rewritten kernels, executed by the interpreter, agree bit by bit: for every sample
//! and every kernel of `tests/cases/accept/`, over block shapes with partial warps, rows that end
//! inside a warp, and one to three dimensions.
//!
//! The interpreter gives a lane that reads from an inactive one a value that no program expects, so
//! a missing guard shows.

use std::path::{Path, PathBuf};

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth, Function, FunctionKind};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

/// `(grid, block)`
const SHAPES: &[([u32; 3], [u32; 3])] = &[
    ([3, 1, 1], [1, 1, 1]),
    ([2, 2, 1], [31, 1, 1]),
    ([2, 2, 2], [32, 1, 1]),
    ([2, 3, 1], [33, 1, 1]),
    ([1, 2, 1], [96, 1, 1]),
    ([1, 1, 1], [512, 1, 1]),
    ([3, 1, 1], [16, 4, 1]),
    ([2, 2, 1], [48, 3, 1]),
    ([1, 2, 1], [64, 2, 1]),
    ([4, 1, 1], [8, 8, 4]),
    ([2, 1, 1], [32, 2, 4]),
];

/// Every kernel gets buffers of so many bytes and pointers to their middles.
const BUFFER_BYTES: usize = 1 << 16;

/// Integer parameters, in order: sizes of an array that the shapes cover only partly.
const SIZES: [u32; 3] = [75, 7, 5];

/// A launch of a kernel by its parameters alone: pointers get buffers, integers sizes, floating
/// point a weight.
fn launch(kernel: &Function<'_>, grid: [u32; 3], block: [u32; 3], seed: u32) -> String {
    let (mut buffers, mut args, mut integers) = (Vec::new(), Vec::new(), 0);
    for (index, parameter) in kernel.params.iter().enumerate() {
        let ty = parameter.ty.expect("a parameter has a type");
        if ty.is_float() {
            args.push(format!(r#"{{"type": "{}", "value": 0.{}75}}"#, ty.name(), index + 1));
        } else if ty.bits() == 64 && is_pointer(kernel, parameter.names[0].name.text) {
            let (words, middle) = (BUFFER_BYTES / 4, BUFFER_BYTES / 2);
            buffers.push(format!(
                r#""b{index}": {{"type": "b32", "len": {words}, "fill": "random", "seed": {}}}"#,
                seed + index as u32
            ));
            args.push(format!(r#"{{"buffer": "b{index}", "offset": {middle}}}"#));
        } else {
            let value = SIZES[integers.min(SIZES.len() - 1)];
            integers += 1;
            args.push(format!(r#"{{"type": "{}", "value": {value}}}"#, ty.name()));
        }
    }
    format!(
        r#"{{"kernel": "{}", "grid": {grid:?}, "block": {block:?}, "dynamic_shared": 4096, "races": false,
            "buffers": {{{}}}, "args": [{}]}}"#,
        kernel.name.text,
        buffers.join(", "),
        args.join(", ")
    )
}

/// Whether a 64-bit parameter is loaded into a register that `cvta` converts.
fn is_pointer(kernel: &Function<'_>, parameter: &str) -> bool {
    use ptxasw::ptx::{AddressBase, Operand, Statement};
    let mut loaded = None;
    for statement in kernel.statements().expect("a body") {
        let Statement::Instruction(instruction) = statement else { continue };
        match (instruction.mnemonic(), &instruction.operands[..]) {
            ("ld", [Operand::Name(register), Operand::Address(address)]) => {
                if let AddressBase::Name(name) = address.base
                    && name.text == parameter
                {
                    loaded = Some(register.text);
                }
            }
            ("cvta", [_, Operand::Name(register)]) if loaded == Some(register.text) => return true,
            _ => {}
        }
    }
    // Generic addresses are never converted.
    !kernel
        .statements()
        .expect("a body")
        .iter()
        .any(|statement| matches!(statement, Statement::Instruction(i) if i.mnemonic() == "cvta"))
}

/// What became of one kernel of one file.
#[derive(Default)]
struct Tally {
    executed: usize,
    faulted: Vec<String>,
    failures: Vec<String>,
}

fn compare(file: &Path) -> Tally {
    let text = std::fs::read_to_string(file).expect("a readable case");
    let name = file.display().to_string();
    let original = SourceFile::new(name.clone(), text);
    let result = rewrite(&original, &Options::default()).expect("a case that parses");
    let rewritten = SourceFile::new(format!("{name} (rewritten)"), result.text);
    let before = ptx::parse(&original, Depth::All).expect("a case that parses");
    let after = ptx::parse(&rewritten, Depth::All).expect("an output that parses");
    let covered = |function: &&Function<'_>| {
        function.kind == FunctionKind::Entry
            && result.report.kernels.iter().any(|k| k.name == function.name.text && k.shuffles > 0)
    };
    let mut tally = Tally::default();
    for kernel in before.functions().filter(covered) {
        for (index, &(grid, block)) in SHAPES.iter().enumerate() {
            let json = launch(kernel, grid, block, 1 + index as u32);
            let launch = Launch::from_json(&json).expect("a launch that is well formed");
            let place = format!("{name}: {} at grid {grid:?}, block {block:?}", kernel.name.text);
            match (interp::run(&before, &launch), interp::run(&after, &launch)) {
                (Err(fault), _) => tally.faulted.push(format!("{place}: {fault}")),
                (Ok(_), Err(fault)) => {
                    tally.failures.push(format!("{place}: only the rewritten one faults: {fault}"));
                }
                (Ok(a), Ok(b)) => {
                    tally.executed += 1;
                    for (buffer, contents) in &a.buffers {
                        let differs = contents
                            .bytes
                            .iter()
                            .zip(&b.buffers[buffer].bytes)
                            .position(|(x, y)| x != y);
                        if let Some(at) = differs {
                            let at = at as i64 - BUFFER_BYTES as i64 / 2;
                            tally.failures.push(format!("{place}: {buffer} differs at byte {at}"));
                        }
                    }
                }
            }
        }
    }
    tally
}

fn check(files: Vec<PathBuf>, may_fault: fn(&str) -> bool) {
    let tallies: Vec<Tally> = files.par_iter().map(|file| compare(file)).collect();
    let executed: usize = tallies.iter().map(|tally| tally.executed).sum();
    let mut failures: Vec<String> =
        tallies.iter().flat_map(|tally| tally.failures.clone()).collect();
    let faults = tallies.into_iter().flat_map(|tally| tally.faulted);
    failures.extend(faults.filter(|fault| !may_fault(fault)));
    println!("{executed} launches compared");
    assert!(executed > 0, "nothing was executed");
    let count = failures.len();
    assert!(
        count == 0,
        "\n{}\n\n{count} failure(s): both must leave the same bytes",
        failures.join("\n")
    );
}

#[test]
fn samples_compute_the_same_bits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-samples");
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the samples").flatten() {
        let Ok(inside) = std::fs::read_dir(entry.path()) else { continue };
        files.extend(inside.flatten().map(|e| e.path()).filter(|path| {
            // The targets differ in little but their name.
            let name = path.to_string_lossy();
            name.ends_with(".sm_80.ptx") || name.ends_with("nvhpc.ptx")
        }));
    }
    files.sort();
    check(files, |_| false);
}

#[test]
fn accepted_cases_compute_the_same_bits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/accept");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the cases")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    // Cases about single addresses read where no buffer is on purpose.
    check(files, |_| true);
}
