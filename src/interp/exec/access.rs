//! Loads, stores and atomics of a warp: addresses, checks, and the bytes.

use super::banks;
use crate::interp::counters::Counters;
use crate::interp::fault::{FaultKind, Outside};
use crate::interp::memory::{Accessor, Global, Kind, Race, Shadow, StateSpaceLayout, Window};
use crate::interp::program::{Atomic, Base, CopyAsync, CopyLimit, Destination, Load, Place, Store};
use crate::interp::registers::{File, LANES, Mask, Registers, Slot, blend, lanes};
use crate::ptx::StateSpace;
use std::sync::atomic::AtomicU32;

/// The memory that a warp can reach.
pub struct Spaces<'a> {
    /// Where the windows are.
    pub layout: &'a StateSpaceLayout,
    /// Global and constant memory.
    pub global: &'a Global,
    /// The block's shared memory.
    pub shared: &'a [AtomicU32],
    /// The warp's local memory, lanes interleaved, and its bytes for each lane.
    pub local: (&'a [AtomicU32], u64),
    /// The kernel's parameters.
    pub params: &'a [AtomicU32],
    /// Where the frame's local memory begins.
    pub frame: u64,
}

/// Why an access failed.
#[derive(Debug)]
pub struct AccessFault {
    /// The first lane that failed.
    pub lane: usize,
    /// What failed.
    pub kind: FaultKind,
    /// The whole sentence.
    pub message: String,
    /// Where it is beside a buffer, if the access lies outside of all of them.
    pub outside: Option<Box<Outside>>,
}

impl AccessFault {
    /// A fault of a lane.
    pub fn new(lane: usize, kind: FaultKind, message: String) -> AccessFault {
        AccessFault { lane, kind, message, outside: None }
    }
}

/// What an access does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// The access reads.
    Read,
    /// The access writes, and perhaps reads.
    Write,
}

/// What is watched for races, and for which access.
pub struct Watch<'a> {
    /// The stamps, if races are looked for.
    pub shadow: Option<&'a mut Shadow>,
    /// The thread and instruction that access.
    pub who: Accessor,
    /// Lanes whose next store counts as one that changes bytes, whatever it finds.
    pub changes: Mask,
    /// The earlier access, once a race is found.
    pub race: Option<Race>,
}

impl Watch<'_> {
    fn active(&self) -> bool {
        self.shadow.is_some()
    }

    /// Notes the access of lane `lane` to `bytes` bytes, `skip` bytes behind the beginning of its
    /// part.
    #[expect(clippy::too_many_arguments, reason = "what, where and how of one access")]
    pub fn note(
        &mut self,
        part: &Part<'_>,
        home: StateSpace,
        lane: usize,
        skip: u64,
        bytes: u32,
        kind: Kind,
        strong: bool,
    ) -> Result<(), AccessFault> {
        let Some(shadow) = self.shadow.as_deref_mut() else { return Ok(()) };
        if !matches!(home, StateSpace::Global | StateSpace::Shared) {
            return Ok(());
        }
        let place = (part.offsets[lane] + skip, bytes);
        self.race = shadow.access(part.window.region, place, (&self.who, lane), (kind, strong));
        if self.race.is_none() {
            return Ok(());
        }
        let verb = if kind == Kind::Read { "reads" } else { "writes" };
        let message = format!("race: the thread {verb} bytes that");
        Err(AccessFault::new(lane, FaultKind::Race, message))
    }
}

impl Watch<'_> {
    /// Notes that the lanes of a part read so many bytes each.
    fn note_reads(
        &mut self,
        part: &Part<'_>,
        home: StateSpace,
        bytes: u32,
        strong: bool,
    ) -> Result<(), AccessFault> {
        let Some(shadow) = self.shadow.as_deref_mut() else { return Ok(()) };
        if !matches!(home, StateSpace::Global | StateSpace::Shared) {
            return Ok(());
        }
        let places = (&part.offsets, part.lanes, bytes);
        match shadow.read_all(part.window.region, places, &self.who, strong) {
            None => Ok(()),
            Some((lane, race)) => {
                self.race = Some(race);
                let message = "race: the thread reads bytes that".to_owned();
                Err(AccessFault::new(lane, FaultKind::Race, message))
            }
        }
    }
}

/// Some lanes of an access, all in one window.
pub struct Part<'a> {
    /// The window.
    pub window: Window<'a>,
    /// Each lane's offset in it.
    pub offsets: [u64; LANES],
    /// The lanes.
    pub lanes: Mask,
}

