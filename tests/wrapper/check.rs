//! What the assembled kernels take is compared, and a rewrite that costs too much is taken back.

use crate::support::{Bench, PTXASW, ptx, real_ptxas, run, run_with, stderr, stdout};
use ptxasw::isa::multiprocessor::Multiprocessor;
use ptxasw::report::{Report, Why};
use ptxasw::sass::Resources;
use ptxasw::sass::cubin::{self, Cubin, Usage};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("both_texts_are_assembled", both_texts_are_assembled),
    ("one_text_is_assembled_where_there_is_nothing_to_check", one_text_is_assembled),
    ("what_is_no_cubin_takes_nothing_back", what_is_no_cubin_takes_nothing_back),
    ("a_failure_of_the_originals_run_takes_nothing_back", failure_of_the_originals_run),
    ("ptxas_refuses_the_rewritten_text", ptxas_refuses_the_rewritten_text),
    ("ptxas_is_killed_on_the_rewritten_text", ptxas_is_killed_on_the_rewritten_text),
    ("lost_warps_are_taken_back", lost_warps_are_taken_back),
    ("spilled_registers_are_taken_back", spilled_registers_are_taken_back),
    ("resources_of_untouched_texts", resources_of_untouched_texts),
    ("what_costs_nothing_stays", what_costs_nothing_stays),
    ("one_of_two_kernels_is_taken_back", one_of_two_kernels_is_taken_back),
    ("a_callee_takes_everything_back", a_callee_takes_everything_back),
    ("the_original_comes_out_however_it_is_called", the_original_comes_out),
    ("the_real_rewriter_takes_back", the_real_rewriter_takes_back),
    ("more_work_is_not_tried", more_work_is_not_tried),
    ("what_is_not_proved_is_not_used", what_is_not_proved_is_not_used),
];

fn both_texts_are_assembled() {
    let text = ptx(&["// rewrite: insert"]);
    for (words, output) in [
        (&["a.ptx", "-o", "out"][..], "out"),
        (&["-o", "out", "-v", "-"][..], "out"),
        (&["-ias", &text, "-c", "-o", "out"][..], "out"),
        (&["a.ptx"][..], "elf.o"),
    ] {
        let bench = Bench::new();
        bench.input("a.ptx", &["// rewrite: insert"]);
        let done = run_with(bench.checked(words), &text);
        assert!(done.status.success(), "{done:?}");
        assert_eq!((stdout(&done), stderr(&done)), (String::new(), String::new()));
        assert_eq!(bench.calls(), 2, "{words:?}");
        let called = [bench.words(1), bench.words(2)].map(|words| words.join("|"));
        let of_original = called.iter().position(|words| words.contains("original.cubin"));
        let of_original = of_original.expect("one call is about the original");
        let place = bench.path("tmp").to_str().unwrap().to_owned();
        assert!(called[of_original].contains(&place), "{called:?}");
        assert!(called[1 - of_original].contains("rewritten.cubin"), "{called:?}");
        let texts: Vec<String> = (1..=2)
            .filter_map(|call| {
                let noted = |name: &str| bench.noted(&format!("call.{call}.{name}"));
                noted("input.1").or_else(|| noted("stdin"))
            })
            .collect();
        // (A text on the command line is among the words.)
        let rewritten = texts.iter().chain(&called).filter(|text| text.contains("// three"));
        assert_eq!(rewritten.count(), 1, "{texts:?}");
        assert_eq!(bench.names("tmp"), [""; 0]);
        let out = std::fs::read_to_string(bench.path("work").join(output)).unwrap_or_default();
        assert_eq!(out, "object\n", "{words:?}");
    }
}

