//! `ptxasw tune` on the library that stands in for a driver, and the effects of its profile.

use std::path::PathBuf;
use std::process::Output;

use ptxasw::ab::cuda;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::driver::Bed;

/// A row for `paper` and `window`, a pair for `wide` and `aos`, a load of an address once more for `reuse`.
const TAPS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 .ptr .global .align 8 from, .param .u64 to, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<11>; .reg .b64 %rd<7>;
    ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    setp.ge.u32 %p0, %r4, %r0;
    @%p0 bra DONE;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+4]; ld.global.u32 %r7, [%rd3+8];
    mul.wide.u32 %rd5, %r1, 8;
    add.s64 %rd6, %rd0, %rd5;
    ld.global.u32 %r8, [%rd6]; ld.global.u32 %r9, [%rd6+4];
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8; add.u32 %r5, %r5, %r9;
    setp.eq.u32 %p0, %r1, 7;
    @%p0 bra NEXT;
    add.u32 %r5, %r5, 1;
NEXT:
    ld.global.u32 %r10, [%rd3];
    add.u32 %r5, %r5, %r10;
    st.global.u32 [%rd4], %r5;
DONE: ret;
}";

/// The variants that are timed, in the order in which they are loaded.
const TIMED: [&str; 8] =
    ["original", "reuse", "wide", "window", "paper", "aos", "reuse,wide", "reuse,window"];

/// A folder with the kernel, and a launch of it.
struct Desk {
    folder: TempDir,
    launch: PathBuf,
}

impl Desk {
    fn new(launch: &str) -> Desk {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("taps.ptx"), TAPS).expect("writes");
        Desk { folder, launch: Bed::get().launch(launch, 60) }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("writes");
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }

    fn call(&self, words: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut process = Bed::get().process();
        process.args(words).current_dir(self.folder.path()).env_remove("PTXASW_PROFILE");
        process.envs(environment.iter().copied()).output().expect("runs")
    }

    /// Tunes where one of [`TIMED`] takes other than 100 microseconds.
    fn tune(&self, words: &[&str], special: &str, time: &str) -> Output {
        let times = TIMED.map(|name| if name == special { time } else { "100" }).join(",");
        let launch = self.launch.display().to_string();
        let own = ["tune", "taps.ptx", "--launch", &launch, "--samples", "9", "--warm-up", "1"];
        self.call(&[&own[..], words].concat(), &[("FAKE_CUDA", &times)])
    }

    fn profile(&self) -> Value {
        serde_json::from_str(&self.text("p.json").expect("written")).expect("JSON")
    }

    /// The decisions under a profile about the text in a file, and the messages.
    fn candidates(
        &self,
        file: &str,
        words: &[&str],
        environment: &[(&str, &str)],
    ) -> (Value, String) {
        let own = ["candidates", file, "--format", "json", "--arch", "sm_86"];
        let output = self.call(&[&own[..], words].concat(), environment);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (serde_json::from_slice(&output.stdout).expect("JSON"), said)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The decisions about a kernel's loads, in a row.
fn decisions(report: &Value) -> String {
    let loads = report["kernels"][0]["loads"].as_array().expect("a list");
    loads.iter().filter_map(|load| load["decision"].as_str()).collect::<Vec<_>>().join(" ")
}

const PAPER: &str = "keep shuffle shuffle keep keep shuffle";
const AUTO: &str = "keep keep keep wide wide reuse";
const KEPT: &str = "keep keep keep keep keep keep";

#[test]
fn the_fastest_strategy_is_written_and_obeyed() {
    let desk = Desk::new("tune.json");
    let output = desk.tune(&[], "paper", "80");
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
    let profile: Value = serde_json::from_slice(&output.stdout).expect("JSON, and nothing else");
    assert_eq!(profile["version"], 1);
    let [kernel] = &profile["kernels"].as_array().expect("a list")[..] else { panic!("{profile}") };
    assert_eq!(kernel["name"], "copy");
    assert_eq!(kernel["hash"].as_str().map(str::len), Some(64));
    assert_eq!((&kernel["architecture"], &kernel["driver"]), (&json!("sm_86"), &json!("12.4")));
    assert_eq!((&kernel["device"], &kernel["strategy"]), (&json!("Fake 0"), &json!("paper")));
    let variants = kernel["variants"].as_array().expect("a list");
    let timed = variants.iter().filter(|variant| variant.get("same_as").is_none());
    let timed: Vec<_> = timed.filter_map(|variant| variant["strategy"].as_str()).collect();
    assert_eq!(timed, TIMED);
    let of = |name: &str| {
        variants.iter().find(|variant| variant["strategy"] == name).expect("it is there")
    };
    assert_eq!(
        (&of("paper")["verdict"], &of("wide")["verdict"]),
        (&json!("faster"), &json!("same"))
    );
    let bound = |at: usize| of("paper")["interval"][at].as_f64().expect("a number");
    assert!((bound(0) - 1.25).abs() < 0.001 && (bound(1) - 1.25).abs() < 0.001, "{kernel}");
    // The same text is timed once.
    assert_eq!(of("auto")["same_as"], "reuse,wide");
    assert_eq!(of("auto")["speedup"], of("reuse,wide")["speedup"]);

    desk.write("p.json", &profile.to_string());
    let environment = [("PTXASW_PROFILE", "p.json")];
    let (report, warnings) = desk.candidates("taps.ptx", &[], &environment);
    assert_eq!((decisions(&report).as_str(), warnings.as_str()), (PAPER, ""));
    assert_eq!(
        (&report["strategy"], &report["kernels"][0]["strategy"]),
        (&json!("auto"), &json!("paper"))
    );
    let reason = report["kernels"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("the profile: `paper` is 1.250 times as fast"), "{reason}");
    let same = desk.candidates("taps.ptx", &["--profile", "p.json"], &[]);
    assert_eq!(same, (report, warnings));
    // The rewritten text, and the remarks for people.
    let rewrite = ["rewrite", "taps.ptx", "--arch", "sm_86", "--remarks", "remarks.yaml"];
    let rewritten = desk.call(&rewrite, &environment);
    let paper = desk.call(&["rewrite", "taps.ptx", "--strategy", "paper"], &[]);
    assert!(rewritten.status.success() && rewritten.stdout == paper.stdout);
    let remarks = desk.text("remarks.yaml").expect("written");
    assert!(remarks.contains("'paper'") && remarks.contains("the profile: "), "{remarks}");
    let shown = desk.call(&["candidates", "taps.ptx", "--arch", "sm_86"], &environment);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("; strategy paper by the profile: "), "{shown}");
}

