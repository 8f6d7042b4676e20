//! Parts of two programs that do the same in blocks of one shape or of all, from a barrier of the block to another one, to a branch
//! or to the end.
//!
//! Pairs of registers that hold the same in front of the parts are guessed, unless their values are computed from the thread's
//! number and parameters alone. [`super::same`] evaluates the parts.
//!
//! [`super::parts`] takes these parts out of both texts, and the rest is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use typed_index_collections::TiVec;

use super::same::Both;
use super::sides::Subject;
use super::threads::{Partners, is_barrier, waits_for_warp};
use super::uniform::reads;
use super::values::Values;
use crate::cfg::{Arg, Base, BlockId, Inst, InstId, RegisterId};
use crate::expr::{TermId, within};
use crate::isa::{Opcode, Qualifier};
use crate::program::{Role, depends_on_convergence, results, role};

/// How many branches are tried as the ends of parts, from the last one on.
const MAX_BRANCHES: usize = 2;

/// How many pairs of parts of two kernels are tried, and the work with all of them in the steps of an arena.
const MAX_PAIRS: usize = 24;
const MAX_STEPS: u64 = 50_000_000;

/// How often the signatures of instructions are refined.
const ROUNDS: usize = 8;

/// A part of a program, and the registers that code in its place has to name.
pub(super) struct Part {
    /// The barrier in front of it.
    pub from: InstId,
    /// The barrier or branch behind it, unless it ends with the kernel.
    pub to: Option<InstId>,
    /// The registers that it reads and whose values are not known, in the other part's order.
    pub read: Vec<RegisterId>,
    /// The registers that may be read behind it, by their values, each with its bits: the same values of the other part
    /// in the same place.
    pub written: Vec<(u8, Vec<RegisterId>)>,
    /// The instructions of the part that make values which never change, for registers that may be read behind it.
    pub kept: BTreeSet<InstId>,
}

/// Two parts of two kernels that do the same in blocks of a shape.
pub(super) fn parts<'p, 'm, 's>(
    subjects: [&'p Subject<'p, 'm, 's>; 2],
    shape: Option<[u32; 3]>,
) -> Option<[Part; 2]> {
    let signatures = subjects.map(signatures);
    let search = Search { both: Both { subjects, shape }, signatures };
    let [olds, news] = subjects.map(barriers);
    let from_end = |back: usize| {
        Some([olds[olds.len().checked_sub(back)?], news[news.len().checked_sub(back)?]])
    };
    let from_start = olds.iter().zip(&news).map(|(old, new)| [*old, *new]).rev();
    let mut starts = search.alike([&olds, &news], false);
    starts.extend(from_start.chain((1..=olds.len()).filter_map(from_end)));
    let ends = search.alike([&olds, &news], true).into_iter();
    let ends = ends.chain((1..=olds.len()).filter_map(from_end)).map(Some);
    // (Behind a branch lanes may be together in another way than behind the other part.)
    let asks = |subject: &&Subject<'_, '_, '_>| {
        subject.flow.insts.iter().any(|inst| depends_on_convergence(inst))
    };
    let most = if subjects.iter().any(asks) { 0 } else { MAX_BRANCHES };
    let [branches, others] = subjects.map(branches);
    let branches = branches.into_iter().zip(others).map(|(old, new)| Some([old, new]));
    let pairs = std::iter::once(None)
        .chain(ends)
        .chain(branches.take(most))
        .flat_map(|end| starts.iter().map(move |start| (*start, end)));
    let differ = pairs
        .filter(|(start, end)| search.are_in_order(*start, *end) && search.differ(*start, *end));
    let (mut by_warps, others): (Vec<_>, Vec<_>) =
        differ.partition(|(start, end)| search.waits_for_warp(*start, *end));
    // (Where no shape is known, code without is compared as any other.)
    by_warps.extend(others.into_iter().filter(|_| shape.is_some()));
    let mut values = Values::within_limit(MAX_STEPS);
    let mut found = by_warps.into_iter().take(MAX_PAIRS);
    within(|| found.find_map(|(start, end)| search.are_same(start, end, &mut values))).ok()?
}

/// The barriers that all threads of the block pass together, in the order of the text.
fn barriers(subject: &Subject<'_, '_, '_>) -> Vec<InstId> {
    let flow = subject.flow;
    // (A barrier that some threads alone come to, or that does not wait, may have the same number.)
    let is_other = |inst: &Inst<'_, '_>| {
        let is_bar = matches!(inst.ast.form.opcode, Opcode::Bar | Opcode::Barrier);
        is_bar && !is_barrier(inst) && !inst.ast.form.has(Qualifier::Warp)
    };
    if flow.insts.iter().any(is_other) {
        return Vec::new();
    }
    let mut found: Vec<InstId> = flow
        .block_ids()
        .filter(|block| subject.uniform.all_pass(*block) && !subject.may_have_called(*block))
        .flat_map(|block| flow.block(block).instructions())
        .filter(|at| is_barrier(&flow.insts[*at]))
        .collect();
    found.sort_unstable();
    found
}