fn one_text_is_assembled() {
    for (words, calls) in [
        // Nothing is rewritten.
        (&["same.ptx", "-o", "out"][..], 1),
        // Nobody could look at the output first, or say which it is.
        (&["a.ptx", "-o", "/dev/stdout"], 1),
        (&["a.ptx", "-o", "out", "-o", "out"], 1),
        // Whatever that is.
        (&["a.ptx", "-o", "out", "--new"], 1),
        (&["a.ptx", "-o", "out", "--new-file=1"], 1),
        // A level or a switch names no output.
        (&["a.ptx", "-o", "out", "--new=1"], 2),
        // What can be written is known at the end.
        (&["a.ptx", "-o", "folder"], 3),
        (&["a.ptx", "-o", "no/such/folder"], 3),
        // Two inputs.
        (&["a.ptx", "same.ptx", "-o", "out"], 2),
        (&["a.ptx", "b.ptx", "-o", "out"], 2),
        (&["a.ptx", "-o", "/dev/null"], 2),
        (&["a.ptx", "-o", "a.ptx"], 2),
    ] {
        let bench = Bench::new();
        bench.input("a.ptx", &["// rewrite: insert"]);
        bench.input("b.ptx", &["// rewrite: insert"]);
        bench.input("same.ptx", &[]);
        std::fs::create_dir(bench.path("work/folder")).unwrap();
        run(bench.checked(words));
        assert_eq!(bench.calls(), calls, "{words:?}");
        if calls != 2 {
            assert_eq!(bench.words(calls), words, "the last call is the user's own");
        }
    }
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    for off in ["off", "0", "No"] {
        let mut call = bench.checked(&["a.ptx", "-o", "out"]);
        assert!(
            run({
                call.env("PTXASW_CHECK", off);
                call
            })
            .status
            .success()
        );
    }
    assert_eq!(bench.calls(), 3);
}

/// A fake ptxas that runs these lines of shell, with the output file in `$out`, and `$original` or
/// `$rewritten` set where it is called for one of both texts and not as the user called it.
pub fn scripted(bench: &Bench, lines: &str) -> Command {
    use std::os::unix::fs::PermissionsExt;
    let script = format!(
        "#!/bin/sh\nout=\nlast=\noriginal=\nrewritten=\nfor word in \"$@\"; do\n\
         if [ \"$last\" = -o ]; then out=$word; fi\n\
         case $word in *original.cubin) original=1 ;; */0.ptx) rewritten=1 ;; esac\nlast=$word\ndone\n{lines}\n"
    );
    let path = bench.path("fake/scripted");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    bench.input("a.ptx", &["// rewrite: insert"]);
    bench.stand_in_around(&path, &["a.ptx", "-o", "out"])
}

fn what_is_no_cubin_takes_nothing_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let real = Bench::new();
    real.input("a.ptx", &[]);
    assert!(run(real.call(&ptxas, &["-arch=sm_80", "a.ptx", "-o", "out"])).status.success());
    let whole = std::fs::read(real.path("work/out")).unwrap();
    let rubbish = |cut: usize| {
        let mut bytes = whole.clone();
        bytes.truncate(cut);
        bytes
    };
    for bytes in [rubbish(0), rubbish(63), rubbish(64), rubbish(whole.len() / 2), vec![0x7f; 4096]]
    {
        let bench = Bench::new();
        let file = bench.path("rubbish");
        std::fs::write(&file, &bytes).unwrap();
        let copy = format!("cp {} $out; [ -n \"$original\" ] || echo said", file.display());
        let mut call = scripted(&bench, &copy);
        // (Weighed strategies are used only where cycles are known.)
        call.env("PTXASW_STRATEGY", "paper");
        let done = run(call);
        assert!(done.status.success(), "{done:?}");
        // A truncated result is not used. (The original's run prints nothing.)
        let said = if bytes == [0x7f; 4096] || bytes.is_empty() { "said\n" } else { "" };
        assert_eq!((stdout(&done), stderr(&done)), (said.to_owned(), String::new()));
        assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), bytes);
        assert_eq!(bench.names("tmp"), [""; 0]);
    }
}

fn failure_of_the_originals_run() {
    for end in ["exit 3", "kill -s KILL $$", "kill -s SEGV $$"] {
        let bench = Bench::new();
        let lines =
            format!("if [ -n \"$original\" ]; then echo no >&2; {end}; fi; echo yes > $out");
        let done = run(scripted(&bench, &lines));
        assert!(done.status.success(), "{done:?}");
        assert_eq!(stderr(&done), "", "{end}");
        assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), b"yes\n", "{end}");
    }
}

fn ptxas_refuses_the_rewritten_text() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: break"]);
    let done = run(bench.checked(&["a.ptx", "-o", "out"]));
    assert!(done.status.success(), "{done:?}");
    let said = stderr(&done);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("ptxas refuses the rewritten text"), "{said}");
    assert_eq!(bench.calls(), 2, "the original is there already");
    assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), b"object\n");
    assert_eq!(bench.names("tmp"), [""; 0]);

    // And the original too.
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert", "", "// ptxas: refuse"]);
    let done = run(bench.checked(&["a.ptx"]));
    assert_eq!(done.status.code(), Some(255));
    assert!(stderr(&done).starts_with("ptxas a.ptx, line 8; error   : refused\n"));
    assert_eq!(stderr(&done).lines().count(), 2, "{}", stderr(&done));
}

