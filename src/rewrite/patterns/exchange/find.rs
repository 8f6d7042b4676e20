//! Finds exchanges: stores in front of a barrier, and loads of the stored words behind it, in one block of code.
//!
//! In: the control flow and the memory trace of a function, with the arrays in shared memory. Out: for each barrier and
//! array an [`Exchange`] with the source lanes of its loads, or the obstacle.

use rustc_hash::FxHashMap;

use super::obstacle::Obstacle;
use super::table::{Addresses, Source};
use crate::cfg::{Arg, BlockId, Flow, InstId, InstRange, RegisterId};
use crate::collective::Together;
use crate::emulate::{Access, Effect, KernelTrace, SymbolKind, effect};
use crate::expr::Node;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::StateSpace;
use crate::reuse::shared::SharedArray;

/// A load of words that lanes of the warp have stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    /// The load.
    pub inst: InstId,
    /// The register that it writes.
    pub to: RegisterId,
    /// The store.
    pub store: InstId,
    /// The register that is stored.
    pub from: RegisterId,
    /// The size of a word in bytes, 4 or 8.
    pub bytes: u32,
    /// The lanes that the words come from.
    pub source: Source,
}

/// The stores and loads of one array around a barrier.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The barrier.
    pub barrier: InstId,
    /// The blocks of code with the accesses and the barrier.
    pub blocks: Vec<BlockId>,
    /// The array, as an index of the function's arrays.
    pub array: Option<usize>,
    /// The stores in front of the barrier, and the loads behind it.
    pub accesses: Vec<InstId>,
    /// The loads, or why they stay.
    pub loads: Result<Vec<Loaded>, Obstacle>,
}

/// The search in one function.
pub(super) struct Search<'t, 'm, 's> {
    pub flow: &'t Flow<'m, 's>,
    pub trace: &'t mut KernelTrace,
    /// The arrays in shared memory.
    pub arrays: &'t [SharedArray],
    /// The block's shape, if the text says it.
    pub shape: Option<[u64; 3]>,
    /// Whether the lanes of each warp are consecutive, and all there.
    pub has_whole_warps: bool,
    pub is_kernel: bool,
    /// The line of an instruction.
    pub line: &'t dyn Fn(InstId) -> u32,
    /// By instruction, the access.
    pub accesses: FxHashMap<InstId, usize>,
    /// The addresses that were looked at, by access.
    pub known: FxHashMap<InstId, Option<Addresses>>,
}

/// The name of the variable in an address, as the trace has it.
type Key = String;

