//! Loads, stores and atomics of a warp: addresses, checks, and the bytes.

use super::tally::Tally;
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::fault::{FaultKind, Outside};
use crate::interp::memory::{Global, Order, StateSpaceLayout, Window};
use crate::interp::poison::Poison;
use crate::interp::program::{Base, Destination, Load, Place, Store};
use crate::interp::registers::{File, LANES, Mask, Registers, blend, lanes};
use crate::ptx::StateSpace;
use std::sync::atomic::AtomicU32;

pub(super) use super::part::{AccessFault, Part};

/// The memory that a warp can reach.
pub(crate) struct Spaces<'a> {
    /// Where the windows are.
    pub layout: &'a StateSpaceLayout,
    /// Global and constant memory.
    pub global: &'a Global<'a>,
    /// The block's shared memory.
    pub shared: &'a [AtomicU32],
    /// The marks of poison in shared memory, if somebody asks for them.
    pub shared_marks: Option<&'a [AtomicU32]>,
    /// The warp's local memory, lanes interleaved, and its bytes for each lane.
    pub local: (&'a [AtomicU32], u64),
    /// The marks of poison in local memory.
    pub local_marks: Option<&'a [AtomicU32]>,
    /// The kernel's parameters, and the marks of those that are symbols.
    pub params: (&'a [AtomicU32], Option<&'a [AtomicU32]>),
    /// Where the frame's local memory begins.
    pub frame: u64,
    /// Whether one of the lanes that write to one place by one instruction wins, which is not a race.
    pub one_wins: bool,
}

/// The effect of an access on memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// The access reads.
    Read,
    /// The access writes, and perhaps reads.
    Write,
}

impl<'a> Spaces<'a> {
    /// The address of each lane.
    pub(crate) fn addresses(&self, registers: &Registers, place: &Place) -> [u64; LANES] {
        let offset = place.offset as u64;
        let mut addresses = [offset; LANES];
        match place.base {
            Base::Absolute => {}
            Base::Frame => addresses = [self.frame.wrapping_add(offset); LANES],
            // Shared and local memory have addresses of 32 bits, so that a sum wraps around: compilers put the beginning of
            // an array in front of its window where the offset leads back into it.
            Base::W32(slot) if matches!(place.space, StateSpace::Shared | StateSpace::Local) => {
                let row = &registers.w32[slot];
                for lane in 0..LANES {
                    addresses[lane] = u64::from(row[lane].wrapping_add(offset as u32));
                }
            }
            Base::W32(slot) => {
                let row = &registers.w32[slot];
                for lane in 0..LANES {
                    addresses[lane] = u64::from(row[lane]).wrapping_add(offset);
                }
            }
            Base::W64(slot) => {
                let row = &registers.w64[slot];
                for lane in 0..LANES {
                    addresses[lane] = row[lane].wrapping_add(offset);
                }
            }
        }
        addresses
    }

