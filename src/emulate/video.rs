//! Scalar video instructions (PTX ISA, "Scalar Video Instructions"): an operation on bytes, halves
//! or words, optionally saturated, then combined with or merged into a third operand.
//!
//! All intermediate values are kept in 64 bits, where the 34 bits of the manual fit.

use super::machine::Machine;
use super::video_parts::selector;
use crate::cfg::Inst;
use crate::expr::{BinaryOp, Comparison, TermId, mask};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

/// What a video instruction does with each pair of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Add,
    Subtract,
    /// The absolute difference.
    Distance,
    Average,
    Least,
    Greatest,
    ShiftLeft,
    ShiftRight,
    Compare,
}

impl Operation {
    /// The operation of an opcode and how many elements it has: 1, 2 or 4. `None` for what is no video
    /// instruction, and for `vmad`, which has three sources.
    fn of(opcode: Opcode) -> Option<(Operation, u8)> {
        Some(match opcode {
            Opcode::Vadd => (Operation::Add, 1),
            Opcode::Vadd2 => (Operation::Add, 2),
            Opcode::Vadd4 => (Operation::Add, 4),
            Opcode::Vsub => (Operation::Subtract, 1),
            Opcode::Vsub2 => (Operation::Subtract, 2),
            Opcode::Vsub4 => (Operation::Subtract, 4),
            Opcode::Vabsdiff => (Operation::Distance, 1),
            Opcode::Vabsdiff2 => (Operation::Distance, 2),
            Opcode::Vabsdiff4 => (Operation::Distance, 4),
            Opcode::Vavrg2 => (Operation::Average, 2),
            Opcode::Vavrg4 => (Operation::Average, 4),
            Opcode::Vmin => (Operation::Least, 1),
            Opcode::Vmin2 => (Operation::Least, 2),
            Opcode::Vmin4 => (Operation::Least, 4),
            Opcode::Vmax => (Operation::Greatest, 1),
            Opcode::Vmax2 => (Operation::Greatest, 2),
            Opcode::Vmax4 => (Operation::Greatest, 4),
            Opcode::Vshl => (Operation::ShiftLeft, 1),
            Opcode::Vshr => (Operation::ShiftRight, 1),
            Opcode::Vset => (Operation::Compare, 1),
            Opcode::Vset2 => (Operation::Compare, 2),
            Opcode::Vset4 => (Operation::Compare, 4),
            _ => return None,
        })
    }
}

impl<'s> Machine<'_, '_, 's> {
    /// The 32 bits that a video instruction writes.
    pub(super) fn video(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        match inst.ast.form.opcode {
            Opcode::Vmad => self.video_multiply(inst),
            _ => match Operation::of(inst.ast.form.opcode)? {
                (operation, 1) => self.video_scalar(inst, operation),
                (operation, count) => self.video_simd(inst, operation, count),
            },
        }
    }

    /// Types of the result and of the first two operands.
    pub(super) fn video_types(inst: &Inst<'_, 's>) -> Option<[ScalarType; 3]> {
        match inst.ast.form.types()[..] {
            [a, b] => Some([ScalarType::U32, a, b]),
            [d, a, b] => Some([d, a, b]),
            _ => None,
        }
    }

    fn video_scalar(&mut self, inst: &Inst<'_, 's>, operation: Operation) -> Option<TermId> {
        let [d_type, a_type, b_type] = Self::video_types(inst)?;
        let (a, b) = (self.video_operand(inst, 0)?, self.video_operand(inst, 1)?);
        if a.negated || b.negated {
            return None;
        }
        let a = self.scalar_part(a, a_type.is_signed())?;
        let b = self.scalar_part(b, b_type.is_signed())?;
        let mut result = match operation {
            Operation::ShiftLeft | Operation::ShiftRight if b_type.is_signed() => return None,
            Operation::ShiftLeft => self.video_shift(inst, true, a, b),
            Operation::ShiftRight => self.video_shift(inst, false, a, b),
            other => self.video_operation(inst, other, a, b)?,
        };
        let merged = selector(inst, 0)?;
        if inst.ast.form.has(Qualifier::Sat) {
            let bits = merged.map_or(32, |part| part.bits);
            result = self.clamp_to(result, bits, d_type.is_signed());
        }
        let second = inst.ast.form.qualifiers().find_map(|qualifier| match qualifier {
            Qualifier::Add => Some(Operation::Add),
            Qualifier::Min => Some(Operation::Least),
            Qualifier::Max => Some(Operation::Greatest),
            _ => None,
        });
        let Some(_) = inst.args.get(3) else {
            let complete = merged.is_none() && second.is_none();
            return complete.then(|| self.arena.extract(result, 0, 32));
        };
        let c = self.source(inst, 2, 32)?;
        match (second, merged) {
            (Some(operation), None) => {
                let c = self.extend(c, 64, d_type.is_signed());
                let combined = self.video_operation(inst, operation, result, c)?;
                Some(self.arena.extract(combined, 0, 32))
            }
            (None, Some(part)) if part.count == 1 && part.parts[0] < 32 / part.bits => {
                let low = part.parts[0] * part.bits;
                let field = mask(part.bits) << low;
                let inserted = self.arena.extract(result, 0, 32);
                let inserted = self.arena.scale(inserted, 1 << low);
                let inserted = self.arena.and_constant(inserted, field);
                let kept = self.arena.and_constant(c, !field);
                Some(self.arena.or(inserted, kept))
            }
            _ => None,
        }
    }

