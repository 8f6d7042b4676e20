//! Trees, and the facts about a function that the search for them needs.

use rustc_hash::FxHashMap;

use super::around::is_read;
use super::step::{Part, Step, Stride, Traced};
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::collective::Obstacle;
use crate::emulate::definitions;

/// The strides that the first replaced step may have.
pub(super) const FIRST: [u64; 2] = [32, 16];

/// The fewest steps that are replaced.
pub(super) const FEWEST: usize = 3;

/// A value that a register gets in place of the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Set {
    /// The register.
    pub register: RegisterId,
    /// Its value.
    pub value: u64,
}

/// The possible steps, by the block of the branch: the stride, and the step or its obstacle.
pub(super) type Steps = FxHashMap<BlockId, (Stride, Result<Step, Obstacle>)>;

/// The steps that one warp does.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The steps with their strides, the first one in front; of a loop it is the same one each time.
    pub steps: Vec<(Step, u64)>,
    /// In a loop, the register by whose value the first step is known, and that value.
    pub begins: Option<Set>,
    /// The registers of the loop, as they are behind it.
    pub sets: Vec<Set>,
    /// The block where all threads go on.
    pub behind: BlockId,
    /// The barrier to repeat in front of that block, if none follows there.
    pub barrier: Option<InstId>,
    /// How many barriers are passed over.
    pub barriers: u32,
    /// A register that holds `%tid.x`, if there is one.
    pub thread: Option<RegisterId>,
}

/// A tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The branch of the first step.
    pub branch: InstId,
    /// The accesses of its steps.
    pub accesses: Vec<InstId>,
    /// The blocks of its steps and in between.
    pub blocks: Vec<BlockId>,
    /// The register that the first step stores.
    pub stored: Option<RegisterId>,
    /// How many threads the first step that is replaced combines; of a tree that stays, of the first one.
    pub elements: u64,
    /// Its replacement, or the obstacle.
    pub plan: Result<Plan, Obstacle>,
}

/// Searches one function.
pub(super) struct Search<'a, 't, 'm, 's> {
    pub traced: Traced<'t, 'm, 's>,
    pub line: &'a dyn Fn(InstId) -> u32,
    pub is_kernel: bool,
    /// Whether a block is a version that an earlier rewrite has left.
    pub is_version: &'a dyn Fn(BlockId) -> bool,
}

impl Search<'_, '_, '_, '_> {
    /// The plan, if no other code reads the registers that the bodies write, and arrays do not overlap.
    pub(super) fn checked(&self, plan: Plan, bodies: &[BlockId]) -> Result<Plan, Obstacle> {
        let flow = self.traced.flow;
        let (Some((step, stride)), Some((last, _))) = (plan.steps.first(), plan.steps.last())
        else {
            return Err(Obstacle::TreeStrides);
        };
        let carried: Vec<RegisterId> =
            step.parts.iter().filter(|part| part.carried).map(|part| part.stored).collect();
        for at in bodies.iter().flat_map(|body| flow.block(*body).instructions()) {
            for register in definitions(&flow.insts[at]) {
                if !carried.contains(&register) && is_read(flow, plan.behind, register) {
                    let name = flow.registers[register].to_string();
                    return Err(Obstacle::TreeRegister(name));
                }
            }
        }
        // Lanes that have not stored yet hold their elements in the array alone.
        if !carried.is_empty() && *stride != FIRST[0] {
            let line = (self.line)(step.parts[0].store);
            return Err(Obstacle::TreeElement(line));
        }
        let first = flow.block(plan.behind).first;
        let Some(behind) = flow.insts.get(first).filter(|inst| !inst.pragma) else {
            return Err(Obstacle::TreeStrides);
        };
        let open = self.open_brackets(step, behind.ast.span.start as usize)
            || self.open_brackets(step, self.branch_of(last));
        let apart = self.are_apart(&step.parts, 2 * stride);
        match (open, apart) {
            (true, _) => Err(Obstacle::TreeBetween((self.line)(flow.block(last.guard).first))),
            (_, false) => Err(Obstacle::TreeArrays),
            (false, true) => Ok(plan),
        }
    }

    /// Whether a label at a byte may mean another one at the first step: some brace is open.
    fn open_brackets(&self, first: &Step, byte: usize) -> bool {
        let scopes = &self.traced.flow.scopes;
        scopes.scope_at(self.branch_of(first)) != scopes.scope_at(byte)
    }

    /// The byte where the branch of a step stands.
    fn branch_of(&self, step: &Step) -> usize {
        let flow = self.traced.flow;
        let at = flow.block(step.guard).end.before();
        flow.insts[at].ast.span.start as usize
    }

    /// Whether no two of some arrays share any of their first elements.
    fn are_apart(&self, parts: &[Part], elements: u64) -> bool {
        let arena = &self.traced.trace.arena;
        let start = |part: &Part| self.traced.start(part.own);
        parts.iter().enumerate().all(|(index, one)| {
            parts[..index].iter().all(|other| {
                let (a, b) = (arena.linear_parts(one.own), arena.linear_parts(other.own));
                let far = |a: u64, b: u64| {
                    let (a, b) = (a as u32 as i32, b as u32 as i32);
                    let ahead = i64::from(a) - i64::from(b);
                    let bytes = (elements * one.bytes.max(other.bytes)) as i64;
                    ahead.abs() >= bytes
                };
                match (start(one), start(other)) {
                    (Some(one), Some(other)) if one != other => true,
                    _ => a.1 == b.1 && far(a.0, b.0),
                }
            })
        })
    }
}

/// The accesses of a step, in program order.
pub(super) fn accesses(step: &Step) -> Vec<InstId> {
    let mut found: Vec<InstId> = step
        .parts
        .iter()
        .flat_map(|part| part.load.into_iter().chain([part.other, part.store]))
        .collect();
    found.sort_unstable();
    found
}
