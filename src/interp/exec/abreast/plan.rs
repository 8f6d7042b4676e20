//! Which registers and which memory may differ between launches that read different numbers, and what has to be done
//! for them.
//!
//! In: a decoded kernel, and which bytes of its parameters differ. Out: for each micro-operation how launches abreast
//! follow it; or nothing, if a branch, an address, a guard or whom lanes wait for may depend on what differs, or
//! the kernel does more than this module knows. What differs flows from global memory and parameters through registers
//! and shared memory, in whatever order micro-operations are executed.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::flow::Flow;
use super::span::{Spans, spans};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Base, CollectiveKind, FrameTemplate, Load, MicroOp, Op, Program};
use crate::interp::registers::{File, LANES, Slot};
use crate::ptx::StateSpace;

/// Where the value of a source stands.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its row, of lane 0 where each lane has a row of its own.
    pub row: Slot,
    /// All bits where each lane has a row of its own, one behind the other; none where there is one for all.
    pub by: Slot,
}

impl Source {
    /// The row of a lane.
    #[inline(always)]
    pub fn of(self, lane: u32) -> Slot {
        self.row + (self.by & lane)
    }
}

/// A row that has to be filled with the value that a lane has in the launch which is followed.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// The register of the launch.
    pub from: Cell,
    /// The row.
    pub row: Slot,
}

/// How a micro-operation is followed.
#[derive(Debug)]
pub enum Step {
    /// Nothing that may differ is written.
    Nothing,
    /// The same operation, with the rows of destinations and sources, and those that have to be filled before.
    Lanes { d: [Slot; 2], s: [Source; 4], fills: Vec<Fill> },
    /// All launches write the same; the rows of lane 0.
    Same(Vec<Fill>),
    /// A load with the row of each destination for lane 0.
    Load(Vec<Slot>),
    /// A store.
    Store { sources: Vec<Source>, fills: Vec<Fill> },
    /// A shuffle: the rows of its value and of its result for lane 0.
    Shuffle(Slot, Option<Slot>),
}

/// How launches follow one of them.
#[derive(Debug)]
pub struct Plan {
    /// What to do for each micro-operation.
    pub steps: Vec<Step>,
    /// For each micro-operation its sources that differ: bit `n` for source `n`.
    pub varies: Vec<u8>,
    /// What must be put into rows at first: constants.
    pub constants: Vec<(File, Slot, u64)>,
    /// Rows of lane 0 that must hold at first what registers hold at first.
    pub starts: Vec<Fill>,
    /// Rows of each file for a warp.
    pub rows: [usize; 3],
    /// Whether shared memory differs.
    pub shared: bool,
}

/// The place of a file among all.
pub fn number(file: File) -> usize {
    match file {
        File::Pred => 0,
        File::W32 => 1,
        File::W64 => 2,
    }
}

/// What may differ.
struct Differs {
    registers: [Vec<bool>; 3],
    shared: bool,
    /// Bytes of parameters.
    params: Vec<bool>,
}

impl Differs {
    fn has(&self, (file, slot): Cell) -> bool {
        self.registers[number(file)][slot as usize]
    }

    fn any(&self, cells: &[Cell]) -> bool {
        cells.iter().any(|&cell| self.has(cell))
    }

    /// Whether a load may read what differs; nothing if this is not known.
    fn load(&self, load: &Load) -> Option<bool> {
        let params = self.params.iter().any(|&differs| differs);
        match (load.place.space, load.place.base) {
            (StateSpace::Global, _) => Some(true),
            (StateSpace::Shared, _) => Some(self.shared),
            (StateSpace::Const, _) => Some(false),
            (StateSpace::Param, Base::Absolute) => {
                let from = usize::try_from(load.place.offset).ok()?;
                let bytes = self.params.iter().skip(from).take(load.align as usize);
                Some(bytes.copied().any(|differs| differs))
            }
            (StateSpace::Param, _) if !params => Some(false),
            _ => None,
        }
    }

