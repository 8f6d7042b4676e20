//! `PTXASW_PROFILE`: what was measured is obeyed, and what cannot be used costs one line and no build.

use crate::check::taps;
use crate::support::{Bench, PTXASW, real_ptxas, run, stderr};
use ptxasw::ab::cuda;
use ptxasw::profile::digest::Digests;
use ptxasw::ptx::{Depth, parse};
use ptxasw::source::SourceFile;
use std::path::Path;
use std::process::{Command, Output};

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("what_was_measured_is_obeyed", what_was_measured_is_obeyed),
    ("what_cannot_be_used_costs_a_line", what_cannot_be_used_costs_a_line),
    ("what_was_measured_is_not_taken_back", what_was_measured_is_not_taken_back),
];

/// A profile of the kernel in a text.
fn profile(text: &str, architecture: &str, strategy: &str) -> String {
    let source = SourceFile::new("k.ptx", text);
    let module = parse(&source, Depth::All).unwrap();
    let kernel = module.functions().next().unwrap();
    let hash = Digests::new(&source, &module).of(kernel);
    let name = kernel.name.text;
    // One that fits where there is a driver.
    let driver = cuda::driver().unwrap_or_else(|| "12.4".to_owned());
    format!(
        r#"{{"version": 1, "kernels": [{{"name": "{name}", "hash": "{hash}", "driver": "{driver}",
        "architecture": "{architecture}", "strategy": "{strategy}"}}]}}"#
    )
}

/// A stand-in around the real rewriter, with a kernel and a profile.
fn call(bench: &Bench, ptxas: &Path, profile: Option<&str>) -> Command {
    let link = bench.path("bin/ptxas");
    let link = if link.exists() { link } else { bench.link(Path::new(PTXASW), "bin/ptxas") };
    std::fs::write(bench.path("work/k.ptx"), taps(8)).unwrap();
    if let Some(profile) = profile {
        std::fs::write(bench.path("work/p.json"), profile).unwrap();
    }
    let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
    call.env("PTXASW_PTXAS", ptxas).env("PTXASW_CHECK", "off").env("PTXASW_PROFILE", "p.json");
    call
}

/// The text that the fake ptxas got, and what was said.
fn assembled(bench: &Bench, output: &Output) -> (String, String) {
    assert!(output.status.success(), "{output:?}");
    let number = bench.calls();
    (bench.noted(&format!("call.{number}.input.1")).unwrap(), stderr(output))
}

fn what_was_measured_is_obeyed() {
    let text = taps(8);
    for (strategy, settings, shuffles) in [
        ("paper", &[][..], true),
        ("window", &[], true),
        ("original", &[], false),
        ("auto", &[], false),
        ("paper", &[("PTXASW_STRATEGY", "reuse")], false),
        ("original", &[("PTXASW_STRATEGY", "paper")], true),
        ("paper", &[("PTXASW_STRATEGY", "auto")], true),
        ("paper", &[("PTXASW", "off")], false),
    ] {
        let bench = Bench::new();
        let mut call =
            call(&bench, &bench.path("fake/ptxas"), Some(&profile(&text, "sm_80", strategy)));
        let output = run_with_settings(&mut call, settings);
        let (got, said) = assembled(&bench, &output);
        assert_eq!(said, "", "{strategy} {settings:?}");
        assert_eq!(got.contains("shfl.sync"), shuffles, "{strategy} {settings:?}");
        assert!(shuffles || got == text);
    }
    // A report says who decided.
    let bench = Bench::new();
    let mut call = call(&bench, &bench.path("fake/ptxas"), Some(&profile(&text, "sm_80", "paper")));
    run_with_settings(&mut call, &[("PTXASW_REPORT", "reports")]);
    let names = bench.names("work/reports");
    let report = std::fs::read_to_string(bench.path("work/reports").join(&names[0])).unwrap();
    assert!(
        report.contains(r#""strategy": "paper""#) && report.contains("the profile: "),
        "{report}"
    );
}

fn run_with_settings(call: &mut Command, settings: &[(&str, &str)]) -> Output {
    call.envs(settings.iter().copied()).output().unwrap()
}

fn what_cannot_be_used_costs_a_line() {
    let text = taps(8);
    let good = profile(&text, "sm_80", "paper");
    let changed = profile(&text.replace("sub", "add").replace("+4]", "+8]"), "sm_80", "paper");
    for (profile, what) in [
        (None, "PTXASW_PROFILE: p.json: No such file"),
        (Some(""), "PTXASW_PROFILE: p.json: no profile"),
        (Some("version = 1"), "PTXASW_PROFILE: p.json: no profile"),
        (Some(&*good.replace(r#""version": 1"#, r#""version": 2"#)), "a profile of version 2"),
        (Some(&*good.replace(r#""paper""#, r#""fast""#)), "no strategy `fast`"),
        (
            Some(&*good.replace("sm_80", "sm_90")),
            "not used for taps: measured on sm_90 and not on sm_80",
        ),
        (Some(&*good.replace("sm_80", "volta")), "no architecture `volta`"),
        (Some(&*changed), "not used for taps: the text has changed"),
    ] {
        let bench = Bench::new();
        let output = run(call(&bench, &bench.path("fake/ptxas"), profile));
        let (got, said) = assembled(&bench, &output);
        assert!(said.starts_with("ptxasw: warning: ") && said.contains(what), "{what}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(got == text, "{what}");
        assert_eq!(bench.calls(), 1, "{what}");
        assert_eq!(bench.names("tmp"), [""; 0]);
    }
    // Kernels that nobody measured are none of its business.
    let bench = Bench::new();
    let other = good.replace(r#""name": "taps""#, r#""name": "other""#);
    let output = run(call(&bench, &bench.path("fake/ptxas"), Some(&other)));
    assert_eq!(assembled(&bench, &output), (text, String::new()));
}

/// A measurement knows what fewer warps cost.
fn what_was_measured_is_not_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    for count in (8..=30).step_by(2) {
        let text = taps(count);
        let profile = profile(&text, "sm_80", "paper");
        let assemble = |check: &str, settings: &[(&str, &str)]| {
            let mut call = call(&bench, &ptxas, Some(&profile));
            std::fs::write(bench.path("work/k.ptx"), &text).unwrap();
            let output = run_with_settings(call.env("PTXASW_CHECK", check), settings);
            assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
            std::fs::read(bench.path("work/out")).unwrap()
        };
        let asked = [("PTXASW_STRATEGY", "paper")];
        let (rewritten, checked) = (assemble("off", &asked), assemble("on", &asked));
        if rewritten != checked {
            assert!(assemble("on", &[]) == rewritten, "{count} loads");
            return;
        }
    }
    panic!("no kernel is worse for its rewrite");
}
