//! Vector operands: written in braces, vector registers (`.reg .v2 .u32 t`), and the special registers
//! that are vectors (PTX ISA, "Vectors as Operands").
//!
//! In: an operand. Out: its elements, which can be read and written like registers. Elements of a vector register have
//! no names that an operand could carry.

use super::decoder::Decoder;
use super::operand::{Reading, file_of, reading};
use super::scope::{Register, Symbol};
use crate::interp::fault::Fault;
use crate::interp::program::{Destination, LaunchInvariant};
use crate::interp::registers::{File, Slot, warp};
use crate::isa::{SpecialName, special};
use crate::ptx::{Name, Operand, ScalarType};
use crate::source::Span;

/// One of the elements of an operand.
#[derive(Clone, Copy)]
pub(crate) enum Element<'m, 's> {
    /// An operand of its own: the only one, or one in braces.
    Operand(&'m Operand<'s>),
    /// A register without a name of its own: of a vector register, or one that holds a component of a
    /// special register.
    Register(Register, Span),
}

impl<'m, 's> Decoder<'_, 'm, 's> {
    /// The elements of a vector operand: one in braces, a vector register (PTX ISA, "Vectors as
    /// Operands"), or a special register that is a vector; `None` for any other operand.
    pub(crate) fn vector(&mut self, operand: &'m Operand<'s>) -> Option<Vec<Element<'m, 's>>> {
        match operand {
            Operand::Vector(items, _) => Some(items.iter().map(Element::Operand).collect()),
            Operand::Name(name) => match self.lookup(*name) {
                Ok(Symbol::Vector(first, count)) => {
                    let element = |i| Element::Register(first.element(i), name.span);
                    Some((0..count).map(element).collect())
                }
                Ok(_) => None,
                Err(_) => self.special_vector(*name),
            },
            _ => None,
        }
    }

    /// The four components of `%tid` and other special registers that are vectors.
    fn special_vector(&mut self, name: Name<'s>) -> Option<Vec<Element<'m, 's>>> {
        let Some(SpecialName::Vector(extents)) = special(name.text) else { return None };
        let mut components = Vec::new();
        for extent in extents {
            match reading(extent) {
                Reading::LaunchInvariant(value) => components.push(value),
                Reading::Clock | Reading::Unknown => return None,
            }
        }
        components.push(LaunchInvariant::Constant(0));
        let element = |value| {
            let slot = self.steady(value);
            let register = Register { file: File::W32, slot, bits: 32, float: false };
            Element::Register(register, name.span)
        };
        Some(components.into_iter().map(element).collect())
    }

    /// The elements of an operand that may be a vector.
    pub(crate) fn elements(&mut self, operand: &'m Operand<'s>) -> Vec<Element<'m, 's>> {
        self.vector(operand).unwrap_or_else(|| vec![Element::Operand(operand)])
    }

    /// [`Decoder::source_low`] of an element.
    ///
    /// # Errors
    /// As [`Decoder::source_low`].
    pub(crate) fn element_source(
        &mut self,
        element: Element<'m, 's>,
        ty: ScalarType,
    ) -> Result<Slot, Fault> {
        match element {
            Element::Operand(operand) => self.source_low(operand, ty),
            Element::Register(register, span) => match (register.file, file_of(ty)) {
                (from, to) if from == to => Ok(register.slot),
                (File::W64, File::W32) => Ok(self.low_half(register)),
                _ => Err(self.error(span, "this register does not have the type's width")),
            },
        }
    }

    /// [`Decoder::dest_wide`] of an element.
    ///
    /// # Errors
    /// As [`Decoder::dest_wide`].
    pub(crate) fn element_dest(
        &mut self,
        element: Element<'m, 's>,
        ty: ScalarType,
    ) -> Result<Option<Destination>, Fault> {
        match element {
            Element::Operand(operand) => self.dest_wide(operand, ty),
            Element::Register(register, span) => self.register_dest(register, span, ty).map(Some),
        }
    }

    /// [`Decoder::temporary`] for an element.
    ///
    /// # Errors
    /// As [`Decoder::temporary`].
    pub(crate) fn element_temporary(
        &mut self,
        element: Element<'m, 's>,
        ty: ScalarType,
    ) -> Result<Slot, Fault> {
        let file = file_of(ty);
        Ok(match self.element_dest(element, ty)? {
            Some(dest) if dest.file == file && dest.sign_to == 0 => dest.slot,
            _ => self.scratch(file),
        })
    }

    /// [`Decoder::store_wide`] for an element.
    ///
    /// # Errors
    /// As [`Decoder::store_wide`].
    pub(crate) fn element_store(
        &mut self,
        element: Element<'m, 's>,
        ty: ScalarType,
        result: Slot,
    ) -> Result<(), Fault> {
        let Some(dest) = self.element_dest(element, ty)? else { return Ok(()) };
        if dest.file == file_of(ty) && dest.sign_to == 0 {
            return Ok(());
        }
        let extend = match (dest.file, dest.sign_to, ty.bits()) {
            (File::W64, 0, _) => warp!(bits 1; |a: u32| -> u64 { u64::from(a) }),
            (File::W64, _, 8) => warp!(bits 1; |a: i8| -> i64 { i64::from(a) }),
            (File::W64, _, 16) => warp!(bits 1; |a: i16| -> i64 { i64::from(a) }),
            (File::W64, ..) => warp!(bits 1; |a: i32| -> i64 { i64::from(a) }),
            (_, 16, _) => warp!(bits 1; |a: i8| -> i16 { i16::from(a) }),
            (_, _, 8) => warp!(bits 1; |a: i8| -> i32 { i32::from(a) }),
            _ => warp!(bits 1; |a: i16| -> i32 { i32::from(a) }),
        };
        self.emit_lanes(extend, &[dest.slot], &[result]);
        Ok(())
    }

    /// The slot of an element that holds exactly the type's bits; `None` for `_`.
    ///
    /// # Errors
    /// The element cannot be written.
    pub(crate) fn element_result(
        &mut self,
        element: Element<'m, 's>,
        ty: ScalarType,
    ) -> Result<Option<Slot>, Fault> {
        match element {
            Element::Operand(Operand::Sink(_)) => Ok(None),
            Element::Operand(operand) => self.dest(operand, ty).map(Some),
            Element::Register(register, _) if register.file == file_of(ty) => {
                Ok(Some(register.slot))
            }
            Element::Register(_, span) => {
                Err(self.error(span, "this register does not have the type's width"))
            }
        }
    }

    /// The first of the two slots of an element of 128 bits.
    ///
    /// # Errors
    /// The element is no 128-bit register.
    pub(crate) fn element_pair(&mut self, element: Element<'m, 's>) -> Result<Slot, Fault> {
        match element {
            Element::Operand(operand) => self.pair(operand),
            Element::Register(register, _) if register.bits == 128 => Ok(register.slot),
            Element::Register(_, span) => {
                Err(self.error(span, "a 128-bit register is expected here"))
            }
        }
    }
}
