//! Operands as terms of the instruction's width, and results into registers.

use super::effects::registers;
use super::machine::Machine;
use super::symbols::{LaneDependence, SymbolKind};
use crate::cfg::{Arg, Inst};
use crate::expr::{Range, TermId};
use crate::ptx::{ScalarType, Value};

impl<'s> Machine<'_, '_, 's> {
    /// The value of an operand as `width` bits. A wider register gives its low bits, as the manual
    /// says of operands wider than the instruction type ("Operand Size Exceeding Instruction-Type
    /// Size"); `None` for a narrower one or what is no value.
    pub(super) fn value(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        let term = self.natural(arg, width)?;
        (self.arena.width(term) >= width).then(|| self.arena.extract(term, 0, width))
    }

    /// The value of an operand in its own width; constants take `width`.
    pub(super) fn natural(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        Some(match arg {
            Arg::Register(register) => self.read(*register),
            Arg::Not(register) => {
                let term = self.read(*register);
                self.arena.not(term)
            }
            Arg::Sum(register, offset) => {
                let term = self.read(*register);
                self.arena.add_constant(term, *offset as u64)
            }
            Arg::Special(register) => {
                let term = self.special(*register);
                self.arena.resize(term, width)
            }
            Arg::Constant(value) => self.arena.constant(constant_bits(*value, width), width),
            // How long an element is stands in the declaration, which may be in another module:
            // each element is an address of its own.
            Arg::Symbol { name, offset, indexed: true, local } => {
                self.address_of(&format!("{name}[{offset}]"), *local, width)
            }
            Arg::Symbol { name, offset, indexed: false, local } => {
                let base = self.address_of(name, *local, width);
                self.arena.add_constant(base, *offset as u64)
            }
            Arg::Vector(elements) => match &elements[..] {
                [single] => return self.natural(single, width),
                _ => return None,
            },
            Arg::Modified(_) | Arg::Pair(_) | Arg::Sink | Arg::Memory { .. } => return None,
        })
    }

    /// The address of a variable or function: one value for the warp.
    pub(super) fn address_of(&mut self, name: &str, scope: Option<u32>, width: u8) -> TermId {
        let scope = scope.map_or(String::new(), |scope| format!("{scope}."));
        let info = super::symbols::SymbolInfo {
            kind: SymbolKind::Address(format!("{scope}{name}:{width}")),
            width,
            dependence: LaneDependence::Uniform,
            created_in: None,
        };
        self.symbols.term(&mut self.arena, info, Range::full(width))
    }

    /// A predicate operand.
    pub(super) fn predicate(&mut self, arg: &Arg<'s>) -> Option<TermId> {
        self.value(arg, 1)
    }

    /// Writes a result of type `ty`, extended by its sign where the register is wider ("Operand
    /// Size Exceeding Instruction-Type Size").
    pub(super) fn set(
        &mut self,
        arg: &Arg<'s>,
        term: TermId,
        ty: ScalarType,
        guard: Option<TermId>,
    ) {
        match arg {
            Arg::Register(register) => {
                let width = self.register_width(*register);
                let from = self.arena.width(term);
                let fitted = match () {
                    () if from == width => term,
                    () if from > width => self.arena.extract(term, 0, width),
                    () if ty.is_signed() => self.arena.sign_extend(term, width),
                    () => self.arena.zero_extend(term, width),
                };
                self.write(*register, fitted, guard);
            }
            Arg::Vector(elements) if elements.len() == 1 => {
                self.set(&elements[0], term, ty, guard);
            }
            // Not a destination for one value: whatever it names is unknown from here on.
            other => {
                for register in registers(other) {
                    let unknown = self.unknown(self.register_width(register));
                    self.write(register, unknown, guard);
                }
            }
        }
    }

    /// An uninterpreted function of all source operands: equal operands give equal results.
    pub(super) fn uninterpreted(&mut self, inst: &Inst<'_, 's>, width: u8) -> Option<TermId> {
        let mut arguments = smallvec::SmallVec::<[TermId; 4]>::new();
        for arg in inst.args.get(1..)? {
            match arg {
                Arg::Vector(elements) => {
                    for element in elements {
                        arguments.push(self.natural(element, 64)?);
                    }
                }
                _ => arguments.push(self.natural(arg, 64)?),
            }
        }
        let function = self.symbols.function(inst.ast.opcode.text);
        Some(self.arena.apply(function, &arguments, width))
    }
}

/// The bits of a constant where an operand of `width` bits is expected.
fn constant_bits(value: Value, width: u8) -> u64 {
    match value {
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) if width == 32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        Value::F64(bits) => bits,
    }
}
