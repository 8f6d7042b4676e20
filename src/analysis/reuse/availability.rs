//! Whether the bytes that a source load has read are still the same when the destination load is
//! reached.
//!
//! A load is available at a place if every lane has executed it on every way there, and no instruction
//! since may have changed its bytes for the destination lane or published other threads' changes. That
//! is a must-dataflow over the graph; for one pair of loads it says: the source dominates the
//! destination, and no killer lies on any way from the source to the destination that does not pass
//! the source again. Back edges count like any other edge.

use std::ops::Range;

use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

use super::eligible::{Load, addressed_by_register};
use super::prove::Prover;
use super::refusal::Refusal;
use crate::bytes::ByteRange;
use crate::cfg::{BlockId, Flow, InstId};
use crate::emulate::{Access, Effect, KernelTrace};
use crate::expr::Arena;
use crate::planted::{self, Bug};
use crate::ptx::StateSpace;
use crate::source::SourceFile;

/// In front of all instructions.
const START: InstId = InstId(0);

/// Behind all instructions.
const END: InstId = InstId(u32::MAX);

/// A source in a branch is left alone if there are more blocks between it and the load.
const MAX_BETWEEN: usize = 64;

/// Stores on the way from a source to a load that are not shown to leave its bytes alone, and that may be
/// compared with it at run time.
#[derive(Debug, Default)]
pub(super) struct RuntimeChecks {
    /// How many may be.
    most: usize,
    /// Those that were met.
    pub stores: Vec<NoAliasCheck>,
}

/// A store that is compared with a source at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoAliasCheck {
    /// The store's instruction.
    pub inst: InstId,
    /// Bytes around the source's that it must not have met either: those of the other lanes of a warp. Writes and reads
    /// of one warp's lanes without synchronisation are a data race, but many programs rely on the order in which a warp
    /// performs them.
    pub margin: i64,
}

impl RuntimeChecks {
    /// The maximum number of stores that are compared at run time.
    pub(super) fn up_to(most: usize) -> RuntimeChecks {
        RuntimeChecks { most, stores: Vec::new() }
    }
}

/// Answers availability questions about one function.
pub(super) struct Availability<'a, 'm, 's> {
    source: &'a SourceFile,
    flow: &'a Flow<'m, 's>,
    /// For each block the accesses that may kill a load, in order.
    killers: TiVec<BlockId, Vec<usize>>,
    /// Blocks on paths between two blocks, by (source, destination).
    between: FxHashMap<(BlockId, BlockId), Vec<BlockId>>,
}

impl<'a, 'm, 's> Availability<'a, 'm, 's> {
    pub(super) fn new(source: &'a SourceFile, flow: &'a Flow<'m, 's>, trace: &KernelTrace) -> Self {
        let mut killers = ti_vec![Vec::new(); flow.blocks.len()];
        for (index, access) in trace.accesses.iter().enumerate() {
            if may_kill(access) {
                killers[access.block].push(index);
            }
        }
        Availability { source, flow, killers, between: FxHashMap::default() }
    }

    /// Whether `from` is available at `to`.
    pub(super) fn check(
        &mut self,
        trace: &mut KernelTrace,
        prover: &mut Prover<'_, '_, '_>,
        from: &Load,
        to: &Load,
        runtime_checked: &mut RuntimeChecks,
    ) -> Result<(), Refusal> {
        let (a, b) = (&trace.accesses[from.access], &trace.accesses[to.access]);
        let (block_a, block_b) = (a.block, b.block);
        if !self.is_before(trace, from, to) {
            return Err(Refusal::NotOnEveryPath(self.line(from.inst)));
        }
        // The memory is read-only for the whole kernel: no instruction can change it.
        if a.read_only || b.read_only {
            return Ok(());
        }
        if block_a == block_b {
            let part = from.inst.next()..to.inst;
            return self.scan(trace, prover, (from, to), block_a, part, runtime_checked);
        }
        self.scan(trace, prover, (from, to), block_a, from.inst.next()..END, runtime_checked)?;
        let mut whole_destination = false;
        let between = match planted!(Bug::OnePath) {
            true => Vec::new(),
            false => self.blocks_between(&trace.arena, block_a, block_b),
        };
        for block in between {
            whole_destination |= block == block_b;
            self.scan(trace, prover, (from, to), block, START..END, runtime_checked)?;
        }
        match whole_destination {
            true => Ok(()),
            false => self.scan(trace, prover, (from, to), block_b, START..to.inst, runtime_checked),
        }
    }

    /// Whether every way to `to` executes `from` before.
    pub(super) fn is_before(&self, trace: &KernelTrace, from: &Load, to: &Load) -> bool {
        let [a, b] = [from, to].map(|load| trace.accesses[load.access].block);
        match a == b || planted!(Bug::Dominance) {
            true => from.inst < to.inst,
            false => self.flow.dominators.dominates(a, b),
        }
    }

