//! Parts of two programs that do the same in blocks of one shape, from a barrier of the block to another one or to the
//! end.
//!
//! All threads begin behind a barrier of the one program and of the other, with the same contents of memory and registers:
//! of those whose values are not computed from the thread's number and parameters alone, pairs are guessed. Both parts are
//! evaluated. They do the same if each thread does the same outside of shared memory, in the same order and with the same
//! barriers between what it does and what others do; if the second part accesses and writes no word in shared memory that
//! the first one does not, so it races only where the first one does; and, unless both end with the kernel, if all words
//! of shared memory hold the same. [`super::cut`] takes these parts out of both texts: what is left is compared.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use typed_index_collections::{TiVec, ti_vec};

use super::known::Known;
use super::memory::Memory;
use super::sides::{Left, Subject, evaluate};
use super::threads::{Block, End, Partners, Place, is_barrier};
use super::uniform::{Leaf, each};
use super::values::{Action, Values};
use crate::cfg::{Arg, Base, Flow, InstId, RegisterId};
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::program::results;

/// How many pairs of parts of two kernels are tried.
const MAX_PAIRS: usize = 24;

/// How often the signatures of registers are refined.
const ROUNDS: usize = 8;

/// A part of a program: what the text has in its place.
pub(super) struct Part {
    /// The barrier in front of it.
    pub from: InstId,
    /// The barrier behind it, unless it ends with the kernel.
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
    let both = Both { subjects, known: Known::of_shape(shape)?, partners: partners(subjects) };
    let [olds, news] = subjects.map(barriers);
    let from_end = |back: usize| {
        Some([olds[olds.len().checked_sub(back)?], news[news.len().checked_sub(back)?]])
    };
    let from_start = olds.iter().zip(&news).map(|(old, new)| [*old, *new]).rev();
    let mut starts: Vec<[InstId; 2]> = from_start.collect();
    starts.extend((1..=olds.len()).filter_map(from_end));
    let ends = (1..=olds.len()).rev().filter_map(from_end).map(Some);
    let pairs = std::iter::once(None).chain(ends).flat_map(|end| {
        let behind = move |start: &[InstId; 2]| {
            end.is_none_or(|end: [InstId; 2]| start[0] < end[0] && start[1] < end[1])
        };
        starts.iter().filter(move |start| behind(start)).map(move |start| (*start, end))
    });
    let differ = pairs.filter(|(start, end)| both.differ(*start, *end));
    differ.take(MAX_PAIRS).find_map(|(start, end)| both.are_same(start, end))
}

/// The barriers that all threads of the block pass together, in the order of the text.
fn barriers(subject: &Subject<'_, '_, '_>) -> Vec<InstId> {
    let flow = subject.flow;
    let mut found: Vec<InstId> = flow
        .block_ids()
        .filter(|block| subject.uniform.all_pass(*block) && !subject.may_have_called(*block))
        .flat_map(|block| flow.block(block).instructions())
        .filter(|at| is_barrier(&flow.insts[*at]))
        .collect();
    found.sort_unstable();
    found
}

