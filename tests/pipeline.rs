//! The pipeline as a whole: its result does not depend on threads, measurements replace the cost model, and every query
//! to the solver can be repeated with another solver.

#![expect(clippy::disallowed_methods, reason = "another solver is another process")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ptxasw::expr::{Arena, FunctionId, SymbolId};
use ptxasw::pipeline::{Options, Versions, certificate, proofs, rewrite};
use ptxasw::profile::digest::Digests;
use ptxasw::profile::{Consulted, Entry, Profile};
use ptxasw::ptx::{Depth, parse};
use ptxasw::report::{Decision, Report};
use ptxasw::rewrite::Mode;
use ptxasw::select::{Strategies, StrategyName};
use ptxasw::solver::{Judgement, Names, Solver, session};
use ptxasw::source::SourceFile;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file")
}

/// Many kernels in one module: every accepted case that needs nothing but sm_80.
fn large_module() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/accept");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the cases")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    let mut module = ".version 7.8\n.target sm_80\n.address_size 64\n".to_owned();
    for file in files {
        let text = std::fs::read_to_string(file).expect("a case");
        module.extend(
            text.lines()
                .filter(|line| {
                    ![".version", ".target", ".address_size"].iter().any(|d| line.starts_with(d))
                })
                .map(|line| format!("{line}\n")),
        );
    }
    module
}

#[test]
fn distances_that_do_not_change_are_tested_in_front_of_the_loop() {
    let path = "tests/cases/accept/batch_whole_loops.ptx";
    let mut options = Options::default();
    options.select.strategies = "batch".parse().expect("a strategy");
    let text = rewrite(&SourceFile::new(path, read(path)), &options).expect("a module").text;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut tests = 0;
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("@!%ptxasw_p")) {
        assert!(["L:", "M:"].contains(&pair[1]), "the test `{}` stands in a loop", pair[0]);
        tests += 1;
    }
    assert!(tests >= 9, "only {tests} tests");
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    let source = SourceFile::new("large.ptx", large_module());
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let result = pool.install(|| rewrite(&source, &Options::paper())).expect("a module");
        (result.text, result.report)
    };
    let (text, report) = with(1);
    assert!(report.kernels.iter().map(|kernel| kernel.shuffles).sum::<usize>() > 100);
    for threads in [2, 5] {
        let (other_text, other_report) = with(threads);
        assert!(other_text == text, "the text differs with {threads} threads");
        assert_eq!(other_report, report, "with {threads} threads");
    }
}

/// Whether the rewriting of a file is proved: the kernels with a proof, and those without, each with the reason.
fn judged(source: &SourceFile, options: &Options) -> [Vec<(String, Option<String>)>; 2] {
    let rewritten = rewrite(source, options).expect("a module");
    let names: Vec<&str> = rewritten.edits.iter().map(|(name, _)| name.as_str()).collect();
    let certificate = certificate(source, &rewritten).ok().map(Arc::new);
    let versions = Versions::whole(source, &rewritten);
    let found = proofs(&versions, certificate, &names).expect("two modules");
    assert!(names.iter().all(|name| found.contains_key(*name)), "each has an answer");
    let (proved, others): (Vec<_>, Vec<_>) =
        found.into_iter().map(|(name, proof)| (name, proof.why)).partition(|one| one.1.is_none());
    [proved, others]
}

#[test]
fn a_build_has_proofs_of_right_rewrites_alone() {
    let source = SourceFile::new("jacobi.ptx", read("ptx-samples/jacobi/jacobi.sm_80.ptx"));
    let options = Options::paper();
    let [proved, others] = judged(&source, &options);
    assert!(proved.len() == 1 && others.is_empty(), "{others:?}");
    let [proved, others] = judged(&source, &Options { mode: Mode::NoCorner, ..options });
    assert!(proved.is_empty() && others.len() == 1, "a wrong rewrite is proved");
}

/// Symbols called by their numbers.
struct Numbered;

impl Names for Numbered {
    fn symbol(&self, symbol: SymbolId) -> String {
        format!("s{}", symbol.0)
    }

    fn function(&self, _: FunctionId) -> &str {
        "f"
    }
}