impl<'a> Spaces<'a> {
    /// The address of each lane.
    pub fn addresses(&self, registers: &Registers, place: &Place) -> [u64; LANES] {
        let offset = place.offset as u64;
        let mut addresses = [offset; LANES];
        match place.base {
            Base::Absolute => {}
            Base::Frame => addresses = [self.frame.wrapping_add(offset); LANES],
            Base::W32(slot) => {
                let row = &registers.w32[slot as usize];
                for lane in 0..LANES {
                    addresses[lane] = u64::from(row[lane]).wrapping_add(offset);
                }
            }
            Base::W64(slot) => {
                let row = &registers.w64[slot as usize];
                for lane in 0..LANES {
                    addresses[lane] = row[lane].wrapping_add(offset);
                }
            }
        }
        addresses
    }

    /// The window that holds an address of a state space, and the state space that the window belongs
    /// to.
    pub fn window(
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
        let plain =
            |words: &'a [AtomicU32], len, spread| Window { base, len, words, spread, region: None };
        match home {
            StateSpace::Shared => {
                Ok((plain(self.shared, self.layout.shared_bytes, 0), StateSpace::Shared))
            }
            StateSpace::Local => Ok((plain(self.local.0, self.local.1, 5), StateSpace::Local)),
            StateSpace::Param if intent == Intent::Read => {
                Ok((plain(self.params, self.layout.param_bytes, 0), StateSpace::Param))
            }
            StateSpace::Param => Err("kernel parameters cannot be written".to_owned()),
            _ => {
                let (window, region) = self
                    .global
                    .window(self.layout, address)
                    .ok_or_else(|| format!("the address {address:#x} belongs to no buffer"))?;
                let constant = region.space == StateSpace::Const;
                let asked = match space {
                    StateSpace::Global => !constant,
                    StateSpace::Const => constant,
                    _ => true,
                };
                match (asked, constant && intent == Intent::Write) {
                    (false, _) => Err(format!(
                        "the address {address:#x} belongs to `{}`, which is in another state space",
                        region.name
                    )),
                    (_, true) => Err(format!("the constant `{}` cannot be written", region.name)),
                    _ => Ok((window, region.space)),
                }
            }
        }
    }

