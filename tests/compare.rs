//! `ptxasw compare` and `ptxasw asm` on cubins, and on files that hold cubins, which `cuobjdump` takes apart. The program
//! that stands for it here copies cubins into its folder, as the real one does.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::assembler::Assembler;

/// A kernel that is called `f(float*)` in the source and does `count` divisions.
fn text(target: &str, count: usize) -> String {
    let divisions = "div.rn.f32 %f1, %f2, %f1;\n".repeat(count);
    format!(
        ".version 8.0\n.target {target}\n.address_size 64\n.visible .entry _Z1fPf(.param .u64 a)\n{{\n\
         .reg .b64 %d<3>; .reg .f32 %f<3>;\nld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1;\n\
         ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+4];\n{divisions}st.global.f32 [%d1], %f1;\nret;\n}}\n"
    )
}

/// A folder with two cubins for sm_80 and one for sm_90, and an object that is none; `None` without ptxas.
fn folder() -> Option<TempDir> {
    let assembler = Assembler::find()?;
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    for (name, target, count) in
        [("one.cubin", "sm_80", 1), ("two.cubin", "sm_80", 2), ("one90.cubin", "sm_90", 1)]
    {
        assembler.assemble(&text(target, count), &place(name)).expect("it is assembled");
    }
    // The header of an ELF file for x86-64.
    let mut object = fs::read(place("one.cubin")).expect("a cubin");
    object[18..20].copy_from_slice(&62_u16.to_le_bytes());
    fs::write(place("k.o"), object).expect("written");
    Some(folder)
}

/// Writes a `cuobjdump` that finds these cubins in every file.
fn with_cuobjdump(folder: &Path, cubins: &[&str]) {
    let copies = cubins
        .iter()
        .enumerate()
        .map(|(at, cubin)| format!("cp {} k.{at}.{cubin}\n", folder.join(cubin).display()));
    let script =
        format!("#!/bin/sh\n[ \"$1 $2\" = '-xelf all' ] || exit 1\n{}", copies.collect::<String>());
    let program = folder.join("cuobjdump");
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("set");
}

fn ptxasw(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .args(words)
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .env("PTXASW_PTXAS", folder.join("none"))
        .output()
        .expect("the program can be started")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn cubins_are_compared_with_their_cycles() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let words = ["compare", "one.cubin", "two.cubin", "--format", "json"];
    let report = json(&ptxasw(folder, &words));
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["name"], "_Z1fPf");
    let cycles = ["old", "new"].map(|which| kernel["cycles"][which].as_f64().expect("cycles"));
    assert!(0.0 < cycles[0] && cycles[0] < cycles[1], "{kernel}");
    let shown = stdout(&ptxasw(folder, &words[..3]));
    let [head, row, ..] = &shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
    assert!(head.contains("  cycles  "), "{shown}");
    let expected = format!("{:.0} -> {:.0}", cycles[0], cycles[1]);
    assert!(row.starts_with("f(float*)  ") && row.contains(&expected), "{shown}");
}

/// Where one side's cycles are not known, there are none.
#[test]
fn cycles_need_both_sides() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let asm = json(&ptxasw(folder, &["asm", "one.cubin", "--format", "json"]));
    assert_eq!(asm["kernels"][0]["measure"]["busy"]["l2"], Value::Null);
    assert_eq!(asm["kernels"][0]["measure"]["busy"]["memory"], Value::Null);
    assert!(asm["kernels"][0]["measure"]["busy"]["issue"].is_f64());
    let mut unmeasured = asm.clone();
    unmeasured["kernels"][0]["measure"] = Value::Null;
    for (name, report) in [("asm.json", &asm), ("unmeasured.json", &unmeasured)] {
        fs::write(folder.join(name), report.to_string()).expect("written");
    }
    for (old, is_known) in [("asm.json", true), ("unmeasured.json", false)] {
        let words = ["compare", old, "two.cubin", "--format", "json"];
        let report = json(&ptxasw(folder, &words));
        assert_eq!(report["kernels"][0]["cycles"].is_object(), is_known, "{old}: {report}");
        let row = stdout(&ptxasw(folder, &words[..3]));
        assert_eq!(row.contains("  ?"), !is_known, "{row}");
    }
}

#[test]
fn objects_are_taken_apart() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let none = ptxasw(folder, &["asm", "k.o"]);
    assert_eq!(none.status.code(), Some(2));
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(said.contains("k.o: error: cubins are read from such a file by cuobjdump"), "{said}");
    with_cuobjdump(folder, &[]);
    for call in [&["asm", "k.o"][..], &["compare", "k.o", "k.o"]] {
        let empty = ptxasw(folder, call);
        let said = String::from_utf8_lossy(&empty.stderr);
        assert_eq!(empty.status.code(), Some(2), "{said}");
        assert!(said.contains("there is no machine code of a GPU in it; compile with"), "{said}");
    }
    with_cuobjdump(folder, &["one.cubin", "one90.cubin"]);
    let both = json(&ptxasw(folder, &["asm", "k.o", "--format", "json"]));
    let architectures: Vec<_> =
        both.as_array().expect("two").iter().map(|one| &one["arch"]).collect();
    assert_eq!(architectures, [80, 90]);
    let one = json(&ptxasw(folder, &["asm", "k.o", "--arch", "sm_90", "--format", "json"]));
    assert_eq!(one["arch"], 90);
    let shown = stdout(&ptxasw(folder, &["asm", "k.o", "--kernel", "f"]));
    assert_eq!(shown.matches("f(float*): sm_").count(), 2, "{shown}");
    let compared = json(&ptxasw(folder, &["compare", "k.o", "k.o", "--format", "json"]));
    let names = compared["kernels"].as_array().expect("kernels").iter().map(|one| &one["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["_Z1fPf on sm_80", "_Z1fPf on sm_90"]);
}
