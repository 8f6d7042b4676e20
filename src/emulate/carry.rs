//! Additions and subtractions with the carry flag (PTX ISA, "Extended-Precision Integer Arithmetic
//! Instructions"), and those that saturate.
//!
//! The flag is the carry out of an addition, and the inverse of the borrow out of a subtraction: the
//! manual leaves open what an addition finds in it behind a subtraction, and in the machine code that
//! ptxas makes `a - b` is `a + ~b + 1`. It lives from one instruction of a block to the next; at the start of a block, and after
//! anything not understood, it is unknown.

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::{Comparison, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `add`, `addc`, `sub`, `subc` of two values of the instruction's type.
    pub(super) fn add_or_subtract(
        &mut self,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        let name = inst.ast.form.opcode;
        let subtracts = matches!(name, Opcode::Sub | Opcode::Subc);
        if inst.ast.form.has(Qualifier::Sat) {
            return self.saturated(a, b, subtracts, ty);
        }
        let with_flag = matches!(name, Opcode::Addc | Opcode::Subc);
        let carry = match (with_flag, self.carry) {
            (false, _) => None,
            (true, Some(carry)) => Some(carry),
            (true, None) => return None,
        };
        let (result, out) = if subtracts {
            let borrow = carry.map(|carry| self.arena.not(carry));
            let (result, borrow) = self.subtract_with_borrow(a, b, borrow);
            (result, self.arena.not(borrow))
        } else {
            self.add_with_carry(a, b, carry)
        };
        if inst.ast.form.has(Qualifier::Cc) {
            self.carry = Some(out);
        }
        Some(result)
    }

    /// `a + b + carry` and the carry out.
    pub(super) fn add_with_carry(
        &mut self,
        a: TermId,
        b: TermId,
        carry: Option<TermId>,
    ) -> (TermId, TermId) {
        let plain = self.arena.add(a, b);
        let first = self.arena.compare(Comparison::UnsignedLess, plain, a);
        let Some(carry) = carry else { return (plain, first) };
        let carry = self.arena.zero_extend(carry, self.arena.width(a));
        let result = self.arena.add(plain, carry);
        let second = self.arena.compare(Comparison::UnsignedLess, result, plain);
        (result, self.arena.or(first, second))
    }

    /// `a - (b + borrow)` and the borrow out.
    fn subtract_with_borrow(
        &mut self,
        a: TermId,
        b: TermId,
        borrow: Option<TermId>,
    ) -> (TermId, TermId) {
        let plain = self.arena.sub(a, b);
        let first = self.arena.compare(Comparison::UnsignedLess, a, b);
        let Some(borrow) = borrow else { return (plain, first) };
        let borrow = self.arena.zero_extend(borrow, self.arena.width(a));
        let result = self.arena.sub(plain, borrow);
        let second = self.arena.compare(Comparison::UnsignedLess, plain, borrow);
        (result, self.arena.or(first, second))
    }

    /// `add.sat.s32`, `sub.sat.s32`: clamped to the range of the type.
    fn saturated(
        &mut self,
        a: TermId,
        b: TermId,
        subtracts: bool,
        ty: ScalarType,
    ) -> Option<TermId> {
        if ty != ScalarType::S32 {
            return None;
        }
        let (a, b) = (self.arena.sign_extend(a, 64), self.arena.sign_extend(b, 64));
        let exact = if subtracts { self.arena.sub(a, b) } else { self.arena.add(a, b) };
        let clamped = self.clamp_to(exact, 32, true);
        Some(self.arena.extract(clamped, 0, 32))
    }
}
