//! The reader of machine code, compared with `nvdisasm`'s text and with the code itself.
//!
//! Samples and instruction forms are assembled for one GPU of each generation. `PTXASW_TEST_CUBINS=DIR` checks the cubins
//! below a folder instead, whatever their architecture; with `BLESS=1` opcodes that the tables lack are added to
//! `src/machine/sass/data/`.

#![allow(
    clippy::disallowed_methods,
    reason = "processes and the environment are the business of few modules of the program; a test \
              harness is outside of it"
)]

mod control;
mod disassembly;
mod learn;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;
use crate::turns::has_turn;
use common::assembler::Assembler;
use disassembly::{Line, Listing};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::sass::code::Function;
use ptxasw::sass::encoding::Instruction;
use ptxasw::sass::opcodes::{Opcode, Opcodes, Role};
use ptxasw::sass::report::{Beside, Kernel, Report};
use ptxasw::sass::{code, cubin, graph};
use ptxasw::select::{Strategies, StrategyName};
use ptxasw::source::SourceFile;

/// What has been compared of a generation.
#[derive(Default)]
struct Count {
    instructions: usize,
    operands: usize,
    targets: usize,
    readers: usize,
    distances: usize,
}

/// The samples and the kernels of this folder, assembled for an architecture into a folder.
fn assembled(assembler: &Assembler, architecture: &str, folder: &Path) -> Vec<PathBuf> {
    let (mut samples, mut own) = (Vec::new(), Vec::new());
    collect(&common::root().join("ptx-samples"), "ptx", &mut samples);
    collect(&common::root().join("tests/sass"), "ptx", &mut own);
    // (Another share for each architecture.)
    let number = architecture.bytes().map(u64::from).sum();
    let texts = common::some(samples, number).into_iter().chain(own);
    let mut found = Vec::new();
    for (number, text) in texts.enumerate() {
        let out = folder.join(format!("{number}.cubin"));
        let mut ptxas = Command::new(&assembler.ptxas);
        ptxas.arg(format!("-arch={architecture}")).arg(&text).arg("-o").arg(&out);
        // A text for a newer target than this one is not for it.
        if ptxas.output().unwrap().status.success() {
            found.push(out);
        }
    }
    assert!(!found.is_empty(), "{architecture}: nothing is assembled");
    found
}

/// The files of a kind below a folder, in sorted order.
fn collect(folder: &Path, kind: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, kind, found);
        } else if path.extension().is_some_and(|found| found == kind) {
            found.push(path);
        }
    }
}

/// The reading of the code for one GPU of each generation agrees with `nvdisasm` and with itself.
fn agrees(architecture: &str, turn: usize) {
    let Some(assembler) = Assembler::find().filter(|_| has_turn(turn, 5)) else { return };
    let folder = tempfile::tempdir().unwrap();
    check(&assembler, &assembled(&assembler, architecture, folder.path()));
}

#[test]
fn sm_75() {
    agrees("sm_75", 0);
}

#[test]
fn sm_80() {
    agrees("sm_80", 1);
}

#[test]
fn sm_90() {
    agrees("sm_90", 2);
}

#[test]
fn sm_100() {
    agrees("sm_100", 3);
}

#[test]
fn sm_120() {
    agrees("sm_120", 4);
}

#[test]
fn named_cubins() {
    let Some(named) = std::env::var_os("PTXASW_TEST_CUBINS") else { return };
    let Some(assembler) = Assembler::find() else { return };
    let mut found = Vec::new();
    collect(Path::new(&named), "cubin", &mut found);
    assert!(!found.is_empty(), "{named:?} has no cubin");
    check(&assembler, &found);
}

