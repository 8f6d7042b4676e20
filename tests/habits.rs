//! Habits of writing that make sentences hard to read: relative clauses as subjects, numbers without names, nouns that are negated in the
//! place of verbs, metaphors in the place of terms. Counted in comments, messages and pages; the file of `LIMITS` has the limit of
//! each, which may only go down: `BLESS=1 cargo test --test main habits::` lowers the limits to what is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::common::root;

const LIMITS: &str = "tests/habits.txt";

/// The habits, each with a pattern for it in lower case, and what to write.
const HABITS: [(&str, &str); 7] = [
    ("what-is", r"(?-u)\bwhat (is|it|they)\b"),
    ("what-noun", r"(?-u)\bwhat (an?|the) [a-z]+ (is|are|has|have|does|do)\b"),
    ("is-no", r"(?-u)\bis no [a-z]"),
    ("so-many", r"(?-u)\bso many\b"),
    ("of-which", r"(?-u)\bof (which|whom)\b"),
    ("goes-round", r"(?-u)\bgo(es)? (a)?round\b"),
    ("stands-twice", r"(?-u)\bstands? twice\b"),
];

/// Where prose is, each with a name: a limit is that of a place.
const PLACES: [(&str, &str); 6] = [
    ("readme", "README.md"),
    ("contributing", "CONTRIBUTING.md"),
    ("changelog", "CHANGELOG.md"),
    ("docs", "docs"),
    ("src", "src"),
    ("tests", "tests"),
];

/// The prose of a file in one line: of Rust, everything, since no code looks like a sentence; line breaks in comments are spaces.
fn prose(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default().to_lowercase();
    let comment = Regex::new(r"(?-u)\n\s*(//[/!]?)?\s*").expect("a pattern");
    let text = comment.replace_all(&text, " ");
    // `there is no file` is plain English.
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("there is no ", "there's no ")
}

fn below(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("the folder can be read") {
            below(&entry.expect("an entry").path(), found);
        }
    } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "md")
        // This file names the habits.
        && !path.ends_with("tests/habits.rs")
    {
        found.push(prose(path));
    }
}

/// Occurrences by place and habit.
fn counts() -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (place, path) in PLACES {
        let mut texts = Vec::new();
        below(&root().join(path), &mut texts);
        assert!(!texts.is_empty(), "{path} has no prose");
        for (habit, pattern) in HABITS {
            let pattern = Regex::new(pattern).expect("a pattern");
            let count = texts.iter().map(|text| pattern.find_iter(text).count()).sum();
            counts.insert(format!("{place} {habit}"), count);
        }
    }
    counts
}

/// The limits, by place and habit.
fn limits() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join(LIMITS)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    lines.map(|(name, count)| (name.to_owned(), count.parse().expect("a number"))).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]
fn habits_become_rarer() {
    let (counts, limits) = (counts(), limits());
    if std::env::var_os("BLESS").is_some() {
        let lowered = |(name, count): (&String, &usize)| {
            let limit = limits.get(name).map_or(*count, |limit| *limit.min(count));
            format!("{name} {limit}\n")
        };
        let text: String = counts.iter().map(lowered).collect();
        fs::write(root().join(LIMITS), text).expect("it can be written");
        return;
    }
    let over: Vec<String> = counts
        .iter()
        .filter(|(name, count)| **count > limits.get(*name).copied().unwrap_or(0))
        .map(|(name, count)| {
            format!("{name}: {count}, at most {}", limits.get(name).copied().unwrap_or(0))
        })
        .collect();
    assert!(over.is_empty(), "write these sentences otherwise:\n{}", over.join("\n"));
}

#[test]
fn habits_are_recognised() {
    let found = |text: &str| -> Vec<&str> {
        let is_meant = |pattern: &str| Regex::new(pattern).expect("a pattern").is_match(text);
        HABITS.iter().filter(|(_, pattern)| is_meant(pattern)).map(|(name, _)| *name).collect()
    };
    assert_eq!(found("what is accessed is no hole"), ["what-is", "is-no"]);
    assert_eq!(found("what a kernel has takes so many lanes"), ["what-noun", "so-many"]);
    assert_eq!(
        found("a value that goes round, of which it stands twice"),
        ["of-which", "goes-round", "stands-twice"]
    );
    assert_eq!(found("an input's shape must be constant"), [""; 0]);
}
