//! The judge undoes versions of code before it compares two kernels: after each pass they compute the same as before it, to
//! the bit.
//!
//! `tests/undone.txt` lists the files in which a pass changes something, each with the pass and the number of launches that
//! are compared: cases that the rewriter changes, and the judge's pairs of whatever verdict. `BLESS=1` writes it.

use std::path::{Path, PathBuf};

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::pipeline::rewrite;
use ptxasw::planted::{self, Bug, Set};
use ptxasw::ptx::{self, Depth, FunctionKind};
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, steps, verify};
use rayon::prelude::*;

use crate::common::header::options_of;
use crate::common::noticed::assert_noticed;
use crate::differential::launch;

const LIST: &str = "tests/undone.txt";

/// Blocks of a half warp, of a few whole ones, and of rows that are none.
const BLOCKS: [[u32; 3]; 4] = [[16, 1, 1], [64, 1, 1], [128, 1, 1], [24, 2, 1]];
const COUNTS: [i32; 2] = [3, 26];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(stem: &str, ending: &str) -> SourceFile {
    let name = format!("{stem}{ending}.ptx");
    let text = std::fs::read_to_string(root().join(&name));
    SourceFile::new(name.as_str(), text.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A pair of the judge's, or a case with what the rewriter makes of it.
fn texts(stem: &str, bug: Option<Bug>) -> [SourceFile; 2] {
    let original = read(stem, "");
    let rewritten = match stem.starts_with("tests/cases") {
        false => read(stem, ".rewritten"),
        true => {
            let result = planted::with(bug, || rewrite(&original, &options_of(original.text())));
            SourceFile::new("rewritten.ptx", result.unwrap_or_else(|error| panic!("{error}")).text)
        }
    };
    [original, rewritten]
}

/// How many launches of two texts compute the same, and the first difference. Launches in which the
/// original faults, where its threads race as well, say nothing.
fn compared(
    original: &SourceFile,
    before: &SourceFile,
    after: &SourceFile,
) -> (usize, Option<String>) {
    let parse = |source| ptx::parse(source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let [first, old, new] = [original, before, after].map(parse);
    let mut same = 0;
    for kernel in first.functions().filter(|one| one.kind == FunctionKind::Entry) {
        let fixed = kernel.extents("reqntid").map(|extents| extents.map(|one| one as u32));
        let blocks = fixed.map_or_else(|| BLOCKS.to_vec(), |block| vec![block]);
        let launches = blocks.iter().flat_map(|block| COUNTS.map(|count| (*block, count)));
        for (block, count) in launches {
            let Some(launch) = launch(original, kernel, block, count) else { continue };
            if interp::run(&first, &launch).is_err() {
                continue;
            }
            let launch = Launch { limit: 20 * launch.limit, ..launch };
            let Ok(expected) = interp::run(&old, &launch) else { continue };
            let why = match interp::run(&new, &launch) {
                Ok(found) if found.buffers == expected.buffers => {
                    same += 1;
                    continue;
                }
                Ok(_) => "other buffers".to_owned(),
                Err(fault) => fault.to_string(),
            };
            let name = kernel.name.text;
            return (same, Some(format!("{name} in {block:?}, n = {count}: {why}")));
        }
    }
    (same, None)
}

/// The passes that change a file, each with the number of launches compared, and the differences.
fn passes(mut texts: [SourceFile; 2]) -> (Vec<(&'static str, usize)>, Vec<String>) {
    let (mut found, mut complaints) = (Vec::new(), Vec::new());
    let original = texts[0].clone();
    for (pass, next) in steps(&texts[0], &texts[1]) {
        let mut count = 0;
        for (before, after) in texts.iter().zip(&next).filter(|(a, b)| a.text() != b.text()) {
            let (same, difference) = compared(&original, before, after);
            count += same;
            complaints.extend(difference.map(|why| format!("{pass}: {}, {why}", original.name())));
        }
        found.push((pass, count));
        texts = next;
    }
    (found, complaints)
}

/// All cases and pairs.
fn stems() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["cases/accept", "verify/equal", "verify/different", "verify/unknown"] {
        let folder = format!("tests/{folder}");
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(stem) = name.strip_suffix(".ptx").filter(|stem| !stem.contains('.')) {
                found.push(format!("{folder}/{stem}"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_pass_leaves_computes_the_same() {
    let listed = std::fs::read_to_string(root().join(LIST)).expect("the list");
    let stems = stems();
    let found: Vec<_> = stems.par_iter().map(|stem| passes(texts(stem, None))).collect();
    let mut lines = String::new();
    for (stem, (passes, _)) in stems.iter().zip(&found) {
        passes.iter().for_each(|(pass, count)| lines += &format!("{stem} {pass} {count}\n"));
    }
    let complaints: Vec<String> =
        found.into_iter().flat_map(|(_, complaints)| complaints).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    #[expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(root().join(LIST), &lines).expect("written");
    }
    assert_eq!(lines, listed);
}

/// Whether a mistake of the judge's shows: kernels compute something else after a pass, or a pair is called equal that does.
fn is_noticed(bug: Bug, texts: [SourceFile; 2]) -> bool {
    if bug != Bug::UndoneOtherActions {
        return planted::with(bug, || !passes(texts).1.is_empty());
    }
    let [original, rewritten] = &texts;
    let judged = planted::with(bug, || verify(original, rewritten, &Effort::default()));
    judged.is_ok_and(|judged| judged.verdict == Verdict::Equal)
        && compared(original, original, rewritten).1.is_some()
}

/// Pairs and cases, and cases that the rewriter changes wrongly, as a file or a file and a mistake.
#[test]
fn planted_mistakes_of_the_passes_are_noticed() {
    let about_versions = |bug: &Bug| {
        let name = format!("{bug:?}");
        name.starts_with("Tree") || name.starts_with("Promoted")
    };
    let wrong: Vec<Bug> = Bug::of(Set::Strategies).into_iter().filter(about_versions).collect();
    let mut places: Vec<(String, Option<Bug>)> =
        stems().into_iter().map(|stem| (stem, None)).collect();
    for case in ["tree", "promote", "promote_exits"] {
        let stem = format!("tests/cases/accept/{case}");
        places.extend(wrong.iter().map(|bug| (stem.clone(), Some(*bug))));
    }
    let names: Vec<String> = places
        .iter()
        .map(|(stem, bug)| {
            format!("{stem}{}", bug.map_or(String::new(), |bug| format!(" {bug:?}")))
        })
        .collect();
    assert_noticed("undone", &Bug::of(Set::Undo), &names, |bug, place| {
        let (stem, of_rewriter) = &places[place];
        is_noticed(bug, texts(stem, *of_rewriter))
    });
}