    /// The window that holds an address of a state space, and the state space that the window belongs
    /// to. An address of no buffer has an empty window.
    pub(super) fn window(
        &self,
        space: StateSpace,
        address: u64,
        intent: Intent,
    ) -> Result<(Window<'a>, StateSpace), String> {
        let (base, home) = if space == StateSpace::Generic {
            let home = self.layout.space_of(address);
            (self.layout.window_base(home), home)
        } else {
            (0, space)
        };
        let plain = |words: &'a [AtomicU32], len, spread, poison| Window {
            base,
            len,
            words,
            spread,
            region: None,
            poison,
            sources: None,
            unmarked: 0,
        };
        match home {
            StateSpace::Shared => {
                let len = self.layout.shared_bytes;
                Ok((plain(self.shared, len, 0, self.shared_marks), StateSpace::Shared))
            }
            StateSpace::Local => {
                let (words, len) = self.local;
                Ok((plain(words, len, 5, self.local_marks), StateSpace::Local))
            }
            StateSpace::Param if intent == Intent::Read => {
                let (words, marks) = self.params;
                Ok((plain(words, self.layout.param_bytes, 0, marks), StateSpace::Param))
            }
            StateSpace::Param => Err("kernel parameters cannot be written".to_owned()),
            _ => {
                // (The bytes in front of a variable have the addresses of the window before its own.)
                let found = self.global.window(self.layout, address);
                let Some((window, region)) =
                    found.filter(|(window, _)| window.offset(address, 1).is_some())
                else {
                    return Ok((plain(&[], 0, 0, None), home));
                };
                let constant = region.space == StateSpace::Const;
                let asked = match space {
                    StateSpace::Global => !constant,
                    StateSpace::Const => constant,
                    _ => true,
                };
                let kept = intent == Intent::Write && (constant || region.read_only);
                match (asked, kept) {
                    (false, _) => Err(format!(
                        "the address {address:#x} belongs to `{}`, which is in another state space",
                        region.name
                    )),
                    (_, true) if constant => {
                        Err(format!("the constant `{}` cannot be written", region.name))
                    }
                    (_, true) => Err(format!("`{}` cannot be written", region.name)),
                    _ => Ok((window, region.space)),
                }
            }
        }
    }

    /// Splits an access by the windows that it touches, checks bounds and alignment, and hands each
    /// part to `each`.
    pub(super) fn parts(
        &self,
        (space, bytes, intent): (StateSpace, u32, Intent),
        addresses: &[u64; LANES],
        mask: Mask,
        mut each: impl FnMut(&Part<'a>, StateSpace) -> Result<(), AccessFault>,
    ) -> Result<(), AccessFault> {
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let address = addresses[lane];
            let outside = |message| {
                let outside = self.beside(address, bytes);
                Err(AccessFault {
                    outside,
                    access: Some((address, bytes)),
                    ..AccessFault::new(lane, FaultKind::OutOfBounds, message)
                })
            };
            let (window, home) = match self.window(space, address, intent) {
                Ok(found) => found,
                Err(message) => return outside(message),
            };
            let part = Part::of(window, addresses, rest, bytes);
            if part.lanes >> lane & 1 == 0 {
                let end = address.wrapping_sub(window.base).saturating_add(bytes.into());
                let more = (home == StateSpace::Shared).then(|| end.saturating_sub(window.len));
                return outside(self.outside(window, address, bytes, home))
                    .map_err(|fault| AccessFault { more_shared: more, ..fault });
            }
            if let Some(lane) = part.misaligned(bytes) {
                let address = addresses[lane];
                let message = format!("address {address:#x} is not a multiple of {bytes}");
                let fault = AccessFault::new(lane, FaultKind::Misaligned, message);
                return Err(AccessFault { access: Some((address, bytes)), ..fault });
            }
            rest &= !part.lanes;
            each(&part, home)?;
        }
        Ok(())
    }

    /// The buffer or module variable that begins nearest to an address, and how far from its beginning
    /// the address is.
    pub(super) fn beside(&self, address: u64, bytes: u32) -> Option<Box<Outside>> {
        let (index, offset) = self.nearest(address)?;
        let buffer = self.global.regions()[index].name.clone();
        Some(Box::new(Outside { buffer, offset, bytes }))
    }

    /// The index of the buffer or module variable of [`Spaces::beside`], and the offset.
    fn nearest(&self, address: u64) -> Option<(usize, i64)> {
        let half = self.layout.region_limit() / 2;
        let index = self.layout.region_index(address.checked_add(half)?)?;
        let offset = address.wrapping_sub(self.layout.region_base(index)) as i64;
        (index < self.global.in_windows().len()).then_some((index, offset))
    }

    /// The sentence about an access that lies outside of its window.
    pub(super) fn outside(
        &self,
        window: Window<'a>,
        address: u64,
        bytes: u32,
        home: StateSpace,
    ) -> String {
        let access = format!("access of {bytes} bytes");
        let (name, offset, size) = match home {
            StateSpace::Shared | StateSpace::Local | StateSpace::Param => {
                let name = match home {
                    StateSpace::Shared => "shared memory",
                    StateSpace::Local => "local memory",
                    _ => "the parameters",
                };
                (name.to_owned(), address.wrapping_sub(window.base) as i64, window.len)
            }
            _ => match self.nearest(address) {
                None if self.global.has_host() => {
                    return format!("no memory is mapped at the address {address:#x}");
                }
                None => return format!("the address {address:#x} belongs to no buffer"),
                Some((index, offset)) => {
                    let region = &self.global.regions()[index];
                    if offset < 0 {
                        let before = offset.unsigned_abs();
                        return format!("{access}, {before} bytes before `{}`", region.name);
                    }
                    (format!("`{}`", region.name), offset, region.len)
                }
            },
        };
        format!("{access} at offset {offset} of {name}, which has {size} bytes")
    }

    /// `ld`.
    pub(super) fn load(
        &self,
        registers: &mut Registers,
        load: &Load,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &load.place);
        let mut tally = Tally::default();
        let what = (load.place.space, load.align, Intent::Read);
        self.parts(what, &addresses, mask, |part, home| {
            tally.add(part, home);
            tally.add_banks(part, home, load.align);
            watch.note_reads(part, home, load.align, (load.order, load.read_only))?;
            for (index, dest) in load.dests.iter().enumerate() {
                let Some(dest) = dest else { continue };
                let skip = index as u64 * u64::from(load.bytes);
                if part.window.poison.is_some() {
                    watch.look((part, home), (skip, load.bytes), *dest);
                }
                if (load.bytes, dest.file, dest.sign_to) == (4, File::W32, 0) {
                    let row = &mut registers.w32[dest.slot];
                    for lane in lanes(part.lanes) {
                        row[lane] = part.window.read32(part.offsets[lane] + skip, lane);
                    }
                    continue;
                }
                let mut values = [0; LANES];
                for lane in lanes(part.lanes) {
                    values[lane] = part.window.read(part.offsets[lane] + skip, lane, load.bytes);
                }
                put(registers, *dest, values, load.bytes, part.lanes);
            }
            Ok(())
        })?;
        counters.global_load_requests += u64::from(tally.global);
        counters.global_load_wavefronts += tally.lines;
        counters.global_load_sectors += tally.sectors;
        tally.count_others(counters, mask);
        Ok(())
    }

    /// `st`.
    pub(super) fn store(
        &self,
        registers: &Registers,
        store: &Store,
        mask: Mask,
        counters: &mut Counters,
        (watch, poison): (&mut Watch<'_>, Option<&Poison>),
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &store.place);
        let mut tally = Tally::default();
        let what = (store.place.space, store.align, Intent::Write);
        self.parts(what, &addresses, mask, |part, home| {
            tally.add(part, home);
            tally.add_banks(part, home, store.align);
            for (index, &(file, slot)) in store.sources.iter().enumerate() {
                let skip = index as u64 * u64::from(store.bytes);
                let conditional = poison.map_or(0, Poison::conditional) & part.lanes;
                if let (Some(poison), Some(world)) = (poison, watch.world)
                    && conditional != 0
                {
                    if conditional != part.lanes {
                        let lane = conditional.trailing_zeros() as usize;
                        let message = "only some lanes store under a condition".to_owned();
                        return Err(AccessFault::new(lane, FaultKind::Symbolic, message));
                    }
                    let (what, place) = ((store, index), (part, home));
                    let with = (&mut *watch, poison, world);
                    self.store_conditionally(registers, what, place, conditional, with)?;
                    continue;
                }
                let place = ((part, home), (skip, store.bytes));
                let changed = watch.changed_symbols(place, (file, slot), registers, poison);
                if poison.is_some() || part.window.poison.is_some() {
                    watch.mark((part, home), (skip, store.bytes), (file, slot), poison)?;
                }
                let shared_by_lanes = home != StateSpace::Local;
                let writing =
                    if self.one_wins && shared_by_lanes { part.last() } else { part.lanes };
                let (is_watched, mut changes) = (watch.active(), 0);
                for lane in lanes(writing) {
                    let value = registers.get(file, slot, lane);
                    let at = part.offsets[lane] + skip;
                    let old = if is_watched { part.window.read(at, lane, store.bytes) } else { 0 };
                    part.window.write(at, lane, store.bytes, value);
                    let is_other = is_watched && part.window.read(at, lane, store.bytes) != old;
                    changes |= Mask::from(is_other) << lane;
                }
                let strong = store.order.map(Order::of_plain);
                let written = (writing, changed.unwrap_or(changes));
                watch.note_writes((part, home), (skip, store.bytes), written, strong)?;
            }
            if let Some(order) = store.order {
                for lane in lanes(part.lanes) {
                    watch.strong(part, home, lane, (order, false, Some(true)));
                }
            }
            Ok(())
        })?;
        counters.global_store_requests += u64::from(tally.global);
        counters.global_store_wavefronts += tally.lines;
        counters.global_store_sectors += tally.sectors;
        tally.count_others(counters, mask);
        Ok(())
    }

    /// Reads bytes of one lane's generic address space, for calls and messages.
    pub(super) fn read_byte(&self, address: u64, lane: usize) -> Option<u8> {
        let (window, _) = self.window(StateSpace::Generic, address, Intent::Read).ok()?;
        let offset = window.offset(address, 1)?;
        Some(window.read(offset, lane, 1) as u8)
    }
}

/// Writes loaded elements, extended as the destination asks.
pub(super) fn put(
    registers: &mut Registers,
    dest: Destination,
    raw: [u64; LANES],
    bytes: u32,
    mask: Mask,
) {
    let shift = 64 - 8 * bytes;
    let mut values = raw;
    if dest.sign_to != 0 {
        let keep = u64::MAX >> (64 - u32::from(dest.sign_to));
        for value in &mut values {
            *value = ((*value << shift) as i64 >> shift) as u64 & keep;
        }
    }
    match dest.file {
        File::W64 => blend(&mut registers.w64[dest.slot], &values, mask),
        File::W32 => {
            let row = &mut registers.w32[dest.slot];
            for (lane, (own, value)) in row.iter_mut().zip(values).enumerate() {
                *own = if mask & 1 << lane != 0 { value as u32 } else { *own };
            }
        }
        File::Pred => {}
    }
}