/// Needs the `z3` program, which `scripts/setup` installs; without it only the files are checked.
#[test]
fn another_solver_answers_the_dumped_queries_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = Options::paper();
    options.reuse.dump_queries = Some(folder.path().to_owned());
    for case in
        ["accept/boundary.ptx", "refuse/boundary.ptx", "accept/solver.ptx", "refuse/solver.ptx"]
    {
        let source = SourceFile::new(case, read(&format!("tests/cases/{case}")));
        rewrite(&source, &options).expect("a case that parses");
    }
    // The claims refuted in these files are refuted by samples, before the solver is asked.
    let mut arena = Arena::new();
    let (x, one) = (arena.symbol(SymbolId(0), 32), arena.constant(1, 32));
    let mut solver = Solver::new(200_000, Some(folder.path().to_owned()));
    let judged = session(|| solver.judge(&arena, &Numbered, (x, one), &[], &[x]));
    assert!(matches!(judged, Judgement::Refuted(_)), "{judged:?}");
    let program = which::which("z3").ok();
    let mut answers = [0; 2];
    for entry in std::fs::read_dir(folder.path()).expect("the folder").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a query");
        let status = text
            .lines()
            .find_map(|line| line.strip_prefix("(set-info :status ")?.strip_suffix(')'))
            .expect("the answer stands in the query");
        assert!(["sat", "unsat", "unknown"].contains(&status), "{status}");
        if let (Some(program), "sat" | "unsat") = (&program, status) {
            let output = Command::new(program).arg(entry.path()).output().expect("z3 runs");
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim(), status, "{}", entry.path().display());
        }
        answers[usize::from(status == "unsat")] += 1;
    }
    assert!(answers[0] > 0 && answers[1] > 0, "queries of both kinds: {answers:?}");
}

/// A kernel with a load of the lane's word, of its neighbour's, and of its own once more, and a
/// variable that it uses.
fn measured_kernel(name: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 a) {{
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [a]; cvta.to.global.u64 %rd1, %rd0;
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3]; ld.global.u32 %r2, [%rd3+4];
    st.shared.u32 [{name}_shared], %r1; st.shared.u32 [{name}_shared+4], %r2;
    ld.global.u32 %r3, [%rd3];
    st.shared.u32 [{name}_shared+8], %r3;
    ret;
}}
.shared .align 4 .b8 {name}_shared[16];
"
    )
}

const MEASURED: [&str; 3] = ["to_paper", "to_kept", "unknown"];

fn measured_module() -> String {
    let kernels: String = MEASURED.map(measured_kernel).concat();
    format!(".version 7.8\n.target sm_80\n.address_size 64\n{kernels}")
}

/// A profile of the first two kernels of a text, on a machine without a driver.
fn measured(text: &str) -> Consulted {
    let source = SourceFile::new("k.ptx", text);
    let module = parse(&source, Depth::All).expect("a module");
    let digests = Digests::new(&source, &module);
    let mut profile = Profile::default();
    for (kernel, strategy) in module.functions().zip([Strategies::PAPER, Strategies::NONE]) {
        profile.set(Entry {
            name: kernel.name.text.to_owned(),
            hash: digests.of(kernel),
            architecture: "sm_80".to_owned(),
            driver: "12.4".to_owned(),
            device: "Some GPU".to_owned(),
            strategy,
            file: String::new(),
            launch: String::new(),
            variants: Vec::new(),
        });
    }
    Consulted::new(profile, "p.json", || None)
}

/// The decisions about each kernel's loads.
fn decided(report: &Report) -> Vec<Vec<Decision>> {
    let of_kernel = |kernel: &ptxasw::report::KernelReport| {
        kernel.loads.iter().map(|load| load.decision).collect()
    };
    report.kernels.iter().map(of_kernel).collect()
}

