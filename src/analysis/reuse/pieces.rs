//! The sources of each register of a load: the whole register of another load, or bytes of one or several.
//!
//! In: two loads, and the bytes from the one's address to the element that stands for the other's first
//! byte. Out: a [`Piece`] for each register, or nothing where some byte is missing. Memory is little-endian
//! (PTX ISA, "Data Movement and Conversion Instructions: ld"), so an element's lower bytes are the lower bits
//! of its register.

use smallvec::SmallVec;

use super::eligible::{Element, Load};
use crate::cfg::{InstId, RegisterId};

/// Some bytes of a register that a load has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The instruction of that load.
    pub source: InstId,
    /// The element that went into the register.
    pub from: Element,
    /// The first of its bytes, 0 for the lowest.
    pub first: u32,
    /// How many bytes.
    pub bytes: u32,
}

/// The sources of one register of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The load's element.
    pub to: Element,
    /// Its bytes from the lowest up; those of the register beyond them are its extension.
    pub parts: SmallVec<[Part; 1]>,
    /// A planted mistake: how elements of one width are extended is not looked at.
    extended_alike: bool,
}

impl Piece {
    /// A register of some parts.
    pub fn new(to: Element, parts: SmallVec<[Part; 1]>) -> Piece {
        Piece { to, parts, extended_alike: planted!(Bug::Extension) }
    }

    /// The element whose register has exactly the value of the load's register.
    pub fn whole(&self) -> Option<&Element> {
        let [Part { from, first: 0, .. }] = &self.parts[..] else { return None };
        let alike = self.extended_alike && from.ty.bits() == self.to.ty.bits();
        (alike || from.stands_for(&self.to)).then_some(from)
    }

    /// The words of 32 bits that have to come from another lane, each by the load that has filled its
    /// register, that register, and its number in it.
    pub fn words(&self) -> impl Iterator<Item = (InstId, RegisterId, u32)> + '_ {
        let of_part = |part: &Part| {
            let (source, register) = (part.source, part.from.register);
            let last = match self.whole() {
                // (The extension is sent, too.)
                Some(from) => from.register_bits.div_ceil(32) - 1,
                None => (part.first + part.bytes - 1) / 4,
            };
            (part.first / 4..=last).map(move |word| (source, register, word))
        };
        self.parts.iter().flat_map(of_part)
    }

    /// Instructions beside shuffles that make the register's value: a move for each word of it, a
    /// permutation for each word that bytes are taken from.
    pub fn instructions(&self) -> u32 {
        let words = self.to.ty.bits().div_ceil(32);
        match self.whole() {
            Some(_) => words,
            None => words.max(self.words().count() as u32),
        }
    }
}

/// The distances in bytes from the source's address at which the load's first byte may lie.
pub(super) fn displacements(source: &Load, load: &Load) -> SmallVec<[i64; 4]> {
    let first = load.elements[0];
    let step = bytes(&first);
    let mut found: SmallVec<[i64; 4]> = SmallVec::new();
    for element in &source.elements {
        let alike = bytes(element) == step;
        let within = (0..bytes(element)).step_by(step.min(bytes(element)) as usize);
        for displacement in within.map(|at| element.offset + at - first.offset) {
            // (That elements as wide as the load's are extended otherwise, or lie otherwise, is worth a
            // refusal that says so.)
            if alike || pieces(source, load, displacement).is_some() {
                found.push(displacement);
            }
        }
    }
    found
}

/// The sources of each register of a load, if the source's registers have all of its bytes.
pub fn pieces(source: &Load, load: &Load, displacement: i64) -> Option<Vec<Piece>> {
    load.elements.iter().map(|to| piece(source, to, displacement)).collect()
}

fn piece(source: &Load, to: &Element, displacement: i64) -> Option<Piece> {
    let start = to.offset + displacement;
    let end = start + bytes(to);
    let (mut at, mut parts) = (start, SmallVec::new());
    while at < end {
        let covers = |from: &Element| from.offset <= at && at < from.offset + bytes(from);
        let index = source.elements.iter().position(covers)?;
        let from = source.elements[index];
        let behind = end.min(from.offset + bytes(&from));
        let index = match planted!(Bug::WrongElement) {
            true => (index + 1) % source.elements.len(),
            false => index,
        };
        let first = (at - from.offset) as u32;
        let (from, bytes) = (source.elements[index], (behind - at) as u32);
        parts.push(Part { source: source.inst, from, first, bytes });
        at = behind;
    }
    Some(Piece::new(*to, parts))
}

fn bytes(element: &Element) -> i64 {
    i64::from(element.ty.bits() / 8)
}
