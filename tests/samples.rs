//! The benchmarks as real compilers emit them (`ptx-samples/`): the numbers of loads, shuffles and
//! the mean delta must be those of `samples.json`, which for the paper's benchmarks are the paper's;
//! the result must assemble into code that does shuffle, and compute the same bits.

#![expect(clippy::disallowed_methods, reason = "the disassembler and the generator are processes")]

use crate::common;
use crate::common::shapes;
use crate::turns::has_turn;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::assembler::Assembler;
use common::invariants::{broken, rewritten};
use ptxasw::interp::{self, Outcome};
use ptxasw::launch::Launch;
use ptxasw::pipeline::{self, Options, Rewritten};
use ptxasw::ptx::{self, Depth};
use ptxasw::report::Decision;
use ptxasw::source::SourceFile;
use rayon::prelude::*;
use serde::Deserialize;

/// `samples.json`.
#[derive(Deserialize)]
struct Manifest {
    samples: Vec<Sample>,
}

/// One benchmark.
#[derive(Deserialize)]
struct Sample {
    name: String,
    paper: Option<Figures>,
    kernels: Vec<Kernel>,
    files: Vec<Output>,
}

/// What the paper's table 2 says.
#[derive(Deserialize)]
struct Figures {
    loads: usize,
    shuffles: usize,
    average_delta: Option<f64>,
}

/// The expectation of a kernel, whatever the target.
#[derive(Deserialize)]
struct Kernel {
    name: String,
    loads: usize,
    shuffles: usize,
    average_delta: Option<f64>,
    /// Loads where a compiler issues another number of them, by target.
    #[serde(default)]
    loads_in: BTreeMap<String, usize>,
    /// Loads that `auto` replaces, by the word for how; for all targets, which are Volta and later.
    #[serde(default)]
    auto: BTreeMap<String, usize>,
}

/// One compiled file.
#[derive(Deserialize)]
struct Output {
    ptx: String,
    target: String,
    command: Option<String>,
}

impl Output {
    /// The launch file of a kernel, which lies beside the code.
    fn launch(&self, kernel: &Kernel) -> PathBuf {
        let file = format!("{}.json", kernel.name);
        Path::new("ptx-samples").join(&self.ptx).with_file_name(file)
    }
}

impl Kernel {
    /// The number of global loads in the code for a target.
    fn loads(&self, target: &str) -> usize {
        self.loads_in.get(target).copied().unwrap_or(self.loads)
    }
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
    assert!(files.len() > 60, "samples.json lists only {} files", files.len());
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

/// The lines of a kernel, from its `.entry` to the brace that closes it.
fn body<'t>(text: &'t str, kernel: &str) -> impl Iterator<Item = &'t str> {
    let entry = format!(".entry {kernel}(");
    text.lines().skip_while(move |line| !line.contains(&entry)).take_while(|line| *line != "}")
}

#[test]
fn the_manifest_agrees_with_the_files_and_the_paper() {
    let manifest = manifest();
    let of_the_paper = manifest.samples.iter().filter(|sample| sample.paper.is_some()).count();
    assert_eq!(of_the_paper, 17, "16 benchmarks, one of them also in NVHPC's shape");
    for sample in &manifest.samples {
        let Some(paper) = &sample.paper else { continue };
        let [kernel] = &sample.kernels[..] else { panic!("{}: one kernel", sample.name) };
        assert_eq!(
            (kernel.loads, kernel.shuffles),
            (paper.loads, paper.shuffles),
            "{}: loads and shuffles are those of the paper",
            sample.name
        );
        assert!(same_mean(kernel.average_delta, paper.average_delta), "{}", sample.name);
    }
    for_each_file(|sample, file, text| {
        let name = &file.ptx;
        let mut failures = Vec::new();
        for kernel in &sample.kernels {
            let loads = body(text, &kernel.name).filter(|l| l.contains("ld.global")).count();
            if loads != kernel.loads(&file.target) {
                failures.push(format!("{name}: {loads} global loads in {}", kernel.name));
            }
        }
        let entries = text.lines().filter(|line| line.contains(".entry ")).count();
        if entries != sample.kernels.len() {
            failures.push(format!("{name}: {entries} kernels, not {}", sample.kernels.len()));
        }
        if !text.contains(&format!(".target {}", file.target)) {
            failures.push(format!("{name}: not for {}", file.target));
        }
        if file.command.is_none() != text.contains("Hand-written") {
            failures.push(format!("{name}: neither made by a command nor declared hand-written"));
        }
        failures
    });
}

