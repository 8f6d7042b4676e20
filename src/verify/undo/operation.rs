//! The result of an instruction, from the terms of its operands: integer arithmetic exactly, as far as threads need it
//! for addresses and branches, everything else as an uninterpreted function.
//!
//! Such a function is named by the instruction as written, so equal terms mean equal bits: the order of the operands
//! of a floating-point addition of 64 bits counts, since the payload of a NaN may depend on it.

use std::fmt::Write;

use super::values::{Unknown, Values};
use crate::cfg::{Arg, Inst, RegisterId};
use crate::expr::{BinaryOp, Comparison, TermId};
use crate::isa::{Modifier, Opcode, Qualifier, Special};
use crate::program::{Role, role};
use crate::ptx::{ScalarType, Value};
use crate::terms::commute::{basic_comparison, commutes, sort};

/// The state of a thread.
pub(crate) trait Thread {
    /// The terms of the block.
    fn values(&mut self) -> &mut Values;
    /// The value of a register.
    fn read(&mut self, register: RegisterId) -> Option<TermId>;
    /// The value of a special register.
    fn special(&mut self, register: Special) -> Option<TermId>;
    /// A register's width in bits, if it is at most 64.
    fn width(&self, register: RegisterId) -> Option<u8>;
}

/// The registers that an instruction without effects writes, each with its new value; `None` for an instruction that
/// is not modelled.
pub(crate) fn compute(
    thread: &mut dyn Thread,
    inst: &Inst<'_, '_>,
) -> Option<Vec<(RegisterId, TermId)>> {
    let form = &inst.ast.form;
    let carries = matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    if role(inst) != Role::Pure || carries || form.has(Qualifier::Cc) {
        return None;
    }
    if form.opcode == Opcode::Mov
        && let Some(parts) = moved_parts(thread, inst)
    {
        return Some(parts);
    }
    if let Some((term, signed)) = exact(thread, inst) {
        let Arg::Register(register) = inst.args.first()? else { return None };
        let width = thread.width(*register)?;
        let arena = &mut thread.values().arena;
        let fitted = match arena.width(term) {
            from if from >= width => arena.extract(term, 0, width),
            _ if signed => arena.sign_extend(term, width),
            _ => arena.zero_extend(term, width),
        };
        return Some(vec![(*register, fitted)]);
    }
    applied(thread, inst)
}

/// The value of an operand in a width of 1 to 64 bits.
pub(crate) fn operand(thread: &mut dyn Thread, arg: &Arg<'_>, width: u8) -> Option<TermId> {
    let term = match arg {
        Arg::Register(register) => thread.read(*register)?,
        Arg::Not(register) => {
            let term = thread.read(*register)?;
            thread.values().arena.not(term)
        }
        Arg::Sum(register, offset) => {
            let term = thread.read(*register)?;
            thread.values().arena.add_constant(term, *offset as u64)
        }
        Arg::Special(register) => {
            let term = thread.special(*register)?;
            return Some(thread.values().arena.resize(term, width));
        }
        Arg::Constant(value) => {
            let bits = match *value {
                Value::Signed(value) => value as u64,
                Value::Unsigned(value) => value,
                Value::F32(bits) if width == 32 => u64::from(bits),
                Value::F64(bits) if width == 64 => bits,
                Value::F32(_) | Value::F64(_) => return None,
            };
            (width > 1).then_some(())?;
            return Some(thread.values().arena.constant(bits, width));
        }
        Arg::Symbol { name, offset, indexed: false, local } => {
            let base = address(thread.values(), name, *local);
            let at = thread.values().arena.add_constant(base, *offset as u64);
            (width >= 32).then_some(())?;
            return Some(thread.values().arena.zero_extend(at, width));
        }
        _ => return None,
    };
    let from = thread.values().arena.width(term);
    (from >= width).then(|| thread.values().arena.extract(term, 0, width))
}

/// The address of a variable: 32 bits, which is enough in shared memory.
pub(super) fn address(values: &mut Values, name: &str, local: Option<u32>) -> TermId {
    values.unknown(Unknown::Address(variable(name, local)), 32)
}

/// A variable's name with the scope that declares it.
pub(super) fn variable(name: &str, local: Option<u32>) -> String {
    local.map_or_else(|| name.to_owned(), |scope| format!("{scope}.{name}"))
}

