//! What instructions compute, as terms: exact for the integer arithmetic that addresses and
//! predicates are made of, an uninterpreted function of the operands for the rest.
//!
//! Written from the PTX ISA's definitions and on purpose not shared with the analysis: a mistake in
//! one of the two shows as a difference.

use smallvec::SmallVec;

use super::commute;
use super::evaluate::Evaluation;
use super::instructions::placed_results;
use super::symbols::{Kind, Side};
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, Comparison, TermId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::{ScalarType, StateSpace, Value};

/// The condition code register, as the last instruction with `.cc` left it.
pub(super) type Carry = Option<TermId>;

impl<'s> Evaluation<'_, '_, '_, 's> {
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

    /// The exact value of an instruction with one result; `None` where it has none here.
    fn exact(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let ast = inst.ast;
        let types = ast.form.types();
        let ty = *types.first()?;
        if !matches!(inst.args.first(), Some(Arg::Register(_)))
            || ast.form.has(Qualifier::Cc)
            || ast.form.has(Qualifier::Sat)
        {
            return None;
        }
        let logical = ty == ScalarType::Pred;
        let width = ty.bits() as u8;
        match ast.form.opcode {
            Opcode::Cvt => return self.convert(inst, &types),
            Opcode::Cvta => {
                // The generic address of a global one is the same number (PTX ISA, "Generic
                // Addressing"); other windows start somewhere.
                let global = ast.form.space() == StateSpace::Global;
                return if global { self.operand(inst.args.get(1)?, width) } else { None };
            }
            Opcode::Selp => {
                let condition = self.operand(inst.args.get(3)?, 1)?;
                let (a, b) =
                    (self.operand(&inst.args[1], width)?, self.operand(&inst.args[2], width)?);
                return Some(self.select(condition, a, b));
            }
            _ => {}
        }
        if ty.is_float() || width > 64 || is_packed(ty) {
            return None;
        }
        // Only operations whose every modifier is understood.
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
            // By zero, the result is unspecified.
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

    pub(super) fn widen(&mut self, term: TermId, width: u8, signed: bool) -> TermId {
        if signed {
            self.terms.arena.sign_extend(term, width)
        } else {
            self.terms.arena.zero_extend(term, width)
        }
    }

    /// Amounts of the width and more leave nothing but sign bits ("shl", "shr").
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
        // A narrower shift, done in 32 bits, where amounts of 16 to 31 shift everything out too.
        let wide = self.widen(a, 32, ty.is_signed());
        let shifted = self.terms.arena.binary(op, wide, amount);
        Some(self.terms.arena.extract(shifted, 0, width))
    }

    /// Integer conversions: the source is read as its type, then cut or extended.
    fn convert(&mut self, inst: &Inst<'_, 's>, types: &[ScalarType]) -> Option<TermId> {
        let &[to, from] = types else { return None };
        let integer = |ty: ScalarType| {
            use ScalarType::*;
            matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
        };
        if !integer(to) || !integer(from) || inst.ast.form.modifiers().len() != 2 {
            return None;
        }
        let value = self.operand(&inst.args[1], from.bits() as u8)?;
        let width = to.bits() as u8;
        if width <= self.terms.arena.width(value) {
            Some(self.terms.arena.extract(value, 0, width))
        } else {
            Some(self.widen(value, width, from.is_signed()))
        }
    }

    /// Moves, packs (`mov.b64 d, {a, b}`) and unpacks (`mov.b64 {a, b}, s`).
    fn mov(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let (Some(&ty), 2) = (inst.ast.form.types().first(), inst.args.len()) else { return false };
        let width = ty.bits();
        if inst.ast.form.elements().is_some() {
            return self.mov_elements(inst, width, guard);
        }
        match (&inst.args[0], &inst.args[1]) {
            (Arg::Vector(parts), source) if parts.len() > 1 && width <= 64 => {
                let each = width as u8 / parts.len() as u8;
                let Some(value) = self.operand(source, width as u8) else { return false };
                for (index, part) in parts.iter().enumerate() {
                    let bits = self.terms.arena.extract(value, each * index as u8, each);
                    self.set(part, bits, false, guard);
                }
                true
            }
            (destination, Arg::Vector(parts)) if parts.len() > 1 && width <= 64 => {
                let each = width as u8 / parts.len() as u8;
                let mut whole: Option<TermId> = None;
                for part in parts {
                    let Some(bits) = self.operand(part, each) else { return false };
                    whole = Some(match whole {
                        None => bits,
                        Some(low) => self.terms.arena.concatenate(bits, low),
                    });
                }
                let Some(whole) = whole else { return false };
                self.set(destination, whole, false, guard);
                true
            }
            (destination @ Arg::Register(_), source) if width <= 64 => {
                let Some(value) = self.operand(source, width as u8) else { return false };
                self.set(destination, value, ty.is_signed(), guard);
                true
            }
            _ => false,
        }
    }

    /// `mov.v2.u32 {a, b}, {c, d}`: element by element, each of the type's width; all are read first.
    fn mov_elements(&mut self, inst: &Inst<'_, 's>, width: u32, guard: Option<TermId>) -> bool {
        let (Arg::Vector(to), Arg::Vector(from)) = (&inst.args[0], &inst.args[1]) else {
            return false;
        };
        if to.len() != from.len() || width > 64 {
            return false;
        }
        let values: Option<Vec<TermId>> =
            from.iter().map(|one| self.operand(one, width as u8)).collect();
        let Some(values) = values else { return false };
        for (element, value) in to.iter().zip(values) {
            self.set(element, value, false, guard);
        }
        true
    }

    /// `setp.cmp[.bool].type p[|q], a, b[, c]`: `p = cmp(a, b) bool c`, `q = !cmp(a, b) bool c`.
    fn setp(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
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

    /// A comparison of floating-point numbers by one of four (PTX ISA, "Comparisons"): `gt` is `lt`
    /// from the other side, and the unordered ones hold just where their opposites do not.
    fn compared_floats(
        &mut self,
        inst: &Inst<'_, 's>,
        name: Qualifier,
        (a, b): (TermId, TermId),
        ty: ScalarType,
    ) -> Option<TermId> {
        let (basic, swapped, holds) = match name {
            Qualifier::Eq => (Qualifier::Eq, false, true),
            Qualifier::Neu => (Qualifier::Eq, false, false),
            Qualifier::Ne => (Qualifier::Ne, false, true),
            Qualifier::Equ => (Qualifier::Ne, false, false),
            Qualifier::Nan => (Qualifier::Nan, false, true),
            Qualifier::Num => (Qualifier::Nan, false, false),
            Qualifier::Lt => (Qualifier::Lt, false, true),
            Qualifier::Geu => (Qualifier::Lt, false, false),
            Qualifier::Gt => (Qualifier::Lt, true, true),
            Qualifier::Leu => (Qualifier::Lt, true, false),
            Qualifier::Le => (Qualifier::Le, false, true),
            Qualifier::Gtu => (Qualifier::Le, false, false),
            Qualifier::Ge => (Qualifier::Le, true, true),
            Qualifier::Ltu => (Qualifier::Le, true, false),
            _ => return None,
        };
        let ftz = if inst.ast.form.has(Qualifier::Ftz) { ".ftz" } else { "" };
        let mut function = format!("setp.{basic}{ftz}.{}", ty.name());
        let mut operands = if swapped { [b, a] } else { [a, b] };
        if matches!(basic, Qualifier::Eq | Qualifier::Ne | Qualifier::Nan) {
            function = commute::marked(&function);
            commute::sort(&mut operands);
        }
        let term = self.terms.function(&function, &operands, 1);
        Some(if holds { term } else { self.terms.arena.not(term) })
    }

    /// Each result as an uninterpreted function of the opcode and all operands.
    fn apply_opcode(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let mut name = self.opcode_name(inst);
        let mut operands: SmallVec<[TermId; 8]> = SmallVec::new();
        for arg in inst.args.iter().skip(1) {
            self.natural(arg, &mut operands);
        }
        if commute::commutes(inst) {
            name = commute::marked(&name);
            commute::sort(&mut operands);
        }
        if let Some(Arg::Modified(register)) = inst.args.first() {
            operands.push(self.read(*register));
        }
        if matches!(inst.ast.form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) {
            operands.push(self.carry());
        }
        let operands = operands.to_vec();
        self.write_functions(inst, &name, &operands, guard);
        if inst.ast.form.has(Qualifier::Cc) {
            let carry = self.terms.function(&format!("{name}#cc"), &operands, 32);
            let old = self.carry();
            self.carry = Some(match guard {
                None => carry,
                Some(guard) => self.terms.arena.if_then_else(guard, carry, old),
            });
        }
    }

    fn carry(&mut self) -> TermId {
        match self.carry {
            Some(carry) => carry,
            None => {
                let side = if self.reference.is_none() { Side::Original } else { Side::Rewritten };
                self.terms.symbol(Kind::Carry(side, self.at), 32, self.here())
            }
        }
    }

    /// Gives each result of an instruction a value that is some function of the operands.
    pub(super) fn write_functions(
        &mut self,
        inst: &Inst<'_, 's>,
        name: &str,
        operands: &[TermId],
        guard: Option<TermId>,
    ) {
        for (register, places) in placed_results(inst) {
            let width = self.width(register);
            let places: Vec<String> = places.iter().map(u16::to_string).collect();
            let name = format!("{name}#{}", places.join("&"));
            let value = self.terms.function(&name, operands, width);
            self.write(register, value, guard);
        }
    }

    /// The opcode, and how operands are written where that means something (`%r1.b0`, `-%r1`).
    fn opcode_name(&self, inst: &Inst<'_, 's>) -> String {
        let opcode: String = inst.ast.opcode.text.split_whitespace().collect();
        let modified = |arg: &Arg<'_>| matches!(arg, Arg::Modified(_));
        if !inst.args.iter().any(modified) {
            return opcode;
        }
        let text = self.program.text(inst);
        let shape: String = text
            .split(',')
            .map(|operand| {
                let operand = operand.trim().trim_end_matches(';');
                let sign = if operand.starts_with('-') { "-" } else { "" };
                let part = operand.rsplit_once('.').map_or("", |(_, part)| part);
                format!(" {sign}{part}")
            })
            .collect();
        opcode + &shape
    }

    /// An operand with the width it has by itself; 64 bits for constants.
    pub(super) fn natural(&mut self, arg: &Arg<'s>, found: &mut SmallVec<[TermId; 8]>) {
        match arg {
            Arg::Register(register) | Arg::Modified(register) => {
                found.push(self.read(*register));
            }
            Arg::Sum(register, offset) => {
                let term = self.read(*register);
                found.push(self.terms.arena.add_constant(term, *offset as u64));
            }
            Arg::Vector(elements) => elements.iter().for_each(|e| self.natural(e, found)),
            Arg::Pair(pair) => pair.iter().for_each(|e| self.natural(e, found)),
            Arg::Memory { base, offset, rest } => {
                found.push(self.address(*base, *offset));
                rest.iter().for_each(|e| self.natural(e, found));
            }
            Arg::Sink => {}
            Arg::Not(register) => {
                let term = self.read(*register);
                found.push(self.terms.arena.not(term));
            }
            // The same bits are another number in a literal of double precision.
            Arg::Constant(Value::F32(bits)) => {
                found.push(self.terms.arena.constant(u64::from(*bits), 32));
            }
            Arg::Constant(Value::F64(bits)) => found.push(self.terms.arena.constant(*bits, 64)),
            other => {
                if let Some(term) = self.operand(other, 64) {
                    found.push(term);
                }
            }
        }
    }
}

/// Whether a value of the type is two numbers, each computed with by itself.
fn is_packed(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, F16x2 | Bf16x2 | F32x2 | U16x2 | S16x2)
}
