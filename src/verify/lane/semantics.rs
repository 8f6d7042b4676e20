//! The results of instructions, as terms: exact for the integer arithmetic of addresses and predicates,
//! an uninterpreted function of the operands for all other instructions.
//!
//! Written from the PTX ISA's definitions and on purpose not shared with the analysis: a mistake in
//! one of the two shows as a difference.

use super::setp::is_packed;
use super::state::Evaluation;
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, Comparison, TermId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::{ScalarType, StateSpace};

impl<'s> Evaluation<'_, 's> {
    /// Gives the results of an instruction without effects.
    pub(super) fn compute(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let done = match inst.ast.form.opcode {
            Opcode::Mov => self.mov(inst, guard),
            Opcode::Setp => self.setp(inst, guard),
            _ => match self.exact(inst) {
                Some(term) => {
                    let ty = self.result_type(inst);
                    self.set(&inst.args[0], term, ty.is_signed(), guard);
                    true
                }
                None => false,
            },
        };
        if !done {
            self.apply_opcode(inst, guard);
        }
    }

    /// The type of an instruction's result: its first, and twice as wide for `.wide`.
    fn result_type(&self, inst: &Inst<'_, 's>) -> ScalarType {
        let types = inst.ast.form.types();
        let first = types.first().copied().unwrap_or(ScalarType::B32);
        match (inst.ast.form.has(Qualifier::Wide), first) {
            (true, ScalarType::S16) => ScalarType::S32,
            (true, ScalarType::U16) => ScalarType::U32,
            (true, ScalarType::S32) => ScalarType::S64,
            (true, ScalarType::U32) => ScalarType::U64,
            _ => first,
        }
    }

    /// The exact value of an instruction with one result; `None` if this file has no exact value for
    /// it.
    fn exact(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let ast = inst.ast;
        let types = ast.form.types();
        let ty = *types.first()?;
        if !matches!(inst.args.first(), Some(Arg::Register(_)))
            || ast.form.has(Qualifier::Cc)
            || ast.form.has(Qualifier::Sat) && ast.form.opcode != Opcode::Cvt
        {
            return None;
        }
        let logical = ty == ScalarType::Pred;
        let width = ty.bits() as u8;
        if matches!(ast.form.opcode, Opcode::Cvt | Opcode::Cvta | Opcode::Selp) {
            return self.of_any_type(inst, &types, width);
        }
        if ty.is_float() || width > 64 || is_packed(ty) {
            return None;
        }
        // Only operations all of whose modifiers are known.
        let multiplies = matches!(ast.form.opcode, Opcode::Mul | Opcode::Mad);
        let plain = ast.form.modifiers().iter().all(|modifier| match modifier {
            Modifier::Type(_) => true,
            Modifier::Qualifier(Qualifier::Lo | Qualifier::Wide) => multiplies,
            _ => false,
        });
        if !plain || types.len() != 1 {
            return None;
        }
        let a = self.operand(inst.args.get(1)?, width)?;
        match (ast.form.opcode, inst.args.len()) {
            (Opcode::Not, 2) => Some(self.terms.arena.not(a)),
            (Opcode::Neg, 2) => Some(self.terms.arena.neg(a)),
            (Opcode::Shl | Opcode::Shr, 3) => {
                let amount = self.operand(&inst.args[2], 32)?;
                self.shift(ast.form.opcode, a, amount, ty)
            }
            (name, 3) => {
                let b = self.operand(&inst.args[2], width)?;
                self.two_operands(name, inst, a, b, ty)
            }
            (Opcode::Prmt, 4) => {
                let b = self.operand(&inst.args[2], width)?;
                let selector = self.operand(&inst.args[3], 32)?;
                let selector = self.terms.arena.constant_value(selector)?;
                Some(self.permuted(a, b, selector))
            }
            (Opcode::Bfi, 5) => {
                let into = self.operand(&inst.args[2], width)?;
                let [at, bits] = [3, 4].map(|index| {
                    let number = self.operand(&inst.args[index], 32)?;
                    self.terms.arena.constant_value(number)
                });
                self.inserted((a, into), (at? & 0xff, bits? & 0xff), width)
            }
            (Opcode::Mad, 4) => {
                let b = self.operand(&inst.args[2], width)?;
                let product = self.product(inst, a, b, ty)?;
                let c = self.operand(&inst.args[3], self.terms.arena.width(product))?;
                Some(self.terms.arena.add(product, c))
            }
            _ => None,
        }
        .filter(|_| {
            !logical
                || matches!(ast.form.opcode, Opcode::Not | Opcode::And | Opcode::Or | Opcode::Xor)
        })
    }

    /// Instructions that move values of any type: conversions and selections.
    fn of_any_type(
        &mut self,
        inst: &Inst<'_, 's>,
        types: &[ScalarType],
        width: u8,
    ) -> Option<TermId> {
        match inst.ast.form.opcode {
            Opcode::Cvt => self.convert(inst, types),
            Opcode::Cvta => {
                // The generic address of a global one is the same number (PTX ISA, "Generic
                // Addressing"); other windows start somewhere.
                let global = inst.ast.form.space() == StateSpace::Global;
                if global { self.operand(inst.args.get(1)?, width) } else { None }
            }
            _ => {
                let condition = self.operand(inst.args.get(3)?, 1)?;
                let (a, b) =
                    (self.operand(&inst.args[1], width)?, self.operand(&inst.args[2], width)?);
                Some(self.select(condition, a, b))
            }
        }
    }

    fn two_operands(
        &mut self,
        name: Opcode,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        let arena = &mut self.terms.arena;
        let less = if ty.is_signed() { Comparison::SignedLess } else { Comparison::UnsignedLess };
        Some(match name {
            Opcode::Add => arena.add(a, b),
            Opcode::Sub => arena.sub(a, b),
            Opcode::And => arena.binary(BinaryOp::And, a, b),
            Opcode::Or => arena.binary(BinaryOp::Or, a, b),
            Opcode::Xor => arena.binary(BinaryOp::Xor, a, b),
            Opcode::Min | Opcode::Max => {
                let first = arena.compare(less, a, b);
                let (low, high) =
                    (arena.if_then_else(first, a, b), arena.if_then_else(first, b, a));
                if name == Opcode::Min { low } else { high }
            }
            Opcode::Mul => return self.product(inst, a, b, ty),
            // The result of a division by zero is unspecified.
            Opcode::Div | Opcode::Rem if arena.constant_value(b).is_some_and(|b| b != 0) => {
                let op = match (name, ty.is_signed()) {
                    (Opcode::Div, true) => BinaryOp::SignedDivide,
                    (Opcode::Div, false) => BinaryOp::UnsignedDivide,
                    (_, true) => BinaryOp::SignedRemainder,
                    (_, false) => BinaryOp::UnsignedRemainder,
                };
                arena.binary(op, a, b)
            }
            _ => return None,
        })
    }

    /// `prmt` without a mode and with a constant selector: four bits for each byte: three number
    /// a byte of the two operands, and the last one says that the byte's sign fills the result's byte.
    fn permuted(&mut self, a: TermId, b: TermId, selector: u64) -> TermId {
        let arena = &mut self.terms.arena;
        let mut byte = |at: u64| {
            let control = (selector >> (4 * at)) as u8 & 15;
            let from = if control & 4 == 0 { a } else { b };
            let byte = arena.extract(from, 8 * (control & 3), 8);
            match control & 8 {
                0 => byte,
                _ => {
                    let sign = arena.extract(byte, 7, 1);
                    arena.sign_extend(sign, 8)
                }
            }
        };
        let bytes = [byte(3), byte(2), byte(1), byte(0)];
        let [top, rest @ ..] = bytes;
        rest.into_iter().fold(top, |high, low| self.terms.arena.concatenate(high, low))
    }

    /// `bfi` of the low bits of a value at a constant place within another one. (Only eight bits of both numbers count: PTX
    /// ISA, "bfi".)
    fn inserted(
        &mut self,
        (value, into): (TermId, TermId),
        (at, bits): (u64, u64),
        width: u8,
    ) -> Option<TermId> {
        let end = u8::try_from(at + bits).ok().filter(|end| bits > 0 && *end <= width)?;
        let (at, arena) = (at as u8, &mut self.terms.arena);
        let mut whole = arena.extract(value, 0, bits as u8);
        if at > 0 {
            let below = arena.extract(into, 0, at);
            whole = arena.concatenate(whole, below);
        }
        if end < width {
            let above = arena.extract(into, end, width - end);
            whole = arena.concatenate(above, whole);
        }
        Some(whole)
    }

    /// `mul.lo`, `mul.wide` of two values of the instruction's type.
    fn product(
        &mut self,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        if inst.ast.form.has(Qualifier::Lo) {
            return Some(self.terms.arena.mul(a, b));
        }
        if !inst.ast.form.has(Qualifier::Wide) || ty.bits() > 32 {
            return None;
        }
        let width = 2 * ty.bits() as u8;
        let (a, b) = (self.widen(a, width, ty.is_signed()), self.widen(b, width, ty.is_signed()));
        Some(self.terms.arena.mul(a, b))
    }

    /// Shifts. An amount of the width or more leaves nothing but sign bits ("shl", "shr").
    fn shift(&mut self, name: Opcode, a: TermId, amount: TermId, ty: ScalarType) -> Option<TermId> {
        let width = ty.bits() as u8;
        let op = match (name, ty.is_signed()) {
            (Opcode::Shl, _) => BinaryOp::ShiftLeft,
            (_, true) => BinaryOp::ArithmeticShiftRight,
            (_, false) => BinaryOp::ShiftRight,
        };
        let arena = &mut self.terms.arena;
        if width >= 32 {
            let amount = arena.zero_extend(amount, width);
            return Some(arena.binary(op, a, amount));
        }
        // A narrower shift is done in 32 bits, where amounts of 16 to 31 shift every bit out too.
        let wide = self.widen(a, 32, ty.is_signed());
        let shifted = self.terms.arena.binary(op, wide, amount);
        Some(self.terms.arena.extract(shifted, 0, width))
    }

    /// The nearest number of a type, in 64 bits (PTX ISA, "cvt": `.sat` limits the result to the type's range).
    fn clamped(&mut self, value: TermId, signed: bool, to: ScalarType) -> TermId {
        let value = self.widen(value, 64, signed);
        let bits = to.bits();
        let (least, most) = match to.is_signed() {
            true => (i64::MIN >> (64 - bits), (i64::MAX >> (64 - bits)) as u64),
            false => (0, u64::MAX >> (64 - bits)),
        };
        let arena = &mut self.terms.arena;
        let (low, high) = (arena.constant(least as u64, 64), arena.constant(most, 64));
        match signed {
            false => {
                let above = arena.compare(Comparison::UnsignedLess, high, value);
                arena.if_then_else(above, high, value)
            }
            true => {
                let below = arena.compare(Comparison::SignedLess, value, low);
                let raised = arena.if_then_else(below, low, value);
                // Every signed number is below the largest unsigned one of 64 bits.
                if most > i64::MAX as u64 {
                    return raised;
                }
                let above = arena.compare(Comparison::SignedLess, high, value);
                arena.if_then_else(above, high, raised)
            }
        }
    }

    /// Integer conversions: the source is read by its type, then clamped for `.sat`, and truncated or extended.
    fn convert(&mut self, inst: &Inst<'_, 's>, types: &[ScalarType]) -> Option<TermId> {
        let &[to, from] = types else { return None };
        let integer = |ty: ScalarType| {
            use ScalarType::*;
            matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
        };
        let is_clamped = inst.ast.form.has(Qualifier::Sat);
        let modifiers = 2 + usize::from(is_clamped);
        if !integer(to) || !integer(from) || inst.ast.form.modifiers().len() != modifiers {
            return None;
        }
        let mut value = self.operand(&inst.args[1], from.bits() as u8)?;
        let width = to.bits() as u8;
        if is_clamped {
            value = self.clamped(value, from.is_signed(), to);
        }
        if width <= self.terms.arena.width(value) {
            Some(self.terms.arena.extract(value, 0, width))
        } else {
            Some(self.widen(value, width, from.is_signed()))
        }
    }
}