/// `mov` of a whole value, into parts or from parts.
fn moved_parts(thread: &mut dyn Thread, inst: &Inst<'_, '_>) -> Option<Vec<(RegisterId, TermId)>> {
    let width = u8::try_from(inst.ast.form.first_type()?.bits()).ok().filter(|bits| *bits <= 64)?;
    match &inst.args[..] {
        [Arg::Vector(parts), from] => {
            let whole = operand(thread, from, width)?;
            let each = width / parts.len() as u8;
            let mut found = Vec::new();
            for (at, part) in (0..).zip(parts) {
                match part {
                    Arg::Register(register) if thread.width(*register)? == each => {
                        let term = thread.values().arena.extract(whole, at * each, each);
                        found.push((*register, term));
                    }
                    Arg::Sink => {}
                    _ => return None,
                }
            }
            Some(found)
        }
        [Arg::Register(register), Arg::Vector(parts)] if thread.width(*register)? == width => {
            let each = width / parts.len() as u8;
            let mut terms = Vec::new();
            for part in parts {
                terms.push(operand(thread, part, each)?);
            }
            let whole = terms
                .into_iter()
                .rev()
                .reduce(|high, low| thread.values().arena.concatenate(high, low))?;
            Some(vec![(*register, whole)])
        }
        _ => None,
    }
}

/// The exact value of an instruction with one result, and whether it is signed.
fn exact(thread: &mut dyn Thread, inst: &Inst<'_, '_>) -> Option<(TermId, bool)> {
    let form = &inst.ast.form;
    let types = form.types();
    let ty = *types.first()?;
    let width = u8::try_from(ty.bits()).ok().filter(|bits| *bits <= 64)?;
    let plain = |allowed: &[Qualifier]| {
        form.modifiers().iter().all(|modifier| match modifier {
            Modifier::Type(_) => true,
            Modifier::Qualifier(one) => allowed.contains(one),
            _ => false,
        })
    };
    let args = &inst.args;
    match form.opcode {
        Opcode::Mov if plain(&[]) => Some((operand(thread, args.get(1)?, width)?, ty.is_signed())),
        Opcode::Setp => Some((setp(thread, inst, ty)?, false)),
        Opcode::Selp if plain(&[]) => {
            let condition = operand(thread, args.get(3)?, 1)?;
            let a = operand(thread, &args[1], width)?;
            let b = operand(thread, &args[2], width)?;
            Some((thread.values().arena.if_then_else(condition, a, b), ty.is_signed()))
        }
        Opcode::Cvt if plain(&[]) && types.len() == 2 => {
            let from = types[1];
            let integers = [ty, from].iter().all(|one| is_integer(*one));
            let value = integers
                .then_some(())
                .and_then(|()| operand(thread, args.get(1)?, from.bits() as u8))?;
            let arena = &mut thread.values().arena;
            let term = match width {
                _ if width <= arena.width(value) => arena.extract(value, 0, width),
                _ if from.is_signed() => arena.sign_extend(value, width),
                _ => arena.zero_extend(value, width),
            };
            Some((term, ty.is_signed()))
        }
        _ if ty.is_float() || types.len() != 1 => None,
        Opcode::Bfi => Some((inserted(thread, inst, width)?, false)),
        Opcode::Mul | Opcode::Mad => product(thread, inst, ty, width),
        _ if !plain(&[]) || matches!(ty, ScalarType::U16x2 | ScalarType::S16x2) => None,
        _ => two_operands(thread, inst, ty, width),
    }
}

fn is_integer(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
}

/// `mul` and `mad` with `.lo` or `.wide`.
fn product(
    thread: &mut dyn Thread,
    inst: &Inst<'_, '_>,
    ty: ScalarType,
    width: u8,
) -> Option<(TermId, bool)> {
    let form = &inst.ast.form;
    let mut qualifiers = form.qualifiers();
    let (kind, None) = (qualifiers.next()?, qualifiers.next()) else { return None };
    let mut a = operand(thread, inst.args.get(1)?, width)?;
    let mut b = operand(thread, inst.args.get(2)?, width)?;
    let wide = match kind {
        Qualifier::Lo => width,
        Qualifier::Wide if width <= 32 => 2 * width,
        _ => return None,
    };
    let arena = &mut thread.values().arena;
    if ty.is_signed() {
        (a, b) = (arena.sign_extend(a, wide), arena.sign_extend(b, wide));
    } else {
        (a, b) = (arena.zero_extend(a, wide), arena.zero_extend(b, wide));
    }
    let product = arena.mul(a, b);
    match (form.opcode, inst.args.get(3)) {
        (Opcode::Mul, None) => Some((product, ty.is_signed())),
        (Opcode::Mad, Some(added)) => {
            let added = operand(thread, added, wide)?;
            Some((thread.values().arena.add(product, added), ty.is_signed()))
        }
        _ => None,
    }
}

