//! Which instruction forms have an exact meaning here, by table.
//!
//! A form is exact only if each of its modifiers and types, and the number of its operands, stand in
//! the table. A modifier that a later PTX ISA adds therefore makes an instruction an uninterpreted
//! function of its operands, never a wrong value.

use super::effects::{Effect, effect};
use crate::cfg::{Arg, Inst};
use crate::ptx::ScalarType::{self, *};

/// How much of an instruction's meaning the terms carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Meaning {
    /// Its result is the bit-vector that the manual defines.
    Exact,
    /// Its result is some function of its operands (for loads: of memory and address), so that
    /// equal operands give equal results.
    Uninterpreted,
    /// It is known what it may change; a result is an unknown value, another one in every lane.
    Conservative,
    /// Nothing is known: all registers named and all memory may change, and threads may meet.
    Opaque,
}

/// Instructions of one shape.
struct Form {
    names: &'static [&'static str],
    /// Modifiers that are no types.
    modifiers: &'static [&'static str],
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

/// The modifiers that name a comparison.
pub(super) const COMPARISONS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];
const COMPARE_AND_COMBINE: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan", "and", "or", "xor", "ftz",
];

const fn form(
    names: &'static [&'static str],
    modifiers: &'static [&'static str],
    types: &'static [ScalarType],
    type_count: usize,
    operands: (usize, usize),
) -> Form {
    Form { names, modifiers, types, type_count, operands }
}

const FORMS: &[Form] = &[
    // Integer arithmetic.
    form(&["add", "sub"], &["sat", "cc"], WITH_PACKED, 1, (3, 3)),
    form(&["addc", "subc"], &["cc"], WIDE, 1, (3, 3)),
    form(&["mul"], &["hi", "lo", "wide"], INTEGERS, 1, (3, 3)),
    form(&["mad"], &["hi", "lo", "wide", "sat", "cc"], INTEGERS, 1, (4, 4)),
    form(&["madc"], &["hi", "lo", "cc"], WIDE, 1, (4, 4)),
    form(&["mul24"], &["hi", "lo"], WORDS, 1, (3, 3)),
    form(&["mad24"], &["hi", "lo", "sat"], WORDS, 1, (4, 4)),
    form(&["sad"], &[], INTEGERS, 1, (4, 4)),
    form(&["div", "rem"], &[], INTEGERS, 1, (3, 3)),
    form(&["abs", "neg"], &[], SIGNED, 1, (2, 2)),
    form(&["min", "max"], &["relu"], WITH_PACKED, 1, (3, 3)),
    form(&["dp4a"], &[], WORDS, 2, (4, 4)),
    form(&["dp2a"], &["lo", "hi"], WORDS, 2, (4, 4)),
    // Bits and fields.
    form(&["popc", "clz", "brev"], &[], &[B32, B64], 1, (2, 2)),
    form(&["bfind"], &["shiftamt"], WIDE, 1, (2, 2)),
    form(&["fns"], &[], &[B32], 1, (4, 4)),
    form(&["bfe"], &[], WIDE, 1, (4, 4)),
    form(&["bfi"], &[], &[B32, B64], 1, (5, 5)),
    form(&["bmsk"], &["clamp", "wrap"], &[B32], 1, (3, 3)),
    form(&["szext"], &["clamp", "wrap"], WORDS, 1, (3, 3)),
    form(&["prmt"], &["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"], &[B32], 1, (4, 4)),
    // Logic and shifts.
    form(&["and", "or", "xor"], &[], BITS, 1, (3, 3)),
    form(&["not"], &[], BITS, 1, (2, 2)),
    form(&["cnot"], &[], &[B16, B32, B64], 1, (2, 2)),
    form(&["lop3"], &["and", "or"], &[B32], 1, (5, 6)),
    form(&["shl"], &[], &[B16, B32, B64], 1, (3, 3)),
    form(&["shr"], &[], &[B16, B32, B64, U16, U32, U64, S16, S32, S64], 1, (3, 3)),
    form(&["shf"], &["l", "r", "clamp", "wrap"], &[B32], 1, (4, 4)),
    // Comparison and selection. Comparisons of floating-point numbers are uninterpreted.
    form(&["setp"], COMPARE_AND_COMBINE, COMPARABLE, 1, (3, 4)),
    form(&["set"], COMPARE_AND_COMBINE, COMPARABLE, 2, (3, 4)),
    form(&["selp"], &[], UP_TO_64, 1, (4, 4)),
    form(&["slct"], &["ftz"], COMPARABLE, 2, (4, 4)),
    // Movement and conversion. Only the generic address of a global one is known.
    form(&["mov"], &["v2", "v4"], UP_TO_64, 1, (2, 2)),
    form(&["cvt"], &["sat"], ALL_INTEGERS, 2, (2, 2)),
    form(&["cvta"], &["to", "global"], &[U32, U64], 1, (2, 2)),
    // Video.
    form(
        &["vadd", "vsub", "vabsdiff", "vmin", "vmax"],
        &["sat", "add", "min", "max"],
        WORDS,
        3,
        (3, 4),
    ),
    form(&["vshl", "vshr"], &["sat", "clamp", "wrap", "add", "min", "max"], WORDS, 3, (3, 4)),
    form(&["vmad"], &["po", "sat", "shr7", "shr15"], WORDS, 3, (4, 4)),
    form(&["vset"], &["eq", "ne", "lt", "le", "gt", "ge", "add", "min", "max"], WORDS, 2, (3, 4)),
    form(
        &[
            "vadd2",
            "vsub2",
            "vavrg2",
            "vabsdiff2",
            "vmin2",
            "vmax2",
            "vadd4",
            "vsub4",
            "vavrg4",
            "vabsdiff4",
            "vmin4",
            "vmax4",
        ],
        &["sat", "add"],
        WORDS,
        3,
        (4, 4),
    ),
    form(&["vset2", "vset4"], &["eq", "ne", "lt", "le", "gt", "ge", "add"], WORDS, 2, (4, 4)),
];

