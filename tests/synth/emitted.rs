//! The emitted code for every sketch of `tests/synth` with a solution: PTX in 32 and 64 bits and, where there is an
//! nvcc, CUDA compiled by it, both executed and compared with the goals, and PTX accepted by the real ptxas.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use ptxasw::interp;
use ptxasw::isa::ScalarType;
use ptxasw::launch::Launch;
use ptxasw::ptx;
use ptxasw::source::SourceFile;
use ptxasw::synth::emit::build::kernel;
use ptxasw::synth::emit::kernel::Kernel;
use ptxasw::synth::emit::{
    self,
    check::{check, is_movement},
};
use ptxasw::synth::search::{Limits, Mode, search};
use ptxasw::synth::{Lowered, lower::lower, parse};

use crate::common::assembler::Assembler;
use crate::common::missing::not_run;
use crate::turns::has_turn;

/// A solved sketch with given params.
struct Solved {
    sketch: Lowered,
    kernel: Kernel,
}

/// The params that the options of a call give.
fn defines(options: &str) -> Vec<(String, i64)> {
    let words: Vec<&str> = options.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "-D");
    pairs
        .map(|pair| {
            let (name, value) = pair[1].split_once('=').expect("NAME=VALUE");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

/// Every sketch with each set of params that its calls give, as far as it has a solution and code.
fn solved() -> &'static [Solved] {
    static SOLVED: LazyLock<Vec<Solved>> = LazyLock::new(solve);
    &SOLVED
}

fn solve() -> Vec<Solved> {
    let mut found = Vec::new();
    for path in super::sketches() {
        let text = std::fs::read_to_string(&path).expect("the sketch can be read");
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut given: Vec<Vec<(String, i64)>> = Vec::new();
        for options in super::calls(&text).1 {
            let defines = defines(options);
            if !given.contains(&defines) {
                given.push(defines);
            }
        }
        for defines in given {
            let source = SourceFile::new(stem.as_str(), text.as_str());
            let Ok(tree) = parse(&source) else { continue };
            let Ok(mut sketch) = lower(&source, &tree, &defines, 3) else { continue };
            let limits = Limits {
                mode: Mode::First,
                tables: 1 << 20,
                solutions: 1,
                stop: None,
                progress: None,
            };
            let solution = search(&mut sketch.program, &limits).solutions.pop();
            let Some(solution) = solution else { continue };
            let name = format!("{stem}_{}", found.len());
            match kernel(&name, &tree, &sketch, &solution) {
                Ok(kernel) => found.push(Solved { sketch, kernel }),
                Err(why) => {
                    let known = ["a warp has 32 lanes", "a list has no instruction"];
                    let known = known.iter().any(|known| why.contains(known));
                    assert!(known, "{stem} {defines:?}: {why}");
                }
            }
        }
    }
    assert!(found.len() > 30, "{} solutions have code", found.len());
    found
}

#[test]
fn emitted_ptx_does_what_the_goals_say_and_the_real_ptxas_accepts_it() {
    let mut failures = Vec::new();
    let mut all = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    for Solved { sketch, kernel, .. } in solved() {
        let entry = format!("{}_kernel", kernel.name);
        for width in [ScalarType::B64, ScalarType::B32] {
            let code = emit::ptx(kernel, "", width).unwrap_or_else(|why| panic!("{entry}: {why}"));
            if let Err(why) = check(kernel, sketch, &code, &entry, width) {
                failures.push(format!("{entry}, {width:?}: {why}"));
            }
            if width == ScalarType::B32 {
                let body = code.find(".func").expect("a function");
                all.push_str(&code[body..]);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if let Some(assembler) = Assembler::find() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        assembler.assemble(&all, &folder.path().join("all.cubin")).expect("ptxas accepts it");
    }
}

#[test]
fn emitted_cuda_does_what_the_goals_say() {
    let Some(nvcc) = nvcc() else { return };
    let solved = solved();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut text = String::new();
    for Solved { sketch, kernel } in solved {
        let header = format!("{}.cuh", kernel.name);
        let code = emit::cuda(kernel, "").unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
        std::fs::write(folder.path().join(&header), code).expect("a header can be written");
        let _ = writeln!(text, "{}", emit::cuda_entry(kernel, &header, element(sketch).0));
    }
    let code = compiled(&nvcc, folder.path(), &text);
    let mut failures = Vec::new();
    for Solved { sketch, kernel, .. } in solved {
        let entry = format!("{}_kernel", kernel.name);
        if let Err(why) = check(kernel, sketch, &code, &entry, element(sketch).1) {
            failures.push(format!("{entry}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The compiler beside the assembler, if there is one.
pub fn nvcc() -> Option<PathBuf> {
    let nvcc = Assembler::find()?.ptxas.with_file_name("nvcc");
    if !nvcc.exists() {
        not_run("synth: nvcc is missing beside ptxas");
        return None;
    }
    Some(nvcc)
}

/// The type of elements for CUDA: for movements 32 bits, which a shuffle takes whole, so that nothing but moves touches
/// them.
pub fn element(sketch: &Lowered) -> (&'static str, ScalarType) {
    match is_movement(sketch) {
        true => ("unsigned", ScalarType::B32),
        false => ("unsigned long long", ScalarType::B64),
    }
}

/// CUDA as PTX.
pub fn compiled(nvcc: &Path, folder: &Path, text: &str) -> String {
    std::fs::write(folder.join("all.cu"), text).expect("the text can be written");
    let done = Command::new(nvcc)
        .current_dir(folder)
        .args(["-arch=sm_80", "-ptx", "all.cu", "-o", "all.ptx"])
        .output()
        .expect("nvcc can be started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read_to_string(folder.join("all.ptx")).expect("nvcc wrote PTX")
}

/// The headers of `openacc-bench/synth` are up to date with their sketches, and each kernel around them computes the
/// same as the ones beside it, with shared memory and with loads alone.
#[test]
fn kernels_around_headers_do_what_those_without_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("openacc-bench/synth");
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file of the folder");
    for line in read("headers.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, line) = line.split_once(' ').expect("a name");
        let (sketch, options) = line.split_once(' ').expect("a sketch and its options");
        let path = super::folder().join(sketch).with_extension("sketch");
        let (status, made) = super::call(&path, &format!("{options} --name {name} --emit cuda"), 2);
        assert_eq!(status, 0, "{made}");
        assert!(made == read(&format!("{name}.cuh")), "{name}.cuh: scripts/make headers makes it");
    }
    let Some(nvcc) = nvcc().filter(|_| has_turn(2, 3)) else { return };
    let there = tempfile::tempdir().expect("a folder can be made");
    for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|kind| kind == "cuh") {
            let name = path.file_name().expect("a name");
            std::fs::copy(&path, there.path().join(name)).expect("a header can be copied");
        }
    }
    let code = compiled(&nvcc, there.path(), &read("kernels.cu"));
    let source = SourceFile::new("kernels.ptx", code.as_str());
    let module = ptx::parse(&source, ptx::Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let mut compared = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|kind| kind != "json") {
            continue;
        }
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a launch file");
        let mut launch = Launch::from_json(&text).expect("a launch file");
        launch.uninitialized = true;
        let outcomes = ["synth", "shared", "direct"].map(|kind| {
            launch.kernel = Some(format!("{stem}_{kind}"));
            interp::run(&module, &launch).unwrap_or_else(|fault| panic!("{stem}_{kind}: {fault}"))
        });
        assert!(outcomes[0].counters.shuffles > 0, "{stem} shuffles");
        assert!(outcomes[1].counters.shuffles == 0 && outcomes[2].counters.shuffles == 0, "{stem}");
        for other in &outcomes[1..] {
            assert!(outcomes[0].buffers == other.buffers, "{stem}: other results");
        }
        compared += 1;
    }
    assert!(compared > 14, "{compared} kernels");
}
