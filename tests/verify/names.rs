//! Verdicts do not depend on how names are spelled.

use std::path::PathBuf;

use ptxasw::verify::Verdict;
use rayon::prelude::*;

use super::{common, validate};
use crate::common::respelled::respelled;
use crate::common::some;

/// The pairs, with all names of both files spelled like words of the language, get the verdicts of their folders.
#[test]
fn names_like_words_of_the_language_change_no_verdict() {
    let mut stems: Vec<(Verdict, PathBuf)> = Vec::new();
    for verdict in [Verdict::Equal, Verdict::Different, Verdict::Unknown] {
        let folder = common::root().join(format!("tests/verify/{verdict}"));
        let files = std::fs::read_dir(folder).expect("a folder of pairs");
        let files = files.map(|entry| entry.expect("an entry").path());
        let originals = files.filter(|path| path.with_extension("rewritten.ptx").exists());
        stems.extend(
            originals
                .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
                .map(|path| (verdict, path)),
        );
    }
    // (Malformed files do not declare each name once.)
    stems.retain(|(_, path)| !path.display().to_string().contains("malformed"));
    stems.sort();
    let chosen: Vec<(usize, (Verdict, PathBuf))> = some(stems.into_iter().enumerate().collect(), 0);
    let found: Vec<Option<String>> = chosen
        .par_iter()
        .map(|(number, (verdict, path))| {
            let name = path.display().to_string();
            let texts =
                [path.clone(), path.with_extension("rewritten.ptx")].map(|one| common::read(&one));
            let [original, rewritten] = respelled([&texts[0], &texts[1]], *number)?;
            let found = validate(&name, &original, &rewritten);
            Some(if found.verdict == *verdict {
                String::new()
            } else {
                format!("{name}: {found}\n{original}")
            })
        })
        .collect();
    let tried = found.iter().flatten().count();
    assert!(2 * tried > chosen.len(), "only {tried} pairs of {}", chosen.len());
    let wrong: Vec<String> = found.into_iter().flatten().filter(|one| !one.is_empty()).collect();
    common::report(&wrong, "A name is an entity, not a word.");
}
