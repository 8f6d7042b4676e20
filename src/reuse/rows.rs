//! Rows of loads: taps `a[x + d]` whose addresses are the same form of the lane at constant lane distances,
//! so that two loads by the whole warp hold all that the row reads.
//!
//! In: loads of one block that may take part. Out: [`Row`]s. Let a row begin at the address `X(L)` in
//! lane L and reach `span` lanes far. In lane L a tap of distance d reads what lane L + d has at `X(L
//! + d)`, if that is a lane of the warp; otherwise it reads what lane L + d - 32 has 32 lanes up, at
//! `X(L + d - 32) + 32 * stride`. Both are proved for each tap, up to checks at run time.
//!
//! No byte is read that the original does not read: `X(L)` is what the tap of distance 0 reads in lane L,
//! and `X(L) + 32 * stride` in a lane L < span is what the tap of distance `span` reads in lane
//! L + 32 - span. So gaps between the taps do no harm.

use std::ops::Range;

use smallvec::SmallVec;

use super::distance::outline;
use super::eligible::Load;
use super::opportunities::Opportunities;
use super::prove::NoWrap;
use crate::cfg::BlockId;
use crate::emulate::KernelTrace;
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::planted::Bug;

/// A load of a row.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The load.
    pub load: Load,
    /// Lanes from the row's first address to the tap's.
    pub distance: u32,
}

/// Loads for which two loads and shuffles can stand.
#[derive(Clone, Debug)]
pub struct Row {
    /// The loads in program order; all values are loaded in the place of the first.
    pub taps: Vec<Tap>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The instruction in front of which it is tested whether all lanes are there; from there on the
    /// code stands twice.
    pub place: u32,
    /// Bytes from one lane's address to the next one's.
    pub stride: i64,
    /// Bytes from the first tap's address to the beginning of the row.
    pub offset: i64,
    /// The largest distance.
    pub span: u32,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// Indices that must not wrap around, in any lane; their registers hold them at `place`.
    pub no_wrap: Vec<NoWrap>,
}

impl Row {
    /// The tap of distance 0.
    pub fn start(&self) -> &Tap {
        self.taps.iter().find(|tap| tap.distance == 0).unwrap_or(&self.taps[0])
    }
}

/// Loads that may become a row.
struct Run {
    block: BlockId,
    /// The outline of the addresses, and the bytes from lane to lane.
    form: (TermId, i64),
    /// Each load with its distance in lanes from the first one.
    loads: Vec<(Load, i64)>,
}

impl Run {
    /// The least and the greatest distance of a load from the first one.
    fn ends(&self) -> (i64, i64) {
        let distances = || self.loads.iter().map(|(_, distance)| *distance);
        (distances().min().unwrap_or(0), distances().max().unwrap_or(0))
    }

    fn range(&self) -> Range<u32> {
        let last = self.loads.last().map_or(0, |(load, _)| load.inst);
        self.loads[0].0.inst..last + 1
    }
}

/// A load whose address is further from its register is not taken: PTX adds a signed 32-bit number.
const MAX_OFFSET: i64 = 1 << 30;