    /// An operation on signed 64-bit values.
    pub(super) fn video_operation(
        &mut self,
        inst: &Inst<'_, 's>,
        operation: Operation,
        a: TermId,
        b: TermId,
    ) -> Option<TermId> {
        Some(match operation {
            Operation::Add => self.arena.add(a, b),
            Operation::Subtract => self.arena.sub(a, b),
            Operation::Distance => {
                let difference = self.arena.sub(a, b);
                self.absolute(difference)
            }
            Operation::Average => {
                // Half of the sum, rounded up where it is not negative and down where it is.
                let sum = self.arena.add(a, b);
                let zero = self.arena.constant(0, 64);
                let one = self.arena.constant(1, 64);
                let negative = self.arena.compare(Comparison::SignedLess, sum, zero);
                let above = self.arena.add_constant(sum, 1);
                let rounded = self.arena.if_then_else(negative, sum, above);
                self.arena.binary(BinaryOp::ArithmeticShiftRight, rounded, one)
            }
            Operation::Least => self.choose(false, a, b, true),
            Operation::Greatest => self.choose(true, a, b, true),
            Operation::Compare => self.video_compare(inst, a, b)?,
            Operation::ShiftLeft | Operation::ShiftRight => return None,
        })
    }

    /// The outcome of the comparison as 64 bits, 0 or 1.
    fn video_compare(&mut self, inst: &Inst<'_, 's>, a: TermId, b: TermId) -> Option<TermId> {
        let name = inst.ast.form.first_of(Qualifier::COMPARISONS)?;
        let holds = match name {
            Qualifier::Eq => self.arena.equal(a, b),
            Qualifier::Ne => {
                let equal = self.arena.equal(a, b);
                self.arena.not(equal)
            }
            Qualifier::Lt => self.arena.compare(Comparison::SignedLess, a, b),
            Qualifier::Le => self.arena.compare(Comparison::SignedLessEqual, a, b),
            Qualifier::Gt => self.arena.compare(Comparison::SignedLess, b, a),
            Qualifier::Ge => self.arena.compare(Comparison::SignedLessEqual, b, a),
            _ => return None,
        };
        Some(self.arena.zero_extend(holds, 64))
    }

    fn video_shift(&mut self, inst: &Inst<'_, 's>, left: bool, a: TermId, b: TermId) -> TermId {
        let amount = self.arena.extract(b, 0, 32);
        let amount = self.bounded_amount(inst, amount);
        let amount = self.arena.zero_extend(amount, 64);
        let op = if left { BinaryOp::ShiftLeft } else { BinaryOp::ArithmeticShiftRight };
        self.arena.binary(op, a, amount)
    }

    /// `vmad`: `a * b + c`, one of the product and `c` negated, or one added; scaled, saturated.
    fn video_multiply(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let [_, a_type, b_type] = Self::video_types(inst)?;
        let (a, b) = (self.video_operand(inst, 0)?, self.video_operand(inst, 1)?);
        let c = self.video_operand(inst, 2)?;
        let negates = a.negated != b.negated;
        if c.selector.is_some() || selector(inst, 0)?.is_some() || negates && c.negated {
            return None;
        }
        let any_signed = a_type.is_signed() || b_type.is_signed();
        let signed = any_signed || negates || c.negated;
        let a = self.scalar_part(a, a_type.is_signed())?;
        let b = self.scalar_part(b, b_type.is_signed())?;
        let product = self.arena.mul(a, b);
        let product = if negates { self.arena.neg(product) } else { product };
        let addend = self.extend(c.whole, 64, signed);
        let addend = if c.negated { self.arena.neg(addend) } else { addend };
        let mut result = self.arena.add(product, addend);
        if inst.ast.form.has(Qualifier::Po) {
            result = self.arena.add_constant(result, 1);
        }
        // The manual computes in 128 bits. The low 32 of the result need only 47 of them, but what is
        // to be saturated must be known whole: 64 do not hold minus an unsigned product.
        if inst.ast.form.has(Qualifier::Sat) && signed && !any_signed {
            return None;
        }
        let scale = match () {
            () if inst.ast.form.has(Qualifier::Shr7) => 7,
            () if inst.ast.form.has(Qualifier::Shr15) => 15,
            () => 0,
        };
        let amount = self.arena.constant(scale, 64);
        let op = if signed { BinaryOp::ArithmeticShiftRight } else { BinaryOp::ShiftRight };
        let result = self.arena.binary(op, result, amount);
        let result = match (inst.ast.form.has(Qualifier::Sat), signed) {
            (true, true) => self.clamp_to(result, 32, true),
            (true, false) => {
                let top = self.arena.constant(mask(32), 64);
                self.choose(false, result, top, false)
            }
            (false, _) => result,
        };
        Some(self.arena.extract(result, 0, 32))
    }
}
