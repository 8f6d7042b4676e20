//! The kernels of `scripts/microbench`: every one assembles for every target, keeps the instructions to measure, runs,
//! and ends up in the table.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{self, assembler::Assembler};
use crate::turns::has_turn;

/// What a GPU of today may be.
const TARGETS: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

/// Operations of the micro-benchmark, each with its machine instruction.
const MEASURED: [(&str, &str); 7] = [
    ("ld.global", "LDG"),
    ("ld.shared", "LDS"),
    ("shfl", "SHFL"),
    ("redux", "REDUX"),
    ("vote", "VOTE"),
    ("match", "MATCH"),
    ("popc", "POPC"),
];

fn microbench(words: &[&str]) -> Output {
    Command::new(common::root().join("scripts/microbench")).args(words).output().expect("python3")
}

/// How often an operation stands in a text, by the beginning of its name.
fn count(text: &str, operation: &str) -> usize {
    text.split_whitespace().filter(|word| word.starts_with(operation)).count()
}

/// The machine code, where there is a disassembler beside ptxas or in `PATH`.
fn disassembled(ptxas: &Path, cubin: &Path) -> Option<String> {
    let beside = ptxas.with_file_name("nvdisasm");
    let tool = if beside.exists() { beside } else { which::which("nvdisasm").ok()? };
    let output = Command::new(tool).arg("-c").arg(cubin).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_assembler_keeps_what_is_measured() {
    let Some(assembler) = &Assembler::find() else { return };
    // ptxas takes its time.
    let its_turn = |&(at, _): &(usize, &str)| has_turn(at, TARGETS.len());
    let targets = TARGETS.into_iter().enumerate().filter(its_turn);
    let targets: Vec<&str> = targets.map(|(_, target)| target).collect();
    let kernels: usize = std::thread::scope(|scope| {
        let one = |target| scope.spawn(move || check_target(assembler, target));
        let threads: Vec<_> = targets.iter().copied().map(one).collect();
        threads.into_iter().map(|thread| thread.join().expect("all kernels pass")).sum()
    });
    assert!(!targets.is_empty() && kernels >= 24 * targets.len(), "{kernels}");
}

/// Looks at the kernels for one target; how many they are.
fn check_target(assembler: &Assembler, target: &str) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let written = microbench(&["--target", target, "--ptx", &folder.path().display().to_string()]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let files = folder.path().read_dir().expect("written").flatten().map(|entry| entry.path());
    let is_ptx = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ptx");
    let mut kernels = 0;
    for path in files.filter(is_ptx) {
        kernels += 1;
        let text = std::fs::read_to_string(&path).expect("reads");
        let cubin = path.with_extension("cubin");
        assert_eq!(assembler.assemble(&text, &cubin), Ok(()), "{}", path.display());
        let Some(code) = disassembled(&assembler.ptxas, &cubin) else { continue };
        // The loop may have been unrolled, but nothing may have been taken out of it.
        let body = text.split("LOOP:").nth(1).expect("a loop");
        for (operation, instruction) in MEASURED {
            let (wanted, found) = (count(body, operation), count(&code, instruction));
            let kept = if wanted == 0 { found == 0 } else { found > 0 && found % wanted == 0 };
            assert!(kept, "{}: {wanted} {operation}, {found} {instruction}", path.display());
        }
    }
    kernels
}

#[test]
fn every_kernel_runs_and_is_in_the_table() {
    let ran = microbench(&[
        "--on",
        "cpu",
        "--samples",
        "1",
        "--iterations",
        "2",
        "--ptxasw",
        env!("CARGO_BIN_EXE_ptxasw"),
        "--only",
        "load_shuffle_corner",
        "--only",
        "latency_load",
        "--only",
        "shuffle",
    ]);
    let table = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let rows: Vec<&str> = table.lines().filter(|line| line.contains(" .. ")).collect();
    assert_eq!(rows.len(), 3 + 4 + 1, "{table}");
    assert!(rows.iter().all(|row| {
        row.split('|')
            .nth(4)
            .is_some_and(|cycles| cycles.trim().parse().is_ok_and(|cycles: f64| cycles > 0.0))
    }));
}