impl Opportunities<'_, '_, '_> {
    /// The rows that some loads, in program order, fall into; none is longer than `reach` lanes. A load is
    /// in one row at most. Rows of one `place` are tested for together.
    pub fn rows(&mut self, trace: &mut KernelTrace, loads: &[Load], reach: u32) -> Vec<Row> {
        let mut runs: Vec<Run> = Vec::new();
        if self.linear != Some(false) && !self.narrow && !self.observes_lanes {
            for load in loads {
                if trace.arena.is_nearly_spent() {
                    break;
                }
                self.add_to_row(trace, &mut runs, load, reach.min(WARP_SIZE - 1));
            }
        }
        runs.retain(|run| run.ends().0 < run.ends().1);
        runs.sort_by_key(|run| run.range().start);
        let mut rows: Vec<Row> = Vec::new();
        // The code that stands twice so far.
        let mut region: Option<(BlockId, Range<u32>)> = None;
        for run in runs {
            let range = run.range();
            let joined = region.as_ref().filter(|(block, region)| {
                *block == run.block && self.quiet(trace).between(region.end - 1, range.start)
            });
            if let Some((block, known)) = joined
                && let Some(row) = self.row(trace, &run, known.start)
            {
                region = Some((*block, known.start..known.end.max(range.end)));
                rows.push(row);
                continue;
            }
            let behind = region
                .as_ref()
                .is_none_or(|(block, known)| *block != run.block || known.end <= range.start);
            if behind && let Some(row) = self.row(trace, &run, range.start) {
                region = Some((run.block, range));
                rows.push(row);
            }
        }
        rows
    }

    /// The block that an instruction stands in.
    pub fn block_of(&self, inst: u32) -> Option<BlockId> {
        let flow = self.flow();
        flow.block_ids().find(|id| flow.block(*id).instructions().contains(&(inst as usize)))
    }

    /// Adds a load to the run with which it may form a row.
    fn add_to_row(
        &mut self,
        trace: &mut KernelTrace,
        runs: &mut Vec<Run>,
        load: &Load,
        reach: u32,
    ) {
        let inst = &self.flow().insts[load.inst as usize];
        if load.generic || inst.guard.is_some() || load.guard.is_some() || !self.is_simple(load) {
            return;
        }
        if self.never_whole(trace, load) {
            return;
        }
        let Some(stride) = self.lane_stride(trace, load).filter(|stride| *stride != 0) else {
            return;
        };
        let block = trace.accesses[load.access].block;
        let at = outline(&mut trace.arena, load.address);
        let form = (at.key, stride);
        for run in runs.iter_mut().filter(|run| (run.block, run.form) == (block, form)) {
            trace.arena.charge(2);
            let first = &run.loads[0].0;
            let offsets = |load: &Load| {
                load.elements.iter().map(|element| element.offset).collect::<SmallVec<[i64; 4]>>()
            };
            let alike = self.same_kind(first, load) && offsets(first) == offsets(load);
            let from = outline(&mut trace.arena, first.address);
            let Some(bytes) = at.constant.checked_sub(from.constant) else { continue };
            let distance = bytes / stride;
            let (low, high) = run.ends();
            let span = high.max(distance) - low.min(distance);
            let fits = bytes % stride == 0 && span <= i64::from(reach);
            if alike && fits {
                let first = first.clone();
                if self.may_move(trace, &first, load) {
                    run.loads.push((load.clone(), distance));
                    return;
                }
            }
        }
        runs.push(Run { block, form, loads: vec![(load.clone(), 0)] });
    }

    /// A run as a row, if everything said in the module's head is proved of it, up to checks in front
    /// of the instruction `place`.
    fn row(&mut self, trace: &mut KernelTrace, run: &Run, place: u32) -> Option<Row> {
        let (low, high) = run.ends();
        let stride = run.form.1;
        let first = &run.loads[0].0;
        let lanes = i64::from(WARP_SIZE);
        let (offset, beyond) = (low * stride, (low + lanes) * stride);
        if offset.abs() > MAX_OFFSET || beyond.abs() > MAX_OFFSET {
            return None;
        }
        let mut no_wrap = Vec::new();
        for (load, from_first) in &run.loads {
            let distance = from_first - low;
            let mut proofs: SmallVec<[(i32, i64); 2]> = SmallVec::new();
            proofs.push((distance as i32, offset));
            if distance > 0 {
                proofs.push(((distance - lanes) as i32, beyond));
            }
            for (n, displacement) in proofs {
                let pair = (first, load);
                let proof =
                    self.prover.prove_checked_at(trace, pair, n, displacement, place).ok()?;
                no_wrap.extend(proof.checks);
            }
        }
        if self.options.planted.has(Bug::RowWraps) {
            no_wrap.clear();
        }
        no_wrap.sort_unstable();
        no_wrap.dedup();
        let taps = run.loads.iter().map(|(load, from_first)| Tap {
            load: load.clone(),
            distance: (from_first - low) as u32,
        });
        Some(Row {
            taps: taps.collect(),
            block: run.block,
            place,
            stride,
            offset,
            span: (high - low) as u32,
            linear_lanes: self.linear.is_none(),
            no_wrap,
        })
    }
}