fn ptxas_is_killed_on_the_rewritten_text() {
    let bench = Bench::new();
    let lines = "if [ -z \"$original\" ]; then kill -s KILL $$; fi; echo yes > $out; echo said";
    let done = run(scripted(&bench, lines));
    assert!(done.status.success(), "{done:?}");
    assert_eq!(stdout(&done), "said\n");
    assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), b"yes\n");
    let done = run(scripted(&bench, "kill -s KILL $$"));
    assert_eq!(done.status.signal(), Some(9), "{done:?}");
}

/// A module of kernels: name, directives, values to be held by the rewrite.
pub fn module(kernels: &[(&str, &str, u32)]) -> String {
    let mut text = ".version 7.0\n.target sm_80\n.address_size 64\n".to_owned();
    for (name, directives, held) in kernels {
        text += &format!(
            ".visible .entry {name}(.param .u64 p) {directives}\n{{\n.reg .b64 %rd<4>;\n\
             .reg .f32 %f<4>;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n\
             // rewrite: hold {held}\nld.global.f32 %f1, [%rd2];\nst.global.f32 [%rd2+4], %f1;\nret;\n}}\n"
        );
    }
    text
}

/// What came of a module: plain, by the stand-in, the report, and the log.
struct Made {
    plain: Cubin,
    made: Cubin,
    /// Whether the files are equal byte by byte.
    is_original: bool,
    report: Report,
    log: String,
}

impl Made {
    /// By a strategy that was asked for by name, so that cycles decide nothing.
    fn new(ptxas: &Path, text: &str) -> Made {
        Made::by("paper", ptxas, text)
    }

    fn by(strategy: &str, ptxas: &Path, text: &str) -> Made {
        let bench = Bench::new();
        std::fs::write(bench.path("work/a.ptx"), text).unwrap();
        let words = ["-arch=sm_80", "a.ptx", "-o"];
        let plain = run(bench.call(ptxas, &[&words[..], &["plain"]].concat()));
        assert!(plain.status.success(), "{plain:?}");
        let mut call = bench.stand_in_around(ptxas, &[&words[..], &["out"]].concat());
        call.env("PTXASW_REPORT", bench.path("report")).env("PTXASW_LOG", "info");
        call.env("PTXASW_KEEP", bench.path("keep")).env("PTXASW_STRATEGY", strategy);
        let done = run(call);
        assert!(done.status.success(), "{done:?}");
        let log = stderr(&done);
        assert!(!log.contains("warning"), "{log}");
        assert_eq!(bench.names("tmp"), [""; 0]);
        let bytes =
            ["plain", "out"].map(|name| std::fs::read(bench.path("work").join(name)).unwrap());
        let names = bench.names("report");
        assert_eq!(names.len(), 1, "{names:?}");
        let report = std::fs::read(bench.path("report").join(&names[0])).unwrap();
        // The kept text is the assembled one.
        let kept = bench.names("keep");
        let kept = std::fs::read_to_string(bench.path("keep").join(&kept[1])).unwrap();
        let is_original = bytes[0] == bytes[1];
        assert_eq!(kept == text, is_original, "{kept}");
        let [plain, made] = bytes.map(|bytes| cubin::read(&bytes).unwrap());
        let report: Report = serde_json::from_slice(&report).unwrap();
        for kernel in &report.kernels {
            let resources = kernel.resources.expect("ptxas has made the kernel");
            let original = resources.original.expect("the original is assembled, too");
            let taken = |of: Resources| (of.registers, of.stack, of.shared);
            let usage = |of: &Cubin| {
                let Usage { registers, stack, shared, .. } = of.kernels[&kernel.name];
                (registers, stack, shared)
            };
            assert_eq!(taken(original), usage(&plain));
            assert_eq!(resources.rewritten.is_some(), kernel.shuffles > 0);
            assert!(resources.rewritten.is_none_or(|rewritten| taken(rewritten) == usage(&made)));
        }
        Made { plain, made, is_original, report, log }
    }

