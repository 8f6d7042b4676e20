//! The forms that rows of loads can have, before anything is proved.
//!
//! In: loads of one block that may be performed together, with their distances in bytes. Out: [`StencilShape`]s:
//! which cells each lane fills, and for each load the cells and lanes that hold its values. In the narrow form
//! all loads of a row lie whole lanes apart, and the cells are those of one of them. In the broad form a lane
//! holds a vector: of the bytes from one lane's address to the next one's it loads as many as it reads
//! itself, and other loads are parts of other lanes' vectors.

use crate::reuse::{Element, Legality, Load, MAX_VECTOR, Multiple, base_address};
use smallvec::SmallVec;

use crate::cfg::{BlockId, InstId, InstRange};
use crate::emulate::KernelTrace;
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;

/// A load of a row.
#[derive(Clone, Debug)]
pub(super) struct Tap {
    /// The load.
    pub load: Load,
    /// For each of its elements where the value is.
    pub values: SmallVec<[Value; 4]>,
}

/// Where a value is that a lane wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The index of the cell that holds it.
    pub cell: usize,
    /// Lanes up to the one whose cell it is; negative if that comes before.
    pub distance: i32,
}

/// A register that each lane of a row fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Bytes from the first cell.
    pub offset: i64,
    /// Width of the register in bits.
    pub register_bits: u32,
    /// How many of the first lanes also load the bytes 32 lanes further on.
    pub ahead: u32,
    /// How many of the last lanes also load the bytes 32 lanes before.
    pub behind: u32,
}

/// A row that may be.
#[derive(Clone, Debug)]
pub(super) struct StencilShape {
    /// The loads in program order.
    pub taps: Vec<Tap>,
    /// The cells that each lane loads, by address, without gaps.
    pub cells: Vec<Cell>,
    /// Bytes from one lane's address to the next one's.
    pub stride: i64,
    /// Bytes from the first tap's address to the first cell.
    pub offset: i64,
    /// Conditions on parameters under which the cells can be one vector.
    pub multiples: SmallVec<[Multiple; 2]>,
}

impl StencilShape {
    /// The instructions from the first tap to behind the last one.
    pub(super) fn range(&self) -> InstRange {
        let last = self.taps.last().map_or(InstId(0), |tap| tap.load.inst);
        self.taps[0].load.inst.to(last.next())
    }
}

/// Loads that may become rows, in program order.
#[derive(Clone)]
pub(super) struct Run {
    pub block: BlockId,
    /// The base address.
    key: TermId,
    /// Bytes from lane to lane.
    stride: i64,
    /// Each load with its distance in bytes from the first one.
    loads: Vec<(Load, i64)>,
}

/// The runs that some loads, in program order, fall into: `reach` lanes and `apart` instructions from
/// one to the other at most.
pub(super) fn runs(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[Load],
    (reach, apart): (u32, u32),
) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    if legality.linear != Some(false) && !legality.narrow && !legality.observes_lanes {
        for load in loads {
            if trace.arena.is_nearly_spent() {
                break;
            }
            add_to_run_of_row(legality, trace, &mut runs, load, (reach.min(WARP_SIZE - 1), apart));
        }
    }
    runs.retain(|run| run.loads.len() > 1);
    runs
}

