//! Data movement and conversion (PTX ISA, "Data Movement and Conversion Instructions").

use super::operand::Operand;
use super::terms::{at_least_zero, choose, clamp_signed};
use super::values::{Destination, Results, Values, single, width_of};
use crate::expr::{Arena, TermId, mask};
use crate::isa::{Form, Qualifier};
use crate::ptx::{ScalarType, StateSpace};

/// `mov`, with packing and unpacking of vectors.
pub(super) fn mov(values: &mut Values<'_>, form: &Form) -> Option<Results> {
    let ty = form.last_type()?;
    let sources = values.sources;
    let [source] = sources else { return None };
    let bits = ty.bits();
    let to = match values.destination {
        Destination::Register => 1,
        Destination::Vector(count) => count.max(1),
        Destination::Part(_) | Destination::Pair | Destination::Other => return None,
    };
    let from: &[Operand<'_>] = match source {
        Operand::Vector(elements) => elements,
        single => std::slice::from_ref(single),
    };
    if form.has_any(&[Qualifier::V2, Qualifier::V4]) {
        match (values.destination, source) {
            (Destination::Vector(count), Operand::Vector(from))
                if count == from.len() && bits <= 64 =>
            {
                return move_elements(values, from, ty);
            }
            // One value goes to a vector in parts, as without `.v2` or `.v4`.
            (Destination::Vector(_), source) if !matches!(source, Operand::Vector(_)) => {}
            _ => return None,
        }
    }
    let divides = |elements: usize| (bits as usize).is_multiple_of(elements.max(1));
    if bits > 64 || !divides(to) || !divides(from.len()) {
        return None;
    }
    let value = match from {
        [_, _, ..] => pack(values, from, bits)?,
        _ => values.source(0, width_of(ty))?,
    };
    if to == 1 {
        return Some(single(value, ty));
    }
    let part = (bits as usize / to) as u8;
    let pieces = (0..to as u8).map(|index| values.arena.extract(value, index * part, part));
    Some(pieces.map(|piece| (piece, ScalarType::B64)).collect())
}

/// `mov.v2`, `mov.v4`: each element has the type.
fn move_elements(values: &mut Values<'_>, from: &[Operand<'_>], ty: ScalarType) -> Option<Results> {
    let mut element = |operand: &Operand<'_>| {
        let value = operand.value(values.arena, values.symbols, width_of(ty))?;
        Some((value, ty))
    };
    from.iter().map(&mut element).collect()
}

/// A value put together from equal parts, the first the lowest.
fn pack(values: &mut Values<'_>, elements: &[Operand<'_>], bits: u32) -> Option<TermId> {
    let part = (bits as usize / elements.len()) as u8;
    let mut whole = elements.first()?.value(values.arena, values.symbols, part)?;
    for element in &elements[1..] {
        let piece = element.value(values.arena, values.symbols, part)?;
        whole = values.arena.concatenate(piece, whole);
    }
    Some(whole)
}

/// `cvt` between integers: the source is read by its type, saturated if asked, and cut or
/// extended by its own sign.
pub(super) fn cvt(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let types = form.types();
    if form.has(Qualifier::Pack) {
        return narrow_pair(values, form);
    }
    let [to, from] = types[..] else { return None };
    let to_bits = to.bits() as u8;
    let mut value = values.source(0, from.bits() as u8)?;
    let arena = &mut *values.arena;
    if form.has(Qualifier::Sat) {
        value = saturate(arena, value, to, from);
    }
    Some(match () {
        () if to_bits <= arena.width(value) => arena.extract(value, 0, to_bits),
        () if from.is_signed() => arena.sign_extend(value, to_bits),
        () => arena.zero_extend(value, to_bits),
    })
}

/// `cvt.pack`: both values saturated to the first type, the first one above the second; above them the low bits of a third
/// one, where there is room for it.
fn narrow_pair(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let narrow = [(Qualifier::U4, 4), (Qualifier::S4, 4), (Qualifier::U2, 2), (Qualifier::S2, 2)];
    let narrow = narrow.into_iter().find(|(narrow, _)| form.has(*narrow));
    let (bits, is_signed) = match (narrow, form.types().first()?) {
        (Some((narrow, bits)), _) => (bits, matches!(narrow, Qualifier::S4 | Qualifier::S2)),
        (None, to) => (to.bits() as u8, to.is_signed()),
    };
    if bits > 16 || !form.has(Qualifier::Sat) {
        return None;
    }
    let (least, greatest) = match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    let [a, b] = [values.source(0, 32)?, values.source(1, 32)?].map(|value| {
        let clamped = clamp_signed(values.arena, value, least, greatest);
        values.arena.extract(clamped, 0, bits)
    });
    let both = values.arena.concatenate(a, b);
    if bits == 16 {
        return Some(both);
    }
    let above = values.source(2, 32)?;
    let above = values.arena.extract(above, 0, 32 - 2 * bits);
    Some(values.arena.concatenate(above, both))
}

/// Clamps to the values of the target type. Where both types have the same sign and the target
/// is not narrower, every value fits.
fn saturate(arena: &mut Arena, value: TermId, to: ScalarType, from: ScalarType) -> TermId {
    let width = arena.width(value);
    let (to_bits, from_bits) = (to.bits() as u8, from.bits() as u8);
    match (from.is_signed(), to.is_signed()) {
        (true, true) if to_bits < from_bits => {
            let top = (mask(to_bits) >> 1) as i64;
            clamp_signed(arena, value, -top - 1, top)
        }
        (true, false) => {
            let positive = at_least_zero(arena, value);
            if to_bits >= from_bits {
                return positive;
            }
            let top = arena.constant(mask(to_bits), width);
            choose(arena, false, positive, top, false)
        }
        (false, _) => {
            let top = mask(to_bits) >> u32::from(to.is_signed());
            if top >= mask(from_bits) {
                return value;
            }
            let top = arena.constant(top, width);
            choose(arena, false, value, top, false)
        }
        _ => value,
    }
}

/// `cvta`: the generic address of a global one is the same number, since a generic address
/// "maps to global memory unless it falls within the window" of another space ("Generic
/// Addressing"). Other windows start somewhere.
pub(super) fn cvta(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let width = width_of(form.last_type()?);
    match form.space() {
        StateSpace::Global => values.source(0, width),
        _ => None,
    }
}