    /// Why a kernel of the report was left as it is.
    fn reason(&self, kernel: &str) -> Option<&str> {
        let mut kernels = self.report.kernels.iter();
        let report = kernels.find(|report| report.name == kernel).expect("the kernel is reported");
        assert_eq!(report.shuffles, usize::from(report.skipped.is_none()));
        assert_eq!(report.loads[0].reason, report.skipped);
        assert_eq!(report.collectives[0].reason, report.skipped);
        assert_eq!(report.is_rewritten(), report.skipped.is_none());
        report.skipped.as_deref()
    }
}

fn lost_warps_are_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let made = Made::new(&ptxas, &module(&[("k", "", 60)]));
    assert!(made.is_original);
    let reason = made.reason("k").expect("it is taken back");
    assert!(reason.starts_with("taken back: ") && reason.contains(" registers instead of "));
    assert!(reason.contains(" of 64 warps in blocks of 128"), "{reason}");
    assert!(made.log.contains(&format!("a.ptx: k {reason}")), "{}", made.log);
    assert!(
        made.log.contains("1 function, 1 global load, 0 replaced, 1 taken back"),
        "{}",
        made.log
    );
    // The attempt itself is not logged at this level.
    assert_eq!(made.log.matches("1 function, ").count(), 1, "{}", made.log);
    assert_eq!(made.log.matches("a.ptx: k ").count(), 1, "{}", made.log);
    assert!(!made.log.contains("1 replaced"), "{}", made.log);
}

fn spilled_registers_are_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let made = Made::new(&ptxas, &module(&[("k", ".maxntid 1024, 1, 1 .minnctapersm 2", 60)]));
    assert!(made.is_original);
    let reason = made.reason("k").expect("it is taken back");
    assert!(reason.contains(" bytes of stack instead of 0"), "{reason}");
}

/// A text that is left as it is has one assembly, and its resources are reported all the same.
fn resources_of_untouched_texts() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    std::fs::write(bench.path("work/k.ptx"), taps(8)).unwrap();
    let assemble = |settings: &[(&str, &str)]| {
        let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
        call.env("PTXASW_PTXAS", &ptxas).env("PTXASW_STRATEGY", "none");
        call.envs(settings.iter().copied());
        let output = run(call);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        std::fs::read(bench.path("work/out")).unwrap()
    };
    let plain = assemble(&[("PTXASW", "off")]);
    let folder = bench.path("report");
    let made = assemble(&[("PTXASW_REPORT", folder.to_str().unwrap())]);
    assert!(plain == made, "the output is ptxas's");
    let report = std::fs::read(folder.join(&bench.names("report")[0])).unwrap();
    let report: Report = serde_json::from_slice(&report).unwrap();
    let resources = report.kernels[0].resources.expect("ptxas has made the kernel");
    let original = resources.original.unwrap();
    assert!(resources.rewritten.is_none());
    assert_eq!(original.registers, cubin::read(&plain).unwrap().kernels["taps"].registers);
    assert_eq!((original.spill_stores, original.warps), (Some(0), Some(64)));
    assert!(original.instructions > 8 && original.instructions * 16 <= original.code_bytes);
}

fn what_costs_nothing_stays() {
    let Some(ptxas) = real_ptxas() else { return };
    for (directives, held) in [("", 12), (".maxntid 32, 1, 1", 45), (".reqntid 16", 40)] {
        let made = Made::new(&ptxas, &module(&[("k", directives, held)]));
        assert!(!made.is_original && made.reason("k").is_none(), "{directives}");
        assert!(made.made.kernels["k"].registers > made.plain.kernels["k"].registers);
        assert!(!made.log.contains("taken back"), "{}", made.log);
    }
}

fn one_of_two_kernels_is_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let made = Made::new(&ptxas, &module(&[("a", "", 60), ("b", "", 12), ("c", "", 70)]));
    for kernel in ["a", "c"] {
        assert!(made.reason(kernel).is_some_and(|reason| reason.starts_with("taken back: ")));
        assert_eq!(made.made.kernels[kernel], made.plain.kernels[kernel]);
    }
    assert_eq!(made.reason("b"), None);
    assert!(made.made.kernels["b"].registers > made.plain.kernels["b"].registers);
    assert!(
        made.log.contains(
            "3 functions, 3 global loads, 1 replaced, 1 collective replaced, 2 taken back"
        ),
        "{}",
        made.log
    );
}

