//! Places in shared memory: the model of the search against the interpreter's count, over strides and widths, and
//! through the program's own `run --profile`.

use std::process::Command;

use ptxasw::source::SourceFile;
use ptxasw::synth::{parse, place};
use serde_json::{Value, json};

use super::{call, folder};

/// Emits, executes and compares the accesses of a sketch; its wavefronts.
fn checked(text: &str) -> u32 {
    let source = SourceFile::new("strided.sketch", text);
    let tree = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let problem = place::problem(&source, &tree, &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = place::search(&problem).unwrap_or_else(|| panic!("no placement:\n{text}"));
    let code = place::ptx("strided", &problem, &outcome, "").expect("code");
    place::check("strided", &problem, &outcome, &code)
        .unwrap_or_else(|why| panic!("{why}:\n{text}{code}"));
    outcome.cost.all()
}

#[test]
fn the_interpreter_counts_the_wavefronts_of_the_model() {
    let mut seen = Vec::new();
    for (element, wide) in [(1, 4), (2, 4), (2, 8), (4, 4), (4, 8), (4, 16), (8, 8), (16, 16)] {
        let several = wide / element;
        for stride in [1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33] {
            let text = format!(
                "axis i = 2048, g = 2, lane = 32\nshared t[i] of {element} at i\n\
                 access t[{several} * (32 * g + lane)] by {wide} for g\n\
                 access t[{several} * (lane * {stride} + g) % 2048] by {wide} for g\n\
                 access t[{several} * (lane * {stride} % 64) + lane % 3 / 2 * 4096] by {wide}\n"
            );
            seen.push(checked(&text));
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 10, "{seen:?}");
}

#[test]
fn a_profile_of_the_emitted_kernel_shows_them_line_by_line() {
    let path = folder().join("rows128.sketch");
    let there = tempfile::tempdir().expect("a folder can be made");
    let file = |name: &str| there.path().join(name).to_string_lossy().into_owned();
    let (status, text) = call(&path, &format!("--emit ptx -o {}", file("rows.ptx")), 2);
    assert_eq!(status, 0, "{text}");
    let launch = json!({"grid": [1], "block": [32], "buffers": {
        "i": {"type": "u16", "len": 4096, "fill": "index"}, "o": {"type": "u16", "len": 4096, "fill": 0}},
        "args": [{"buffer": "i"}, {"buffer": "o"}]});
    std::fs::write(file("rows.json"), launch.to_string()).expect("written");
    let done = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .args(["run", &file("rows.ptx"), "--launch", &file("rows.json"), "--profile"])
        .args(["--format", "json"])
        .output()
        .expect("the program can be started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let lines = report["profile"].as_array().expect("a profile");
    let waves = lines.iter().filter_map(|line| line["shared_wavefronts"].as_u64());
    let waves: Vec<u64> = waves.filter(|waves| *waves > 0).collect();
    // 16 stores and 16 loads of a quarter of the warp at a time.
    assert_eq!(waves, [4; 32]);
    assert_eq!(report["counters"]["shared_wavefronts"], 128);
}
