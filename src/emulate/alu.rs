//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
//! Arithmetic Instructions"), and the dispatch over instruction families.

use super::machine::Machine;
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, Comparison, TermId, UnaryOp, mask};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// Emulates an instruction without side effects.
    pub(super) fn compute(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let handled = match inst.ast.mnemonic() {
            "mov" => self.mov(inst, guard),
            "setp" => self.setp(inst, guard),
            _ => false,
        };
        if handled {
            return;
        }
        let Some(destination) = inst.args.first() else { return };
        let ty = result_type(inst);
        let width = super::machine::width_of(ty);
        let exact = if matches!(destination, Arg::Register(_)) && inst.args.len() > 1 {
            self.evaluate(inst)
        } else {
            None
        };
        // A pure instruction without an exact meaning here is still a function of its operands,
        // unless it also reads the carry flag.
        let reads_flag = matches!(inst.ast.mnemonic(), "addc" | "subc" | "madc");
        let term = match exact {
            Some(term) => Some(term),
            None if reads_flag || !matches!(destination, Arg::Register(_)) => None,
            None => self.uninterpreted(inst, width),
        };
        if inst.ast.has("cc") && exact.is_none() {
            self.carry = None;
        }
        match term {
            Some(term) => self.set(destination, term, ty, guard),
            None => self.havoc(inst, guard),
        }
        if guard.is_some() && inst.ast.has("cc") {
            self.carry = None;
        }
    }

    /// The exact meaning of an instruction with one result, if it has one here.
    fn evaluate(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let ty = inst.ast.types().last().copied()?;
        match inst.ast.mnemonic() {
            "cvt" => return self.cvt(inst),
            "cvta" => return self.cvta(inst),
            "selp" | "slct" | "set" => return self.selection(inst),
            "prmt" => return self.prmt(inst),
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "popc"
            | "clz" | "bfind" | "brev" | "bfe" | "bfi" | "bmsk" | "szext" => {
                return self.bits(inst, ty);
            }
            _ => {}
        }
        let packed = matches!(ty, ScalarType::U16x2 | ScalarType::S16x2);
        if ty.is_float() || packed || ty.bits() > 64 {
            return None;
        }
        self.arithmetic(inst, ty)
    }

    /// Source operand `index` (0 is the first behind the destination).
    pub(super) fn source(
        &mut self,
        inst: &Inst<'_, 's>,
        index: usize,
        width: u8,
    ) -> Option<TermId> {
        self.value(inst.args.get(index + 1)?, width)
    }

    fn arithmetic(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let signed = ty.is_signed();
        let name = inst.ast.mnemonic();
        match name {
            "mul" | "mad" | "madc" | "mul24" | "mad24" => return self.multiply(inst, ty),
            "dp4a" | "dp2a" => return self.dot_product(inst),
            _ => {}
        }
        let a = self.source(inst, 0, w)?;
        let unary = |op| -> UnaryOp { op };
        match name {
            "neg" => return Some(self.arena.neg(a)),
            "abs" => return Some(self.absolute(a)),
            "popc" => return Some(self.arena.unary(unary(UnaryOp::PopulationCount), a)),
            _ => {}
        }
        let b = self.source(inst, 1, w)?;
        match name {
            "add" | "addc" | "sub" | "subc" => self.add_or_subtract(inst, a, b, ty),
            "min" | "max" => {
                if inst.ast.has("relu") {
                    return None;
                }
                let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
                let a_first = self.arena.compare(less, a, b);
                Some(match name {
                    "min" => self.arena.if_then_else(a_first, a, b),
                    _ => self.arena.if_then_else(a_first, b, a),
                })
            }
            "sad" => {
                let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
                let a_first = self.arena.compare(less, a, b);
                let (up, down) = (self.arena.sub(b, a), self.arena.sub(a, b));
                let distance = self.arena.if_then_else(a_first, up, down);
                let c = self.source(inst, 2, w)?;
                Some(self.arena.add(distance, c))
            }
            "div" | "rem" => Some(self.divide(name, a, b, signed)),
            _ => None,
        }
    }

    fn absolute(&mut self, a: TermId) -> TermId {
        let width = self.arena.width(a);
        let zero = self.arena.constant(0, width);
        let negative = self.arena.compare(Comparison::SignedLess, a, zero);
        let negated = self.arena.neg(a);
        self.arena.if_then_else(negative, negated, a)
    }

    /// The result of a division by zero is not specified ("div: Integer"): some function of the
    /// dividend.
    fn divide(&mut self, name: &str, a: TermId, b: TermId, signed: bool) -> TermId {
        let op = match (name, signed) {
            ("div", true) => BinaryOp::SignedDivide,
            ("div", false) => BinaryOp::UnsignedDivide,
            (_, true) => BinaryOp::SignedRemainder,
            (_, false) => BinaryOp::UnsignedRemainder,
        };
        let quotient = self.arena.binary(op, a, b);
        if self.arena.range(b).umin > 0 {
            return quotient;
        }
        let width = self.arena.width(a);
        let function = self.symbols.function(&format!("{name}-by-zero.{signed}"));
        let unspecified = self.arena.apply(function, &[a], width);
        let zero = self.arena.constant(0, width);
        let by_zero = self.arena.equal(b, zero);
        self.arena.if_then_else(by_zero, unspecified, quotient)
    }

    fn add_or_subtract(
        &mut self,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        let subtracts = matches!(inst.ast.mnemonic(), "sub" | "subc");
        let with_carry = matches!(inst.ast.mnemonic(), "addc" | "subc");
        let w = self.arena.width(a);
        let plain = if subtracts { self.arena.sub(a, b) } else { self.arena.add(a, b) };
        if inst.ast.has("sat") {
            return self.saturated(a, b, subtracts, ty);
        }
        let carry_in = match with_carry {
            true => self.carry?,
            false => self.arena.boolean(false),
        };
        let wide_carry = self.arena.zero_extend(carry_in, w);
        let result = if subtracts {
            self.arena.sub(plain, wide_carry)
        } else {
            self.arena.add(plain, wide_carry)
        };
        if inst.ast.has("cc") {
            // Carry out of a + b: the sum is below a, or equal to it with a carry in and b full.
            let (low, high) = if subtracts { (a, b) } else { (plain, a) };
            let first = self.arena.compare(Comparison::UnsignedLess, low, high);
            let second = if subtracts {
                self.arena.compare(Comparison::UnsignedLess, plain, wide_carry)
            } else {
                self.arena.compare(Comparison::UnsignedLess, result, plain)
            };
            self.carry = Some(self.arena.or(first, second));
        }
        Some(result)
    }

    /// `add.sat.s32`, `sub.sat.s32`: clamped to the signed range.
    fn saturated(
        &mut self,
        a: TermId,
        b: TermId,
        subtracts: bool,
        ty: ScalarType,
    ) -> Option<TermId> {
        let w = self.arena.width(a);
        if w > 32 || !ty.is_signed() {
            return None;
        }
        let (wide_a, wide_b) = (self.arena.sign_extend(a, 64), self.arena.sign_extend(b, 64));
        let exact =
            if subtracts { self.arena.sub(wide_a, wide_b) } else { self.arena.add(wide_a, wide_b) };
        let top = (mask(w) >> 1) as i64;
        let clamped = self.clamp_signed(exact, -top - 1, top);
        Some(self.arena.extract(clamped, 0, w))
    }

    pub(super) fn clamp_signed(&mut self, term: TermId, low: i64, high: i64) -> TermId {
        let width = self.arena.width(term);
        let low = self.arena.constant(low as u64, width);
        let high = self.arena.constant(high as u64, width);
        let below = self.arena.compare(Comparison::SignedLess, term, low);
        let above = self.arena.compare(Comparison::SignedLess, high, term);
        let capped = self.arena.if_then_else(above, high, term);
        self.arena.if_then_else(below, low, capped)
    }

    fn multiply(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let name = inst.ast.mnemonic();
        if inst.ast.has("sat") || name == "madc" || inst.ast.has("cc") {
            return None;
        }
        let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
        let extend = |machine: &mut Self, term: TermId, to: u8| {
            if ty.is_signed() {
                machine.arena.sign_extend(term, to)
            } else {
                machine.arena.zero_extend(term, to)
            }
        };
        let product = if name.ends_with("24") {
            let (a, b) = (self.arena.extract(a, 0, 24), self.arena.extract(b, 0, 24));
            let (a, b) = (extend(self, a, 48), extend(self, b, 48));
            let product = self.arena.mul(a, b);
            self.arena.extract(product, if inst.ast.has("hi") { 16 } else { 0 }, 32)
        } else if inst.ast.has("wide") {
            for index in 0..2 {
                self.note_widened(inst, index);
            }
            let (a, b) = (extend(self, a, 2 * w), extend(self, b, 2 * w));
            self.arena.mul(a, b)
        } else if !inst.ast.has("hi") {
            self.arena.mul(a, b)
        } else if w <= 32 {
            let (a, b) = (extend(self, a, 2 * w), extend(self, b, 2 * w));
            let product = self.arena.mul(a, b);
            self.arena.extract(product, w, w)
        } else {
            let op = if ty.is_signed() {
                BinaryOp::SignedMultiplyHigh
            } else {
                BinaryOp::UnsignedMultiplyHigh
            };
            self.arena.binary(op, a, b)
        };
        if !name.starts_with("mad") {
            return Some(product);
        }
        let width = self.arena.width(product);
        let c = self.source(inst, 2, width)?;
        Some(self.arena.add(product, c))
    }

    /// `dp4a`, `dp2a`: four (two) products of bytes (halves and bytes) added up.
    fn dot_product(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let types = inst.ast.types();
        let [a_type, b_type] = types[..] else { return None };
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let mut sum = self.source(inst, 2, 32)?;
        let four = inst.ast.mnemonic() == "dp4a";
        let (count, a_bits) = if four { (4, 8) } else { (2, 16) };
        let first_byte = if inst.ast.has("hi") { 2 } else { 0 };
        for index in 0..count {
            let x = self.arena.extract(a, index * a_bits, a_bits);
            let y = self.arena.extract(b, (index + first_byte) * 8, 8);
            let x = if a_type.is_signed() {
                self.arena.sign_extend(x, 32)
            } else {
                self.arena.zero_extend(x, 32)
            };
            let y = if b_type.is_signed() {
                self.arena.sign_extend(y, 32)
            } else {
                self.arena.zero_extend(y, 32)
            };
            let product = self.arena.mul(x, y);
            sum = self.arena.add(sum, product);
        }
        Some(sum)
    }
}

/// The type of an instruction's result.
pub(super) fn result_type(inst: &Inst<'_, '_>) -> ScalarType {
    let types = inst.ast.types();
    let first = types.first().copied().unwrap_or(ScalarType::B32);
    let last = types.last().copied().unwrap_or(first);
    match inst.ast.mnemonic() {
        "cvt" | "set" | "slct" => first,
        "popc" | "clz" | "bfind" | "dp4a" | "dp2a" => ScalarType::U32,
        "isspacep" | "testp" => ScalarType::Pred,
        "mul" | "mad" if inst.ast.has("wide") => match last {
            ScalarType::U16 => ScalarType::U32,
            ScalarType::S16 => ScalarType::S32,
            ScalarType::U32 => ScalarType::U64,
            ScalarType::S32 => ScalarType::S64,
            other => other,
        },
        "fns" => ScalarType::B32,
        _ => last,
    }
}
