//! How far the addresses of a trace reach into each buffer, for given values of the parameters: every
//! address that depends on nothing else but the thread's place is evaluated for the threads of the launch.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::pointers::{Part, Pointers};
use crate::cfg::Flow;
use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{Node, TermId, Valuation, within};
use crate::isa::{Axis, Special};

/// Grid and block of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Who has chosen the block.
    pub chosen: Chosen,
}

/// Who has chosen the shape of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chosen {
    /// The kernel, by `.reqntid`.
    Demanded,
    /// The user.
    Asked,
    /// Nobody: it is a guess.
    Guessed,
}

impl Shape {
    /// The threads along the longest axis.
    pub(super) fn longest(&self) -> u64 {
        let axis = self.longest_axis();
        u64::from(self.grid[axis]) * u64::from(self.block[axis])
    }

    /// The axis with the most threads, the first of equal ones.
    pub(super) fn longest_axis(&self) -> usize {
        let along = |axis: &usize| u64::from(self.grid[*axis]) * u64::from(self.block[*axis]);
        (0..3).rev().max_by_key(along).unwrap_or(0)
    }

    /// A number of threads along an axis that ends within the last block, and within a warp where the block is that
    /// long: 197 of 2 blocks of 128 threads.
    pub(super) fn partial(&self, axis: usize) -> u64 {
        let [blocks, threads] = [self.grid[axis], self.block[axis]].map(u64::from);
        ((blocks - 1) * threads + threads / 2 + (threads / 4).min(5)).max(1)
    }
}

/// Which of `%tid.x` to `%tid.z` and `%ctaid.x` to `%ctaid.z` a kernel reads.
pub(super) fn axes(trace: &KernelTrace) -> [bool; 6] {
    let mut used = [false; 6];
    for (_, info) in trace.symbols.iter() {
        match &info.kind {
            SymbolKind::Tid(axis) => used[axis.index()] = true,
            SymbolKind::WarpUniform(Special::Ctaid(axis)) => used[3 + axis.index()] = true,
            _ => {}
        }
    }
    used
}

/// The bytes of a buffer, from the pointer on, that addresses reach.
pub(super) type Reach = (i64, i64);

/// The most threads that are looked at: the first blocks and the last one.
const MOST_THREADS: u64 = 4096;

/// How far addresses reach from each pointer; `values` are those of the other parameters. A pointer has no entry if
/// some of its addresses cannot be evaluated.
pub(super) fn reached(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    shape: &Shape,
    pointers: &Pointers,
    values: &BTreeMap<Part, u64>,
) -> Vec<(Part, Reach)> {
    within(|| evaluated(flow, trace, shape, pointers, values)).unwrap_or_default()
}

/// An access whose address can be evaluated.
struct Closed {
    base: Part,
    address: TermId,
    bytes: i64,
    conditions: Vec<TermId>,
}

fn evaluated(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    shape: &Shape,
    pointers: &Pointers,
    values: &BTreeMap<Part, u64>,
) -> Vec<(Part, Reach)> {
    let arena = &trace.arena;
    let mut closed = Closedness { trace, pointers, values, known: FxHashMap::default() };
    let (mut accesses, mut open) = (Vec::new(), BTreeSet::new());
    for access in &trace.accesses {
        let Some(address) = access.address else { continue };
        let Some(base) = begins_with(trace, pointers, address) else { continue };
        if !closed.is(address) {
            open.insert(base);
            continue;
        }
        let assumed = flow.dominators.chain(access.block).filter_map(|at| {
            arena.charge(1);
            trace.assumptions[at]
        });
        let conditions = assumed.chain(access.guard).filter(|&term| closed.is(term)).collect();
        accesses.push(Closed { base, address, bytes: i64::from(access.bytes()), conditions });
    }
    accesses.retain(|access| !open.contains(&access.base));
    let roots = accesses.iter().flat_map(|a| a.conditions.iter().copied().chain([a.address]));
    let mut valuation = Valuation::new(arena, roots);
    let mut reach: BTreeMap<Part, Reach> = BTreeMap::new();
    for (block, thread) in places(shape) {
        valuation.assign(|symbol| match &trace.symbols.info(symbol).kind {
            kind @ SymbolKind::Parameter { .. } => {
                let part = pointers.part(kind);
                part.and_then(|part| values.get(&part).copied()).unwrap_or(0)
            }
            kind => place(kind, shape, block, thread).unwrap_or(0),
        });
        for access in &accesses {
            if access.conditions.iter().all(|&term| valuation.value(term) != 0) {
                let at = valuation.value(access.address) as i64;
                let (low, high) = reach.entry(access.base).or_insert((0, 0));
                *low = (*low).min(at);
                *high = (*high).max(at.saturating_add(access.bytes));
            }
        }
    }
    reach.into_iter().collect()
}

