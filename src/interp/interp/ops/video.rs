//! Scalar video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr vset vmad` (PTX ISA, "Scalar
//! Video Instructions"). A byte or half of each source is extended to 34 bits and more; the result
//! is clamped, combined with a third operand or merged into it.

use crate::algebra::Meaning;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{Cell, Scalar};
use crate::interp::registers::File;
use crate::isa::{Opcode, Qualifier, Selector};
use crate::ptx::ScalarType::{self, B32, S32, U32};
use crate::ptx::{Name, Operand};
use crate::source::Span;

/// A byte, half or all of a register.
#[derive(Clone, Copy)]
struct Field {
    bits: u32,
    low: u32,
}

const WORD: Field = Field { bits: 32, low: 0 };

impl Field {
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits) << self.low
    }

    fn read(self, word: u64, signed: bool) -> i64 {
        let raw = ((word & self.mask()) >> self.low) as i64;
        let shift = 64 - self.bits;
        if signed { raw << shift >> shift } else { raw }
    }

    /// A value brought into the range of values of the field.
    fn clamp(self, value: i64, signed: bool) -> i64 {
        match signed {
            true => value.clamp(-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => value.clamp(0, (1 << self.bits) - 1),
        }
    }
}

/// A name without its selector, and the selector, if it has one; `Some(None)` if that names no part.
pub(super) fn split_selector(name: Name<'_>) -> (Name<'_>, Option<Option<Selector>>) {
    let Some((register, selector)) = name.text.rsplit_once('.') else { return (name, None) };
    if !selector.starts_with(['b', 'h']) {
        return (name, None);
    }
    let start = name.span.start as usize;
    let span = Span::new(start, start + register.len());
    (Name { text: register, span }, Some(Selector::parse(selector)))
}

fn field<'s>(inst: &Inst<'_, 's>, name: Name<'s>) -> Result<(Name<'s>, Option<Field>), Fault> {
    let (register, selector) = split_selector(name);
    let field = match selector {
        None => None,
        Some(Some(Selector { bits, count: 1, parts })) if parts[0] < 32 / bits => {
            Some(Field { bits: bits.into(), low: (bits * parts[0]).into() })
        }
        Some(_) => {
            return Err(inst.unsupported(format!(
                "`{}` has a selector that this instruction does not take",
                name.text
            )));
        }
    };
    Ok((register, field))
}

/// A source as it is written.
#[derive(Clone, Copy)]
struct Source {
    cell: Cell,
    field: Field,
    signed: bool,
    negated: bool,
}

impl Source {
    fn read(self, word: u64) -> i64 {
        self.field.read(word, self.signed)
    }
}

fn source<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    index: usize,
    ty: ScalarType,
) -> Result<Source, Fault> {
    if !matches!(ty, U32 | S32) {
        return Err(inst.bad_type(ty));
    }
    let signed = ty == S32;
    let operand = inst.operand(index)?;
    let (name, negated) = match operand {
        Operand::Name(name) => (*name, false),
        Operand::Negated(name) => (*name, true),
        other => {
            let cell = (File::W32, cx.source(other, ty)?);
            return Ok(Source { cell, field: WORD, signed, negated: false });
        }
    };
    let (name, field) = field(inst, name)?;
    let cell = (File::W32, cx.named_source(name, 0, File::W32)?);
    Ok(Source { cell, field: field.unwrap_or(WORD), signed, negated })
}

/// The comparisons of `vset`.
pub(super) fn compare(name: Qualifier) -> Option<fn(&i64, &i64) -> bool> {
    Some(match name {
        Qualifier::Eq => i64::eq,
        Qualifier::Ne => i64::ne,
        Qualifier::Lt => i64::lt,
        Qualifier::Le => i64::le,
        Qualifier::Gt => i64::gt,
        Qualifier::Ge => i64::ge,
        _ => return None,
    })
}

/// How the result and the third operand are combined.
#[derive(Clone, Copy)]
enum Second {
    None,
    Merge,
    With(fn(i64, i64) -> i64),
}

/// The operation by which a qualifier combines the result with the third operand.
fn second_operation(qualifier: Qualifier) -> Option<fn(i64, i64) -> i64> {
    Some(match qualifier {
        Qualifier::Add => |a, b| a + b,
        Qualifier::Min => i64::min,
        Qualifier::Max => i64::max,
        _ => return None,
    })
}

