//! Poison: bits of registers whose values nobody has determined, because they were read from memory that no thread has
//! written, or by a shuffle from a lane that takes no part in it, or because no instruction has written the register.
//!
//! In: the poison that loads and shuffles have found, and the operations on it. Out: for each lane of each register the
//! bits that depend on poison, and where that poison was read. A value is reported where it reaches an effect
//! ([`Poison::prepare`]) and never where it is discarded.
//!
//! A frame has a [`Poison`] only while some of its registers hold poison, so that other kernels do not pay for it.
//! `integer`: poison of integer arithmetic; `origins`: which buffers addresses were made from, which uses the same places; `prepare`: the steps before a micro-operation; `region`: branches on
//! poison; `spread`: poison of other operations; `uses`: which operands have to be determined; `unwritten`: registers
//! that may be read before they are written.

mod integer;
mod origins;
mod prepare;
mod region;
mod spread;
mod unwritten;
mod uses;

pub(super) use origins::Origins;
pub(super) use region::Ways;
pub(super) use unwritten::unwritten;
pub(super) use uses::{OPERAND, contributed, other_results, results, uses};
pub(super) use uses::{reads, writes};

use std::sync::Arc;

use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

use super::memory::Site;
use super::program::rare::Cell;
use super::program::{FrameTemplate, Pc};
use super::recorder::Recorder;
pub(super) use super::registers::whole;
use super::registers::{FULL, File, LANES, Mask, Registers, Slot, lanes};
use super::symbol::{Row, Symbol, Symbols};
use crate::algebra::{Elements, Format};
use crate::ptx::StateSpace;

/// Where poison was read, in 64 bits.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 31 | the micro-operation that has read it; all ones as long as an unwritten register is not read |
/// | 32 to 61 | the offset in shared memory or in the frame's local memory, in bytes; the lane that a shuffle names, all ones for a symbol; or a register: its slot in bits 32 to 59, its file behind |
/// | 62 to 63 | 0: a shuffle, 1: shared memory, 2: local memory, 3: a register |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Source(u64);

const OFFSET_BITS: u32 = 30;
const SLOT_BITS: u32 = OFFSET_BITS - 2;

/// What poison was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The register of a lane that takes no part in a shuffle.
    Shuffle {
        /// The lane.
        lane: u64,
    },
    /// Bytes of shared or local memory that no thread has written.
    Memory {
        /// The state space.
        space: StateSpace,
        /// The offset in it.
        offset: u64,
    },
    /// A register that no instruction has written.
    Register(Cell),
    /// A symbol, which stands for all numbers.
    Symbol,
}

impl Source {
    /// Unwritten bytes at an offset of shared or local memory. (Other memory has no bytes that nobody has written, but
    /// symbols.)
    pub(super) fn memory(site: Site, space: StateSpace, offset: u64) -> Source {
        let kind = match space {
            StateSpace::Shared => 1,
            StateSpace::Local => 2,
            _ => return Source::symbol(site),
        };
        let offset = offset & ((1 << OFFSET_BITS) - 1);
        Source(u64::from(site) | offset << 32 | kind << 62)
    }

    /// The register of a lane that takes no part in a shuffle.
    pub(super) fn shuffle(site: Site, lane: usize) -> Source {
        Source(u64::from(site) | (lane as u64) << 32)
    }

    /// A symbol, or what an operation without a known result has made of one.
    pub(super) fn symbol(site: Site) -> Source {
        Source(u64::from(site) | ((1 << OFFSET_BITS) - 1) << 32)
    }

    /// What [`Source::bits`] has returned.
    pub(super) fn from_bits(bits: u64) -> Source {
        Source(bits)
    }

    /// The source as a number.
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The micro-operation that has read the poison.
    pub(super) fn site(self) -> Site {
        self.0 as Site
    }

    /// A register that no instruction has written, and none has read.
    pub(super) fn register((file, slot): Cell) -> Source {
        let slot = u64::from(slot.0) & ((1 << SLOT_BITS) - 1);
        let file = (index(file) as u64) << SLOT_BITS;
        Source(u64::from(Site::MAX) | (slot | file) << 32 | 3 << 62)
    }

    /// The same, read by a micro-operation unless one has read it before.
    fn read_at(self, site: Site) -> Source {
        match (self.site(), self.0 >> 62) {
            (Site::MAX, 3) => Source(self.0 & !u64::from(Site::MAX) | u64::from(site)),
            _ => self,
        }
    }

    /// The place of the read.
    pub(super) fn place(self) -> Place {
        let offset = self.0 >> 32 & ((1 << OFFSET_BITS) - 1);
        match self.0 >> 62 {
            0 if offset == (1 << OFFSET_BITS) - 1 => Place::Symbol,
            0 => Place::Shuffle { lane: offset },
            1 => Place::Memory { space: StateSpace::Shared, offset },
            2 => Place::Memory { space: StateSpace::Local, offset },
            _ => {
                let file = match offset >> SLOT_BITS {
                    0 => File::Pred,
                    1 => File::W32,
                    _ => File::W64,
                };
                Place::Register((file, Slot((offset & ((1 << SLOT_BITS) - 1)) as u32)))
            }
        }
    }
}

