//! Follows the code between the steps of a tree: registers with known values, and the barriers passed.

use rustc_hash::FxHashMap;

use super::around::is_barrier;
use crate::cfg::{Arg, Flow, Inst, InstId, RegisterId};
use crate::collective::Obstacle;
use crate::emulate::{Effect, definitions, effect, on_numbers};
use crate::isa::Opcode;

/// The state on the way along the steps.
#[derive(Default)]
pub(super) struct Walk {
    /// The registers whose values are known.
    pub known: FxHashMap<RegisterId, u64>,
    /// The barriers passed so far.
    pub barriers: u32,
    /// The last barrier passed.
    pub barrier: Option<InstId>,
    /// The steps passed: the barriers in front of each, and its stride.
    pub strides: Vec<(u32, u64)>,
}

impl Walk {
    /// The changes of an instruction outside of the bodies to the known registers.
    pub(super) fn pass(
        &mut self,
        flow: &Flow<'_, '_>,
        at: InstId,
        line: &dyn Fn(InstId) -> u32,
    ) -> Result<(), Obstacle> {
        let inst = &flow.insts[at];
        match effect(inst) {
            Effect::Pure => {
                let value = number(inst, &self.known);
                for register in definitions(inst) {
                    match value.filter(|_| inst.guard.is_none()) {
                        Some(value) => self.known.insert(register, value),
                        None => self.known.remove(&register),
                    };
                }
            }
            Effect::Control if matches!(inst.ast.form.opcode, Opcode::Bra) => {}
            Effect::Barrier if is_barrier(inst) => {
                self.barriers += 1;
                self.barrier = Some(at);
            }
            Effect::Barrier => return Err(Obstacle::TreeBarrier(line(at))),
            _ => return Err(Obstacle::TreeBetween(line(at))),
        }
        Ok(())
    }
}

/// The result of an instruction on known registers.
fn number(inst: &Inst<'_, '_>, known: &FxHashMap<RegisterId, u64>) -> Option<u64> {
    let [Arg::Register(_), operands @ ..] = &inst.args[..] else { return None };
    let value = |arg: &Arg<'_>| match arg {
        Arg::Register(register) => known.get(register).copied(),
        Arg::Constant(value) => value.as_integer().map(|value| value as u64),
        _ => None,
    };
    let operands: Option<Vec<u64>> = operands.iter().map(value).collect();
    on_numbers(&inst.ast.form, &operands?)
}