/// Guesses which registers of the second program hold the value of which of the first: those that are made alike.
fn partners([old, new]: [&Subject<'_, '_, '_>; 2]) -> Partners {
    let mut by_signature: FxHashMap<u64, Option<RegisterId>> = FxHashMap::default();
    let own = signatures(old.flow);
    for (register, signature) in own.iter_enumerated() {
        let one = by_signature.entry(*signature).or_insert(Some(register));
        *one = one.filter(|known| *known == register);
    }
    let of_new = signatures(new.flow);
    let partner = |(register, signature): (RegisterId, &u64)| {
        let name = new.flow.registers[register].name;
        let same = |other: &RegisterId| {
            own[*other] == *signature && old.flow.registers[*other].name == name
        };
        let unique = by_signature.get(signature).copied()?;
        let other = unique.or_else(|| own.keys().find(same))?;
        Some((register, (other, old.uniform.varies(other))))
    };
    of_new.iter_enumerated().filter_map(partner).collect()
}

/// By register a hash of how it is made: registers of two programs that are computed alike have one.
fn signatures(flow: &Flow<'_, '_>) -> TiVec<RegisterId, u64> {
    let hashed = |parts: &dyn Fn(&mut FxHasher)| {
        let mut hasher = FxHasher::default();
        parts(&mut hasher);
        hasher.finish()
    };
    let width = |register: RegisterId| flow.registers[register].ty.bits();
    let mut all: TiVec<RegisterId, u64> =
        flow.registers.keys().map(|one| hashed(&|hasher| width(one).hash(hasher))).collect();
    for _ in 0..ROUNDS {
        let mut made: TiVec<RegisterId, Vec<u64>> = ti_vec![Vec::new(); all.len()];
        for inst in flow.block_ids().flat_map(|block| flow.block(block).instructions()) {
            let inst = &flow.insts[inst];
            for (place, register) in results(inst).into_iter().enumerate() {
                made[register].push(hashed(&|hasher| {
                    (place, inst.ast.opcode.text).hash(hasher);
                    inst.guard.map(|(guard, negated)| (all[guard], negated)).hash(hasher);
                    for arg in inst.args.iter().skip(1) {
                        hash(arg, &all, hasher);
                    }
                }));
            }
        }
        all = made
            .into_iter_enumerated()
            .map(|(register, mut made)| {
                made.sort_unstable();
                hashed(&|hasher| (width(register), &made).hash(hasher))
            })
            .collect();
    }
    all
}

/// Adds an operand, its registers by their signatures.
fn hash(arg: &Arg<'_>, signatures: &TiVec<RegisterId, u64>, hasher: &mut FxHasher) {
    each(arg, &mut |leaf| match leaf {
        Leaf::Register(register) => signatures[register].hash(hasher),
        Leaf::Special(special) => special.to_string().hash(hasher),
    });
    match arg {
        Arg::Sum(_, offset) | Arg::Memory { offset, .. } => offset.hash(hasher),
        Arg::Constant(value) => format!("{value:?}").hash(hasher),
        Arg::Symbol { name, offset, .. } => (name, offset).hash(hasher),
        _ => {}
    }
    if let Arg::Memory { base: Base::Symbol { name, .. }, .. } = arg {
        name.hash(hasher);
    }
}

/// Two kernels in blocks of one shape.
struct Both<'p, 'm, 's> {
    subjects: [&'p Subject<'p, 'm, 's>; 2],
    known: Known,
    partners: Partners,
}

impl<'m, 's> Both<'_, 'm, 's> {
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
    fn are_same(&self, start: [InstId; 2], end: Option<[InstId; 2]>) -> Option<[Part; 2]> {
        let [old, new] = self.subjects;
        let mut values = Values::default();
        let ends = [0, 1].map(|side| end.map(|end| end[side]));
        let memory = self.stored(start[0], &mut values);
        let one = self.left(0, (start[0], ends[0]), &mut values, memory.clone())?;
        let other = self.left(1, (start[1], ends[1]), &mut values, memory)?;
        let is_same = are_alike(&one.actions, &other.actions)
            && other.memory.is_within(&one.memory)
            && (end.is_none() || one.memory.same(&other.memory))
            && old.are_apart(&mut values, [&one.memory, &other.memory]);
        is_same.then_some(())?;
        let read = other.inherited.iter().map(|new| [self.partners[new].0, *new]);
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
    fn place(&self, side: usize, from: InstId, to: Option<InstId>) -> Option<Place<'_, 'm, 's>> {
        let Subject { flow, definitions, uniform, .. } = self.subjects[side];
        Some(Place {
            flow,
            definitions,
            uniform,
            known: &self.known,
            start: (definitions.block_of(from)?, from.next()),
            reader: from,
            end: to.map_or(End::Exit, End::Barrier),
            branch: None,
            partners: (side == 1).then_some(&self.partners),
        })
    }

    /// What all threads leave behind.
    fn left(
        &self,
        side: usize,
        (from, to): (InstId, Option<InstId>),
        values: &mut Values,
        memory: Memory,
    ) -> Option<Left> {
        let place = self.place(side, from, to)?;
        let first = place.start.0;
        let live = match to {
            Some(to) => self.subjects[side].changed_before(first, to)?,
            None => Vec::new(),
        };
        let mut block = Block::new(&place, values, (first, false));
        block.memory = memory;
        evaluate(block, &live)
    }

    /// Shared memory behind a barrier of the original, as far as the code right in front of it has stored there: as the
    /// original is free of data races, nobody else has written these words.
    fn stored(&self, barrier: InstId, values: &mut Values) -> Memory {
        let stored = self.place(0, barrier, None).and_then(|place| {
            let mut block = Block::new(&place, values, (place.start.0, false));
            block.stores_before(barrier)?;
            block.memory.start();
            Some(block.memory)
        });
        stored.unwrap_or_default()
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
