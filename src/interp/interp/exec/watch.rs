//! Checks on the accesses of a warp besides bounds and alignment: races, and undetermined values.

use super::part::{AccessFault, Part};
use crate::interp::fault::FaultKind;
use crate::interp::memory::{Accessor, Kind, Named, Race, Shadow, StateSpaceLayout, Strength};
use crate::interp::poison::{Found, Marks, Poison, Source, Spot};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Destination, Order, Scope};
use crate::interp::registers::{Mask, lanes};
use crate::interp::symbol::World;
use crate::ptx::StateSpace;

/// The state of the race detector, and the access.
pub(super) struct Watch<'a> {
    /// The stamps, if races are looked for.
    pub shadow: Option<&'a mut Shadow>,
    /// The thread and instruction that access.
    pub who: Accessor,
    /// The earlier access, once a race is found.
    pub race: Option<Race>,
    /// The state of the search for undetermined values, if it is on.
    pub marks: Option<&'a mut Marks>,
    /// The warp.
    pub warp: u32,
    /// Whether an `mbarrier` object was changed, or memory was read that other blocks may write.
    pub arrived: bool,
    /// The missing arrivals of the last unfinished phase of an `mbarrier` object that a lane has tested.
    pub lacks: Option<Lacks>,
    /// The symbols in memory, in a run with symbols.
    pub world: Option<&'a World>,
    /// The block's number.
    pub block: u64,
}

/// The missing arrivals and bytes of the present phase of an `mbarrier` object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lacks {
    /// The object's address, in shared memory or generic.
    pub address: u64,
    /// The phase's parity.
    pub parity: bool,
    /// Arrivals.
    pub arrivals: u64,
    /// Bytes of asynchronous copies; less than 0 if more have come than are expected.
    pub bytes: i64,
}

impl Lacks {
    /// The object, and its phase's missing arrivals and bytes, in words.
    pub(super) fn shown(&self, layout: &StateSpaceLayout) -> String {
        let Lacks { address, parity, arrivals, bytes } = *self;
        let offset = match layout.space_of(address) {
            StateSpace::Shared => address - layout.window_base(StateSpace::Shared),
            _ => address,
        };
        let inside = |name: &&Named| (name.offset..name.offset + name.size).contains(&offset);
        let object = match layout.shared_names.iter().find(inside) {
            Some(Named { name, offset: begin, .. }) if *begin == offset => format!("`{name}`"),
            Some(Named { name, offset: begin, .. }) => format!("`{name}+{}`", offset - begin),
            None => format!("at offset {offset} of shared memory"),
        };
        let bytes = match bytes {
            0 => String::new(),
            1.. => format!(" and {bytes} bytes that `expect_tx` has announced"),
            _ => format!(", and {} bytes have come that no `expect_tx` has announced", -bytes),
        };
        let phase = u8::from(parity);
        format!(
            "the phase of parity {phase} of the object {object} lacks {arrivals} arrivals{bytes}"
        )
    }
}

impl Watch<'_> {
    /// Whether races are looked for.
    pub(super) fn active(&self) -> bool {
        self.shadow.is_some()
    }

    /// Notes the access of lane `lane` to `bytes` bytes, `skip` bytes behind the beginning of its
    /// part.
    #[expect(clippy::too_many_arguments, reason = "what, where and how of one access")]
    pub(super) fn note(
        &mut self,
        part: &Part<'_>,
        home: StateSpace,
        lane: usize,
        skip: u64,
        bytes: u32,
        kind: Kind,
        strong: Option<Strength>,
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
    /// Notes that each lane of a part reads `bytes`.
    pub(super) fn note_reads(
        &mut self,
        part: &Part<'_>,
        home: StateSpace,
        bytes: u32,
        (order, read_only): (Option<Order>, bool),
    ) -> Result<(), AccessFault> {
        let strong = order.map(Order::of_plain);
        let read_only = read_only && home == StateSpace::Global;
        self.arrived |= order.is_some();
        let Some(shadow) = self.shadow.as_deref_mut() else { return Ok(()) };
        if !matches!(home, StateSpace::Global | StateSpace::Shared) {
            return Ok(());
        }
        let places = (&part.offsets, part.lanes, bytes);
        match shadow.read_all(part.window.region, places, &self.who, (strong, read_only)) {
            None => {
                if let Some(order) = order {
                    for lane in lanes(part.lanes) {
                        self.strong(part, home, lane, (order, true, None));
                    }
                }
                Ok(())
            }
            Some((lane, race)) => {
                self.race = Some(race);
                let message = "race: the thread reads bytes that".to_owned();
                Err(AccessFault::new(lane, FaultKind::Race, message))
            }
        }
    }
}

impl Watch<'_> {
    /// Notes that some lanes of a part have written `bytes` bytes, `skip` bytes behind the beginning of their parts, and which
    /// bytes differ afterwards.
    pub(super) fn note_writes(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        (mask, changes): (Mask, Mask),
        strong: Option<Strength>,
    ) -> Result<(), AccessFault> {
        let Some(shadow) = self.shadow.as_deref_mut() else { return Ok(()) };
        if !matches!(home, StateSpace::Global | StateSpace::Shared) {
            return Ok(());
        }
        let places = (&part.offsets, mask, bytes);
        let race = shadow.write_all(part.window.region, places, changes, &self.who, (skip, strong));
        let Some((lane, race)) = race else { return Ok(()) };
        self.race = Some(race);
        let message = "race: the thread writes bytes that".to_owned();
        Err(AccessFault::new(lane, FaultKind::Race, message))
    }
}