#[test]
fn where_nothing_is_faster_the_original_stays() {
    let desk = Desk::new("slow.json");
    let output = desk.tune(&["-o", "p.json"], "auto", "100");
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.ends_with("chosen for sm_86: original\n"), "{table}");
    assert!(table.contains("auto has the text of reuse,wide"), "{table}");
    assert_eq!(desk.profile()["kernels"][0]["strategy"], "original");
    let (report, warnings) = desk.candidates("taps.ptx", &["--profile", "p.json"], &[]);
    assert_eq!((decisions(&report).as_str(), warnings.as_str()), (KEPT, ""));
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["strategy"], "original");
    for reason in [&kernel["skipped"], &kernel["loads"][3]["reason"]] {
        assert!(reason.as_str().is_some_and(|why| why.contains("nothing is faster")), "{kernel}");
    }
    // A list of one's own; a difference that counts as none is none.
    let output = desk.tune(&["--variants", "wide,paper", "--threshold", "60"], "reuse", "70");
    let profile: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(profile["kernels"][0]["strategy"], "original");
    assert_eq!(profile["kernels"][0]["variants"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_entry_is_brought_up_to_date_and_others_stay() {
    let desk = Desk::new("again.json");
    let output = desk.tune(&["-o", "p.json"], "wide", "80");
    assert!(output.status.success(), "{}", said(&output));
    let mut profile = desk.profile();
    assert_eq!(profile["kernels"][0]["strategy"], "wide");
    let mut other = profile["kernels"][0].clone();
    other["architecture"] = json!("sm_90");
    profile["kernels"].as_array_mut().expect("a list").insert(0, other.clone());
    desk.write("p.json", &profile.to_string());
    assert!(desk.tune(&["-o", "p.json"], "reuse,wide", "80").status.success());
    let profile = desk.profile();
    assert_eq!(profile["kernels"].as_array().map(Vec::len), Some(2));
    assert_eq!(profile["kernels"][0], other);
    assert_eq!(profile["kernels"][1]["strategy"], "reuse,wide");
}

/// One line, and the costs decide.
#[test]
fn what_does_not_fit_is_not_used() {
    let desk = Desk::new("unfit.json");
    assert!(desk.tune(&["-o", "p.json"], "paper", "80").status.success());
    desk.write("changed.ptx", &TAPS.replace("%r9, [%rd6+4]", "%r9, [%rd6 + 4 + 0]"));
    desk.write("spaced.ptx", &TAPS.replace("ret;", "// the end\n    ret;"));
    let profile = ("PTXASW_PROFILE", "p.json");
    let same = desk.candidates("spaced.ptx", &[], &[profile]);
    assert_eq!((decisions(&same.0).as_str(), same.1.as_str()), (PAPER, ""));
    let driver = ("FAKE_DRIVER", "13000");
    let none = ("LD_LIBRARY_PATH", "");
    for (file, words, environment, warning) in [
        (
            "changed.ptx",
            &[][..],
            &[profile][..],
            "copy: the text has changed since it was measured",
        ),
        ("taps.ptx", &["--arch", "sm_90"], &[profile], "copy: measured on sm_86 and not on sm_90"),
        (
            "taps.ptx",
            &[],
            &[profile, driver],
            "copy: measured with a driver of CUDA 12.4, where one of 13.0",
        ),
    ] {
        let own = ["candidates", file, "--format", "json"];
        let words = if words.is_empty() { &["--arch", "sm_86"] } else { words };
        let output = desk.call(&[&own[..], words].concat(), environment);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(decisions(&report), AUTO, "{warning}");
        let said = said(&output);
        assert!(said.starts_with("ptxasw: warning: p.json: not used for "), "{said}");
        assert!(said.contains(warning) && said.lines().count() == 1, "{said}");
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1));
        assert!(report["kernels"][0].get("strategy").is_none());
    }
    // Where there is no driver, nobody knows better.
    if cuda::driver().is_none() {
        let (report, said) = desk.candidates("taps.ptx", &[], &[profile, none]);
        assert_eq!((decisions(&report).as_str(), said.as_str()), (PAPER, ""));
    }
    // Who asks for a strategy gets it.
    for (strategy, expected) in [("none", KEPT), ("wide", "keep keep keep wide wide keep")] {
        let words = ["--strategy", strategy];
        let (report, said) = desk.candidates("changed.ptx", &words, &[profile]);
        assert_eq!((decisions(&report).as_str(), said.as_str()), (expected, ""));
    }
}

