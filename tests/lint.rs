//! The rules of `lint`: for each a kernel that it is about (`RULE.bad.ptx`) and one beside it that it is not about
//! (`RULE.good.ptx`), with the findings for both. `BLESS=1` writes the expectations.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ptxasw::lint::Rule;
use serde_json::Value;
use strum::IntoEnumIterator;

use crate::common::root;

/// `ptxasw lint` in the folder of the kernels.
fn lint(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .arg("lint")
        .args(arguments)
        .current_dir(folder())
        .output()
        .expect("the program can be started")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("a text")
}

fn folder() -> PathBuf {
    root().join("tests/lint")
}

fn kernels() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the folder can be read");
    let names =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".ptx")).collect();
    names.sort();
    names
}

fn json(arguments: &[&str]) -> Value {
    let output = lint(&[&["--format", "json"][..], arguments].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The rules of all findings of a file.
fn found(file: &str) -> BTreeSet<String> {
    let report = json(&[file]);
    let kernels = report["kernels"].as_array().expect("kernels").clone();
    let findings =
        kernels.iter().flat_map(|kernel| kernel["findings"].as_array().expect("findings"));
    findings.map(|finding| finding["rule"].as_str().expect("a rule").to_owned()).collect()
}

#[test]
fn every_rule_has_a_kernel_that_it_is_about_and_one_that_it_is_not() {
    for rule in Rule::iter() {
        let [bad, mut good] = ["bad", "good"].map(|kind| found(&format!("{rule}.{kind}.ptx")));
        // Neighbours of a stencil are no row that is misaligned, and redundant all the same.
        if rule == Rule::MisalignedRow {
            good.remove(Rule::RedundantLoad.name());
        }
        assert!(bad.contains(rule.name()), "{rule}: {bad:?}");
        assert!(good.is_empty(), "{rule}: {good:?}");
    }
    let all = Rule::iter().count() * 2;
    let of_rules =
        kernels().into_iter().filter(|name| name.contains(".bad.") || name.contains(".good."));
    assert_eq!(of_rules.count(), all);
}

#[test]
fn what_is_said_of_kernels() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for name in kernels() {
        let said = stdout(&lint(&[&name]));
        let path = folder().join(&name).with_extension("txt");
        if bless {
            fs::write(&path, &said).expect("written");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if said != expected {
            wrong.push(format!("{name}:\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a lane above has read is not said where that lane is in another row.
#[test]
fn lanes_are_neighbours_in_rows_of_whole_warps() {
    let of_other_lanes = |arguments: &[&str]| {
        stdout(&lint(&[arguments, &["redundant-load.bad.ptx"][..]].concat()))
            .contains("in the lane")
    };
    assert!(of_other_lanes(&[]));
    assert!(of_other_lanes(&["--block", "64x4"]));
    assert!(!of_other_lanes(&["--block", "4x64"]));
}

/// `lint`, `trace` and `candidates` have one number for one access, and that of one thread is one.
#[test]
fn one_number_for_one_access() {
    let files =
        ["one-thread-counts", "some-lanes", "some-lanes-shared", "thread-rows", "thresholds"];
    let (mut compared, mut of_one_lane) = (0, 0);
    for file in files {
        let file = format!("{file}.ptx");
        let called = |subcommand: &str| -> Value {
            let output = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
                .args([subcommand, "--format", "json", &file])
                .current_dir(folder())
                .output()
                .expect("the program can be started");
            serde_json::from_slice(&output.stdout).expect("JSON")
        };
        // (Some lines have several accesses.)
        let counts = |report: &Value, of: &str| -> Vec<Value> {
            let kernels = report["kernels"].as_array().expect("kernels").clone();
            let all = kernels.iter().flat_map(|kernel| kernel[of].as_array().expect("accesses"));
            let counted =
                all.filter(|one| !one["sectors"].is_null() || !one["wavefronts"].is_null());
            let key =
                |one: &Value| serde_json::json!([one["line"], one["sectors"], one["wavefronts"]]);
            counted.map(key).collect()
        };
        let lint = called("lint");
        let own = counts(&lint, "accesses");
        for other in [counts(&called("trace"), "accesses"), counts(&called("candidates"), "loads")]
        {
            compared += other.len();
            assert!(other.iter().all(|one| own.contains(one)), "{file}: {other:?}, {own:?}");
        }
        for kernel in lint["kernels"].as_array().expect("kernels") {
            let all = kernel["accesses"].as_array().expect("accesses");
            for access in all.iter().filter(|one| one["lanes"] == 1) {
                of_one_lane += 1;
                let counts = [&access["sectors"]["max"], &access["wavefronts"]["max"]];
                assert!(counts.contains(&&1.into()), "{file}: {access}");
            }
        }
    }
    assert!(compared > 40 && of_one_lane > 10, "{compared} compared, {of_one_lane} of one lane");
}

#[test]
fn the_contract_of_the_json() {
    let report = json(&["uncoalesced-load.bad.ptx"]);
    assert_eq!(
        (&report["version"], &report["file"]),
        (&1.into(), &"uncoalesced-load.bad.ptx".into())
    );
    let kernel = &report["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["demangled"]), (&"k".into(), &"k".into()));
    let load = &kernel["accesses"][0];
    assert_eq!(load["sectors"], serde_json::json!({"min": 4, "max": 32, "ideal": 4}));
    assert_eq!(
        serde_json::json!([
            load["kind"],
            load["space"],
            load["bytes"],
            load["lane_stride"],
            load["stride"],
            load["wavefronts"],
            load["loop_depth"],
            load["source"]
        ]),
        serde_json::json!(["load", "global", 4, null, "4*m", null, 1, null])
    );
    let store = &kernel["accesses"][1];
    assert_eq!((&store["kind"], &store["lane_stride"]), (&"store".into(), &4.into()));
    assert_eq!(store["sectors"], serde_json::json!({"min": 4, "max": 4, "ideal": 4}));
    let finding = &kernel["findings"][0];
    assert_eq!(
        serde_json::json!([finding["rule"], finding["level"], finding["waste"], finding["source"]]),
        serde_json::json!(["uncoalesced-load", "warning", 28, null])
    );
    let tile = json(&["bank-conflict.bad.ptx"]);
    let all = tile["kernels"][0]["accesses"].as_array().expect("accesses");
    let column = all.iter().find(|one| one["space"] == "shared" && one["kind"] == "load");
    let column = column.expect("the column");
    assert_eq!(column["wavefronts"], serde_json::json!({"min": 32, "max": 32, "ideal": 1}));
    assert_eq!((&column["sectors"], &column["lane_stride"]), (&Value::Null, &128.into()));
    let gather = json(&["irregular.bad.ptx"]);
    let all = gather["kernels"][0]["accesses"].as_array().expect("accesses");
    let irregular: Vec<&Value> = all.iter().filter(|one| one["irregular"] == true).collect();
    assert_eq!(irregular.len(), 1);
    assert_eq!(
        (&irregular[0]["sectors"], &irregular[0]["wavefronts"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn exit_statuses_and_known_findings() {
    let status = |arguments: &[&str]| lint(arguments).status.code();
    let bad = "uncoalesced-load.bad.ptx";
    assert_eq!(status(&[bad]), Some(0));
    assert_eq!(status(&[bad, "--deny", "all"]), Some(1));
    assert_eq!(status(&[bad, "--deny", "uncoalesced-load"]), Some(1));
    assert_eq!(status(&[bad, "--deny", "bank-conflict"]), Some(0));
    assert_eq!(status(&["uncoalesced-load.good.ptx", "--deny", "all"]), Some(0));
    assert_eq!(status(&["none.ptx"]), Some(2));
    assert_eq!(status(&[bad, "--kernel", "none"]), Some(2));
    assert_eq!(status(&["irregular.bad.ptx", "--level", "warning", "--deny", "all"]), Some(0));
    let folder = tempfile::tempdir().expect("a folder");
    let known = folder.path().join("known.json");
    fs::write(&known, lint(&[bad, "--format", "json"]).stdout).expect("written");
    let known = known.to_str().expect("a path");
    assert_eq!(status(&[bad, "--deny", "all", "--baseline", known]), Some(0));
    let other = "uncoalesced-store.bad.ptx";
    assert_eq!(status(&[other, "--deny", "all", "--baseline", known]), Some(1));
    assert_eq!(status(&[bad, "--baseline", bad]), Some(2));
}

#[test]
fn the_shape_of_blocks_decides() {
    // In blocks of 16 by 16 threads a warp has two rows.
    let stride = |block: &[&str]| {
        let report = json(&[&["uncoalesced-load.good.ptx"][..], block].concat());
        report["kernels"][0]["accesses"][1]["sectors"].clone()
    };
    assert_eq!(stride(&[])["max"], 4);
    assert_eq!(stride(&["--block", "256"])["max"], 4);
    assert_eq!(stride(&["--block", "16x16"])["max"], 2);
    let aligned = json(&["uncoalesced-load.good.ptx", "--pointer-align", "1"]);
    assert_eq!(aligned["kernels"][0]["accesses"][1]["sectors"]["max"], 5);
}

#[test]
fn lines_of_sources_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "// Sums.\n__global__ void rowsum(const float* a, float* s, int n, int m) {\n  t += a[i*m + k];\n}\n";
    fs::write(folder.path().join("stats.cu"), source).expect("written");
    let text =
        fs::read_to_string(self::folder().join("uncoalesced-load.bad.ptx")).expect("the kernel");
    let text = text
        .replace(".address_size 64\n", ".address_size 64\n.file 1 \"stats.cu\"\n")
        .replace("LOOP:\n", "LOOP:\n.loc 1 3 8\n")
        .replace("entry k(", "entry _Z6rowsumPKfPfii(");
    let path = folder.path().join("stats.ptx");
    fs::write(&path, text).expect("written");
    let path = path.to_str().expect("a path");
    let said = stdout(&lint(&[path]));
    for part in [
        "warning[uncoalesced-load]: a warp's request reads up to 32 sectors; 4 would hold its 128 bytes",
        "stats.cu:3:8",
        "t += a[i*m + k];",
        "^^^^^^^^^^ lanes are 4*m bytes apart (m = parameter 3; from m = 8 on)",
        "in rowsum(float const*, float*, int, int), loop depth 1",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let commands = stdout(&lint(&[path, "--format", "github"]));
    assert!(
        commands
            .starts_with("::warning file=stats.cu,line=3,col=8,title=uncoalesced-load in rowsum"),
        "{commands}"
    );
    let sarif: Value =
        serde_json::from_slice(&lint(&[path, "--format", "sarif"]).stdout).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"stats.cu".into(), &3.into())
    );
}

/// The stand-in shows warnings while a program is built; `error` fails the call, and nothing else does.
#[test]
fn builds_are_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = folder.path().join("ptxas");
    fs::copy(root().join("tests/wrapper/fake-ptxas"), &fake).expect("it is there");
    let call = |kernel: &str, lint: &str| {
        let output = folder.path().join("out");
        let _ = fs::remove_file(&output);
        let done = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
            .args(["ptxas", "--", "-arch=sm_80"])
            .arg(self::folder().join(kernel))
            .arg("-o")
            .arg(&output)
            .env("PTXASW_PTXAS", &fake)
            .env("PTXASW_LINT", lint)
            .output()
            .expect("it runs");
        let said = String::from_utf8(done.stderr).expect("a text");
        (done.status.code(), output.exists(), said)
    };
    let (code, made, said) = call("uncoalesced-load.bad.ptx", "warn");
    assert_eq!((code, made), (Some(0), true), "{said}");
    assert!(said.contains("): warning: a warp's request reads up to 32 sectors"), "{said}");
    assert!(said.contains("[uncoalesced-load, in k]"), "{said}");
    let (code, made, said) = call("uncoalesced-load.bad.ptx", "error");
    assert_eq!((code, made), (Some(255), false), "{said}");
    assert!(said.contains("): error: a warp's request"), "{said}");
    for (kernel, lint) in [
        ("uncoalesced-load.good.ptx", "error"),
        ("irregular.bad.ptx", "error"),
        ("uncoalesced-load.bad.ptx", "off"),
    ] {
        let (code, made, said) = call(kernel, lint);
        assert_eq!((code, made, said.as_str()), (Some(0), true, ""), "{kernel} {lint}");
    }
    let (code, made, said) = call("uncoalesced-load.bad.ptx", "loud");
    assert_eq!((code, made), (Some(0), true), "{said}");
    assert!(said.contains("`warn` or `error` is expected"), "{said}");
}

/// PTX in an object is read by cuobjdump; where there is none, the message says so.
#[test]
fn objects_need_cuobjdump() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("k.o");
    fs::write(&object, b"\x7fELF, or nearly").expect("written");
    let run = |arguments: &[&str], path: &str| {
        Command::new(env!("CARGO_BIN_EXE_ptxasw"))
            .args(arguments)
            .current_dir(folder.path())
            .env("PATH", path)
            .env("PTXASW_PTXAS", folder.path().join("none"))
            .output()
            .expect("the program can be started")
    };
    let lint = ["lint", "k.o", "--format", "json"];
    let none = run(&lint, "/nowhere");
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("cuobjdump"), "{none:?}");
    // One that writes the text into its folder.
    let program = folder.path().join("cuobjdump");
    let kernel = self::folder().join("uncoalesced-load.bad.ptx");
    fs::write(&program, format!("#!/bin/sh\ncp {} k.sm_80.ptx\n", kernel.display()))
        .expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).expect("set");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let found = run(&lint, &path);
    let report: Value =
        serde_json::from_slice(&found.stdout).unwrap_or_else(|_| panic!("{found:?}"));
    assert_eq!(report["file"], "k.o(k.sm_80.ptx)");
    assert_eq!(report["kernels"][0]["findings"][0]["rule"], "uncoalesced-load");
    // Whatever takes PTX takes an object.
    for arguments in [
        &["parse", "k.o"][..],
        &["candidates", "k.o"],
        &["cfg", "k.o", "--kernel", "k"],
        &["trace", "k.o"],
        &["rewrite", "k.o"],
        &["verify", "k.o", "k.o"],
    ] {
        let done = run(arguments, &path);
        assert!(done.status.success() && !done.stdout.is_empty(), "{arguments:?}: {done:?}");
    }
}