/// The operation of an opcode on the two sources; `vset` compares instead.
fn operation(opcode: Opcode, clamp: bool) -> fn(i64, i64) -> i64 {
    match opcode {
        Opcode::Vadd => |a, b| a + b,
        Opcode::Vsub => |a, b| a - b,
        Opcode::Vabsdiff => |a, b| (a - b).abs(),
        Opcode::Vmin => i64::min,
        Opcode::Vmax => i64::max,
        Opcode::Vshl if clamp => |a, b| match b {
            // A magnitude above every result, with the low bits clear.
            32.. => a.signum() << 62,
            _ => a << b,
        },
        Opcode::Vshl => |a, b| a << (b & 31),
        Opcode::Vshr if clamp => |a, b| a >> b.min(32),
        Opcode::Vshr => |a, b| a >> (b & 31),
        _ => |_, _| 0,
    }
}

/// All instructions of this family.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let name = inst.ast.form.opcode;
    if name == Opcode::Vmad {
        return multiply(cx, inst);
    }
    let saturate = inst.take(Qualifier::Sat);
    let clamp = inst.take(Qualifier::Clamp);
    inst.take(Qualifier::Wrap);
    let comparison = if name == Opcode::Vset { inst.take_qualifier(compare) } else { None };
    let with = inst.take_qualifier(second_operation);
    let ty = if name == Opcode::Vset { U32 } else { inst.take_type()? };
    let (a_type, b_type) = (inst.take_type()?, inst.take_type()?);
    inst.finish()?;
    let run = operation(name, clamp);
    if name == Opcode::Vset && comparison.is_none() {
        return Err(inst.unsupported("this comparison is not modelled"));
    }
    let (a, b) = (source(cx, inst, 1, a_type)?, source(cx, inst, 2, b_type)?);
    let Operand::Name(d) = inst.operand(0)? else {
        return Err(inst.unsupported("the destination of a video instruction is a register"));
    };
    let (d, into) = field(inst, *d)?;
    let (second, c) = match (with, into, inst.operands().len()) {
        (None, None, 3) => (Second::None, None),
        (None, Some(_), 4) => (Second::Merge, Some(source(cx, inst, 3, U32)?)),
        (Some(with), None, 4) => (Second::With(with), Some(source(cx, inst, 3, ty)?)),
        _ => return Err(inst.unsupported("wrong operands of a video instruction")),
    };
    let (into, signed) = (into.unwrap_or(WORD), ty == S32);
    let mut s = vec![a.cell, b.cell];
    s.extend(c.map(|c| c.cell));
    let d = (File::W32, cx.named_dest(d, B32)?);
    let run = Box::new(move |[x, y, z, _]: [u64; 4]| {
        let (x, y) = (a.read(x), b.read(y));
        let result = match comparison {
            Some(holds) => i64::from(holds(&x, &y)),
            None => run(x, y),
        };
        let result = if saturate { into.clamp(result, signed) } else { result };
        Ok(match (second, c) {
            (Second::With(with), Some(c)) => u64::from(with(result, c.read(z)) as u32),
            (Second::Merge, _) => z & !into.mask() | (result as u64) << into.low & into.mask(),
            _ => u64::from(result as u32),
        })
    });
    cx.emit(Op::Scalar(Box::new(Scalar { run, d, s, meaning: Meaning::Unknown })));
    Ok(())
}

/// `vmad.dtype.atype.btype{.sat}{.scale} d, {-}a, {-}b, {-}c` and its form with `.po`, which adds 1.
/// The result is signed if a source is signed or negated.
fn multiply<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let plus_one = i128::from(inst.take(Qualifier::Po));
    let saturate = inst.take(Qualifier::Sat);
    let scale = inst.take_qualifier(|m| match m {
        Qualifier::Shr7 => Some(7),
        Qualifier::Shr15 => Some(15),
        _ => None,
    });
    let (d_type, a_type, b_type) = (inst.take_type()?, inst.take_type()?, inst.take_type()?);
    inst.finish()?;
    let (a, b) = (source(cx, inst, 1, a_type)?, source(cx, inst, 2, b_type)?);
    let mut c = source(cx, inst, 3, d_type)?;
    let negates = a.negated != b.negated;
    let signed = a.signed || b.signed || negates || c.negated;
    c.signed = signed;
    let d = (File::W32, cx.dest(inst.operand(0)?, B32)?);
    let run = Box::new(move |[x, y, z, _]: [u64; 4]| {
        let product = i128::from(a.read(x)) * i128::from(b.read(y));
        let addend = i128::from(c.read(z));
        let sum = if negates { -product } else { product }
            + if c.negated { -addend } else { addend }
            + plus_one;
        let scaled = sum >> scale.unwrap_or(0);
        let result = match (saturate, signed) {
            (false, _) => scaled,
            (true, true) => scaled.clamp(i32::MIN.into(), i32::MAX.into()),
            (true, false) => scaled.clamp(0, u32::MAX.into()),
        };
        Ok(u64::from(result as u32))
    });
    cx.emit(Op::Scalar(Box::new(Scalar {
        run,
        d,
        s: vec![a.cell, b.cell, c.cell],
        meaning: Meaning::Unknown,
    })));
    Ok(())
}
