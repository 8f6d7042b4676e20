//! The cost of every access of a function.

use std::cell::OnceCell;

use super::active::{self, Active};
use super::bounds::{Counted, Pattern, Span, Spans, Unknown};
use super::identity::{AccessKind, Identified};
use super::partial::{self, Partial};
use super::races::{self, Race};
use super::warps::Warps;
use crate::cfg::{BlockId, Flow, InstId, PostDominators};
use crate::emulate::{Access, KernelTrace, Uniformity, WmmaMatrix};
use crate::expr::{Comparison, Facts, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::lanes::{
    Aligned, Assumed, BlockShape, Coefficients, Context, Factor, LANES, LaneSum, Stride, Value,
    Warp, believed_uniformity, first_lanes, lanes_of,
};
use crate::ptx::{Function, Module, StateSpace};

/// The most accesses of one function that are evaluated warp by warp; requests of further ones are unknown.
const MAX_ONE_BY_ONE: usize = 4096;

/// The cost of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// The addresses are known as far as it matters.
    Counted(Span),
    /// The addresses are an unknown function of the lane: the bounds of every request.
    Any(Span),
    /// The addresses depend on data.
    Irregular,
}

impl Spread {
    /// The counts, where there are some.
    pub fn span(&self) -> Option<Span> {
        match self {
            Spread::Counted(span) | Spread::Any(span) => Some(*span),
            Spread::Irregular => None,
        }
    }

    fn join(self, other: Spread) -> Spread {
        match (self, other) {
            (Spread::Counted(a), Spread::Counted(b)) => Spread::Counted(a.join(b)),
            (Spread::Irregular, _) | (_, Spread::Irregular) => Spread::Irregular,
            (Spread::Any(a), _) | (_, Spread::Any(a)) => Spread::Any(a),
        }
    }
}

/// An access and its cost.
#[derive(Clone, Debug)]
pub struct AccessTraffic {
    /// Index into [`KernelTrace::accesses`].
    pub index: usize,
    /// The instruction.
    pub inst: InstId,
    /// Its kind.
    pub kind: AccessKind,
    /// The state space that the instruction names; shared where a generic address is that of a shared variable.
    pub space: StateSpace,
    /// Bytes of each lane.
    pub bytes: u32,
    /// How many loops are around it.
    pub loop_depth: usize,
    /// The lane stride, where the lanes lie at equal distances.
    pub stride: Option<Stride>,
    /// Bytes from the first lane's address to the second's, where that is one number in all warps.
    pub step: Option<i64>,
    /// The cost of a full warp's request.
    pub spread: Spread,
    /// How many lanes of a warp may execute it together, as far as conditions on the lane say.
    pub lanes: u32,
    /// The lanes of a full warp: 32, or the threads of a block that has fewer.
    pub warp_lanes: u32,
    /// The lanes of a load or store, if they are known and are fewer than the warp has.
    pub active: Option<Active>,
    /// The cost of a request of the lanes that may take part; `None` if the addresses depend on data.
    pub request: Option<Span>,
    /// Whether lanes that are in the same iteration of every loop have the same address.
    pub is_shared: bool,
    /// Low bits of lane 0's address that are known, at most 7, and their value.
    pub base: Option<(u32, i64)>,
}

impl AccessTraffic {
    /// Whether full warps execute it, as far as conditions on the lane say.
    pub fn is_full(&self) -> bool {
        self.lanes == self.warp_lanes
    }

    /// The lane stride in bytes, if it is constant.
    pub fn lane_stride(&self) -> Option<i64> {
        match self.stride {
            Some(Stride::Constant(stride)) => Some(stride),
            _ => None,
        }
    }
}

/// A branch at which lanes of every full warp take different ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// The block that ends with the branch.
    pub block: BlockId,
    /// How many lanes find the condition true, in the first warp.
    pub taken: u32,
}

