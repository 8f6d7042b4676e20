//! `openacc-bench/`: the OpenACC programs, run on the host, agree with their plain CPU loops; the
//! drivers notice if one does not; the tables of results are about the samples there are.

#![expect(clippy::disallowed_methods, reason = "compilers are processes")]

use crate::common;
use crate::common::missing::not_run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::assembler::Assembler;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openacc-bench")
}

fn run(command: &mut Command) -> (Output, String) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output, said)
}

/// Whether there is a compiler for Fortran; scripts/setup installs one.
fn fortran() -> bool {
    let found = ["gfortran-12", "gfortran"].iter().any(|name| which::which(name).is_ok());
    if !found {
        not_run("bench: gfortran is missing");
    }
    found
}

/// The benchmarks, and whether each is written in Fortran.
fn benchmarks() -> Vec<(String, bool)> {
    let entries = folder().read_dir().expect("openacc-bench").flatten().map(|entry| entry.path());
    let mut found: Vec<(String, bool)> = entries
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let has = |extension: &str| path.join(format!("{name}.{extension}")).exists();
            let any = has("cu") || has("c") || has("f90") || has("h");
            assert!(!any || has("cu") && has("h") && (has("c") != has("f90")), "{path:?}");
            any.then(|| (name.clone(), has("f90")))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 21, "{found:?}");
    found
}

#[test]
fn openacc_programs_agree_with_plain_loops() {
    if !fortran() {
        eprintln!("no gfortran: only programs in C are tried");
        assert!(std::env::var_os("PTXASW_REQUIRE_PTXAS").is_none(), "gfortran is missing");
    }
    let names: Vec<String> = benchmarks()
        .into_iter()
        .filter_map(|(name, in_fortran)| (!in_fortran || fortran()).then_some(name))
        .collect();
    let (output, said) = run(Command::new("make")
        .args(["--silent", "--jobs=2", "check"])
        .arg(format!("NAMES={}", names.join(" ")))
        .current_dir(folder()));
    assert!(output.status.success(), "{said}");
    let right = said.lines().filter(|line| line.ends_with(": right")).count();
    assert_eq!(right, names.len(), "{said}");
}

/// What GCC's offload compiler emits: it calls ptxasw, which understands all of it. Only where that
/// compiler is installed (Debian: gcc-12-offload-nvptx), and for some.
#[test]
fn gcc_calls_ptxasw() {
    let ptxas = Assembler::find();
    if ptxas.is_none() || which::which("x86_64-linux-gnu-accel-nvptx-none-gcc-12").is_err() {
        not_run("bench: gcc-12-offload-nvptx is missing");
        return;
    }
    let mut names = vec!["average1d", "hypterm", "laplacian"];
    names.extend(fortran().then_some("jacobi"));
    let build = folder().join("build/gcc");
    for name in &names {
        let _ = std::fs::remove_file(build.join(format!("{name}.s")));
        let _ = std::fs::remove_dir_all(build.join(format!("{name}.report")));
    }
    let (output, said) = run(Command::new("make")
        .args(["--silent", "--jobs=2", "check-gcc"])
        .arg(format!("NAMES={}", names.join(" ")))
        .arg(concat!("PROGRAM=", env!("CARGO_BIN_EXE_ptxasw")))
        .env("PTXASW_PTXAS", ptxas.expect("a ptxas").ptxas)
        .current_dir(folder()));
    assert!(output.status.success(), "{said}");
    for name in names {
        let reports = build.join(format!("{name}.report")).read_dir().expect("a report").flatten();
        let kernels: Vec<Value> = reports.flat_map(|r| kernels(&json(&r.path()))).collect();
        assert!(!kernels.is_empty(), "{name}: no kernel was reported");
        for kernel in kernels {
            assert!(kernel["skipped"].is_null(), "{name}: {kernel}");
            assert!(kernel["global_loads"].as_u64() > Some(2), "{name}: {kernel}");
        }
    }
}

fn kernels(report: &Value) -> Vec<Value> {
    report["kernels"].as_array().expect("kernels").clone()
}

/// A weight that is off by one, and a point that is not written.
#[test]
fn a_wrong_result_is_noticed() {
    let changes =
        [("2", "S0 * z0[0]", "S1 * z0[0]"), ("1", "i < nx - 2", "i < nx - 3"), ("0", "S0", "S0")];
    let source = std::fs::read_to_string(folder().join("gaussblur/gaussblur.c")).expect("a source");
    let temporary = tempfile::tempdir().expect("a temporary folder");
    for (name, old, new) in changes {
        let changed = source.replace(old, new).replace("../openacc.h", "openacc.h");
        let path = temporary.path().join(format!("{name}.c"));
        std::fs::write(&path, &changed).expect("a source is written");
        let program = path.with_extension("");
        let (output, said) = run(Command::new("cc")
            .args(["-std=c17", "-O1", "-I.", "-Igaussblur", "-o"])
            .args([&program, &path])
            .arg("-lm")
            .current_dir(folder()));
        assert!(output.status.success(), "{said}");
        let (output, said) = run(Command::new(&program).args(["--size", "40x20", "--runs", "1"]));
        let wrong = i32::from(old != new);
        assert_eq!(output.status.code(), Some(wrong), "{old} -> {new}: {said}");
        assert!(said.contains(if wrong == 1 { ": WRONG\n" } else { ": right\n" }), "{said}");
    }
    let program = temporary.path().join("0");
    for call in [&["--size", "0"][..], &["--size", "20x"], &["--runs"], &["--runs", "0"], &["x"]] {
        assert_eq!(run(Command::new(&program).args(call)).0.status.code(), Some(2), "{call:?}");
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"))
}

/// The names in a JSON array of objects.
fn names(array: &Value) -> BTreeSet<&str> {
    array.as_array().expect("an array").iter().filter_map(|item| item["name"].as_str()).collect()
}

/// Every kernel of every target stands in the tables of the four versions, which say the same in
/// both forms; the code they are about has the shuffles that are expected today.
#[test]
fn the_tables_are_about_the_samples() {
    let manifest = json(&folder().with_file_name("ptx-samples").join("samples.json"));
    for target in manifest["targets"].as_array().expect("targets") {
        let stem = format!("versions.{}", target["target"].as_str().expect("a name"));
        let table = json(&folder().join("results").join(format!("{stem}.json")));
        let markdown = folder().join("results").join(format!("{stem}.md"));
        let markdown = std::fs::read_to_string(markdown).expect("the table in Markdown");
        let tools = table["tools"].as_array().expect("tools");
        assert!(tools.contains(&target["compiler"]), "{stem}: {tools:?}");
        for sample in manifest["samples"].as_array().expect("samples") {
            if sample["files"][0]["command"].is_null() {
                continue;
            }
            let measured = table["samples"].as_array().expect("samples");
            let measured = measured.iter().find(|found| found["name"] == sample["name"]);
            let measured =
                &measured.unwrap_or_else(|| panic!("{stem}: {}", sample["name"]))["kernels"];
            for kernel in names(&sample["kernels"]) {
                let full = &measured[kernel]["full"];
                assert!(markdown.contains(&format!("\n| {kernel} | ")), "{stem}: {kernel}");
                let expected = sample["kernels"].as_array().expect("kernels");
                let expected = expected.iter().find(|k| k["name"] == kernel).expect("the kernel");
                let shuffles = full["dynamic"]["shuffles"].as_f64().expect("a number") > 0.0;
                assert_eq!(shuffles, expected["shuffles"] != 0, "{stem}: {kernel}");
                assert!(full["registers"].as_u64().is_some_and(|n| n > 4), "{stem}: {kernel}");
            }
        }
    }
}
