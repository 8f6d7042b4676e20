//! The library of `ptxasw synth --library`: every function of its headers executed and compared, bit by bit, with a
//! plain serial computation; the headers compiled by nvcc and clang for every architecture; what the functions say of
//! themselves; and what becomes of a folder that holds something else.
//!
//! `tests/library/*.cu` has the kernels around the functions; those around operators are made here.

#![allow(
    clippy::disallowed_methods,
    reason = "processes and the environment are the business of few modules of the program; a test \
              harness is outside of it"
)]

mod collectives;
mod folder;
mod notes;
mod run;
mod scans;
mod structs;
mod windows;

use crate::common::missing::not_run;
use crate::common::{self, assembler};
use crate::turns::has_turn;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use assembler::Assembler;
use ptxasw::ptx::{self, Depth, Module};
use ptxasw::source::SourceFile;
use ptxasw::synth::library::{self, Library};
use ptxasw::synth::scan::emit::{Code, check, cuda_entries};
use rayon::prelude::*;
use tempfile::TempDir;

/// The library, derived once for all tests.
static LIBRARY: LazyLock<Library> =
    LazyLock::new(|| library::derive().expect("the library can be derived"));

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder in which the headers are in a folder `ptxasw`.
fn headers() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("ptxasw");
    std::fs::create_dir(&own).unwrap();
    for header in &LIBRARY.headers {
        std::fs::write(own.join(header.file), &header.text).unwrap();
    }
    folder
}

/// The nvcc beside the assembler; none where tests without one were asked for.
fn nvcc() -> Option<PathBuf> {
    let nvcc = Assembler::find()?.ptxas.with_file_name("nvcc");
    let found = nvcc.exists().then_some(nvcc).or_else(|| which::which("nvcc").ok());
    if found.is_none() {
        not_run("library: nvcc is missing");
    }
    found
}

/// clang, where it is.
fn clang() -> Option<PathBuf> {
    let found = which::which("clang-19").ok();
    if found.is_none() {
        not_run("library: clang-19 is missing");
    }
    found
}

/// Runs a compiler, which must not have anything to say.
fn silent(command: &mut Command) {
    let done = command.output().expect("the compiler can be started");
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success() && said.trim().is_empty(), "{command:?}: {said}");
}

/// What every compilation by nvcc is given.
const NVCC: [&str; 6] =
    ["-std=c++14", "-Xcompiler", "-Wall", "-Werror", "all-warnings", "-fmad=false"];

/// What nvcc makes of a text.
fn compiled(nvcc: &Path, text: &str) -> String {
    compiled_for(nvcc, text, "sm_80")
}

/// The same for an architecture.
fn compiled_for(nvcc: &Path, text: &str, architecture: &str) -> String {
    let folder = headers();
    let (input, output) = (folder.path().join("input.cu"), folder.path().join("output.ptx"));
    std::fs::write(&input, text).unwrap();
    let kernels = root().join("tests/library");
    let mut command = Command::new(nvcc);
    command.args(NVCC).args(["-ptx", "-arch", architecture, "-I"]).arg(folder.path());
    silent(command.arg("-I").arg(kernels).arg(&input).arg("-o").arg(&output));
    std::fs::read_to_string(output).unwrap()
}

/// What clang makes of a text for an architecture.
fn compiled_by_clang(clang: &Path, text: &str, architecture: &str) -> String {
    let folder = headers();
    let (input, output) = (folder.path().join("input.cu"), folder.path().join("output.ptx"));
    std::fs::write(&input, text).unwrap();
    let kernels = root().join("tests/library");
    let mut command = Command::new(clang);
    command.args("-O3 -std=c++14 -x cuda --cuda-device-only -S -Wall -Werror".split(' '));
    command.args("-nocudainc -nocudalib -ffp-contract=off -Wno-unknown-cuda-version".split(' '));
    command.args("-Xclang -target-feature -Xclang +ptx78".split(' '));
    command.arg(format!("--cuda-gpu-arch={architecture}")).arg("-include");
    command.arg(kernels.join("builtins.h")).arg("-I").arg(folder.path());
    silent(command.arg("-I").arg(kernels).arg(&input).arg("-o").arg(&output));
    std::fs::read_to_string(output).unwrap()
}

/// Parses a text and calls `act` with its module.
fn parsed(text: &str, act: impl FnOnce(&Module)) {
    let source = SourceFile::new("library.ptx", text);
    act(&ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}")));
}

/// Executes a text, and sees that the comparison fails if one shuffle takes from another lane.
fn compared(text: &str, act: impl Fn(&Module) + std::panic::RefUnwindSafe) {
    parsed(text, &act);
    let (front, rest) = text.split_once("shfl.sync.").expect("a shuffle");
    let (_, behind) = rest.split_once('.').expect("a mode and a type");
    let other = if rest.starts_with("bfly.") { "down" } else { "bfly" };
    let wrong = format!("{front}shfl.sync.{other}.{behind}");
    let noticed = std::panic::catch_unwind(|| parsed(&wrong, &act));
    assert!(noticed.is_err(), "another lane is not noticed");
}

/// Kernels around every operator.
fn around_operators() -> String {
    let mut text = "#include \"ptxasw/library.cuh\"\nusing namespace ptxasw;\n".to_owned();
    for operator in &LIBRARY.operators {
        let found = operator.outcome.found.as_ref().unwrap();
        let code = Code::new(found, &operator.name, None);
        let _ = writeln!(text, "{}", cuda_entries(&code, "ptxasw/library.cuh"));
    }
    text
}

