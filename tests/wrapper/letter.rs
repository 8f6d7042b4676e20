//! A call behaves as ptxas does, to the letter: pipes, odd texts, odd settings, places in messages.

use crate::check::scripted;
use crate::support::{
    Bench, PTXASW, is_of_release, ptx, real_ptxas, run, run_with, stderr, stdout,
};
use std::path::Path;
use std::process::{Command, Output};

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("an_options_file_that_is_a_pipe_is_left_to_ptxas", an_options_file_that_is_a_pipe),
    ("inputs_that_are_pipes_are_read_once", inputs_that_are_pipes_are_read_once),
    ("endless_input_is_not_waited_for", endless_input_is_not_waited_for),
    ("all_of_a_long_input_arrives", all_of_a_long_input_arrives),
    ("standard_input_stays_the_kind_of_file_it_is", standard_input_stays_the_kind_of_file_it_is),
    ("what_comes_behind_a_text_stays_there", what_comes_behind_a_text_stays_there),
    ("places_in_messages_are_the_users", places_in_messages_are_the_users),
    ("several_inputs_are_checked_too", several_inputs_are_checked_too),
    ("settings_may_be_sloppy", settings_may_be_sloppy),
    ("texts_on_the_command_line_may_be_long", texts_on_the_command_line_may_be_long),
];

/// A line of shell in `work/`, for the stand-in in `$P` or the plain ptxas there.
fn shell(bench: &Bench, program: &Path, line: &str) -> Command {
    let mut call = bench.call(Path::new("timeout"), &["20", "/bin/sh", "-c", line]);
    call.env("P", program).env("PTXASW_STRATEGY", "paper");
    call
}

/// What a line of shell does with the plain ptxas and with ptxasw in front of it: status, messages, and
/// the output in `out`.
fn both(ptxas: &Path, line: &str, settings: &[(&str, &str)]) -> [(Output, Option<Vec<u8>>); 2] {
    [true, false].map(|plain| {
        let bench = Bench::new();
        let link = bench.link(Path::new(PTXASW), "bin/ptxas");
        bench.input("b.ptx", &[]);
        let k = crate::check::taps(3);
        std::fs::write(bench.path("work/k.ptx"), &k).unwrap();
        let program = if plain { ptxas } else { &link };
        let mut call = shell(&bench, program, line);
        call.env("PTXASW_PTXAS", ptxas).envs(settings.iter().copied());
        let mut done = run(call);
        let times = regex::Regex::new(r"= [0-9.]+ ms|[^ ']*/tmpxft_[0-9a-f]+").unwrap();
        done.stderr = times.replace_all(&stderr(&done), "X").into_owned().into_bytes();
        assert_eq!(bench.names("tmp"), [""; 0], "{line}");
        (done, std::fs::read(bench.path("work/out")).ok())
    })
}

fn check_same(ptxas: &Path, line: &str, settings: &[(&str, &str)]) -> Output {
    let [(plain, _), (done, _)] = both(ptxas, line, settings);
    assert_eq!(done.status, plain.status, "{line}: {done:?}");
    assert_eq!([stdout(&done), stderr(&done)], [stdout(&plain), stderr(&plain)], "{line}");
    plain
}

fn an_options_file_that_is_a_pipe() {
    let Some(ptxas) = real_ptxas() else { return };
    for settings in [&[][..], &[("PTXASW", "off")]] {
        let words = "-arch sm_80 k.ptx -o out -optf";
        for line in [
            format!("echo -maxrregcount=24 -v | \"$P\" {words} /dev/stdin"),
            format!("mkfifo p; (echo -maxrregcount=24 -v > p) & \"$P\" {words} p"),
        ] {
            let plain = check_same(&ptxas, &line, settings);
            assert!(stderr(&plain).contains("registers"), "{plain:?}");
        }
        let plain = check_same(&ptxas, "echo --version | \"$P\" -optf /dev/stdin", settings);
        assert!(stdout(&plain).contains("release"), "{plain:?}");
    }
}

