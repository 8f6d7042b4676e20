//! Registers put together from bytes of others by `prmt` (PTX ISA, "Data Movement and Conversion
//! Instructions: prmt").
//!
//! In: for each byte of a register the byte of another register that it is, or that it extends the one below.
//! Out: the words that have to be there, in the lane itself or from another one, and the instructions that
//! make the register of them.

use crate::ptx::write::{Code, Fresh, Reg, op};
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

/// The source of a byte of a register.
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

/// The registers of a load that are put together, and the words whose bytes they take.
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

    /// Adds the instructions: those that bring the words, by `bring`, which gets a word's name and returns the name of
    /// the word that comes from another lane; then those that write the registers, behind the guard `when`.
    pub fn code(
        &self,
        code: &mut Code,
        fresh: &mut Fresh,
        when: &str,
        mut bring: impl FnMut(&mut Code, &mut Fresh, String) -> String,
    ) {
        let here = self.here(code, fresh);
        let words: Vec<String> = here.into_iter().map(|word| bring(code, fresh, word)).collect();
        for Made { destination, bytes } in &self.made {
            let parts = bytes.chunks(4).map(|bytes| assembled(bytes, &words, code, fresh));
            let parts: Vec<String> = parts.collect();
            code.join(fresh, when, (destination, 8 * bytes.len() as u32), &parts);
        }
    }

    /// The names of the words, in registers of 32 bits each.
    fn here(&self, code: &mut Code, fresh: &mut Fresh) -> Vec<String> {
        let mut split: Vec<(&str, Vec<Reg>)> = Vec::new();
        let mut names = Vec::new();
        for SentWord { register, bits, number } in &self.words {
            if *bits == 32 {
                names.push(register.clone());
                continue;
            }
            let known = split.iter().position(|(known, _)| known == register);
            let known = known.unwrap_or_else(|| {
                split.push((register, code.split(fresh, (register, *bits))));
                split.len() - 1
            });
            names.push(split[known].1[*number as usize].to_string());
        }
        names
    }
}

/// The name of a word with these bytes, the lowest first. Each permutation combines the result so far with one more
/// word; extension bytes come last.
fn assembled(bytes: &[Byte], words: &[String], code: &mut Code, fresh: &mut Fresh) -> String {
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
        let selector = format!("0x{selector:04x}");
        code.set(fresh.word(), op!(Prmt.B32), &[&now, &other, &selector]).to_string()
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