    /// Adds what differs behind a micro-operation. Nothing if it is not known, or if it must not.
    fn add(&mut self, micro: &MicroOp, flow: &Flow) -> Option<bool> {
        if self.any(&flow.control) {
            return None;
        }
        let differs = match &micro.op {
            Op::Load(load) => self.load(load)?,
            Op::Scalar(_) if self.any(&flow.data) => return None,
            Op::Store(store) => {
                let any = self.any(&flow.data);
                match store.place.space {
                    StateSpace::Global => {}
                    StateSpace::Shared => {
                        let new = any && !self.shared;
                        self.shared |= any;
                        return Some(new);
                    }
                    _ => return None,
                }
                false
            }
            _ => self.any(&flow.data),
        };
        let mut new = false;
        for &(file, slot) in flow.written.iter().filter(|_| differs) {
            let register = &mut self.registers[number(file)][slot as usize];
            new |= !std::mem::replace(register, true);
        }
        Some(new)
    }
}

impl Plan {
    /// A plan for the kernel of a program, for launches that differ in these bytes of their parameters, and in what
    /// buffers hold.
    pub fn new(program: &Program, params: Vec<bool>) -> Option<Plan> {
        let [kernel] = &program.functions[..] else { return None };
        if !program.layout.statics.is_empty() || program.orders {
            return None;
        }
        let code = &kernel.code;
        let flows: Vec<Flow> = code.iter().map(Flow::of).collect::<Option<_>>()?;
        let frame = &kernel.frame;
        let counts = [frame.preds.len(), frame.w32.len(), frame.w64.len()];
        let registers = counts.map(|count| vec![false; count]);
        let mut differs = Differs { registers, shared: false, params };
        let mut new = true;
        while std::mem::take(&mut new) {
            for (micro, flow) in code.iter().zip(&flows) {
                new |= differs.add(micro, flow)?;
            }
        }
        let special = frame.specials.iter().map(|&(_, slot)| (File::W32, slot));
        let written = flows.iter().flat_map(|flow| flow.written.iter().copied()).chain(special);
        let mut ever = counts.map(|count| vec![false; count]);
        written.for_each(|(file, slot)| ever[number(file)][slot as usize] = true);
        let mut rows = Rows::new(&differs, frame, ever, spans(code, &flows));
        let varies = flows.iter().map(|flow| {
            let data = flow.data.iter().take(8).enumerate();
            data.fold(0, |bits, (at, &cell)| bits | u8::from(differs.has(cell)) << at)
        });
        let varies = varies.collect();
        let mut steps = Vec::new();
        for (at, (micro, flow)) in code.iter().zip(&flows).enumerate() {
            steps.push(rows.step(micro, flow)?);
            rows.release(at, flow);
        }
        let cells = rows.own.iter().map(|(&cell, &row)| Fill { from: cell, row });
        let mut starts: Vec<Fill> =
            cells.filter(|fill| rows.spans[&fill.from].needs_start).collect();
        starts.sort_unstable_by_key(|fill| (number(fill.from.0), fill.row));
        let (rows, constants) = (rows.next, rows.constants);
        Some(Plan { steps, varies, constants, starts, rows, shared: differs.shared })
    }
}

/// The rows that are given away while steps are made.
struct Rows<'a> {
    differs: &'a Differs,
    first: &'a FrameTemplate,
    written: [Vec<bool>; 3],
    own: IndexMap<Cell, Slot, FxBuildHasher>,
    known: FxHashMap<(File, u64), Slot>,
    constants: Vec<(File, Slot, u64)>,
    scratch: FxHashMap<(File, usize), Slot>,
    next: [usize; 3],
    spans: Spans,
    /// Rows of lane 0 that are free again.
    free: [Vec<Slot>; 3],
}

