//! `prmt` (PTX ISA, "Data Movement and Conversion Instructions: prmt").

use super::values::Values;
use crate::expr::{Arena, BinaryOp, TermId};
use crate::isa::{Form, Qualifier};

/// For each mode and each value of the two control bits, the source byte of the destination's bytes
/// from the lowest up.
const MODES: &[(Qualifier, [[u8; 4]; 4])] = &[
    (Qualifier::F4e, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    (Qualifier::B4e, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    (Qualifier::Rc8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    (Qualifier::Ecl, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    (Qualifier::Ecr, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    (Qualifier::Rc16, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
];

/// Four bytes chosen from the eight of two registers.
pub(super) fn prmt(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let (a, b) = (values.source(0, 32)?, values.source(1, 32)?);
    let selector = values.source(2, 32)?;
    let arena = &mut *values.arena;
    let all = arena.concatenate(b, a);
    let mode = MODES.iter().find(|(mode, _)| form.has(*mode));
    let mut bytes = [all; 4];
    match mode {
        Some((_, choices)) => {
            let low = arena.extract(selector, 0, 1);
            let high = arena.extract(selector, 1, 1);
            for (index, byte) in bytes.iter_mut().enumerate() {
                let mut of = |choice: usize| {
                    let from: &[u8; 4] = &choices[choice];
                    arena.extract(all, 8 * from[index], 8)
                };
                let [zero, one, two, three] = [of(0), of(1), of(2), of(3)];
                let lower = arena.if_then_else(low, one, zero);
                let upper = arena.if_then_else(low, three, two);
                *byte = arena.if_then_else(high, upper, lower);
            }
        }
        None => {
            for (index, byte) in bytes.iter_mut().enumerate() {
                let control = arena.extract(selector, 4 * index as u8, 4);
                *byte = chosen_byte(arena, all, control);
            }
        }
    }
    let [first, second, third, fourth] = bytes;
    let low = arena.concatenate(second, first);
    let high = arena.concatenate(fourth, third);
    Some(arena.concatenate(high, low))
}

/// The byte of `all` that the low three of the four control bits choose; if the fourth is set, that
/// byte's sign bit eight times.
fn chosen_byte(arena: &mut Arena, all: TermId, control: TermId) -> TermId {
    let index = arena.extract(control, 0, 3);
    let byte = match arena.constant_value(index) {
        Some(index) => arena.extract(all, 8 * index as u8, 8),
        None => {
            let index = arena.zero_extend(index, 64);
            let bits = arena.scale(index, 8);
            let moved = arena.binary(BinaryOp::ShiftRight, all, bits);
            arena.extract(moved, 0, 8)
        }
    };
    let sign = arena.extract(byte, 7, 1);
    let signs = arena.sign_extend(sign, 8);
    let replicates = arena.extract(control, 3, 1);
    arena.if_then_else(replicates, signs, byte)
}
