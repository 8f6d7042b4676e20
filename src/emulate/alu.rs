//! Instructions without side effects: the dispatch over families, and the plain integer arithmetic
//! (PTX ISA, "Integer Arithmetic Instructions").
//!
//! In: an instruction with its operands' terms in the machine. Out: its results in the registers,
//! exact where [`super::forms`] says so, an uninterpreted function of the operands otherwise.

use super::forms::has_exact_form;
use super::machine::Machine;
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, Comparison, TermId, mask};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// Emulates an instruction without side effects.
    pub(super) fn compute(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let done = has_exact_form(inst)
            && match inst.ast.form.opcode {
                Opcode::Mov => self.mov(inst, guard),
                Opcode::Setp => self.setp(inst, guard),
                Opcode::Lop3
                    if inst.ast.form.has(Qualifier::And) || inst.ast.form.has(Qualifier::Or) =>
                {
                    self.lop3_with_predicate(inst, guard)
                }
                _ => self.single(inst, guard),
            };
        if inst.ast.form.has(Qualifier::Cc) && (guard.is_some() || !done) {
            self.carry = None;
        }
        if done {
            return;
        }
        // A pure instruction without an exact meaning here is still a function of its operands,
        // unless it also reads the carry flag.
        let reads_flag = matches!(inst.ast.form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        let ty = result_type(inst);
        let width = super::machine::width_of(ty);
        match inst.args.first() {
            Some(destination @ Arg::Register(_)) if !reads_flag => {
                match self.uninterpreted(inst, width) {
                    Some(term) => self.set(destination, term, ty, guard),
                    None => self.havoc(inst, guard),
                }
            }
            _ => self.havoc(inst, guard),
        }
    }

    /// An instruction with one result. True if it was emulated.
    fn single(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let Some(destination) = inst.args.first() else { return false };
        let ty = result_type(inst);
        let term = match *destination {
            Arg::Register(_) => self.evaluate(inst),
            // A part of a register as destination: the instruction writes all of it, the rest from
            // its last operand.
            Arg::Modified(register) => {
                let Some(term) = self.video(inst) else { return false };
                self.set(&Arg::Register(register), term, ty, guard);
                return true;
            }
            _ => None,
        };
        match term {
            Some(term) => {
                self.set(destination, term, ty, guard);
                true
            }
            None => false,
        }
    }

    /// The exact meaning of an instruction with one result, if its operands have values.
    fn evaluate(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let ty = inst.ast.form.last_type()?;
        match inst.ast.form.opcode {
            Opcode::Cvt => self.cvt(inst),
            Opcode::Cvta => self.cvta(inst),
            Opcode::Selp | Opcode::Slct | Opcode::Set => self.selection(inst),
            Opcode::Prmt => self.prmt(inst),
            Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Not
            | Opcode::Cnot
            | Opcode::Lop3
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Shf => self.logic(inst, ty),
            Opcode::Popc
            | Opcode::Clz
            | Opcode::Brev
            | Opcode::Bfind
            | Opcode::Bfe
            | Opcode::Bfi
            | Opcode::Bmsk
            | Opcode::Szext
            | Opcode::Fns => self.field(inst, ty),
            Opcode::Mul | Opcode::Mad | Opcode::Madc | Opcode::Mul24 | Opcode::Mad24 => {
                self.multiply(inst, ty)
            }
            Opcode::Dp4a | Opcode::Dp2a => self.dot_product(inst),
            Opcode::Add
            | Opcode::Addc
            | Opcode::Sub
            | Opcode::Subc
            | Opcode::Sad
            | Opcode::Div
            | Opcode::Rem
            | Opcode::Abs
            | Opcode::Neg
            | Opcode::Min
            | Opcode::Max => match ty {
                ScalarType::U16x2 | ScalarType::S16x2 => self.packed(inst, ty),
                _ => self.arithmetic(inst, ty),
            },
            // Of the others only the video instructions have one result and a row of exact forms; `mov`,
            // `setp` and the rest of `lop3` have more. (What has no row in `super::effects` does not
            // compile.)
            _ => self.video(inst),
        }
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

    /// Extends by sign or zeros, as a type says.
    pub(super) fn extend(&mut self, term: TermId, width: u8, signed: bool) -> TermId {
        if signed {
            self.arena.sign_extend(term, width)
        } else {
            self.arena.zero_extend(term, width)
        }
    }

    fn arithmetic(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let signed = ty.is_signed();
        let name = inst.ast.form.opcode;
        let a = self.source(inst, 0, w)?;
        match name {
            Opcode::Neg => return Some(self.arena.neg(a)),
            Opcode::Abs => return Some(self.absolute(a)),
            _ => {}
        }
        let b = self.source(inst, 1, w)?;
        match name {
            Opcode::Add | Opcode::Addc | Opcode::Sub | Opcode::Subc => {
                self.add_or_subtract(inst, a, b, ty)
            }
            Opcode::Min | Opcode::Max => {
                let chosen = self.choose(name == Opcode::Max, a, b, signed);
                Some(if inst.ast.form.has(Qualifier::Relu) {
                    self.at_least_zero(chosen)
                } else {
                    chosen
                })
            }
            Opcode::Sad => {
                let distance = self.distance(a, b, signed);
                let c = self.source(inst, 2, w)?;
                Some(self.arena.add(distance, c))
            }
            Opcode::Div | Opcode::Rem => Some(self.divide(name, a, b, signed)),
            _ => None,
        }
    }

    pub(super) fn absolute(&mut self, a: TermId) -> TermId {
        let width = self.arena.width(a);
        let zero = self.arena.constant(0, width);
        let negative = self.arena.compare(Comparison::SignedLess, a, zero);
        let negated = self.arena.neg(a);
        self.arena.if_then_else(negative, negated, a)
    }

    /// `|a - b|`, read as unsigned.
    fn distance(&mut self, a: TermId, b: TermId, signed: bool) -> TermId {
        let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
        let a_first = self.arena.compare(less, a, b);
        let (up, down) = (self.arena.sub(b, a), self.arena.sub(a, b));
        self.arena.if_then_else(a_first, up, down)
    }

    /// The greater (or lesser) of two values.
    pub(super) fn choose(&mut self, greater: bool, a: TermId, b: TermId, signed: bool) -> TermId {
        let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
        let a_first = self.arena.compare(less, a, b);
        if greater {
            self.arena.if_then_else(a_first, b, a)
        } else {
            self.arena.if_then_else(a_first, a, b)
        }
    }

    /// `.relu`: negative values become zero.
    pub(super) fn at_least_zero(&mut self, a: TermId) -> TermId {
        let zero = self.arena.constant(0, self.arena.width(a));
        self.choose(true, a, zero, true)
    }

    /// The result of a division by zero is not specified ("div: Integer"): some function of the
    /// dividend.
    fn divide(&mut self, name: Opcode, a: TermId, b: TermId, signed: bool) -> TermId {
        let op = match (name, signed) {
            (Opcode::Div, true) => BinaryOp::SignedDivide,
            (Opcode::Div, false) => BinaryOp::UnsignedDivide,
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

    /// Clamps a value read as signed.
    pub(super) fn clamp_signed(&mut self, term: TermId, low: i64, high: i64) -> TermId {
        let width = self.arena.width(term);
        let low = self.arena.constant(low as u64, width);
        let high = self.arena.constant(high as u64, width);
        let below = self.arena.compare(Comparison::SignedLess, term, low);
        let above = self.arena.compare(Comparison::SignedLess, high, term);
        let capped = self.arena.if_then_else(above, high, term);
        self.arena.if_then_else(below, low, capped)
    }

    /// Clamps a 64-bit signed value to the range of `bits`-bit numbers, `bits` at most 32.
    pub(super) fn clamp_to(&mut self, term: TermId, bits: u8, signed: bool) -> TermId {
        let top = mask(bits) as i64;
        let (low, high) = if signed { (-(top >> 1) - 1, top >> 1) } else { (0, top) };
        self.clamp_signed(term, low, high)
    }
}

/// The type of an instruction's result.
pub(super) fn result_type(inst: &Inst<'_, '_>) -> ScalarType {
    let types = inst.ast.form.types();
    let first = types.first().copied().unwrap_or(ScalarType::B32);
    let last = types.last().copied().unwrap_or(first);
    match inst.ast.form.opcode {
        Opcode::Cvt | Opcode::Set | Opcode::Slct => first,
        Opcode::Popc | Opcode::Clz | Opcode::Bfind | Opcode::Dp4a | Opcode::Dp2a => ScalarType::U32,
        Opcode::Isspacep | Opcode::Testp => ScalarType::Pred,
        Opcode::Mul | Opcode::Mad if inst.ast.form.has(Qualifier::Wide) => match last {
            ScalarType::U16 => ScalarType::U32,
            ScalarType::S16 => ScalarType::S32,
            ScalarType::U32 => ScalarType::U64,
            ScalarType::S32 => ScalarType::S64,
            other => other,
        },
        Opcode::Fns => ScalarType::B32,
        _ => last,
    }
}
