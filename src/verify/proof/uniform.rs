//! Terms that have one value for a warp, loop-carried ones among them, and loops that all its lanes leave in the same
//! iteration.
//!
//! In: the original, evaluated. By induction over iterations, whatever the shape of a block: a loop-carried value is
//! uniform if the values at the entry and at the back edge are, and lanes leave a loop together if they enter it together
//! and stay in it by a uniform condition. In blocks of whole rows of lanes a term is uniform as well that is the same in
//! neighbouring lanes (`lanes`).

use rustc_hash::FxHashSet;
use typed_index_collections::TiVec;

use super::lanes::Lanes;
use crate::cfg::{LoopForest, LoopId};
use crate::expr::{SymbolId, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::program::Program;
use crate::ptx::FunctionKind;
use crate::record::Execution;
use crate::terms::{Terms, hardware};

/// Whether the rows of a block are whole warps.
pub(super) fn has_whole_rows([row, ..]: [u64; 3]) -> bool {
    row.is_multiple_of(u64::from(WARP_SIZE))
}

/// The uniform values of a function's loops.
pub(super) struct Uniform<'r> {
    loops: &'r LoopForest,
    is_kernel: bool,
    /// Loop-carried values that are the same in all lanes that are in the same iteration.
    carried: FxHashSet<SymbolId>,
    /// Loops that all lanes enter, and leave in the same iteration, or none.
    together: TiVec<LoopId, bool>,
    /// Whether warps are known to be rows of consecutive lanes.
    has_rows: bool,
}

impl<'r> Uniform<'r> {
    /// Those of the original, which has been evaluated.
    pub(super) fn of(program: &'r Program<'_, '_>, execution: &Execution, terms: &Terms) -> Self {
        let records = execution.loops.iter();
        let values = records.clone().flatten().flat_map(|record| &record.values);
        let is_register = values.filter(|value| value.register.is_some());
        let mut found = Uniform {
            loops: &program.flow.loops,
            is_kernel: program.function.kind == FunctionKind::Entry,
            carried: is_register.filter_map(|value| terms.as_symbol(value.symbol)).collect(),
            together: records.map(Option::is_some).collect(),
            has_rows: program.block.is_some_and(has_whole_rows),
        };
        while found.is_narrowed(execution, terms) {}
        found
    }

    /// Drops what does not follow from the rest; whether there was any.
    fn is_narrowed(&mut self, execution: &Execution, terms: &Terms) -> bool {
        let before = (self.carried.len(), self.together.iter().filter(|one| **one).count());
        for (id, record) in execution.loops.iter_enumerated() {
            let Some(record) = record else { continue };
            let parent = self.loops.get(id).parent;
            for value in &record.values {
                let Some(symbol) = terms.as_symbol(value.symbol) else { continue };
                let keeps = self.is_made(terms, value.initial, parent)
                    && self.is_made(terms, value.latch, Some(id));
                if !keeps {
                    self.carried.remove(&symbol);
                }
            }
            self.together[id] = self.together[id]
                && parent.is_none_or(|parent| self.together[parent])
                && self.is_made(terms, record.entry, parent)
                && self.is_made(terms, record.again, Some(id));
        }
        before != (self.carried.len(), self.together.iter().filter(|one| **one).count())
    }

    /// Whether a term is made of uniform values alone, for lanes at a place.
    fn is_made(&self, terms: &Terms, term: TermId, place: Option<LoopId>) -> bool {
        let is_left_together = |id: LoopId| self.loops.nested(place, id) || self.together[id];
        let is_known = |next: TermId| {
            terms.as_symbol(next).is_some_and(|symbol| {
                let made_in = terms.symbols.info(symbol).made_in;
                self.carried.contains(&symbol) && self.loops.around(made_in).all(is_left_together)
            })
        };
        hardware::is_uniform(terms, term, &is_known, self.is_kernel)
    }

    /// Whether a condition or value is the same in all lanes of a warp at a place.
    pub(super) fn holds(
        &self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        term: TermId,
        place: Option<LoopId>,
    ) -> bool {
        let mut is_next = |n| lanes.shift(terms, term, n, place) == term;
        self.has_rows && is_next(1) && is_next(-1) || self.is_made(terms, term, place)
    }

    /// Whether all lanes of a warp, or none, enter a loop and leave it in the same iteration.
    pub(super) fn leave_together(
        &self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        id: LoopId,
    ) -> bool {
        self.together[id] || self.has_rows && lanes.go_together(terms, Some(id))
    }
}
