//! What our own rewriter makes of the samples and of the accepted cases: equal, and its two
//! measuring modes, which compute something else, are not.

use std::path::{Path, PathBuf};

use ptxasw::pipeline::{Options, rewrite};
use ptxasw::rewrite::Mode;
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, verify};
use rayon::prelude::*;

use super::{common, validate};

/// Files that are rewritten: the samples for one target, and the accepted cases.
pub(super) fn files() -> Vec<PathBuf> {
    let root = common::root();
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root.join(folder)).expect("a folder");
        entries.map(|entry| folder.join(entry.expect("an entry").file_name())).collect()
    };
    let of_samples = list(Path::new("ptx-samples"))
        .into_iter()
        .flat_map(|folder| if root.join(&folder).is_dir() { list(&folder) } else { Vec::new() });
    let mut files: Vec<PathBuf> = of_samples
        .filter(|file| file.to_string_lossy().ends_with(".sm_80.ptx"))
        .chain(list(Path::new("tests/cases/accept")))
        .collect();
    files.sort();
    assert!(files.len() > 40, "only {} files", files.len());
    files
}

fn rewritten(name: &str, text: &str, mode: Mode) -> String {
    let source = SourceFile::new(name, text);
    let options = Options { mode, ..common::header::options_of(text) };
    rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}")).text
}

#[test]
fn every_rewrite_of_ours_is_proved() {
    let failures: Vec<String> = files()
        .par_iter()
        .filter_map(|file| {
            let (name, text) = (file.to_string_lossy(), common::read(file));
            let found = validate(&name, &text, &rewritten(&name, &text, Mode::Full));
            (found.verdict != Verdict::Equal).then(|| format!("{name}:\n{found}"))
        })
        .collect();
    common::report(&failures, "A rewrite without proof.");
}

/// The rewrites of a file that are numbered `first` to `last` are right without the others: no vector of stores stands
/// without the test that another group would have brought.
#[test]
fn parts_of_a_choice_are_proved() {
    let is_grouped = |file: &PathBuf| {
        let name = file.to_string_lossy();
        ["accept/batch", "accept/promote", "accept/wide"].iter().any(|one| name.contains(one))
    };
    let some: Vec<PathBuf> = common::some(files().into_iter().filter(is_grouped).collect(), 0);
    let checked: Vec<(String, Verdict)> = some
        .par_iter()
        .flat_map_iter(|file| {
            let (name, text) = (file.to_string_lossy().into_owned(), common::read(file));
            let source = SourceFile::new(&name, text.as_str());
            let part = |(first, last): (usize, usize)| {
                let (first_shuffle, last_shuffle) = (Some(first), Some(last));
                let of_case = common::header::options_of(&text);
                let options = Options { first_shuffle, last_shuffle, ..of_case };
                let found = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
                (format!("{name} {first} to {last}"), found.text)
            };
            let windows = (1..8).flat_map(|first| [(first, first), (first, usize::MAX)]);
            let parts = windows.map(part).filter(|(_, part)| *part != text);
            let judged = parts.map(|(what, part)| (what, verdict(&name, &text, &part)));
            judged.collect::<Vec<_>>()
        })
        .collect();
    assert!(checked.len() as u64 > common::share(100), "only {} parts", checked.len());
    let failures: Vec<String> = checked
        .into_iter()
        .filter(|(_, verdict)| *verdict != Verdict::Equal)
        .map(|(name, _)| name)
        .collect();
    common::report(&failures, "A part of a rewrite without proof.");
}

/// Kernels with more shuffles tell nothing new here, and what cannot be proved takes longest.
const FEW_SHUFFLES: usize = 8;

/// The verdict after a part of the usual effort: a wrong proof needs no query, or few.
fn verdict(name: &str, original: &str, rewritten: &str) -> Verdict {
    let effort = Effort { solver_limit: 20_000, queries: 8, ..Effort::default() };
    let (before, after) = (SourceFile::new(name, original), SourceFile::new(name, rewritten));
    verify(&before, &after, &effort).unwrap_or_else(|error| panic!("{error}")).verdict
}

#[test]
fn no_measuring_mode_is_proved() {
    let checked: Vec<(String, Verdict)> = common::some(files(), 0)
        .par_iter()
        .flat_map_iter(|file| {
            let (name, text) = (file.to_string_lossy().into_owned(), common::read(file));
            let full = rewritten(&name, &text, Mode::Full);
            let few = full.matches("shfl.sync").count() <= FEW_SHUFFLES;
            [Mode::NoLoad, Mode::NoCorner]
                .map(|mode| (mode, rewritten(&name, &text, mode)))
                .into_iter()
                // A value that the lane has itself needs no corner case.
                .filter(|(mode, other)| {
                    *other != full && *other != text && (few || *mode == Mode::NoLoad)
                })
                .map(|(mode, other)| (format!("{name} {mode:?}"), verdict(&name, &text, &other)))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(checked.len() as u64 > common::share(60), "only {} files differ", checked.len());
    let proved: Vec<String> = checked
        .into_iter()
        .filter(|(_, verdict)| *verdict == Verdict::Equal)
        .map(|(name, _)| name)
        .collect();
    common::report(&proved, "These leave out effects of the original.");
}