/// The accesses of one function.
#[derive(Debug)]
pub struct Traffic {
    /// Loads, stores, atomics and reductions of global, generic and shared memory, in the order of the text.
    pub accesses: Vec<AccessTraffic>,
    /// Both sides of each `cp.async`, the rows of `ldmatrix` and `stmatrix`, the matrices of `wmma` in global memory;
    /// their index is that into [`KernelTrace::moved`].
    pub moved: Vec<AccessTraffic>,
    /// Branches that split every warp.
    pub splits: Vec<Split>,
    /// Barriers and shuffles that lanes of a warp go past.
    pub partial: Vec<Partial>,
    /// Accesses of two threads to the same bytes of shared memory that nothing orders.
    pub races: Vec<Race>,
}

impl Traffic {
    /// [`Traffic::accesses`] and [`Traffic::moved`].
    pub fn all(&self) -> impl Iterator<Item = &AccessTraffic> {
        self.accesses.iter().chain(&self.moved)
    }

    /// Counts for all accesses of a function.
    pub fn of(
        module: &Module<'_>,
        function: &Function<'_>,
        flow: &Flow<'_, '_>,
        trace: &KernelTrace,
        assumed: &Assumed,
    ) -> Traffic {
        let shape = BlockShape::of(function, assumed.block);
        let aligned = Aligned::of(module, function, trace, assumed);
        let uniformity = believed_uniformity(flow, trace, shape, &aligned, false);
        let in_step = OnceCell::new();
        let context = Context { trace, loops: &flow.loops, uniformity: &uniformity, shape };
        let most_threads = function.most_threads().unwrap_or(1024).min(1024);
        let warps = Warps::new(flow, context, &aligned, most_threads);
        let mut counter = Counter {
            flow,
            context,
            aligned: &aligned,
            warps,
            most_threads,
            uniformity_in_step: &in_step,
            warps_in_step: None,
            behind: PostDominators::of(flow),
            spans: Spans::default(),
            one_by_one: 0,
        };
        let each = trace.accesses.iter().enumerate();
        let mut accesses: Vec<AccessTraffic> =
            each.filter_map(|(index, access)| counter.access(index, access)).collect();
        accesses.sort_by_key(|access| access.inst);
        let each = trace.moved.iter().enumerate();
        let moved = each.filter_map(|(index, access)| counter.access(index, access)).collect();
        let splits = flow.block_ids().filter_map(|block| counter.split(block)).collect();
        let partial = partial::all(&mut counter.warps);
        let races = races::all(&mut counter.warps, &counter.behind);
        Traffic { accesses, moved, splits, partial, races }
    }
}

/// Counts for one access after the other.
struct Counter<'a, 'm, 's> {
    flow: &'a Flow<'m, 's>,
    context: Context<'a>,
    aligned: &'a Aligned,
    warps: Warps<'a, 'm, 's>,
    most_threads: u64,
    /// Uniform symbols, if lanes are in the same iteration of every loop.
    uniformity_in_step: &'a OnceCell<Uniformity>,
    /// The same warps with these symbols; none before they are needed.
    warps_in_step: Option<Warps<'a, 'm, 's>>,
    behind: PostDominators,
    spans: Spans,
    one_by_one: usize,
}

impl<'a, 'm, 's> Counter<'a, 'm, 's> {
    fn access(&mut self, index: usize, access: &Access) -> Option<AccessTraffic> {
        let spaces = &self.aligned.spaces;
        let Identified { kind, space, bytes, .. } =
            Identified::of(self.flow, self.context.trace, spaces, (index, access))?;
        let opcode = self.flow.insts[access.inst].ast.form.opcode;
        let counted = match space {
            StateSpace::Shared if kind.is_atomic() => Counted::Passes,
            StateSpace::Shared => Counted::Wavefronts,
            _ => Counted::Sectors,
        };
        let facts = self.warps.facts(access.block);
        let lanes = self.warps.together(access, &facts);
        let (mut spread, stride, step) = match access.address {
            Some(address) => self.spread(access, address, counted, &facts),
            None => (Spread::Irregular, None, None),
        };
        let mut is_shared = stride == Some(Stride::Constant(0));
        if let (Spread::Irregular | Spread::Any(_), Some(address)) = (spread, access.address) {
            // Data that lanes share in the same iteration are not known to differ.
            let in_step = self.value_in_step(access.block, address);
            if spread == Spread::Irregular && !matches!(in_step, None | Some(Value::Data)) {
                spread = Spread::Any(self.any(access, counted));
            }
            is_shared = matches!(in_step, Some(Value::Known(sum)) if sum.is_uniform());
        }
        // (The parts of a matrix are not those of lanes.)
        let stride = stride.filter(|_| opcode != Opcode::Wmma);
        let warp_lanes = self.context.shape.lanes() as u32;
        let is_partial = !kind.is_atomic() && (2..warp_lanes).contains(&lanes);
        let active = access.address.filter(|_| is_partial);
        let active = active.and_then(|address| self.active(access, address, counted, &facts));
        let request = self.request(access, counted, (spread, lanes), active.as_ref(), &facts);
        let base = access.address.and_then(|address| self.base(access.block, address));
        let depth = self.flow.loops.depth(self.flow.loops.innermost(access.block));
        Some(AccessTraffic {
            index,
            inst: access.inst,
            kind,
            space,
            bytes,
            loop_depth: depth,
            stride,
            step,
            spread,
            lanes,
            warp_lanes,
            active,
            request,
            is_shared,
            base,
        })
    }

