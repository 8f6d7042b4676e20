//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use super::terms::{less, less_equal};
use super::values::{Destination, Results, Values, single, width_of};
use crate::emulate::symbols::Function;
use crate::expr::{Arena, Comparison, TermId};
use crate::isa::{Form, Qualifier};
use crate::ptx::ScalarType;

/// `setp.cmp[.bool].type p[|q], a, b[, c]`: `p = cmp bool c`, `q = !cmp bool c`.
pub(super) fn setp(values: &mut Values<'_>, form: &Form) -> Option<Results> {
    let ty = form.last_type()?;
    let condition = comparison(values, form, ty)?;
    let third = third(values)?;
    let arena = &mut *values.arena;
    let negated = arena.not(condition);
    let p = combine(arena, form, condition, third);
    let q = combine(arena, form, negated, third);
    let mut results = single(p, ScalarType::Pred);
    if values.destination == Destination::Pair {
        results.push((q, ScalarType::Pred));
    }
    Some(results)
}

/// `set.cmp[.bool].dtype.stype d, a, b[, c]`: ones, or the number 1, where the outcome holds.
pub(super) fn set(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let types = form.types();
    let [result, compared] = types[..] else { return None };
    let condition = comparison(values, form, compared)?;
    let third = third(values)?;
    let arena = &mut *values.arena;
    let condition = combine(arena, form, condition, third);
    let w = result.bits() as u8;
    let truth = match result {
        ScalarType::F32 => u64::from(1f32.to_bits()),
        ScalarType::F16 => 0x3c00,
        ScalarType::Bf16 => 0x3f80,
        _ if result.is_float() => return None,
        _ => u64::MAX,
    };
    let (yes, no) = (arena.constant(truth, w), arena.constant(0, w));
    Some(arena.if_then_else(condition, yes, no))
}

/// `selp.type d, a, b, c`: `a` where the predicate `c` holds.
pub(super) fn selp(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let w = form.last_type()?.bits().min(64) as u8;
    let (a, b) = (values.source(0, w)?, values.source(1, w)?);
    let condition = values.predicate(2)?;
    Some(values.arena.if_then_else(condition, a, b))
}

/// `slct.dtype.ctype d, a, b, c`: `a` where the number `c` is not negative.
pub(super) fn slct(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let types = form.types();
    let [result, tested] = types[..] else { return None };
    let w = result.bits() as u8;
    let (a, b) = (values.source(0, w)?, values.source(1, w)?);
    let tested_width = width_of(tested);
    let c = values.source(2, tested_width)?;
    let zero = values.arena.constant(0, tested_width);
    if tested.is_float() {
        // `c >= 0.0`, false for a NaN.
        let at_least = float_comparison(values, form, Qualifier::Ge, tested, c, zero);
        return Some(values.arena.if_then_else(at_least, a, b));
    }
    let negative = values.arena.compare(Comparison::SignedLess, c, zero);
    Some(values.arena.if_then_else(negative, b, a))
}

/// The predicate that the outcome of a comparison is combined with, `Some(None)` if there is none.
fn third(values: &mut Values<'_>) -> Option<Option<TermId>> {
    match values.sources.len() {
        0..=2 => Some(None),
        _ => values.predicate(2).map(Some),
    }
}

fn combine(arena: &mut Arena, form: &Form, condition: TermId, third: Option<TermId>) -> TermId {
    let Some(third) = third else { return condition };
    match () {
        () if form.has(Qualifier::And) => arena.and(condition, third),
        () if form.has(Qualifier::Or) => arena.or(condition, third),
        () => arena.xor(condition, third),
    }
}

/// The comparison of the first two sources.
fn comparison(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let name = form.first_of(Qualifier::COMPARISONS)?;
    let w = width_of(ty);
    let (a, b) = (values.source(0, w)?, values.source(1, w)?);
    if ty.is_float() {
        return Some(float_comparison(values, form, name, ty, a, b));
    }
    let signed = ty.is_signed();
    let arena = &mut *values.arena;
    Some(match name {
        Qualifier::Lo => arena.compare(Comparison::UnsignedLess, a, b),
        Qualifier::Ls => arena.compare(Comparison::UnsignedLessEqual, a, b),
        Qualifier::Hi => arena.compare(Comparison::UnsignedLess, b, a),
        Qualifier::Hs => arena.compare(Comparison::UnsignedLessEqual, b, a),
        _ => return ordered(arena, name, a, b, signed),
    })
}

/// The comparisons that integers of both signs have.
pub(super) fn ordered(
    arena: &mut Arena,
    name: Qualifier,
    a: TermId,
    b: TermId,
    signed: bool,
) -> Option<TermId> {
    Some(match name {
        Qualifier::Eq => arena.equal(a, b),
        Qualifier::Ne => {
            let equal = arena.equal(a, b);
            arena.not(equal)
        }
        Qualifier::Lt => arena.compare(less(signed), a, b),
        Qualifier::Le => arena.compare(less_equal(signed), a, b),
        Qualifier::Gt => arena.compare(less(signed), b, a),
        Qualifier::Ge => arena.compare(less_equal(signed), b, a),
        _ => return None,
    })
}

/// A comparison of floating-point numbers: a function of both that is named by the comparison,
/// the type and whether subnormal numbers count as zero.
fn float_comparison(
    values: &mut Values<'_>,
    form: &Form,
    name: Qualifier,
    ty: ScalarType,
    a: TermId,
    b: TermId,
) -> TermId {
    let flushes = form.has(Qualifier::Ftz);
    let function = values.symbols.function(Function::Compare { operator: name, flushes, ty });
    values.arena.apply(function, &[a, b], 1)
}
