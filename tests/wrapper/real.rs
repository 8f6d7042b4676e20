//! The stand-in and the real ptxas, call by call: same status, same messages, same files.

use crate::support::{Bench, PTXASW, names, ptx, real_ptxas, run, run_with, stderr};
use std::path::Path;
use std::process::{Command, Output};

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("calls_do_what_ptxas_does", calls_do_what_ptxas_does),
    ("a_rewritten_input_is_reported_in_the_users_terms", rewritten_input),
    ("what_ptxas_refuses_is_assembled_from_the_original", refused_rewrite),
    ("the_name_of_the_input_does_not_reach_the_output", name_does_not_reach_the_output),
    ("neighbouring_loads_become_a_shuffle", neighbouring_loads_become_a_shuffle),
];

/// Calls, with `|` between their words.
const CALLS: &[&str] = &[
    "",
    "-arch|sm_80|a.ptx",
    "-arch=sm_80|a.ptx|-o|out",
    "--gpu-name=sm_80|a.ptx|b.ptx",
    "-arch|sm_80|--output-file=out|-v|a.ptx|b.ptx|-m64|-O1",
    "-arch|sm_80|-O|1|a.ptx",
    "-arch|sm_80|bad.ptx",
    "-arch|sm_80|bad.ptx|a.ptx",
    "-arch|sm_80|missing.ptx",
    "-arch|sm_80|empty.ptx",
    "-arch|sm_80|object",
    "-arch|sm_80|latin1.ptx",
    "-arch|sm_80|.",
    "-arch|sm_80|a.ptx|--no-such-option",
    "-arch|sm_80|a.ptx|--no-such-option=1",
    "-arch|sm_80|a.ptx|-o",
    "-arch|sm_80|a.ptx|-o|no/such/folder",
    "-arch|sm_80|a.ptx|-o|-",
    "-arch|sm_80|a.ptx|-o|/dev/stdout",
    "-arch|compute_80|a.ptx",
    "-arch|compute_80|bad.ptx",
    "-arch|sm_80|-lineinfo|-c|a.ptx|-o|out",
    "-arch|sm_80|-g|a.ptx|-o|out",
    "-c|-o|/dev/null|gcc.o|--gpu-name|sm_80|-O0",
    "--version",
    "--help",
    "-V|a.ptx",
    "-arch|sm_80",
    "-arch|sm_80|-ias|TEXT",
    "-arch|sm_80|--input-as-string=TEXT|b.ptx|-o|out",
    "-optf|options|a.ptx",
    "--options-file=all",
    "-optf|options,quoted",
    "-optf|escaped",
    "-optf|missing",
    "@all",
    "-arch|sm_80|-",
    "-arch|sm_80|/dev/stdin|-o|out",
    "-arch|sm_80|/dev/stdin|b.ptx|-v",
    "-arch|sm_80|-|-",
];

/// A folder with the inputs of [`CALLS`].
fn bench() -> Bench {
    let bench = Bench::new();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(bench.path("work").join(name), bytes).unwrap();
    };
    write("a.ptx", ptx(&[]).as_bytes());
    write("gcc.o", ptx(&[]).as_bytes());
    write("b.ptx", ptx(&[]).replace("entry k", "entry j").as_bytes());
    write("bad.ptx", ptx(&["ld.glbal.f32 %f1, [%rd2];"]).as_bytes());
    write("latin1.ptx", &[b".version 7.0\n// \xe9\n", &ptx(&[]).as_bytes()[13..]].concat());
    write("object", b"\x7fELF\x02\x01\x01\0\0\0");
    write("empty.ptx", b"");
    write("options", b"-arch sm_80\n-v\n");
    write("all", b"-arch sm_80 a.ptx -o out");
    write("quoted", b"\"a.ptx\" -o=\"o u t\"");
    write("escaped", b"-arch sm_80 a\\.ptx");
    bench
}

/// What a call did: status, messages without what differs from run to run, and files.
fn deeds(call: Command, stdin: &str, folder: &Path) -> (Option<i32>, String, String, Vec<Vec<u8>>) {
    let output: Output = run_with(call, stdin);
    let files =
        names(folder).iter().map(|name| std::fs::read(folder.join(name)).unwrap()).collect();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let times =
            regex::Regex::new(r"= [0-9.]+ ms|[^ ']*/tmpxft_[0-9a-f]+|on line [0-9]+").unwrap();
        times.replace_all(&text, "X").into_owned()
    };
    (output.status.code(), text(&output.stdout), text(&output.stderr), files)
}

