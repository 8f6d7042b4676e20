//! Which operations give the same bits when their first two source operands change places.
//!
//! Taken from the PTX ISA's definitions. Integer and bitwise operations are plain. Of floating-point
//! results only NaNs are in question: half and single precision deliver one NaN whatever NaNs the
//! operands were ("Floating Point Instructions"), and of zeros `min` and `max` take -0 for the smaller
//! one. Double precision passes a NaN's payload on, and the ISA does not say which one of two:
//! `add.f64 a, b` and `add.f64 b, a` are not taken for equal.

use super::symbols::Terms;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
use crate::isa::{Form, Modifier, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// Whether an instruction's first two source operands may change places.
pub(crate) fn commutes(inst: &Inst<'_, '_>) -> bool {
    let (ast, sources) = (inst.ast, inst.args.len().saturating_sub(1));
    let single = |arg: Option<&Arg<'_>>| {
        matches!(arg, Some(Arg::Register(_) | Arg::Constant(_) | Arg::Special(_)))
    };
    if !single(inst.args.get(1)) || !single(inst.args.get(2)) {
        return false;
    }
    let types = ast.form.types();
    let one = match types[..] {
        [ScalarType::F64] | [] => false,
        [_] => true,
        _ => false,
    };
    match ast.form.opcode {
        Opcode::Add
        | Opcode::Addc
        | Opcode::Mul
        | Opcode::Mul24
        | Opcode::Min
        | Opcode::Max
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor => one && sources == 2,
        Opcode::Fma | Opcode::Mad | Opcode::Madc | Opcode::Mad24 | Opcode::Sad => {
            one && sources == 3
        }
        // Both operands are four bytes, and are read alike only if their types are the same.
        Opcode::Dp4a => sources == 3 && types.len() == 2 && types[0] == types[1],
        Opcode::Set | Opcode::Setp => symmetric(&ast.form),
        _ => false,
    }
}

/// Whether a comparison is the same from both sides.
fn symmetric(form: &Form) -> bool {
    const SYMMETRIC: &[Qualifier] = &[
        Qualifier::Eq,
        Qualifier::Ne,
        Qualifier::Equ,
        Qualifier::Neu,
        Qualifier::Num,
        Qualifier::Nan,
    ];
    matches!(form.modifiers().first(), Some(Modifier::Qualifier(first)) if SYMMETRIC.contains(first))
}

/// The one of four comparisons of floating-point numbers by which another is made (PTX ISA, "Comparisons"): `gt` is `lt`
/// from the other side, and the unordered ones hold exactly if their opposites do not. With it whether the sides change, and
/// whether it must hold.
pub(crate) fn basic_comparison(name: Qualifier) -> Option<(Qualifier, bool, bool)> {
    Some(match name {
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
    })
}

/// Sorts operands that may change places, so that equal results are one term.
pub(crate) fn sort(operands: &mut [TermId]) {
    if let [a, b, ..] = operands
        && *a > *b
    {
        std::mem::swap(a, b);
    }
}

/// If two terms are the same commutative operation, the pairs of operands to compare: each with the
/// other place.
pub(crate) fn crossed(terms: &Terms, a: TermId, b: TermId) -> Option<Vec<(TermId, TermId)>> {
    let ((f, x), (g, y)) = (terms.applied(a)?, terms.applied(b)?);
    if f != g || x.len() != y.len() || x.len() < 2 || !f.commutes() {
        return None;
    }
    let mut pairs = vec![(x[0], y[1]), (x[1], y[0])];
    pairs.extend(x.iter().copied().zip(y.iter().copied()).skip(2));
    let fits = |&(x, y): &(TermId, TermId)| terms.arena.width(x) == terms.arena.width(y);
    if !pairs.iter().all(fits) {
        return None;
    }
    pairs.retain(|(x, y)| x != y);
    Some(pairs)
}
