//! What goes wrong on our side costs one warning line and never the build.

use std::path::Path;

use crate::support::{Bench, run, stderr};
use std::os::unix::process::ExitStatusExt;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("the_rewriter_fails", the_rewriter_fails),
    ("the_rewriter_fails_on_what_ptxas_refuses", the_rewriter_fails_on_what_ptxas_refuses),
    ("ptxas_refuses_the_rewritten_text", ptxas_refuses_the_rewritten_text),
    ("ptxas_refuses_the_original_too", ptxas_refuses_the_original_too),
    ("ptxas_dies_of_the_rewritten_text", ptxas_dies_of_the_rewritten_text),
    ("ptxas_dies_of_the_original", ptxas_dies_of_the_original),
    ("there_is_no_folder_for_temporary_files", there_is_no_folder_for_temporary_files),
    ("there_is_no_room_for_temporary_files", there_is_no_room_for_temporary_files),
    ("the_rewritten_text_is_too_long_for_an_argument", too_long_for_an_argument),
    ("one_of_several_inputs_fails", one_of_several_inputs_fails),
];

/// Runs a call that must succeed with one warning and end with ptxas seeing the original.
fn check_warning(bench: &Bench, words: &[&str], warning: &str) {
    let output = run(bench.stand_in(words));
    assert!(output.status.success(), "{output:?}");
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("ptxasw: warning: ") && said.contains(warning), "{said}");
    assert_eq!(bench.words(bench.calls()), words);
    assert_eq!(bench.names("tmp"), [""; 0]);
}

fn the_rewriter_fails() {
    for (order, warning) in
        [("fail", "a.ptx:7:1: ordered to fail"), ("panic", "a.ptx: internal error: ordered; ")]
    {
        let bench = Bench::new();
        bench.input("a.ptx", &["", &format!("// rewrite: {order}")]);
        check_warning(&bench, &["-arch", "sm_80", "a.ptx", "-o", "out"], warning);
        assert_eq!(bench.calls(), 1);
    }
}

fn the_rewriter_fails_on_what_ptxas_refuses() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: fail", "// ptxas: refuse"]);
    check_refused(&bench, 7);
    assert_eq!(bench.calls(), 1);
}

/// Runs a call that must end with nothing but what ptxas says about the original.
fn check_refused(bench: &Bench, line: u32) {
    let output = run(bench.stand_in(&["a.ptx"]));
    assert_eq!(output.status.code(), Some(255));
    let expected = format!(
        "ptxas a.ptx, line {line}; error   : refused\n\
         ptxas fatal   : Ptx assembly aborted due to errors\n"
    );
    assert_eq!(stderr(&output), expected);
}

fn ptxas_refuses_the_rewritten_text() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: break"]);
    let said = "a.ptx: ptxas refuses the rewritten text (ptxas a.ptx, line 6; error   : refused)";
    check_warning(&bench, &["a.ptx", "-o", "out"], said);
    assert_eq!(bench.calls(), 2);
}

fn ptxas_refuses_the_original_too() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert", "", "// ptxas: refuse"]);
    check_refused(&bench, 8);
    assert_eq!(bench.calls(), 2);
}

fn ptxas_dies_of_the_rewritten_text() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: die"]);
    check_warning(&bench, &["a.ptx"], "ptxas refuses the rewritten text (signal: 11");
}

fn ptxas_dies_of_the_original() {
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        for rewrite in ["// rewrite: insert", ""] {
            let bench = Bench::new();
            bench.input("a.ptx", &[rewrite, &format!("// ptxas: die {name}")]);
            let output = run(bench.stand_in(&["a.ptx"]));
            assert_eq!(output.status.signal(), Some(number), "{output:?}");
            assert_eq!(stderr(&output), "");
            assert_eq!(bench.names("tmp"), [""; 0]);
        }
    }
}

fn there_is_no_folder_for_temporary_files() {
    for missing in ["missing", "/dev/null"] {
        let bench = Bench::new();
        bench.input("a.ptx", &["// rewrite: insert"]);
        let mut call = bench.stand_in(&["a.ptx", "-o", "out"]);
        call.env("TMPDIR", missing);
        let output = run(call);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        assert!(bench.words(1)[0].starts_with("/tmp/"), "{:?}", bench.words(1));
        assert!(!Path::new(&bench.words(1)[0]).exists(), "it is removed");
    }
}

fn there_is_no_room_for_temporary_files() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    // (No file may have a byte.)
    let line = "ulimit -f 0; exec \"$0\" stand-in a.ptx -o out";
    let mut call = bench.call(Path::new("/bin/sh"), &["-c", line]);
    call.arg(std::env::current_exe().unwrap()).env("PTXASW_PTXAS", "/bin/true");
    let output = run(call);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot be handed to ptxas"), "{}", stderr(&output));
    assert_eq!(bench.names("tmp"), [""; 0]);
}

fn too_long_for_an_argument() {
    for joined in [false, true] {
        let bench = Bench::new();
        let text = crate::support::ptx(&["// rewrite: grow"]);
        let one = format!("--input-as-string={text}");
        let words = if joined { vec![one.as_str(), "-v"] } else { vec!["-ias", &text, "-v"] };
        let output = run(bench.stand_in(&words));
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        let [file, option] = &bench.words(1)[..] else { panic!("{:?}", bench.words(1)) };
        assert!(file.ends_with("/0.ptx") && option == "-v", "{file} {option}");
        assert!(bench.noted("call.1.input.1").unwrap().contains("xxxx"));
    }
}

fn one_of_several_inputs_fails() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: fail"]);
    bench.input("b.ptx", &["// rewrite: insert"]);
    let output = run(bench.stand_in(&["a.ptx", "b.ptx"]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stderr(&output).lines().count(), 1);
    assert_eq!(bench.words(1)[0], "a.ptx");
    assert!(bench.noted("call.1.input.2").unwrap().contains("// three"), "the other is rewritten");
}