    /// The lanes that execute an access, if they are known, and the cost of their request.
    fn active(
        &mut self,
        access: &Access,
        address: TermId,
        counted: Counted,
        facts: &Facts,
    ) -> Option<Active> {
        if self.is_of_matrices(access) {
            return None;
        }
        let (warp, lanes) = active::lanes(&mut self.warps, &self.behind, access, facts)?;
        let Value::Known(sum) = self.warps.value(warp, access.block, address) else { return None };
        if !(2..self.context.shape.lanes() as u32).contains(&lanes.count_ones()) {
            return None;
        }
        let span = self.counted(access, &sum, (warp, lanes), counted, facts)?.span()?;
        Some(Active { lanes, warp: warp.number(), span })
    }

    /// The cost of a request of at most `lanes` lanes, of the `active` ones where they are known.
    fn request(
        &mut self,
        access: &Access,
        counted: Counted,
        (spread, lanes): (Spread, u32),
        active: Option<&Active>,
        facts: &Facts,
    ) -> Option<Span> {
        let (full, bytes) = (spread.span(), i64::from(access.bytes()));
        if lanes as usize >= self.context.shape.lanes() || self.is_of_matrices(access) {
            return full;
        }
        if let Some(active) = active {
            let others = match active.warp {
                Some(_) => self.of_other_warps(access, counted, active, facts),
                None => Some(active.span),
            };
            if others.is_some() {
                return others;
            }
        }
        let any = Span::of_any(counted, bytes, lanes.max(1) as usize);
        let min = Span::of_any(counted, bytes, 1).min;
        match full {
            Some(full) => {
                let max = any.max.min(full.max);
                let ideal = any.ideal.min(full.ideal).min(max);
                Some(Span { min, max, ideal, from: None, moved: None, apart: None })
            }
            None => (lanes <= 1).then_some(any),
        }
    }

    /// The cost of the requests of the active lanes of one warp and of the lanes of all others that take part.
    fn of_other_warps(
        &mut self,
        access: &Access,
        counted: Counted,
        active: &Active,
        facts: &Facts,
    ) -> Option<Span> {
        let literals = self.context.trace.conditions(access, facts);
        let mut span = active.span;
        for (number, warp) in (0..).zip(self.warps.each()) {
            let lanes = self.warps.holding(warp, access.block, &literals);
            if active.warp == Some(number) || lanes == 0 {
                continue;
            }
            let value = self.warps.value(warp, access.block, access.address?);
            for sum in value.cases()? {
                let one = self.counted(access, sum, (warp, lanes), counted, facts)?.span()?;
                span = span.join(one);
            }
        }
        Some(span)
    }

    fn is_of_matrices(&self, access: &Access) -> bool {
        let opcode = self.flow.insts[access.inst].ast.form.opcode;
        matches!(opcode, Opcode::Wmma | Opcode::Ldmatrix | Opcode::Stmatrix)
    }