fn check(assembler: &Assembler, files: &[PathBuf]) {
    let nvdisasm = assembler.ptxas.with_file_name("nvdisasm");
    assert!(nvdisasm.exists(), "{} is missing", nvdisasm.display());
    let bless = std::env::var_os("BLESS").is_some();
    let mut counts: BTreeMap<u32, Count> = BTreeMap::new();
    let mut learnt = learn::Learnt::default();
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    for path in files {
        let bytes = std::fs::read(path).unwrap();
        let architecture = cubin::read(&bytes).unwrap().architecture;
        let Some(generation) = Opcodes::generation(architecture) else {
            panic!("{}: sm_{architecture}", path.display())
        };
        let listing = disassembly::of(&nvdisasm, path);
        let count = counts.entry(generation).or_default();
        for function in code::functions(&bytes).unwrap() {
            let lines = &listing[&function.name];
            if bless {
                learnt.note(architecture, &function.instructions, lines);
                continue;
            }
            let mut found = compare(architecture, &function, lines, count);
            found.extend(control::violations(architecture, &function, count));
            wrong.extend(found.into_iter().map(|what| format!("sm_{architecture}: {what}")));
        }
    }
    if bless {
        learnt.write(&common::root().join("src/machine/sass/data"));
        return;
    }
    for (generation, count) in &counts {
        let Count { instructions, operands, targets, readers, distances } = count;
        println!(
            "sm_{generation}: {instructions} instructions, {operands} register operands, {targets} targets; {readers} readers of \
             results with a scoreboard, {distances} of fixed latency"
        );
        assert!(*instructions > 100 && *readers > 10, "sm_{generation}: nothing was compared");
    }
    let shown: Vec<&str> = wrong.iter().take(60).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), shown.join("\n"));
}

/// Where the tables or the encoding say something else than nvdisasm.
fn compare(
    architecture: u32,
    function: &Function,
    lines: &Listing,
    count: &mut Count,
) -> Vec<String> {
    let table = Opcodes::of(architecture).unwrap();
    let mut wrong = Vec::new();
    for &instruction in &function.instructions {
        let Some(line) = lines.get(&instruction.offset) else { continue };
        count.instructions += 1;
        let Some(opcode) = table.get(instruction) else {
            wrong.push(format!("{:#05x} is not known: {}", instruction.opcode(), line.text));
            continue;
        };
        if opcode.mnemonic != line.mnemonic {
            wrong.push(format!("{}: {}", opcode.mnemonic, line.text));
        }
        let read = registers(architecture, instruction, opcode);
        if read != line.registers {
            wrong.push(format!("{:#05x} {read:?}: {}", instruction.opcode(), line.text));
        }
        count.operands += read.len();
        wrong.extend(branch(architecture, instruction, opcode, line, count));
    }
    // What follows the last instruction is padding that nvdisasm leaves out.
    if let Err(unknown) = graph::Graph::new(function, architecture) {
        wrong.push(unknown.to_string());
    }
    wrong
}

/// The register operands of an instruction as they are printed, without those that read as 0.
fn registers(architecture: u32, instruction: Instruction, opcode: &Opcode) -> BTreeSet<(bool, u8)> {
    let number = |operand: &ptxasw::sass::encoding::Operand| {
        let number = instruction.operand(*operand, architecture)?;
        Some((operand.uniform, number))
    };
    opcode.operands.iter().filter_map(number).collect()
}

fn branch(
    architecture: u32,
    instruction: Instruction,
    opcode: &Opcode,
    line: &Line,
    count: &mut Count,
) -> Option<String> {
    if opcode.mnemonic == "BRA" && instruction.is_plain_branch() != line.is_plain {
        return Some(format!("a branch without a condition of its own: {}", line.text));
    }
    let goes = matches!(opcode.class.role, Role::Branch | Role::Call);
    let (true, Some(target)) = (goes, line.target) else { return None };
    count.targets += 1;
    let read = instruction.target(architecture);
    (read != Some(target)).then(|| format!("to {read:?} instead of {target}: {}", line.text))
}

/// The kernels of a text in this folder, as `asm` describes them.
fn described(name: &str, architecture: &str) -> Option<BTreeMap<String, Kernel>> {
    let assembler = Assembler::find()?;
    let folder = tempfile::tempdir().unwrap();
    let (text, out) = (common::root().join("tests/sass").join(name), folder.path().join("out"));
    let mut ptxas = Command::new(&assembler.ptxas);
    ptxas.arg(format!("-arch={architecture}")).arg("-lineinfo").arg(text).arg("-o").arg(&out);
    assert!(ptxas.status().unwrap().success());
    let report = Report::new(&std::fs::read(out).unwrap(), &Beside::default()).unwrap();
    Some(report.kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect())
}