/// `bfi` of a field whose place and length are constants.
fn inserted(thread: &mut dyn Thread, inst: &Inst<'_, '_>, width: u8) -> Option<TermId> {
    let [_, field, into, place, length] = &inst.args[..] else { return None };
    let (field, into) = (operand(thread, field, width)?, operand(thread, into, width)?);
    let mut number = |arg| {
        let term = operand(thread, arg, 32)?;
        u8::try_from(thread.values().constant(term)? & 255).ok()
    };
    let (place, length) = (number(place)?, number(length)?);
    let end = place.checked_add(length).filter(|end| length > 0 && *end <= width)?;
    let arena = &mut thread.values().arena;
    let mut found = arena.extract(field, 0, length);
    if place > 0 {
        let low = arena.extract(into, 0, place);
        found = arena.concatenate(found, low);
    }
    if end < width {
        let high = arena.extract(into, end, width - end);
        found = arena.concatenate(high, found);
    }
    Some(found)
}

/// Integer and logical operations on one or two operands of one type.
fn two_operands(
    thread: &mut dyn Thread,
    inst: &Inst<'_, '_>,
    ty: ScalarType,
    width: u8,
) -> Option<(TermId, bool)> {
    let opcode = inst.ast.form.opcode;
    let signed = ty.is_signed();
    let a = operand(thread, inst.args.get(1)?, width)?;
    if inst.args.len() == 2 {
        let arena = &mut thread.values().arena;
        return match opcode {
            Opcode::Not => Some((arena.not(a), signed)),
            Opcode::Neg => Some((arena.neg(a), signed)),
            _ => None,
        };
    }
    (inst.args.len() == 3).then_some(())?;
    if matches!(opcode, Opcode::Shl | Opcode::Shr) {
        let amount = operand(thread, &inst.args[2], 32)?;
        (width >= 32).then_some(())?;
        let op = match (opcode, signed) {
            (Opcode::Shl, _) => BinaryOp::ShiftLeft,
            (_, true) => BinaryOp::ArithmeticShiftRight,
            (_, false) => BinaryOp::ShiftRight,
        };
        let arena = &mut thread.values().arena;
        let amount = arena.zero_extend(amount, width);
        return Some((arena.binary(op, a, amount), signed));
    }
    let b = operand(thread, &inst.args[2], width)?;
    let arena = &mut thread.values().arena;
    let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
    let term = match opcode {
        Opcode::Add => arena.add(a, b),
        Opcode::Sub => arena.sub(a, b),
        Opcode::And => arena.binary(BinaryOp::And, a, b),
        Opcode::Or => arena.binary(BinaryOp::Or, a, b),
        Opcode::Xor => arena.binary(BinaryOp::Xor, a, b),
        Opcode::Min | Opcode::Max => {
            let first = arena.compare(less, a, b);
            let qualifier = if opcode == Opcode::Min { Qualifier::Min } else { Qualifier::Max };
            match (arena.constant_value(first), opcode) {
                (None, _) => thread.values().joined(qualifier, ty, [a, b])?,
                (Some(first), Opcode::Min) => [b, a][first as usize],
                (Some(first), _) => [a, b][first as usize],
            }
        }
        Opcode::Div | Opcode::Rem if arena.constant_value(b).is_some_and(|b| b != 0) => {
            let op = match (opcode, signed) {
                (Opcode::Div, true) => BinaryOp::SignedDivide,
                (Opcode::Div, false) => BinaryOp::UnsignedDivide,
                (_, true) => BinaryOp::SignedRemainder,
                (_, false) => BinaryOp::UnsignedRemainder,
            };
            arena.binary(op, a, b)
        }
        _ => return None,
    };
    let logical =
        ty != ScalarType::Pred || matches!(opcode, Opcode::And | Opcode::Or | Opcode::Xor);
    logical.then_some((term, signed))
}