impl Search<'_, '_, '_> {
    /// All exchanges.
    pub(super) fn exchanges(&mut self) -> Vec<Exchange> {
        let flow = self.flow;
        let (mut found, mut together) = (Vec::new(), None);
        for (blocks, insts) in rows(flow) {
            let is_barrier = |at: &InstId| effect(&flow.insts[*at]) == Effect::Barrier;
            let barriers: Vec<InstId> = insts.clone().filter(is_barrier).collect();
            for (number, &barrier) in barriers.iter().enumerate() {
                let first = number.checked_sub(1).map_or(insts.start, |last| barriers[last].next());
                let end = barriers.get(number + 1).copied().unwrap_or(insts.end);
                let behind = match planted!(Bug::ExchangeBefore) {
                    true => insts.start.to(first),
                    false => barrier.next().to(end),
                };
                let around = (first.to(barrier), behind);
                for key in self.keys(around.clone()) {
                    let mut one = self.exchange(barrier, around.clone(), &key);
                    if one.loads.is_err() && !flow.insts[barrier].ast.form.has(Qualifier::Warp) {
                        continue;
                    }
                    let is_within = |block: &BlockId| {
                        let insts = flow.block(*block).instructions();
                        one.accesses.iter().chain([&barrier]).any(|at| insts.contains(at))
                    };
                    one.blocks = blocks.iter().copied().filter(is_within).collect();
                    let together = together.get_or_insert_with(|| Together::of(flow));
                    if one.loads.is_ok()
                        && !(one.blocks.iter().all(|block| together.come_by(*block))
                            && all_wait(flow, together))
                    {
                        one.loads = Err(Obstacle::Elsewhere);
                    }
                    found.push(one);
                }
            }
        }
        found
    }

    /// An access to shared memory.
    fn shared(&self, at: InstId, wanted: Effect) -> Option<&Access> {
        let access = &self.trace.accesses[*self.accesses.get(&at)?];
        (access.space == StateSpace::Shared && access.effect == wanted).then_some(access)
    }

    /// The only variable in an access's address.
    fn key(&self, access: &Access) -> Option<Key> {
        let address = self.trace.plain(access.address?);
        let (_, addends) = self.trace.arena.linear_parts(address);
        let mut named = addends.iter().filter_map(|(term, factor)| {
            let Node::Symbol(symbol) = self.trace.arena.node(self.trace.plain(*term)) else {
                return None;
            };
            match &self.trace.symbols.info(*symbol).kind {
                SymbolKind::Address(name) => {
                    // (The name is followed by the width.)
                    let name = name.rsplit_once(':').map_or(&**name, |(name, _)| name);
                    Some((name.to_owned(), *factor))
                }
                _ => None,
            }
        });
        match (named.next(), named.next()) {
            (Some((name, 1)), None) => Some(name),
            _ => None,
        }
    }

    /// The variables that are stored to in front of a barrier and loaded from behind it.
    fn keys(&self, (before, behind): (InstRange, InstRange)) -> Vec<Key> {
        let of = |insts: InstRange, wanted| -> Vec<Key> {
            insts.filter_map(|at| self.key(self.shared(at, wanted)?)).collect()
        };
        let loaded = of(behind, Effect::Load);
        let mut stored = of(before, Effect::Store);
        stored.retain(|key| loaded.contains(key));
        stored.sort_unstable();
        stored.dedup();
        stored
    }

    fn exchange(
        &mut self,
        barrier: InstId,
        (before, behind): (InstRange, InstRange),
        key: &Key,
    ) -> Exchange {
        let has_key = |this: &Self, at: InstId, wanted| {
            this.shared(at, wanted).is_some_and(|access| this.key(access).as_ref() == Some(key))
        };
        let stores: Vec<InstId> =
            before.clone().filter(|at| has_key(self, *at, Effect::Store)).collect();
        let loads: Vec<InstId> = behind.filter(|at| has_key(self, *at, Effect::Load)).collect();
        let of_array = |array: &SharedArray| {
            let mut accesses = array.accesses.iter();
            array.refusal.is_none() && accesses.any(|one| one.inst == loads[0])
        };
        let array = self.arrays.iter().position(of_array);
        let made = self.made(barrier, before, &stores, &loads);
        let made = made.and_then(|made| match array {
            Some(at) if !self.arrays[at].is_dynamic => Ok(made),
            _ => Err(Obstacle::Array),
        });
        let accesses = stores.into_iter().chain(loads).collect();
        Exchange { barrier, blocks: Vec::new(), array, accesses, loads: made }
    }

    fn made(
        &mut self,
        barrier: InstId,
        before: InstRange,
        stores: &[InstId],
        loads: &[InstId],
    ) -> Result<Vec<Loaded>, Obstacle> {
        let line = self.line;
        for &at in stores.iter().chain(loads) {
            let access = &self.trace.accesses[self.accesses[&at]];
            if access.strong.is_some() {
                return Err(Obstacle::Strong(line(at)));
            }
            if access.guard.is_some() || self.flow.insts[at].guard.is_some() {
                return Err(Obstacle::Guarded(line(at)));
            }
        }
        if !is_of_all(self.flow, barrier) {
            return Err(Obstacle::Barrier(line(barrier)));
        }
        if !self.is_kernel {
            return Err(Obstacle::Function);
        }
        let shape = self.shape.filter(|_| self.has_whole_warps).ok_or(Obstacle::Shape)?;
        loads.iter().map(|load| self.loaded(*load, (barrier, &before), stores, shape)).collect()
    }

    /// The load as a shuffle.
    fn loaded(
        &mut self,
        load: InstId,
        (barrier, before): (InstId, &InstRange),
        stores: &[InstId],
        shape: [u64; 3],
    ) -> Result<Loaded, Obstacle> {
        let line = (self.line)(load);
        let (to, bytes) = self.word(load)?;
        self.is_quiet(barrier.next().to(load), &[])?;
        let addresses = self.addresses(load, shape).ok_or(Obstacle::Address(line))?;
        let skipped = usize::from(planted!(Bug::ExchangeEarlier) && stores.len() > 1);
        let mut passed: Vec<InstId> = stores.iter().rev().take(skipped).copied().collect();
        for at in before.clone().rev() {
            let Some(access) = self.shared(at, Effect::Store) else { continue };
            let (key, store_line) = (self.key(access), (self.line)(at));
            if key.is_none() || !stores.contains(&at) {
                return Err(Obstacle::Store(store_line));
            }
            if passed.contains(&at) {
                continue;
            }
            let (from, stored) = self.word(at)?;
            if stored != bytes {
                return Err(Obstacle::Element(line));
            }
            let words = self.addresses(at, shape).ok_or(Obstacle::Address(store_line))?;
            if words.meet(u64::from(bytes)) {
                return Err(Obstacle::SameWord(store_line));
            }
            if let Some(source) = addresses.sources(&words, u64::from(bytes), line)? {
                self.is_quiet(at.next().to(barrier), &passed)?;
                return Ok(Loaded { inst: load, to, store: at, from, bytes, source });
            }
            passed.push(at);
        }
        Err(Obstacle::Unstored(line))
    }

    /// The register that an access moves, and how many bytes.
    fn word(&self, at: InstId) -> Result<(RegisterId, u32), Obstacle> {
        let access = &self.trace.accesses[self.accesses[&at]];
        let inst = &self.flow.insts[at];
        let moved = match access.effect {
            Effect::Load => inst.args.first(),
            _ => inst.args.get(1),
        };
        match moved {
            Some(Arg::Register(register))
                if access.elements == 1
                    && matches!(access.bytes(), 4 | 8)
                    && self.flow.registers[*register].ty.bits() == 8 * access.bytes() =>
            {
                Ok((*register, access.bytes()))
            }
            _ => Err(Obstacle::Element((self.line)(at))),
        }
    }

    fn addresses(&mut self, at: InstId, shape: [u64; 3]) -> Option<Addresses> {
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        let access = &self.trace.accesses[self.accesses[&at]];
        let place = self.flow.loops.innermost(access.block);
        let found = access.address.and_then(|address| {
            Addresses::of(self.trace, (&self.flow.loops, place), shape, address)
        });
        self.known.insert(at, found.clone());
        found
    }

    /// Whether nothing in between changes shared memory but some stores to other words, or orders what others do.
    fn is_quiet(&self, insts: InstRange, passed: &[InstId]) -> Result<(), Obstacle> {
        let line = self.line;
        let is_loud = |at: &InstId| {
            let inst = &self.flow.insts[*at];
            let access = self.accesses.get(at).map(|index| &self.trace.accesses[*index]);
            let is_weak = access.is_some_and(|access| access.strong.is_none());
            match effect(inst) {
                Effect::Pure | Effect::Hint | Effect::Observe => false,
                Effect::Load => !is_weak && inst.ast.form.space() != StateSpace::Param,
                Effect::Store => {
                    !is_weak
                        || !matches!(inst.ast.form.space(), StateSpace::Global | StateSpace::Local)
                }
                _ => true,
            }
        };
        match insts.filter(|at| !passed.contains(at)).find(is_loud) {
            Some(at) if effect(&self.flow.insts[at]) == Effect::Store => {
                Err(Obstacle::Store(line(at)))
            }
            Some(at) => Err(Obstacle::Between(line(at))),
            None => Ok(()),
        }
    }
}

