//! The parser and the grammar in `grammar/*.pest` read the same: every piece of every text of the repository, and pieces
//! with mistakes. Both accept or both refuse; where both accept, they see the same statements, operands, names and
//! constants at the same places (`tests/grammar/events.rs`).
//!
//! The parser may also refuse what the grammar accepts, for the value of something: a number that is out of range.

mod events;

use std::path::{Path, PathBuf};

use pest::Parser as _;
use ptxasw::ptx::piece;
use ptxasw::source::Span;
use rayon::prelude::*;

use crate::common;

/// What pest makes of the grammar.
#[derive(pest_derive::Parser)]
#[grammar = "grammar/lexical.pest"]
#[grammar = "grammar/constants.pest"]
#[grammar = "grammar/operands.pest"]
#[grammar = "grammar/statements.pest"]
#[grammar = "grammar/variables.pest"]
#[grammar = "grammar/functions.pest"]
#[grammar = "grammar/module.pest"]
struct Grammar;

/// These are put into a text, or take the place of something in it.
const WORDS: &str = r#"; , . : { } [ ] ( ) @ ! % _ $ | + - # / " < > = & ? ~ 0 1 7 9 x f U a z // /* */ :: WARP_SZ call call.uni
    .loc .file .pragma "x" 0f3F800000 0f3F 0d 0x 089 12abc 1.5 1e5 .5 [2] .x .v2 .align .align4 .ptr .global .param .b32 .pred
    .reg .visible .extern .func .entry .noreturn .maxntid .attribute(.managed) .attribute(.unified(1,2)) .section .b8
    .branchtargets .callprototype .version .target .address_size .alias @@DWARF generic( generic(x)+4 0xff(x) == << && || ?1:2
    (.s64) (.u64) -1 !%p %r<4> L: %tid.x %r1.b0 _. = {1,2,3} {1, x=y, {z-2}} function_name inlined_at"#;

const ADVICE: &str = "The grammar defines the syntax: is the parser wrong?";

/// The entry rule of a name.
fn entry(name: &str) -> Rule {
    match name {
        "item" => Rule::item,
        "definition" => Rule::definition,
        "section_body" => Rule::section_body,
        _ => Rule::statements,
    }
}

/// What differs between the parser and the grammar, and whether both accept the piece.
fn compare(text: &str, name: &str, span: Span) -> Result<bool, String> {
    let shown = || format!("as `{name}`:\n{}", &text[span.range()]);
    let parsed = piece::parse(text, name, span);
    let matched = Grammar::parse(entry(name), &text[span.range()]);
    match (parsed, matched) {
        (Ok(parsed), Ok(pairs)) => {
            let ours = events::of_piece(text, &parsed);
            let theirs = events::of_pairs(span.start as usize, pairs);
            let first = ours.iter().zip(&theirs).position(|(one, other)| one != other);
            let at = first.unwrap_or(ours.len().min(theirs.len()));
            match ours == theirs {
                true => Ok(true),
                false => Err(format!(
                    "the parser sees {:?}, the grammar {:?} {}",
                    ours.get(at),
                    theirs.get(at),
                    shown()
                )),
            }
        }
        (Err(_), Err(_)) => Ok(false),
        (Ok(_), Err(error)) => Err(format!("the parser alone accepts {}\n{error}", shown())),
        (Err(message), Ok(_)) => {
            let is_syntax = message.starts_with("expected ") || message.contains("is not a name");
            if is_syntax {
                return Err(format!("the grammar alone accepts ({message}) {}", shown()));
            }
            Ok(false)
        }
    }
}

fn texts() -> Vec<(PathBuf, String)> {
    let mut open = vec![common::root().join("ptx-samples"), common::root().join("tests")];
    let mut texts = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                texts.extend(std::fs::read_to_string(&path).map(|text| (path, text)));
            }
        }
    }
    texts.sort_unstable();
    assert!(texts.len() > 1000, "{} texts", texts.len());
    texts
}

