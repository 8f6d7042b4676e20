//! Branches on poison whose two paths only compute: they reach no effect by themselves. At the reconvergence point the
//! registers that either path writes depend on poison.

use typed_index_collections::TiSlice;

use super::{Pending, Poison, results};
use crate::interp::program::rare::Cell;
use crate::interp::program::{AT_RETURN, MicroOp, Op, Pc};
use crate::interp::registers::{Mask, lanes};

/// The most micro-operations between a branch on poison and the place where its ways meet.
const MOST: usize = 1 << 10;

/// A branch, where it leads, and where its ways meet.
#[derive(Clone, Copy)]
pub(in crate::interp) struct Ways {
    pub branch: Pc,
    pub target: Pc,
    pub meet: Pc,
}

impl Ways {
    /// The registers that are written on the ways, at most `most` micro-operations; none if some other effect is reached that
    /// is not `passed`. (A loop back to the branch is one of the ways.)
    pub(in crate::interp) fn written(
        self,
        code: &TiSlice<Pc, MicroOp>,
        most: usize,
        passed: impl Fn(Pc, &Op) -> Option<bool>,
    ) -> Option<Vec<Cell>> {
        let mut open = vec![self.target, self.branch.next()];
        let (mut seen, mut cells) = (Vec::new(), Vec::new());
        while let Some(pc) = open.pop() {
            if pc == self.meet || seen.contains(&pc) {
                continue;
            }
            if seen.len() == most {
                return None;
            }
            seen.push(pc);
            let op = &code.get(pc)?.op;
            let is_passed = passed(pc, op)?;
            match op {
                Op::Branch { target, .. } => open.push(*target),
                _ if is_passed => {}
                op => {
                    for cell in results(op)? {
                        if !cells.contains(&cell) {
                            cells.push(cell);
                        }
                    }
                }
            }
            open.push(pc.next());
        }
        Some(cells)
    }
}

impl Poison {
    /// Lets lanes take a branch whose guard is poison, if its ways only compute. Returns whether they do.
    pub(super) fn branches(
        &mut self,
        (code, pc): (&TiSlice<Pc, MicroOp>, Pc),
        (target, meet): (Pc, Pc),
        (guard, uncertain): (Cell, Mask),
    ) -> bool {
        if meet == AT_RETURN {
            return false;
        }
        let is_known = |one: &Pending| one.branch == pc && uncertain & !one.lanes == 0;
        if self.pending.iter().any(is_known) {
            return true;
        }
        let ways = Ways { branch: pc, target, meet };
        let Some(cells) = ways.written(code, MOST, |_, _| Some(false)) else { return false };
        let mut sources = [super::Source::default(); 32];
        lanes(uncertain).for_each(|lane| sources[lane] = self.source(guard, lane));
        self.pending.push(Pending { branch: pc, at: meet, lanes: uncertain, cells, sources });
        true
    }

    /// Poisons the registers that lanes have written since a branch on poison, at its reconvergence point.
    #[inline]
    pub(crate) fn reach(&mut self, pc: Pc, mask: Mask) {
        if !self.pending.is_empty() {
            self.reach_pending(pc, mask);
        }
    }

    #[cold]
    fn reach_pending(&mut self, pc: Pc, mask: Mask) {
        let mut pending = std::mem::take(&mut self.pending);
        for one in pending.iter_mut().filter(|one| one.at == pc && one.lanes & mask != 0) {
            for &cell in &one.cells {
                for lane in lanes(one.lanes & mask) {
                    self.add(cell, lane, super::whole(cell.0), one.sources[lane]);
                }
            }
            one.lanes &= !mask;
        }
        pending.retain(|one| one.lanes != 0);
        self.pending = pending;
    }
}