    /// The lanes that give an address: of `ldmatrix` and `stmatrix` the first 8 for each matrix; of `wmma` as many as the
    /// matrix has parts.
    fn lanes(&self, access: &Access) -> usize {
        let inst = &self.flow.insts[access.inst];
        let form = &inst.ast.form;
        let all = self.context.shape.lanes();
        match form.opcode {
            Opcode::Ldmatrix | Opcode::Stmatrix if form.has(Qualifier::X1) => all.min(8),
            Opcode::Ldmatrix | Opcode::Stmatrix if form.has(Qualifier::X2) => all.min(16),
            Opcode::Wmma => WmmaMatrix::of(inst).map_or(all, |matrix| all.min(matrix.parts)),
            _ => all,
        }
    }

    /// Low bits of lane 0's address that are known in all warps.
    fn base(&mut self, block: BlockId, address: TermId) -> Option<(u32, i64)> {
        let [warp] = self.context.shape.warps()[..] else { return None };
        let Value::Known(sum) = self.warps.value(warp, block, address) else { return None };
        let (_, first) = sum.split();
        let bits = self.warps.evaluator(warp, block).alignments.of_sum(&first, true).min(7);
        Some((bits, first.numbers_only()[0].rem_euclid(1 << bits)))
    }

    /// Whether a block ends with a branch that splits every warp.
    fn split(&mut self, block: BlockId) -> Option<Split> {
        let condition = self.context.trace.branches[block]?;
        let shape = self.context.shape;
        let lanes = shape.lanes();
        if self.flow.block(block).successors.len() < 2 || lanes < LANES {
            return None;
        }
        let first = self.warps.value(shape.warps()[0], block, condition);
        if matches!(&first, Value::Known(value) if value.is_uniform()) || first == Value::Data {
            return None;
        }
        let mut taken = None;
        for warp in self.warps.full() {
            let Value::Known(value) = self.warps.value(warp, block, condition) else { return None };
            let count = value.known()?.iter().filter(|&&one| one & 1 != 0).count();
            if count == 0 || count == lanes {
                return None;
            }
            taken.get_or_insert(count as u32);
        }
        Some(Split { block, taken: taken? })
    }

    fn spread(
        &mut self,
        access: &Access,
        address: TermId,
        counted: Counted,
        facts: &Facts,
    ) -> (Spread, Option<Stride>, Option<i64>) {
        let shape = self.context.shape;
        let lanes = first_lanes(self.lanes(access));
        let any = Spread::Any(self.any(access, counted));
        let mut warps = shape.warps();
        let first = self.warps.value(warps[0], access.block, address);
        if first == Value::Unknown && shape.is_linear() && self.one_by_one < MAX_ONE_BY_ONE {
            self.one_by_one += 1;
            warps = self.warps.full();
        }
        let mut found: Option<Spread> = None;
        let mut strides: Vec<[Option<Stride>; 2]> = Vec::new();
        for warp in warps {
            let (spread, stride) = match self.warps.value(warp, access.block, address) {
                Value::Data => (Spread::Irregular, [None, None]),
                Value::Unknown => (any, [None, None]),
                value => {
                    let cases = value.cases().unwrap_or_default();
                    let each = cases.iter().map(|sum| {
                        self.counted(access, sum, (warp, lanes), counted, facts).unwrap_or(any)
                    });
                    let spread = each.reduce(Spread::join).unwrap_or(any);
                    let stride = match cases {
                        [sum] => {
                            [self.context.shape.lanes(), 2].map(|count| Stride::of(sum, count))
                        }
                        _ => [None, None],
                    };
                    (spread, stride)
                }
            };
            found = Some(found.map_or(spread, |found| found.join(spread)));
            strides.push(stride);
            if !matches!(found, Some(Spread::Counted(_))) {
                break;
            }
        }
        let same = |at: usize| {
            let all = strides.windows(2).all(|two| two[0][at] == two[1][at]);
            strides.first().filter(|_| all).and_then(|first| first[at].clone())
        };
        let step = match same(1) {
            Some(Stride::Constant(step)) => Some(step),
            _ => None,
        };
        (found.unwrap_or(any), same(0), step)
    }

