//! What instructions on integers compute, on numbers: those of which indices, addresses and conditions are made.
//!
//! Values are at most 64 bits and cut to the width of their type. An instruction that is not in here has no number,
//! which makes what depends on it data.

use crate::isa::{Form, Modifier, Opcode, Qualifier as Q, ScalarType};

/// A value cut to the width of a type.
pub(super) fn cut(value: u64, ty: ScalarType) -> u64 {
    match ty.bits() {
        64.. => value,
        bits => value & ((1 << bits) - 1),
    }
}

/// A value of a type as a number with its sign.
fn wide(value: u64, ty: ScalarType) -> i128 {
    let value = cut(value, ty);
    match (ty.is_signed(), ty.bits()) {
        (false, _) => i128::from(value),
        (true, 64..) => i128::from(value as i64),
        (true, bits) => i128::from((value << (64 - bits)) as i64 >> (64 - bits)),
    }
}

/// The result of an instruction.
pub(super) fn apply(form: &Form, args: &[u64]) -> Option<u64> {
    let types = form.types();
    let ty = *types.last()?;
    if types.iter().any(|ty| ty.is_float() || ty.bits() > 64) && form.opcode != Opcode::Selp {
        return None;
    }
    if matches!(ty, ScalarType::U16x2 | ScalarType::S16x2) || !are_known(form) {
        return None;
    }
    let bits = ty.bits();
    let signed = |at: usize| args.get(at).map(|&value| wide(value, ty));
    let raw = |at: usize| args.get(at).map(|&value| cut(value, ty));
    let back = |value: i128| Some(cut(value as u64, ty));
    match form.opcode {
        Opcode::Add => back(signed(0)? + signed(1)?),
        Opcode::Sub => back(signed(0)? - signed(1)?),
        Opcode::Mul => product(form, ty, signed(0)?, signed(1)?),
        Opcode::Mad => {
            let product = product(form, ty, signed(0)?, signed(1)?)?;
            let sum = product.wrapping_add(*args.get(2)?);
            if form.has(Q::Wide) && bits == 32 {
                Some(sum)
            } else {
                Some(cut(sum, wider(form, ty)))
            }
        }
        Opcode::Div => back(signed(0)?.checked_div(signed(1)?)?),
        Opcode::Rem => back(signed(0)?.checked_rem(signed(1)?)?),
        Opcode::Min => back(signed(0)?.min(signed(1)?)),
        Opcode::Max => back(signed(0)?.max(signed(1)?)),
        Opcode::Neg => back(-signed(0)?),
        Opcode::Abs => back(signed(0)?.abs()),
        Opcode::Sad => back((signed(0)? - signed(1)?).abs() + signed(2)?),
        Opcode::And => Some(raw(0)? & raw(1)?),
        Opcode::Or => Some(raw(0)? | raw(1)?),
        Opcode::Xor => Some(raw(0)? ^ raw(1)?),
        Opcode::Not => Some(cut(!raw(0)?, ty)),
        Opcode::Cnot => Some(u64::from(raw(0)? == 0)),
        Opcode::Lop3 => lop3(args),
        Opcode::Shl => {
            let by = *args.get(1)? as u32;
            Some(if by >= bits { 0 } else { cut(raw(0)? << by, ty) })
        }
        Opcode::Shr => {
            let by = (*args.get(1)? as u32).min(if ty.is_signed() { bits - 1 } else { bits });
            back(signed(0)? >> by)
        }
        Opcode::Shf => funnel(form, args),
        Opcode::Popc => Some(u64::from(raw(0)?.count_ones())),
        Opcode::Clz => Some(u64::from(raw(0)?.leading_zeros() - (64 - bits))),
        Opcode::Brev => Some(raw(0)?.reverse_bits() >> (64 - bits)),
        Opcode::Bfe => field(args, ty),
        Opcode::Bfi => {
            let (at, length) = (amount(*args.get(2)?, ty)?, amount(*args.get(3)?, ty)?);
            let mask = ones(length).checked_shl(at).unwrap_or(0);
            let inserted = raw(0)?.checked_shl(at).unwrap_or(0);
            Some(cut(inserted & mask | raw(1)? & !mask, ty))
        }
        Opcode::Selp => {
            let taken = args.get(2)? & 1 == 1;
            args.get(usize::from(!taken)).copied()
        }
        Opcode::Setp => {
            let holds = compare(form, ty, args)?;
            match args.get(2) {
                None => Some(u64::from(holds)),
                Some(&other) => {
                    let other = other & 1 == 1;
                    let joined = match form.first_of(&[Q::And, Q::Or, Q::Xor])? {
                        Q::And => holds && other,
                        Q::Or => holds || other,
                        _ => holds != other,
                    };
                    Some(u64::from(joined))
                }
            }
        }
        Opcode::Cvt => match types[..] {
            [to, from] if form.qualifiers().next().is_none() => {
                Some(cut(wide(*args.first()?, from) as u64, to))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether this file knows every modifier of a form; one that it does not know may change the result.
fn are_known(form: &Form) -> bool {
    let known: &[Q] = match form.opcode {
        Opcode::Mul | Opcode::Mad => &[Q::Lo, Q::Hi, Q::Wide],
        Opcode::Shf => &[Q::L, Q::R, Q::Wrap, Q::Clamp],
        Opcode::Setp => &[
            Q::Eq,
            Q::Ne,
            Q::Lt,
            Q::Le,
            Q::Gt,
            Q::Ge,
            Q::Lo,
            Q::Ls,
            Q::Hi,
            Q::Hs,
            Q::And,
            Q::Or,
            Q::Xor,
        ],
        _ => &[],
    };
    form.modifiers().iter().all(|modifier| match modifier {
        Modifier::Type(_) => true,
        Modifier::Qualifier(qualifier) => known.contains(qualifier),
        Modifier::Space(_) | Modifier::Shape(_) | Modifier::Unknown => false,
    })
}

fn wider(form: &Form, ty: ScalarType) -> ScalarType {
    match (form.has(Q::Wide), ty.bits()) {
        (true, 16) => ScalarType::U32,
        (true, _) => ScalarType::U64,
        (false, _) => ty,
    }
}

fn product(form: &Form, ty: ScalarType, a: i128, b: i128) -> Option<u64> {
    let product = a.wrapping_mul(b);
    match form.first_of(&[Q::Lo, Q::Hi, Q::Wide])? {
        Q::Lo => Some(cut(product as u64, ty)),
        Q::Wide => Some(cut(product as u64, wider(form, ty))),
        // The product of two unsigned numbers of 64 bits may not fit.
        _ if ty == ScalarType::U64 => Some(((a as u128).wrapping_mul(b as u128) >> 64) as u64),
        _ => Some(cut((product >> ty.bits()) as u64, ty)),
    }
}

fn ones(length: u32) -> u64 {
    if length >= 64 { u64::MAX } else { (1 << length) - 1 }
}

/// The position or the length of a field: the lowest 8 bits count. Beyond 255 ptxas does otherwise for operands of 64 bits,
/// so that nothing is known.
fn amount(given: u64, ty: ScalarType) -> Option<u32> {
    let given = given as u32;
    (given < 0x100 || ty.bits() < 64).then_some(given & 0xff)
}

/// `bfe`
fn field(args: &[u64], ty: ScalarType) -> Option<u64> {
    let (value, bits) = (cut(*args.first()?, ty), ty.bits());
    let (at, length) = (amount(*args.get(1)?, ty)?, amount(*args.get(2)?, ty)?);
    if length == 0 {
        return Some(0);
    }
    let top = (at + length - 1).min(bits - 1);
    let sign = ty.is_signed() && value >> top & 1 == 1;
    let got = value.checked_shr(at).unwrap_or(0) & ones(length);
    let within = length.min(bits.saturating_sub(at));
    Some(if sign { cut(got | !ones(within), ty) } else { got })
}

/// `lop3`, without a predicate.
fn lop3(args: &[u64]) -> Option<u64> {
    let &[a, b, c, table] = args else { return None };
    let mut result = 0;
    for bit in 0..32 {
        let row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
        result |= (table >> row & 1) << bit;
    }
    Some(result)
}

/// `shf`
fn funnel(form: &Form, args: &[u64]) -> Option<u64> {
    let &[low, high, by] = args else { return None };
    let by = if form.has(Q::Wrap) { by & 31 } else { (by & 0xffff_ffff).min(32) };
    let both = high << 32 | low & 0xffff_ffff;
    Some(match form.has(Q::L) {
        true => (u128::from(both) << by >> 32) as u64 & 0xffff_ffff,
        false => both >> by & 0xffff_ffff,
    })
}

fn compare(form: &Form, ty: ScalarType, args: &[u64]) -> Option<bool> {
    let (a, b) = (wide(*args.first()?, ty), wide(*args.get(1)?, ty));
    let comparisons = [Q::Eq, Q::Ne, Q::Lt, Q::Le, Q::Gt, Q::Ge, Q::Lo, Q::Ls, Q::Hi, Q::Hs];
    Some(match form.first_of(&comparisons)? {
        Q::Eq => a == b,
        Q::Ne => a != b,
        Q::Lt | Q::Lo => a < b,
        Q::Le | Q::Ls => a <= b,
        Q::Gt | Q::Hi => a > b,
        _ => a >= b,
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(instructions_compute_what_the_manual_says);

    /// Figures worked out by hand from the manual's definitions.
    fn instructions_compute_what_the_manual_says() {
        let minus = |n: u64| n.wrapping_neg() & 0xffff_ffff;
        for (text, args, result) in [
            ("add.s32", &[0xffff_ffff, 2][..], 1),
            ("sub.u32", &[1, 2], 0xffff_ffff),
            ("mul.lo.s32", &[minus(3), 5], minus(15)),
            ("mul.hi.u32", &[0x8000_0000, 4], 2),
            ("mul.wide.s32", &[minus(1), 4], (-4i64) as u64),
            ("mad.lo.u32", &[3, 4, 5], 17),
            ("mad.wide.u32", &[3, 4, 1 << 40], (1 << 40) + 12),
            ("div.s32", &[minus(7), 2], minus(3)),
            ("rem.u32", &[7, 4], 3),
            ("shr.s32", &[minus(8), 1], minus(4)),
            ("shr.u32", &[0x8000_0000, 31], 1),
            ("shl.b32", &[1, 32], 0),
            ("bfe.u32", &[0xabcd, 4, 8], 0xbc),
            ("bfe.s32", &[0xf0, 4, 4], minus(1)),
            ("bfi.b32", &[0x5, 0xff, 4, 4], 0x5f),
            ("lop3.b32", &[0b1100, 0b1010, 0b0110, 0x96], 0),
            ("shf.l.wrap.b32", &[0x8000_0000, 1, 1], 3),
            ("shf.r.clamp.b32", &[0, 1, 32], 1),
            ("setp.lt.s32", &[minus(1), 0], 1),
            ("setp.lt.u32", &[minus(1), 0], 0),
            ("setp.eq.and.s32", &[1, 1, 0], 0),
            ("selp.b32", &[7, 8, 0], 8),
            ("cvt.s64.s32", &[minus(1)], u64::MAX),
            ("cvt.u64.u32", &[minus(1)], 0xffff_ffff),
            ("cvt.u16.u32", &[0x12345], 0x2345),
            ("clz.b32", &[1], 31),
            ("brev.b32", &[1], 0x8000_0000),
            ("min.s32", &[minus(1), 0], minus(1)),
        ] {
            assert_eq!(apply(&Form::of(text), args), Some(result), "{text}");
        }
        for unknown in [
            "add.sat.s32",
            "add.cc.u32",
            "max.relu.s32",
            "lop3.or.b32",
            "mad.hi.sat.s32",
            "add.new.s32",
        ] {
            assert_eq!(apply(&Form::of(unknown), &[1, 2, 3, 4, 5]), None, "{unknown}");
        }
        // Fields of 64 bits whose place is not in one byte.
        assert_eq!(apply(&Form::of("bfe.u32"), &[0xabcd, 0x104, 0x108]), Some(0xbc));
        assert_eq!(apply(&Form::of("bfe.u64"), &[0xabcd, 4, 8]), Some(0xbc));
        for args in [[0xabcd, 0x104, 8, 8], [0xabcd, 4, 0x108, 8]] {
            assert_eq!(apply(&Form::of("bfe.u64"), &args[..3]), None, "{args:?}");
        }
        for args in [[0xabcd, 1, 0x104, 8], [0xabcd, 1, 4, 0x108]] {
            assert_eq!(apply(&Form::of("bfi.b64"), &args), None, "{args:?}");
        }
        assert_eq!(apply(&Form::of("add.f32"), &[0, 0]), None);
        assert_eq!(apply(&Form::of("div.u32"), &[1, 0]), None);
    }
}