impl Rows<'_> {
    fn take(&mut self, file: File, count: usize) -> Slot {
        let next = &mut self.next[number(file)];
        *next += count;
        (*next - count) as Slot
    }

    /// The row of lane 0 of a register that differs.
    fn own(&mut self, cell: Cell) -> Slot {
        if let Some(&row) = self.own.get(&cell) {
            return row;
        }
        let file = cell.0;
        let free = match self.spans.get(&cell) {
            Some(span) if span.shares => self.free[number(file)].pop(),
            _ => None,
        };
        let row = free.unwrap_or_else(|| self.take(file, LANES));
        self.own.insert(cell, row);
        row
    }

    /// Frees the rows of registers that nothing behind a micro-operation reads.
    fn release(&mut self, at: usize, flow: &Flow) {
        for cell in flow.data.iter().chain(&flow.written) {
            let Some(span) = self.spans.get_mut(cell).filter(|span| span.last == at) else {
                continue;
            };
            if let (true, Some(&row)) = (std::mem::take(&mut span.shares), self.own.get(cell)) {
                self.free[number(cell.0)].push(row);
            }
        }
    }

    /// Where a source stands, the `at`th of its micro-operation.
    fn source(&mut self, cell: Cell, at: usize, fills: &mut Vec<Fill>) -> Source {
        if self.differs.has(cell) {
            return Source { row: self.own(cell), by: Slot::MAX };
        }
        let (file, slot) = cell;
        let value = self.first.first(file, slot, 0);
        let steady = !self.written[number(file)][slot as usize]
            && (1..LANES).all(|lane| self.first.first(file, slot, lane) == value);
        if steady {
            if let Some(&row) = self.known.get(&(file, value)) {
                return Source { row, by: 0 };
            }
            let row = self.take(file, 1);
            self.known.insert((file, value), row);
            self.constants.push((file, row, value));
            return Source { row, by: 0 };
        }
        let row = match self.scratch.get(&(file, at)) {
            Some(&row) => row,
            None => {
                let row = self.take(file, 1);
                self.scratch.insert((file, at), row);
                row
            }
        };
        fills.push(Fill { from: cell, row });
        Source { row, by: 0 }
    }

    fn step(&mut self, micro: &MicroOp, flow: &Flow) -> Option<Step> {
        let differs = self.differs;
        if let Op::Store(store) = &micro.op {
            if store.place.space == StateSpace::Shared && !differs.shared {
                return Some(Step::Nothing);
            }
            let mut fills = Vec::new();
            let sources = flow.data.iter().enumerate();
            let sources = sources.map(|(at, &cell)| self.source(cell, at, &mut fills)).collect();
            return Some(Step::Store { sources, fills });
        }
        if !differs.any(&flow.written) {
            return Some(Step::Nothing);
        }
        // A register that differs now and then has a row that is always up to date.
        let alike = |rows: &mut Self| {
            let cells = flow.written.iter().filter(|cell| differs.has(**cell));
            Some(Step::Same(cells.map(|&from| Fill { from, row: rows.own(from) }).collect()))
        };
        match &micro.op {
            Op::Load(load) if differs.load(load)? => {
                let dests = load.dests.iter();
                let rows = dests.map(|dest| dest.map_or(0, |d| self.own((d.file, d.slot))));
                Some(Step::Load(rows.collect()))
            }
            Op::Lanes(..) if differs.any(&flow.data) => {
                let mut fills = Vec::new();
                let mut s = [Source { row: 0, by: 0 }; 4];
                for (at, &cell) in flow.data.iter().enumerate() {
                    s[at] = self.source(cell, at, &mut fills);
                }
                let mut d = [0; 2];
                for (row, &cell) in d.iter_mut().zip(&flow.written) {
                    *row = self.own(cell);
                }
                Some(Step::Lanes { d, s, fills })
            }
            Op::Collective(collective) if differs.any(&flow.data) => match collective.kind {
                CollectiveKind::Shuffle(_) if collective.p.is_none() => {
                    let a = self.own((File::W32, collective.s[0]));
                    Some(Step::Shuffle(a, collective.d.map(|d| self.own((File::W32, d)))))
                }
                _ => None,
            },
            // (They are not told when they have executed.)
            Op::Collective(_) | Op::Barrier(_) => None,
            _ => alike(self),
        }
    }
}

impl<'a> Rows<'a> {
    fn new(
        differs: &'a Differs,
        first: &'a FrameTemplate,
        written: [Vec<bool>; 3],
        spans: Spans,
    ) -> Rows<'a> {
        Rows {
            differs,
            first,
            written,
            own: IndexMap::default(),
            known: FxHashMap::default(),
            constants: Vec::new(),
            scratch: FxHashMap::default(),
            next: [0; 3],
            spans,
            free: Default::default(),
        }
    }
}
