//! Takes loads that are rewritten, changes one detail that makes the rewrite wrong, and expects that exactly this load
//! is not taken from there any more, for the right reason. Changes that are harmless must change nothing.

mod changes;

use crate::affine_kernels as affine;
use std::collections::BTreeMap;
use std::path::Path;

use affine::emit::emit;
use affine::kernel::Kernel;
use changes::{CHANGES, Change, Verdict};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::report::{Decision, LoadReport};
use ptxasw::select::StrategyName;
use ptxasw::source::SourceFile;
use rayon::prelude::*;

const SAMPLES: [&str; 6] =
    ["divergence", "gameoflife", "jacobi", "laplacian", "wave13pt", "whispering"];
/// Seeds of random kernels; those without a covered load do not count.
const SEEDS: u64 = 60;
/// Random kernels that are changed.
const RANDOM: usize = 34;

/// A load that is covered as long as nothing is changed.
struct Subject {
    name: String,
    text: String,
    load: LoadReport,
}

fn loads(name: &str, text: &str) -> Vec<LoadReport> {
    let source = SourceFile::new(name, text);
    let options = Options { all_bodies: true, ..Options::paper() };
    let result = rewrite(&source, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for kernel in &result.report.kernels {
        assert_eq!(kernel.skipped, None, "{name}");
    }
    result.report.kernels.into_iter().flat_map(|kernel| kernel.loads).collect()
}

/// One covered load of a text, if it has any.
fn subject(name: String, text: String) -> Option<Subject> {
    let covered: Vec<LoadReport> = loads(&name, &text)
        .into_iter()
        .filter(|load| load.decision == Decision::By(StrategyName::Paper))
        .collect();
    let load = covered.get(covered.len() / 2)?.clone();
    Some(Subject { name, text, load })
}

fn subjects() -> Vec<Subject> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-samples");
    let samples = SAMPLES.par_iter().map(|sample| {
        let file = root.join(sample).join(format!("{sample}.sm_80.ptx"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        subject((*sample).to_owned(), text).expect("a covered load in the sample")
    });
    let random: Vec<Subject> = (0..SEEDS)
        .into_par_iter()
        .filter_map(|seed| subject(format!("seed {seed}"), emit(&Kernel::random(seed)).ptx))
        .collect();
    assert!(random.len() >= RANDOM, "only {} random kernels have a covered load", random.len());
    samples.collect::<Vec<_>>().into_iter().chain(random.into_iter().take(RANDOM)).collect()
}

impl Subject {
    /// The mistake in the decision after a change, as an error; `None` if the change does not apply.
    fn check(&self, change: &Change) -> Option<Result<(), String>> {
        let source = self.load.source_line.expect("a covered load has a source");
        let changed = changes::apply(change, &self.text, source, self.load.line)?;
        let found = loads(&self.name, &changed.text);
        let load = found
            .iter()
            .find(|load| load.line == changed.load)
            .unwrap_or_else(|| panic!("{}: no load at line {}", self.name, changed.load));
        let reason = load.reason.as_deref().unwrap_or_default();
        let right = match changed.verdict {
            Verdict::Kept(expected) => load.decision == Decision::Keep && reason.contains(expected),
            Verdict::NotFromThere => load.source_line != Some(changed.source),
            Verdict::Behind(guard) => {
                let guards = load.guards.iter().flatten();
                load.source_line != Some(changed.source) || guards.into_iter().any(|g| g == guard)
            }
            Verdict::AsBefore => {
                load.source_line == Some(changed.source)
                    && load.delta == self.load.delta
                    && load.guards == self.load.guards
            }
        };
        let complaint = || {
            let name = &self.name;
            format!(
                "{name}, {}: expected {:?}, got {load:?}\n{}",
                change.name, changed.verdict, changed.text
            )
        };
        Some(if right { Ok(()) } else { Err(complaint()) })
    }
}

#[test]
fn one_wrong_detail_refuses_the_load() {
    let subjects = subjects();
    let trials: Vec<(&Change, &Subject)> =
        CHANGES.iter().flat_map(|change| subjects.iter().map(move |s| (change, s))).collect();
    let results: Vec<_> =
        trials.par_iter().map(|(change, subject)| (change.name, subject.check(change))).collect();
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut complaints = Vec::new();
    for (name, result) in results {
        let (tried, right) = table.entry(name).or_default();
        let Some(result) = result else { continue };
        *tried += 1;
        match result {
            Ok(()) => *right += 1,
            Err(complaint) => complaints.push(complaint),
        }
    }
    println!("{:40} tried right", "change");
    for (name, (tried, right)) in &table {
        println!("{name:40} {tried:5} {right:5}");
        assert!(*tried >= 5, "{name} applies to {tried} loads only");
    }
    assert!(complaints.is_empty(), "{} of them\n{}", complaints.len(), complaints.join("\n"));
}