/// The branches to which all threads of the block come, and where they may part, the last ones first.
fn branches(subject: &Subject<'_, '_, '_>) -> Vec<InstId> {
    let flow = subject.flow;
    let blocks = flow.block_ids().filter(|block| subject.uniform.all_pass(*block));
    let ways = |block: &BlockId| flow.block(*block).successors.len();
    let mut found: Vec<InstId> = blocks
        .filter(|block| ways(block) == 2)
        .map(|block| flow.block(block).end.before())
        .collect();
    found.sort_unstable();
    found.reverse();
    found
}

/// By instruction a hash of how it computes: instructions of two programs that compute alike have one.
fn signatures(subject: &Subject<'_, '_, '_>) -> TiVec<InstId, u64> {
    let Subject { flow, definitions, .. } = subject;
    let made = |(at, inst): (InstId, &Inst<'_, '_>)| -> Vec<Vec<InstId>> {
        reads(inst).into_iter().map(|register| definitions.may_reach(register, at)).collect()
    };
    let made: TiVec<InstId, Vec<Vec<InstId>>> = flow.insts.iter_enumerated().map(made).collect();
    let mut all: TiVec<InstId, u64> = flow.insts.iter().map(own_signature).collect();
    for _ in 0..ROUNDS {
        let next = |(at, own): (InstId, &u64)| {
            let operands: Vec<u64> = made[at].iter().map(|from| joined(from, &all)).collect();
            hashed(&(own, operands))
        };
        all = all.iter_enumerated().map(next).collect();
    }
    all
}

/// The hash of an instruction without its registers.
fn own_signature(inst: &Inst<'_, '_>) -> u64 {
    let named = |arg: &Arg<'_>| match arg {
        Arg::Special(special) => special.to_string(),
        Arg::Sum(_, offset) => offset.to_string(),
        Arg::Memory { base: Base::Symbol { name, .. }, offset, .. } => format!("{name}+{offset}"),
        Arg::Memory { offset, .. } => offset.to_string(),
        Arg::Constant(value) => format!("{value:?}"),
        Arg::Symbol { name, offset, .. } => format!("{name}+{offset}"),
        _ => String::new(),
    };
    let operands: Vec<String> = inst.args.iter().map(named).collect();
    hashed(&(inst.ast.opcode.text, operands, inst.guard.map(|(_, negated)| negated)))
}

/// The hash of a value that one of some instructions makes.
fn joined(from: &[InstId], signatures: &TiVec<InstId, u64>) -> u64 {
    let mut all: Vec<u64> = from.iter().map(|at| signatures[*at]).collect();
    all.sort_unstable();
    hashed(&all)
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The search for two parts.
struct Search<'p, 'm, 's> {
    both: Both<'p, 'm, 's>,
    signatures: [TiVec<InstId, u64>; 2],
}

