//! Two 16-bit integers in one register (PTX ISA, "Integer Arithmetic Instructions", types `.u16x2`
//! and `.s16x2`).

use super::terms::{at_least_zero, choose};
use super::values::Values;
use crate::expr::TermId;
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `add`, `sub`, `min`, `max` on both halves.
pub(super) fn packed(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let signed = ty == ScalarType::S16x2;
    let relu = form.has(Qualifier::Relu);
    if form.has_any(&[Qualifier::Cc, Qualifier::Sat]) || relu && !signed {
        return None;
    }
    let (a, b) = (values.source(0, 32)?, values.source(1, 32)?);
    let arena = &mut *values.arena;
    let mut halves = [a; 2];
    for (index, half) in halves.iter_mut().enumerate() {
        let low = 16 * index as u8;
        let (x, y) = (arena.extract(a, low, 16), arena.extract(b, low, 16));
        *half = match form.opcode {
            Opcode::Add => arena.add(x, y),
            Opcode::Sub => arena.sub(x, y),
            Opcode::Min | Opcode::Max => {
                let chosen = choose(arena, form.opcode == Opcode::Max, x, y, signed);
                if relu { at_least_zero(arena, chosen) } else { chosen }
            }
            _ => return None,
        };
    }
    let [low, high] = halves;
    Some(arena.concatenate(high, low))
}
