//! A light part of the wide net (`tests/net/README.md`): PTX that nvcc makes of the net's own sources
//! goes through the program as `scripts/wide-net` lets all of it go.

#![expect(clippy::disallowed_methods, reason = "the net is a script")]

use std::process::Command;

#[test]
fn what_nvcc_makes_goes_through() {
    if std::env::var("PTXASW_TEST_NO_PTXAS").is_ok_and(|value| value == "1") {
        eprintln!("PTXASW_TEST_NO_PTXAS=1: nothing is assembled");
        return;
    }
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/wide-net"))
        .args(["--light", "--pairs", "0", "--proofs", "0", "--jobs", "2"])
        .args(["--ptxasw", env!("CARGO_BIN_EXE_ptxasw")])
        .output()
        .expect("scripts/wide-net runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{wrong}");
    let all = said.lines().find(|line| line.starts_with("| all |")).expect("a line for all files");
    let counts: Vec<usize> = all.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    let [files, refused, rewritten, ..] = counts[..] else { panic!("{all}") };
    assert!(files >= 10 && refused == 0 && rewritten >= 4, "the net has holes: {said}");
}
