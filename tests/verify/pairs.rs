//! The pairs of kernels in this folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ptxasw::interp::{self, Outcome};
use ptxasw::launch::Launch;
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use ptxasw::verify::{Verdict, Verification};
use rayon::prelude::*;
use serde_json::json;

use super::{common, validate};

/// A pair and what its folder says of it.
struct Pair {
    verdict: Verdict,
    original: PathBuf,
    rewritten: PathBuf,
    expectation: PathBuf,
}

fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for verdict in [Verdict::Equal, Verdict::Different, Verdict::Unknown] {
        let folder = PathBuf::from(format!("tests/verify/{verdict}"));
        let entries = std::fs::read_dir(common::root().join(&folder)).expect("a folder of pairs");
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
            .collect();
        names.sort();
        let stems = names.iter().filter_map(|name| name.strip_suffix(".rewritten.ptx"));
        pairs.extend(stems.map(|stem| Pair {
            verdict,
            original: folder.join(format!("{stem}.ptx")),
            rewritten: folder.join(format!("{stem}.rewritten.ptx")),
            expectation: folder.join(format!("{stem}.txt")),
        }));
        let alone = names.iter().filter(|name| name.ends_with(".ptx")).count();
        assert_eq!(alone % 2, 0, "{}: a kernel without its partner", folder.display());
    }
    assert!(pairs.len() >= 180, "only {} pairs", pairs.len());
    pairs
}

/// The names and both texts of the pairs with other verdicts than `equal`.
pub(super) fn not_equal() -> Vec<(String, String, String)> {
    let others = pairs().into_iter().filter(|pair| pair.verdict != Verdict::Equal);
    let read = |pair: Pair| {
        let name = pair.original.to_string_lossy().into_owned();
        (name, common::read(&pair.original), common::read(&pair.rewritten))
    };
    others.map(read).collect()
}

/// What stays the same whatever z3 finds first: verdict and reasons.
fn summary(found: &Verification) -> String {
    let mut text = format!("{}\n", found.verdict);
    let inner = found.functions.iter().flat_map(|function| &function.problems);
    for problem in inner.chain(&found.problems) {
        text += &problem.reason;
        for (what, line) in [("line", problem.line), ("original line", problem.original_line)] {
            text += &line.map_or(String::new(), |line| format!(", {what} {line}"));
        }
        text += "\n";
    }
    text
}

#[test]
fn every_pair_gets_the_verdict_of_its_folder() {
    #[expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]
    let blessing = std::env::var_os("BLESS").is_some();
    let failures: Vec<String> = pairs()
        .par_iter()
        .filter_map(|pair| {
            let name = pair.original.to_string_lossy();
            let found =
                validate(&name, &common::read(&pair.original), &common::read(&pair.rewritten));
            let summary = summary(&found);
            if found.verdict != pair.verdict {
                return Some(format!("{name}: {summary}"));
            }
            if blessing {
                std::fs::write(common::root().join(&pair.expectation), summary).expect("written");
                return None;
            }
            let expected = common::read(&pair.expectation);
            (expected != summary).then(|| format!("{name}: {summary}expected: {expected}"))
        })
        .collect();
    common::report(&failures, "`ptxasw verify A.ptx A.rewritten.ptx` says more.");
}

/// Launches that any kernel with two pointers and a number takes. Those in which a loop counts to
/// the largest number end at the limit, which does not count as a run.
static LAUNCHES: LazyLock<Vec<Launch>> = LazyLock::new(|| {
    let numbers = [1_u32, 3, 77, 65_500, 0xffff_ffd5];
    let shapes = [[32, 2, 2], [31, 1, 1], [64, 1, 1], [16, 4, 1], [33, 1, 1], [128, 1, 1]];
    let mut all = Vec::new();
    for shape in shapes {
        for number in numbers {
            let text = json!({
                "grid": [2], "block": shape, "limit": 1_000_000, "dynamic_shared": 4096,
                "buffers": {
                    "a": {"type": "u32", "len": 66_000, "fill": "random", "seed": 1},
                    "b": {"type": "u32", "len": 140_000, "fill": 0},
                },
                "args": [
                    {"buffer": "a", "offset": 256},
                    {"buffer": "b", "offset": 256},
                    {"type": "u32", "value": number},
                ],
            });
            all.push(Launch::from_json(&text.to_string()).expect("a launch"));
        }
    }
    all
});

/// The buffers behind a launch, or the fault that ended it.
fn buffers(file: &Path, launch: &Launch) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let text = common::read(file);
    let source = SourceFile::new(file.to_string_lossy(), text);
    let module = ptx::parse(&source, Depth::All).map_err(|error| error.to_string())?;
    let Outcome { buffers, .. } =
        interp::run(&module, launch).map_err(|fault| fault.diagnostic(&source).to_string())?;
    Ok(buffers.into_iter().map(|(name, buffer)| (name, buffer.bytes)).collect())
}

/// For each launch in which the original runs, what the rewritten kernel does otherwise.
fn replay<'p>(
    pair: &'p Pair,
    launches: impl IntoIterator<Item = &'p Launch>,
) -> impl Iterator<Item = Option<String>> {
    launches.into_iter().filter_map(|launch| {
        let expected = buffers(&pair.original, launch).ok()?;
        let found = buffers(&pair.rewritten, launch);
        let why = match found {
            Ok(found) if found == expected => return Some(None),
            Ok(_) => "other buffers".to_owned(),
            Err(fault) => fault,
        };
        Some(Some(format!("{:?} {:?}: {why}", launch.block, launch.args)))
    })
}

/// (A short run takes a share of the launches, another one for each pair; all where the original runs in none of them.)
#[test]
fn what_is_proved_equal_computes_the_same() {
    let pairs: Vec<Pair> = pairs().into_iter().filter(|p| p.verdict == Verdict::Equal).collect();
    let failures: Vec<String> = pairs
        .par_iter()
        .enumerate()
        .filter_map(|(number, pair)| {
            let some = common::some(LAUNCHES.iter().collect(), number as u64);
            let mut runs: Vec<Option<String>> = replay(pair, some).collect();
            if runs.is_empty() {
                runs = replay(pair, &*LAUNCHES).collect();
            }
            let name = pair.original.display();
            match runs.iter().flatten().next() {
                Some(first) => Some(format!("{name}: {first}")),
                None => runs.is_empty().then(|| format!("{name}: no launch is valid")),
            }
        })
        .collect();
    common::report(&failures, "The proof is wrong, or the interpreter is.");
}

#[test]
fn what_is_said_to_differ_differs() {
    let pairs: Vec<Pair> =
        pairs().into_iter().filter(|p| p.verdict == Verdict::Different).collect();
    let failures: Vec<String> = pairs
        .par_iter()
        .filter(|pair| !replay(pair, &*LAUNCHES).any(|difference| difference.is_some()))
        .map(|pair| format!("{}: no launch shows a difference", pair.original.display()))
        .collect();
    common::report(&failures, "The counterexample is none, or the launches do not reach it.");
}
