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
//! `value`: values made of parts of 16 bits; `plane`: many of them; `choice`: one of two values; `world`: memory and the algebra; `lanes`: warp-wide
//! operations; `numbers`: those on numbers in all lanes; `moves`, `moved`: operations that only move bits; `integers`, `tried`: integers that depend on symbols, and the bits of numbers as integers; `fork`, `join`: branches on symbols; `prepare`: the steps around a micro-operation; `product`: matrices;
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
mod numbers;
mod plane;
mod prepare;
mod product;
mod store;
mod tried;
mod value;
mod world;

use plane::Plane;
pub(super) use plane::Row;
pub(super) use prepare::Step;
pub(super) use store::Spot;
pub(super) use tried::{relation, run_once};
pub(super) use value::{Symbol, Value, WIDTH};
pub(super) use world::{Input, Memory, Owner, PAGE, Pages, State, Words, World};

use fork::Fork;
use typed_index_collections::TiVec;

use super::program::FrameTemplate;
use super::program::rare::Cell;
use super::registers::{File, LANES, Mask, Slot};
use crate::algebra::{Element, Elements, Format, Predicate};

/// The symbols in the registers of a frame.
#[derive(Debug)]
pub(super) struct Symbols {
    /// The parts of each lane's value, by file and slot; none before the first symbol comes.
    planes: [TiVec<Slot, Option<Box<Plane<LANES>>>>; 3],
    /// The results of the present operation.
    results: Vec<(Cell, usize, Value)>,
    /// Those that are numbers which fill a lane's register.
    numbers: Vec<(Cell, usize, (Format, Element))>,
    /// The numbers that the present operation has computed at once.
    row: Elements<LANES>,
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
            planes: counts.map(|count| (0..count).map(|_| None).collect()),
            results: Vec::new(),
            numbers: Vec::new(),
            row: Elements::default(),
            guarded: Vec::new(),
            guards: [None; LANES],
            forks: Vec::new(),
        }
    }

    /// The parts of a lane's value; those without a symbol have the kind [`value::Kind::None`].
    #[inline]
    pub(super) fn parts(&self, cell: Cell, lane: usize) -> [Symbol; WIDTH] {
        self.plane(cell).map_or([Symbol::NONE; WIDTH], |plane| plane.parts(lane))
    }

    /// One part of a lane's value.
    #[inline]
    pub(super) fn part(&self, cell: Cell, lane: usize, part: usize) -> Symbol {
        self.plane(cell).map_or(Symbol::NONE, |plane| plane.part(lane, part))
    }

    #[inline]
    fn plane(&self, (file, slot): Cell) -> Option<&Plane<LANES>> {
        self.planes[place(file).0][slot].as_deref()
    }

    #[inline]
    fn plane_mut(&mut self, (file, slot): Cell) -> &mut Plane<LANES> {
        let (file, width) = place(file);
        self.planes[file][slot].get_or_insert_with(|| Box::new(Plane::new(width)))
    }

    /// Writes the parts of a lane's value.
    pub(super) fn set(&mut self, cell: Cell, lane: usize, parts: &[Symbol]) {
        self.plane_mut(cell).set(lane, 0, &parts[..place(cell.0).1]);
    }

    /// The number that fills a lane's register, whose bits are all symbols; none if they are something else.
    #[inline]
    pub(super) fn number(&self, cell: Cell, lane: usize, format: Format) -> Option<Element> {
        let (own, element) = self.plane(cell)?.number(lane)?;
        (own == format).then_some(element)
    }

    /// Forgets the symbols of a lane's value.
    #[inline]
    pub(super) fn forget(&mut self, (file, slot): Cell, lane: usize) {
        if let Some(plane) = &mut self.planes[place(file).0][slot] {
            plane.forget(lane);
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
