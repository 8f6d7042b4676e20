//! The lanes of a few warps at their accesses, by values that real launches have.
//!
//! In: the trace of a kernel and its accesses. Out: for each access the lanes of [`WARPS`] warps that execute it, with
//! their addresses ([`Lanes`]), in the first iteration of the loops around it and in further ones of the innermost.
//!
//! The warps are those of one block inside of the grid. Where the text has no `.reqntid`, a block has 128 threads: rows
//! of 32 if `%tid.y` is read, otherwise one row. Parameters of 32 bits are some thousands, multiples of 4 and not of
//! 32, those of 64 bits pointers to memory of their own. Loaded values are random; other results that are not modelled
//! have all bits set, as the mask of a full warp has. A condition counts for the lanes of a warp if it differs between
//! lanes or between warps, as far as these values say. One that is false in all of them is assumed to be true: the
//! values need not be those of a launch that comes there.

use rustc_hash::FxHashMap;

use crate::cfg::{Flow, LoopId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{LaneValuation, SymbolId, TermId, Valuation};
use crate::isa::{Axis, Special};
use crate::lanes::{LANES, of_thread};
use crate::ptx::Function;
use crate::sass::paths::LOOP_ITERATIONS;

/// Bits of an address within one array; the bits above them number the array.
pub(super) const ARRAY_BITS: u32 = 36;

/// Warps that are looked at.
pub(super) const WARPS: usize = 4;

/// How many loop values and joins are followed to their first incoming value.
const MAX_JOINS: usize = 3;

/// The block that is looked at, by axis: one with neighbours.
const BLOCK: [u64; 3] = [5, 3, 2];

/// Blocks of the grid along each axis.
const GRID: u64 = 16;

/// Bytes of shared memory that launches give: whole rows of banks.
const DYNAMIC_SHARED: u64 = 32 << 10;

/// The lanes of a warp that execute an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// One bit for each.
    pub mask: u32,
    /// Their addresses; 0 where the address is not known.
    pub addresses: [u64; LANES],
}

impl Lanes {
    /// The addresses of those that execute the access.
    pub(super) fn executing(&self) -> impl Iterator<Item = u64> {
        let each = self.addresses.iter().enumerate();
        each.filter(|(lane, _)| self.mask >> lane & 1 != 0).map(|(_, address)| *address)
    }
}

/// An access in the warps.
pub(super) type Warps = [Lanes; WARPS];

/// The accesses of a kernel in the warps.
#[derive(Debug)]
pub(super) struct Sampled {
    /// In the first iteration of all loops.
    pub first: Vec<Warps>,
    /// In the further iterations of the innermost loop around each; empty for those outside of loops.
    pub next: Vec<Vec<Warps>>,
    /// By how many bytes each address moves from a block to the next one along each axis.
    pub steps: Vec<[i64; 3]>,
}

/// Looks at some accesses, by their indices into [`KernelTrace::accesses`].
pub(super) fn sampled(
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    accesses: &[usize],
) -> Sampled {
    let shape = shape(function, trace);
    let mut all = Sampler::new(flow, trace, shape, accesses);
    let here = all.of_block(BLOCK);
    let moved = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|by| {
        let block = [0, 1, 2].map(|axis| BLOCK[axis] + by[axis]);
        all.of_block(block)
    });
    all.block = BLOCK;
    let step = |at: usize| moved.each_ref().map(|there| there[at].wrapping_sub(here[at]) as i64);
    let steps = (0..accesses.len()).map(step).collect();
    let first = all.warps(None);
    let mut next = vec![Vec::new(); accesses.len()];
    let innermost = |at: usize| flow.loops.innermost(trace.accesses[accesses[at]].block);
    let mut loops: Vec<LoopId> = (0..accesses.len()).filter_map(innermost).collect();
    loops.sort_unstable();
    loops.dedup();
    for id in loops {
        let inside: Vec<usize> =
            (0..accesses.len()).filter(|&at| innermost(at) == Some(id)).collect();
        let indices: Vec<usize> = inside.iter().map(|&at| accesses[at]).collect();
        let mut of_loop = Sampler::new(flow, trace, shape, &indices);
        for iteration in 1..u64::from(LOOP_ITERATIONS) {
            for (&at, found) in inside.iter().zip(of_loop.warps(Some((id, iteration)))) {
                next[at].push(found);
            }
        }
    }
    Sampled { first, next, steps }
}