/// The one pointer that an address begins with.
fn begins_with(trace: &KernelTrace, pointers: &Pointers, address: TermId) -> Option<Part> {
    let pointer = |term: TermId| {
        let Node::Symbol(symbol) = trace.arena.node(term) else { return None };
        let part = pointers.part(&trace.symbols.info(*symbol).kind)?;
        pointers.found.contains_key(&part).then_some(part)
    };
    match trace.arena.node(address) {
        Node::Sum { addends, .. } => {
            let mut found =
                addends.iter().filter_map(|&(term, times)| pointer(term).filter(|_| times == 1));
            found.next().filter(|_| found.next().is_none())
        }
        _ => pointer(address),
    }
}

/// The blocks and threads that are looked at.
fn places(shape: &Shape) -> impl Iterator<Item = ([u32; 3], [u32; 3])> {
    let all = |[x, y, z]: [u32; 3]| {
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
    };
    let block = shape.block;
    let per_block: u64 = block.iter().map(|&n| u64::from(n)).product();
    let blocks = (MOST_THREADS / per_block.max(1)).max(1) as usize;
    let last = shape.grid.map(|n| n - 1);
    let several = shape.grid != [1; 3];
    let chosen = all(shape.grid).take(blocks).filter(move |&b| !several || b != last);
    chosen.chain(std::iter::once(last)).flat_map(move |b| all(block).map(move |t| (b, t)))
}

/// The value of a symbol that the thread's place decides.
fn place(kind: &SymbolKind, shape: &Shape, block: [u32; 3], thread: [u32; 3]) -> Option<u64> {
    let [x, y, z] = thread.map(u64::from);
    let [wide, high, _] = shape.block.map(u64::from);
    let of = |values: [u32; 3], axis: &Axis| u64::from(values[axis.index()]);
    Some(match kind {
        SymbolKind::Tid(axis) => of(thread, axis),
        SymbolKind::LaneId => (x + wide * (y + high * z)) % 32,
        SymbolKind::WarpUniform(Special::Ctaid(axis)) => of(block, axis),
        SymbolKind::WarpUniform(Special::Ntid(axis)) => of(shape.block, axis),
        SymbolKind::WarpUniform(Special::Nctaid(axis)) => of(shape.grid, axis),
        _ => return None,
    })
}

/// Which terms depend on nothing else but the thread's place and known parameters.
struct Closedness<'a> {
    trace: &'a KernelTrace,
    pointers: &'a Pointers,
    values: &'a BTreeMap<Part, u64>,
    known: FxHashMap<TermId, bool>,
}

impl Closedness<'_> {
    fn is(&mut self, root: TermId) -> bool {
        let arena = &self.trace.arena;
        let mut open = vec![root];
        while let Some(&term) = open.last() {
            if self.known.contains_key(&term) {
                open.pop();
                continue;
            }
            let operands = arena.operands(term);
            arena.charge(1 + operands.len() as u64);
            let before = open.len();
            open.extend(operands.iter().copied().filter(|t| !self.known.contains_key(t)));
            if open.len() > before {
                continue;
            }
            let own = match arena.node(term) {
                Node::Symbol(symbol) => self.has_value(&self.trace.symbols.info(*symbol).kind),
                Node::Apply(..) => false,
                _ => true,
            };
            let all = own && operands.iter().all(|operand| self.known[operand]);
            self.known.insert(term, all);
            open.pop();
        }
        self.known[&root]
    }

    fn has_value(&self, kind: &SymbolKind) -> bool {
        match kind {
            SymbolKind::Parameter { .. } => self.pointers.part(kind).is_some_and(|part| {
                self.values.contains_key(&part) || self.pointers.found.contains_key(&part)
            }),
            kind => {
                let nowhere = Shape { grid: [1; 3], block: [1; 3], chosen: Chosen::Guessed };
                place(kind, &nowhere, [0; 3], [0; 3]).is_some()
            }
        }
    }
}
