//! How calls reach the real ptxas.

use crate::support::{Bench, ptx, run, run_with, stderr, stdout};
use ptxasw::ptxas::examine::LARGEST_INPUT;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("nothing_replaced_is_the_call_itself", nothing_replaced_is_the_call_itself),
    ("only_inputs_are_exchanged", only_inputs_are_exchanged),
    ("messages_speak_of_the_users_file", messages_speak_of_the_users_file),
    ("standard_input", standard_input),
    ("text_in_the_command_line", text_in_the_command_line),
    ("options_files", options_files),
    ("inputs_that_are_no_ptx", inputs_that_are_no_ptx),
    ("an_input_that_is_too_large", an_input_that_is_too_large),
    ("calls_that_are_not_for_rewriting", calls_that_are_not_for_rewriting),
    ("long_output", long_output),
    ("kept_files_and_reports", kept_files_and_reports),
];

fn nothing_replaced_is_the_call_itself() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// ptxas: say hello"]);
    let words = ["-arch", "sm_80", "--new", "x", "a.ptx", "", "-o", "out", "-O3", "--fmad=false"];
    let output = run(bench.stand_in(&words));
    assert!(output.status.success());
    assert_eq!(bench.words(1), words);
    assert_eq!(stderr(&output), "ptxas a.ptx, line 6; warning : hello\n");
    assert_eq!(bench.names("work"), ["a.ptx", "out"]);
}

fn only_inputs_are_exchanged() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    bench.input("b.ptx", &[]);
    bench.input("c", &["// rewrite: insert"]);
    let output = run(bench.stand_in(&["-c", "a.ptx", "-o", "out", "b.ptx", "c", "-O0"]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
    let words = bench.words(1);
    let temporary = |word: &String| word.starts_with(bench.path("tmp").to_str().unwrap());
    let shown: Vec<&str> =
        words.iter().map(|word| if temporary(word) { "TMP" } else { word }).collect();
    assert_eq!(shown, ["-c", "TMP", "-o", "out", "b.ptx", "TMP", "-O0"]);
    assert_eq!(bench.calls(), 1);
    let rewritten = bench.noted("call.1.input.1").unwrap();
    assert_eq!(rewritten, ptx(&["// one", "// two", "// three", "// rewrite: insert"]));
    assert_eq!(bench.noted("call.1.input.2").unwrap(), ptx(&[]));
    assert_eq!(bench.names("tmp"), [""; 0], "temporary files are removed");
    let original = std::fs::read_to_string(bench.path("work/a.ptx")).unwrap();
    assert_eq!(original, ptx(&["// rewrite: insert"]), "inputs are never written to");
}

fn messages_speak_of_the_users_file() {
    let bench = Bench::new();
    bench.input("a.ptx", &["", "// rewrite: insert", "", "// ptxas: say careful"]);
    let output = run(bench.stand_in(&["./a.ptx"]));
    assert!(output.status.success());
    assert_eq!(stderr(&output), "ptxas ./a.ptx, line 9; warning : careful\n");
    assert_eq!(stdout(&output), "ptxas info    : on line 9 of './a.ptx'\n");
}

fn standard_input() {
    for name in ["-", "/dev/stdin"] {
        let bench = Bench::new();
        let text = ptx(&["// rewrite: insert"]);
        let output = run_with(bench.stand_in(&["-arch=sm_80", name, "-o", "out"]), &text);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(bench.words(1), ["-arch=sm_80", name, "-o", "out"]);
        let expected = ptx(&["// one", "// two", "// three", "// rewrite: insert"]);
        assert_eq!(bench.noted("call.1.stdin").unwrap(), expected);

        for text in [ptx(&[]), ptx(&["// rewrite: break"]), "no PTX".to_owned(), String::new()] {
            let bench = Bench::new();
            let output = run_with(bench.stand_in(&[name]), &text);
            assert!(output.status.success(), "{output:?}");
            let last = bench.calls();
            assert_eq!(bench.noted(&format!("call.{last}.stdin")).unwrap(), text);
        }
    }
}

fn text_in_the_command_line() {
    let bench = Bench::new();
    let text = ptx(&["// rewrite: insert"]);
    let output = run(bench.stand_in(&["-ias", &text, &format!("--input-as-string={text}")]));
    assert!(output.status.success(), "{output:?}");
    let rewritten = ptx(&["// one", "// two", "// three", "// rewrite: insert"]);
    let expected = format!("-ias\n{rewritten}\n--input-as-string={rewritten}\n");
    assert_eq!(bench.noted("call.1").unwrap(), expected);
}

fn options_files() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    std::fs::write(bench.path("work/plain"), "-arch sm_80 -v").unwrap();
    std::fs::write(bench.path("work/all"), "-arch sm_80 a.ptx\n-o out").unwrap();
    assert!(run(bench.stand_in(&["-optf", "plain", "a.ptx"])).status.success());
    assert_eq!(bench.words(1)[..2], ["-optf", "plain"]);
    assert!(bench.noted("call.1.input.1").unwrap().contains("// three"));
    assert!(run(bench.stand_in(&["--options-file=all", "-v"])).status.success());
    assert_eq!(bench.words(2)[..2], ["-arch", "sm_80"]);
    assert_eq!(bench.words(2)[3..], ["-o", "out", "-v"]);
    assert!(bench.noted("call.2.input.1").unwrap().contains("// three"));
    // Without a rewrite the options file itself is handed over.
    bench.input("a.ptx", &[]);
    assert!(run(bench.stand_in(&["-optf", "all"])).status.success());
    assert_eq!(bench.words(3), ["-optf", "all"]);
}

