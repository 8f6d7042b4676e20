//! Structs of 2 to 16 words: transpositions of a warp's registers and back, and loads and stores made of them.
//!
//! The steps of each size are solved here, and those of loads compared with the catalogue that the rewriter uses
//! (`reuse::transposition`), for every lane and register.

use super::header::{Header, bracketed};
use super::movement::{Solved, solve};
use super::notes::by_hand;
use crate::isa::limits::WARP_SIZE;
use crate::parallel;
use crate::reuse::STRUCT_WORDS;
use crate::reuse::transposition::Entry;
use crate::synth::emit::Parts;
use crate::synth::program::HoleId;

/// What 32 lanes have loaded as consecutive words becomes one struct in each lane.
const SKETCH: &str = include_str!("structs.sketch");

const TEST: &str = "tests/library.rs, structs_come_and_go";

/// How the functions that nobody has searched for are known to be right.
const BY_HAND: &str = "of the transposition: its own, for the size of the struct; of the loads and stores around it: none \
                       but the test, which compares each word";

/// The header.
///
/// # Errors
/// A size has no solution, its code is wrong, or it is not the catalogue's.
pub(super) fn header() -> Result<Header, String> {
    let sizes: Result<Vec<(String, usize)>, String> =
        parallel::map(STRUCT_WORDS, size).into_iter().collect();
    let (by_hand, own) = by_hand(include_str!("structs.cuh"), BY_HAND, TEST);
    let (texts, counts): (Vec<String>, Vec<usize>) = sizes?.into_iter().unzip();
    let about = "Structs of 2 to 16 words of 4 or 8 bytes in arrays of structs: loads and stores of a warp that are coalesced. \
                 `load_structs` and `store_structs` (for words), `load_struct` and `store_struct` (for types) are what \
                 kernels call; `to_structs` and `to_words` are the transpositions of registers that they are made of. All \
                 lanes of a warp call them together, with the same pointer and count, and `lane` is the number of the \
                 lane, 0 to 31.";
    let text = bracketed("structs.cuh", about, &["common.cuh"], &(texts.concat() + &by_hand));
    Ok(Header { file: "structs.cuh", text, functions: counts.iter().sum::<usize>() + own })
}

/// The sketch of the transposition for structs of `words` words.
pub fn sketch(words: u32) -> String {
    SKETCH.replace("param S = 7", &format!("param S = {words}"))
}

/// The functions for one size, and how many there are.
fn size(words: u32) -> Result<(String, usize), String> {
    let defines = [("S".to_owned(), i64::from(words))];
    let none = || format!("structs of {words} words have no transposition");
    let there = solve("structs.sketch", SKETCH, &defines, "to_structs")?.ok_or_else(none)?;
    is_the_catalogues(&there, words)?;
    let more =
        "; equal to the entry of src/analysis/reuse/transpositions.toml in every lane and register";
    let about = "The struct of each lane, from the words that the warp has loaded";
    let parts = Parts { loads: true, stores: false, warp: false };
    let one = there.functions(parts, about, &there.notes(more, TEST))?;
    let mut back = solve("words.sketch", include_str!("words.sketch"), &defines, "to_words")?;
    let mut more = "";
    if back.is_none() {
        more = "; that no member of `xform` gives the source lanes was proved by the search, too";
        let text = include_str!("words_even.sketch");
        back = solve("words_even.sketch", text, &defines, "to_words")?;
    }
    let back = back.ok_or_else(none)?;
    let about = "The words that the warp stores, from the struct of each lane";
    let parts = Parts { loads: false, stores: true, warp: false };
    let two = back.functions(parts, about, &back.notes(more, TEST))?;
    Ok((format!("\n// Structs of {words} words.\n{}{}", one.0, two.0), one.1 + two.1))
}

/// Checks that a solution is the one that the rewriter puts into kernels.
fn is_the_catalogues(solved: &Solved, words: u32) -> Result<(), String> {
    let entry = Entry::of(words).ok_or_else(|| format!("no entry for {words} words"))?;
    for lane in 0..WARP_SIZE {
        for at in 0..words {
            let same = solved.table(HoleId(0), (at, words), lane) == entry.slot(at, lane)
                && solved.table(HoleId(1), (lane, WARP_SIZE), at) == entry.source(at, lane)
                && solved.table(HoleId(2), (at, words), lane) == entry.word(at, lane);
            if !same {
                return Err(format!(
                    "structs of {words} words: lane {lane}, register {at} is not the catalogue's"
                ));
            }
        }
    }
    Ok(())
}
