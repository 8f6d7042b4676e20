//! `mov`: copies, and packing and unpacking of words.

use super::state::Evaluation;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;

impl<'s> Evaluation<'_, 's> {
    /// Moves, packs (`mov.b64 d, {a, b}`) and unpacks (`mov.b64 {a, b}, s`).
    pub(super) fn mov(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let (Some(&ty), 2) = (inst.ast.form.types().first(), inst.args.len()) else { return false };
        let width = ty.bits();
        if inst.ast.form.elements().is_some() {
            return self.mov_elements(inst, width, guard);
        }
        match (&inst.args[0], &inst.args[1]) {
            (Arg::Vector(parts), source) if parts.len() > 1 && width <= 64 => {
                let each = width as u8 / parts.len() as u8;
                let Some(value) = self.operand(source, width as u8) else { return false };
                for (index, part) in parts.iter().enumerate() {
                    let bits = self.terms.arena.extract(value, each * index as u8, each);
                    self.set(part, bits, false, guard);
                }
                true
            }
            (destination, Arg::Vector(parts)) if parts.len() > 1 && width <= 64 => {
                let each = width as u8 / parts.len() as u8;
                let mut whole: Option<TermId> = None;
                for part in parts {
                    let Some(bits) = self.operand(part, each) else { return false };
                    whole = Some(match whole {
                        None => bits,
                        Some(low) => self.terms.arena.concatenate(bits, low),
                    });
                }
                let Some(whole) = whole else { return false };
                self.set(destination, whole, false, guard);
                true
            }
            (destination @ Arg::Register(_), source) if width <= 64 => {
                let Some(value) = self.operand(source, width as u8) else { return false };
                self.set(destination, value, ty.is_signed(), guard);
                true
            }
            _ => false,
        }
    }

    /// `mov.v2.u32 {a, b}, {c, d}`: element by element, each of the type's width; all are read first.
    fn mov_elements(&mut self, inst: &Inst<'_, 's>, width: u32, guard: Option<TermId>) -> bool {
        let (Arg::Vector(to), Arg::Vector(from)) = (&inst.args[0], &inst.args[1]) else {
            return false;
        };
        if to.len() != from.len() || width > 64 {
            return false;
        }
        let values: Option<Vec<TermId>> =
            from.iter().map(|one| self.operand(one, width as u8)).collect();
        let Some(values) = values else { return false };
        for (element, value) in to.iter().zip(values) {
            self.set(element, value, false, guard);
        }
        true
    }
}
