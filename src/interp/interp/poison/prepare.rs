//! The treatment of poison before a micro-operation is executed.

use typed_index_collections::TiSlice;

use super::{Found, Poison, other_results, results, uses};
use crate::interp::exec::AccessFault;
use crate::interp::memory::Site;
use crate::interp::program::{Guard, MicroOp, Op, Pc};
use crate::interp::registers::{File, Mask, Registers, lanes};
use crate::interp::symbol::{Step, World};

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
        if let (Some(cell), None) = (guard, &written)
            && let Some(lane) = lanes(uncertain).next()
        {
            let what = match micro.op {
                Op::Branch { target, meet } => {
                    if self.branches((code, pc), (target, meet), (cell, uncertain)) {
                        return Ok(Step::Lanes(active));
                    }
                    "whether this branch is taken"
                }
                _ => "the predicate of this instruction",
            };
            return Err(AccessFault::poisoned(lane, what, self.source(cell, lane)));
        }
        for operand in uses(&micro.op) {
            let poisoned = self.lanes(operand.cell) & operand.lanes & active;
            if let Some(lane) = lanes(poisoned).next() {
                let source = self.source(operand.cell, lane);
                return Err(AccessFault::poisoned(lane, operand.what, source));
            }
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
        // The value in a lane's register depends on whether the lane has written it.
        if let (Some(guard), Some(written), true) = (guard, written, uncertain != 0) {
            written.iter().for_each(|&cell| self.fill(cell, uncertain, guard));
        }
        Ok(Step::Lanes(active))
    }

    /// Adds the poison that an instruction has found.
    pub(crate) fn take(&mut self, found: &mut Vec<Found>) {
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