#[test]
fn what_cannot_be_used_is_left_alone() {
    let desk = Desk::new("left.json");
    for (text, what) in [
        ("{", "no profile"),
        (r#"{"version": 7, "kernels": []}"#, "a profile of version 7"),
        ("{\"kernels\": []}", "missing field `version`"),
    ] {
        desk.write("p.json", text);
        let output = desk.tune(&["-o", "p.json"], "wide", "80");
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(said(&output).starts_with("p.json: error: ") && said(&output).contains(what));
        assert_eq!(desk.text("p.json").as_deref(), Some(text));
        // Named on the command line it is an error, in the environment a warning.
        let output = desk.call(&["rewrite", "taps.ptx", "--profile", "p.json"], &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(what), "{}", said(&output));
        let (report, said) = desk.candidates("taps.ptx", &[], &[("PTXASW_PROFILE", "p.json")]);
        assert_eq!(decisions(&report), AUTO);
        assert!(said.starts_with("ptxasw: warning: PTXASW_PROFILE: p.json: "), "{said}");
        assert!(said.contains(what) && said.lines().count() == 1, "{said}");
    }
    // Modes compute wrong results, or depend on a strategy.
    let output = desk.tune(&["--variants", "full"], "wide", "80");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("only strategies"), "{}", said(&output));
    let output = desk.tune(&["--variants", "fast"], "wide", "80");
    assert!(output.status.code() == Some(2) && said(&output).contains("no strategy `fast`"));
    // Without a GPU nothing is written.
    let launch = desk.launch.display().to_string();
    let output = desk.call(&["tune", "taps.ptx", "--launch", &launch, "-o", "new.json"], &[]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(desk.text("new.json"), None);
}