/// Straight code: blocks one behind the other in the text, each entered from nowhere but the one before, which leads
/// nowhere else. (A barrier of the warp ends a block.)
fn rows(flow: &Flow<'_, '_>) -> Vec<(Vec<BlockId>, InstRange)> {
    let follows = |last: BlockId, next: BlockId| {
        let (last, of_next) = (flow.block(last), flow.block(next));
        matches!(last.successors[..], [edge] if edge.to == next)
            && of_next.predecessors.len() == 1
            && !last.leaves
            && last.end == of_next.first
    };
    let mut rows: Vec<Vec<BlockId>> = Vec::new();
    for block in flow.block_ids() {
        match rows.last_mut() {
            Some(row) if row.last().is_some_and(|last| follows(*last, block)) => row.push(block),
            _ => rows.push(vec![block]),
        }
    }
    let with_insts = |row: Vec<BlockId>| {
        let (first, last) = (flow.block(row[0]).first, flow.block(row[row.len() - 1]).end);
        (row, first.to(last))
    };
    rows.into_iter().map(with_insts).collect()
}

/// Whether all lanes of a warp wait at a barrier: one of the warp with the mask of all lanes, or one of the block that
/// names no number of threads.
fn is_of_all(flow: &Flow<'_, '_>, at: InstId) -> bool {
    let inst = &flow.insts[at];
    let form = &inst.ast.form;
    let constant = match inst.args[..] {
        [Arg::Constant(value)] => value.as_integer(),
        _ => None,
    };
    form.opcode == Opcode::Bar
        && inst.guard.is_none()
        && form.has(Qualifier::Sync)
        && !form.has_any(&[Qualifier::Arrive, Qualifier::Red])
        && constant.is_some_and(|value| !form.has(Qualifier::Warp) || value as u32 == u32::MAX)
}

/// Whether all threads come to each barrier of warps: lanes at one of them may wait for others at another one, so that not
/// all of a warp are at the exchange (PTX ISA, "bar.warp.sync").
fn all_wait(flow: &Flow<'_, '_>, together: &Together) -> bool {
    let waits = |at: InstId| {
        let form = &flow.insts[at].ast.form;
        form.opcode == Opcode::Bar && form.has(Qualifier::Warp)
    };
    let mut blocks = flow.block_ids();
    blocks.all(|block| together.come_by(block) || !flow.block(block).instructions().any(waits))
}
