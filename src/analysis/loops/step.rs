//! How addresses move over the iterations of a loop: by a sum of values that the loop does not change.
//!
//! In: the sums of a loop's registers. Out: the [`Step`] of an address, the same in all iterations, and the [`Index`]es of 32
//! bits in it that the loop widens.

use super::code::LoopCode;
use super::sums::{Held, Sum, Sums};
use crate::cfg::{Arg, Flow, RegisterId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// The largest step of an address, and the largest factor of a register in it.
pub const MAX_STEP: i64 = 1 << 20;

/// A number of 32 bits with a sign that a loop widens to 64 bits. As long as it does not wrap around, it changes by the same
/// number in each iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Registers of 32 bits with their factors: its value in the first iteration, modulo 2 to the 32.
    pub parts: Vec<(RegisterId, i64)>,
    /// The constant of that sum.
    pub constant: i64,
    /// Its change in each iteration.
    pub step: i64,
}

/// Bytes by which an address changes in each iteration: a sum of values that the loop does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Registers of 64 bits with their factors. With one, it has to be tested that the step is not negative and not above
    /// [`Step::MOST`].
    pub parts: Vec<(RegisterId, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Step {
    /// The largest step that is not a constant: times any number of iterations it fits into 64 bits.
    pub const MOST: i64 = 1 << 31;

    /// The step, if it is a constant.
    pub fn known(&self) -> Option<i64> {
        self.parts.is_empty().then_some(self.constant)
    }

    /// Whether the address is the same in all iterations.
    pub fn is_zero(&self) -> bool {
        self.known() == Some(0)
    }

    /// The same with the changes of indices.
    pub fn indexed(mut self, of: &[(usize, i64)], indices: &[Index]) -> Option<Step> {
        for (index, factor) in of {
            let each = indices[*index].step.checked_mul(*factor)?;
            self.constant = self.constant.checked_add(each)?;
        }
        is_small(self.constant).then_some(self)
    }
}

/// The change of a sum in each iteration, if it is the same in all of them.
pub fn step(
    sums: &mut Sums<'_, '_, '_>,
    first: &Sum,
    code: &LoopCode,
    flow: &Flow<'_, '_>,
) -> Option<Step> {
    let mut found = Sum::default();
    for (held, factor) in &first.parts {
        if held.by.is_some() {
            return None;
        }
        let mut later = sums.of(held.register, code.range.end);
        if later.parts.remove(held) != Some(1) {
            return None;
        }
        found.add(&later, *factor);
    }
    let mut parts = Vec::new();
    for (held, factor) in &found.parts {
        let changes = || !code.writers(flow, held.register).is_empty();
        if held.by.is_some() || !is_small(*factor) || changes() {
            return None;
        }
        parts.push((held.register, *factor));
    }
    is_small(found.constant).then_some(Step { parts, constant: found.constant })
}

fn is_small(number: i64) -> bool {
    number.unsigned_abs() <= MAX_STEP as u64
}

/// Takes the values out of an address that the loop widens from 32 bits, and gives the numbers of these indices with their
/// factors.
pub fn take_indices(
    flow: &Flow<'_, '_>,
    code: &LoopCode,
    words: &mut Sums<'_, '_, '_>,
    address: &mut Sum,
    indices: &mut Vec<Index>,
) -> Option<Vec<(usize, i64)>> {
    let computed = address.parts.keys().filter(|held| held.by.is_some());
    let mut taken = Vec::new();
    for held in computed.copied().collect::<Vec<Held>>() {
        let at = held.by.filter(|at| code.always(*at) && flow.insts[*at].guard.is_none())?;
        let inst = &flow.insts[at];
        let (register, times) =
            match (inst.ast.form.opcode, inst.ast.form.modifiers(), &inst.args[1..]) {
                (
                    Opcode::Mul,
                    [Modifier::Qualifier(Qualifier::Wide), Modifier::Type(ScalarType::S32)],
                    [Arg::Register(register), Arg::Constant(times)],
                ) => (*register, times.as_integer().filter(|times| is_small(*times))?),
                (
                    Opcode::Cvt,
                    [Modifier::Type(ScalarType::S64), Modifier::Type(ScalarType::S32)],
                    [Arg::Register(register)],
                ) => (*register, 1),
                _ => return None,
            };
        let first = words.of(register, at);
        let each = step(words, &first, code, flow)?.known()?;
        let small =
            |(held, factor): (&Held, &i64)| is_small(*factor).then_some((held.register, *factor));
        let index = Index {
            parts: first.parts.iter().map(small).collect::<Option<_>>()?,
            constant: i64::from(first.constant as i32),
            step: each,
        };
        let number = indices.iter().position(|one| *one == index).unwrap_or_else(|| {
            indices.push(index);
            indices.len() - 1
        });
        let factor = address.parts.remove(&held)?.checked_mul(times)?;
        taken.push((number, factor));
    }
    Some(taken)
}