/// `setp` with one result.
fn setp(thread: &mut dyn Thread, inst: &Inst<'_, '_>, ty: ScalarType) -> Option<TermId> {
    let form = &inst.ast.form;
    if !matches!(inst.args.first(), Some(Arg::Register(_))) {
        return None;
    }
    let width = u8::try_from(ty.bits()).ok().filter(|bits| (16..=64).contains(bits))?;
    let names: Vec<Qualifier> = form.qualifiers().filter(|one| *one != Qualifier::Ftz).collect();
    let (name, combine) = match names[..] {
        [name] => (name, None),
        [name, combine @ (Qualifier::And | Qualifier::Or | Qualifier::Xor)] => {
            (name, Some(combine))
        }
        _ => return None,
    };
    let a = operand(thread, inst.args.get(1)?, width)?;
    let b = operand(thread, inst.args.get(2)?, width)?;
    let signed = ty.is_signed();
    let arena = &mut thread.values().arena;
    let (less, least) = match signed {
        true => (Comparison::SignedLess, Comparison::SignedLessEqual),
        false => (Comparison::UnsignedLess, Comparison::UnsignedLessEqual),
    };
    let compared = match name {
        _ if ty.is_float() => {
            let (basic, swapped, holds) = basic_comparison(name)?;
            let mut operands = if swapped { [b, a] } else { [a, b] };
            if matches!(basic, Qualifier::Eq | Qualifier::Ne | Qualifier::Nan) {
                sort(&mut operands);
            }
            let name = format!("{basic:?} {ty} {}", form.has(Qualifier::Ftz));
            let term = thread.values().apply(name, &operands, 1);
            if holds { term } else { thread.values().arena.not(term) }
        }
        Qualifier::Eq => arena.equal(a, b),
        Qualifier::Ne => {
            let equal = arena.equal(a, b);
            arena.not(equal)
        }
        Qualifier::Lt => arena.compare(less, a, b),
        Qualifier::Le => arena.compare(least, a, b),
        Qualifier::Gt => arena.compare(less, b, a),
        Qualifier::Ge => arena.compare(least, b, a),
        Qualifier::Lo => arena.compare(Comparison::UnsignedLess, a, b),
        Qualifier::Ls => arena.compare(Comparison::UnsignedLessEqual, a, b),
        Qualifier::Hi => arena.compare(Comparison::UnsignedLess, b, a),
        Qualifier::Hs => arena.compare(Comparison::UnsignedLessEqual, b, a),
        _ => return None,
    };
    match (combine, inst.args.get(3)) {
        (None, None) => Some(compared),
        (Some(op), Some(other)) => {
            let other = operand(thread, other, 1)?;
            let arena = &mut thread.values().arena;
            Some(match op {
                Qualifier::And => arena.and(compared, other),
                Qualifier::Or => arena.or(compared, other),
                _ => arena.xor(compared, other),
            })
        }
        _ => None,
    }
}

/// The results of an instruction as functions of its operands that are not looked into.
fn applied(thread: &mut dyn Thread, inst: &Inst<'_, '_>) -> Option<Vec<(RegisterId, TermId)>> {
    let mut name: String = inst.ast.opcode.text.split_whitespace().collect();
    let mut operands = Vec::new();
    for arg in inst.args.iter().skip(1) {
        match arg {
            Arg::Register(register) => {
                operands.push(thread.read(*register)?);
                name.push_str(" r");
            }
            Arg::Not(register) => {
                operands.push(thread.read(*register)?);
                name.push_str(" !r");
            }
            Arg::Constant(value) => _ = write!(name, " {value:?}"),
            _ => return None,
        }
    }
    if commutes(inst) && matches!(inst.args[1..], [Arg::Register(_), Arg::Register(_), ..]) {
        sort(&mut operands);
    }
    let destinations: Vec<RegisterId> = match inst.args.first()? {
        Arg::Register(register) => vec![*register],
        Arg::Pair(pair) => match &pair[..] {
            [Arg::Register(first), Arg::Register(second)] => vec![*first, *second],
            _ => return None,
        },
        _ => return None,
    };
    let mut found = Vec::new();
    for (at, register) in destinations.into_iter().enumerate() {
        let width = thread.width(register)?;
        let term = thread.values().apply(format!("{name} #{at} of {width}"), &operands, width);
        found.push((register, term));
    }
    Some(found)
}
