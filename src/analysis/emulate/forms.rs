//! Which instruction forms have an exact meaning here, by table.
//!
//! A form is exact only if each of its modifiers and types, and the number of its operands, stand in
//! the table. A modifier that a later PTX ISA adds therefore makes an instruction an uninterpreted
//! function of its operands, never a wrong value.

use std::sync::LazyLock;

use strum::IntoEnumIterator;

use super::effects::{Effect, effect};
use crate::cfg::{Arg, Inst};
use crate::isa::ScalarType::{self, *};
use crate::isa::{Form, Modifier, Opcode, Opcode as O, Qualifier, Qualifier as Q, StateSpace};

/// How much of an instruction's meaning the terms carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Meaning {
    /// Its result is the bit-vector that the manual defines.
    Exact,
    /// Its result is some function of its operands (for loads: of memory and address), so that
    /// equal operands give equal results.
    Uninterpreted,
    /// The registers and memory that the instruction may change are known; a result is an unknown value, another one in
    /// every lane.
    Conservative,
    /// Nothing is known: all registers named and all memory may change, and threads may meet.
    Opaque,
}

/// Instructions of one shape.
struct ExactForm {
    opcodes: &'static [Opcode],
    qualifiers: &'static [Qualifier],
    /// The state space that the form may name; `None` if it may name none.
    space: Option<StateSpace>,
    types: &'static [ScalarType],
    /// How many types are named.
    type_count: usize,
    /// Least and greatest number of operands, destinations included.
    operands: (usize, usize),
}

const INTEGERS: &[ScalarType] = &[U16, U32, U64, S16, S32, S64];
const WITH_PACKED: &[ScalarType] = &[U16, U32, U64, S16, S32, S64, U16x2, S16x2];
const WIDE: &[ScalarType] = &[U32, U64, S32, S64];
const WORDS: &[ScalarType] = &[U32, S32];
const SIGNED: &[ScalarType] = &[S16, S32, S64];
const ALL_INTEGERS: &[ScalarType] = &[U8, U16, U32, U64, S8, S16, S32, S64];
const BITS: &[ScalarType] = &[Pred, B16, B32, B64];
const UP_TO_64: &[ScalarType] = &[
    Pred, B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, Bf16, Bf16x2, F32,
    F64, F32x2,
];
const COMPARABLE: &[ScalarType] =
    &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, Bf16, F32, F64];

const COMPARE_AND_COMBINE: &[Qualifier] = &[
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
    Q::Equ,
    Q::Neu,
    Q::Ltu,
    Q::Leu,
    Q::Gtu,
    Q::Geu,
    Q::Num,
    Q::Nan,
    Q::And,
    Q::Or,
    Q::Xor,
    Q::Ftz,
];

const fn form(
    opcodes: &'static [Opcode],
    qualifiers: &'static [Qualifier],
    types: &'static [ScalarType],
    type_count: usize,
    operands: (usize, usize),
) -> ExactForm {
    ExactForm { opcodes, qualifiers, space: None, types, type_count, operands }
}