/// Every file is what its source and its command make of it. The script needs no compiler for that,
/// but where one of the recorded version is at hand, it compiles a target anew.
#[test]
fn no_sample_is_stale() {
    // (A target that no sample has compiles nothing.)
    let target = if has_turn(0, 3) { "sm_80" } else { "none" };
    let output = Command::new(common::root().join("scripts/make"))
        .args(["samples", "--check", "--compile", target])
        .output()
        .expect("scripts/make samples runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    println!("{said}");
}

#[test]
fn loads_shuffles_and_deltas_are_as_expected() {
    for_each_file(|sample, file, text| {
        let result = match rewritten(&file.ptx, text) {
            Ok(result) => result,
            Err(error) => return vec![error],
        };
        let check = |kernel: &Kernel| {
            let Some(found) = result.report.kernels.iter().find(|k| k.name == kernel.name) else {
                return Some(format!("{}: no kernel {} in the report", file.ptx, kernel.name));
            };
            let right = (found.global_loads, found.shuffles)
                == (kernel.loads(&file.target), kernel.shuffles)
                && same_mean(found.average_delta, kernel.average_delta);
            (!right).then(|| {
                format!(
                    "{}: {} of {} loads covered, mean delta {:?}; expected {} of {}, {:?}",
                    kernel.name,
                    found.shuffles,
                    found.global_loads,
                    found.average_delta,
                    kernel.shuffles,
                    kernel.loads(&file.target),
                    kernel.average_delta
                )
            })
        };
        sample.kernels.iter().filter_map(check).map(|s| format!("{}: {s}", file.ptx)).collect()
    });
}

#[test]
fn every_rewrite_keeps_the_invariants() {
    for_each_file(|_, file, text| match rewritten(&file.ptx, text) {
        Ok(result) => broken(&file.ptx, text, &result),
        Err(error) => vec![error],
    });
}

/// Runs a kernel by its launch file.
fn run(name: &str, text: &str, launch: &Launch) -> Result<Outcome, String> {
    let source = SourceFile::new(name, text);
    let module = ptx::parse(&source, Depth::All).map_err(|e| e.to_string())?;
    interp::run(&module, launch).map_err(|fault| format!("{name}: {fault}"))
}

/// With the launch files beside them, kernels compute the same bits as their rewrites, and those do
/// shuffle and touch fewer lines.
#[test]
fn every_rewrite_computes_the_same_bits() {
    for_each_file(|sample, file, text| {
        // The targets differ little; the launches of one take seconds.
        if file.command.is_some() && file.target != "sm_80" {
            return Vec::new();
        }
        let rewritten = match rewritten(&file.ptx, text) {
            Ok(Rewritten { text, .. }) => text,
            Err(error) => return vec![error],
        };
        let check = |kernel: &Kernel| {
            let path = file.launch(kernel);
            let launch = Launch::from_json(&common::read(&path))?;
            let path = path.display();
            let before = run(&file.ptx, text, &launch)?;
            let after = run(&file.ptx, &rewritten, &launch)?;
            if before.buffers != after.buffers {
                return Err(format!("{path}: original and rewritten kernel differ"));
            }
            // As many requests, since every warp has lanes at its edge, but for fewer lines.
            let lines = |outcome: &Outcome| outcome.counters.global_load_wavefronts;
            let across = after.counters.shuffles > 0 && lines(&after) < lines(&before);
            if across != (kernel.shuffles > 0) {
                return Err(format!("{path}: {:?}, then {:?}", before.counters, after.counters));
            }
            Ok(())
        };
        sample.kernels.iter().filter_map(|kernel| check(kernel).err()).collect()
    });
}

/// Under the default strategy: the expected loads are replaced, and the same bits are computed with at most as many
/// requests as before.
#[test]
fn auto_replaces_what_pays_and_computes_the_same_bits() {
    for_each_file(|sample, file, text| {
        let source = SourceFile::new(&file.ptx, text);
        let result =
            match pipeline::rewrite(&source, &Options { all_bodies: true, ..Options::default() }) {
                Ok(result) => result,
                Err(error) => return vec![error.to_string()],
            };
        let check = |kernel: &Kernel| {
            let name = &kernel.name;
            let report = result.report.kernels.iter().find(|found| found.name == *name);
            let mut found: BTreeMap<String, usize> = BTreeMap::new();
            for load in &report.ok_or(format!("{name} is not reported"))?.loads {
                if load.decision != Decision::Keep {
                    *found.entry(load.decision.word().to_owned()).or_default() += 1;
                }
            }
            if found != kernel.auto {
                return Err(format!("{name}: {found:?}, expected {:?}", kernel.auto));
            }
            if found.is_empty() || file.command.is_some() && file.target != "sm_80" {
                return Ok(());
            }
            let launch = Launch::from_json(&common::read(&file.launch(kernel)))?;
            let before = run(&file.ptx, text, &launch)?;
            let after = run(&file.ptx, &result.text, &launch)?;
            let requests = |outcome: &Outcome| outcome.counters.global_load_requests;
            if before.buffers != after.buffers || requests(&after) > requests(&before) {
                return Err(format!("{name}: {:?}, then {:?}", before.counters, after.counters));
            }
            Ok(())
        };
        let failures = sample.kernels.iter().filter_map(|kernel| check(kernel).err());
        failures.map(|failure: String| format!("{}: {failure}", file.ptx)).collect()
    });
}

/// The most blocks in each dimension of a launch in blocks of another shape.
const BLOCKS: [u32; 3] = [6, 3, 3];

#[test]
fn every_rewrite_computes_the_same_bits_in_blocks_of_every_shape() {
    let compared = AtomicUsize::new(0);
    for_each_file(|sample, file, text| {
        let rewritten = match rewritten(&file.ptx, text) {
            Ok(Rewritten { text, .. }) => text,
            Err(error) => return vec![error],
        };
        let source = SourceFile::new(&file.ptx, text);
        let module = ptx::parse(&source, Depth::All).expect("parses");
        let mut found = Vec::new();
        for kernel in &sample.kernels {
            let path = file.launch(kernel);
            let launch = Launch::from_json(&common::read(&path)).expect("a launch");
            let function = module.functions().find(|f| f.name.text == kernel.name);
            let function = function.expect("the kernel");
            let extent: [u32; 3] = std::array::from_fn(|d| launch.block[d] * launch.grid[d]);
            for block in shapes::shapes(function, 3, kernel.name.len() as u64) {
                let grid = std::array::from_fn(|d| extent[d].div_ceil(block[d]).min(BLOCKS[d]));
                let launch = Launch { block, grid, ..launch.clone() };
                compared.fetch_add(1, Ordering::Relaxed);
                let same = same_bits(&file.ptx, (text, &rewritten), launch);
                found.extend(
                    same.err().map(|error| format!("{}, {block:?}: {error}", path.display())),
                );
            }
        }
        found
    });
    let compared = compared.into_inner();
    assert!(compared as u64 > common::share(1500), "only {compared} launches were compared");
}

/// Runs a kernel and its rewritten form.
fn same_bits(name: &str, texts: (&str, &str), mut launch: Launch) -> Result<(), String> {
    let mut before = run(name, texts.0, &launch);
    if matches!(&before, Err(fault) if fault.contains("race")) {
        // Several threads compute the same element, and each stores it. The order in which the
        // interpreter runs them is the same each time.
        launch.races = false;
        before = run(name, texts.0, &launch);
    }
    let (before, after) = (before?, run(name, texts.1, &launch)?);
    if before.buffers == after.buffers { Ok(()) } else { Err("the buffers differ".to_owned()) }
}

#[test]
fn every_rewrite_assembles_into_code_that_shuffles() {
    let Some(assembler) = Assembler::find() else { return };
    let disassembler = disassembler(&assembler.ptxas);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for_each_file(|_, file, text| {
        let result = match rewritten(&file.ptx, text) {
            Ok(result) => result,
            Err(error) => return vec![error],
        };
        let loads = result.report.kernels.iter().flat_map(|kernel| &kernel.loads);
        // A value of 64 bits takes two.
        let halves = |bytes: u32| bytes.div_ceil(4) as usize;
        let across: usize = loads
            .filter(|load| load.delta.is_some_and(|n| n != 0))
            .map(|load| halves(load.bytes))
            .sum();
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

/// Each benchmark has a folder of samples, a launch file for each kernel, and nothing else lies
/// there.
#[test]
fn nothing_lies_about_in_the_samples() {
    let mut expected = BTreeSet::from(["README.md".to_owned(), "samples.json".to_owned()]);
    for sample in manifest().samples {
        for file in &sample.files {
            expected.insert(file.ptx.clone());
            let launches = sample.kernels.iter().map(|kernel| file.launch(kernel));
            let relative =
                launches.map(|path| path.to_string_lossy()["ptx-samples/".len()..].into());
            expected.extend::<Vec<String>>(relative.collect());
        }
    }
    let root = common::root().join("ptx-samples");
    let mut found = BTreeSet::new();
    for entry in root.read_dir().expect("the samples").flatten() {
        let inner = entry.path().read_dir().into_iter().flatten().flatten().map(|e| e.path());
        let files = if entry.path().is_dir() { inner.collect() } else { vec![entry.path()] };
        for path in files {
            let name = path.strip_prefix(&root).expect("a path below the root");
            found.insert(name.to_string_lossy().into_owned());
        }
    }
    assert_eq!(found, expected);
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
