//! Sets of cells, each stored once, and the way back through statements: the cells from which a value can come.

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use super::bits::Bits;
use crate::synth::program::{CellId, Edge, HoleId, PointId, Program, Statement};

/// The number of a set of cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SetId(u32);

table_ids!(SetId);

/// For each point of a hole a bit for each value that it may have.
pub(super) type Masks = TiVec<PointId, u64>;

/// The sets, with cached facts about them.
pub(super) struct Sets<'p> {
    program: &'p Program,
    /// For each statement with a hole the values that each point may have.
    supports: TiVec<HoleId, Masks>,
    /// For each statement its edges in the order of their targets.
    incoming: Vec<Vec<Edge>>,
    sets: TiVec<SetId, Bits<CellId>>,
    numbers: FxHashMap<Bits<CellId>, SetId>,
    back: FxHashMap<(usize, SetId), Option<SetId>>,
}

impl<'p> Sets<'p> {
    /// No sets yet.
    pub(super) fn new(program: &'p Program) -> Sets<'p> {
        let supports = program.holes.iter().map(|hole| hole.family.support().into()).collect();
        let incoming = program.statements.iter().map(|statement| match statement {
            Statement::Move { edges, .. } => {
                let mut edges = edges.clone();
                edges.sort_by_key(|edge| (edge.target, edge.value));
                edges
            }
            Statement::Fold { .. } => Vec::new(),
        });
        Sets {
            program,
            supports,
            incoming: incoming.collect(),
            sets: TiVec::new(),
            numbers: FxHashMap::default(),
            back: FxHashMap::default(),
        }
    }

    /// The values that the points of a hole may have.
    pub(super) fn support(&self, hole: HoleId) -> &Masks {
        &self.supports[hole]
    }

    /// The edges into a cell.
    pub(super) fn incoming(&self, statement: usize, cell: CellId) -> &[Edge] {
        let edges = &self.incoming[statement];
        let start = edges.partition_point(|edge| edge.target < cell);
        let end = edges.partition_point(|edge| edge.target <= cell);
        &edges[start..end]
    }

    /// The set of these cells.
    pub(super) fn of(&mut self, cells: impl IntoIterator<Item = CellId>) -> SetId {
        let mut bits = Bits::new(self.program.cells);
        cells.into_iter().for_each(|cell| bits.insert(cell));
        self.intern(bits)
    }

    /// The number of a set.
    pub(super) fn intern(&mut self, bits: Bits<CellId>) -> SetId {
        if let Some(&number) = self.numbers.get(&bits) {
            return number;
        }
        let number = self.sets.push_and_get_key(bits.clone());
        self.numbers.insert(bits, number);
        number
    }

    /// How many bytes the sets take: each is stored, and is the key to its number.
    pub(super) fn bytes(&self) -> usize {
        2 * 8 * self.program.cells.div_ceil(64) * self.sets.len()
    }

    /// The bits of a set.
    pub(super) fn get(&self, set: SetId) -> &Bits<CellId> {
        &self.sets[set]
    }

    /// The sets, and the edges of each statement in the order of their targets.
    pub(super) fn into_parts(self) -> (TiVec<SetId, Bits<CellId>>, Vec<Vec<Edge>>) {
        (self.sets, self.incoming)
    }

    /// The cells before a statement from which a value can come into a set behind it; `None` where a fold
    /// lies on the way.
    fn before(&mut self, statement: usize, set: SetId) -> Option<SetId> {
        if let Some(&known) = self.back.get(&(statement, set)) {
            return known;
        }
        let made = self.program.statements[statement].made().clone();
        let mut bits = self.sets[set].clone();
        let own: Vec<CellId> = bits.iter().filter(|&cell| made.has(cell)).collect();
        let found = match &self.program.statements[statement] {
            _ if own.is_empty() => Some(set),
            Statement::Fold { .. } => None,
            Statement::Move { hole, .. } => {
                for cell in own {
                    bits.remove(cell);
                    let support = &self.supports[*hole];
                    for edge in self.incoming(statement, cell) {
                        if support[edge.point] >> edge.value & 1 == 1 {
                            bits.insert(edge.source);
                        }
                    }
                }
                Some(self.intern(bits))
            }
        };
        self.back.insert((statement, set), found);
        found
    }

    /// The cells behind a statement from which a value can come into a set of final cells.
    pub(super) fn behind(&mut self, statement: usize, set: SetId) -> Option<SetId> {
        (statement + 1..self.program.statements.len())
            .rev()
            .try_fold(set, |set, later| self.before(later, set))
    }

    /// The cells of inputs from which a value can come into a set of final cells.
    pub(super) fn origin(&mut self, set: SetId) -> Option<SetId> {
        (0..self.program.statements.len()).rev().try_fold(set, |set, later| self.before(later, set))
    }
}
