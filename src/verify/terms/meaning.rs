//! The results of instructions, as terms: exact for the integer arithmetic of addresses and predicates.
//!
//! Written from the PTX ISA's definitions and on purpose not shared with the analysis: a mistake in
//! one of the two shows as a difference.

use smallvec::{SmallVec, smallvec};

use super::commute;
use super::functions::FloatComparison;
use crate::cfg::{Arg, Inst};
use crate::expr::{Arena, BinaryOp, Comparison, TermId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::{ScalarType, StateSpace};

/// The registers of a lane, as far as the meaning of instructions asks for them.
pub(crate) trait Registers<'s> {
    /// The terms.
    fn arena(&mut self) -> &mut Arena;

    /// The value of an operand, truncated to `width` bits; `None` if it is not a single value of at least that width, or not
    /// known. One bit is a predicate.
    fn operand(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId>;

    /// A comparison of floating-point numbers.
    fn compare(&mut self, comparison: FloatComparison, operands: [TermId; 2]) -> TermId;

    /// A term with copies of its sign in front, or zeros.
    fn widen(&mut self, term: TermId, width: u8, signed: bool) -> TermId {
        match signed {
            true => self.arena().sign_extend(term, width),
            false => self.arena().zero_extend(term, width),
        }
    }

    /// `if condition then a else b`.
    fn select(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        self.arena().if_then_else(condition, a, b)
    }

    /// The smaller one of two integers of a type, or the larger one. `first`: whether `a` is the smaller one.
    fn extremum(
        &mut self,
        opcode: Opcode,
        first: TermId,
        [a, b]: [TermId; 2],
        _: ScalarType,
    ) -> Option<TermId> {
        let (least, most) = if opcode == Opcode::Min { (a, b) } else { (b, a) };
        Some(self.arena().if_then_else(first, least, most))
    }
}

/// The values of an instruction's destinations; where a destination is wider, each is extended by zeros or, if it is signed,
/// by its sign.
pub(crate) type Results<'i, 's> = SmallVec<[(&'i Arg<'s>, TermId, bool); 2]>;

/// The exact results of an instruction without effects; `None` if nothing is known but that they are some function of the
/// operands.
pub(crate) fn exact<'i, 's>(
    registers: &mut dyn Registers<'s>,
    inst: &'i Inst<'_, 's>,
) -> Option<Results<'i, 's>> {
    match inst.ast.form.opcode {
        Opcode::Mov => registers.mov(inst),
        Opcode::Setp => registers.setp(inst),
        _ => {
            let term = registers.exact(inst)?;
            Some(smallvec![(&inst.args[0], term, result_type(inst).is_signed())])
        }
    }
}

/// The type of an instruction's result: its first, and twice as wide for `.wide`.
fn result_type(inst: &Inst<'_, '_>) -> ScalarType {
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

/// Whether the type packs two numbers.
fn is_packed(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, F16x2 | Bf16x2 | F32x2 | U16x2 | S16x2)
}

impl<'s> dyn Registers<'s> + '_ {
    /// `setp.cmp[.bool].type p[|q], a, b[, c]`: `p = cmp(a, b) bool c`, `q = !cmp(a, b) bool c`.
    fn setp<'i>(&mut self, inst: &'i Inst<'_, 's>) -> Option<Results<'i, 's>> {
        let ast = inst.ast;
        let ty = *ast.form.types().first()?;
        let width = ty.bits().min(64) as u8;
        let a = self.operand(inst.args.get(1)?, width)?;
        let b = self.operand(inst.args.get(2)?, width)?;
        let combine = ast.form.first_of(&[Qualifier::And, Qualifier::Or, Qualifier::Xor]);
        let compared = self.compared(inst, a, b, ty)?;
        let other = match (combine, inst.args.get(3)) {
            (None, None) => None,
            (Some(op), Some(arg)) => Some((op, self.operand(arg, 1)?)),
            _ => return None,
        };
        let combined = |arena: &mut Arena, term: TermId| match other {
            None => term,
            Some((Qualifier::And, c)) => arena.and(term, c),
            Some((Qualifier::Or, c)) => arena.or(term, c),
            Some((_, c)) => arena.xor(term, c),
        };
        let first = combined(self.arena(), compared);
        match &inst.args[0] {
            Arg::Pair(pair) => {
                let negated = self.arena().not(compared);
                let second = combined(self.arena(), negated);
                Some(smallvec![(&pair[0], first, false), (&pair[1], second, false)])
            }
            single => Some(smallvec![(single, first, false)]),
        }
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
        let arena = self.arena();
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
        let term = self.compare(comparison, operands);
        Some(if holds { term } else { self.arena().not(term) })
    }

    /// Moves, packs (`mov.b64 d, {a, b}`) and unpacks (`mov.b64 {a, b}, s`).
    fn mov<'i>(&mut self, inst: &'i Inst<'_, 's>) -> Option<Results<'i, 's>> {
        let (Some(&ty), [to, from]) = (inst.ast.form.types().first(), &inst.args[..]) else {
            return None;
        };
        let width = u8::try_from(ty.bits()).ok().filter(|width| *width <= 64)?;
        match (to, from) {
            // `mov.v2.u32 {a, b}, {c, d}`: element by element, each of the type's width.
            (Arg::Vector(to), Arg::Vector(from)) if inst.ast.form.elements().is_some() => {
                let pairs = (to.len() == from.len()).then(|| to.iter().zip(from))?;
                pairs.map(|(to, from)| Some((to, self.operand(from, width)?, false))).collect()
            }
            _ if inst.ast.form.elements().is_some() => None,
            (Arg::Vector(parts), _) if parts.len() > 1 => {
                let each = width / parts.len() as u8;
                let value = self.operand(from, width)?;
                let part = |(index, part)| {
                    (part, self.arena().extract(value, each * index as u8, each), false)
                };
                Some(parts.iter().enumerate().map(part).collect())
            }
            (_, Arg::Vector(parts)) if parts.len() > 1 => {
                let each = width / parts.len() as u8;
                let mut whole = self.operand(&parts[0], each)?;
                for part in &parts[1..] {
                    let bits = self.operand(part, each)?;
                    whole = self.arena().concatenate(bits, whole);
                }
                Some(smallvec![(to, whole, false)])
            }
            (Arg::Register(_), _) => {
                Some(smallvec![(to, self.operand(from, width)?, ty.is_signed())])
            }
            _ => None,
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
            (Opcode::Not, 2) => Some(self.arena().not(a)),
            (Opcode::Neg, 2) => Some(self.arena().neg(a)),
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
                let selector = self.arena().constant_value(selector)?;
                Some(self.permuted(a, b, selector))
            }
            (Opcode::Bfi, 5) => {
                let into = self.operand(&inst.args[2], width)?;
                let [at, bits] = [3, 4].map(|index| {
                    let number = self.operand(&inst.args[index], 32)?;
                    self.arena().constant_value(number)
                });
                self.inserted((a, into), (at? & 0xff, bits? & 0xff), width)
            }
            (Opcode::Mad, 4) => {
                let b = self.operand(&inst.args[2], width)?;
                let product = self.product(inst, a, b, ty)?;
                let width = self.arena().width(product);
                let c = self.operand(&inst.args[3], width)?;
                Some(self.arena().add(product, c))
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
        let arena = self.arena();
        let less = if ty.is_signed() { Comparison::SignedLess } else { Comparison::UnsignedLess };
        Some(match name {
            Opcode::Add => arena.add(a, b),
            Opcode::Sub => arena.sub(a, b),
            Opcode::And => arena.binary(BinaryOp::And, a, b),
            Opcode::Or => arena.binary(BinaryOp::Or, a, b),
            Opcode::Xor => arena.binary(BinaryOp::Xor, a, b),
            Opcode::Min | Opcode::Max => {
                let first = arena.compare(less, a, b);
                self.extremum(name, first, [a, b], ty)?
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
        let arena = self.arena();
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
        rest.into_iter().fold(top, |high, low| self.arena().concatenate(high, low))
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
        let (at, arena) = (at as u8, self.arena());
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
            return Some(self.arena().mul(a, b));
        }
        if !inst.ast.form.has(Qualifier::Wide) || ty.bits() > 32 {
            return None;
        }
        let width = 2 * ty.bits() as u8;
        let (a, b) = (self.widen(a, width, ty.is_signed()), self.widen(b, width, ty.is_signed()));
        Some(self.arena().mul(a, b))
    }

    /// Shifts. An amount of the width or more leaves nothing but sign bits ("shl", "shr").
    fn shift(&mut self, name: Opcode, a: TermId, amount: TermId, ty: ScalarType) -> Option<TermId> {
        let width = ty.bits() as u8;
        let op = match (name, ty.is_signed()) {
            (Opcode::Shl, _) => BinaryOp::ShiftLeft,
            (_, true) => BinaryOp::ArithmeticShiftRight,
            (_, false) => BinaryOp::ShiftRight,
        };
        let arena = self.arena();
        if width >= 32 {
            let amount = arena.zero_extend(amount, width);
            return Some(arena.binary(op, a, amount));
        }
        // A narrower shift is done in 32 bits, where amounts of 16 to 31 shift every bit out too.
        let wide = self.widen(a, 32, ty.is_signed());
        let shifted = self.arena().binary(op, wide, amount);
        Some(self.arena().extract(shifted, 0, width))
    }

    /// The nearest number of a type, in 64 bits (PTX ISA, "cvt": `.sat` limits the result to the type's range).
    fn clamped(&mut self, value: TermId, signed: bool, to: ScalarType) -> TermId {
        let value = self.widen(value, 64, signed);
        let bits = to.bits();
        let (least, most) = match to.is_signed() {
            true => (i64::MIN >> (64 - bits), (i64::MAX >> (64 - bits)) as u64),
            false => (0, u64::MAX >> (64 - bits)),
        };
        let arena = self.arena();
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
        if width <= self.arena().width(value) {
            Some(self.arena().extract(value, 0, width))
        } else {
            Some(self.widen(value, width, from.is_signed()))
        }
    }
}