/// Poison that an instruction has brought into a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The register.
    pub cell: Cell,
    /// The lane.
    pub lane: usize,
    /// The poisoned bits.
    pub bits: u64,
    /// Where they come from.
    pub source: Source,
    /// The symbols that they are, if they are symbols: the part of the register where these begin, how many, and which.
    pub parts: Option<(u8, u8, [Symbol; 2])>,
}

/// Poison outside of registers, for one block.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Where poison was read that was copied to shared or local memory: by the thread (0 for shared memory, else one more
    /// than its number in the block) and the number of the word.
    copied: FxHashMap<(u32, u64), Source>,
    /// The poison that the present instruction has found.
    pub found: Vec<Found>,
    /// Room for the symbols that it has found, where they are numbers that fill registers.
    rows: Vec<Row>,
    /// How much of it is in use.
    used: usize,
}

/// A place in shared or local memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Shared or local.
    pub space: StateSpace,
    /// The warp.
    pub warp: u32,
    /// The lane.
    pub lane: usize,
    /// The offset in bytes.
    pub offset: u64,
}

impl Spot {
    fn key(self) -> (u32, u64) {
        let owner = match self.space {
            StateSpace::Shared => 0,
            _ => 1 + self.warp * LANES as u32 + self.lane as u32,
        };
        (owner, self.offset >> 2)
    }
}

impl Marks {
    /// Whether the present instruction has found something.
    #[inline(always)]
    pub(super) fn has_found(&self) -> bool {
        !self.found.is_empty() || self.used != 0
    }

    /// A row for numbers that the present instruction has found; it begins without lanes.
    pub(super) fn row(&mut self, cell: Cell, format: Format) -> &mut Row {
        if self.used == self.rows.len() {
            let numbers = Elements::default();
            self.rows.push(Row { cell, lanes: 0, format, numbers });
        }
        self.used += 1;
        let row = &mut self.rows[self.used - 1];
        (row.cell, row.lanes, row.format) = (cell, 0, format);
        row
    }

    /// Notes that poison was stored.
    pub(super) fn copy(&mut self, spot: Spot, source: Source) {
        self.copied.insert(spot.key(), source);
    }

    /// Where poison in memory comes from: the place where it was read before it was copied there, or else the present
    /// reading.
    pub(super) fn source(&self, spot: Spot, site: Site) -> Source {
        let copied = if self.copied.is_empty() { None } else { self.copied.get(&spot.key()) };
        copied.copied().unwrap_or_else(|| Source::memory(site, spot.space, spot.offset))
    }
}

/// Registers that become poison at a place.
#[derive(Clone, Debug)]
struct Pending {
    branch: Pc,
    at: Pc,
    lanes: Mask,
    cells: Vec<Cell>,
    sources: [Source; 32],
}

/// The poison of the registers of a frame.
#[derive(Debug)]
pub(super) struct Poison {
    /// The poisoned bits, where the lane is in `lanes`.
    pub(super) bits: Registers,
    /// The lanes with poison, by file and slot.
    pub(super) lanes: [TiVec<Slot, Mask>; 3],
    /// Where it comes from, by file and slot.
    pub(super) sources: [TiVec<Slot, [Source; LANES]>; 3],
    /// Registers that become poison where the ways of a branch on poison meet.
    pending: Vec<Pending>,
    /// Room to try an operation with other values.
    scratch: Registers,
    /// The present micro-operation.
    pub(super) site: Site,
    /// Which buffers addresses were made from, if somebody asks.
    pub origins: Option<Box<Origins>>,
    /// The symbols that are poison, in a run with symbols.
    pub symbols: Option<Box<Symbols>>,
    /// Whoever is told where approximate values go: then these are marked, and their uses are no faults.
    pub recorder: Option<Arc<Recorder>>,
}

fn index(file: File) -> usize {
    match file {
        File::Pred => 0,
        File::W32 => 1,
        File::W64 => 2,
    }
}

impl Poison {
    /// No poison, in the registers of a frame.
    pub(super) fn new(frame: &FrameTemplate) -> Poison {
        Poison::sized([frame.preds.len(), frame.w32.len(), frame.w64.len()])
    }

    /// Poison in the registers of a new frame that no instruction has written, in some lanes.
    pub(super) fn of_unwritten(
        frame: &FrameTemplate,
        unwritten: &[(Cell, String)],
        mask: Mask,
    ) -> Poison {
        let mut poison = Poison::new(frame);
        for &(cell, _) in unwritten {
            for lane in lanes(mask) {
                poison.add(cell, lane, whole(cell.0), Source::register(cell));
            }
        }
        poison
    }

