//! The catalogue of transpositions: how 32 lanes that have loaded consecutive words give each other the words of
//! their own structs, for each size of a struct.
//!
//! In: `transpositions.toml`, which a test derives anew by `synth` from `tests/synth/linear.sketch`. Out, for a
//! number of words S, an [`Entry`] that says of three steps:
//!
//! 1. the word that a lane has loaded as its r-th becomes its slot `(permutation[r] + lane) mod S`;
//! 2. slot i of a lane comes from lane `(S * lane + (i + direction * (lane / period)) mod S) mod 32`;
//! 3. word e of its struct is then slot `(e - direction * (lane / period)) mod S`.
//!
//! Words that are stored go the other way, step by step from the last to the first. Nothing is searched for here.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::isa::limits::WARP_SIZE;

/// The fewest and the most words of a struct.
pub const STRUCT_WORDS: std::ops::RangeInclusive<u32> = 2..=16;

/// How structs of one size are transposed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Words of a struct.
    pub words: u32,
    /// The slot of the r-th word that lane 0 has loaded.
    pub permutation: Vec<u32>,
    /// Rotation period in lanes; 32 if all lanes rotate equally.
    pub period: u32,
    /// 1 or -1: which way the structs of further lanes are turned.
    pub direction: i32,
}

/// The whole file.
#[derive(Deserialize)]
struct Catalogue {
    transposition: Vec<Entry>,
}

static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let text = include_str!("transpositions.toml");
    toml::from_str::<Catalogue>(text).map_or_else(|_| Vec::new(), |read| read.transposition)
});

impl Entry {
    /// The entry for structs of `words` words, if there is one.
    pub fn of(words: u32) -> Option<&'static Entry> {
        CATALOGUE.iter().find(|entry| entry.words == words)
    }

    /// How often a lane's struct is turned.
    fn turned(&self, lane: u32) -> i64 {
        i64::from(self.direction) * i64::from(lane / self.period)
    }

    /// Step 1: the slot of the r-th word that a lane has loaded.
    pub fn slot(&self, loaded: u32, lane: u32) -> u32 {
        (self.permutation[loaded as usize] + lane) % self.words
    }

    /// Step 2: the lane that a slot comes from.
    pub fn source(&self, slot: u32, lane: u32) -> u32 {
        let turned = (i64::from(slot) + self.turned(lane)).rem_euclid(self.words.into());
        (self.words * lane + turned as u32) % WARP_SIZE
    }

    /// Step 2 the other way: the lane whose slot the words of all structs that `lane` stores come from. With g
    /// groups of lanes that are turned alike, `lane = (S * L + u) mod 32` for the lane L, where
    /// `u = (slot + direction * t) mod S` for its group t. Since g divides S and 32, t is known from the remainder by
    /// g; S / g is odd, so that it has an [inverse](Entry::inverse).
    #[cfg(feature = "internals")]
    pub fn keeper(&self, slot: u32, lane: u32) -> u32 {
        let (groups, lane) = (i64::from(self.groups()), i64::from(lane));
        let (slot, direction) = (i64::from(slot), i64::from(self.direction));
        let group = (direction * (lane - slot)).rem_euclid(groups);
        let turned = (slot + direction * group).rem_euclid(self.words.into());
        let within = i64::from(self.inverse()) * ((lane - turned) / groups);
        (i64::from(self.period) * group + within.rem_euclid(self.period.into())) as u32
    }

    /// Groups of lanes that are turned alike: a power of two.
    pub fn groups(&self) -> u32 {
        WARP_SIZE / self.period
    }

    /// The number whose product with S / g is 1 modulo the lanes of a group.
    pub fn inverse(&self) -> u32 {
        let odd = self.words / self.groups();
        (1..self.period).find(|number| number * odd % self.period == 1).unwrap_or(0)
    }

    /// Step 3: the slot that is a word of a lane's struct.
    pub fn word(&self, word: u32, lane: u32) -> u32 {
        (i64::from(word) - self.turned(lane)).rem_euclid(self.words.into()) as u32
    }

    /// Selects that the turns of steps 1 and 3 take for words of 32 bits.
    pub fn selects(&self) -> u32 {
        let rounds = |amounts: u32| amounts.next_power_of_two().trailing_zeros();
        self.words * (rounds(self.words) + rounds(WARP_SIZE / self.period))
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(every_size_is_there_and_gives_each_lane_its_struct);

    fn every_size_is_there_and_gives_each_lane_its_struct() {
        let sizes: Vec<u32> = CATALOGUE.iter().map(|entry| entry.words).collect();
        assert_eq!(sizes, STRUCT_WORDS.collect::<Vec<u32>>());
        for entry in CATALOGUE.iter() {
            let words = entry.words;
            // The contents of each slot of each lane: the number of a word of the warp's structs.
            let mut slots = vec![vec![None; words as usize]; WARP_SIZE as usize];
            for lane in 0..WARP_SIZE {
                for loaded in 0..words {
                    let slot = entry.slot(loaded, lane) as usize;
                    assert_eq!(slots[lane as usize][slot], None, "{words}");
                    slots[lane as usize][slot] = Some(WARP_SIZE * loaded + lane);
                }
            }
            for lane in 0..WARP_SIZE {
                for word in 0..words {
                    let slot = entry.word(word, lane);
                    let source = entry.source(slot, lane);
                    let found = slots[source as usize][slot as usize];
                    assert_eq!(found, Some(words * lane + word), "{words} {lane} {word}");
                    assert_eq!(entry.keeper(slot, source), lane, "{words} {slot} {source}");
                }
            }
        }
    }
}
