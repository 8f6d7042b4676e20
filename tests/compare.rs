//! `ptxasw compare` and `ptxasw asm` on cubins, and on files that hold cubins, which `cuobjdump` takes apart. The program
//! that stands for it here copies cubins into its folder, as the real one does.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json as value};
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

/// The report of a cubin by `asm`, as if its memory traffic were known, in a file.
fn report(folder: &Path, cubin: &str, name: &str) -> Value {
    let mut report = json(&ptxasw(folder, &["asm", cubin, "--format", "json"]));
    report["kernels"][0]["measure"]["busy"]["l2"] = 1.0.into();
    fs::write(folder.join(name), report.to_string()).expect("written");
    report
}

#[test]
fn kernels_are_compared_with_their_cycles() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    report(folder, "one.cubin", "one.json");
    report(folder, "two.cubin", "two.json");
    let words = ["compare", "one.json", "two.json", "--format", "json"];
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
    let mut unmeasured = asm;
    unmeasured["kernels"][0]["measure"] = Value::Null;
    fs::write(folder.join("unmeasured.json"), unmeasured.to_string()).expect("written");
    report(folder, "one.cubin", "asm.json");
    report(folder, "two.cubin", "two.json");
    for (old, is_known) in [("asm.json", true), ("unmeasured.json", false), ("one.cubin", false)] {
        let words = ["compare", old, "two.json", "--format", "json"];
        let report = json(&ptxasw(folder, &words));
        assert_eq!(report["kernels"][0]["cycles"].is_object(), is_known, "{old}: {report}");
        let row = stdout(&ptxasw(folder, &words[..3]));
        assert_eq!(row.contains("  ?"), !is_known, "{row}");
    }
}

/// A build that has replaced a kernel has measured both versions: the other build's cycles are those of the original.
#[test]
fn cycles_of_a_kernel_that_was_replaced() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let [old, new] = ["one.cubin", "two.cubin"].map(|cubin| {
        let kernel =
            json(&ptxasw(folder, &["asm", cubin, "--format", "json"]))["kernels"][0].clone();
        kernel["code_hash"].as_str().expect("a hash");
        kernel
    });
    let build = |name: &str, rewritten: &Value, measure: Value| {
        let both = value!({"original": old, "rewritten": rewritten});
        let kernel = value!({"name": "k", "resources": both, "measure": measure});
        fs::write(folder.join(name), value!({"kernels": [kernel]}).to_string()).expect("written");
    };
    build("plain.json", &Value::Null, Value::Null);
    build(
        "replaced.json",
        &new,
        value!({"original": {"8": 30.0, "64": 20.0}, "rewritten": {"64": 10.0}}),
    );
    for (files, cycles) in
        [(["plain", "replaced"], [20.0, 10.0]), (["replaced", "plain"], [10.0, 20.0])]
    {
        let [a, b] = files.map(|name| format!("{name}.json"));
        let found = json(&ptxasw(folder, &["compare", &a, &b, "--format", "json"]));
        let kernel = &found["kernels"][0];
        assert_eq!(
            [&kernel["cycles"]["old"], &kernel["cycles"]["new"]],
            [cycles[0], cycles[1]],
            "{found}"
        );
        assert_eq!(kernel["state"], "changed");
    }
}

/// A build's report of kernels that take these bytes of stack, in a file.
fn build(path: &Path, file: &str, kernels: &[(&str, u32)]) {
    let kernel = |&(name, stack): &(&str, u32)| {
        let original = value!({
            "registers": 8, "stack": stack, "spill_stores": 0, "spill_loads": 0, "shared": 0, "code_bytes": 128,
            "instructions": 8, "warps": 64, "code_hash": format!("{stack:016x}"),
        });
        value!({"name": name, "resources": {"original": original, "rewritten": null}})
    };
    let kernels: Vec<Value> = kernels.iter().map(kernel).collect();
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, value!({"file": file, "kernels": kernels}).to_string()).expect("written");
}