/// A unit with every function; those over types for one type each.
fn everything() -> String {
    let mut text = "#define ONE_WIDTH\n".to_owned();
    for file in ["structs.cu", "windows.cu", "collectives.cu", "scans.cu"] {
        let _ = writeln!(text, "#include \"{file}\"");
    }
    text + &around_operators()
}

/// Transpositions in both directions, whole warps and some lanes, words of both sizes, and structs with a type.
#[test]
fn structs_come_and_go() {
    let Some(nvcc) = nvcc() else { return };
    let text = compiled(&nvcc, "#include \"structs.cu\"\n");
    compared(&text, |module| structs::check(module, &["b32", "b64"]));
}

#[test]
fn windows_hold_what_a_loop_reads() {
    let Some(nvcc) = nvcc() else { return };
    let text = compiled(&nvcc, "#include \"windows.cu\"\n");
    compared(&text, |module| windows::check(module, &["f32", "f64", "s32"]));
}

#[test]
fn warps_and_blocks_scan_and_reduce() {
    let Some(nvcc) = nvcc() else { return };
    let text = compiled(&nvcc, "#include \"scans.cu\"\n");
    compared(&text, scans::check);
}

/// By the instructions for them and by shuffles; both are proved to be the same.
#[test]
fn collectives_combine_a_warp() {
    let Some(nvcc) = nvcc() else { return };
    let text = "#include \"collectives.cu\"\n";
    let by_instructions = compiled(&nvcc, text);
    let by_shuffles = compiled_for(&nvcc, &format!("#define BY_SHUFFLES\n{text}"), "sm_75");
    for instruction in ["redux.sync.", "vote.sync.ballot", "vote.sync.all", "vote.sync.any"] {
        assert!(by_instructions.contains(instruction), "{instruction}");
        assert!(!by_shuffles.contains(instruction), "{instruction}");
    }
    assert!(!by_instructions.contains("shfl."), "{by_instructions}");
    parsed(&by_instructions, collectives::check);
    compared(&by_shuffles, collectives::check);
    collectives::proved(&by_shuffles, &by_instructions);
}

/// Each operator on lists of 0 to 1,000 elements in blocks of 1 to 1,024 threads, against its loop.
#[test]
fn operators_do_what_their_loops_do() {
    let Some(nvcc) = nvcc() else { return };
    let text = compiled(&nvcc, &around_operators());
    let compared: u64 = LIBRARY
        .operators
        .par_iter()
        .map(|operator| {
            let found = operator.outcome.found.as_ref().unwrap();
            let code = Code::new(found, &operator.name, None);
            let own = run::only(&text, &operator.name);
            check::check(&code, &own, &check::few())
                .unwrap_or_else(|why| panic!("{}: {why}", operator.name))
        })
        .sum();
    assert!(compared > 20_000, "{compared} results");
}

/// Every function, by both compilers, for all architectures that they and the assembler know; in a short run by one of
/// them for the oldest and the newest one.
#[test]
fn compilers_take_everything_for_every_architecture() {
    let Some(Assembler { ptxas }) = Assembler::find() else { return };
    let folder = headers();
    let everything = everything();
    let mut architectures = run::architectures(&ptxas);
    assert!(architectures.len() >= 8, "{architectures:?}");
    if common::share(100) < 100 {
        architectures.drain(1..architectures.len() - 1);
    }
    let assemble = |text: &str| {
        let input = folder.path().join("clang.ptx");
        std::fs::write(&input, text).unwrap();
        // (What nvcc compiles is assembled for all of them.)
        for architecture in [architectures.first(), architectures.last()].into_iter().flatten() {
            let mut command = Command::new(&ptxas);
            command.args(["-O0", &format!("-arch={architecture}")]).arg(&input);
            silent(command.arg("-o").arg(folder.path().join("clang.cubin")));
        }
    };
    if let Some(clang) = clang().filter(|_| has_turn(0, 2)) {
        let text = compiled_by_clang(&clang, &everything, "sm_70");
        parsed(&text, |module| {
            structs::check(module, &["b32"]);
            windows::check(module, &["f32"]);
            collectives::check(module);
            scans::check(module);
        });
        assemble(&text);
        // (Instructions that sm_70 does not have.)
        let text = compiled_by_clang(&clang, &everything, "sm_80");
        assert!(text.contains("redux.sync.min.u32"), "{text}");
        parsed(&text, collectives::check);
    }
    if let Some(nvcc) = nvcc().filter(|_| has_turn(1, 2)) {
        let input = folder.path().join("everything.cu");
        std::fs::write(&input, &everything).unwrap();
        let mut command = Command::new(nvcc);
        command.args(NVCC).args(["-Xptxas", "-O0", "-t", "2", "-fatbin", "-I"]).arg(folder.path());
        command.arg("-I").arg(root().join("tests/library"));
        // `redux` is there from sm_80 on.
        let (without, with): (Vec<&str>, Vec<&str>) = architectures
            .iter()
            .map(String::as_str)
            .partition(|&name| name < "sm_80" && name.len() == 5);
        for (oldest, codes) in [(without[0], without), ("sm_80", with)] {
            let oldest = oldest.replace("sm_", "compute_");
            command.arg("-gencode").arg(format!("arch={oldest},code=[{}]", codes.join(",")));
        }
        command.arg(&input);
        silent(command.arg("-o").arg(folder.path().join("everything.fatbin")));
    }
}