    /// Splits an access by the windows that it touches, checks bounds and alignment, and hands each
    /// part to `each`.
    pub fn parts(
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
                    ..AccessFault::new(lane, FaultKind::OutOfBounds, message)
                })
            };
            let (window, home) = match self.window(space, address, intent) {
                Ok(found) => found,
                Err(message) => return outside(message),
            };
            let mut part = Part { window, offsets: [0; LANES], lanes: 0 };
            for lane in lanes(rest) {
                if let Some(offset) = window.offset(addresses[lane], bytes) {
                    part.offsets[lane] = offset;
                    part.lanes |= 1 << lane;
                }
            }
            if part.lanes >> lane & 1 == 0 {
                return outside(self.outside(window, address, bytes, home));
            }
            for lane in lanes(part.lanes) {
                if part.offsets[lane] & u64::from(bytes - 1) != 0 {
                    let address = addresses[lane];
                    let message = format!("address {address:#x} is not a multiple of {bytes}");
                    return Err(AccessFault::new(lane, FaultKind::Misaligned, message));
                }
            }
            rest &= !part.lanes;
            each(&part, home)?;
        }
        Ok(())
    }

    /// The buffer or module variable that begins nearest to an address, and how far from its beginning
    /// the address is.
    pub fn beside(&self, address: u64, bytes: u32) -> Option<Box<Outside>> {
        let half = self.layout.region_limit() / 2;
        let index = self.layout.region_index(address.checked_add(half)?)?;
        let buffer = self.global.regions().get(index)?.name.clone();
        let offset = address.wrapping_sub(self.layout.region_base(index)) as i64;
        Some(Box::new(Outside { buffer, offset, bytes }))
    }

    /// The sentence about an access that lies outside of its window.
    pub fn outside(
        &self,
        window: Window<'a>,
        address: u64,
        bytes: u32,
        home: StateSpace,
    ) -> String {
        let size = window.len;
        let offset = address.wrapping_sub(window.base) as i64;
        match window.region {
            Some(index) => {
                let name = &self.global.regions()[index].name;
                format!(
                    "access of {bytes} bytes at offset {offset} of `{name}`, which has {size} bytes"
                )
            }
            None => {
                let space = match home {
                    StateSpace::Shared => "shared memory",
                    StateSpace::Local => "local memory",
                    _ => "the parameters",
                };
                format!(
                    "access of {bytes} bytes at offset {offset} of {space}, which has {size} bytes"
                )
            }
        }
    }

    /// `ld`.
    pub fn load(
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
            watch.note_reads(part, home, load.align, load.strong)?;
            for (index, dest) in load.dests.iter().enumerate() {
                let Some(dest) = dest else { continue };
                let skip = index as u64 * u64::from(load.bytes);
                if (load.bytes, dest.file, dest.sign_to) == (4, File::W32, 0) {
                    let row = &mut registers.w32[dest.slot as usize];
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
        tally.count_others(counters);
        Ok(())
    }

    /// `st`.
    pub fn store(
        &self,
        registers: &Registers,
        store: &Store,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &store.place);
        let mut tally = Tally::default();
        let what = (store.place.space, store.align, Intent::Write);
        self.parts(what, &addresses, mask, |part, home| {
            tally.add(part, home);
            tally.add_banks(part, home, store.align);
            for (index, &(file, slot)) in store.sources.iter().enumerate() {
                let skip = index as u64 * u64::from(store.bytes);
                for lane in lanes(part.lanes) {
                    let value = registers.get(file, slot, lane);
                    let at = part.offsets[lane] + skip;
                    if watch.active() {
                        let old = part.window.read(at, lane, store.bytes);
                        part.window.write(at, lane, store.bytes, value);
                        let changes = watch.changes >> lane & 1 != 0
                            || part.window.read(at, lane, store.bytes) != old;
                        let kind = Kind::Write { changes };
                        watch.note(part, home, lane, skip, store.bytes, kind, store.strong)?;
                    } else {
                        part.window.write(at, lane, store.bytes, value);
                    }
                }
            }
            Ok(())
        })?;
        counters.global_store_requests += u64::from(tally.global);
        counters.global_store_wavefronts += tally.lines;
        tally.count_others(counters);
        Ok(())
    }

    /// `atom`, `red`: one lane after the other, in ascending order.
    pub fn atomic(
        &self,
        registers: &mut Registers,
        atomic: &Atomic,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &atomic.place);
        let what = (atomic.place.space, atomic.align, Intent::Write);
        counters.atomic_requests += 1;
        self.parts(what, &addresses, mask, |part, home| {
            for lane in lanes(part.lanes) {
                let kind = Kind::Write { changes: true };
                watch.note(part, home, lane, 0, atomic.align, kind, true)?;
                let at = part.offsets[lane];
                if let Some(compare) = atomic.wide {
                    exchange_pair(registers, atomic, part, lane, compare);
                    continue;
                }
                for (index, &(d, (file, slot))) in atomic.elements.iter().enumerate() {
                    let at = at + index as u64 * u64::from(atomic.bytes);
                    let old = part.window.read(at, lane, atomic.bytes);
                    let b = registers.get(file, slot, lane);
                    let c = atomic.c.map_or(0, |(file, slot)| registers.get(file, slot, lane));
                    part.window.write(at, lane, atomic.bytes, (atomic.run)(old, b, c));
                    if let Some((file, slot)) = d {
                        registers.set(file, slot, lane, old);
                    }
                }
            }
            Ok(())
        })
    }

    /// `cp.async`.
    pub fn copy(
        &self,
        registers: &Registers,
        copy: &CopyAsync,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        let bytes = copy.bytes;
        let read: [u32; LANES] = std::array::from_fn(|lane| match copy.limit {
            CopyLimit::All => bytes,
            CopyLimit::Bytes(slot) => registers.w32[slot as usize][lane].min(bytes),
            CopyLimit::Ignore(slot) if registers.preds[slot as usize] >> lane & 1 != 0 => 0,
            CopyLimit::Ignore(_) => bytes,
        });
        let sources = lanes(mask).filter(|&lane| read[lane] != 0).fold(0, |m, lane| m | 1 << lane);
        let mut data = [[0_u32; 4]; LANES];
        let mut tally = Tally::default();
        let from = self.addresses(registers, &copy.from);
        self.parts((copy.from.space, bytes, Intent::Read), &from, sources, |part, home| {
            tally.add(part, home);
            tally.add_banks(part, home, bytes);
            for lane in lanes(part.lanes) {
                watch.note(part, home, lane, 0, bytes, Kind::Read, false)?;
                for word in 0..bytes / 4 {
                    let offset = part.offsets[lane] + 4 * u64::from(word);
                    let left = read[lane].saturating_sub(4 * word);
                    let keep = if left >= 4 { u32::MAX } else { (1 << (8 * left)) - 1 };
                    data[lane][word as usize] = part.window.read32(offset, lane) & keep;
                }
            }
            Ok(())
        })?;
        counters.global_load_requests += u64::from(tally.global);
        counters.global_load_wavefronts += tally.lines;
        let to = self.addresses(registers, &copy.to);
        self.parts((copy.to.space, bytes, Intent::Write), &to, mask, |part, home| {
            tally.add_banks(part, home, bytes);
            for lane in lanes(part.lanes) {
                let kind = Kind::Write { changes: true };
                watch.note(part, home, lane, 0, bytes, kind, false)?;
                for word in 0..bytes / 4 {
                    let offset = part.offsets[lane] + 4 * u64::from(word);
                    part.window.write(offset, lane, 4, u64::from(data[lane][word as usize]));
                }
            }
            Ok(())
        })?;
        counters.shared_requests += 1;
        counters.shared_wavefronts += tally.banks;
        Ok(())
    }

    /// Reads bytes of one lane's generic address space, for calls and messages.
    pub fn read_byte(&self, address: u64, lane: usize) -> Option<u8> {
        let (window, _) = self.window(StateSpace::Generic, address, Intent::Read).ok()?;
        let offset = window.offset(address, 1)?;
        Some(window.read(offset, lane, 1) as u8)
    }
}