fn inputs_that_are_pipes_are_read_once() {
    let Some(ptxas) = real_ptxas() else { return };
    let plain =
        check_same(&ptxas, "cat b.ptx | \"$P\" -arch sm_80 k.ptx /dev/fd/3 -o out 3<&0", &[]);
    assert!(plain.status.success(), "{plain:?}");
    // Where there is no room for its copy of standard input, ptxas says so.
    let missing = [("TMPDIR", "missing")];
    check_same(&ptxas, "cat k.ptx | \"$P\" -arch sm_80 - -o out", &missing);
    // Another descriptor than ours: theirs would be a pipe that nobody writes to.
    check_same(&ptxas, "\"$P\" -arch sm_80 k.ptx /dev/stdout -o out > said", &[]);
    // ptxas has read the inputs that it refuses. (It opens a named pipe again for inputs that it accepts.)
    let refused = "mkfifo p; (sed s/st.global/st.glbal/ b.ptx > p) & \"$P\" -arch sm_80 k.ptx p";
    let plain = check_same(&ptxas, refused, &[]);
    assert_eq!(plain.status.code(), Some(255), "{plain:?}");
}

fn endless_input_is_not_waited_for() {
    let Some(ptxas) = real_ptxas() else { return };
    for endless in ["yes", "(cat k.ptx; yes //)"] {
        check_same(&ptxas, &format!("{endless} 2> /dev/null | \"$P\" -arch sm_999 -"), &[]);
    }
}

fn all_of_a_long_input_arrives() {
    // Longer than the part that is examined first, and not PTX.
    let bench = Bench::new();
    let text: String = (0..200_000).map(|line| format!("{line}\n")).collect();
    let done = run_with(bench.checked(&["-"]), &text);
    assert!(done.status.success(), "{done:?}");
    assert!(bench.noted("call.1.stdin").unwrap() == text);
    // And PTX.
    let bench = Bench::new();
    let text = format!("// {}\n{}", "x".repeat(1 << 20), ptx(&["// rewrite: insert"]));
    assert!(run_with(bench.stand_in(&["-"]), &text).status.success());
    let got = bench.noted("call.1.stdin").unwrap();
    assert!(got.len() > text.len() && got.contains("// three"));
}

/// ptxas reads an input a second time for its debug information, if it can.
fn standard_input_stays_the_kind_of_file_it_is() {
    let Some(ptxas) = real_ptxas() else { return };
    for (line, has_text) in [("\"$P\" < l.ptx", true), ("cat l.ptx | \"$P\"", false)] {
        let located = "sed -e 's/^.visible/.file 1 \"a.cu\"\\n&/; s/^ld.global/.loc 1 3 5\\n&/' k.ptx > l.ptx";
        let line = format!("{located}; {line} -arch sm_80 -lineinfo -o out /dev/stdin");
        let [(plain, before), (done, after)] = both(&ptxas, &line, &[]);
        assert!(plain.status.success() && done.status.success(), "{plain:?} {done:?}");
        let has = |bytes: &Option<Vec<u8>>| {
            memchr::memmem::find(bytes.as_ref().unwrap(), b".nv_debug_ptx_txt").is_some()
        };
        assert_eq!((has(&before), has(&after)), (has_text, has_text), "{line}");
        assert!(before != after, "it is rewritten");
    }
}

fn what_comes_behind_a_text_stays_there() {
    let Some(ptxas) = real_ptxas() else { return };
    for tail in ["\\000", "\\000\\000", "\\000\\377 rubbish", "\\032", "\\n\\032\\n", "\\032x"] {
        for words in ["- < t.ptx", "t.ptx"] {
            let line =
                format!("(cat k.ptx; printf '{tail}') > t.ptx; \"$P\" -arch sm_80 -o out {words}");
            let [(plain, before), (done, after)] = both(&ptxas, &line, &[]);
            assert_eq!(done.status, plain.status, "{line}: {done:?}");
            assert_eq!([stdout(&done), stderr(&done)], [stdout(&plain), stderr(&plain)], "{line}");
            assert_eq!(before != after, plain.status.success(), "{line}: it is rewritten");
        }
    }
}