impl Watch<'_> {
    /// Lanes execute a fence.
    pub(super) fn fence(&mut self, mask: Mask, scope: Option<Scope>) {
        if let (Some(shadow), Some(scope)) = (self.shadow.as_deref_mut(), scope) {
            shadow.fence(&mut self.who, mask, scope);
        }
    }

    /// A lane has performed a strong access: whether it reads, and whether it writes independently of the old value.
    pub(super) fn strong(
        &mut self,
        part: &Part<'_>,
        home: StateSpace,
        lane: usize,
        what: (Order, bool, Option<bool>),
    ) {
        if let Some(shadow) = self.shadow.as_deref_mut()
            && matches!(home, StateSpace::Global | StateSpace::Shared)
        {
            let (region, offset) = (part.window.region, part.offsets[lane]);
            shadow.strong(region, offset, (&mut self.who, lane), what);
        }
    }

    /// Looks for poison in the bytes that the lanes of a part load: `bytes` bytes of each, `skip` bytes behind the
    /// beginning of its part.
    #[inline(never)]
    pub(super) fn look(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        dest: Destination,
    ) {
        if self.world.is_some() {
            self.look_for_symbols((part, home), (skip, bytes), (dest, 0), part.lanes);
            return;
        }
        let Some(marks) = part.window.marks() else { return };
        for lane in lanes(part.lanes) {
            let raw = marks.read(part.offsets[lane] + skip, lane, bytes);
            if raw != 0 {
                let bits = extended(raw, bytes, dest.sign_to);
                let (cell, offset) = ((dest.file, dest.slot), part.offsets[lane] + skip);
                match part.window.poison_source(offset) {
                    None => self.found(cell, (home, offset), lane, bits),
                    Some(source) => {
                        let source = Source::from_bits(source);
                        if let Some(marks) = self.marks.as_deref_mut() {
                            marks.found.push(Found { cell, lane, bits, source, parts: None });
                        }
                    }
                }
            }
        }
    }

    /// Notes poisoned bits that a lane has read from memory.
    #[cold]
    pub(super) fn found(
        &mut self,
        cell: Cell,
        (space, offset): (StateSpace, u64),
        lane: usize,
        bits: u64,
    ) {
        let (site, warp) = (self.who.site, self.warp);
        if let Some(marks) = self.marks.as_deref_mut() {
            let source = marks.source(Spot { space, warp, lane, offset }, site);
            marks.found.push(Found { cell, lane, bits, source, parts: None });
        }
    }

    /// Where poison in memory comes from.
    pub(super) fn source(&self, space: StateSpace, offset: u64, lane: usize) -> Source {
        let spot = Spot { space, warp: self.warp, lane, offset };
        match &self.marks {
            Some(marks) => marks.source(spot, self.who.site),
            None => Source::memory(self.who.site, space, offset),
        }
    }

    /// Marks the bytes that the lanes of a part store: written, or poison if the register holds some.
    ///
    /// # Errors
    /// Poison is stored to memory that others see.
    #[inline(never)]
    pub(super) fn mark(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        cell: Cell,
        poison: Option<&Poison>,
    ) -> Result<(), AccessFault> {
        if let Some(poison) = poison
            && poison.lanes(cell) & part.lanes != 0
        {
            return self.mark_poison((part, home), (skip, bytes), (cell, 0), poison);
        }
        self.note_written((part, home), (skip, bytes), part.lanes);
        if let Some(marks) = part.window.marks() {
            for lane in lanes(part.lanes) {
                marks.write(part.offsets[lane] + skip, lane, bytes, 0);
            }
        }
        Ok(())
    }

    /// As [`Watch::mark`], for registers with poison; the stored value begins at bit `shift` of the register.
    #[cold]
    pub(super) fn mark_poison(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        (skip, bytes): (u64, u32),
        (cell, shift): (Cell, u32),
        poison: &Poison,
    ) -> Result<(), AccessFault> {
        let width = u64::MAX >> (64 - 8 * bytes.min(8));
        self.note_written((part, home), (skip, bytes), part.lanes);
        for lane in lanes(part.lanes) {
            let bits = poison.bits(cell, lane) >> shift & width;
            let offset = part.offsets[lane] + skip;
            if let Some(marks) = part.window.marks() {
                marks.write(offset, lane, bytes, bits);
            }
            if bits == 0 {
                continue;
            }
            if self.store_symbols((part, home), (skip, bytes), (cell, shift), lane, poison) {
                continue;
            }
            let source = poison.source(cell, lane);
            if poison.recorder.is_some() {
                continue;
            }
            if !matches!(home, StateSpace::Shared | StateSpace::Local) {
                let what = "the value that this stores to global memory";
                return Err(AccessFault::poisoned(lane, what, source));
            }
            if let Some(marks) = self.marks.as_deref_mut() {
                for word in 0..bytes.div_ceil(4) {
                    let offset = offset + 4 * u64::from(word);
                    marks.copy(Spot { space: home, warp: self.warp, lane, offset }, source);
                }
            }
        }
        Ok(())
    }

    /// Whether the present instruction has found poison.
    #[inline(always)]
    pub(super) fn has_found(&self) -> bool {
        self.marks.as_deref().is_some_and(Marks::has_found)
    }
}

/// The poisoned bits of an element that is loaded into a register with `sign_to` bits to be filled with its sign; 0: none.
pub(super) fn extended(raw: u64, bytes: u32, sign_to: u8) -> u64 {
    if sign_to == 0 {
        return raw;
    }
    let shift = 64 - 8 * bytes;
    let keep = u64::MAX >> (64 - u32::from(sign_to));
    ((raw << shift) as i64 >> shift) as u64 & keep
}
