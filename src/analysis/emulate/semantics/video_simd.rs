//! SIMD video instructions (PTX ISA, "SIMD Video Instructions"): an operation on two halves or four
//! bytes chosen from two registers, merged into or added to a third operand.

use smallvec::SmallVec;

use super::operand::Part;
use super::terms::{clamp_to, extend};
use super::values::Values;
use super::video::{Operation, apply, types, written};
use crate::expr::{Arena, TermId};
use crate::isa::{Form, Qualifier, Selector};

/// An instruction on `count` (2 or 4) elements.
pub(super) fn simd(
    values: &mut Values<'_>,
    form: &Form,
    operation: Operation,
    count: u8,
) -> Option<TermId> {
    let bits = 32 / count;
    let [d_type, a_type, b_type] = types(form)?;
    let (a, b) = (values.part(0)?, values.part(1)?);
    let c = values.source(2, 32)?;
    let accumulates = form.has(Qualifier::Add);
    if a.negated || b.negated || accumulates && form.has(Qualifier::Sat) {
        return None;
    }
    let written = elements_written(written(values), count)?;
    let arena = &mut *values.arena;
    let all = arena.concatenate(b.whole, a.whole);
    let first = elements(arena, all, a, 0, count, a_type.is_signed())?;
    let second = elements(arena, all, b, count, count, b_type.is_signed())?;
    let mut sum = c;
    let mut merged: Option<TermId> = None;
    for index in 0..count {
        let mut element = arena.extract(c, index * bits, bits);
        if written[usize::from(index)] {
            let (x, y) = (first[usize::from(index)], second[usize::from(index)]);
            let mut result = apply(arena, form, operation, x, y)?;
            if form.has(Qualifier::Sat) {
                result = clamp_to(arena, result, bits, d_type.is_signed());
            }
            element = arena.extract(result, 0, bits);
            let result = arena.extract(result, 0, 32);
            sum = arena.add(sum, result);
        }
        merged = Some(match merged {
            None => element,
            Some(lower) => arena.concatenate(element, lower),
        });
    }
    if accumulates { Some(sum) } else { merged }
}

/// The elements of an operand from the bottom up, extended to 64 bits; without a selector, `count`
/// elements from number `default` on.
fn elements(
    arena: &mut Arena,
    all: TermId,
    part: Part,
    default: u8,
    count: u8,
    signed: bool,
) -> Option<SmallVec<[TermId; 4]>> {
    let bits = 32 / count;
    let numbers = match part.selector {
        None => std::array::from_fn(|index| default + index as u8),
        Some(selector) if selector.bits == bits && selector.count == count => selector.parts,
        Some(_) => return None,
    };
    let mut elements = SmallVec::new();
    for number in &numbers[..usize::from(count)] {
        let element = arena.extract(all, number * bits, bits);
        elements.push(extend(arena, element, 64, signed));
    }
    Some(elements)
}

/// Which elements of the destination are results, all without a selector; the others come from the
/// third operand.
fn elements_written(mask: Option<Selector>, count: u8) -> Option<[bool; 4]> {
    let Some(mask) = mask else { return Some([true; 4]) };
    let mut written = [false; 4];
    for &part in mask.numbers() {
        if part >= count || mask.bits != 32 / count {
            return None;
        }
        written[usize::from(part)] = true;
    }
    Some(written)
}