const FORMS: &[ExactForm] = &[
    // Integer arithmetic.
    form(&[O::Add, O::Sub], &[], WITH_PACKED, 1, (3, 3)),
    form(&[O::Add, O::Sub], &[Q::Sat], &[S32], 1, (3, 3)),
    form(&[O::Add, O::Sub], &[Q::Cc], WIDE, 1, (3, 3)),
    form(&[O::Addc, O::Subc], &[Q::Cc], WIDE, 1, (3, 3)),
    form(&[O::Mul], &[Q::Hi, Q::Lo, Q::Wide], INTEGERS, 1, (3, 3)),
    form(&[O::Mad], &[Q::Hi, Q::Lo, Q::Wide, Q::Sat, Q::Cc], INTEGERS, 1, (4, 4)),
    form(&[O::Madc], &[Q::Hi, Q::Lo, Q::Cc], WIDE, 1, (4, 4)),
    form(&[O::Mul24], &[Q::Hi, Q::Lo], WORDS, 1, (3, 3)),
    form(&[O::Mad24], &[Q::Hi, Q::Lo, Q::Sat], WORDS, 1, (4, 4)),
    form(&[O::Sad], &[], INTEGERS, 1, (4, 4)),
    form(&[O::Div, O::Rem], &[], INTEGERS, 1, (3, 3)),
    form(&[O::Abs, O::Neg], &[], SIGNED, 1, (2, 2)),
    form(&[O::Min, O::Max], &[Q::Relu], WITH_PACKED, 1, (3, 3)),
    form(&[O::Dp4a], &[], WORDS, 2, (4, 4)),
    form(&[O::Dp2a], &[Q::Lo, Q::Hi], WORDS, 2, (4, 4)),
    // Bits and fields.
    form(&[O::Popc, O::Clz, O::Brev], &[], &[B32, B64], 1, (2, 2)),
    form(&[O::Bfind], &[Q::Shiftamt], WIDE, 1, (2, 2)),
    form(&[O::Fns], &[], &[B32], 1, (4, 4)),
    form(&[O::Bfe], &[], WIDE, 1, (4, 4)),
    form(&[O::Bfi], &[], &[B32, B64], 1, (5, 5)),
    form(&[O::Bmsk], &[Q::Clamp, Q::Wrap], &[B32], 1, (3, 3)),
    form(&[O::Szext], &[Q::Clamp, Q::Wrap], WORDS, 1, (3, 3)),
    form(&[O::Prmt], &[Q::F4e, Q::B4e, Q::Rc8, Q::Ecl, Q::Ecr, Q::Rc16], &[B32], 1, (4, 4)),
    // Logic and shifts.
    form(&[O::And, O::Or, O::Xor], &[], BITS, 1, (3, 3)),
    form(&[O::Not], &[], BITS, 1, (2, 2)),
    form(&[O::Cnot], &[], &[B16, B32, B64], 1, (2, 2)),
    form(&[O::Lop3], &[Q::And, Q::Or], &[B32], 1, (5, 6)),
    form(&[O::Shl], &[], &[B16, B32, B64], 1, (3, 3)),
    form(&[O::Shr], &[], &[B16, B32, B64, U16, U32, U64, S16, S32, S64], 1, (3, 3)),
    form(&[O::Shf], &[Q::L, Q::R, Q::Clamp, Q::Wrap], &[B32], 1, (4, 4)),
    // Comparison and selection. Comparisons of floating-point numbers are uninterpreted.
    form(&[O::Setp], COMPARE_AND_COMBINE, COMPARABLE, 1, (3, 4)),
    form(&[O::Set], COMPARE_AND_COMBINE, COMPARABLE, 2, (3, 4)),
    form(&[O::Selp], &[], UP_TO_64, 1, (4, 4)),
    form(&[O::Slct], &[Q::Ftz], COMPARABLE, 2, (4, 4)),
    // Movement and conversion. Only the generic address of a global one is known.
    form(&[O::Mov], &[Q::V2, Q::V4], UP_TO_64, 1, (2, 2)),
    form(&[O::Cvt], &[Q::Sat], ALL_INTEGERS, 2, (2, 2)),
    form(&[O::Cvt], &[Q::Pack, Q::Sat], &[U16, S16, S32], 2, (3, 3)),
    form(&[O::Cvt], &[Q::Pack, Q::Sat], &[U8, S8, S32, B32], 3, (4, 4)),
    form(&[O::Cvt], &[Q::Pack, Q::Sat, Q::U4, Q::S4, Q::U2, Q::S2], &[S32, B32], 2, (4, 4)),
    ExactForm {
        space: Some(StateSpace::Global),
        ..form(&[O::Cvta], &[Q::To], &[U32, U64], 1, (2, 2))
    },
    // Video.
    form(
        &[O::Vadd, O::Vsub, O::Vabsdiff, O::Vmin, O::Vmax],
        &[Q::Sat, Q::Add, Q::Min, Q::Max],
        WORDS,
        3,
        (3, 4),
    ),
    form(
        &[O::Vshl, O::Vshr],
        &[Q::Sat, Q::Clamp, Q::Wrap, Q::Add, Q::Min, Q::Max],
        WORDS,
        3,
        (3, 4),
    ),
    form(&[O::Vmad], &[Q::Po, Q::Sat, Q::Shr7, Q::Shr15], WORDS, 3, (4, 4)),
    form(
        &[O::Vset],
        &[Q::Eq, Q::Ne, Q::Lt, Q::Le, Q::Gt, Q::Ge, Q::Add, Q::Min, Q::Max],
        WORDS,
        2,
        (3, 4),
    ),
    form(
        &[
            O::Vadd2,
            O::Vsub2,
            O::Vavrg2,
            O::Vabsdiff2,
            O::Vmin2,
            O::Vmax2,
            O::Vadd4,
            O::Vsub4,
            O::Vavrg4,
            O::Vabsdiff4,
            O::Vmin4,
            O::Vmax4,
        ],
        &[Q::Sat, Q::Add],
        WORDS,
        3,
        (4, 4),
    ),
    form(
        &[O::Vset2, O::Vset4],
        &[Q::Eq, Q::Ne, Q::Lt, Q::Le, Q::Gt, Q::Ge, Q::Add],
        WORDS,
        2,
        (4, 4),
    ),
];

