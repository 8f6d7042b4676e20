//! Branches on symbols: lanes go both ways, one after the other, up to the reconvergence point. There each register that one
//! of the ways writes is a choice between the values that both have left, and a store on the way was a choice in memory.

use typed_index_collections::TiSlice;

use super::fork::{Fork, Rows};
use super::value::Value;
use super::world::State;
use crate::algebra::Predicate;
use crate::interp::exec::AccessFault;
use crate::interp::fault::FaultKind;
use crate::interp::poison::{Poison, Ways};
use crate::interp::program::rare::Cell;
use crate::interp::program::{AT_RETURN, MicroOp, Op, Pc};
use crate::interp::registers::{LANES, Mask, Registers, lanes};

/// The most micro-operations between a branch and the reconvergence point.
const MOST: usize = 1 << 12;

impl Poison {
    /// Begins both ways of a branch with the lanes `mask`, all of whose guards are symbols. Returns whether it can.
    pub(super) fn fork(
        &mut self,
        (code, pc): (&TiSlice<Pc, MicroOp>, Pc),
        (target, meet): (Pc, Pc),
        (mask, predicates): (Mask, [Predicate; LANES]),
        registers: &Registers,
    ) -> bool {
        if meet == AT_RETURN {
            return false;
        }
        // A store can be given a condition; a loop back to the branch cannot.
        let passed = |at: Pc, op: &Op| (at != pc).then_some(matches!(op, Op::Store(_)));
        let ways = Ways { branch: pc, target, meet };
        let Some(cells) = ways.written(code, MOST, passed) else { return false };
        let before = self.rows(&cells, mask, registers);
        let (other, first) = (pc.next(), None);
        if let Some(symbols) = &mut self.symbols {
            symbols.forks.push(Fork { meet, other, mask, predicates, cells, before, first });
        }
        true
    }

    fn rows(&self, cells: &[Cell], mask: Mask, registers: &Registers) -> Rows {
        let row = |&cell: &Cell| {
            let mut row = [Value::known(0); LANES];
            lanes(mask).for_each(|lane| row[lane] = self.value(cell, lane, registers));
            row
        };
        cells.iter().map(row).collect()
    }

    /// Goes on at the reconvergence point of a branch on symbols. Returns where the lanes go on instead.
    ///
    /// # Errors
    /// Only some of the lanes have come.
    #[cold]
    pub(super) fn join(
        &mut self,
        pc: Pc,
        mask: Mask,
        registers: &mut Registers,
        state: &mut State,
    ) -> Result<Option<Pc>, AccessFault> {
        let ends = |fork: &Fork| fork.meet == pc && fork.mask & mask != 0;
        let Some(symbols) = &mut self.symbols else { return Ok(None) };
        let Some(at) = symbols.forks.iter().rposition(ends) else { return Ok(None) };
        let mut fork = symbols.forks.remove(at);
        if fork.mask != mask {
            let lane = mask.trailing_zeros() as usize;
            let message = "lanes part here inside a branch on symbolic data".to_owned();
            return Err(AccessFault::new(lane, FaultKind::Symbolic, message));
        }
        let left = self.rows(&fork.cells, mask, registers);
        match fork.first.take() {
            None => {
                for (&cell, row) in fork.cells.iter().zip(&fork.before) {
                    lanes(mask).for_each(|lane| self.put(cell, lane, row[lane], registers));
                }
                let other = fork.other;
                fork.first = Some(left);
                if let Some(symbols) = &mut self.symbols {
                    symbols.forks.insert(at, fork);
                }
                Ok(Some(other))
            }
            Some(_) if planted!(Bug::OneWay) => Ok(Some(pc)),
            Some(first) => {
                for (at, &cell) in fork.cells.iter().enumerate() {
                    for lane in lanes(mask) {
                        let values = [first[at][lane], left[at][lane]];
                        let chosen = state.choice_of(cell.0, fork.predicates[lane], values);
                        self.put(cell, lane, chosen, registers);
                    }
                }
                Ok(Some(pc))
            }
        }
    }
}
