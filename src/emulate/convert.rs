//! Data movement and conversion (PTX ISA, "Data Movement and Conversion Instructions").

use super::machine::{Machine, width_of};
use super::trace::Widened;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
use crate::ptx::{ScalarType, StateSpace};

impl<'s> Machine<'_, '_, 's> {
    /// `mov`, with packing and unpacking of vectors. True if it was emulated.
    pub(super) fn mov(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let Some(ty) = inst.ast.types().last().copied() else { return false };
        let [destination, source] = &inst.args[..] else { return false };
        let bits = ty.bits();
        if bits > 64 {
            return false;
        }
        let value = match source {
            Arg::Vector(elements) if elements.len() > 1 => self.packed(elements, bits),
            _ => self.value(source, width_of(ty)),
        };
        let Some(value) = value else { return false };
        match destination {
            Arg::Vector(elements) if elements.len() > 1 => {
                let part = (bits as usize / elements.len()) as u8;
                let low = |index: usize| index as u8 * part;
                for (index, element) in elements.iter().enumerate() {
                    let piece = self.arena.extract(value, low(index), part);
                    self.set(element, piece, ScalarType::B64, guard);
                }
            }
            _ => self.set(destination, value, ty, guard),
        }
        true
    }

    /// A value put together from equal parts, the first the lowest.
    fn packed(&mut self, elements: &[Arg<'s>], bits: u32) -> Option<TermId> {
        let part = (bits as usize / elements.len()) as u8;
        let mut whole = self.value(elements.first()?, part)?;
        for element in &elements[1..] {
            let piece = self.value(element, part)?;
            whole = self.arena.concatenate(piece, whole);
        }
        Some(whole)
    }

    /// `cvt` between integers: the source is read by its type, saturated if asked, and cut or
    /// extended by its own sign.
    pub(super) fn cvt(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let types = inst.ast.types();
        let [to, from] = types[..] else { return None };
        if to.is_float() || from.is_float() || inst.args.len() != 2 {
            return None;
        }
        let (to_bits, from_bits) = (to.bits() as u8, from.bits() as u8);
        let mut value = self.source(inst, 0, from_bits)?;
        if inst.ast.has("sat") {
            value = self.saturate(value, to, from)?;
        }
        if to_bits <= self.arena.width(value) {
            return Some(self.arena.extract(value, 0, to_bits));
        }
        self.note_widened(inst, 0);
        Some(if from.is_signed() {
            self.arena.sign_extend(value, to_bits)
        } else {
            self.arena.zero_extend(value, to_bits)
        })
    }

    /// Clamps to the values of the target type, in 64 bits so that both limits fit.
    fn saturate(&mut self, value: TermId, to: ScalarType, from: ScalarType) -> Option<TermId> {
        if from.bits() > 32 || to.bits() > 32 {
            return None;
        }
        let wide = if from.is_signed() {
            self.arena.sign_extend(value, 64)
        } else {
            self.arena.zero_extend(value, 64)
        };
        let (low, high) = if to.is_signed() {
            (-(1i64 << (to.bits() - 1)), (1i64 << (to.bits() - 1)) - 1)
        } else {
            (0, (1i64 << to.bits()) - 1)
        };
        Some(self.clamp_signed(wide, low, high))
    }

    /// Remembers which register a 64-bit value was widened from.
    pub(super) fn note_widened(&mut self, inst: &Inst<'_, 's>, index: usize) {
        if let Some(&Arg::Register(register)) = inst.args.get(index + 1)
            && self.register_width(register) == 32
        {
            let value = self.read(register);
            if self.arena.constant_value(value).is_none() {
                let (block, inst) = (self.block, self.at);
                let settled = self.is_settled(register);
                self.widened.push(Widened { register, value, block, inst, settled });
            }
        }
    }

    /// `cvta`: the generic address of a global one is the same number, since a generic address
    /// "maps to global memory unless it falls within the window" of another space ("Generic
    /// Addressing"). Other windows start somewhere.
    pub(super) fn cvta(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let width = width_of(*inst.ast.types().last()?);
        match inst.ast.space() {
            StateSpace::Global => self.source(inst, 0, width),
            _ => None,
        }
    }

    /// `prmt` with a constant selector: four bytes chosen from eight, each possibly replaced by
    /// copies of its sign.
    pub(super) fn prmt(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        const MODES: &[&str] = &["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
        if inst.ast.modifiers().any(|m| MODES.contains(&m)) {
            return None;
        }
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let selector = self.source(inst, 2, 32)?;
        let selector = self.arena.constant_value(selector)?;
        let all = self.arena.concatenate(b, a);
        let mut whole: Option<TermId> = None;
        for index in 0..4 {
            let control = selector >> (4 * index) & 15;
            let low = (control & 7) as u8 * 8;
            let byte = if control & 8 == 0 {
                self.arena.extract(all, low, 8)
            } else {
                let sign = self.arena.extract(all, low + 7, 1);
                self.arena.sign_extend(sign, 8)
            };
            whole = Some(match whole {
                None => byte,
                Some(lower) => self.arena.concatenate(byte, lower),
            });
        }
        whole
    }
}