    /// Whether `from` is available at `to` in those lanes that have executed it since they came by the end
    /// of the block that is returned: the nearest one on every way to both. For a source in a branch.
    ///
    /// Each path from that block to the source executes it once: if it stood in a cycle of its own, a register of its
    /// address could belong to another iteration.
    pub(super) fn check_since(
        &mut self,
        trace: &mut KernelTrace,
        prover: &mut Prover<'_, '_, '_>,
        from: &Load,
        to: &Load,
    ) -> Result<BlockId, Refusal> {
        let blocks = [from, to].map(|load| trace.accesses[load.access].block);
        let [a, b] = blocks;
        let refusal = Refusal::NotOnEveryPath(self.line(from.inst));
        let loops = &self.flow.loops;
        let Some(common) = self.flow.dominators.nearest_common(a, b) else { return Err(refusal) };
        let home = loops.innermost(common);
        let is_apart = common != a
            && common != b
            && self.flow.block(common).first < self.flow.block(common).end;
        if !is_apart || blocks.iter().any(|&at| loops.innermost(at) != home) {
            return Err(refusal);
        }
        trace.arena.charge(self.flow.blocks.len() as u64 / 16);
        let around = self.back_to(&trace.arena, a, &[common]);
        let between = self.back_to(&trace.arena, b, &[common, a]);
        let (Some(around), Some(between)) = (around, between) else { return Err(refusal) };
        // Those of them to which the source leads.
        let mut behind: Vec<BlockId> = vec![a];
        let mut reaches = false;
        for next in 0.. {
            let Some(&at) = behind.get(next) else { break };
            for edge in &self.flow.block(at).successors {
                reaches |= edge.to == b;
                if between.contains(&edge.to) && !behind.contains(&edge.to) {
                    behind.push(edge.to);
                }
            }
        }
        if !reaches || around.contains(&a) {
            return Err(refusal);
        }
        let read_only = |load: &Load| trace.accesses[load.access].read_only;
        if read_only(from) || read_only(to) || planted!(Bug::BranchForgets) {
            return Ok(common);
        }
        let runtime_checked = &mut RuntimeChecks::default();
        self.scan(trace, prover, (from, to), a, from.inst.next()..END, runtime_checked)?;
        let mut whole_destination = false;
        for &block in &behind[1..] {
            whole_destination |= block == b;
            self.scan(trace, prover, (from, to), block, START..END, runtime_checked)?;
        }
        if !whole_destination {
            self.scan(trace, prover, (from, to), b, START..to.inst, runtime_checked)?;
        }
        Ok(common)
    }

    /// The blocks on ways to the start of `block` that do not pass any of the blocks `ends`; `None` if
    /// there are too many.
    fn back_to(&self, arena: &Arena, block: BlockId, ends: &[BlockId]) -> Option<Vec<BlockId>> {
        let mut found: Vec<BlockId> = Vec::new();
        let mut work = vec![block];
        while let Some(at) = work.pop() {
            for edge in &self.flow.block(at).predecessors {
                if !ends.contains(&edge.from) && !found.contains(&edge.from) {
                    arena.charge(1 + found.len() as u64 / 8);
                    if found.len() == MAX_BETWEEN {
                        return None;
                    }
                    found.push(edge.from);
                    work.push(edge.from);
                }
            }
        }
        Some(found)
    }

    /// The blocks on ways from the end of `a` to the start of `b` that do not pass `a`; `b` itself is
    /// among them if a way comes round to it. `a` dominates `b`, so walking back always ends at `a`.
    fn blocks_between(&mut self, arena: &Arena, a: BlockId, b: BlockId) -> Vec<BlockId> {
        let flow = self.flow;
        let found = self.between.entry((a, b)).or_insert_with(|| {
            let mut seen = ti_vec![false; flow.blocks.len()];
            let mut found = Vec::new();
            let mut work = vec![b];
            while let Some(block) = work.pop() {
                for edge in &flow.block(block).predecessors {
                    if planted!(Bug::BackEdge) && flow.dominators.dominates(block, edge.from) {
                        continue;
                    }
                    if edge.from != a && !std::mem::replace(&mut seen[edge.from], true) {
                        found.push(edge.from);
                        work.push(edge.from);
                    }
                }
            }
            arena.charge((seen.len() / 16 + 4 * found.len()) as u64);
            found.sort_unstable();
            found
        });
        arena.charge(1 + found.len() as u64);
        found.clone()
    }

    /// Looks for a killer among some instructions of a block; stores that can be asked about are noted.
    fn scan(
        &self,
        trace: &mut KernelTrace,
        prover: &mut Prover<'_, '_, '_>,
        (from, to): (&Load, &Load),
        block: BlockId,
        part: Range<InstId>,
        runtime_checked: &mut RuntimeChecks,
    ) -> Result<(), Refusal> {
        // A block's accesses stand in the order of its instructions.
        let killers = &self.killers[block];
        let first = killers.partition_point(|&index| trace.accesses[index].inst < part.start);
        for &index in &killers[first..] {
            let inst = trace.accesses[index].inst;
            if inst >= part.end {
                break;
            }
            if inst == from.inst || inst == to.inst {
                continue;
            }
            trace.arena.charge(4);
            if let Some(what) = self.kills(trace, prover, index, from, to) {
                let refusal = Refusal::Between(what, self.line(inst));
                if runtime_checked.stores.len() == runtime_checked.most {
                    return Err(refusal);
                }
                let store = self.can_be_asked(trace, prover, index, from, to);
                runtime_checked.stores.push(store.ok_or(refusal)?);
            }
        }
        Ok(())
    }

