//! SIMD video instructions (PTX ISA, "SIMD Video Instructions"): an operation on two halves or four
//! bytes chosen from two registers, merged into or added to a third operand.

use smallvec::SmallVec;

use super::machine::Machine;
use super::video::Operation;
use super::video_parts::{Part, Selector, selector};
use crate::cfg::Inst;
use crate::expr::TermId;
use crate::isa::Qualifier;

impl<'s> Machine<'_, '_, 's> {
    /// An instruction on `count` (2 or 4) elements.
    pub(super) fn video_simd(
        &mut self,
        inst: &Inst<'_, 's>,
        operation: Operation,
        count: u8,
    ) -> Option<TermId> {
        let bits = 32 / count;
        let [d_type, a_type, b_type] = Self::video_types(inst)?;
        let (a, b) = (self.video_operand(inst, 0)?, self.video_operand(inst, 1)?);
        let c = self.source(inst, 2, 32)?;
        let accumulates = inst.ast.form.has(Qualifier::Add);
        if a.negated || b.negated || accumulates && inst.ast.form.has(Qualifier::Sat) {
            return None;
        }
        let written = written(selector(inst, 0)?, count)?;
        let all = self.arena.concatenate(b.whole, a.whole);
        let first = self.elements(all, a, 0, count, a_type.is_signed())?;
        let second = self.elements(all, b, count, count, b_type.is_signed())?;
        let mut sum = c;
        let mut merged: Option<TermId> = None;
        for index in 0..count {
            let mut element = self.arena.extract(c, index * bits, bits);
            if written[usize::from(index)] {
                let (x, y) = (first[usize::from(index)], second[usize::from(index)]);
                let mut result = self.video_operation(inst, operation, x, y)?;
                if inst.ast.form.has(Qualifier::Sat) {
                    result = self.clamp_to(result, bits, d_type.is_signed());
                }
                element = self.arena.extract(result, 0, bits);
                let result = self.arena.extract(result, 0, 32);
                sum = self.arena.add(sum, result);
            }
            merged = Some(match merged {
                None => element,
                Some(lower) => self.arena.concatenate(element, lower),
            });
        }
        if accumulates { Some(sum) } else { merged }
    }

    /// The elements of an operand from the bottom up, extended to 64 bits; without a selector those
    /// from `default` on.
    fn elements(
        &mut self,
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
            let element = self.arena.extract(all, number * bits, bits);
            elements.push(self.extend(element, 64, signed));
        }
        Some(elements)
    }
}

/// Which elements of the destination are results, all without a selector; the others come from the
/// third operand.
fn written(mask: Option<Selector>, count: u8) -> Option<[bool; 4]> {
    let Some(mask) = mask else { return Some([true; 4]) };
    let mut written = [false; 4];
    for &part in &mask.parts[..usize::from(mask.count)] {
        if part >= count || mask.bits != 32 / count {
            return None;
        }
        written[usize::from(part)] = true;
    }
    Some(written)
}