fn places_in_messages_are_the_users() {
    let Some(ptxas) = real_ptxas() else { return };
    let product =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {z0,z1,z2,z3}, da, db, 1,1,1,0,0;";
    let matrix = |between: &str, name: &str| {
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n// rewrite: insert\n.extern .func ext();\n\
             .visible .entry {name}(.param .u64 p)\n{{\n.reg .f32 z<4>, q; .reg .b64 da, db, a;\n\
             ld.param.u64 a, [p];\nwgmma.fence.sync.aligned;\n{product}\n{between}\n\
             wgmma.commit_group.sync.aligned;\nst.global.f32 [a], z0;\nret;\n}}\n"
        )
    };
    let injected = matrix(&format!("add.f32 q, z0, z1;\n{product}"), "k");
    let called =
        "wgmma.commit_group.sync.aligned;\ncall ext, ();\nwgmma.wait_group.sync.aligned 0;";
    let pragma =
        ptx(&["// rewrite: insert", ".pragma \"foo in line 9\";"]).replace("sm_80", "sm_90a");
    let pragma = pragma.replace("version 7.0", "version 8.0");
    for (texts, part, since) in [
        (vec![injected], "around line", 12),
        (vec![matrix(called, "k"), matrix(called, "j")], "in line", 13),
        (vec![pragma], "'foo in line 9'", 12),
    ] {
        if !is_of_release(&ptxas, since) {
            continue;
        }
        for check in ["on", "off"] {
            // Two files at once are compared where both texts are assembled.
            if check == "off" && texts.len() > 1 {
                continue;
            }
            let bench = Bench::new();
            let names = ["a.ptx", "b.ptx"];
            for (name, text) in names.iter().zip(&texts) {
                std::fs::write(bench.path("work").join(name), text).unwrap();
            }
            let words = [&["-arch=sm_90a", "-c", "-o", "out"], &names[..texts.len()]].concat();
            let plain = run(bench.call(&ptxas, &words));
            let mut call = bench.stand_in_around(&ptxas, &words);
            call.env("PTXASW_CHECK", check);
            let done = run(call);
            assert!(stderr(&plain).contains(part), "{plain:?}");
            assert_eq!([stdout(&done), stderr(&done)], [stdout(&plain), stderr(&plain)], "{check}");
        }
    }
}

fn several_inputs_are_checked_too() {
    let bench = Bench::new();
    let said =
        "if [ -z \"$original\" ]; then echo new > $out; echo warning; else echo old > $out; fi";
    let mut call = scripted(&bench, said);
    bench.input("b.ptx", &["// rewrite: insert"]);
    call.arg("b.ptx");
    let done = run(call);
    assert!(done.status.success() && stdout(&done).is_empty(), "{done:?}");
    assert_eq!(std::fs::read_to_string(bench.path("work/out")).unwrap(), "old\n");
}

fn settings_may_be_sloppy() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    for off in ["OFF ", "\toff", " 0"] {
        let mut call = bench.stand_in(&["a.ptx"]);
        call.env("PTXASW", off);
        assert!(run(call).status.success());
        assert_eq!(bench.words(bench.calls()), ["a.ptx"], "{off:?}");
    }
    // Without a folder for temporary files the usual one is taken, and not the user's own.
    let mut call = scripted(&bench, "echo $out > $out");
    call.env("TMPDIR", "");
    let done = run(call);
    assert!(done.status.success() && stderr(&done).is_empty(), "{done:?}");
    let place = std::fs::read_to_string(bench.path("work/out")).unwrap();
    assert!(place.starts_with("/tmp/"), "{place}");
    let mut call = bench.stand_in(&["a.ptx"]);
    call.env("PTXASW_LOG", "info,ptxasw=loud");
    let done = run(call);
    assert_eq!(stderr(&done).lines().count(), 1, "{done:?}");
    assert!(
        stderr(&done).starts_with("ptxasw: warning: PTXASW_LOG=info,ptxasw=loud: "),
        "{done:?}"
    );
}

fn texts_on_the_command_line_may_be_long() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    // So long that the rewritten text fits into no argument.
    let line = "// rewrite: grow".to_owned() + &"\n".repeat(120_000);
    let text = ptx(&[&line, ".reg .pred %p<2>;", "vote.all.pred %p1, %p1;"]);
    let text = text.replace("7.0", "6.3").replace("sm_80", "sm_75");
    for word in ["-ias", "--input-as-string"] {
        let words = ["-arch=sm_75", "-o", "out", word, &text];
        let plain = run(bench.call(&ptxas, &words));
        assert!(plain.status.success() && stderr(&plain).contains("application ptx input"));
        let before = std::fs::read(bench.path("work/out")).unwrap();
        let done = run(bench.stand_in_around(&ptxas, &words));
        assert_eq!((done.status, stderr(&done)), (plain.status, stderr(&plain)));
        assert!(std::fs::read(bench.path("work/out")).unwrap() == before);
    }
}
