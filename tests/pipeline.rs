//! The pipeline as a whole: what it gives does not depend on threads, and every query that the solver
//! was asked can be asked again, of another solver.

#![expect(clippy::disallowed_methods, reason = "another solver is another process")]

use std::path::Path;
use std::process::Command;

use ptxasw::expr::{Arena, FunctionId, SymbolId};
use ptxasw::pipeline::{Options, rewrite, rewrite_proved};
use ptxasw::rewrite::Mode;
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

#[test]
fn what_is_not_proved_is_not_used() {
    let text = read("ptx-samples/jacobi/jacobi.sm_80.ptx");
    let source = SourceFile::new("jacobi.ptx", text.as_str());
    let options = Options::paper();
    let plain = rewrite(&source, &options).expect("a module");
    let proved = rewrite_proved(&source, &options).expect("a module");
    assert!(proved.text == plain.text && proved.text != text, "a proof is missing");
    assert_eq!(proved.report, plain.report);
    let wrong = Options { mode: Mode::NoCorner, ..options };
    let refused = rewrite_proved(&source, &wrong).expect("a module");
    assert!(refused.text == text, "a wrong rewrite was used");
    let reason = refused.report.kernels[0].skipped.as_deref().unwrap_or_default();
    assert!(reason.starts_with("the rewrite was not proved: "), "{reason}");
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
    // What is refuted in these files is refuted by samples, before the solver is asked.
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
