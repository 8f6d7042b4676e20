//! The number of iterations of a loop, as far as it can be computed in front of the loop.

use super::code::LoopCode;
use crate::cfg::{Arg, Flow, InstId, RegisterId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// The largest change of a counter in one iteration.
const MAX_STEP: i64 = 1 << 20;

/// A counter of 32 bits that is compared with a bound at the end of each iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TripCount {
    /// The counter, which an iteration changes once, in front of the comparison.
    pub counter: RegisterId,
    /// The change of it in an iteration.
    pub step: i64,
    /// The value that it is compared with.
    pub bound: Bound,
    /// The relation that makes the loop go on.
    pub relation: Relation,
}

/// A value that does not change in the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A register's.
    Register(RegisterId),
    /// A constant.
    Constant(i64),
}

/// The relation of the counter to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It lies in front of the bound, as numbers of a type.
    Before(ScalarType),
    /// It is another number.
    Other,
}

impl TripCount {
    /// The number of iterations of a loop.
    pub fn of(flow: &Flow<'_, '_>, code: &LoopCode) -> Option<TripCount> {
        let insts = &flow.insts;
        let branch = code.range.end.before();
        let (predicate, negated) = insts[branch].guard?;
        let writers = |register: RegisterId| code.writers(flow, register);
        let &at = writers(predicate).last().filter(|at| code.always(**at))?;
        let inst = &insts[at];
        let form = &inst.ast.form;
        let [Modifier::Qualifier(name), Modifier::Type(ty)] = form.modifiers() else { return None };
        let [Arg::Register(_), Arg::Register(counter), bound] = &inst.args[..] else { return None };
        if form.opcode != Opcode::Setp || inst.guard.is_some() || ty.bits() != 32 || ty.is_float() {
            return None;
        }
        let bound = match bound {
            Arg::Register(bound) if writers(*bound).is_empty() => Bound::Register(*bound),
            Arg::Constant(value) => {
                let is_small = |value: &i64| i32::try_from(*value).is_ok();
                Bound::Constant(value.as_integer().filter(is_small)?)
            }
            _ => return None,
        };
        let [changed] = writers(*counter)[..] else { return None };
        let step =
            changed_by(flow, changed, *counter).filter(|_| changed < at && code.always(changed))?;
        let relation = match (name, negated) {
            (Qualifier::Lt, false) | (Qualifier::Ge, true) if step > 0 => Relation::Before(*ty),
            (Qualifier::Gt, false) | (Qualifier::Le, true) if step < 0 => Relation::Before(*ty),
            (Qualifier::Ne, false) | (Qualifier::Eq, true) => Relation::Other,
            _ => return None,
        };
        let fits = match relation {
            Relation::Other => step.unsigned_abs().is_power_of_two(),
            Relation::Before(ty) => ty != ScalarType::B32,
        };
        let wide = flow.registers[*counter].ty.bits() == 32;
        let found = TripCount { counter: *counter, step, bound, relation };
        let is_before = match (found.bound, found.edge()) {
            (Bound::Constant(bound), Some(edge)) if step > 0 => (0..=edge).contains(&bound),
            (Bound::Constant(bound), Some(edge)) => bound >= edge && bound >= 0,
            _ => true,
        };
        (fits && wide && step != 0 && step.abs() <= MAX_STEP && is_before).then_some(found)
    }

    /// Bytes that an access moves at most while the counter moves by 1.
    pub fn factor(&self, step: i64) -> i64 {
        let each = self.step.unsigned_abs();
        step.unsigned_abs().div_ceil(each) as i64
    }

    /// The bits by which the counter's way is shifted to the right for at least the number of iterations but one.
    pub fn shift(&self) -> u32 {
        self.step.unsigned_abs().max(1).ilog2()
    }

    /// The last bound before which no step leads around from one end of the numbers to the other; `None` if there is no
    /// such step.
    pub fn edge(&self) -> Option<i64> {
        let Relation::Before(ty) = self.relation else { return None };
        let room = self.step.abs() - 1;
        let (least, most) = match ty.is_signed() {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        (room > 0).then_some(if self.step > 0 { most - room } else { least + room })
    }

    /// Whether the number of iterations is known under a condition only.
    pub fn is_tested(&self) -> bool {
        self.relation != Relation::Other || self.step.abs() != 1
    }
}

/// What an instruction adds to a register of 32 bits.
fn changed_by(flow: &Flow<'_, '_>, at: InstId, register: RegisterId) -> Option<i64> {
    let inst = &flow.insts[at];
    let is_plain = inst.guard.is_none()
        && matches!(inst.ast.form.modifiers(), [Modifier::Type(ScalarType::S32 | ScalarType::U32)]);
    let [Arg::Register(to), Arg::Register(from), Arg::Constant(by)] = &inst.args[..] else {
        return None;
    };
    if !is_plain || (*to, *from) != (register, register) {
        return None;
    }
    let by = by.as_integer()?;
    match inst.ast.form.opcode {
        Opcode::Add => Some(by),
        Opcode::Sub => Some(-by),
        _ => None,
    }
}