/// The rewrite is in a function that is put into the kernel which calls it.
fn a_callee_takes_everything_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .func f(.param .b64 q)\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd2, [q];\n\
        // rewrite: hold 60\nret;\n}\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\n\
        cvta.to.global.u64 %rd2, %rd1;\n{\n.param .b64 a;\nst.param.b64 [a], %rd2;\n\
        call.uni f, (a);\n}\nret;\n}\n";
    let bench = Bench::new();
    std::fs::write(bench.path("work/a.ptx"), text).unwrap();
    let words = ["-arch=sm_80", "a.ptx", "-o"];
    assert!(run(bench.call(&ptxas, &[&words[..], &["plain"]].concat())).status.success());
    let mut call = bench.stand_in_around(&ptxas, &[&words[..], &["out"]].concat());
    call.env("PTXASW_REPORT", bench.path("report")).env("PTXASW_STRATEGY", "paper");
    let done = run(call);
    assert!(done.status.success() && stderr(&done).is_empty(), "{done:?}");
    let [plain, made] = ["plain", "out"].map(|name| std::fs::read(bench.path("work").join(name)));
    assert!(plain.unwrap() == made.unwrap());
    let report = bench.path("report").join(&bench.names("report")[0]);
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("\"skipped\": \"taken back: k: ") && !report.contains("\"shuffle\""));
}

/// Status, messages and files are those of ptxas where everything is taken back.
fn the_original_comes_out() {
    let Some(ptxas) = real_ptxas() else { return };
    let text = module(&[("k", "", 60)]);
    let times = regex::Regex::new(r"= [0-9.]+ ms|[^ ']*/tmpxft_[0-9a-f]+").unwrap();
    for words in [
        &["-v", "a.ptx", "-o", "out"][..],
        &["-v", "-", "-o", "out"],
        &["-v", "-ias", &text, "-o", "out"],
        &["-c", "-v", "a.ptx", "-o", "out"],
        &["--compile-only", "a.ptx", "--output-file=deeper/out"],
        &["a.ptx", "-lineinfo"],
        &["-optf", "options"],
        &["-warn-spills", "-maxrregcount", "255", "-O2", "-v", "a.ptx", "-o", "link"],
    ] {
        let deeds = [true, false].map(|plain| {
            let bench = Bench::new();
            std::fs::write(bench.path("work/a.ptx"), &text).unwrap();
            std::fs::write(bench.path("work/options"), "a.ptx -v -o \"o u t\"").unwrap();
            std::fs::create_dir(bench.path("work/deeper")).unwrap();
            bench.link(Path::new("deeper/target"), "work/link");
            let words = [&["-arch=sm_80"], words].concat();
            let call = match plain {
                true => bench.call(&ptxas, &words),
                false => bench.stand_in_around(&ptxas, &words),
            };
            let done = run_with(call, &text);
            let said = [stdout(&done), stderr(&done)];
            let said = said.map(|text| times.replace_all(&text, "X").into_owned());
            let files: Vec<_> = ["work", "work/deeper"]
                .into_iter()
                .flat_map(|folder| {
                    let of = |name| std::fs::read(bench.path(folder).join(name)).ok();
                    bench.names(folder).into_iter().map(move |name| (name.clone(), of(name)))
                })
                .collect();
            assert_eq!(bench.names("tmp"), [""; 0]);
            (done.status.code(), said, files)
        });
        assert_eq!(deeds[0].0, Some(0), "{:?}", deeds[0].1);
        assert!(deeds[0] == deeds[1], "{words:?}:\n{:?}\ninstead of\n{:?}", deeds[1].1, deeds[0].1);
    }
}

