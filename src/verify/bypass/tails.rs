//! Parts of two programs that do the same in blocks of one shape, from a barrier of the block to another one, to a branch
//! or to the end.
//!
//! All threads start behind a barrier of the one program and of the other, with the same contents of memory and registers.
//! (Pairs of registers are guessed, unless their values are computed from the thread's number and parameters alone.) Both
//! parts are evaluated. They do the same if
//! - each thread does the same outside of shared memory, in the same order, and barriers still order all that they ordered;
//! - the second part accesses and writes no word in shared memory that the first one does not, so it races with code
//!   outside only where the first one does (within the part the evaluation finds races);
//! - since the last barrier, threads have accessed no word otherwise, so the second part races with the code behind it only
//!   where the first one does;
//! - words in shared memory that then differ are written again before they are read, if there is code behind the part.
//!
//! [`super::cut`] takes these parts out of both texts, and the rest is compared.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use typed_index_collections::{TiVec, ti_vec};

use super::known::Known;
use super::memory::Memory;
use super::operation::address;
use super::sides::{Left, Subject, evaluate};
use super::threads::{Block, End, Partners, Place, is_barrier};
use super::uniform::reads;
use super::values::{Action, Values};
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, BlockId, Inst, InstId, RegisterId};
use crate::expr::{TermId, within};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Opcode, Qualifier};
use crate::program::{Role, depends_on_convergence, role};
use crate::ptx::StateSpace;

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
}

/// Two parts of two kernels that do the same in blocks of a shape.
pub(super) fn parts<'p, 'm, 's>(
    subjects: [&'p Subject<'p, 'm, 's>; 2],
    shape: [u32; 3],
) -> Option<[Part; 2]> {
    let signatures = subjects.map(signatures);
    let both = Both { subjects, known: Known::of_shape(shape)?, signatures };
    let [olds, news] = subjects.map(barriers);
    let from_end = |back: usize| {
        Some([olds[olds.len().checked_sub(back)?], news[news.len().checked_sub(back)?]])
    };
    let from_start = olds.iter().zip(&news).map(|(old, new)| [*old, *new]).rev();
    let mut starts: Vec<[InstId; 2]> = from_start.collect();
    starts.extend((1..=olds.len()).filter_map(from_end));
    let ends = (1..=olds.len()).filter_map(from_end).map(Some);
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
    let differ =
        pairs.filter(|(start, end)| both.are_in_order(*start, *end) && both.differ(*start, *end));
    let mut values = Values::within_limit(MAX_STEPS);
    let mut found = differ.take(MAX_PAIRS);
    within(|| found.find_map(|(start, end)| both.are_same(start, end, &mut values))).ok()?
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

/// Two kernels in blocks of one shape.
struct Both<'p, 'm, 's> {
    subjects: [&'p Subject<'p, 'm, 's>; 2],
    known: Known,
    signatures: [TiVec<InstId, u64>; 2],
}