/// For symbols in which several flows meet, the term that comes first into them. These terms become roots, too.
fn origins(trace: &KernelTrace, roots: &mut Vec<TermId>) -> FxHashMap<SymbolId, TermId> {
    let mut found = FxHashMap::default();
    for _ in 0..MAX_JOINS {
        let below = Valuation::new(&trace.arena, roots.iter().copied());
        let mut new = Vec::new();
        for (_, symbol) in below.symbols() {
            let info = trace.symbols.info(symbol);
            if let (
                SymbolKind::LoopValue(..) | SymbolKind::JoinValue(..),
                LaneDependence::DependsOn(ways),
            ) = (&info.kind, &info.dependence)
                && let Some(&first) = ways.first()
                && trace.arena.width(first) == info.width
                && found.insert(symbol, first).is_none()
            {
                new.push(first);
            }
        }
        if new.is_empty() {
            break;
        }
        roots.extend(new);
    }
    found
}

/// The shape of the blocks.
fn shape(function: &Function<'_>, trace: &KernelTrace) -> [u64; 3] {
    if let Some(exact) = function.extents("reqntid") {
        return exact.map(|extent| extent.max(1));
    }
    let reads = |axis| {
        let mut kinds = trace.symbols.iter().map(|(_, info)| &info.kind);
        kinds.any(|kind| *kind == SymbolKind::Tid(axis))
    };
    let threads = (WARPS * LANES) as u64;
    match reads(Axis::Y) || reads(Axis::Z) {
        true => [LANES as u64, WARPS as u64, 1],
        false => [threads, 1, 1],
    }
}

/// Evaluates accesses warp by warp.
struct Sampler<'t> {
    trace: &'t KernelTrace,
    shape: [u64; 3],
    block: [u64; 3],
    /// Of each access, its address if that is known, and what decides whether a lane executes it.
    addresses: Vec<Option<TermId>>,
    conditions: Vec<Vec<(TermId, bool)>>,
    valuation: LaneValuation<'t, LANES>,
    /// The symbols in which several flows meet, each with the term that comes first into it.
    origins: Vec<(TermId, TermId)>,
}

