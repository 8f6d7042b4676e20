//! Symbols that cross memory: what accesses of a warp in a run with symbols do besides what others do.

use super::access::{AccessFault, Spaces};
use super::machine::Machine;
use super::part::Part;
use super::warp::Warp;
use super::watch::Watch;
use crate::algebra::Format;
use crate::interp::fault::FaultKind;
use crate::interp::memory::{Kind, Order};
use crate::interp::poison::{Found, Poison, Source};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Atomic, Destination, Formal, Store};
use crate::interp::registers::{File, LANES, Mask, Registers, lanes};
use crate::interp::symbol::{Owner, Spot, State, Symbol, Value, WIDTH, Words, World};
use crate::ptx::StateSpace;

impl Watch<'_> {
    /// Whose memory a lane accesses.
    fn owner(&self, part: &Part<'_>, home: StateSpace, lane: usize) -> Owner {
        self.owner_of(part.window.region, home, lane)
    }

    /// Whose memory a region or a space is.
    pub(super) fn owner_of(&self, region: Option<usize>, home: StateSpace, lane: usize) -> Owner {
        match (region, home) {
            (Some(region), _) => Owner::Region(region),
            (None, StateSpace::Shared) => Owner::Shared(self.block),
            (None, StateSpace::Param) => Owner::Params,
            _ => Owner::Local(self.block, self.warp * LANES as u32 + lane as u32),
        }
    }

    /// The bytes that a lane accesses.
    fn spot(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        lane: usize,
    ) -> Spot {
        Spot { owner: self.owner(part, home, lane), offset: part.offsets[lane] + skip, bytes }
    }

    /// Looks for poison and symbols in the bytes that lanes load into the part `first` of a register and the following ones.
    pub(super) fn look_for_symbols(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        (dest, first): (Destination, u32),
        mask: Mask,
    ) {
        let (Some(marks), Some(world)) = (part.window.marks(), self.world) else { return };
        let state = world.state();
        let cell = (dest.file, dest.slot);
        let source = Source::symbol(self.who.site);
        let fills = (bytes, dest.sign_to, first, dest.file) == (4, 0, 0, File::W32);
        let owner = (home != StateSpace::Local).then(|| self.owner(part, home, 0));
        let words = owner.map(|owner| state.memory.of(owner));
        let numbers = words.filter(|_| fills);
        let done =
            numbers.map_or(0, |words| self.numbers((part, skip), (cell, mask), words, &state));
        for lane in lanes(mask & !done) {
            let offset = part.offsets[lane] + skip;
            let raw = marks.read(offset, lane, bytes);
            if raw == 0 {
                continue;
            }
            if let (0xffff, 2, 0, Some(words), Some(marks)) =
                (raw, bytes, dest.sign_to, words, self.marks.as_deref_mut())
                && let half = words.word(&state.algebra, offset / 4)[(offset / 2 % 2) as usize]
                && half.is_some()
            {
                let parts = Some((first as u8, 1, [half, Symbol::NONE]));
                let bits = raw << (16 * first);
                marks.found.push(Found { cell, lane, bits, source, parts });
                continue;
            }
            let spot = self.spot((part, home), (skip, bytes), lane);
            if (raw, bytes, dest.sign_to) == (u64::from(u32::MAX), 4, 0)
                && let word = state.memory.word(&state.algebra, spot.owner, offset / 4)
                && word.iter().all(Symbol::is_some)
            {
                let (bits, parts) = (raw << (16 * first), Some((first as u8, 2, word)));
                if let Some(marks) = self.marks.as_deref_mut() {
                    marks.found.push(Found { cell, lane, bits, source, parts });
                }
                continue;
            }
            let value = state.load(spot, 0, raw);
            let bits = super::watch::extended(raw, bytes, dest.sign_to) << (16 * first);
            if value.lost || dest.sign_to != 0 {
                self.found_source(cell, (part, home, offset), lane, bits);
                continue;
            }
            let Some(marks) = self.marks.as_deref_mut() else { continue };
            let count = bytes.div_ceil(2) as usize;
            for (pair, parts) in value.parts[..count].chunks(2).enumerate() {
                let begin = first as usize + 2 * pair;
                let bits = bits & 0xffff_ffff << (16 * begin);
                let mut both = [Symbol::NONE; 2];
                both[..parts.len()].copy_from_slice(parts);
                let parts = Some((begin as u8, parts.len() as u8, both));
                marks.found.push(Found { cell, lane, bits, source, parts });
            }
        }
    }

    /// Notes the words that lanes load which are numbers of one format. Returns the lanes.
    fn numbers(
        &mut self,
        (part, skip): (&Part<'_>, u64),
        (cell, mask): (Cell, Mask),
        words: Words<'_>,
        state: &State,
    ) -> Mask {
        let (Some(marks), Some(found)) = (part.window.marks(), self.marks.as_deref_mut()) else {
            return 0;
        };
        let number = |lane: usize| {
            let offset = part.offsets[lane] + skip;
            let is_symbol = marks.read32(offset, lane) == u32::MAX;
            if is_symbol { words.number(&state.algebra, offset / 4) } else { None }
        };
        let mut numbers = lanes(mask).filter_map(|lane| Some((lane, number(lane)?)));
        let Some((first, (format, element))) = numbers.next() else { return 0 };
        let row = found.row(cell, format);
        row.lanes = 1 << first;
        row.numbers.set(first, element);
        for (lane, (own, element)) in numbers {
            if own == format {
                row.lanes |= 1 << lane;
                row.numbers.set(lane, element);
            }
        }
        row.lanes
    }

    /// Notes poison without a symbol, with its source.
    fn found_source(
        &mut self,
        cell: Cell,
        (part, home, offset): (&Part<'_>, StateSpace, u64),
        lane: usize,
        bits: u64,
    ) {
        match part.window.poison_source(offset) {
            None if home != StateSpace::Param => self.found(cell, (home, offset), lane, bits),
            source => {
                let symbol = Source::symbol(self.who.site);
                let source = source.map_or(symbol, Source::from_bits);
                if let Some(marks) = self.marks.as_deref_mut() {
                    marks.found.push(Found { cell, lane, bits, source, parts: None });
                }
            }
        }
    }

    /// Notes that lanes write bytes of a region.
    #[inline]
    pub(super) fn note_written(
        &self,
        (part, _): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        mask: Mask,
    ) {
        let (Some(world), Some(region)) = (self.world, part.window.region) else { return };
        let mut state = world.state();
        for lane in lanes(mask) {
            state.memory.write(region, part.offsets[lane] + skip, bytes);
        }
    }

    /// The lanes whose store will change bytes, if symbols are there or are stored: two threads may store the same value.
    pub(super) fn changed_symbols(
        &self,
        ((part, home), (skip, bytes)): ((&Part<'_>, StateSpace), (u64, u32)),
        cell: Cell,
        registers: &Registers,
        poison: Option<&Poison>,
    ) -> Option<Mask> {
        let (Some(world), Some(marks), true) = (self.world, part.window.marks(), self.active())
        else {
            return None;
        };
        if planted!(Bug::SymbolsUnchanged) {
            return None;
        }
        let stored = poison.map_or(0, |poison| poison.lanes(cell)) & part.lanes;
        let is_there = |lane: usize| marks.read(part.offsets[lane] + skip, lane, bytes) != 0;
        if stored == 0 && !lanes(part.lanes).any(is_there) {
            return None;
        }
        let new = |lane: usize| {
            let known = || Value::known(registers.get(cell.0, cell.1, lane));
            poison.map_or_else(known, |poison| poison.value(cell, lane, registers))
        };
        let offsets = lanes(part.lanes).map(|lane| part.offsets[lane]);
        let are_ascending = offsets.is_sorted_by(|a, b| a < b);
        // What an earlier lane of the instruction has stored there is there.
        let earlier = |lane: usize| {
            if are_ascending {
                return None;
            }
            let before = part.lanes & !(Mask::MAX << lane);
            let same = |other: &usize| part.offsets[*other] == part.offsets[lane];
            lanes(before).filter(same).last().filter(|_| home != StateSpace::Local)
        };
        let changes = |lane: &usize| {
            if are_ascending && !is_there(*lane) && stored >> lane & 1 != 0 {
                return true;
            }
            let there = || self.memory_value((part, home), (skip, bytes), *lane, world);
            let old = earlier(*lane).map_or_else(there, new);
            !old.is_same(&new(*lane), bytes)
        };
        Some(lanes(part.lanes).filter(changes).fold(0, |mask, lane| mask | 1 << lane))
    }

    /// Stores the symbols of a lane's register from the bit `shift` on; its marks are written already. Returns whether all of
    /// its poison is symbols.
    pub(super) fn store_symbols(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        (cell, shift): (Cell, u32),
        lane: usize,
        poison: &Poison,
    ) -> bool {
        let Some(world) = self.world else { return false };
        if let (Some(number), 0, 4) = (poison.number_in(cell, lane), shift, bytes) {
            let owner = self.owner(part, home, lane);
            world.state().memory.set_number(owner, (part.offsets[lane] + skip) / 4, number);
            return true;
        }
        // The bits that are known are written by the caller.
        let value = poison.value_of(cell, lane, 0);
        let value = value.behind_part(shift as usize / 16);
        let spot = self.spot((part, home), (skip, bytes), lane);
        let whole = bytes > 1 && !value.lost;
        let parts = if whole { value.parts } else { Value::known(0).parts };
        world.state().store(spot, &parts);
        whole
    }

    /// Copies the symbols of a word.
    pub(super) fn copy_word(&self, from: (Owner, u64), to: (Owner, u64)) {
        if let Some(world) = self.world {
            let mut state = world.state();
            let State { algebra, memory, .. } = &mut *state;
            let symbols = memory.word(algebra, from.0, from.1 / 4);
            memory.set_word(to.0, to.1 / 4, symbols);
        }
    }
}

impl Spaces<'_> {
    /// Stores an element of lanes that store it under a condition: the old value is kept otherwise.
    ///
    /// # Errors
    /// A value is neither known nor a symbol; a race.
    pub(super) fn store_conditionally(
        &self,
        registers: &Registers,
        (store, index): (&Store, usize),
        (part, home): (&Part<'_>, StateSpace),
        mask: Mask,
        (watch, poison, world): (&mut Watch<'_>, &Poison, &World),
    ) -> Result<(), AccessFault> {
        let cell = store.sources[index];
        let (skip, bytes) = (index as u64 * u64::from(store.bytes), store.bytes);
        for lane in lanes(mask) {
            let new = poison.value(cell, lane, registers);
            let (predicate, possible) = poison.condition(&mut world.state(), lane);
            if !possible {
                continue;
            }
            let old = watch.memory_value((part, home), (skip, bytes), lane, world);
            let value = match predicate {
                None => new,
                Some(predicate) => world.state().choose(bytes, predicate, [new, old]),
            };
            watch.note_written((part, home), (skip, bytes), 1 << lane);
            let strong = store.order.map(Order::of_plain);
            let kind = Kind::Write { changes: true };
            watch.note(part, home, lane, skip, bytes, kind, strong)?;
            watch.write_value((part, home), (skip, bytes), lane, (value, world))?;
        }
        Ok(())
    }

    /// An atomic sum of floating-point numbers, one of them a symbol. Returns whether there was one.
    ///
    /// # Errors
    /// The numbers are not known.
    pub(super) fn sum_of_symbols(
        &self,
        registers: &Registers,
        atomic: &Atomic,
        (part, home): (&Part<'_>, StateSpace),
        lane: usize,
        (watch, poison, world): (&mut Watch<'_>, &Poison, &World),
    ) -> Result<bool, AccessFault> {
        let Some(format) = atomic.sum else { return Ok(false) };
        let (_, cell) = atomic.elements[0];
        let spot = (0, atomic.bytes);
        let old = watch.memory_value((part, home), spot, lane, world);
        let added = poison.value(cell, lane, registers);
        watch.note_written((part, home), spot, 1 << lane);
        if old.is_known() && added.is_known() {
            let operands = [old.bits, added.bits];
            if world.state().algebra.keeps(crate::algebra::Real::Add, format, &operands) {
                return Ok(false);
            }
        }
        let sum = world.state().sum(format, [old, added]);
        match sum {
            Some(value) if atomic.elements.len() == 1 => {
                watch.write_value((part, home), spot, lane, (value, world))?;
                // The old value depends on the order of threads.
                if let (Some(cell), source) = (atomic.elements[0].0, watch.who.site)
                    && let Some(marks) = watch.marks.as_deref_mut()
                {
                    let (bits, source) = (u64::MAX, Source::symbol(source));
                    marks.found.push(Found { cell, lane, bits, source, parts: None });
                }
                Ok(true)
            }
            _ => Err(not_described(lane, "the operands of this atomic operation")),
        }
    }
}

/// Something that is neither known nor a symbol would be seen by others.
fn not_described(lane: usize, what: &str) -> AccessFault {
    let message = format!("{what} are not described by the algebra");
    AccessFault::new(lane, FaultKind::Symbolic, message)
}

impl Watch<'_> {
    /// The value of bytes of memory.
    fn memory_value(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        lane: usize,
        world: &World,
    ) -> Value {
        let at = part.offsets[lane] + skip;
        let bits = part.window.read(at, lane, bytes);
        let poisoned = part.window.marks().map_or(0, |marks| marks.read(at, lane, bytes));
        let spot = self.spot((part, home), (skip, bytes), lane);
        world.state().load(spot, bits, poisoned)
    }

    /// Writes a value to bytes of memory.
    ///
    /// # Errors
    /// The value is neither known nor a symbol, or there is no room for its marks.
    fn write_value(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        lane: usize,
        (value, world): (Value, &World),
    ) -> Result<(), AccessFault> {
        let at = part.offsets[lane] + skip;
        let Some(marks) = part.window.marks().filter(|_| !value.lost) else {
            return Err(not_described(lane, "the values that this stores"));
        };
        let width = u64::MAX >> (64 - 8 * bytes.min(8));
        let symbolic = value.symbolic(File::W64) & width;
        if symbolic != 0 && bytes < 2 {
            return Err(not_described(lane, "the values that this stores"));
        }
        let old = part.window.read(at, lane, bytes);
        part.window.write(at, lane, bytes, old & symbolic | value.bits & !symbolic);
        marks.write(at, lane, bytes, symbolic);
        let spot = self.spot((part, home), (skip, bytes), lane);
        world.state().store(spot, &value.parts);
        Ok(())
    }
}

/// The format of the numbers that an atomic operation adds up.
pub(crate) fn format_of(ty: crate::ptx::ScalarType) -> Option<Format> {
    use crate::ptx::ScalarType;
    Some(match ty {
        ScalarType::F32 => Format::F32,
        ScalarType::F64 => Format::F64,
        ScalarType::F16 => Format::F16,
        ScalarType::Bf16 => Format::Bf16,
        _ => return None,
    })
}

/// The poisoned bits and the symbols of the words that a copy has read, by lane and word.
#[derive(Default)]
pub(super) struct SymbolsOfCopy(rustc_hash::FxHashMap<(usize, u32), (u32, [Symbol; 2])>);

impl Watch<'_> {
    /// Reads the symbols of a word that a copy reads; `left` bytes of it count.
    ///
    /// # Errors
    /// Only some bytes of a word with symbols count.
    pub(super) fn read_word(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        offset: u64,
        (lane, word): (usize, u32),
        (left, symbols): (u32, &mut SymbolsOfCopy),
    ) -> Result<(), AccessFault> {
        let (Some(world), Some(marks)) = (self.world, part.window.marks()) else { return Ok(()) };
        let bits = marks.read32(offset, lane);
        if bits == 0 || left == 0 {
            return Ok(());
        }
        if left < 4 {
            return Err(not_described(lane, "the bytes that this copies"));
        }
        let state = world.state();
        let found = state.memory.word(&state.algebra, self.owner(part, home, lane), offset / 4);
        symbols.0.insert((lane, word), (bits, found));
        Ok(())
    }

    /// Writes the symbols of a word that a copy writes; its bits are written and its marks cleared.
    pub(super) fn write_word(
        &self,
        (part, home): (&Part<'_>, StateSpace),
        offset: u64,
        (lane, word): (usize, u32),
        symbols: &SymbolsOfCopy,
    ) {
        let (Some(world), Some(marks)) = (self.world, part.window.marks()) else { return };
        let Some(&(bits, found)) = symbols.0.get(&(lane, word)) else { return };
        marks.write(offset, lane, 4, bits.into());
        let owner = self.owner(part, home, lane);
        world.state().memory.set_word(owner, offset / 4, found);
    }
}

impl Warp {
    /// Copies the symbols of values between two frames, whose poison is copied already.
    pub(super) fn pass_symbols(
        &mut self,
        machine: &Machine<'_>,
        from: (usize, &[Formal]),
        to: (usize, &[Formal]),
        mask: Mask,
    ) {
        let Some(world) = machine.world else { return };
        let (block, first) = (self.block, self.index * LANES as u32);
        let owner = |lane: usize| Owner::Local(block, first + lane as u32);
        let bases = [from.0, to.0].map(|frame| self.frames[frame].local_base);
        for (given, taken) in from.1.iter().zip(to.1) {
            for lane in lanes(mask) {
                let mut state = world.state();
                let State { algebra, memory, .. } = &mut *state;
                let mut parts: Vec<Symbol> = Vec::new();
                match *given {
                    Formal::Register(file, slot) => {
                        let poison = self.frames[from.0].poison.as_ref();
                        let value = poison.map(|poison| poison.value_of((file, slot), lane, 0));
                        let value = value.unwrap_or(Value::known(0));
                        if !value.lost && file != File::Pred {
                            parts.extend(value.parts);
                        }
                    }
                    Formal::Memory { offset, size } => {
                        for at in (bases[0] + offset..).step_by(2).take(size as usize / 2) {
                            let word = memory.word(algebra, owner(lane), at / 4);
                            parts.push(word[(at / 2 % 2) as usize]);
                        }
                    }
                }
                match *taken {
                    Formal::Register(file, slot) if file != File::Pred && !parts.is_empty() => {
                        parts.resize(WIDTH.max(parts.len()), Symbol::NONE);
                        if let Some(poison) = &mut self.frames[to.0].poison
                            && poison.bits((file, slot), lane) != 0
                        {
                            poison.set_parts((file, slot), lane, &parts);
                        }
                    }
                    Formal::Register(..) => {}
                    Formal::Memory { offset, size } => {
                        parts.resize(size.div_ceil(2) as usize, Symbol::NONE);
                        for (part, at) in parts.iter().zip((bases[1] + offset..).step_by(2)) {
                            let spot = Spot { owner: owner(lane), offset: at, bytes: 2 };
                            state.store(spot, &[*part]);
                        }
                    }
                }
            }
        }
    }
}
