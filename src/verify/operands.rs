//! Operands, destinations and special registers.

use super::evaluate::Evaluation;
use super::special::{Special, special};
use super::symbols::{Kind, Side};
use crate::cfg::{Arg, Base};
use crate::expr::{Range, TermId};
use crate::ptx::Value;

/// Largest block and grid dimensions of every compute capability so far (CUDA C++ Programming Guide,
/// "Compute Capabilities").
const MAX_BLOCK: [u64; 3] = [1024, 1024, 64];
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

impl<'s> Evaluation<'_, '_, '_, 's> {
    /// The value of an operand, cut to `width` bits; `None` for what is no single value of at least
    /// that width.
    pub(super) fn operand(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        let term = match arg {
            Arg::Register(register) => self.read(*register),
            Arg::Not(register) => {
                let term = self.read(*register);
                self.terms.arena.not(term)
            }
            Arg::Sum(register, offset) => {
                let term = self.read(*register);
                self.terms.arena.add_constant(term, *offset as u64)
            }
            Arg::Special(name) => {
                let term = self.special(name);
                return Some(self.terms.arena.resize(term, width));
            }
            Arg::Constant(value) => {
                let bits = match *value {
                    Value::Signed(value) => value as u64,
                    Value::Unsigned(value) => value,
                    Value::F32(bits) => u64::from(bits),
                    Value::F64(bits) if width == 32 => {
                        u64::from((f64::from_bits(bits) as f32).to_bits())
                    }
                    Value::F64(bits) => bits,
                };
                return Some(self.terms.arena.constant(bits, width));
            }
            Arg::Symbol { name, offset, indexed, local } => {
                let name = if *indexed { format!("{name}[{offset}]") } else { (*name).to_owned() };
                let base = self.address_of(&name, *local, 64);
                let offset = if *indexed { 0 } else { *offset };
                let address = self.terms.arena.add_constant(base, offset as u64);
                return Some(self.terms.arena.resize(address, width));
            }
            Arg::Vector(elements) if elements.len() == 1 => {
                return self.operand(&elements[0], width);
            }
            Arg::Vector(_) | Arg::Modified(_) | Arg::Pair(_) | Arg::Sink | Arg::Memory { .. } => {
                return None;
            }
        };
        let from = self.terms.arena.width(term);
        (from >= width).then(|| self.terms.arena.extract(term, 0, width))
    }

    /// Gives a destination a value, cut or extended to the register's width.
    pub(super) fn set(&mut self, arg: &Arg<'s>, term: TermId, signed: bool, guard: Option<TermId>) {
        match arg {
            Arg::Register(register) => {
                let width = self.width(*register);
                let fitted = match self.terms.arena.width(term) {
                    from if from >= width => self.terms.arena.extract(term, 0, width),
                    _ => self.widen(term, width, signed),
                };
                self.write(*register, fitted, guard);
            }
            Arg::Vector(elements) if elements.len() == 1 => {
                self.set(&elements[0], term, signed, guard);
            }
            _ => {}
        }
    }

    /// The address of a memory operand, 64 bits wide.
    pub(super) fn address(&mut self, base: Base<'s>, offset: i64) -> TermId {
        let start = match base {
            Base::Register(register) => self.read(register),
            Base::Symbol { name, local } => self.address_of(name, local, 64),
            Base::Absolute => self.terms.arena.constant(0, 64),
        };
        let sum = self.terms.arena.add_constant(start, offset as u64);
        self.terms.arena.zero_extend(sum, 64)
    }

    fn address_of(&mut self, name: &str, scope: Option<u32>, width: u8) -> TermId {
        let scope = scope.map_or(String::new(), |scope| format!("{scope}."));
        self.terms.symbol(Kind::Address(format!("{scope}{name}")), width, None)
    }

    /// The value of a special register; what may change between two readings is a value of its own at
    /// each instruction (and at the one that is matched with it).
    fn special(&mut self, name: &str) -> TermId {
        let uniform = |this: &mut Self, width, range| {
            this.terms.bounded(Kind::Uniform(name.to_owned()), width, None, range)
        };
        match special(name) {
            Special::WarpSize => self.terms.arena.constant(32, 32),
            Special::Thread(axis) => {
                let limit = match self.program.function.directive("reqntid") {
                    Some(exact) => exact.get(usize::from(axis)).copied().unwrap_or(1),
                    None => self.largest_extent(usize::from(axis)),
                };
                if limit <= 1 {
                    return self.terms.arena.constant(0, 32);
                }
                let range = Range::unsigned(0, limit - 1, 32);
                self.terms.bounded(Kind::Tid(axis), 32, None, range)
            }
            Special::Extent(axis) => self.block_extent(usize::from(axis)),
            Special::Block(axis) => {
                uniform(self, 32, Range::unsigned(0, MAX_GRID[usize::from(axis)] - 1, 32))
            }
            Special::Blocks(axis) => {
                uniform(self, 32, Range::unsigned(1, MAX_GRID[usize::from(axis)], 32))
            }
            Special::Lane => self.terms.bounded(Kind::LaneId, 32, None, Range::unsigned(0, 31, 32)),
            Special::LaneMask => {
                let lane = self.special("%laneid");
                self.terms.function(name, &[lane], 32)
            }
            Special::Uniform(width) => uniform(self, width, Range::full(width)),
            Special::Unsteady(width) => {
                let (side, at) = match self.matched() {
                    Some(original) => (Side::Original, original),
                    None => (Side::Rewritten, self.at),
                };
                let kind = Kind::Unsteady(side, at, name.to_owned());
                self.terms.symbol(kind, width, self.here())
            }
        }
    }

    /// `%ntid` in a dimension.
    pub(super) fn block_extent(&mut self, axis: usize) -> TermId {
        if let Some(exact) = self.program.function.directive("reqntid") {
            let extent = exact.get(axis).copied().unwrap_or(1);
            return self.terms.arena.constant(extent, 32);
        }
        let name = ["%ntid.x", "%ntid.y", "%ntid.z"][axis];
        let range = Range::unsigned(1, self.largest_extent(axis), 32);
        self.terms.bounded(Kind::Uniform(name.to_owned()), 32, None, range)
    }

    /// Of a block whose shape the launch decides.
    fn largest_extent(&self, axis: usize) -> u64 {
        MAX_BLOCK[axis].min(self.program.function.most_threads().unwrap_or(u64::MAX))
    }
}