/// Compares all pieces of a text, and `tries` changed parts of each. Returns how many were accepted and refused.
fn compare_text(path: &Path, text: &str, tries: u64, failures: &mut Vec<String>) -> [usize; 2] {
    let seed =
        path.to_string_lossy().bytes().fold(7, |seed, byte| seed * 31 % 65_521 + u64::from(byte));
    let mut random = fastrand::Rng::with_seed(seed);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut counts = [0, 0];
    let mut check = |text: &str, name: &str, span: Span| match compare(text, name, span) {
        Ok(accepted) => counts[usize::from(!accepted)] += 1,
        Err(why) => failures.push(format!("{}: {why}", path.display())),
    };
    for (name, span) in piece::all(text) {
        check(text, name, span);
        let inside = &text[span.range()];
        let statements: Vec<&str> = inside.split_inclusive(';').collect();
        for _ in 0..tries {
            // A short part of a body, so that not all mistakes stand in front of it.
            let first = if name == "statements" { random.usize(..statements.len()) } else { 0 };
            let length =
                if name == "statements" { 1 + random.usize(..4) } else { statements.len() };
            let mut part: String = statements[first..].iter().take(length).copied().collect();
            for _ in 0..=random.usize(..2) {
                change(&mut part, &words, &mut random);
            }
            check(&part, name, Span::new(0, part.len()));
        }
    }
    counts
}

/// Drops, doubles, swaps or replaces a token, puts something in front of it, or cuts the text there.
fn change(text: &mut String, words: &[&str], random: &mut fastrand::Rng) {
    let is_word = |c: char| c.is_alphanumeric() || "_$%.".contains(c);
    let starts: Vec<usize> = text
        .char_indices()
        .filter(|(at, c)| !(c.is_whitespace() || is_word(*c) && text[..*at].ends_with(is_word)))
        .map(|(at, _)| at)
        .collect();
    let token = |start: usize| {
        let rest = &text[start..];
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        start..start + word.max(rest.chars().next().map_or(0, char::len_utf8))
    };
    let (Some(one), Some(other)) = (random.choice(&starts), random.choice(&starts)) else { return };
    let (one, other) = (token(*one), token(*other));
    let copy = text[other].to_owned();
    let word = *random.choice(words).expect("there are words");
    match random.usize(..7) {
        0 => text.replace_range(one, ""),
        1 => text.insert_str(one.start, &copy),
        2 => text.replace_range(one, &copy),
        3 => text.replace_range(one, word),
        4 => text.insert_str(one.end, word),
        5 => text.insert_str(one.start, &format!(" {word} ")),
        _ => text.truncate(one.start),
    }
}

#[test]
fn the_parser_reads_what_the_grammar_says() {
    let tries = common::share(40);
    let results: Vec<_> = texts()
        .par_iter()
        .map(|(path, text)| {
            let mut failures = Vec::new();
            (compare_text(path, text, tries, &mut failures), failures)
        })
        .collect();
    let [accepted, refused] =
        [0, 1].map(|kind| results.iter().map(|(counts, _)| counts[kind]).sum::<usize>());
    let failures: Vec<String> = results.into_iter().flat_map(|(_, failures)| failures).collect();
    common::report(&failures, ADVICE);
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// The longest piece that is cut behind each of its characters, in bytes.
const SHORT: usize = 400;

#[test]
fn what_is_cut_off_is_read_the_same() {
    let mut failures = Vec::new();
    let mut cuts = 0;
    for (_, text) in
        texts().iter().filter(|(path, _)| path.parent().is_some_and(|f| f.ends_with("ok")))
    {
        for (name, span) in piece::all(text).into_iter().filter(|(_, s)| s.range().len() <= SHORT) {
            let ends = (span.start..span.end).filter(|end| text.is_char_boundary(*end as usize));
            for end in ends {
                cuts += 1;
                failures.extend(compare(text, name, Span { start: span.start, end }).err());
            }
        }
    }
    common::report(&failures, ADVICE);
    assert!(cuts > 1_000, "{cuts} cuts");
}