impl<'m, 's> Both<'_, 'm, 's> {
    /// Whether no thread reads some words of shared memory behind the parts before all of them are written anew.
    fn are_unread(
        &self,
        end: [InstId; 2],
        words: &[(TermId, ByteRange)],
        values: &mut Values,
    ) -> bool {
        let is_unread = |side: usize, values: &mut Values| {
            let Subject { flow, definitions, uniform, .. } = self.subjects[side];
            let Some(block) = definitions.block_of(end[side]) else { return false };
            let mut seen = ti_vec![false; flow.blocks.len()];
            let mut work = vec![(block, end[side])];
            'paths: while let Some((block, first)) = work.pop() {
                for at in first.to(flow.block(block).end) {
                    let inst = &flow.insts[at];
                    if may_read_shared(inst) && !self.reads_others(inst, words, values) {
                        return false;
                    }
                    // (All threads have to store, not those alone that come to one of several barriers.)
                    if is_barrier(inst) && at != end[side] && uniform.all_pass(block) {
                        let stored = self.stored(side, at, values);
                        if words.iter().all(|word| stored.has(*word)) {
                            continue 'paths;
                        }
                    }
                }
                for edge in &flow.block(block).successors {
                    if !std::mem::replace(&mut seen[edge.to], true) {
                        work.push((edge.to, flow.block(edge.to).first));
                    }
                }
            }
            true
        };
        // (Registers of the two are not the same by their numbers.)
        let are_named = words.iter().all(|(start, _)| values.is_address(*start));
        words.is_empty() || are_named && is_unread(0, values) && is_unread(1, values)
    }

    /// Whether a load is of words at a constant place within an array, none of them among some words.
    fn reads_others(
        &self,
        inst: &Inst<'_, '_>,
        words: &[(TermId, ByteRange)],
        values: &mut Values,
    ) -> bool {
        let (Some(Arg::Memory { base: Base::Symbol { name, local }, offset, rest }), Some(ty)) =
            (inst.args.get(1), inst.ast.form.last_type())
        else {
            return false;
        };
        let parts = inst.ast.form.elements().map_or(1, u32::from);
        let own = ByteRange::new(*offset, ty.bits() / 8 * parts);
        let start = address(values, name, *local);
        let sizes = self.subjects[0].sizes(values);
        role(inst) == Role::Load
            && rest.is_empty()
            && sizes.get(&start).is_some_and(|array| array.covers(own))
            && words.iter().all(|(other, word)| {
                let is_within = sizes.get(other).is_some_and(|array| array.covers(*word));
                is_within && (*other != start || !word.meets(own))
            })
    }

    /// Guesses which registers of the second program hold behind a barrier what which of the first hold: those that are
    /// made alike.
    fn partners(&self, start: [InstId; 2]) -> Partners {
        let all = [0, 1].map(|side| {
            let Subject { flow, definitions, .. } = self.subjects[side];
            let mut found: Vec<(RegisterId, (u64, u32))> = Vec::new();
            for (register, declared) in flow.registers.iter_enumerated() {
                let from = definitions.may_reach(register, start[side]);
                let signature = joined(&from, &self.signatures[side]);
                found.push((register, (signature, declared.ty.bits())));
            }
            found
        });
        let uniform = &self.subjects[0].uniform;
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
            let Subject { flow, definitions, .. } = self.subjects[side];
            let of = |at: InstId| definitions.block_of(at);
            let (Some(first), Some(last)) = (of(start[side]), of(end[side])) else { return false };
            let mut around = flow.loops.around(flow.loops.innermost(last));
            start[side] < end[side] && around.all(|one| flow.loops.contains(one, first))
        })
    }

    /// Whether the texts between two barriers are of other instructions.
    fn differ(&self, start: [InstId; 2], end: Option<[InstId; 2]>) -> bool {
        let [old, new] = [0, 1].map(|side| {
            let insts = &self.subjects[side].flow.insts;
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
        let [old, new] = self.subjects;
        let ends = [0, 1].map(|side| end.map(|end| end[side]));
        let partners = self.partners(start);
        let memory = self.stored(0, start[0], values);
        let one = self.left(self.place(0, start, ends[0], None)?, values, memory.clone())?;
        let place = self.place(1, start, ends[1], Some(&partners))?;
        let other = self.left(place, values, memory)?;
        let sizes = old.sizes(values);
        let is_safe = |start: TermId, own: ByteRange| {
            !old.has_others() && sizes.get(&start).is_some_and(|array| array.covers(own))
        };
        let difference: Vec<_> = one.memory.difference(&other.memory).collect();
        let is_same = are_alike(&one.actions, &other.actions)
            && other.memory.is_within(&one.memory, &is_safe)
            && (end.is_none() || other.memory.is_left_like(&one.memory))
            && end.is_none_or(|end| self.are_unread(end, &difference, values))
            && old.are_apart(values, [&one.memory, &other.memory]);
        is_same.then_some(())?;
        let read = other.inherited.iter().map(|new| [partners[new].0, *new]);
        let read: Vec<[RegisterId; 2]> = read.collect();
        let mut written: BTreeMap<&[TermId], [Vec<RegisterId>; 2]> = BTreeMap::new();
        for (side, left) in [&one, &other].into_iter().enumerate() {
            for (register, terms) in &left.registers {
                written.entry(terms).or_default()[side].push(*register);
            }
        }
        // (Where a register's name means another one, the text cannot say it.)
        let part = |side: usize| {
            let Subject { flow, .. } = [old, new][side];
            let read: Vec<RegisterId> = read.iter().map(|pair| pair[side]).collect();
            let written = written
                .iter()
                .map(|(terms, sides)| (values.arena.width(terms[0]), sides[side].clone()));
            let written: Vec<_> = written.collect();
            let named = read.iter().chain(written.iter().flat_map(|(_, registers)| registers));
            let is_named = named.into_iter().all(|one| flow.visible(*one, start[side]));
            is_named.then_some(Part { from: start[side], to: ends[side], read, written })
        };
        Some([part(0)?, part(1)?])
    }

    /// The place behind a barrier of one of the two, up to another one or to the end.
    fn place<'a>(
        &'a self,
        side: usize,
        from: [InstId; 2],
        to: Option<InstId>,
        partners: Option<&'a Partners>,
    ) -> Option<Place<'a, 'm, 's>> {
        let Subject { flow, definitions, uniform, behind, live, .. } = self.subjects[side];
        Some(Place {
            flow,
            definitions,
            uniform,
            behind,
            live,
            known: &self.known,
            start: (definitions.block_of(from[side])?, from[side].next()),
            reader: from[side],
            end: to.map_or(End::Exit, End::Inst),
            branch: None,
            partners,
        })
    }

    /// What all threads leave behind.
    fn left(&self, place: Place<'_, '_, '_>, values: &mut Values, memory: Memory) -> Option<Left> {
        let first = place.start.0;
        let subject = self.subjects[usize::from(place.partners.is_some())];
        let live = match place.end {
            End::Inst(to) => subject.changed_before(first, to)?,
            _ => Vec::new(),
        };
        let mut block = Block::new(&place, values, (first, false));
        block.memory = memory;
        evaluate(block, &live)
    }

    /// Shared memory behind a barrier, as far as the code right in front of it has stored there: as the original is free of
    /// data races, nobody else has written these words.
    fn stored(&self, side: usize, barrier: InstId, values: &mut Values) -> Memory {
        let stored = self.place(side, [barrier; 2], None, None).and_then(|place| {
            let mut block = Block::new(&place, values, (place.start.0, false));
            block.stores_before(barrier)?;
            block.memory.start();
            Some(block.memory)
        });
        stored.unwrap_or_default()
    }
}

