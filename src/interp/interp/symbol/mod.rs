//! Symbols: values that stand for all numbers, and follow lanes' values beside [`Poison`].
//!
//! In: symbolic inputs of a launch, and operations by their [`crate::algebra::Meaning`]. Out: for each lane of each register,
//! and for each word of memory, what element of an algebra stands there; or a fault, where a symbol would decide which way
//! lanes go, which address they access, or anything else that the algebra does not describe.
//!
//! Each bit that depends on a symbol is poison. So a symbol goes wherever poison goes and is reported wherever poison is; an
//! operation whose result is not known leaves poison without a symbol behind. Numbers that are known stay in registers, and the
//! interpreter computes with them as ever; only those that rounding would change become elements, too.
//!
//! `value`: values made of parts of 16 bits; `choice`: one of two values; `world`: memory and the algebra; `lanes`: warp-wide
//! operations; `moves`, `moved`: operations that only move bits; `integers`, `tried`: integers that depend on symbols, and the bits of numbers as integers; `fork`, `join`: branches on symbols; `prepare`: the steps around a micro-operation; `product`: matrices;
//! `meanings`: tests of meanings; `store`: stores under a condition, and atomic sums.

mod choice;
mod fork;
mod integers;
mod join;
mod lanes;
#[cfg(feature = "internals")]
mod meanings;
mod moved;
mod moves;
mod prepare;
mod product;
mod store;
mod tried;
mod value;
mod world;

pub(super) use prepare::Step;
pub(super) use store::Spot;
pub(super) use tried::{relation, run_once};
use value::Kind;
pub(super) use value::{Symbol, Value, WIDTH};
pub(super) use world::{Input, Memory, Owner, PAGE, Pages, State, World};

use fork::Fork;
use typed_index_collections::{TiVec, ti_vec};

use super::program::FrameTemplate;
use super::program::rare::Cell;
use super::registers::{File, LANES, Mask, Slot};
use crate::algebra::{Element, Format, Predicate};

/// The symbols in the registers of a frame.
#[derive(Debug)]
pub(super) struct Symbols {
    /// The parts of each lane's value, by file and slot; none before the first symbol comes.
    planes: [TiVec<Slot, Option<Box<[Symbol]>>>; 3],
    /// The results of the present operation.
    results: Vec<(Cell, usize, Value)>,
    /// Those that are numbers which fill a lane's register.
    numbers: Vec<(Cell, usize, (Format, Element))>,
    /// What the lanes whose guard is a symbol had in the registers that the present operation writes.
    guarded: Vec<(Cell, usize, Predicate, Value)>,
    /// The guards of the present operation that are symbols.
    guards: [Option<Predicate>; LANES],
    /// Branches on symbols under way, the innermost last.
    forks: Vec<Fork>,
}

impl Symbols {
    /// No symbols, in the registers of a frame.
    pub(super) fn new(frame: &FrameTemplate) -> Symbols {
        let counts = [frame.preds.len(), frame.w32.len(), frame.w64.len()];
        Symbols {
            planes: counts.map(|count| ti_vec![None; count]),
            results: Vec::new(),
            numbers: Vec::new(),
            guarded: Vec::new(),
            guards: [None; LANES],
            forks: Vec::new(),
        }
    }

    /// The parts of a lane's value; those without a symbol have the kind [`Kind::None`].
    #[inline]
    pub(super) fn parts(&self, (file, slot): Cell, lane: usize) -> &[Symbol] {
        let (file, width) = place(file);
        match &self.planes[file][slot] {
            Some(plane) => &plane[lane * width..][..width],
            None => &[Symbol::NONE; WIDTH][..width],
        }
    }

    /// Writes the parts of a lane's value.
    pub(super) fn set(&mut self, cell: Cell, lane: usize, parts: &[Symbol]) {
        self.set_from(cell, lane, 0, &parts[..place(cell.0).1]);
    }

    /// Writes the parts of a lane's value from one on.
    pub(super) fn set_from(
        &mut self,
        (file, slot): Cell,
        lane: usize,
        first: usize,
        parts: &[Symbol],
    ) {
        let (file, width) = place(file);
        let plane = self.planes[file][slot]
            .get_or_insert_with(|| vec![Symbol::NONE; width * LANES].into_boxed_slice());
        plane[lane * width + first..][..parts.len()].copy_from_slice(parts);
    }

    /// Writes a number that fills a lane's register.
    #[inline]
    pub(super) fn set_number(&mut self, cell: Cell, lane: usize, format: Format, element: Element) {
        let kind = Kind::Number(format);
        let parts = [0, 1, 2, 3].map(|part| Symbol::new(element, kind, part));
        self.set_from(cell, lane, 0, &parts[..format.parts()]);
    }

    /// The number that fills a lane's register, whose bits are all symbols; none if they are something else.
    #[inline]
    pub(super) fn number(&self, cell: Cell, lane: usize, format: Format) -> Option<Element> {
        let parts = self.parts(cell, lane);
        let first = &parts[0];
        let is_number = first.kind == Kind::Number(format)
            && (0..parts.len()).all(|part| parts[part].is_part_of(first, part));
        is_number.then(|| first.element())
    }

    /// Forgets the symbols of a lane's value.
    #[inline]
    pub(super) fn forget(&mut self, (file, slot): Cell, lane: usize) {
        let (file, width) = place(file);
        if let Some(plane) = &mut self.planes[file][slot] {
            plane[lane * width..][..width].fill(Symbol::NONE);
        }
    }

    /// The lanes that execute the present operation under a condition.
    pub(super) fn conditional(&self) -> Mask {
        let forks = self.forks.iter().fold(0, |mask, fork| mask | fork.mask);
        let guards = self.guards.iter().enumerate().filter(|(_, guard)| guard.is_some());
        guards.fold(forks, |mask, (lane, _)| mask | 1 << lane)
    }
}

/// The index of a file, and the parts of a lane's value in it.
fn place(file: File) -> (usize, usize) {
    match file {
        File::Pred => (0, 1),
        File::W32 => (1, 2),
        File::W64 => (2, 4),
    }
}