    /// The same with a record of the buffers that addresses are made from.
    pub(super) fn with_origins(mut self, frame: &FrameTemplate) -> Poison {
        self.origins = Some(Box::new(Origins::new(frame)));
        self
    }

    /// The same in a run with symbols.
    pub(super) fn with_symbols(mut self, frame: &FrameTemplate) -> Poison {
        self.symbols = Some(Box::new(Symbols::new(frame)));
        self
    }

    /// The same in a run that follows approximate values.
    pub(super) fn with_recorder(self, recorder: &Arc<Recorder>) -> Poison {
        Poison { recorder: Some(Arc::clone(recorder)), ..self }
    }

    /// No poison, in as many registers as these.
    pub(super) fn of_registers(registers: &Registers) -> Poison {
        Poison::sized([registers.preds.len(), registers.w32.len(), registers.w64.len()])
    }

    fn sized(counts: [usize; 3]) -> Poison {
        let bits = Registers {
            preds: ti_vec![0; counts[0]],
            w32: ti_vec![[0; LANES]; counts[1]],
            w64: ti_vec![[0; LANES]; counts[2]],
        };
        let scratch = Registers {
            preds: ti_vec![0; 6],
            w32: ti_vec![[0; LANES]; 6],
            w64: ti_vec![[0; LANES]; 6],
        };
        Poison {
            bits,
            lanes: counts.map(|count| ti_vec![0; count]),
            sources: counts.map(|count| ti_vec![[Source::default(); LANES]; count]),
            pending: Vec::new(),
            scratch,
            site: 0,
            origins: None,
            symbols: None,
            recorder: None,
        }
    }

    /// Whether no register holds poison, and nobody asks for origins.
    pub(super) fn is_clean(&self) -> bool {
        self.origins.is_none()
            && self.symbols.is_none()
            && self.recorder.is_none()
            && self.pending.is_empty()
            && self.lanes.iter().flatten().all(|&lanes| lanes == 0)
    }

    /// The lanes of a register that hold poison.
    #[inline]
    pub(super) fn lanes(&self, (file, slot): Cell) -> Mask {
        self.lanes[index(file)][slot]
    }

    /// The poisoned bits of a lane.
    pub(super) fn bits(&self, cell: Cell, lane: usize) -> u64 {
        match self.lanes(cell) >> lane & 1 {
            0 => 0,
            _ => self.bits.get(cell.0, cell.1, lane),
        }
    }

    /// Where the poison of a lane comes from.
    pub(super) fn source(&self, (file, slot): Cell, lane: usize) -> Source {
        self.sources[index(file)][slot][lane].read_at(self.site)
    }

    /// Adds poison to a lane.
    pub(super) fn add(&mut self, cell: Cell, lane: usize, bits: u64, source: Source) {
        let all = self.bits(cell, lane) | bits & whole(cell.0);
        if all == 0 {
            return;
        }
        if let Some(symbols) = &mut self.symbols {
            symbols.forget(cell, lane);
        }
        self.mark(cell, lane, all, source);
    }

    /// Sets the poisoned bits of a lane, at least one; its symbols stay.
    #[inline]
    pub(super) fn mark(&mut self, (file, slot): Cell, lane: usize, bits: u64, source: Source) {
        self.bits.set(file, slot, lane, bits);
        self.lanes[index(file)][slot] |= 1 << lane;
        self.sources[index(file)][slot][lane] = source;
    }

    /// Removes the poison of some lanes, which have been written.
    #[inline]
    pub(super) fn clear(&mut self, (file, slot): Cell, lanes: Mask) {
        self.lanes[index(file)][slot] &= !lanes;
    }

    /// Poisons all of a register in some lanes, for the reason of another register's poison.
    pub(super) fn fill(&mut self, cell: Cell, mask: Mask, reason: Cell) {
        for lane in lanes(mask) {
            self.add(cell, lane, whole(cell.0), self.source(reason, lane));
        }
    }

    /// The first of some registers that holds poison in a lane, with its source.
    fn first(&self, cells: impl Iterator<Item = Cell>, lane: usize) -> Option<Source> {
        let mut cells = cells;
        let cell = cells.find(|&cell| self.lanes(cell) >> lane & 1 != 0)?;
        Some(self.source(cell, lane))
    }

    /// Replaces the poison of a register by `found`.
    fn replace(&mut self, cell: Cell, mask: Mask, found: &[(u64, Source); LANES]) {
        self.clear(cell, mask);
        for lane in lanes(mask) {
            let (bits, source) = found[lane];
            self.add(cell, lane, bits, source);
        }
    }
}

/// The slots of registers that a scratch copy has, sources first.
const SCRATCH: [Slot; 6] = [Slot(0), Slot(1), Slot(2), Slot(3), Slot(4), Slot(5)];

/// All lanes, for operations that are tried on a copy.
const EVERYONE: Mask = FULL;
