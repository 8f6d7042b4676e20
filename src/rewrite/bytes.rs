//! Registers put together from bytes of others by `prmt` (PTX ISA, "Data Movement and Conversion
//! Instructions: prmt").
//!
//! In: for each byte of a register the byte of another register that it is, or that it extends the one below.
//! Out: the words that have to be there, in the lane itself or from another one, and the instructions that
//! make the register of them.

use super::names::Fresh;
use crate::reuse::{Element, Part};

/// A word of 32 bits in a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentWord {
    /// The register's name.
    pub register: String,
    /// Its width in bits: 16, 32 or 64.
    pub bits: u32,
    /// Which of its words, 0 for the lower one.
    pub number: u32,
}

/// What a byte of a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    /// A byte of a word of [`Assembly::words`]: the word's index and the byte's, 0 for the lowest.
    Of(usize, u32),
    /// The sign of that byte, eight times.
    Sign(usize, u32),
    /// Zero.
    Zero,
}

/// A register that is put together.
#[derive(Clone, Debug)]
struct Made {
    destination: String,
    /// From the lowest up; as many as the register has.
    bytes: Vec<Byte>,
}

/// The registers of a load that are put together, and what they are made of.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    words: Vec<SentWord>,
    made: Vec<Made>,
}

impl Assembly {
    /// Adds a register: its name, the load's element that goes into it, and where its bytes are.
    pub fn add(&mut self, destination: String, to: &Element, parts: &[(String, Part)]) {
        let mut bytes = Vec::new();
        for (register, part) in parts {
            for at in part.first..part.first + part.bytes {
                let word = SentWord {
                    register: register.clone(),
                    bits: part.from.register_bits,
                    number: at / 4,
                };
                let byte = if planted!(Bug::WrongByte) { at ^ 1 } else { at };
                bytes.push(Byte::Of(self.word(word), byte % 4));
            }
        }
        let signed = to.ty.is_signed() && !planted!(Bug::ZeroExtension);
        let extension = match bytes.last() {
            Some(&Byte::Of(word, byte)) if signed => Byte::Sign(word, byte),
            _ => Byte::Zero,
        };
        bytes.resize(to.register_bits as usize / 8, extension);
        self.made.push(Made { destination, bytes });
    }

    fn word(&mut self, word: SentWord) -> usize {
        self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        })
    }

    /// The instructions, each on a line: those that bring the words, by `bring`, which gets a word's name
    /// and returns the name and the code of the word that comes from another lane; then those that write
    /// the registers, under the prefix `when`.
    pub fn code(
        &self,
        when: &str,
        fresh: &mut Fresh<'_>,
        mut bring: impl FnMut(String, &mut Fresh<'_>) -> (String, Option<String>),
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let here = self.here(fresh, &mut lines);
        let words: Vec<String> = here
            .into_iter()
            .map(|word| {
                let (received, code) = bring(word, fresh);
                lines.extend(code);
                received
            })
            .collect();
        for made in &self.made {
            made.code(&words, when, fresh, &mut lines);
        }
        lines
    }

    /// The names of the words, in registers of 32 bits each.
    fn here(&self, fresh: &mut Fresh<'_>, lines: &mut Vec<String>) -> Vec<String> {
        let mut split: Vec<(&str, [String; 2])> = Vec::new();
        let mut names = Vec::new();
        for SentWord { register, bits, number } in &self.words {
            if *bits == 32 {
                names.push(register.clone());
                continue;
            }
            let known = split.iter().position(|(known, _)| known == register);
            let known = known.unwrap_or_else(|| {
                let low = fresh.word();
                let high = if *bits == 64 { fresh.word() } else { String::new() };
                lines.push(match bits {
                    64 => format!("mov.b64 {{{low}, {high}}}, {register};"),
                    _ => format!("mov.b32 {low}, {{{register}, {register}}};"),
                });
                split.push((register, [low, high]));
                split.len() - 1
            });
            names.push(split[known].1[*number as usize].clone());
        }
        names
    }
}

impl Made {
    fn code(&self, words: &[String], when: &str, fresh: &mut Fresh<'_>, lines: &mut Vec<String>) {
        let destination = &self.destination;
        let mut parts: Vec<String> =
            self.bytes.chunks(4).map(|bytes| assembled(bytes, words, fresh, lines)).collect();
        lines.push(match self.bytes.len() {
            2 => {
                let unused = fresh.bits(16);
                format!("{when}mov.b32 {{{destination}, {unused}}}, {};", parts.remove(0))
            }
            4 => format!("{when}mov.b32 {destination}, {};", parts.remove(0)),
            _ => format!("{when}mov.b64 {destination}, {{{}, {}}};", parts[0], parts[1]),
        });
    }
}

/// The name of a word with these bytes, the lowest first. Each permutation takes what is there already and
/// one more word; what extends comes last.
fn assembled(
    bytes: &[Byte],
    words: &[String],
    fresh: &mut Fresh<'_>,
    lines: &mut Vec<String>,
) -> String {
    let mut sources: Vec<usize> = Vec::new();
    for byte in bytes {
        if let Byte::Of(word, _) | Byte::Sign(word, _) = *byte
            && !sources.contains(&word)
        {
            sources.push(word);
        }
    }
    let is_moved = |byte: &Byte| matches!(byte, Byte::Of(..));
    let Some((&first, others)) = sources.split_first() else { return "0".to_owned() };
    // Where each byte of `now` comes from; it begins as the first word.
    let mut now = words[first].clone();
    let mut holds: Vec<Byte> = (0..4).map(|byte| Byte::Of(first, byte)).collect();
    let mut permute = |now: &str, other: &str, selector: u32| {
        let made = fresh.word();
        lines.push(format!("prmt.b32 {made}, {now}, {other}, 0x{selector:04x};"));
        made
    };
    for &word in others {
        let found = |byte: &Byte, holds: &[Byte]| match byte {
            Byte::Of(from, at) if *from == word => Some(4 + at),
            byte => holds.iter().position(|held| held == byte).map(|at| at as u32),
        };
        let mut selector = 0;
        let mut next = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            // (A byte that comes later may be any until then.)
            let from = found(byte, &holds).filter(|_| is_moved(byte));
            selector |= from.unwrap_or(0) << (4 * at);
            next.push(if from.is_some() { *byte } else { Byte::Zero });
        }
        now = permute(&now, &words[word], selector);
        holds = next;
    }
    let position = |wanted: Byte| holds.iter().position(|held| *held == wanted).unwrap_or(0) as u32;
    let mut selector = 0;
    for (at, byte) in bytes.iter().enumerate() {
        selector |= match *byte {
            Byte::Of(..) if others.is_empty() => position(*byte),
            Byte::Of(..) => at as u32,
            Byte::Sign(word, byte) => 8 | position(Byte::Of(word, byte)),
            Byte::Zero => 4,
        } << (4 * at);
    }
    let is_done = match bytes.len() {
        2 => selector & 0xff == 0x10,
        _ => selector == 0x3210,
    };
    if is_done { now } else { permute(&now, "0", selector) }
}