/// The exit status of `--fail-on stack`, with the names of the kernels that are compared and of those that are not known to
/// belong together.
fn stacks(folder: &Path, old: &str, new: &str) -> (Option<i32>, Vec<String>, Vec<String>) {
    let words = ["compare", old, new, "--fail-on", "stack", "--format", "json"];
    let output = ptxasw(folder, &words);
    let found = json(&output);
    let text = |one: &Value| one.as_str().expect("a name").to_owned();
    let kernels = found["kernels"].as_array().expect("kernels");
    let mut names: Vec<String> = kernels.iter().map(|one| text(&one["name"])).collect();
    names.sort();
    let unclear = found["unclear"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.contains("it is not known which"), !unclear.is_empty(), "{said}");
    (output.status.code(), names, unclear)
}

/// Files of a build that have kernels of the same names, as each has that is compiled for several architectures: a kernel
/// is compared with the one of the same file.
#[test]
fn kernels_of_one_name_in_several_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let write = |build_name: &str, reports: &[(&str, u32)]| {
        for (at, (file, stack)) in reports.iter().enumerate() {
            build(&folder.join(format!("{build_name}/{at}.json")), file, &[("k", *stack)]);
        }
    };
    write("old", &[("a.ptx", 0), ("b.ptx", 8)]);
    // Worse in one file, whose folder is another one; the order of the reports says nothing.
    write("worse", &[("b.ptx", 8), ("q/a.ptx", 16)]);
    let both = names(&["k in b.ptx", "k in q/a.ptx"]);
    assert_eq!(stacks(folder, "old", "worse"), (Some(1), both.clone(), vec![]));
    assert_eq!(stacks(folder, "worse", "old").0, Some(0));
    // nvcc's names for temporary files have numbers of their own in each build.
    let temporary = |number: u32, name: &str| format!("/tmp/tmpxft_{number:08x}_00000000-6_{name}");
    let [first, second] = [1, 2].map(|number| {
        ["a_1.compute_80.ptx", "a_1.compute_90.ptx"].map(|name| temporary(number, name))
    });
    write("first", &[(&first[0], 0), (&first[1], 64)]);
    write("second", &[(&second[0], 32), (&second[1], 48)]);
    let both = names(&["k in a_1.compute_80.ptx", "k in a_1.compute_90.ptx"]);
    assert_eq!(stacks(folder, "first", "second"), (Some(1), both, vec![]));
    // One file alone has it in each build, under other names.
    write("moved", &[("c.ptx", 8)]);
    write("one", &[("a.ptx", 0)]);
    assert_eq!(stacks(folder, "one", "moved"), (Some(1), names(&["k"]), vec![]));
    // The same machine code is in the file that has another name now, so the other kernel is new.
    assert_eq!(stacks(folder, "moved", "old"), (Some(0), names(&["k in b.ptx"]), vec![]));
    // Nothing says which of two it was.
    write("neither", &[("d.ptx", 16), ("e.ptx", 24)]);
    let all = names(&["k in a.ptx", "k in d.ptx", "k in e.ptx"]);
    assert_eq!(stacks(folder, "one", "neither"), (Some(1), vec![], all));
    // A stale report beside the current one.
    write("stale", &[("a.ptx", 0), ("a.ptx", 16)]);
    assert_eq!(stacks(folder, "one", "stale").0, Some(1));
    let without = ptxasw(folder, &["compare", "one", "neither"]);
    assert_eq!(without.status.code(), Some(0), "{without:?}");
    assert!(stdout(&without).contains("not compared, since it is not known which belong together"));
}