/// The rows of `FORMS` that concern each opcode, by the opcode's number.
static ROWS: LazyLock<Vec<Vec<&'static ExactForm>>> = LazyLock::new(|| {
    let rows = |opcode| FORMS.iter().filter(|exact| exact.opcodes.contains(&opcode)).collect();
    Opcode::iter().chain([Opcode::Unknown]).map(rows).collect()
});

/// Whether an instruction's results are known as bit-vectors, if those of its operands are.
/// Comparisons of floating-point numbers count: how their outcome is combined and written is known.
pub(super) fn has_exact_form(inst: &Inst<'_, '_>) -> bool {
    is_exact(&inst.ast.form, inst.args.len())
}

/// The same of a form with a number of operands, destinations included.
pub(super) fn is_exact(form: &Form, operands: usize) -> bool {
    let fits = |exact: &ExactForm| {
        let (least, most) = exact.operands;
        (least..=most).contains(&operands)
            && form.types().len() == exact.type_count
            && form.modifiers().iter().all(|modifier| match modifier {
                Modifier::Type(ty) => exact.types.contains(ty),
                Modifier::Space(space) => exact.space == Some(*space),
                Modifier::Qualifier(qualifier) => exact.qualifiers.contains(qualifier),
                Modifier::Shape(_) | Modifier::Unknown => false,
            })
    };
    ROWS[form.opcode as usize].iter().any(|exact| fits(exact)) && !is_ambiguous(form)
}

/// Forms whose intermediate result the manual leaves open: whether the 34 bits of a scalar video operation are cut to
/// 32 before a minimum or maximum, and whether a value keeps bits that are shifted out of them to the left before it is
/// saturated.
fn is_ambiguous(form: &Form) -> bool {
    let saturates = form.has(Q::Sat);
    let chooses = form.has_any(&[Q::Min, Q::Max]);
    match form.opcode {
        O::Vshl => saturates || chooses,
        O::Vadd | O::Vsub | O::Vabsdiff | O::Vmin | O::Vmax | O::Vshr => chooses && !saturates,
        _ => false,
    }
}

/// How much of an instruction's meaning the terms carry.
pub fn meaning(inst: &Inst<'_, '_>) -> Meaning {
    match effect(inst) {
        Effect::Opaque => Meaning::Opaque,
        Effect::Control => Meaning::Exact,
        Effect::Load => Meaning::Uninterpreted,
        Effect::Pure if has_exact_form(inst) => {
            let compares = matches!(inst.ast.form.opcode, O::Setp | O::Set | O::Slct);
            let on_floats = inst.ast.form.last_type().is_some_and(|ty| ty.is_float());
            if compares && on_floats { Meaning::Uninterpreted } else { Meaning::Exact }
        }
        Effect::Pure if matches!(inst.args.first(), Some(Arg::Register(_))) => {
            Meaning::Uninterpreted
        }
        Effect::Pure
        | Effect::Observe
        | Effect::Hint
        | Effect::Store
        | Effect::Atomic
        | Effect::Barrier
        | Effect::Call => Meaning::Conservative,
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::super::semantics::family;
    use super::*;

    crate::unit_tests!(
        rows_are_found_by_the_number_of_their_opcode,
        what_has_a_family_has_forms_and_the_other_way_round
    );

    /// The compiler sees an opcode that belongs to no family, but not that its forms are missing here.
    fn rows_are_found_by_the_number_of_their_opcode() {
        for opcode in Opcode::iter() {
            let rows = &ROWS[opcode as usize];
            let has_forms = FORMS.iter().filter(|exact| exact.opcodes.contains(&opcode)).count();
            assert_eq!(rows.len(), has_forms, "{opcode}");
            assert!(rows.iter().all(|exact| exact.opcodes.contains(&opcode)), "{opcode}");
        }
    }

    fn what_has_a_family_has_forms_and_the_other_way_round() {
        for opcode in Opcode::iter() {
            let has_forms = FORMS.iter().any(|exact| exact.opcodes.contains(&opcode));
            assert_eq!(family(opcode).is_some(), has_forms, "{opcode}");
        }
    }
}
