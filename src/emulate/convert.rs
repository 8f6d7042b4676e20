//! Data movement and conversion (PTX ISA, "Data Movement and Conversion Instructions").

use super::machine::{Machine, width_of};
use super::trace::Widened;
use crate::cfg::{Arg, Inst};
use crate::expr::{TermId, mask};
use crate::isa::Qualifier;
use crate::ptx::{ScalarType, StateSpace};

impl<'s> Machine<'_, '_, 's> {
    /// `mov`, with packing and unpacking of vectors. True if it was emulated.
    pub(super) fn mov(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let Some(ty) = inst.ast.form.last_type() else { return false };
        let [destination, source] = &inst.args[..] else { return false };
        let bits = ty.bits();
        if inst.ast.form.has(Qualifier::V2) || inst.ast.form.has(Qualifier::V4) {
            match (destination, source) {
                (Arg::Vector(to), Arg::Vector(from)) if to.len() == from.len() && bits <= 64 => {
                    return self.move_elements(to, from, ty, guard);
                }
                // One value goes to a vector in parts, as without `.v2` or `.v4`.
                (Arg::Vector(_), source) if !matches!(source, Arg::Vector(_)) => {}
                _ => return false,
            }
        }
        let divides = |arg: &Arg<'_>| match arg {
            Arg::Vector(elements) => (bits as usize).is_multiple_of(elements.len().max(1)),
            _ => true,
        };
        if bits > 64 || !divides(destination) || !divides(source) {
            return false;
        }
        let value = match source {
            Arg::Vector(elements) if elements.len() > 1 => self.pack(elements, bits),
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

    /// `mov.v2`, `mov.v4`: each element has the type. All are read before one is written.
    fn move_elements(
        &mut self,
        to: &[Arg<'s>],
        from: &[Arg<'s>],
        ty: ScalarType,
        guard: Option<TermId>,
    ) -> bool {
        let values = from.iter().map(|source| self.value(source, width_of(ty)));
        let Some(values) = values.collect::<Option<Vec<_>>>() else { return false };
        for (element, value) in to.iter().zip(values) {
            self.set(element, value, ty, guard);
        }
        true
    }

    /// A value put together from equal parts, the first the lowest.
    fn pack(&mut self, elements: &[Arg<'s>], bits: u32) -> Option<TermId> {
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
        let types = inst.ast.form.types();
        let [to, from] = types[..] else { return None };
        let (to_bits, from_bits) = (to.bits() as u8, from.bits() as u8);
        let mut value = self.source(inst, 0, from_bits)?;
        if inst.ast.form.has(Qualifier::Sat) {
            value = self.saturate(value, to, from);
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

    /// Clamps to the values of the target type. Where both types have the same sign and the target
    /// is not narrower, every value fits.
    fn saturate(&mut self, value: TermId, to: ScalarType, from: ScalarType) -> TermId {
        let width = self.arena.width(value);
        let constant = |machine: &mut Self, bits: u64| machine.arena.constant(bits, width);
        let (to_bits, from_bits) = (to.bits() as u8, from.bits() as u8);
        match (from.is_signed(), to.is_signed()) {
            (true, true) if to_bits < from_bits => {
                let top = (mask(to_bits) >> 1) as i64;
                self.clamp_signed(value, -top - 1, top)
            }
            (true, false) => {
                let positive = self.at_least_zero(value);
                if to_bits >= from_bits {
                    return positive;
                }
                let top = constant(self, mask(to_bits));
                self.choose(false, positive, top, false)
            }
            (false, _) => {
                let top = mask(to_bits) >> u32::from(to.is_signed());
                if top >= mask(from_bits) {
                    return value;
                }
                let top = constant(self, top);
                self.choose(false, value, top, false)
            }
            _ => value,
        }
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
        let width = width_of(*inst.ast.form.types().last()?);
        match inst.ast.form.space() {
            StateSpace::Global => self.source(inst, 0, width),
            _ => None,
        }
    }
}