impl<'t> Sampler<'t> {
    /// `accesses`: by their indices into [`KernelTrace::accesses`].
    fn new(
        flow: &Flow<'_, '_>,
        trace: &'t KernelTrace,
        shape: [u64; 3],
        accesses: &[usize],
    ) -> Sampler<'t> {
        let conditions = |&at: &usize| {
            let access = &trace.accesses[at];
            trace.conditions(access, &trace.facts(flow, access.block))
        };
        let conditions: Vec<Vec<(TermId, bool)>> = accesses.iter().map(conditions).collect();
        let addresses: Vec<Option<TermId>> =
            accesses.iter().map(|&at| trace.accesses[at].address).collect();
        let terms = conditions.iter().flatten().map(|(term, _)| *term);
        let mut roots: Vec<TermId> = terms.chain(addresses.iter().copied().flatten()).collect();
        let origins = origins(trace, &mut roots);
        let valuation = LaneValuation::new(&trace.arena, roots.into_iter());
        let origin = |(term, symbol): (TermId, SymbolId)| Some((term, *origins.get(&symbol)?));
        let origins = valuation.symbols().filter_map(origin).collect();
        let block = BLOCK;
        Sampler { trace, shape, block, addresses, conditions, valuation, origins }
    }

    /// The accesses in the warps. `turned`: a loop that is not in its first iteration, and how many came before.
    fn warps(&mut self, turned: Option<(LoopId, u64)>) -> Vec<Warps> {
        let none = Lanes { mask: 0, addresses: [0; LANES] };
        let mut found = vec![[none; WARPS]; self.addresses.len()];
        // For each condition of each access, the lanes in which it holds.
        let mut holding: Vec<Vec<[u32; WARPS]>> =
            self.conditions.iter().map(|each| vec![[0; WARPS]; each.len()]).collect();
        for warp in 0..WARPS {
            self.evaluate(warp, turned);
            for (at, address) in self.addresses.iter().enumerate() {
                if let Some(term) = address {
                    found[at][warp].addresses = *self.valuation.lanes(*term);
                }
                for ((term, holds), lanes) in self.conditions[at].iter().zip(&mut holding[at]) {
                    let values = self.valuation.lanes(*term).iter().enumerate();
                    let bit = |(lane, value)| u32::from((value & 1 != 0) == *holds) << lane;
                    lanes[warp] = values.map(bit).sum();
                }
            }
        }
        for (access, holding) in found.iter_mut().zip(holding) {
            for (warp, lanes) in access.iter_mut().enumerate() {
                let counted = holding.iter().filter(|lanes| lanes.iter().any(|lanes| *lanes != 0));
                lanes.mask = counted.fold(u32::MAX, |mask, lanes| mask & lanes[warp]);
            }
        }
        found
    }

    /// The addresses of the first thread of a block.
    fn of_block(&mut self, block: [u64; 3]) -> Vec<u64> {
        self.block = block;
        self.evaluate(0, None);
        let value = |term| self.valuation.lanes(term)[0];
        self.addresses.iter().map(|address| address.map_or(0, value)).collect()
    }

    fn evaluate(&mut self, warp: usize, turned: Option<(LoopId, u64)>) {
        let Sampler { trace, shape, block, .. } = *self;
        self.valuation.assign_lanes(|symbol| {
            let info = trace.symbols.info(symbol);
            std::array::from_fn(|lane| {
                let thread = (warp * LANES + lane) as u64;
                value(symbol, info, (shape, block, thread), turned)
            })
        });
        if self.origins.is_empty() {
            return;
        }
        for _ in 0..MAX_JOINS {
            let mut any = false;
            for &(term, origin) in &self.origins {
                let values = *self.valuation.lanes(origin);
                any |= values != *self.valuation.lanes(term);
                self.valuation.set_lanes(term, values);
            }
            if !any {
                break;
            }
            self.valuation.evaluate();
        }
    }
}

/// The value of a symbol in a thread, by its number in a block of some shape and at some place in the grid.
fn value(
    symbol: SymbolId,
    info: &SymbolInfo,
    (shape, block, thread): ([u64; 3], [u64; 3], u64),
    turned: Option<(LoopId, u64)>,
) -> u64 {
    let number = u64::from(symbol.0);
    match &info.kind {
        SymbolKind::WarpUniform(Special::Ctaid(axis)) => block[axis.index()],
        SymbolKind::WarpUniform(Special::Nctaid(_)) => GRID,
        SymbolKind::WarpUniform(Special::DynamicSmemSize) => DYNAMIC_SHARED,
        SymbolKind::Iteration(id) => {
            turned.filter(|(turned, _)| turned == id).map_or(0, |(_, at)| at)
        }
        SymbolKind::Parameter { .. } if info.width < 64 => (1 << 12) + 32 * (number % 64) + 4,
        SymbolKind::Parameter { .. } | SymbolKind::Address(_) if info.width == 64 => {
            (number + 1) << ARRAY_BITS
        }
        SymbolKind::Address(_) => (number + 1) << 20,
        // The mask of a warp whose lanes all execute together.
        SymbolKind::Unknown(_) if info.width <= 32 => u64::MAX,
        // (Warps beyond the block are those of the next one.)
        SymbolKind::Tid(Axis::Z) => of_thread(&info.kind, thread, shape).unwrap_or(0) % shape[2],
        kind => of_thread(kind, thread, shape).unwrap_or_else(|| {
            let own = match info.dependence {
                LaneDependence::Varying => thread,
                _ => 0,
            };
            (number << 7 | own).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
        }),
    }
}