fn exchange_pair(
    registers: &mut Registers,
    atomic: &Atomic,
    part: &Part<'_>,
    lane: usize,
    compare: bool,
) {
    let at = part.offsets[lane];
    let pair = |slot: Slot| [0, 1].map(|half| registers.w64[slot as usize + half][lane]);
    let Some(&(d, (_, b))) = atomic.elements.first() else { return };
    let old = [0, 8].map(|skip| part.window.read(at + skip, lane, 8));
    let b = pair(b);
    let new = match (compare, atomic.c) {
        (true, Some((_, c))) if old == b => pair(c),
        (true, _) => old,
        (false, _) => b,
    };
    part.window.write(at, lane, 8, new[0]);
    part.window.write(at + 8, lane, 8, new[1]);
    if let Some((_, d)) = d {
        registers.w64[d as usize][lane] = old[0];
        registers.w64[d as usize + 1][lane] = old[1];
    }
}

/// Writes loaded elements, extended as the destination asks.
pub fn put(
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
        File::W64 => blend(&mut registers.w64[dest.slot as usize], &values, mask),
        File::W32 => {
            let row = &mut registers.w32[dest.slot as usize];
            for (lane, (own, value)) in row.iter_mut().zip(values).enumerate() {
                *own = if mask & 1 << lane != 0 { value as u32 } else { *own };
            }
        }
        File::Pred => {}
    }
}

/// The lines and windows that an access has touched.
#[derive(Default)]
pub struct Tally {
    /// Whether it touched global memory.
    pub global: bool,
    shared: bool,
    local: bool,
    lines: u64,
    banks: u64,
    /// The lines themselves, for an instruction that accesses memory in several steps.
    touched: Vec<(Option<usize>, u64)>,
}

impl Tally {
    fn add(&mut self, part: &Part<'_>, home: StateSpace) {
        match home {
            StateSpace::Global => {
                self.global = true;
                self.lines += distinct_lines(part);
            }
            StateSpace::Shared => self.shared = true,
            StateSpace::Local => self.local = true,
            _ => {}
        }
    }

    /// Adds the wavefronts of shared memory, for an access of so many bytes in each lane.
    pub fn add_banks(&mut self, part: &Part<'_>, home: StateSpace, bytes: u32) {
        if home == StateSpace::Shared {
            self.banks += banks::wavefronts(&part.offsets, part.lanes, u64::from(bytes));
        }
    }

    /// As [`Tally::add`], for one of several steps: a line counts once, however many steps touch it.
    pub fn add_lines(&mut self, part: &Part<'_>, home: StateSpace) {
        self.add(part, home);
        if home == StateSpace::Global {
            let region = part.window.region;
            self.touched.extend(lanes(part.lanes).map(|lane| (region, part.offsets[lane] >> 7)));
        }
    }

    /// Distinct lines that all steps together have touched.
    pub fn distinct(&mut self) -> u64 {
        self.touched.sort_unstable();
        self.touched.dedup();
        self.touched.len() as u64
    }

    /// Counts requests to shared and local memory.
    pub fn count_others(&self, counters: &mut Counters) {
        counters.shared_requests += u64::from(self.shared);
        counters.shared_wavefronts += self.banks;
        counters.local_requests += u64::from(self.local);
    }
}

/// Distinct 128-byte lines of a part. No lane's access lies in two, being aligned to its size.
fn distinct_lines(part: &Part<'_>) -> u64 {
    let mut seen = [0; LANES];
    let mut count = 0;
    let mut highest = None;
    for lane in lanes(part.lanes) {
        let line = part.offsets[lane] >> 7;
        // Mostly lines ascend.
        if highest < Some(line) || highest != Some(line) && !seen[..count].contains(&line) {
            seen[count] = line;
            count += 1;
            highest = highest.max(Some(line));
        }
    }
    count as u64
}
