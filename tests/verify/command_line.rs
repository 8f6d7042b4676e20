//! `ptxasw verify` as a program: statuses, JSON, replay.

#![expect(clippy::disallowed_methods, reason = "the program is a process")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common;

fn pair(stem: &str) -> [PathBuf; 2] {
    let folder = common::root().join("tests/verify");
    [folder.join(format!("{stem}.ptx")), folder.join(format!("{stem}.rewritten.ptx"))]
}

fn run(files: &[PathBuf], options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
    command.arg("verify").args(files).args(options).output().expect("ptxasw starts")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON on standard output and nothing else")
}

/// A launch with two blocks of 48 threads.
fn launch(folder: &Path, elements: usize) -> String {
    let text = json!({
        "grid": [2], "block": [48],
        "buffers": {
            "a": {"type": "u32", "len": elements, "fill": "random", "seed": 7},
            "b": {"type": "u32", "len": elements, "fill": 0},
        },
        "args": [{"buffer": "a", "offset": 64}, {"buffer": "b"}, {"type": "u32", "value": 5}],
    });
    let path = folder.join("launch.json");
    std::fs::write(&path, text.to_string()).expect("written");
    path.to_string_lossy().into_owned()
}

#[test]
fn the_status_is_the_verdict() {
    for (stem, status) in
        [("equal/shuffle_down", 0), ("different/shuffle_wrong_sign", 1), ("unknown/saturation", 3)]
    {
        let output = run(&pair(stem), &[]);
        assert_eq!(output.status.code(), Some(status), "{stem}");
        let text = String::from_utf8(output.stdout).expect("text");
        let verdict = stem.split('/').next().expect("a folder");
        assert_eq!(text.lines().last(), Some(verdict), "{text}");
        assert!(output.stderr.is_empty(), "{stem}");
    }
}

#[test]
fn alignment_is_assumed_on_request() {
    let files = pair("unknown/by_hand_vector");
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).expect("text");
    let asked = run(&files, &["--no-run"]);
    assert_eq!(asked.status.code(), Some(3));
    for option in ["--assume-aligned a:16", "--assume-aligned b:16"] {
        assert!(text(&asked).contains(option), "{}", text(&asked));
    }
    let half = run(&files, &["--no-run", "--assume-aligned", "a:16", "--assume-aligned", "b:8"]);
    assert_eq!(half.status.code(), Some(3), "{}", text(&half));
    let given = ["--format", "json", "--assume-aligned", "a:16", "--assume-aligned", "b:32"];
    let output = run(&files, &given);
    assert_eq!(output.status.code(), Some(0));
    let report = report(&output);
    let assumed = report["assumptions"].as_array().expect("assumptions");
    assert!(assumed.contains(&json!("the parameter `a` is a multiple of 16")), "{assumed:?}");
    for wrong in ["a:3", "a", "nowhere:16"] {
        let output = run(&files, &["--assume-aligned", wrong]);
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{wrong}");
    }
}