#[test]
fn a_profile_decides_in_the_place_of_the_costs() {
    let [keep, reuse, shuffle] =
        [Decision::Keep, Decision::By(StrategyName::Reuse), Decision::By(StrategyName::Paper)];
    let text = measured_module();
    let rewritten = |text: &str, options: &Options| {
        let source = SourceFile::new("k.ptx", text);
        rewrite(&source, options).expect("a module")
    };
    let auto = [keep, keep, reuse];
    let plain = rewritten(&text, &Options::default());
    assert_eq!(decided(&plain.report), [auto, auto, auto]);
    let profile = Some(Arc::new(measured(&text)));
    let obeying = Options { profile: profile.clone(), ..Options::default() };
    let found = rewritten(&text, &obeying);
    assert_eq!(decided(&found.report), [[keep, shuffle, shuffle], [keep; 3], auto]);
    assert_eq!(found.report.warnings, [""; 0]);
    let by: Vec<_> = found.report.kernels.iter().map(|k| k.strategy.as_deref()).collect();
    assert_eq!(by, [Some("paper"), Some("original"), None]);
    for kernel in &found.report.kernels[..2] {
        let reason = kernel.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("on Some GPU (sm_80, CUDA 12.4)"), "{reason}");
    }
    // The text: each kernel as its strategy makes it.
    let paper = Options { kernel: Some("to_paper".to_owned()), ..Options::paper() };
    let of = |text: &str, name: &str| -> String {
        let body = text.split(&format!(".entry {name}(")).nth(1).expect("the kernel");
        body.split(".shared .align").next().expect("its end").to_owned()
    };
    let by_paper = rewritten(&text, &paper).text;
    assert_eq!(of(&found.text, "to_paper"), of(&by_paper, "to_paper"));
    assert_eq!(of(&found.text, "to_kept"), of(&text, "to_kept"));
    assert_eq!(of(&found.text, "unknown"), of(&plain.text, "unknown"));
    // Proofs are asked for as well.
    let source = SourceFile::new("k.ptx", text.as_str());
    let [proved, others] = judged(&source, &obeying);
    assert!(!proved.is_empty() && others.is_empty(), "{others:?}");
    // Over the costs alone: who asks for a strategy gets it.
    let asked = Options { profile, ..Options::paper() };
    assert_eq!(rewritten(&text, &asked).text, rewritten(&text, &Options::paper()).text);
    // What a kernel uses is part of it, what another one does is not.
    let other = text.replace("unknown_shared[16]", "unknown_shared[32]");
    assert_eq!(rewritten(&other, &obeying).report.warnings, [""; 0]);
    let changed = text.replace("to_kept_shared[16]", "to_kept_shared[32]");
    let found = rewritten(&changed, &obeying).report;
    assert_eq!(decided(&found), [[keep, shuffle, shuffle], auto, auto]);
    let expected = "p.json: not used for to_kept: the text has changed since it was measured";
    assert_eq!(found.warnings, [expected]);
    // One line for all kernels.
    let elsewhere = Options { architecture: Some(90), ..obeying };
    let found = rewritten(&text, &elsewhere).report;
    let expected = "p.json: not used for to_paper, to_kept: measured on sm_80 and not on sm_90";
    assert_eq!(found.warnings, [expected]);
}

/// `-lineinfo` makes no other kernel.
#[test]
fn the_hash_of_a_kernel_knows_no_lines() {
    let hash = |path: &str| {
        let source = SourceFile::new(path, read(path));
        let module = parse(&source, ptxasw::pipeline::REWRITABLE).expect("a module");
        let kernel = module.functions().next().expect("a kernel");
        Digests::new(&source, &module).of(kernel)
    };
    let plain = hash("ptx-samples/jacobi/jacobi.sm_80.ptx");
    assert_eq!(hash("ptx-samples/jacobi/jacobi.sm_80.lineinfo.ptx"), plain);
    assert_ne!(hash("ptx-samples/gaussblur/gaussblur.sm_80.ptx"), plain);
}

/// A function that is passed through as a whole still shows its loads, each with the reason.
#[test]
fn functions_left_as_they_are_report_their_loads() {
    let text = read("tests/cases/accept/atomic.ptx");
    let all = |text: String, limit: Option<usize>| {
        let mut options = Options { all_bodies: true, ..Options::paper() };
        options.limits.instructions = limit.unwrap_or(options.limits.instructions);
        let source = SourceFile::new("atomic.ptx", text);
        let result = rewrite(&source, &options).expect("a case that parses");
        assert!(limit.is_none() || result.text == source.text());
        result.report.kernels
    };
    let plain = all(text.clone(), None);
    for (kernels, reason) in [
        (all(text.clone(), Some(3)), "the limit is 3"),
        (all(text.replace(".version 7.4", ".version 6.1"), None), "needs 6.2"),
    ] {
        assert_eq!(kernels.len(), plain.len());
        for (kernel, plain) in kernels.iter().zip(&plain) {
            assert!(kernel.skipped.as_deref().is_some_and(|why| why.contains(reason)));
            let places = |k: &ptxasw::report::KernelReport| {
                k.loads.iter().map(|l| (l.line, l.register.clone(), l.bytes)).collect::<Vec<_>>()
            };
            assert_eq!(places(kernel), places(plain), "{}", kernel.name);
            assert_eq!(kernel.global_loads, plain.global_loads);
            assert!(
                kernel
                    .loads
                    .iter()
                    .all(|l| l.reason.as_deref().is_some_and(|w| w.contains(reason)))
            );
        }
    }
}