    /// A store whose address can be compared with a source's whenever it is executed: it is in a register, both
    /// go on by the same number of bytes from lane to lane, and all three stand in the same loop, so that each
    /// round of it has its own comparison. A store that is known to meet the source's bytes is not asked.
    fn can_be_asked(
        &self,
        trace: &mut KernelTrace,
        prover: &mut Prover<'_, '_, '_>,
        killer: usize,
        from: &Load,
        to: &Load,
    ) -> Option<NoAliasCheck> {
        let access = &trace.accesses[killer];
        let home = |index: usize| self.flow.loops.innermost(trace.accesses[index].block);
        let place = home(killer);
        let (inst, address) = (access.inst, access.address?);
        let is_plain = access.effect == Effect::Store
            && access.strong.is_none()
            && access.bytes() > 0
            && addressed_by_register(&self.flow.insts[inst]);
        let arena = &mut trace.arena;
        if !is_plain
            || arena.width(address) != 64
            || arena.width(from.address) != 64
            || arena.constant_difference(address, from.address).is_some()
            || home(from.access) != place
            || home(to.access) != place
        {
            return None;
        }
        let stride = prover.lane_stride(trace, from.address, place)?;
        let same = prover.lane_stride(trace, address, place) == Some(stride);
        let margin = stride.checked_abs()?.checked_mul(31)?;
        (same && margin < 1 << 30).then_some(NoAliasCheck { inst, margin })
    }

    /// How an access between the two kills the source load, in words; `None` if it does not.
    fn kills(
        &self,
        trace: &mut KernelTrace,
        prover: &mut Prover<'_, '_, '_>,
        killer: usize,
        from: &Load,
        to: &Load,
    ) -> Option<String> {
        let access = &trace.accesses[killer];
        let (block, address, size) = (access.block, access.address, i64::from(access.bytes()));
        let opcode = self.flow.insts[access.inst].ast.opcode.text;
        let forgotten = match access.effect {
            Effect::Barrier => Bug::Barrier,
            Effect::Atomic => Bug::Atomic,
            Effect::Call => Bug::Call,
            _ => Bug::Store,
        };
        if planted::is(forgotten) {
            return None;
        }
        match access.effect {
            Effect::Barrier => return Some(format!("barrier between (`{opcode}`)")),
            Effect::Atomic => return Some(format!("atomic between (`{opcode}`)")),
            Effect::Call => return Some("call between".to_owned()),
            Effect::Load => return Some(format!("synchronising load between (`{opcode}`)")),
            Effect::Store if access.strong.is_some() => {
                return Some(format!("synchronising store between (`{opcode}`)"));
            }
            Effect::Store => {}
            _ => return Some(format!("opaque instruction between (`{opcode}`)")),
        }
        // The store's address must mean the same iteration of every loop as the loads' do.
        let loops = &self.flow.loops;
        let home = loops.innermost(trace.accesses[from.access].block);
        let same_iteration =
            loops.around(loops.innermost(block)).all(|around| loops.nested(home, around));
        let disjoint = same_iteration
            && address.is_some_and(|address| {
                let (mut load, mut size) = (to.clone(), size);
                if planted!(Bug::StoreOverlap) {
                    (load.bytes, size) = (1, 1);
                }
                apart(&mut trace.arena, address, size, &load)
                    || prover.apart(trace, address, size, &load)
            });
        (!disjoint).then(|| "may-alias store between".to_owned())
    }

    pub(super) fn line(&self, inst: InstId) -> u32 {
        self.source.line(self.flow.insts[inst].ast.span.start)
    }
}

fn may_kill(access: &Access) -> bool {
    match access.effect {
        Effect::Store => {
            let own_space =
                matches!(access.space, StateSpace::Local | StateSpace::Param | StateSpace::Shared);
            !own_space || access.strong.is_some()
        }
        Effect::Load => access.strong.is_some(),
        Effect::Atomic | Effect::Barrier | Effect::Call | Effect::Opaque => true,
        Effect::Pure | Effect::Observe | Effect::Hint | Effect::Control => false,
    }
}

/// Whether a store of `size` bytes and the load touch no common byte in any lane.
fn apart(arena: &mut Arena, store: crate::expr::TermId, size: i64, load: &Load) -> bool {
    if size == 0 || arena.width(store) != arena.width(load.address) {
        return false;
    }
    let distance = arena.constant_difference(store, load.address);
    let read = ByteRange::new(0, load.bytes as u64);
    distance.is_some_and(|distance| !read.meets(ByteRange::new(distance, size as u64)))
}