#[test]
fn loads_wait_for_stores_that_may_alias() {
    for architecture in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let Some(kernels) = described("streams.ptx", architecture) else { return };
        let flight = |name: &str| kernels[name].loads_in_flight.expect("loads are waited for");
        let [alone, together] = ["may_alias", "read_only"].map(flight);
        assert_eq!((alone.mean, alone.max), (1.0, 1), "{architecture}");
        assert!(together.max >= 5 && together.mean >= 3.0, "{architecture}: {together:?}");
        let waits = |name: &str| kernels[name].wait_cycles.unwrap();
        assert!(waits("may_alias") > 3.0 * waits("read_only"), "{architecture}");
    }
}

#[test]
fn loops_are_nested_as_in_the_source() {
    for architecture in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let Some(kernels) = described("loops.ptx", architecture) else { return };
        let kernel = &kernels["nested"];
        let blocks = kernel.blocks.as_ref().expect("the schedule is known");
        let deepest = blocks.iter().max_by_key(|block| block.loop_depth).unwrap();
        assert_eq!(deepest.loop_depth, 2, "{architecture}");
        assert_eq!(blocks[0].loop_depth, 0, "{architecture}");
        // The slow path of the division is called in the inner loop.
        let text = std::fs::read_to_string(common::root().join("tests/sass/loops.ptx")).unwrap();
        let inner = 1 + text.lines().position(|line| line == "inner:").unwrap() as u32;
        let inside = blocks.iter().filter(|block| block.loop_depth == 2).count();
        assert!(inside > 10, "{architecture}: {inside}");
        let lines =
            blocks.iter().filter(|block| block.loop_depth == 2).filter_map(|block| block.line);
        assert!(lines.into_iter().any(|line| (inner..inner + 7).contains(&line)), "{architecture}");
    }
}

/// Two copies of a word. `batch` performs the second load in front of the first store: as rewritten where the
/// words are apart, and as it was.
fn in_two_versions(target: &str) -> String {
    let text = format!(
        ".version 8.7\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to)\n{{\n\
         .reg .b32 %r<2>; .reg .f32 %f<3>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];\n\
         cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;\n\
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd7, %r1, 4;\n\
         add.s64 %rd5, %rd3, %rd7; add.s64 %rd6, %rd4, %rd7;\n\
         ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd6], %f1;\n\
         ld.global.f32 %f2, [%rd5+4096];\nst.global.f32 [%rd6+4096], %f2;\nret;\n}}\n"
    );
    let source = SourceFile::new("k.ptx", text);
    let mut options = Options::default();
    options.select.strategies = Strategies::only(StrategyName::Batch);
    rewrite(&source, &options).expect("it is PTX").text
}

#[test]
fn versions_are_not_predicated() {
    assert!(in_two_versions("sm_60").contains("$ptxasw_old0:\n\tld.global"));
    let Some(assembler) = Assembler::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    for target in ["sm_75", "sm_80", "sm_90", "sm_100"] {
        let cubin = folder.path().join("k.cubin");
        assembler.assemble(&in_two_versions(target), &cubin).unwrap();
        let functions = code::functions(&std::fs::read(&cubin).unwrap()).unwrap();
        let table = Opcodes::of(target[3..].parse().unwrap()).unwrap();
        let accesses_global = |one: &&Instruction| {
            let role = table.get(**one).map(|opcode| opcode.class.role);
            matches!(role, Some(Role::LoadGlobal | Role::StoreGlobal))
        };
        let accesses: Vec<&Instruction> =
            functions[0].instructions.iter().filter(accesses_global).collect();
        // (One store that both end with may be left.)
        assert!(accesses.len() > 6, "{target}: both versions have four");
        assert!(accesses.iter().all(|one| !one.is_predicated()), "{target}");
    }
}
