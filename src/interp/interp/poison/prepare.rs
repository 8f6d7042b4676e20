//! The treatment of poison before a micro-operation is executed.

use typed_index_collections::TiSlice;

use super::{Found, Marks, OPERAND, Poison, Source, other_results, results, uses, writes};
use crate::interp::exec::AccessFault;
use crate::interp::memory::Site;
use crate::interp::program::rare::Cell;
use crate::interp::program::{Guard, MicroOp, Op, Pc};
use crate::interp::recorder::Recorder;
use crate::interp::registers::{File, Mask, Registers, lanes};
use crate::interp::symbol::{Row, Step, World};

const BRANCH: &str = "whether this branch is taken";
const PREDICATE: &str = "the predicate of this instruction";

impl Poison {
    /// Checks that no poison decides an effect of a micro-operation, and computes the poison of its results; `site` is
    /// its number among those of all functions, and `active` of the group's lanes `mask` execute it. Returns the lanes that do.
    ///
    /// # Errors
    /// Poison decides where lanes go on, which address they access, or what others see.
    pub(crate) fn prepare(
        &mut self,
        (code, pc, site): (&TiSlice<Pc, MicroOp>, Pc, Site),
        registers: &mut Registers,
        (mask, active): (Mask, Mask),
        world: Option<&World>,
    ) -> Result<Step, AccessFault> {
        let micro = &code[pc];
        self.site = site;
        if let (Some(_), Some(world)) = (&self.symbols, world) {
            return self.prepare_symbols((code, pc), registers, (mask, active), world);
        }
        if let Some(origins) = &mut self.origins {
            origins.before(&micro.op, registers);
        }
        let guard = match micro.guard {
            Guard::Always => None,
            Guard::If(slot) | Guard::Unless(slot) => Some((File::Pred, slot)),
        };
        let uncertain = guard.map_or(0, |cell| self.lanes(cell) & mask);
        let written = results(&micro.op);
        let decided = guard.filter(|_| written.is_none()).map(|cell| (cell, uncertain));
        match self.recorder.clone() {
            Some(recorder) => self.record(&recorder, (code, pc), decided, active),
            None if self.check((code, pc), decided, active)? => return Ok(Step::Lanes(active)),
            None => {}
        }
        match &micro.op {
            Op::Lanes(op, slots) => self.lanes_op((op, slots), active, registers),
            Op::Scalar(scalar) => self.scalar(scalar, active),
            Op::CrossLane(cross_lane) if active != 0 => self.cross_lane(cross_lane, registers),
            Op::IsSpace(p, a, _) => {
                let poisoned = self.lanes((File::W64, *a)) & active;
                self.clear((File::Pred, *p), active);
                self.fill((File::Pred, *p), poisoned, (File::W64, *a));
            }
            op => {
                let cells = written.clone().unwrap_or_else(|| other_results(op));
                cells.iter().for_each(|&cell| self.clear(cell, active));
            }
        }
        if self.recorder.as_ref().is_some_and(|recorder| recorder.is_approximate(site)) {
            for cell in writes(&micro.op) {
                lanes(active).for_each(|lane| self.add(cell, lane, u64::MAX, Source::symbol(site)));
            }
        }
        // The value in a lane's register depends on whether the lane has written it.
        if let (Some(guard), Some(written), true) = (guard, written, uncertain != 0) {
            written.iter().for_each(|&cell| self.fill(cell, uncertain, guard));
        }
        Ok(Step::Lanes(active))
    }

    /// Checks that no poison decides an effect; `decided`: the guard, if it decides more than registers, and its lanes with
    /// poison. Returns whether the micro-operation is a branch whose ways only compute.
    #[inline]
    fn check(
        &mut self,
        (code, pc): (&TiSlice<Pc, MicroOp>, Pc),
        decided: Option<(Cell, Mask)>,
        active: Mask,
    ) -> Result<bool, AccessFault> {
        let op = &code[pc].op;
        if let Some((cell, uncertain)) = decided
            && let Some(lane) = lanes(uncertain).next()
        {
            let what = match *op {
                Op::Branch { target, meet } => {
                    if self.branches((code, pc), (target, meet), (cell, uncertain)) {
                        return Ok(true);
                    }
                    BRANCH
                }
                _ => PREDICATE,
            };
            return Err(AccessFault::poisoned(lane, what, self.source(cell, lane)));
        }
        for operand in uses(op) {
            let poisoned = self.lanes(operand.cell) & operand.lanes & active;
            if let Some(lane) = lanes(poisoned).next() {
                let source = self.source(operand.cell, lane);
                return Err(AccessFault::poisoned(lane, operand.what, source));
            }
        }
        Ok(false)
    }

    /// Notes where approximate values decide a branch, an address or another effect besides values; the parameters are those
    /// of [`Poison::check`].
    fn record(
        &mut self,
        recorder: &Recorder,
        (code, pc): (&TiSlice<Pc, MicroOp>, Pc),
        decided: Option<(Cell, Mask)>,
        active: Mask,
    ) {
        let op = &code[pc].op;
        if let Some((cell, uncertain)) = decided.filter(|&(_, uncertain)| uncertain != 0) {
            let what = match *op {
                Op::Branch { target, meet } => {
                    self.branches((code, pc), (target, meet), (cell, uncertain));
                    BRANCH
                }
                _ => PREDICATE,
            };
            recorder.reach(self.site, what);
        }
        for operand in uses(op).iter().filter(|operand| operand.what != OPERAND) {
            if self.lanes(operand.cell) & operand.lanes & active != 0 {
                recorder.reach(self.site, operand.what);
            }
        }
    }

    /// Adds the poison that an instruction has found.
    pub(crate) fn take(&mut self, Marks { found, rows, used, .. }: &mut Marks) {
        for Row { cell, lanes, format, numbers } in &rows[..std::mem::take(used)] {
            self.put_row(*cell, *lanes, *format, Some(numbers));
        }
        for Found { cell, lane, bits, source, parts } in found.drain(..) {
            match parts {
                None => self.add(cell, lane, bits, source),
                Some((first, count, parts)) => {
                    let parts = (usize::from(first), &parts[..usize::from(count)]);
                    self.add_parts(cell, lane, (bits, source), parts);
                }
            }
        }
    }
}
