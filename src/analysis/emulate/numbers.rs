//! Instructions whose operands are numbers.
//!
//! In: the form of an instruction on integers, and its operands. Out: its result, by the meanings of `semantics` on
//! constant terms.

use smallvec::SmallVec;

use super::forms::is_exact;
use super::semantics::{self, Destination, Operand, Values};
use super::symbols::Symbols;
use crate::expr::Arena;
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::Value;

/// The result of an instruction that writes one register, as the bits of that register; a predicate is 1 or 0. `operands`
/// are those behind the destination, in the order of the text. `None` if the result is not exactly known, depends on more
/// than the operands, or is not an integer.
pub fn on_numbers(form: &Form, operands: &[u64]) -> Option<u64> {
    let counts = form.types().iter().all(|ty| !ty.is_float() && ty.bits() <= 64);
    let uses_carry = form.has(Qualifier::Cc) || semantics::reads_carry(form);
    let bits = form.last_type().map_or(64, |ty| ty.bits().min(64));
    let is_zero = |number: &u64| number << (64 - bits) == 0;
    let divides = matches!(form.opcode, Opcode::Div | Opcode::Rem);
    // (The result of a division by 0 is unspecified: PTX ISA, "div".)
    if !counts && form.opcode != Opcode::Selp
        || uses_carry
        || divides && operands.get(1).is_some_and(is_zero)
        || !is_exact(form, operands.len() + 1)
    {
        return None;
    }
    let (mut arena, mut symbols) = (Arena::new(), Symbols::default());
    let sources: SmallVec<[Operand<'_>; 4]> =
        operands.iter().map(|value| Operand::Constant(Value::Unsigned(*value))).collect();
    let mut values = Values {
        arena: &mut arena,
        symbols: &mut symbols,
        name: "",
        destination: Destination::Register,
        sources: &sources,
        carry: None,
    };
    let results = semantics::evaluate(&mut values, form)?;
    let [(result, _)] = results[..] else { return None };
    arena.constant_value(result)
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
            ("add.sat.s32", &[0x7fff_ffff, 1], 0x7fff_ffff),
        ] {
            assert_eq!(on_numbers(&Form::of(text), args), Some(result), "{text}");
        }
        for unknown in ["add.cc.u32", "addc.u32", "max.relu.s32", "lop3.or.b32", "add.new.s32"] {
            assert_eq!(on_numbers(&Form::of(unknown), &[1, 2, 3, 4, 5]), None, "{unknown}");
        }
        // Fields of 64 bits whose place is not in one byte.
        assert_eq!(on_numbers(&Form::of("bfe.u32"), &[0xabcd, 0x104, 0x108]), Some(0xbc));
        assert_eq!(on_numbers(&Form::of("bfe.u64"), &[0xabcd, 4, 8]), Some(0xbc));
        for args in [[0xabcd, 0x104, 8, 8], [0xabcd, 4, 0x108, 8]] {
            assert_eq!(on_numbers(&Form::of("bfe.u64"), &args[..3]), None, "{args:?}");
        }
        for args in [[0xabcd, 1, 0x104, 8], [0xabcd, 1, 4, 0x108]] {
            assert_eq!(on_numbers(&Form::of("bfi.b64"), &args), None, "{args:?}");
        }
        assert_eq!(on_numbers(&Form::of("add.f32"), &[0, 0]), None);
        // Bits beyond the type do not count.
        for zero in [0, 1 << 32] {
            assert_eq!(on_numbers(&Form::of("div.u32"), &[1, zero]), None);
        }
    }
}
