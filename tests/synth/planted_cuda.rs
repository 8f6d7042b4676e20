//! Each mistake that is planted into the CUDA of a solution is noticed: what nvcc makes of it does not do what the goals
//! say.

use std::fmt::Write as _;

use ptxasw::planted::{self, Bug, Set};
use ptxasw::source::SourceFile;
use ptxasw::synth::emit::build::kernel;
use ptxasw::synth::emit::check::check;
use ptxasw::synth::emit::kernel::Kernel;
use ptxasw::synth::emit::{cuda, cuda_entry};
use ptxasw::synth::search::{Limits, Mode, search};
use ptxasw::synth::{Lowered, lower::lower, parse};

use super::emitted::{compiled, element, nvcc};
use super::planted::SKETCHES;

/// A header whose helpers do not meet those of others in one file.
fn apart(header: &str, own: &str) -> String {
    let header = header.replace("PTXASW_SYNTH", &format!("PTXASW_SYNTH_{own}"));
    let header = header.replace("namespace synth", &format!("namespace synth_{own}"));
    header.replace("synth::", &format!("synth_{own}::"))
}

/// The first solution of each sketch, as a kernel.
fn kernels() -> Vec<(Lowered, Kernel)> {
    let limits =
        Limits { mode: Mode::First, tables: 200_000, solutions: 1, stop: None, progress: None };
    let solved = SKETCHES.iter().map(|text| {
        let source = SourceFile::new("sketch", *text);
        let tree = parse(&source).expect("a sketch");
        let mut sketch = lower(&source, &tree, &[], 3).expect("a sketch");
        let found = search(&mut sketch.program, &limits);
        let kernel = kernel("kernel", &tree, &sketch, &found.solutions[0]).expect("a kernel");
        (sketch, kernel)
    });
    solved.collect()
}

#[test]
fn each_mistake_in_cuda_is_noticed() {
    let Some(nvcc) = nvcc() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernels = kernels();
    let mut text = String::new();
    let mut made = Vec::new();
    // All of it in one file: each call of nvcc takes seconds.
    let bugs = std::iter::once(None).chain(Bug::of(Set::Cuda).into_iter().map(Some));
    for (number, bug) in bugs.enumerate() {
        for (which, (sketch, kernel)) in kernels.iter().enumerate() {
            let mut kernel = kernel.clone();
            kernel.name = format!("kernel_{number}_{which}");
            let right = cuda(&kernel, "").expect("a header");
            let header = planted::with(bug, || cuda(&kernel, "")).expect("a header");
            // Where the mistake is not even written there is nothing to notice.
            if bug.is_some() && header == right {
                continue;
            }
            let path = format!("{}.cuh", kernel.name);
            std::fs::write(folder.path().join(&path), apart(&header, &kernel.name))
                .expect("a header can be written");
            let entry = cuda_entry(&kernel, &path, element(sketch).0);
            let _ = writeln!(text, "{entry}");
            made.push((bug, sketch, kernel));
        }
    }
    let code = compiled(&nvcc, folder.path(), &text);
    let mut noticed = Vec::new();
    for (bug, sketch, kernel) in made {
        let entry = format!("{}_kernel", kernel.name);
        let checked = check(&kernel, sketch, &code, &entry, element(sketch).1);
        match (bug, checked) {
            (None, checked) => checked.unwrap_or_else(|why| panic!("{entry}: {why}")),
            (Some(bug), Err(_)) => noticed.push(bug),
            (Some(_), Ok(_)) => {}
        }
    }
    let missed: Vec<Bug> =
        Bug::of(Set::Cuda).into_iter().filter(|bug| !noticed.contains(bug)).collect();
    assert!(missed.is_empty(), "nobody notices {missed:?}");
}