fn calls_do_what_ptxas_does() {
    let Some(ptxas) = real_ptxas() else { return };
    for call in CALLS {
        let words: Vec<String> = if call.is_empty() {
            Vec::new()
        } else {
            call.split('|').map(|word| word.replace("TEXT", &ptx(&[]))).collect()
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (plain, wrapped) = (bench(), bench());
        let expected = deeds(plain.call(&ptxas, &words), &ptx(&[]), &plain.path("work"));
        let link = wrapped.link(Path::new(PTXASW), "bin/ptxas");
        let mut stand_in = wrapped.call(&link, &words);
        stand_in.env("PTXASW_PTXAS", &ptxas);
        let got = deeds(stand_in, &ptx(&[]), &wrapped.path("work"));
        assert_eq!(plain.names("work"), wrapped.names("work"), "{call}");
        assert!(got == expected, "{call}:\n{:?}\ninstead of\n{:?}", got.2, expected.2);
    }
}

fn rewritten_input() {
    let Some(ptxas) = real_ptxas() else { return };
    // `%f9` is not declared; the comments that are put in before it must not show.
    let lines = ["", "// rewrite: insert", "", "mov.f32 %f9, %f9;"];
    let bench = Bench::new();
    bench.input("bad.ptx", &lines);
    let plain = run(bench.call(&ptxas, &["-arch", "sm_80", "bad.ptx"]));
    let wrapped = run(bench.stand_in_around(&ptxas, &["-arch", "sm_80", "bad.ptx"]));
    assert!(stderr(&plain).contains("bad.ptx, line 9;"), "{}", stderr(&plain));
    assert_eq!(stderr(&wrapped), stderr(&plain));
    assert_eq!(wrapped.status, plain.status);

    // A warning of a run that succeeds comes from the rewritten text.
    let lines = ["// rewrite: insert", ".reg .pred %p<2>;", "vote.all.pred %p1, %p1;"];
    let text = ptx(&lines).replace("7.0", "6.3").replace("sm_80", "sm_75");
    std::fs::write(bench.path("work/good.ptx"), &text).unwrap();
    for name in ["good.ptx", "-"] {
        let words = ["-arch", "sm_75", "-v", "-o", "out", name];
        let plain = deeds(bench.call(&ptxas, &words), &text, &bench.path("work"));
        let wrapped = deeds(bench.stand_in_around(&ptxas, &words), &text, &bench.path("work"));
        assert_eq!(plain.0, Some(0), "{}", plain.2);
        assert!(plain.2.contains(", line 8; warning"), "{}", plain.2);
        assert_eq!(wrapped.2, plain.2);
        assert!(wrapped == plain, "the cubin is the same");
    }
}

fn refused_rewrite() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: break"]);
    let words = ["-arch", "sm_80", "a.ptx", "-o", "out"];
    assert!(run(bench.call(&ptxas, &words)).status.success());
    let expected = std::fs::read(bench.path("work/out")).unwrap();
    std::fs::remove_file(bench.path("work/out")).unwrap();
    let output = run(bench.stand_in_around(&ptxas, &words));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(std::fs::read(bench.path("work/out")).unwrap() == expected);
}

fn name_does_not_reach_the_output() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    bench.input("same.ptx", &["// one", "// two", "// three", "// rewrite: insert"]);
    for option in ["-lineinfo", "-c", "-O0", "-v"] {
        let assemble = |mut call: Command| {
            let output = run({
                call.args(["-arch", "sm_80", option, "-o", "out"]);
                call
            });
            assert!(output.status.success(), "{option}: {output:?}");
            std::fs::read(bench.path("work/out")).unwrap()
        };
        // (Lines without instructions gain no cycles, so where both are compared the original comes out.)
        for (check, same) in [("off", "same.ptx"), ("on", "a.ptx")] {
            let plain = assemble(bench.call(&ptxas, &[same]));
            let mut wrapped = bench.stand_in_around(&ptxas, &["a.ptx"]);
            wrapped.env("PTXASW_CHECK", check);
            assert!(plain == assemble(wrapped), "{option}, {check}");
        }
    }
}

/// `b[i] = a[i] + a[i + 1]`.
const NEIGHBOURS: &str = ".version 7.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 a, .param .u64 b)
{
.reg .b32 %r<5>;
.reg .f32 %f<4>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
cvta.to.global.u64 %rd3, %rd1;
cvta.to.global.u64 %rd4, %rd2;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd5, %r1, 4;
add.s64 %rd6, %rd3, %rd5;
add.s64 %rd7, %rd4, %rd5;
ld.global.f32 %f1, [%rd6+4];
ld.global.f32 %f2, [%rd6];
add.f32 %f3, %f1, %f2;
st.global.f32 [%rd7], %f3;
ret;
}
";

fn neighbouring_loads_become_a_shuffle() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    std::fs::write(bench.path("work/k.ptx"), NEIGHBOURS).unwrap();
    let assemble = |switch: &str| {
        let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
        call.env("PTXASW_PTXAS", &ptxas).env("PTXASW", switch).env("PTXASW_STRATEGY", "paper");
        call.env("PTXASW_KEEP", bench.path("keep"));
        let output = run(call);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        std::fs::read(bench.path("work/out")).unwrap()
    };
    let plain = assemble("off");
    assert!(!bench.path("keep").exists(), "a rewrite that is switched off keeps nothing");
    assert!(assemble("on") != plain);
    let kept = bench.names("keep");
    let rewritten = std::fs::read_to_string(bench.path("keep").join(&kept[1])).unwrap();
    assert!(rewritten.contains("shfl.sync"), "{rewritten}");
}
