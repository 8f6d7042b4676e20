//! The light wide net: files of each kind from nvcc go through ptxasw, and nothing may break. All of
//! the net, from all producers, is `scripts/make net` (`tests/net/README.md`).

#![expect(clippy::disallowed_methods, reason = "the net is a script, and the user may forbid it")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the light net over a program, with the compiler and the ptxas that it finds: those that
/// `scripts/setup` installs, or the user's.
fn light(program: &Path) -> Output {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/make"))
        .args(["net", "--light", "--pairs", "0", "--jobs", "2", "--ptxasw"])
        .arg(program)
        .output()
        .expect("python3 can be run")
}

fn shown(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{}\n{out}{error}", output.status)
}

/// The counts in the last row of the table, which is over all files: files, refused, rewritten,
/// shuffles, functions compared, failures.
fn counts(shown: &str) -> Vec<u32> {
    let all = shown.lines().find_map(|line| line.strip_prefix("| all |")).unwrap_or_default();
    all.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
}

// One test: both runs make the same files in target/net.
#[test]
fn nothing_breaks_and_what_breaks_is_noticed() {
    if std::env::var("PTXASW_TEST_NO_PTXAS").is_ok_and(|value| value == "1") {
        eprintln!("PTXASW_TEST_NO_PTXAS=1: nothing is assembled");
        return;
    }
    let output = light(Path::new(env!("CARGO_BIN_EXE_ptxasw")));
    let text = shown(&output);
    assert!(output.status.success(), "{text}");
    let [files, refused, rewritten, shuffles, functions, failures] = counts(&text)[..] else {
        panic!("{text}");
    };
    assert!(files >= 10 && refused == 0 && failures == 0, "{text}");
    assert!(rewritten >= 5 && shuffles > rewritten && functions > 0, "{text}");

    // A ptxasw that says something to every call.
    let folder = tempfile::tempdir().unwrap();
    let noisy = folder.path().join("ptxasw");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != ptxas ] || echo 'ptxasw: warning: noise' >&2\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_ptxasw")
    );
    std::fs::write(&noisy, script).unwrap();
    std::fs::set_permissions(&noisy, PermissionsExt::from_mode(0o755)).unwrap();
    let output = light(&noisy);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(counts(&text).last(), Some(&files), "every file fails: {text}");
    assert!(text.contains("ptxasw: warning: noise"), "{text}");
}