impl Search<'_, '_, '_> {
    /// Guesses which registers of the second program hold behind a barrier what which of the first hold: those that are
    /// made alike.
    fn partners(&self, start: [InstId; 2]) -> Partners {
        let all = [0, 1].map(|side| {
            let Subject { flow, definitions, .. } = self.both.subjects[side];
            let mut found: Vec<(RegisterId, (u64, u32))> = Vec::new();
            for (register, declared) in flow.registers.iter_enumerated() {
                let from = definitions.may_reach(register, start[side]);
                let signature = joined(&from, &self.signatures[side]);
                found.push((register, (signature, declared.ty.bits())));
            }
            found
        });
        let uniform = &self.both.subjects[0].uniform;
        let known: FxHashMap<(u64, u32), RegisterId> =
            all[0].iter().rev().map(|(register, signature)| (*signature, *register)).collect();
        let partner = |(own, signature): &(RegisterId, (u64, u32))| {
            let other = *known.get(signature)?;
            Some((*own, (other, uniform.varies(other))))
        };
        all[1].iter().filter_map(partner).collect()
    }

    /// Whether one place stands behind another, and in no loop without it.
    fn are_in_order(&self, start: [InstId; 2], end: Option<[InstId; 2]>) -> bool {
        let Some(end) = end else { return true };
        [0, 1].iter().all(|&side| {
            let Subject { flow, definitions, .. } = self.both.subjects[side];
            let of = |at: InstId| definitions.block_of(at);
            let (Some(first), Some(last)) = (of(start[side]), of(end[side])) else { return false };
            let mut around = flow.loops.around(flow.loops.innermost(last));
            start[side] < end[side] && around.all(|one| flow.loops.contains(one, first))
        })
    }

    /// Whether a register has a value behind a part that never changes: the register has it in front of the part, or
    /// instructions of the part compute it. These are added.
    fn keep(
        &self,
        side: usize,
        (from, to): (InstId, InstId),
        register: RegisterId,
        kept: &mut BTreeSet<InstId>,
    ) -> bool {
        let Subject { flow, definitions, .. } = self.both.subjects[side];
        let Some(at) = definitions.invariant(register, to) else { return false };
        let inst = &flow.insts[at];
        let scope = |at: InstId| flow.scopes.scope_at(flow.insts[at].ast.span.start as usize);
        definitions.reaching(register, from) == Some(at)
            || kept.contains(&at)
            || results(inst).len() == 1 && scope(at) == scope(from) && {
                let is_here = |read: &RegisterId| {
                    definitions.reaching(*read, at) == definitions.reaching(*read, to)
                };
                let reads = reads(inst);
                reads.iter().all(is_here)
                    && reads.iter().all(|read| self.keep(side, (from, to), *read, kept))
                    && kept.insert(at)
            }
    }

    /// The barriers of both that have the same access or branch behind them, or in front of them.
    fn alike(&self, barriers: [&[InstId]; 2], behind: bool) -> Vec<[InstId; 2]> {
        let [old, new] = [0, 1].map(|side| {
            let Subject { flow, definitions, .. } = self.both.subjects[side];
            let mut found: BTreeMap<u64, Vec<InstId>> = BTreeMap::new();
            for at in barriers[side].iter().copied() {
                let of = definitions.block_of(at).map(|block| flow.block(block));
                let is_access = |at: &InstId| role(&flow.insts[*at]) != Role::Pure;
                let beside = of.and_then(|of| match behind {
                    true => at.next().to(of.end).find(is_access),
                    false => of.first.to(at).rev().find(is_access),
                });
                if let Some(beside) = beside {
                    found.entry(self.signatures[side][beside]).or_default().push(at);
                }
            }
            found
        });
        let pairs = old.iter().filter_map(|(made, at)| match (&at[..], &new.get(made)?[..]) {
            ([old], [new]) => Some([*old, *new]),
            _ => None,
        });
        pairs.collect()
    }

    /// Whether lanes of a warp wait for each other in the text of the second part.
    fn waits_for_warp(&self, [_, start]: [InstId; 2], end: Option<[InstId; 2]>) -> bool {
        let insts = &self.both.subjects[1].flow.insts;
        let mut part = start.next().to(end.map_or(insts.next_key(), |[_, end]| end));
        part.any(|at| waits_for_warp(&insts[at]))
    }

    /// Whether the texts between two barriers are of other instructions.
    fn differ(&self, start: [InstId; 2], end: Option<[InstId; 2]>) -> bool {
        let [old, new] = [0, 1].map(|side| {
            let insts = &self.both.subjects[side].flow.insts;
            let part = start[side].next().to(end.map_or(insts.next_key(), |end| end[side]));
            part.map(|at| insts[at].ast.opcode.text).collect::<Vec<_>>()
        });
        old != new
    }

    /// The parts between barriers, if they do the same.
    fn are_same(
        &self,
        start: [InstId; 2],
        end: Option<[InstId; 2]>,
        values: &mut Values,
    ) -> Option<[Part; 2]> {
        let partners = self.partners(start);
        let same = self.both.left((start, end), &partners, values)?;
        let read = same.inherited.iter().map(|new| [partners[new].0, *new]);
        let read: Vec<[RegisterId; 2]> = read.collect();
        let mut written: BTreeMap<&[TermId], [Vec<RegisterId>; 2]> = BTreeMap::new();
        for (side, registers) in same.registers.iter().enumerate() {
            for (register, terms) in registers {
                written.entry(terms).or_default()[side].push(*register);
            }
        }
        // (Where a register's name means another one, the text cannot say it.)
        let part = |side: usize| {
            let Subject { flow, .. } = self.both.subjects[side];
            let read: Vec<RegisterId> = read.iter().map(|pair| pair[side]).collect();
            let to = end.map(|end| end[side]);
            let mut kept = BTreeSet::new();
            let mut written: Vec<_> = written
                .iter()
                .map(|(terms, sides)| (values.arena.width(terms[0]), sides[side].clone()))
                .collect();
            for (_, registers) in &mut written {
                registers.retain(|one| {
                    !to.is_some_and(|to| self.keep(side, (start[side], to), *one, &mut kept))
                });
            }
            let named = read.iter().chain(written.iter().flat_map(|(_, registers)| registers));
            let is_named = named.into_iter().all(|one| flow.visible(*one, start[side]));
            is_named.then_some(Part { from: start[side], to, read, written, kept })
        };
        Some([part(0)?, part(1)?])
    }
}
