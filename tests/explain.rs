//! Every reason why a load is kept can be looked up by the name that messages give it, and one sentence says
//! what was done with a file.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::header::options_of;
use crate::common::rules;
use ptxasw::lint::Rule;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::report::{Cost, FUNCTION_LEFT};
use ptxasw::source::SourceFile;
use ptxasw::strategies::StrategyName;
use rayon::prelude::*;
use strum::IntoEnumIterator;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the file is there")
}

fn ptxasw(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptxasw")).args(arguments).output().expect("it runs")
}

/// The rules of refusals, that of functions that are left as they are, and the rules of `lint`.
fn rules() -> BTreeSet<String> {
    let names = rules::REASONS.into_iter().flat_map(|file| rules::of(&read(file)));
    let of_lint = Rule::iter().map(|rule| rule.name().to_owned());
    names.chain([FUNCTION_LEFT.to_owned()]).chain(of_lint).collect()
}

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let output = ptxasw(&["explain"]);
    let pages: BTreeSet<String> =
        String::from_utf8(output.stdout).expect("a text").lines().map(str::to_owned).collect();
    assert!(pages.len() > 20, "{pages:?}");
    let words = strategies();
    // One word is a rule and a strategy.
    let known: BTreeSet<String> = rules().union(&words).chain(printed().iter()).cloned().collect();
    assert_eq!(pages, known, "pages, and words that are printed");
    for rule in pages {
        let output = ptxasw(&["explain", &rule]);
        let text = String::from_utf8(output.stdout).expect("a text");
        assert!(output.status.success() && text.starts_with(&rule), "{rule}: {text}");
        assert!(text.len() > rule.len() + 40 && !text.contains("##"), "{rule}: {text}");
    }
}

/// The words of strategies: on the command line, and for their decisions.
fn strategies() -> BTreeSet<String> {
    let facts = StrategyName::iter().map(StrategyName::facts);
    let words = facts.flat_map(|facts| [facts.word, facts.decision]);
    words.chain(["auto", "none", "original", "keep"]).map(str::to_owned).collect()
}

/// The first words of the checks at run time, and what stands between backticks in sentences about kernels: of all files of
/// `tests/cases`. Names and instructions of the kernel itself are left out.
fn printed() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let cases = cases();
    let reports: Vec<_> = cases
        .par_iter()
        .map(|(name, text)| {
            let options = Options { all_bodies: true, ..options_of(text) };
            let source = SourceFile::new(name.as_str(), text.as_str());
            (text, rewrite(&source, &options).map(|done| done.report))
        })
        .collect();
    for (text, report) in reports {
        let Ok(report) = report else { continue };
        for kernel in &report.kernels {
            let of_loads = kernel.loads.iter().chain(&kernel.stores).flat_map(|load| &load.guards);
            let of_collectives = kernel.collectives.iter().flat_map(|one| &one.guards);
            for guards in of_loads.chain(of_collectives) {
                let words = guards.iter().filter_map(|guard| guard.split([' ', ':']).next());
                found.extend(words.map(str::to_owned));
            }
            let code = |sentence: String| -> Vec<String> {
                sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect()
            };
            let sentences = [kernel.sentence()]
                .into_iter()
                .chain(kernel.collectives.iter().map(|one| one.sentence()))
                .chain(kernel.arrays.iter().map(|array| array.sentence()))
                .chain(kernel.loads.iter().filter_map(|load| load.reason.clone()));
            let is_ours = |word: &String| {
                let letters = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                letters && !text.contains(word.as_str())
            };
            found.extend(sentences.flat_map(code).filter(is_ours));
        }
    }
    assert!(found.contains("whole-warp") && found.contains("no-partner"), "{found:?}");
    found
}

/// The names and texts of the files of `tests/cases`.
fn cases() -> Vec<(String, String)> {
    let folders = ["tests/cases/accept", "tests/cases/refuse"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).expect("it is there"));
    let paths = files.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|kind| kind == "ptx"));
    paths
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("a text")))
        .collect()
}

#[test]
fn remarks_spell_names_otherwise() {
    let (one, other) =
        (ptxasw(&["explain", "MayHaveChanged"]), ptxasw(&["explain", "may-have-changed"]));
    assert!(one.status.success());
    assert_eq!(one.stdout, other.stdout);
    let none = ptxasw(&["explain", "may-have-change"]);
    let message = String::from_utf8(none.stderr).expect("a text");
    assert_eq!(none.status.code(), Some(2));
    assert!(message.contains("`may-have-changed`"), "{message}");
    let unlike = String::from_utf8(ptxasw(&["explain", "nosuch"]).stderr).expect("a text");
    assert!(unlike.contains("lists all names") && !unlike.contains("mean"), "{unlike}");
}

/// The names in what `candidates` prints of a sample, and in its sentence, can be looked up.
#[test]
fn messages_lead_to_pages() {
    for (sample, expected) in [
        (
            "jacobi",
            "9 global loads: 8 could come from other lanes, but on sm_80 that does not pay \
             (`does-not-pay`: COST); 1 stays as it is (`no-partner`)",
        ),
        (
            "rowwise",
            "3 global loads: 2 are replaced (`reuse`: COST); 1 stays as it is (`no-partner`)",
        ),
    ] {
        let file =
            format!("{}/ptx-samples/{sample}/{sample}.sm_80.ptx", env!("CARGO_MANIFEST_DIR"));
        let source = SourceFile::new(sample, fs::read_to_string(&file).expect("the sample"));
        let report = rewrite(&source, &Options::default()).expect("it parses").report;
        // The costs are those of the loads.
        let costs = report.kernels.iter().flat_map(|kernel| &kernel.loads);
        let costs: Vec<_> = costs.filter_map(|load| load.cost).collect();
        let sum =
            |each: fn(&Cost) -> f64| (costs.iter().map(each).sum::<f64>() * 100.0).round() / 100.0;
        let (strategy, load) = (sum(|cost| cost.strategy), sum(|cost| cost.load));
        assert!(strategy > 0.0 && load > 0.0);
        let cost = format!("{strategy} cycles against {load}");
        assert_eq!(report.sentence(), expected.replace("COST", &cost));
        let output = ptxasw(&["candidates", &file]);
        let text = String::from_utf8(output.stdout).expect("a text");
        let last = text.lines().last().expect("a line");
        let names = last.strip_prefix("`ptxasw explain RULE` says more of ").expect(&text);
        for name in names.split(", ") {
            assert!(rules().contains(name), "{name}");
        }
    }
}

/// The log says it of each file that is assembled.
#[test]
fn the_log_says_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx-samples/rowwise/rowwise.sm_80.ptx");
    let output = folder.path().join("out");
    // It writes down its calls beside itself.
    let fake = folder.path().join("ptxas");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrapper/fake-ptxas"), &fake)
        .expect("it is there");
    let called = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .args(["ptxas", "--", "-arch=sm_80", input, "-o"])
        .arg(&output)
        .env("PTXASW_PTXAS", &fake)
        .env("PTXASW_LOG", "info")
        // (The fake makes no machine code whose cycles could be compared.)
        .env("PTXASW_CHECK", "off")
        .output()
        .expect("it runs");
    let log = String::from_utf8(called.stderr).expect("a text");
    assert!(log.contains("3 global loads: 2 are replaced (`reuse`: "), "{log}");
    assert!(log.contains("`ptxasw explain no-partner`"), "{log}");
}
