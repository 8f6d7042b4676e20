//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use super::machine::Machine;
use crate::cfg::{Arg, Inst};
use crate::expr::{Comparison, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `setp.cmp[.bool].type p[|q], a, b[, c]`: `p = cmp bool c`, `q = !cmp bool c`. True if it
    /// was emulated.
    pub(super) fn setp(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let Some(ty) = inst.ast.form.last_type() else { return false };
        let Some(condition) = self.comparison(inst, ty) else { return false };
        let third = match inst.args.get(3) {
            Some(arg) => match self.predicate(arg) {
                Some(term) => Some(term),
                None => return false,
            },
            None => None,
        };
        let negated = self.arena.not(condition);
        let (p, q) = (self.combine(inst, condition, third), self.combine(inst, negated, third));
        match &inst.args[0] {
            Arg::Pair(pair) => {
                self.set(&pair[0], p, ScalarType::Pred, guard);
                self.set(&pair[1], q, ScalarType::Pred, guard);
            }
            single => self.set(single, p, ScalarType::Pred, guard),
        }
        true
    }

    fn combine(&mut self, inst: &Inst<'_, 's>, condition: TermId, third: Option<TermId>) -> TermId {
        let Some(third) = third else { return condition };
        match () {
            () if inst.ast.form.has(Qualifier::And) => self.arena.and(condition, third),
            () if inst.ast.form.has(Qualifier::Or) => self.arena.or(condition, third),
            () => self.arena.xor(condition, third),
        }
    }

    /// The comparison of the first two sources.
    fn comparison(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let name = inst.ast.form.first_of(Qualifier::COMPARISONS)?;
        let w = super::machine::width_of(ty);
        let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
        if ty.is_float() {
            return Some(self.float_comparison(inst, name, ty, a, b));
        }
        let signed = ty.is_signed();
        let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
        let less_equal =
            if signed { Comparison::SignedLessEqual } else { Comparison::UnsignedLessEqual };
        Some(match name {
            Qualifier::Eq => self.arena.equal(a, b),
            Qualifier::Ne => {
                let equal = self.arena.equal(a, b);
                self.arena.not(equal)
            }
            Qualifier::Lt => self.arena.compare(less, a, b),
            Qualifier::Le => self.arena.compare(less_equal, a, b),
            Qualifier::Gt => self.arena.compare(less, b, a),
            Qualifier::Ge => self.arena.compare(less_equal, b, a),
            Qualifier::Lo => self.arena.compare(Comparison::UnsignedLess, a, b),
            Qualifier::Ls => self.arena.compare(Comparison::UnsignedLessEqual, a, b),
            Qualifier::Hi => self.arena.compare(Comparison::UnsignedLess, b, a),
            Qualifier::Hs => self.arena.compare(Comparison::UnsignedLessEqual, b, a),
            _ => return None,
        })
    }

    /// `selp`, `slct`, `set`.
    pub(super) fn selection(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let types = inst.ast.form.types();
        match inst.ast.form.opcode {
            Opcode::Selp => {
                let w = types.last()?.bits().min(64) as u8;
                let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
                let condition = self.predicate(inst.args.get(3)?)?;
                Some(self.arena.if_then_else(condition, a, b))
            }
            Opcode::Slct => {
                let [result, tested] = types[..] else { return None };
                let w = result.bits() as u8;
                let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
                let tested_width = super::machine::width_of(tested);
                let c = self.source(inst, 2, tested_width)?;
                let zero = self.arena.constant(0, tested_width);
                if tested.is_float() {
                    // `c >= 0.0`, false for a NaN.
                    let at_least = self.float_comparison(inst, Qualifier::Ge, tested, c, zero);
                    return Some(self.arena.if_then_else(at_least, a, b));
                }
                let negative = self.arena.compare(Comparison::SignedLess, c, zero);
                Some(self.arena.if_then_else(negative, b, a))
            }
            _ => {
                let [result, compared] = types[..] else { return None };
                let condition = self.comparison(inst, compared)?;
                let third = match inst.args.get(3) {
                    Some(arg) => Some(self.predicate(arg)?),
                    None => None,
                };
                let condition = self.combine(inst, condition, third);
                let w = result.bits() as u8;
                let truth = match result {
                    ScalarType::F32 => u64::from(1f32.to_bits()),
                    ScalarType::F16 => 0x3c00,
                    ScalarType::Bf16 => 0x3f80,
                    _ if result.is_float() => return None,
                    _ => u64::MAX,
                };
                let (yes, no) = (self.arena.constant(truth, w), self.arena.constant(0, w));
                Some(self.arena.if_then_else(condition, yes, no))
            }
        }
    }

    /// A comparison of floating-point numbers: a function of both that is named by the comparison,
    /// the type and whether subnormal numbers count as zero.
    fn float_comparison(
        &mut self,
        inst: &Inst<'_, 's>,
        name: Qualifier,
        ty: ScalarType,
        a: TermId,
        b: TermId,
    ) -> TermId {
        let ftz = if inst.ast.form.has(Qualifier::Ftz) { ".ftz" } else { "" };
        let function = self.symbols.function(&format!("compare.{name}{ftz}{ty}"));
        self.arena.apply(function, &[a, b], 1)
    }
}
