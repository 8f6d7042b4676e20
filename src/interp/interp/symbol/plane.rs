//! The symbols of values side by side: those of a register in all lanes, or those of a page of memory.
//!
//! A number that fills its value is kept as one element, whatever the parts are; all other values as their parts.

use super::value::{Kind, Symbol, WIDTH};
use crate::algebra::{Element, Elements, Format};
use crate::interp::program::rare::Cell;
use crate::interp::registers::{LANES, Mask};

/// Numbers of a format in some lanes.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The register.
    pub cell: Cell,
    /// The lanes.
    pub lanes: Mask,
    /// The format.
    pub format: Format,
    /// The numbers.
    pub numbers: Elements<LANES>,
}

/// The symbols of `N` values, at most 64, of `width` parts each.
#[derive(Debug)]
pub(crate) struct Plane<const N: usize> {
    width: usize,
    /// The values that are numbers which fill them, a bit each, all of the format `format`.
    whole: u64,
    format: Format,
    numbers: Elements<N>,
    /// The parts of the others; empty before the first one comes.
    parts: Vec<Symbol>,
}

impl<const N: usize> Plane<N> {
    /// No symbols.
    pub(crate) fn new(width: usize) -> Plane<N> {
        let numbers = Elements::default();
        Plane { width, whole: 0, format: Format::F32, numbers, parts: Vec::new() }
    }

    /// The parts of a value; those without a symbol have the kind [`Kind::None`].
    #[inline]
    pub(crate) fn parts(&self, at: usize) -> [Symbol; WIDTH] {
        let mut parts = [Symbol::NONE; WIDTH];
        if self.whole >> at & 1 != 0 {
            let (element, kind) = (self.numbers.get(at), Kind::Number(self.format));
            for (part, symbol) in parts[..self.width].iter_mut().enumerate() {
                *symbol = Symbol::new(element, kind, part as u8);
            }
        } else if let Some(known) = self.parts.get(at * self.width..(at + 1) * self.width) {
            parts[..self.width].copy_from_slice(known);
        }
        parts
    }

    /// One part of a value.
    #[inline]
    pub(crate) fn part(&self, at: usize, part: usize) -> Symbol {
        if self.whole >> at & 1 != 0 {
            return Symbol::new(self.numbers.get(at), Kind::Number(self.format), part as u8);
        }
        self.parts.get(at * self.width + part).copied().unwrap_or(Symbol::NONE)
    }

    /// Writes parts of a value from one on.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, first: usize, parts: &[Symbol]) {
        if let (0, [one, ..], Kind::Number(format)) = (first, parts, parts[0].kind)
            && format.parts() == self.width
            && parts.len() == self.width
            && (0..self.width).all(|part| parts[part].is_part_of(one, part))
        {
            self.set_number(at, format, one.element());
            return;
        }
        self.dissolve(1 << at);
        if self.parts.is_empty() {
            self.parts = vec![Symbol::NONE; self.width * N];
        }
        self.parts[at * self.width + first..][..parts.len()].copy_from_slice(parts);
    }

    /// Keeps some values as their parts.
    fn dissolve(&mut self, mask: u64) {
        let mut rest = self.whole & mask;
        self.whole &= !mask;
        if rest != 0 && self.parts.is_empty() {
            self.parts = vec![Symbol::NONE; self.width * N];
        }
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            let (element, kind) = (self.numbers.get(at), Kind::Number(self.format));
            for part in 0..self.width {
                self.parts[at * self.width + part] = Symbol::new(element, kind, part as u8);
            }
            rest &= rest - 1;
        }
    }

    /// Makes room for numbers of a format that fill values.
    #[inline]
    fn make_whole(&mut self, mask: u64, format: Format) {
        if self.format != format {
            self.dissolve(!mask);
            self.format = format;
        }
        self.whole |= mask;
    }

    /// Writes a number that fills a value.
    #[inline]
    pub(crate) fn set_number(&mut self, at: usize, format: Format, element: Element) {
        self.make_whole(1 << at, format);
        self.numbers.set(at, element);
    }

    /// Writes numbers that fill values.
    #[inline]
    pub(crate) fn set_numbers(&mut self, mask: u64, format: Format, numbers: &Elements<N>) {
        self.make_whole(mask, format);
        self.numbers.copy(mask, numbers);
    }

    /// The number that fills a value, with its format.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> Option<(Format, Element)> {
        (self.whole >> at & 1 != 0).then(|| (self.format, self.numbers.get(at)))
    }

    /// The format of the numbers that fill values, if there are some.
    pub(crate) fn format(&self) -> Option<Format> {
        (self.whole != 0).then_some(self.format)
    }

    /// The values that are filled by a number of a format.
    #[inline]
    pub(crate) fn whole(&self, format: Format) -> u64 {
        if self.format == format { self.whole } else { 0 }
    }

    /// The numbers that fill values.
    #[inline]
    pub(crate) fn numbers(&self) -> &Elements<N> {
        &self.numbers
    }

    /// Forgets the symbols of a value.
    #[inline]
    pub(crate) fn forget(&mut self, at: usize) {
        self.whole &= !(1 << at);
        if let Some(parts) = self.parts.get_mut(at * self.width..(at + 1) * self.width) {
            parts.fill(Symbol::NONE);
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::algebra::Degree;

    crate::unit_tests!(formats_do_not_mix, half_of_a_number_is_no_number);

    fn element(p: u64) -> Element {
        Element { p, q: p + 1, degree: Degree::ONE }
    }

    fn formats_do_not_mix() {
        let mut plane = Plane::<32>::new(2);
        plane.set_number(3, Format::F32, element(10));
        plane.set_number(4, Format::S32, element(20));
        // The first one is kept by its parts.
        assert_eq!(plane.number(3), None);
        assert_eq!(plane.number(4), Some((Format::S32, element(20))));
        for (at, format, value) in [(3, Format::F32, 10), (4, Format::S32, 20)] {
            for (part, symbol) in plane.parts(at)[..2].iter().enumerate() {
                let expected = Symbol::new(element(value), Kind::Number(format), part as u8);
                assert_eq!(*symbol, expected);
            }
        }
        assert_eq!((plane.whole(Format::F32), plane.whole(Format::S32)), (0, 1 << 4));
        plane.forget(3);
        plane.forget(4);
        assert!([3, 4].iter().all(|&at| plane.parts(at) == [Symbol::NONE; WIDTH]));
    }

    fn half_of_a_number_is_no_number() {
        let mut plane = Plane::<32>::new(2);
        let parts = [0, 1].map(|part| Symbol::new(element(10), Kind::Number(Format::F32), part));
        plane.set(0, 0, &parts);
        assert_eq!(plane.number(0), Some((Format::F32, element(10))));
        // Another number's upper half.
        let other = Symbol::new(element(30), Kind::Number(Format::F32), 1);
        plane.set(0, 1, &[other]);
        assert_eq!((plane.number(0), plane.whole(Format::F32)), (None, 0));
        assert_eq!(plane.parts(0)[..2], [parts[0], other]);
        // Halves in the wrong order.
        plane.set(1, 0, &[parts[1], parts[0]]);
        assert_eq!(plane.number(1), None);
    }
}
