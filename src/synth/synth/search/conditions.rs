//! The possible conditions of a fold, given the values that it folds.

use typed_index_collections::TiSlice;

use super::level::Level;
use super::worker::{Reason, Worker};
use crate::synth::program::{Guard, PointId};
use crate::synth::term::{TermId, UNDEFINED};

impl Worker<'_> {
    /// The required conditions of a hole, with all values known.
    pub(super) fn conditions(
        &mut self,
        level: &Level,
        masks: &mut TiSlice<PointId, u64>,
    ) -> Result<(), Reason> {
        let plan = self.plan;
        for (number, sink) in plan.sinks.iter_enumerated() {
            if sink.fold != Some(level.statement) || self.loose(sink) {
                continue;
            }
            let terms: Vec<TermId> = sink.slots.iter().map(|slot| self.product(slot)).collect();
            for &(term, count) in &sink.elements {
                *self.count(term) = count as i32;
            }
            let mut fine = true;
            // What surely takes part, then what still may.
            let decided = |guard: Guard| match guard {
                Guard::Always => Some(true),
                Guard::Hole(hole, point) if hole < level.hole => {
                    Some(self.tables[hole][point] == 1)
                }
                Guard::Hole(..) => None,
            };
            let decided: Vec<Option<bool>> =
                sink.slots.iter().map(|slot| decided(slot.guard)).collect();
            for (decided, &term) in decided.iter().zip(&terms) {
                if *decided == Some(true) {
                    *self.count(term) -= 1;
                    fine &= *self.count(term) >= 0;
                }
            }
            let needs: Vec<i32> = terms.iter().map(|&term| *self.count(term)).collect();
            for (decided, &term) in decided.iter().zip(&terms) {
                if decided.is_none() && *self.count(term) > -(1 << 20) {
                    *self.count(term) -= 1;
                }
            }
            // Now a count above 0 says that too little can come.
            let missing = sink.elements.iter().map(|(term, _)| *term).find(|&t| *self.count(t) > 0);
            for ((slot, &term), &need) in sink.slots.iter().zip(&terms).zip(&needs) {
                let Guard::Hole(hole, point) = slot.guard else { continue };
                if hole != level.hole {
                    continue;
                }
                let mask = &mut masks[point];
                if term == UNDEFINED || need <= 0 {
                    *mask &= 1;
                } else if *self.count(term) == 0 || planted!(Bug::EverythingForced) {
                    *mask &= 2;
                }
                fine &= *mask != 0;
            }
            for &(term, _) in &sink.elements {
                *self.count(term) = 0;
            }
            for &term in &terms {
                *self.count(term) = 0;
            }
            if let Some(term) = missing {
                return Err(Reason::Sink(number, term));
            }
            if !fine {
                return Err(Reason::Sink(number, plan.sinks[number].elements[0].0));
            }
        }
        Ok(())
    }
}