    /// The bounds of every request.
    fn any(&self, access: &Access, counted: Counted) -> Span {
        let mut any = Span::of_any(counted, i64::from(access.bytes()), self.lanes(access));
        if self.flow.insts[access.inst].ast.form.opcode == Opcode::Wmma {
            // Nothing checks that a matrix is aligned as PTX demands: each part may begin within a sector.
            any.max *= 2;
        }
        any
    }

    /// An address in the first warp if its lanes are in the same iteration of every loop; `None` if that is known.
    fn value_in_step(&mut self, block: BlockId, address: TermId) -> Option<Value> {
        let Counter { flow, context, aligned, most_threads, .. } = *self;
        let Context { trace, shape, uniformity, .. } = context;
        if uniformity.exits.iter().chain(&uniformity.in_step).all(|together| *together) {
            return None;
        }
        if trace.arena.is_nearly_spent() {
            return Some(Value::Unknown);
        }
        let uniformity = self
            .uniformity_in_step
            .get_or_init(|| believed_uniformity(flow, trace, shape, aligned, true));
        let context = Context { uniformity, ..context };
        let warps = self
            .warps_in_step
            .get_or_insert_with(|| Warps::new(flow, context, aligned, most_threads));
        Some(warps.value(shape.warps()[0], block, address))
    }

    /// The cost of the request of some lanes of a warp, a bit for each.
    fn counted(
        &mut self,
        access: &Access,
        sum: &LaneSum,
        (warp, lanes): (Warp, u32),
        counted: Counted,
        facts: &Facts,
    ) -> Option<Spread> {
        let (varying, first) = sum.split();
        let of_lanes = |all: [i64; LANES]| {
            let mut own = [0; LANES];
            own.iter_mut().zip(lanes_of(lanes)).for_each(|(own, lane)| *own = all[lane]);
            own
        };
        let evaluator = self.warps.evaluator(warp, access.block);
        let known_bits = evaluator.alignments.of_sum(&first, true).min(7);
        let symbolic = varying.parts().iter().filter(|(factor, _)| !factor.is_empty());
        let zeros: Vec<u32> =
            symbolic.clone().map(|(factor, _)| evaluator.alignments.of_factor(factor)).collect();
        let unknown = |(zeros, (factor, all)): (u32, &(Factor, Coefficients))| {
            let (low, high) = self.range(factor, facts);
            Unknown { zeros: zeros.min(40), low, high, lanes: of_lanes(all.lanes()) }
        };
        let unknowns = zeros.into_iter().zip(symbolic).map(unknown).collect();
        let pattern = Pattern {
            counted,
            bytes: i64::from(access.bytes()),
            mask: lanes,
            lanes: lanes.count_ones() as usize,
            known_bits,
            base: first.numbers_only()[0].rem_euclid(128),
            numbers: of_lanes(varying.numbers_only()),
            unknowns,
        };
        self.spans.of(pattern).map(Spread::Counted)
    }

    /// The least and the greatest value of a factor, read as signed where it may be.
    fn range(&self, factor: &Factor, facts: &Facts) -> (i64, i64) {
        let arena = &self.context.trace.arena;
        let plain = |term: TermId| self.context.trace.plain(term);
        let [term] = factor[..] else { return (i64::MIN, i64::MAX) };
        let term = plain(term);
        let (range, width) = (arena.range(term), arena.width(term));
        let mut low = range.smin;
        for &(op, a, b, holds) in facts.comparisons() {
            // `term > other` and `term >= other`, however they are written.
            let (strict, other) = match (op, holds) {
                (Comparison::SignedLess, true) if plain(b) == term => (true, a),
                (Comparison::SignedLess, false) if plain(a) == term => (false, b),
                (Comparison::SignedLessEqual, true) if plain(b) == term => (false, a),
                (Comparison::SignedLessEqual, false) if plain(a) == term => (true, b),
                _ => continue,
            };
            if arena.width(other) == width {
                low = low.max(arena.range(other).smin.saturating_add(i64::from(strict)));
            }
        }
        // Read as unsigned, a negative number is large.
        let high = match low >= 0 || width == 64 {
            true => range.smax,
            false => range.umax.min(i64::MAX as u64) as i64,
        };
        (low, high)
    }
}
