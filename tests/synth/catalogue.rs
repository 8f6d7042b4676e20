//! The catalogue of transpositions (`src/analysis/reuse/transpositions.toml`), derived anew from what `synth` finds for
//! `linear.sketch` for each size of a struct.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ptxasw::reuse::STRUCT_WORDS;
use ptxasw::reuse::transposition::Entry;

use super::{bless, call, folder};

const LANES: u32 = 32;

const FILE: &str = "src/analysis/reuse/transpositions.toml";

/// The tables of the three holes: of (word loaded, lane), (lane, slot) and (word, lane).
struct Solution {
    words: u32,
    tables: Vec<Vec<u32>>,
}

impl Solution {
    fn of(words: u32) -> Solution {
        let sketch = folder().join("linear.sketch");
        let (status, text) = call(&sketch, &format!("-D S={words} --first --emit json"), 1);
        assert_eq!(status, 0, "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let numbers = |hole: &serde_json::Value| {
            let table = hole["table"].as_array().expect("a table");
            table.iter().map(|one| one.as_u64().expect("a number") as u32).collect()
        };
        let holes = json["holes"].as_array().expect("holes");
        assert_eq!(holes.len(), 3, "{text}");
        Solution { words, tables: holes.iter().map(numbers).collect() }
    }

    /// A table's entry at `first` and `second`; the first coordinate has `values` values.
    fn at(&self, hole: usize, (first, values): (u32, u32), second: u32) -> u32 {
        self.tables[hole][(second * values + first) as usize]
    }

    fn slot(&self, loaded: u32, lane: u32) -> u32 {
        self.at(0, (loaded, self.words), lane)
    }

    fn source(&self, slot: u32, lane: u32) -> u32 {
        self.at(1, (lane, LANES), slot)
    }

    fn word(&self, word: u32, lane: u32) -> u32 {
        self.at(2, (word, self.words), lane)
    }

    /// The entry of the catalogue with these tables.
    fn entry(&self) -> Entry {
        let turned = (0..LANES).find(|lane| self.word(0, *lane) != self.word(0, 0));
        let direction = turned.map_or(1, |lane| if self.word(0, lane) == 1 { -1 } else { 1 });
        Entry {
            words: self.words,
            permutation: (0..self.words).map(|loaded| self.slot(loaded, 0)).collect(),
            period: turned.unwrap_or(LANES),
            direction,
        }
    }
}

#[test]
fn the_catalogue_is_what_the_search_finds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let old = fs::read_to_string(&path).expect("the catalogue can be read");
    let comment = old.lines().take_while(|line| line.starts_with('#'));
    let mut text: String = comment.flat_map(|line| [line, "\n"]).collect();
    for words in STRUCT_WORDS {
        let found = Solution::of(words);
        let entry = found.entry();
        for lane in 0..LANES {
            for at in 0..words {
                assert_eq!(entry.slot(at, lane), found.slot(at, lane), "{words}: {at}, {lane}");
                assert_eq!(entry.source(at, lane), found.source(at, lane), "{words}: {at}, {lane}");
                assert_eq!(entry.word(at, lane), found.word(at, lane), "{words}: {at}, {lane}");
            }
        }
        let Entry { permutation, period, direction, .. } = &entry;
        let _ = write!(
            text,
            "\n[[transposition]]\nwords = {words}\npermutation = {permutation:?}\nperiod = {period}\ndirection = {direction}\n"
        );
        assert!(bless() || Entry::of(words) == Some(&entry), "{words}: {entry:?}\n{ADVICE}");
    }
    if bless() {
        fs::write(&path, text).expect("the catalogue can be written");
    } else {
        assert_eq!(text, old, "{ADVICE}");
    }
}

const ADVICE: &str = "`BLESS=1 cargo test --test main synth::catalogue` writes what was found.";
