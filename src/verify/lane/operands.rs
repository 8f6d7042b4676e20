//! Operands as terms, results into destinations, and the terms of special registers.

use smallvec::SmallVec;

use super::state::Evaluation;
use crate::cfg::{Arg, Base};
use crate::expr::{Comparison, Range, TermId};
use crate::isa::limits::{MAX_BLOCK, MAX_GRID, WARP_SIZE};
use crate::isa::{Axis, Special};
use crate::program::{Belief, belief};
use crate::ptx::{StateSpace, Value};
use crate::record::layouts::Paired;
use crate::terms::{Function, Kind, Region, Side, no_wrap};

/// The end of the addresses of variables in shared memory, which a register of 32 bits holds (PTX ISA, "Addresses as
/// Operands"; compilers use either width): a block has less than 2^24 bytes of it, and the rank of the block in its
/// cluster, at most 15, stands above these.
const SHARED_END: u64 = 1 << 30;

/// The sign bit of a constant.
const SIGN_BIT: u64 = 1 << 63;

impl<'s> Evaluation<'_, 's> {
    /// The value of an operand, truncated to `width` bits; `None` for an operand that is not a single value of
    /// at least that width. One bit is a predicate, to which numbers are converted by comparing them with zero.
    pub(crate) fn operand(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        if width == 1 {
            return self.predicate(arg);
        }
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
            Arg::Special(register) => {
                let term = self.special(*register);
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

    /// A predicate register's value, its negation, or whether a number differs from zero.
    fn predicate(&mut self, arg: &Arg<'s>) -> Option<TermId> {
        let term = match arg {
            Arg::Register(register) => self.read(*register),
            Arg::Not(register) => {
                let term = self.read(*register);
                self.terms.arena.not(term)
            }
            Arg::Vector(elements) if elements.len() == 1 => return self.predicate(&elements[0]),
            Arg::Constant(Value::Signed(0) | Value::Unsigned(0)) => {
                return Some(self.terms.arena.boolean(false));
            }
            // `setp` and `set` of ptxas take it for false, others for true.
            Arg::Constant(Value::Signed(i64::MIN) | Value::Unsigned(SIGN_BIT)) => return None,
            Arg::Constant(Value::Signed(_) | Value::Unsigned(_)) => {
                return Some(self.terms.arena.boolean(true));
            }
            Arg::Special(register) => {
                let number = self.special(*register);
                let zero = self.terms.arena.constant(0, self.terms.arena.width(number));
                let is_zero = self.terms.arena.equal(number, zero);
                return Some(self.terms.arena.not(is_zero));
            }
            _ => return None,
        };
        (self.terms.arena.width(term) == 1).then_some(term)
    }

    /// Gives a destination a value, truncated or extended to the register's width.
    pub(crate) fn set(&mut self, arg: &Arg<'s>, term: TermId, signed: bool, guard: Option<TermId>) {
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

    /// An operand in its own width; 64 bits for constants.
    pub(super) fn natural(&mut self, arg: &Arg<'s>, found: &mut SmallVec<[TermId; 8]>) {
        match arg {
            Arg::Register(register) | Arg::Modified(register) => {
                found.push(self.read(*register));
            }
            Arg::Sum(register, offset) => {
                let term = self.read(*register);
                found.push(self.terms.arena.add_constant(term, *offset as u64));
            }
            Arg::Vector(elements) => elements.iter().for_each(|e| self.natural(e, found)),
            Arg::Pair(pair) => pair.iter().for_each(|e| self.natural(e, found)),
            Arg::Memory { base, offset, rest } => {
                found.push(self.address(*base, *offset));
                rest.iter().for_each(|e| self.natural(e, found));
            }
            Arg::Sink => {}
            Arg::Not(register) => {
                let term = self.read(*register);
                found.push(self.terms.arena.not(term));
            }
            // In a literal of double precision the same bits are another number.
            Arg::Constant(Value::F32(bits)) => {
                found.push(self.terms.arena.constant(u64::from(*bits), 32));
            }
            Arg::Constant(Value::F64(bits)) => found.push(self.terms.arena.constant(*bits, 64)),
            other => {
                if let Some(term) = self.operand(other, 64) {
                    found.push(term);
                }
            }
        }
    }

    /// A term with copies of its sign in front, or zeros. Where the user says that indexes do not wrap around, it is
    /// spread, so that the same address is the same term in both programs.
    pub(super) fn widen(&mut self, term: TermId, width: u8, signed: bool) -> TermId {
        let is_index = width == 64 && self.terms.arena.width(term) == 32;
        let arena = &mut self.terms.arena;
        let wide = match signed {
            true => arena.sign_extend(term, width),
            false => arena.zero_extend(term, width),
        };
        match is_index && self.terms.assume_no_wrap {
            true => no_wrap::spread(arena, wide),
            false => wide,
        }
    }

    /// The address of a memory operand, 64 bits wide.
    pub(crate) fn address(&mut self, base: Base<'s>, offset: i64) -> TermId {
        let start = match base {
            Base::Register(register) => self.read(register),
            Base::Symbol { name, local } => self.address_of(name, local, 64),
            Base::Absolute => self.terms.arena.constant(0, 64),
        };
        let sum = self.terms.arena.add_constant(start, offset as u64);
        self.terms.arena.zero_extend(sum, 64)
    }

    /// The address of a load or store, 64 bits wide. In an array that is laid out anew it is the address of the
    /// access of the original that it corresponds to, once it is shown to go where the layout says (see `layouts`).
    pub(super) fn accessed(&mut self, space: StateSpace, base: Base<'s>, offset: i64) -> TermId {
        if space != StateSpace::Shared {
            return self.address(base, offset);
        }
        let start = match base {
            Base::Register(register) => self.read(register),
            _ => self.address(base, 0),
        };
        let own = self.terms.arena.add_constant(start, offset as u64);
        self.out.shared.insert(self.at, own);
        let paired = self.layouts.and_then(|layouts| layouts.paired.get(&self.at).copied());
        let meant = match (paired, self.out.stands_for.get(&self.at)) {
            (_, Some(&known)) => known,
            (None, None) => own,
            (Some(paired), None) => self.undone(own, paired),
        };
        self.terms.arena.zero_extend(meant, 64)
    }

    /// The original's address that an address corresponds to by a layout; itself, if that is not shown.
    fn undone(&mut self, own: TermId, paired: Paired) -> TermId {
        let Paired { layout, is_back, original, before, base, last, align, size } = paired;
        let (from, to) = if is_back { (own, before) } else { (before, own) };
        let wanted = layout.terms(self.terms, from, Region { base, size });
        let arena = &mut self.terms.arena;
        let mut within = |address: TermId, last: u64| {
            let ahead = arena.sub(address, base);
            let last = arena.constant(last, arena.width(base));
            arena.compare(Comparison::UnsignedLessEqual, ahead, last)
        };
        let is_within = within(before, last.original);
        let stays_within = within(own, last.rewritten);
        let (low, none) =
            (arena.and_constant(base, align - 1), arena.constant(0, arena.width(base)));
        let aligned = arena.equal(low, none);
        let known = [is_within, aligned];
        let always = arena.boolean(true);
        let mut is_equal = |a: TermId, b: TermId| {
            self.ask_oracle(|oracle, here| oracle.is_equal(here, (a, b), &known)) == Some(true)
        };
        let shown = (wanted.contains(&to) || is_equal(wanted[0], to))
            && (!is_back || is_equal(stays_within, always));
        if !shown {
            self.out.astray.push(self.at);
            return own;
        }
        self.out.stands_for.insert(self.at, original);
        original
    }

    fn address_of(&mut self, name: &str, scope: Option<u32>, width: u8) -> TermId {
        let scope = scope.map_or(String::new(), |scope| format!("{scope}."));
        let name = format!("{scope}{name}");
        let range = match self.program.shared.contains(&name) {
            true => Range::unsigned(0, SHARED_END - 1, width),
            false => Range::full(width),
        };
        self.terms.bounded(Kind::Address(name), width, None, range)
    }

    /// The variable that an address points into, and the bytes from its start.
    pub(super) fn variable_at(&self, address: TermId) -> Option<(String, i64)> {
        let (offset, addends) = self.terms.arena.linear_parts(address);
        let [(start, 1)] = addends[..] else { return None };
        match &self.terms.symbols.info(self.terms.as_symbol(start)?).kind {
            Kind::Address(name) => Some((name.clone(), offset as i64)),
            _ => None,
        }
    }

    /// The value of a special register; a register that may change between two readings has a value of
    /// its own at each instruction (shared with the instruction that is matched with it).
    pub(crate) fn special(&mut self, register: Special) -> TermId {
        let uniform = |this: &mut Self, width, range| {
            this.terms.bounded(Kind::Uniform(register), width, None, range)
        };
        match belief(register) {
            Belief::WarpSize => self.terms.arena.constant(u64::from(WARP_SIZE), 32),
            Belief::Thread(axis) => {
                let limit = match self.program.block {
                    Some(block) => block[axis.index()],
                    None => self.largest_extent(axis),
                };
                if limit <= 1 {
                    return self.terms.arena.constant(0, 32);
                }
                let range = Range::unsigned(0, limit - 1, 32);
                self.terms.bounded(Kind::Tid(axis), 32, None, range)
            }
            Belief::Extent(axis) => self.block_extent(axis),
            Belief::Block(axis) => {
                uniform(self, 32, Range::unsigned(0, MAX_GRID[axis.index()] - 1, 32))
            }
            Belief::Blocks(axis) => {
                uniform(self, 32, Range::unsigned(1, MAX_GRID[axis.index()], 32))
            }
            Belief::Lane => {
                let range = Range::unsigned(0, u64::from(WARP_SIZE) - 1, 32);
                self.terms.bounded(Kind::LaneId, 32, None, range)
            }
            Belief::LaneMask => {
                let lane = self.special(Special::Laneid);
                self.terms.apply(Function::OfLane(register), &[lane], 32)
            }
            Belief::Uniform(width) => uniform(self, width, Range::full(width)),
            Belief::Volatile(width) => {
                let (side, at) = match self.matched() {
                    Some(original) => (Side::Original, original),
                    None => (Side::Rewritten, self.at),
                };
                let kind = Kind::Volatile(side, at, register.to_string());
                self.terms.symbol(kind, width, self.here())
            }
        }
    }

    /// `%ntid` in a dimension.
    pub(crate) fn block_extent(&mut self, axis: Axis) -> TermId {
        if let Some(block) = self.program.block {
            return self.terms.arena.constant(block[axis.index()], 32);
        }
        let range = Range::unsigned(1, self.largest_extent(axis), 32);
        let kind = Kind::Uniform(Special::Ntid(axis));
        self.terms.bounded(kind, 32, None, range)
    }

    /// The largest extent of a block in a dimension, if the launch decides the block's shape.
    fn largest_extent(&self, axis: Axis) -> u64 {
        MAX_BLOCK[axis.index()].min(self.program.function.most_threads().unwrap_or(u64::MAX))
    }
}