/// Whether an instruction may read shared memory.
fn may_read_shared(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let elsewhere = [StateSpace::Global, StateSpace::Param, StateSpace::Const, StateSpace::Local];
    match role(inst) {
        Role::Load => !elsewhere.contains(&form.space()),
        Role::Collective => form.opcode == Opcode::Ldmatrix,
        Role::Effect => {
            !(matches!(form.opcode, Opcode::Atom | Opcode::Red)
                && form.space() == StateSpace::Global)
        }
        _ => false,
    }
}

/// Whether threads do the same: each the same in the same order, and what barriers have put in order before they still do.
fn are_alike(old: &[Vec<Action>], new: &[Vec<Action>]) -> bool {
    fn what(actions: &[Action]) -> impl Iterator<Item = (&str, &[TermId])> {
        actions.iter().map(|action| (&action.what[..], &action.operands[..]))
    }
    // The places of actions between barriers, without the barriers that have no action before them.
    let ranks = |threads: &[Vec<Action>], of: &dyn Fn(&Action) -> (u32, u32)| -> Vec<usize> {
        let mut all: Vec<(u32, u32)> = threads.iter().flatten().map(of).collect();
        all.sort_unstable();
        all.dedup();
        threads
            .iter()
            .flatten()
            .map(|action| all.partition_point(|one| *one < of(action)))
            .collect()
    };
    let in_order =
        |old: &[Vec<Action>], new: &[Vec<Action>], of: &dyn Fn(&Action) -> (u32, u32)| {
            ranks(old, of) == ranks(new, of)
        };
    let warp = WARP_SIZE as usize;
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| what(old).eq(what(new)))
        && in_order(old, new, &|action| (action.when.0, 0))
        && old
            .chunks(warp)
            .zip(new.chunks(warp))
            .all(|(old, new)| in_order(old, new, &|action| action.when))
}