/// Machine code that differs although all resources are the same, and that is the same under another name.
#[test]
fn other_instructions_are_noticed() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let assembler = Assembler::find().expect("ptxas is there");
    let one = text("sm_80", 1);
    for (name, text) in [
        ("mul.cubin", one.replace("div.rn.f32", "mul.f32")),
        ("add.cubin", one.replace("div.rn.f32", "add.f32")),
        ("other.cubin", one.replace("div.rn.f32", "mul.f32").replace("_Z1fPf", "_Z1gPf")),
    ] {
        assembler.assemble(&text, &folder.join(name)).expect("it is assembled");
    }
    for (new, state, row) in [
        ("mul.cubin", "same", ""),
        ("add.cubin", "changed", "f(float*)"),
        ("other.cubin", "renamed", "f(float*) -> g(float*)"),
    ] {
        let words = ["compare", "mul.cubin", new, "--format", "json"];
        let found = json(&ptxasw(folder, &words));
        assert_eq!(found["kernels"][0]["state"], state, "{found}");
        assert_eq!(found["only_old"].as_array().map(Vec::len), Some(0));
        let shown = stdout(&ptxasw(folder, &words[..3]));
        let line = shown.lines().find(|line| line.starts_with("f(float*)"));
        match state {
            "same" => assert_eq!(line, None, "{shown}"),
            _ => assert!(
                line.is_some_and(|line| line.starts_with(row) && line.contains(state)),
                "{shown}"
            ),
        }
    }
}

/// Spills of a cubin whose kernel has a stack are not known: a check of them fails, unless the code is the same.
#[test]
fn a_check_that_cannot_be_made_fails() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let assembler = Assembler::find().expect("ptxas is there");
    // An array with indices that nobody knows.
    let local = ".local .b32 l[32]; .reg .b64 %a<4>; .reg .b32 %i<4>; mov.u64 %a0, l;\n\
        ld.global.u32 %i1, [%d1]; mul.wide.u32 %a1, %i1, 4; add.u64 %a1, %a1, %a0; st.local.f32 [%a1], %f1;\n\
        ld.global.u32 %i2, [%d1+4]; mul.wide.u32 %a2, %i2, 4; add.u64 %a2, %a2, %a0; st.local.f32 [%a2], %f2;\n\
        ld.global.u32 %i3, [%d1+8]; mul.wide.u32 %a3, %i3, 4; add.u64 %a3, %a3, %a0; ld.local.f32 %f1, [%a3];\n";
    let with_stack = text("sm_80", 1).replace("st.global.f32", &format!("{local}st.global.f32"));
    assembler.assemble(&with_stack, &folder.join("stack.cubin")).expect("it is assembled");
    for (old, new, losses, status) in [
        ("one.cubin", "stack.cubin", "spills", 1),
        ("one.cubin", "stack.cubin", "shared", 0),
        ("stack.cubin", "stack.cubin", "spills", 0),
        ("stack.cubin", "one.cubin", "spills", 0),
    ] {
        let output = ptxasw(folder, &["compare", old, new, "--fail-on", losses]);
        assert_eq!(output.status.code(), Some(status), "{old} {new} {losses}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("--fail-on spills cannot be checked"), status == 1, "{said}");
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
    let names = |compared: &Value| {
        let kernels = compared["kernels"].as_array().expect("kernels").iter();
        kernels.map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&compared), ["_Z1fPf on sm_80", "_Z1fPf on sm_90"]);
    // The array that `asm` prints of both, and a build for one of the architectures alone.
    fs::write(folder.join("both.json"), both.to_string()).expect("written");
    for (old, new, status) in
        [("both.json", "k.o", 0), ("k.o", "two.cubin", 1), ("both.json", "two.cubin", 1)]
    {
        let words = ["compare", old, new, "--fail-on", "code", "--format", "json"];
        let output = ptxasw(folder, &words);
        assert_eq!(output.status.code(), Some(status), "{old} {new}: {output:?}");
        let compared = json(&output);
        let only = if status == 1 { &["_Z1fPf on sm_90"][..] } else { &[] };
        assert_eq!(compared["only_old"], value!(only));
        assert_eq!(names(&compared)[0], "_Z1fPf on sm_80");
    }
}
