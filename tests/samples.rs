//! The benchmarks of the paper as a real compiler emits them (`ptx-samples/`): the numbers of
//! loads, shuffles and the mean delta must be the paper's, and the result must assemble into code
//! that does shuffle.

#![expect(clippy::disallowed_methods, reason = "the disassembler is a process")]

mod common;

use std::path::Path;
use std::process::Command;

use common::assembler::Assembler;
use common::invariants::{broken, rewritten};
use ptxasw::pipeline::Rewritten;
use ptxasw::report::KernelReport;
use rayon::prelude::*;
use serde::Deserialize;

/// `samples.json`.
#[derive(Deserialize)]
struct Manifest {
    compiler: String,
    samples: Vec<Sample>,
}

/// One benchmark.
#[derive(Deserialize)]
struct Sample {
    name: String,
    kernel: String,
    source: Option<String>,
    loads: usize,
    shuffles: usize,
    paper: Figures,
    files: Vec<Output>,
}

/// What the paper's table 2 says.
#[derive(Deserialize)]
struct Figures {
    loads: usize,
    shuffles: usize,
    average_delta: Option<f64>,
}

/// One compiled file.
#[derive(Deserialize)]
struct Output {
    ptx: String,
    target: String,
    command: Option<String>,
    average_delta: Option<f64>,
}

fn manifest() -> Manifest {
    let text = common::read(Path::new("ptx-samples/samples.json"));
    serde_json::from_str(&text).expect("ptx-samples/samples.json in the form of `Manifest`")
}

/// Runs a check over every compiled file and its text, and fails with all that it says.
fn for_each_file(check: impl Fn(&Sample, &Output, &str) -> Vec<String> + Sync) {
    let manifest = manifest();
    let files: Vec<(&Sample, &Output)> =
        manifest.samples.iter().flat_map(|s| s.files.iter().map(move |f| (s, f))).collect();
    assert!(files.len() >= 18, "samples.json lists only {} files", files.len());
    let failures: Vec<String> = files
        .par_iter()
        .flat_map(|(sample, file)| {
            check(sample, file, &common::read(&Path::new("ptx-samples").join(&file.ptx)))
        })
        .collect();
    common::report(&failures, "`ptxasw candidates FILE` lists every load with the decision.");
}

/// Whether two mean deltas agree to the two decimals that the paper prints.
fn same_mean(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 0.01,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The report on a sample's kernel.
fn kernel<'r>(sample: &Sample, result: &'r Rewritten) -> Result<&'r KernelReport, String> {
    let report = &result.report;
    let kernel = report.kernels.iter().find(|kernel| kernel.name == sample.kernel);
    kernel.ok_or(format!("{}: no kernel {} in the report", report.file, sample.kernel))
}

#[test]
fn the_manifest_agrees_with_the_files_and_the_paper() {
    let manifest = manifest();
    assert!(manifest.compiler.starts_with("nvcc "), "compiler: {:?}", manifest.compiler);
    for sample in &manifest.samples {
        let name = &sample.name;
        assert_eq!(
            (sample.loads, sample.shuffles),
            (sample.paper.loads, sample.paper.shuffles),
            "{name}: loads and shuffles are those of the paper"
        );
        assert!(
            sample
                .source
                .as_ref()
                .is_none_or(|s| !common::read(&Path::new("ptx-samples").join(s)).is_empty())
        );
    }
    for_each_file(|sample, file, text| {
        let name = &file.ptx;
        let mut failures = Vec::new();
        let loads = text.lines().filter(|line| line.contains("ld.global")).count();
        if loads != sample.loads {
            failures.push(format!("{name}: {loads} global loads, not {}", sample.loads));
        }
        if !text.contains(&format!(".target {}", file.target)) {
            failures.push(format!("{name}: not for {}", file.target));
        }
        if !same_mean(file.average_delta, sample.paper.average_delta) {
            failures.push(format!("{name}: the mean delta is not the paper's"));
        }
        let reproducible = match (&file.command, &sample.source) {
            (Some(command), Some(source)) => {
                command.contains(source.as_str()) && command.contains(name.as_str())
            }
            (None, None) => text.contains("Hand-written"),
            _ => false,
        };
        if !reproducible {
            failures.push(format!("{name}: neither made by a command nor declared hand-written"));
        }
        if text.lines().any(|line| line.contains(".file") && line.contains("\"/")) {
            failures.push(format!("{name}: holds an absolute path"));
        }
        failures
    });
}

#[test]
fn loads_shuffles_and_deltas_are_the_papers() {
    for_each_file(|sample, file, text| {
        let result = rewritten(&file.ptx, text);
        let kernel = match result.as_ref().map_err(Clone::clone).and_then(|r| kernel(sample, r)) {
            Ok(kernel) => kernel,
            Err(error) => return vec![error],
        };
        let (loads, shuffles) = (kernel.global_loads, kernel.shuffles);
        let (mean, expected_mean) = (kernel.average_delta, file.average_delta);
        if (loads, shuffles) == (sample.loads, sample.shuffles) && same_mean(mean, expected_mean) {
            return Vec::new();
        }
        vec![format!(
            "{}: {shuffles} shuffles of {loads} loads, mean delta {mean:?}; expected {} of {}, \
             {expected_mean:?}",
            file.ptx, sample.shuffles, sample.loads
        )]
    });
}

#[test]
fn every_rewrite_keeps_the_invariants() {
    for_each_file(|_, file, text| match rewritten(&file.ptx, text) {
        Ok(result) => broken(&file.ptx, text, &result),
        Err(error) => vec![error],
    });
}

#[test]
fn every_rewrite_assembles_into_code_that_shuffles() {
    let Some(assembler) = Assembler::find() else { return };
    let disassembler = disassembler(&assembler.ptxas);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for_each_file(|sample, file, text| {
        let result = match rewritten(&file.ptx, text) {
            Ok(result) => result,
            Err(error) => return vec![error],
        };
        let across = match kernel(sample, &result) {
            Ok(kernel) => kernel.loads.iter().filter(|l| l.delta.is_some_and(|n| n != 0)).count(),
            Err(error) => return vec![error],
        };
        let cubin = folder.path().join(file.ptx.replace('/', "_"));
        if let Err(message) = assembler.assemble(&result.text, &cubin) {
            return vec![format!("{}: ptxas refuses the rewritten text:\n{message}", file.ptx)];
        }
        // One target is enough: disassembling takes longer than everything else together.
        if file.command.is_some() && file.target != "sm_80" {
            return Vec::new();
        }
        let sass = Command::new(&disassembler).arg(&cubin).output().expect("nvdisasm runs");
        assert!(sass.status.success(), "{}", String::from_utf8_lossy(&sass.stderr));
        let found = String::from_utf8_lossy(&sass.stdout).matches("SHFL.").count();
        // ptxas may unroll a loop, but has no licence to drop or invent a shuffle.
        if found >= across && (found > 0) == (across > 0) {
            return Vec::new();
        }
        vec![format!("{}: {across} lane-crossing shuffles became {found} SHFL", file.ptx)]
    });
}

/// The nvdisasm that came with the assembler, else one in `PATH`.
fn disassembler(ptxas: &Path) -> std::path::PathBuf {
    let beside = ptxas.with_file_name("nvdisasm");
    if beside.is_file() {
        return beside;
    }
    which::which("nvdisasm").unwrap_or_else(|_| {
        panic!(
            "no nvdisasm beside {} or in PATH; `pip install nvidia-cuda-nvdisasm` has it, \
             PTXASW_TEST_NO_PTXAS=1 runs the tests without",
            ptxas.display()
        )
    })
}
