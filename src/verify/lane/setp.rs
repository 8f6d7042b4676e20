//! `setp`: comparisons of integers exactly, of floating-point numbers by one of four functions.

use super::state::Evaluation;
use crate::cfg::{Arg, Inst};
use crate::expr::{Comparison, TermId};
use crate::isa::{Modifier, Qualifier};
use crate::ptx::ScalarType;
use crate::terms::{FloatComparison, Function, commute};

impl<'s> Evaluation<'_, 's> {
    /// `setp.cmp[.bool].type p[|q], a, b[, c]`: `p = cmp(a, b) bool c`, `q = !cmp(a, b) bool c`.
    pub(super) fn setp(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let ast = inst.ast;
        let Some(&ty) = ast.form.types().first() else { return false };
        let width = ty.bits().min(64) as u8;
        let (Some(a), Some(b)) = (inst.args.get(1), inst.args.get(2)) else { return false };
        let (Some(a), Some(b)) = (self.operand(a, width), self.operand(b, width)) else {
            return false;
        };
        let combine = ast.form.first_of(&[Qualifier::And, Qualifier::Or, Qualifier::Xor]);
        let Some(compared) = self.compared(inst, a, b, ty) else { return false };
        let other = match (combine, inst.args.get(3)) {
            (None, None) => None,
            (Some(op), Some(arg)) => match self.operand(arg, 1) {
                Some(term) => Some((op, term)),
                None => return false,
            },
            _ => return false,
        };
        let combined = |this: &mut Self, term: TermId| match other {
            None => term,
            Some((Qualifier::And, c)) => this.terms.arena.and(term, c),
            Some((Qualifier::Or, c)) => this.terms.arena.or(term, c),
            Some((_, c)) => this.terms.arena.xor(term, c),
        };
        let first = combined(self, compared);
        match &inst.args[0] {
            Arg::Pair(pair) => {
                let negated = self.terms.arena.not(compared);
                let second = combined(self, negated);
                self.set(&pair[0], first, false, guard);
                self.set(&pair[1], second, false, guard);
            }
            single => self.set(single, first, false, guard),
        }
        true
    }

    fn compared(
        &mut self,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        let Some(&Modifier::Qualifier(name)) = inst.ast.form.modifiers().first() else {
            return None;
        };
        if is_packed(ty) {
            return None;
        }
        if ty.is_float() {
            return self.compared_floats(inst, name, (a, b), ty);
        }
        let signed = ty.is_signed()
            && !matches!(name, Qualifier::Lo | Qualifier::Ls | Qualifier::Hi | Qualifier::Hs);
        let (less, less_equal) = match signed {
            true => (Comparison::SignedLess, Comparison::SignedLessEqual),
            false => (Comparison::UnsignedLess, Comparison::UnsignedLessEqual),
        };
        let arena = &mut self.terms.arena;
        Some(match name {
            Qualifier::Eq => arena.equal(a, b),
            Qualifier::Ne => {
                let equal = arena.equal(a, b);
                arena.not(equal)
            }
            Qualifier::Lt | Qualifier::Lo => arena.compare(less, a, b),
            Qualifier::Le | Qualifier::Ls => arena.compare(less_equal, a, b),
            Qualifier::Gt | Qualifier::Hi => arena.compare(less, b, a),
            Qualifier::Ge | Qualifier::Hs => arena.compare(less_equal, b, a),
            _ => return None,
        })
    }

    /// A comparison of floating-point numbers by one of four.
    fn compared_floats(
        &mut self,
        inst: &Inst<'_, 's>,
        name: Qualifier,
        (a, b): (TermId, TermId),
        ty: ScalarType,
    ) -> Option<TermId> {
        let (basic, swapped, holds) = commute::basic_comparison(name)?;
        let mut operands = if swapped { [b, a] } else { [a, b] };
        let commutes = matches!(basic, Qualifier::Eq | Qualifier::Ne | Qualifier::Nan);
        if commutes {
            commute::sort(&mut operands);
        }
        let flushes = inst.ast.form.has(Qualifier::Ftz);
        let comparison = FloatComparison { operator: basic, flushes, ty, commutes };
        let term = self.terms.apply(Function::Compare(comparison), &operands, 1);
        Some(if holds { term } else { self.terms.arena.not(term) })
    }
}

/// Whether the type packs two numbers.
pub(super) fn is_packed(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, F16x2 | Bf16x2 | F32x2 | U16x2 | S16x2)
}