/// Adds a load to the run with whose loads it may form a row.
fn add_to_run_of_row(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    runs: &mut Vec<Run>,
    load: &Load,
    (reach, apart): (u32, u32),
) {
    let inst = &legality.flow().insts[load.inst];
    if inst.guard.is_some() || load.guard.is_some() || !legality.is_simple(load) {
        return;
    }
    if legality.never_whole(trace, load) {
        return;
    }
    let Some(stride) = legality.lane_stride(trace, load).filter(|stride| *stride != 0) else {
        return;
    };
    let block = trace.accesses[load.access].block;
    let at = base_address(&mut trace.arena, load.address);
    let form = (block, at.key, stride);
    for run in runs.iter_mut().filter(|run| (run.block, run.key, run.stride) == form) {
        trace.arena.charge(2);
        let first = run.loads[0].0.clone();
        let from = base_address(&mut trace.arena, first.address);
        let Some(bytes) = at.constant.checked_sub(from.constant) else { continue };
        let near =
            |other: i64| bytes.abs_diff(other) < u64::from(reach + 1) * stride.unsigned_abs();
        let fits = load.inst.since(first.inst) <= apart
            && legality.same_kind(&first, load)
            && first.generic == load.generic
            && run.loads.iter().all(|(_, other)| near(*other));
        if fits && legality.may_move(trace, &first, load) {
            run.loads.push((load.clone(), bytes));
            return;
        }
    }
    runs.push(Run { block, key: at.key, stride, loads: vec![(load.clone(), 0)] });
}

/// The broad form that serves most loads of a run: those of the vector that a lane holds, and those that
/// are parts of other lanes' vectors.
pub(super) fn broad_form(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    reach: u32,
) -> Option<StencilShape> {
    let first = &run.loads.first()?.0;
    let size = i64::from(first.elements[0].ty.bits() / 8);
    // (A vector of generic addresses would have to be asked about element by element.)
    if first.generic || run.stride % size != 0 {
        return None;
    }
    let mut starts: Vec<i64> = run.elements().map(|(bytes, _)| bytes).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut best: Option<StencilShape> = None;
    for bytes in [4 * size, 2 * size].into_iter().filter(|b| *b <= run.stride.abs().min(MAX_VECTOR))
    {
        let count = (bytes / size) as usize;
        let base = legality.remainder_of(trace, first.address, bytes);
        for window in starts.windows(count).filter(|w| w[count - 1] - w[0] == bytes - size) {
            // A vector that the lane loads as it is must be aligned anyway.
            let loaded =
                |(load, at): &(Load, i64)| *at == window[0] && load.elements.len() == count;
            let multiples = match &base {
                _ if run.loads.iter().any(loaded) => SmallVec::new(),
                Some((value, multiples)) if (value + window[0]).rem_euclid(bytes) == 0 => {
                    multiples.clone()
                }
                _ => continue,
            };
            let Some(form) = run.form(window[0], (bytes, size), reach, multiples) else {
                continue;
            };
            if best.as_ref().is_none_or(|best| best.taps.len() < form.taps.len()) {
                best = Some(form);
            }
        }
    }
    best
}