/// A value that nobody has determined may be the original's: a drafted launch decides by the bits.
#[test]
fn undetermined_values_are_no_difference_by_themselves() {
    let files = pair("unknown/undetermined_times_zero");
    let output = run(&files, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other.ptx");
    let text = common::read(&files[1]).replace("0f00000000", "0f3f800000");
    std::fs::write(&other, text).expect("written");
    let output = run(&[files[0].clone(), other], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_kernel_that_is_not_there_is_an_error() {
    let [original, rewritten] = pair("equal/shuffle_down").map(|path| path.display().to_string());
    for words in [
        vec!["verify", &original, &rewritten],
        vec!["candidates", &original],
        vec!["rewrite", &original],
        vec!["trace", &original],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
        let output = command.args(&words).args(["--kernel", "nobody"]).output().expect("a process");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(message.contains("there is no function `nobody` among `"), "{message}");
    }
}

#[test]
fn what_cannot_be_read_is_status_2() {
    let [original, _] = pair("equal/shuffle_down");
    let output = run(&[original.clone(), PathBuf::from("no such file")], &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("broken.ptx");
    std::fs::write(&broken, ".version 7.8\n.target sm_80\n.entry k(\n").expect("written");
    let output = run(&[original, broken], &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("broken.ptx:"), "{message}");
}

#[test]
fn json_has_all_that_is_said() {
    let output = run(&pair("different/shuffle_wrong_sign"), &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = report(&output);
    assert_eq!(report["verdict"], "different");
    let assumptions = report["assumptions"].as_array().expect("a list");
    assert!(assumptions.iter().any(|one| one.as_str().is_some_and(|t| t.contains("data races"))));
    let function = &report["functions"][0];
    assert_eq!((&function["name"], &function["verdict"]), (&json!("k"), &json!("different")));
    assert_eq!(function["shuffles"], 1);
    assert!(function["queries"].as_u64().is_some_and(|count| count > 0));
    let problem = &function["problems"][0];
    let example = &problem["counterexample"];
    assert!(problem["line"].as_u64() > Some(1) && problem["original_line"].as_u64() > Some(1));
    let block: Vec<u64> = serde_json::from_value(example["block"].clone()).expect("a shape");
    let thread: Vec<u64> = serde_json::from_value(example["thread"].clone()).expect("an index");
    assert!(thread.iter().zip(&block).all(|(index, extent)| index < extent), "{example}");
    let linear = thread[0] + block[0] * (thread[1] + block[1] * thread[2]);
    assert_eq!(example["lane"], linear % 32);
    assert_ne!(example["original"], example["rewritten"]);
    assert_eq!(function.get("undone"), None);
}

#[test]
fn passes_that_undo_versions_are_listed() {
    for (name, pass) in [
        ("tree_by_a_warp", "bypass"),
        ("promoted_sum", "promotion"),
        ("unswitched", "unswitching"),
        ("tree_by_hand", "parts"),
    ] {
        let output = run(&pair(&format!("equal/{name}")), &["--format", "json"]);
        assert_eq!(report(&output)["functions"][0]["undone"], json!([pass]), "{name}");
    }
    let text = run(&pair("equal/tree_by_a_warp"), &[]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("queries), undone: bypass\n"));
}

#[test]
fn a_launch_is_run_with_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = launch(folder.path(), 1024);
    let options = ["--launch", path.as_str(), "--format", "json"];
    let same = run(&pair("equal/shuffle_down"), &options);
    assert_eq!(same.status.code(), Some(0));
    assert_eq!(report(&same)["runs"][0]["equal"], true);
    let other = run(&pair("different/shuffle_wrong_sign"), &options);
    assert_eq!(other.status.code(), Some(1));
    let run_report = &report(&other)["runs"][0];
    assert_eq!(run_report["equal"], false);
    let details = run_report["details"].as_array().expect("a list");
    assert!(details[0].as_str().is_some_and(|text| text.starts_with("b[")), "{details:?}");
}

#[test]
fn a_run_that_differs_outweighs_an_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = launch(folder.path(), 1024);
    // Neither is shown: but with these parameters they do differ.
    let output = run(&pair("unknown/indexed_branch_targets_swapped"), &["--launch", &path]);
    assert_eq!(output.status.code(), Some(1));
    let output = run(&pair("unknown/functions_may_agree"), &["--launch", &path]);
    assert_eq!(output.status.code(), Some(3), "no difference is seen where none is");
}

#[test]
fn a_launch_that_the_original_does_not_survive_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = launch(folder.path(), 8);
    let output = run(&pair("equal/shuffle_down"), &["--launch", &path]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("shuffle_down.ptx:"), "{message}");
}

#[test]
fn what_is_not_proved_is_run_with_a_drafted_launch() {
    let files = pair("unknown/shuffle_of_unknown_blocks");
    let broken = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(common::root().join(&files[1])).expect("a kernel");
    // The last lane but one loads instead of the last.
    let last = "%p2, %r10, 31;";
    assert_eq!(text.matches(last).count(), 1, "{text}");
    let path = broken.path().join("other.ptx");
    std::fs::write(&path, text.replace(last, "%p2, %r10, 30;")).expect("written");
    let both = [files[0].clone(), path];
    let output = run(&both, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = report(&output);
    assert_eq!(
        (&shown["verdict"], &shown["functions"][0]["verdict"]),
        (&json!("different"), &json!("different"))
    );
    let details = shown["runs"][0]["details"].as_array().expect("a list");
    assert!(!details.is_empty(), "{shown}");
    assert_eq!(run(&both, &["--no-run"]).status.code(), Some(3));
    // A right rewrite stays unknown, with the reason, and is proved where the block is known.
    let output = run(&files, &[]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("the block's shape is not known (`--block`)"), "{text}");
    assert!(text.contains("0 of 1 shuffles understood"), "{text}");
    assert_eq!(run(&files, &["--block", "128"]).status.code(), Some(0));
    // The last lane of half a warp receives from a lane that does not exist.
    assert_eq!(run(&files, &["--block", "48"]).status.code(), Some(1));
    let both = run(&both, &["--block", "128"]);
    assert_eq!(both.status.code(), Some(1));
}

/// An optimised kernel has a name of its own, and its parameters are named after it.
#[test]
fn a_kernel_is_compared_with_one_of_another_name() {
    let [original, rewritten] = pair("equal/loop_registers_in_another_order");
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(common::root().join(&rewritten)).expect("a kernel");
    let named = text.replace("k_param_", "faster_param_").replace(" k(", " faster(");
    let path = folder.path().join("named.ptx");
    std::fs::write(&path, &named).expect("written");
    let options = ["--kernel", "k", "--against", "faster"];
    assert_eq!(run(&[original.clone(), path.clone()], &options).status.code(), Some(0));
    assert_eq!(run(&[original.clone(), path.clone()], &["--kernel", "k"]).status.code(), Some(3));
    assert_eq!(run(&[original.clone(), path], &["--against", "faster"]).status.code(), Some(2));
    // Both in one file.
    let whole = std::fs::read_to_string(common::root().join(&original)).expect("a kernel");
    let start = named.find(".visible").expect("a kernel");
    let path = folder.path().join("both.ptx");
    std::fs::write(&path, format!("{whole}\n{}", &named[start..])).expect("written");
    assert_eq!(run(&[path.clone(), path], &options).status.code(), Some(0));
}

/// Each of two files has one kernel, of whatever name: these are compared, and the verdict says so.
#[test]
fn one_kernel_each_is_a_pair() {
    let folder = common::root().join("tests/verify/against");
    let status = |original: &str, rewritten: &str, options: &[&str]| {
        let files = [original, rewritten].map(|name| folder.join(format!("{name}.ptx")));
        let output = run(&files, options);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains(&format!("`{original}` against `{rewritten}`")), "{text}");
        output.status.code()
    };
    assert_eq!(status("reference", "optimised", &["--no-run"]), Some(0));
    // Named like the opcodes that make the difference.
    assert_eq!(status("add", "sub", &[]), Some(1));
    assert_eq!(status("add", "sub", &["--kernel", "add", "--against", "sub"]), Some(1));
    assert_eq!(status("add", "sub", &["--no-run"]), Some(3));
}

/// Preconditions are taken for granted, listed, and never hide a launch that does not meet them.
#[test]
fn preconditions_are_assumed_and_listed() {
    let folder = common::root().join("tests/verify/against");
    let files = ["scalars", "vectors"].map(|name| folder.join(format!("{name}.ptx")));
    let rows =
        ["--kernel", "k", "--no-run", "--assume-no-wrap", "--assume-aligned", "k_param_0:16"];
    let with = |options: &[&str]| run(&files, &[&rows, options].concat());
    assert_eq!(with(&[]).status.code(), Some(3));
    assert_eq!(with(&["--assume", "k_param_3 % 2 == 0"]).status.code(), Some(3));
    let listed = with(&["--assume", "0 < k_param_3 && k_param_3 % 8 == 0", "--format", "json"]);
    assert_eq!(listed.status.code(), Some(0));
    let said = "`0 < k_param_3 && k_param_3 % 8 == 0`";
    assert!(report(&listed)["assumptions"].as_array().expect("a list").contains(&json!(said)));
    for wrong in [
        "k_param_3",
        "m % 4 == 0",
        "k_param_3 % 0 == 0",
        "k_param_3 == 1.5",
        "k_param_3 % 4 == 0 &&",
    ] {
        assert_eq!(with(&["--assume", wrong]).status.code(), Some(2), "{wrong}");
    }
    let apart = ["--kernel", "s", "--no-run", "--assume-no-alias", "s_param_0,s_param_1"];
    assert_eq!(run(&files, &apart).status.code(), Some(0));
    assert_eq!(run(&files, &apart[..3]).status.code(), Some(3));
    assert_eq!(
        run(&files, &["--kernel", "s", "--no-run", "--assume-no-alias", "s_param_0,y"])
            .status
            .code(),
        Some(2)
    );
    // What no value meets proves nothing, and floating-point numbers are not compared.
    for never in
        ["k_param_3 < 0 && k_param_3 > 0", "k_param_3 > 3000000000", "k_param_3 % 16 == 17"]
    {
        assert_eq!(with(&["--assume", never]).status.code(), Some(3), "{never}");
    }
    let twice = ["--kernel", "s", "--no-run", "--assume-no-alias", "s_param_0,s_param_0"];
    assert_eq!(run(&files, &twice).status.code(), Some(2));
    // A difference outside of the preconditions is none.
    let pair = ["add", "sub"].map(|name| folder.join(format!("{name}.ptx")));
    assert_eq!(run(&pair, &["--assume", "1 == 2"]).status.code(), Some(3));
}

/// Parameters are named as in the PTX, without the kernel's name in front, or as in the source where it can be read.
#[test]
fn parameters_have_the_names_of_the_source() {
    let pairs = common::root().join("tests/verify/unknown");
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["ptx", "rewritten.ptx"].map(|ending| {
        let path = pairs.join(format!("counts_down_by_two.{ending}"));
        let text = std::fs::read_to_string(path).expect("a case");
        let text = ["a", "b", "n"].iter().zip(0..).fold(text, |text, (name, number)| {
            text.replace(&format!("[{name}]"), &format!("[k_param_{number}]"))
                .replace(&format!(" {name},"), &format!(" k_param_{number},"))
                .replace(&format!(" {name})"), &format!(" k_param_{number})"))
        });
        let path = folder.path().join(format!("k.{ending}"));
        std::fs::write(&path, text + ".file 1 \"k.cu\"\n").expect("a file");
        path
    });
    let with = |condition: &str| {
        run(&files, &["--no-run", "--assume", condition]).status.code().expect("a status")
    };
    assert_eq!(with("k_param_2 < 1000"), 0);
    assert_eq!(with("param_2 < 1000"), 0);
    assert_eq!(with("rows < 1000"), 2, "there is no source");
    let source = "__global__ void k(const int *in, int *out, int rows) { }\n";
    std::fs::write(folder.path().join("k.cu"), source).expect("a source");
    assert_eq!(with("rows < 1000"), 0);
    assert_eq!(with("rows > 1000"), 3);
    assert_eq!(with("columns < 1000"), 2);
}
