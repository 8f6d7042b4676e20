//! Barriers and shuffles that lanes of a warp go past.
//!
//! A lane that has left the function is not waited for, so conditions behind which it leaves do not count: `if (i >= n)
//! return;` in front of a barrier does not count.

use rustc_hash::{FxHashMap, FxHashSet};

use super::warps::{Literal, Warps};
use crate::cfg::{BlockId, Flow, InstId, reached};
use crate::expr::Facts;
use crate::isa::{Opcode, Qualifier};
use crate::lanes::Warp;

/// A barrier or a shuffle that some lanes of a warp execute and others, which are still running, do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partial {
    /// The instruction.
    pub inst: InstId,
    /// The warp in which that is so, of those that every block has.
    pub warp: usize,
    /// The lanes that execute it, a bit for each.
    pub executing: u32,
    /// The number of them that execute it at most, where it is not known which of them do.
    pub at_most: Option<u32>,
    /// The lanes that go past it, a bit for each.
    pub passing: u32,
}

/// All barriers and shuffles of a function that lanes of a warp go past, where that is certain for a full warp.
pub(super) fn all(warps: &mut Warps<'_, '_, '_>) -> Vec<Partial> {
    let (flow, trace) = (warps.flow, warps.context.trace);
    let mut known = FxHashMap::default();
    let mut found = Vec::new();
    for block in flow.block_ids().filter(|&block| trace.reachable[block]) {
        let mut conditions: Option<Conditions> = None;
        for at in flow.block(block).instructions().filter(|&at| waits_for_warp(flow, at)) {
            let mut own: Vec<Literal> = Vec::new();
            if flow.insts[at].guard.is_some() {
                // The trace has the guard of a barrier, and none of a shuffle.
                let access = trace.accesses.iter().find(|one| one.inst == at);
                own.extend(access.and_then(|one| one.guard).map(|guard| (guard, true)));
            }
            let facts = warps.facts(block);
            let every: Vec<Literal> = facts.literals(&trace.arena).chain(own.clone()).collect();
            let certain = warps.certain();
            let splits = |warp: &Warp, warps: &mut Warps<'_, '_, '_>| {
                warps.holding(*warp, block, &every) != warps.holding(*warp, block, &[])
            };
            // Most barriers are executed by all lanes.
            if !certain.iter().any(|warp| splits(warp, warps)) {
                continue;
            }
            let Conditions { ended, parted } =
                conditions.get_or_insert_with(|| Conditions::of(warps, block, &mut known));
            let executed = [&ended[..], parted, &own].concat();
            let partial = certain.iter().enumerate().find_map(|(number, &warp)| {
                let running = warps.holding(warp, block, ended);
                let executing = warps.holding(warp, block, &executed);
                let passing = running & !executing;
                let is_partial = executing != 0 && passing != 0;
                let conditions = [&parted[..], &own].concat();
                let mut at_most = || at_most(warps, (warp, block), &conditions, executing);
                is_partial.then(|| Partial {
                    inst: at,
                    warp: number,
                    executing,
                    at_most: at_most(),
                    passing,
                })
            });
            found.extend(partial);
        }
    }
    found
}

/// The most lanes of a set for which literals hold; `None` if they hold for all.
fn at_most(
    warps: &mut Warps<'_, '_, '_>,
    (warp, block): (Warp, BlockId),
    literals: &[Literal],
    set: u32,
) -> Option<u32> {
    let open = literals.iter().filter(|literal| !warps.are_decided(warp, block, &[**literal]));
    let open: Vec<Literal> = open.copied().collect();
    let each = open.iter().map(|&literal| warps.most_equal(warp, block, literal, set));
    each.min()
}

/// Whether an instruction must be executed by all lanes of a warp together, or by those that its mask names.
fn waits_for_warp(flow: &Flow<'_, '_>, at: InstId) -> bool {
    let form = &flow.insts[at].ast.form;
    match form.opcode {
        Opcode::Shfl => form.has(Qualifier::Sync),
        Opcode::Bar => !form.has(Qualifier::Warp),
        Opcode::Barrier => form.has(Qualifier::Aligned),
        _ => false,
    }
}

/// The literals that hold in a block.
struct Conditions {
    /// Those of lanes whose others have left the function.
    ended: Vec<Literal>,
    /// Those of lanes whose others are still running.
    parted: Vec<Literal>,
}

impl Conditions {
    /// `known`: of blocks, whether the lanes that do not come to them are still running.
    fn of(
        warps: &Warps<'_, '_, '_>,
        block: BlockId,
        known: &mut FxHashMap<BlockId, bool>,
    ) -> Conditions {
        let (flow, trace) = (warps.flow, warps.context.trace);
        let (mut ended, mut parted) = (Facts::default(), Facts::default());
        for at in flow.dominators.chain(block) {
            let Some(assumed) = trace.assumptions[at] else { continue };
            let stay = *known.entry(at).or_insert_with(|| {
                trace.arena.charge(flow.blocks.len() as u64);
                others_stay(flow, at)
            });
            let facts = if stay { &mut parted } else { &mut ended };
            facts.add(&trace.arena, assumed);
        }
        let literals = |facts: &Facts| facts.literals(&trace.arena).collect();
        Conditions { ended: literals(&ended), parted: literals(&parted) }
    }
}

/// Whether lanes that come to the immediate dominator of a block and not to the block execute, later, code that those
/// which come to it execute, too.
fn others_stay(flow: &Flow<'_, '_>, at: BlockId) -> bool {
    let Some(above) = flow.dominators.immediate(at) else { return false };
    let behind = |block: BlockId| {
        let next = flow.block(block).successors.iter().map(|edge| edge.to);
        reached(&flow.blocks, next, Some(at))
    };
    let own: FxHashSet<BlockId> = behind(at).into_iter().collect();
    behind(above).iter().any(|block| own.contains(block) && !only_leaves(flow, *block))
}

/// Whether a block does nothing but leave the function.
fn only_leaves(flow: &Flow<'_, '_>, block: BlockId) -> bool {
    let leaves = |at: InstId| {
        matches!(flow.insts[at].ast.form.opcode, Opcode::Ret | Opcode::Exit | Opcode::Bra)
    };
    flow.block(block).instructions().all(leaves)
}