impl Run {
    /// The elements of all loads, with their distances from the first load's address.
    fn elements(&self) -> impl Iterator<Item = (i64, Element)> + '_ {
        let of = |(load, bytes): &(Load, i64)| {
            let bytes = *bytes;
            load.elements.clone().into_iter().map(move |element| (bytes + element.offset, element))
        };
        self.loads.iter().flat_map(of)
    }

    /// The form in which each lane loads `bytes` bytes from `start` on, if that serves loads of other lanes.
    fn form(
        &self,
        start: i64,
        (bytes, size): (i64, i64),
        reach: u32,
        multiples: SmallVec<[Multiple; 2]>,
    ) -> Option<StencilShape> {
        let register_bits = self.loads[0].0.elements[0].register_bits;
        let mut cells: Vec<Cell> = (0..bytes / size)
            .map(|index| Cell { offset: index * size, register_bits, ahead: 0, behind: 0 })
            .collect();
        let mut taps: Vec<(Tap, i64)> = Vec::new();
        for (load, at) in &self.loads {
            let value = |element: &Element| {
                let from_start = at + element.offset - start;
                let within = from_start.rem_euclid(self.stride.abs());
                let distance = (from_start - within) / self.stride;
                (within % size == 0 && within < bytes && distance.abs() <= i64::from(reach))
                    .then_some(Value { cell: (within / size) as usize, distance: distance as i32 })
            };
            let Some(values) = load.elements.iter().map(value).collect() else { continue };
            taps.push((Tap { load: load.clone(), values }, *at));
        }
        let values = || taps.iter().flat_map(|(tap, _)| &tap.values);
        for value in values() {
            let cell = &mut cells[value.cell];
            match value.distance {
                n if n > 0 => cell.ahead = cell.ahead.max(n as u32),
                n => cell.behind = cell.behind.max(n.unsigned_abs()),
            }
        }
        // A lane performs its vector where it has read each cell itself.
        let read = |cell: usize| values().any(|value| (value.cell, value.distance) == (cell, 0));
        let whole = (0..cells.len()).all(read);
        let others = values().any(|value| value.distance != 0);
        let offset = start - taps.first()?.1;
        let taps = taps.into_iter().map(|(tap, _)| tap).collect();
        (whole && others).then_some(StencilShape {
            taps,
            cells,
            stride: self.stride,
            offset,
            multiples,
        })
    }

    /// The loads that are in a form, and the others.
    pub(super) fn split(&self, form: &StencilShape) -> (Run, Run) {
        let inside =
            |(load, _): &(Load, i64)| form.taps.iter().any(|tap| tap.load.inst == load.inst);
        let (taken, left): (Vec<_>, Vec<_>) = self.loads.iter().cloned().partition(inside);
        (Run { loads: taken, ..self.clone() }, Run { loads: left, ..self.clone() })
    }

    /// The narrow forms: loads of the same elements, whole lanes apart.
    pub(super) fn narrow(&self, reach: u32) -> Vec<StencilShape> {
        /// Loads and their distances in lanes from the first one, and the bytes of that from the run's first.
        type Part<'r> = (Vec<(&'r Load, i64)>, i64);
        let offsets = |load: &Load| -> SmallVec<[i64; 4]> {
            load.elements.iter().map(|element| element.offset).collect()
        };
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (load, bytes) in &self.loads {
            let fitting = parts.iter_mut().find_map(|(loads, from)| {
                let distance = (bytes - *from) / self.stride;
                let (low, high) = ends(loads);
                let span = high.max(distance) - low.min(distance);
                let fits = (bytes - *from) % self.stride == 0
                    && span <= i64::from(reach)
                    && offsets(loads[0].0) == offsets(load);
                fits.then_some((loads, distance))
            });
            match fitting {
                Some((loads, distance)) => loads.push((load, distance)),
                None => parts.push((vec![(load, 0)], *bytes)),
            }
        }
        parts.retain(|(loads, _)| ends(loads).0 < ends(loads).1);
        parts.into_iter().map(|(loads, _)| narrow_form(&loads, self.stride)).collect()
    }
}

/// The least and the greatest distance of a load from the first one.
fn ends(loads: &[(&Load, i64)]) -> (i64, i64) {
    let distances = || loads.iter().map(|(_, distance)| *distance);
    (distances().min().unwrap_or(0), distances().max().unwrap_or(0))
}

/// The form of loads at distances in lanes: each lane loads the element that the tap of the least distance reads.
fn narrow_form(loads: &[(&Load, i64)], stride: i64) -> StencilShape {
    let (low, high) = ends(loads);
    let mut elements = loads[0].0.elements.clone();
    elements.sort_by_key(|element| element.offset);
    let cell = |element: &Element| Cell {
        offset: element.offset - elements[0].offset,
        register_bits: element.register_bits,
        ahead: (high - low) as u32,
        behind: 0,
    };
    let cells: Vec<Cell> = elements.iter().map(cell).collect();
    let value = |distance: i64, element: &Element| Value {
        cell: elements.iter().position(|other| other.offset == element.offset).unwrap_or(0),
        distance: (distance - low) as i32,
    };
    let tap = |(load, distance): &(&Load, i64)| Tap {
        load: (*load).clone(),
        values: load.elements.iter().map(|element| value(*distance, element)).collect(),
    };
    StencilShape {
        taps: loads.iter().map(tap).collect(),
        cells,
        stride,
        offset: low * stride + elements[0].offset,
        multiples: SmallVec::new(),
    }
}