fn inputs_that_are_no_ptx() {
    let bench = Bench::new();
    std::fs::write(bench.path("work/elf"), b"\x7fELF // rewrite: insert").unwrap();
    std::fs::write(bench.path("work/latin1"), b".version 7.0\n// \xe9 // rewrite: insert").unwrap();
    std::fs::write(bench.path("work/json"), "{} // rewrite: fail").unwrap();
    std::fs::write(bench.path("work/empty"), "").unwrap();
    for name in ["elf", "latin1", "json", "empty", "missing", "."] {
        let output = run(bench.stand_in(&["-arch", "sm_80", name]));
        assert!(output.status.success() && stderr(&output).is_empty(), "{name}: {output:?}");
        assert_eq!(bench.words(bench.calls()), ["-arch", "sm_80", name]);
    }
    // A pipe can be read only once: it is ptxas's.
    let shell = format!("exec \"$0\" stand-in {} 3< a.ptx", "/dev/fd/3");
    bench.input("a.ptx", &["/* a comment first */ // rewrite: fail"]);
    let program = std::env::current_exe().unwrap();
    let mut call = bench.call(std::path::Path::new("/bin/sh"), &["-c", &shell]);
    call.arg(program).env("PTXASW_PTXAS", bench.path("fake/ptxas"));
    let output = run(call);
    assert_eq!(bench.words(bench.calls()), ["/dev/fd/3"], "{output:?}");
}

fn an_input_that_is_too_large() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    let length = |bytes: u64| {
        let file = std::fs::OpenOptions::new().append(true).open(bench.path("work/a.ptx"));
        let mut file = file.unwrap();
        let room = bytes - file.metadata().unwrap().len();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(b'\n'), room), &mut file).unwrap();
    };
    length(LARGEST_INPUT);
    assert!(run(bench.stand_in(&["a.ptx"])).status.success());
    assert_ne!(bench.words(1), ["a.ptx"]);
    length(LARGEST_INPUT + 1);
    let output = run(bench.stand_in(&["a.ptx"]));
    assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
    assert_eq!(bench.words(2), ["a.ptx"]);
}

fn calls_that_are_not_for_rewriting() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    let handed_over = [
        &["-arch=compute_90", "a.ptx"][..],
        &["--gpu-name", "lto_80", "a.ptx"],
        &["-g", "a.ptx"],
        &["--version", "a.ptx"],
    ];
    for words in handed_over {
        assert!(run(bench.stand_in(words)).status.success());
        assert_eq!(bench.words(bench.calls()), words);
    }
    for (variable, value) in [("PTXASW", "off"), ("PTXASW_DEPTH", "1")] {
        let mut call = bench.stand_in(&["a.ptx"]);
        call.env(variable, value);
        assert!(run(call).status.success());
        assert_eq!(bench.words(bench.calls()), ["a.ptx"], "{variable}");
    }
    let mut call = bench.stand_in(&["a.ptx"]);
    call.env("PTXASW_MODE", "no-load");
    let output = run(call);
    assert!(output.status.success());
    assert_eq!(bench.words(bench.calls()), ["a.ptx"]);
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(stderr(&output).contains("PTXASW_UNSAFE=1"), "{}", stderr(&output));
}

fn long_output() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// ptxas: flood", "// rewrite: insert"]);
    let output = run(bench.stand_in(&["a.ptx"]));
    assert!(output.status.success());
    assert_eq!((output.stdout.len(), output.stderr.len()), (1_000_000, 1_000_000));
}

fn kept_files_and_reports() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    bench.input("b.ptx", &[]);
    bench.input("c.ptx", &["// rewrite: break"]);
    for name in ["a.ptx", "b.ptx", "c.ptx"] {
        let mut call = bench.stand_in(&[name]);
        call.env("PTXASW_KEEP", bench.path("keep")).env("PTXASW_REPORT", bench.path("report"));
        assert!(run(call).status.success());
    }
    let kept = bench.names("keep");
    assert_eq!(kept.len(), 6, "{kept:?}");
    let text = |name: &String| std::fs::read_to_string(bench.path("keep").join(name)).unwrap();
    assert_eq!(text(&kept[0]), ptx(&["// rewrite: insert"]));
    assert!(kept[1].ends_with(".rewritten.ptx") && text(&kept[1]).contains("// three"));
    let reports = bench.names("report");
    let shuffles: Vec<u64> = reports
        .iter()
        .map(|name| {
            let json = std::fs::read(bench.path("report").join(name)).unwrap();
            let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
            report["kernels"][0]["shuffles"].as_u64().unwrap_or(0)
        })
        .collect();
    assert_eq!(shuffles, [1, 0, 0], "what ptxas refused is not claimed: {reports:?}");

    // A folder that cannot be written costs a warning.
    std::fs::write(bench.path("file"), "").unwrap();
    let mut call = bench.stand_in(&["a.ptx", "-o", "out"]);
    call.env("PTXASW_KEEP", bench.path("file")).env("PTXASW_REPORT", bench.path("file/x"));
    let output = run(call);
    assert!(output.status.success());
    assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
    assert!(bench.names("work").contains(&"out".to_owned()));
}