/// `b[i] = sum of a[i + d] * a[i + taps - 1 - d]`, all of `a` loaded before the first product.
pub fn taps(taps: u32) -> String {
    let mut text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry taps(.param .u64 a, .param .u64 b)\n{{\n.reg .b32 %r<2>;\n\
         .reg .f32 %f<{}>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\n\
         cvta.to.global.u64 %rd3, %rd1;\ncvta.to.global.u64 %rd4, %rd2;\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd3, %rd5;\nadd.s64 %rd7, %rd4, %rd5;\n",
        taps + 1
    );
    for tap in 0..taps {
        text += &format!("ld.global.f32 %f{tap}, [%rd6+{}];\n", 4 * tap);
    }
    text += &format!("mov.f32 %f{taps}, 0f00000000;\n");
    for tap in 0..taps {
        text += &format!("fma.rn.f32 %f{taps}, %f{tap}, %f{}, %f{taps};\n", taps - 1 - tap);
    }
    text + &format!("st.global.f32 [%rd7], %f{taps};\nret;\n}}\n")
}

/// Of the paper's shape, with as many loads as there are registers up to the next loss of a warp.
fn the_real_rewriter_takes_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let mut fates = Vec::new();
    for count in (8..=30).step_by(2) {
        let bench = Bench::new();
        let link = bench.link(Path::new(PTXASW), "bin/ptxas");
        std::fs::write(bench.path("work/k.ptx"), taps(count)).unwrap();
        let assemble = |settings: &[(&str, &str)]| {
            let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
            call.env("PTXASW_PTXAS", &ptxas).env("PTXASW_STRATEGY", "paper");
            call.envs(settings.iter().copied());
            let output = run(call);
            assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
            std::fs::read(bench.path("work/out")).unwrap()
        };
        let original = assemble(&[("PTXASW", "off")]);
        let rewritten = assemble(&[("PTXASW_CHECK", "off")]);
        let checked = assemble(&[]);
        assert!(rewritten != original, "{count} loads are rewritten");
        let [before, after] = [&original, &rewritten].map(|bytes| {
            let usage = cubin::read(bytes).unwrap().kernels["taps"];
            let sm80 = Multiprocessor::of(80).unwrap();
            let warps = |threads| sm80.resident_warps(threads, usage.registers, 0);
            (std::cmp::Reverse(usage.stack), [128, 256, 512].map(warps))
        });
        let is_worse = after.0 < before.0 || (0..3).any(|size| after.1[size] < before.1[size]);
        assert!(checked == if is_worse { original } else { rewritten }, "{count} loads");
        fates.push(is_worse);
    }
    assert!(fates.contains(&true) && fates.contains(&false), "{fates:?}");
}

/// The registers that are held cost no warps; the instructions that hold them are more work than a kernel is tried for.
fn more_work_is_not_tried() {
    let Some(ptxas) = real_ptxas() else { return };
    let made = Made::by("auto", &ptxas, &module(&[("k", "", 12)]));
    assert!(made.is_original);
    let reason = made.reason("k").expect("it is left as it is");
    assert!(reason.starts_with("not tried: ") && reason.contains(" times the work"), "{reason}");
    let kernel = &made.report.kernels[0];
    assert!(kernel.measure.is_none() && kernel.why == Some(Why::NotTried), "{:?}", kernel.why);
    assert!(made.log.contains(&format!("a.ptx: k {reason}")), "{}", made.log);
}

/// One of two kernels is the same but for comments, and the other one stores more.
fn what_is_not_proved_is_not_used() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    std::fs::write(bench.path("work/a.ptx"), module(&[("same", "", 0), ("k", "", 4)])).unwrap();
    let words = ["-arch=sm_80", "a.ptx", "-o", "out"];
    let reported = |verify: &str, check: &str| {
        let mut call = bench.stand_in_around(&ptxas, &words);
        call.env("PTXASW_REPORT", bench.path("report")).env("PTXASW_STRATEGY", "paper");
        call.env("PTXASW_VERIFY", verify).env("PTXASW_CHECK", check).env("PTXASW_LOG", "info");
        let done = run(call);
        assert!(done.status.success(), "{done:?}");
        let report = std::fs::read(bench.path("report").join(&bench.names("report")[0])).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        let kernel = |at: usize| {
            let kernel = &report["kernels"][at];
            let of = |name: &str| kernel[name].as_str().unwrap_or_default().to_owned();
            let verdict = kernel["proof"]["verdict"].as_str().unwrap_or_default().to_owned();
            (of("decision"), of("why"), verdict)
        };
        (kernel(0), kernel(1), stderr(&done))
    };
    let of = |decision: &str, why: &str, verdict: &str| {
        (decision.to_owned(), why.to_owned(), verdict.to_owned())
    };
    for check in ["on", "off"] {
        let (same, k, log) = reported("1", check);
        assert_eq!(same, of("rewritten", "", "equal"), "{check}: {log}");
        assert!(k.2 != "equal" && (&*k.0, &*k.1) == ("kept-original", "unproved"), "{k:?}");
        assert!(log.contains("a.ptx: k the rewrite was not proved: "), "{log}");
        let (same, k, _) = reported("0", check);
        assert_eq!([same, k], [of("rewritten", "", ""), of("rewritten", "", "")], "{check}");
    }
}