/// Whether an instruction's results are known as bit-vectors, given its operands'. Comparisons of
/// floating-point numbers count: what is done with their outcome is known.
pub(super) fn has_exact_form(inst: &Inst<'_, '_>) -> bool {
    let ast = inst.ast;
    let name = ast.mnemonic();
    let fits = |form: &Form| {
        let (least, most) = form.operands;
        (least..=most).contains(&inst.args.len())
            && ast.types().len() == form.type_count
            && ast.modifiers().all(|m| {
                form.modifiers.contains(&m)
                    || ScalarType::from_modifier(m).is_some_and(|ty| form.types.contains(&ty))
            })
    };
    FORMS.iter().any(|form| form.names.contains(&name) && fits(form)) && !is_ambiguous(inst)
}

/// Forms whose intermediate result the manual leaves open: whether the 34 bits of a scalar video
/// operation are cut to 32 before a minimum or maximum, and what is left of a value that is shifted
/// out of them to the left before it is saturated.
fn is_ambiguous(inst: &Inst<'_, '_>) -> bool {
    let ast = inst.ast;
    let chooses = ast.has("min") || ast.has("max");
    match ast.mnemonic() {
        "vshl" => ast.has("sat") || chooses,
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshr" => chooses && !ast.has("sat"),
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
            let compares = matches!(inst.ast.mnemonic(), "setp" | "set" | "slct");
            let on_floats = inst.ast.types().last().is_some_and(|ty| ty.is_float());
            if compares && on_floats { Meaning::Uninterpreted } else { Meaning::Exact }
        }
        Effect::Pure if matches!(inst.args.first(), Some(Arg::Register(_))) => {
            Meaning::Uninterpreted
        }
        Effect::Pure
        | Effect::Observe
        | Effect::Store
        | Effect::Atomic
        | Effect::Barrier
        | Effect::Call => Meaning::Conservative,
    }
}
