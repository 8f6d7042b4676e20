//! Whether parts of two programs do the same, in blocks of one shape or of all shapes.
//!
//! All threads start behind a barrier of the one program and of the other, with the same contents of memory and registers.
//! They do the same if
//! - each thread does the same outside of shared memory, in the same order, and barriers still order all that they ordered;
//! - the second part accesses and writes no word in shared memory that the first one does not, so it races with code
//!   outside only where the first one does (within the part the evaluation finds races);
//! - since the last barrier, threads have accessed no word otherwise, so the second part races with the code behind it only
//!   where the first one does;
//! - words in shared memory that then differ are written again before they are read, if there is code behind the part.
//!
//! In blocks of one known shape each of them is evaluated.
//!
//! Where no shape is known, that is done for blocks of one row, for some lengths at once: a length that decides a branch
//! differently is looked at apart from others, in the end each by itself. One thread with an unknown number is evaluated
//! first ([`super::stages`]). Up to the barrier to which it does the same in both programs, all threads do, so memory is the
//! same there. From there on the lanes of the first warp are evaluated one by one, and few threads for all others: these may
//! execute barriers, read words that all of them read, and act outside of shared memory, each in both programs alike. More
//! than the first warp cannot be evaluated so, and rows of at most 32 threads are evaluated whole.
//!
//! Blocks of several rows count for nothing if the original has a data race in each of them, which it is taken to be free
//! of: the first threads of two rows are sure to load from one address and to store there, without a barrier between, on a
//! way that depends on nothing but the row's length. (Stores alone may be of one value.) Otherwise nothing in either part may depend on the rows.

use std::collections::{BTreeMap, BTreeSet};

use typed_index_collections::ti_vec;

use super::known::{Known, MOST_THREADS};
use super::memory::Memory;
use super::operation::address;
use super::sides::{Registers, Subject, evaluate};
use super::stages::{Stage, Stages};
use super::threads::{At, Block, Crew, End, Partners, Place, is_barrier};
use super::values::{Action, Values};
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, Inst, InstId, RegisterId};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::isa::limits::WARP_SIZE;
use crate::program::{Role, role};
use crate::ptx::StateSpace;

/// The results of two parts that do the same, in some blocks.
#[derive(Default)]
pub(super) struct Same {
    /// The registers of the second one whose values at the start decide.
    pub inherited: BTreeSet<RegisterId>,
    /// Whether threads have been evaluated one by one.
    by_threads: bool,
    /// By part and register, the values at the end.
    pub registers: [BTreeMap<RegisterId, Vec<TermId>>; 2],
}

impl Same {
    fn add(&mut self, inherited: &BTreeSet<RegisterId>, registers: [Registers; 2]) {
        self.inherited.extend(inherited);
        for (all, registers) in self.registers.iter_mut().zip(registers) {
            for (register, terms) in registers {
                all.entry(register).or_default().extend(terms);
            }
        }
    }
}

/// Two kernels, in blocks of one shape if it is known.
pub(super) struct Both<'p, 'm, 's> {
    pub subjects: [&'p Subject<'p, 'm, 's>; 2],
    pub shape: Option<[u32; 3]>,
}

impl<'m, 's> Both<'_, 'm, 's> {
    /// The results of the parts between two barriers, if they do the same.
    pub(super) fn left(
        &self,
        (start, end): ([InstId; 2], Option<[InstId; 2]>),
        partners: &Partners,
        values: &mut Values,
    ) -> Option<Same> {
        let mut between = Between { both: self, partners, start, end, live: [vec![], vec![]] };
        if let Some(end) = end {
            for side in [0, 1] {
                let first = self.subjects[side].definitions.block_of(start[side])?;
                between.live[side] = self.subjects[side].changed_before(first, end[side])?;
            }
        }
        let mut same = Same::default();
        match self.shape {
            Some(shape) => {
                let known = Known::of_shape(shape)?;
                between.are_same([None, None], (&known, Crew::All), &mut same, values)?;
            }
            None => between.are_same_in_rows(&mut same, values)?,
        }
        Some(same)
    }

    /// Whether no thread reads some words of shared memory behind the parts before all of them are written anew.
    fn are_unread(
        &self,
        end: [InstId; 2],
        words: &[(TermId, ByteRange)],
        of: (&Known, Crew),
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
                        let stored = self.stored(side, at, of, values);
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

    /// The place behind a barrier of one of the two, up to another one or to the end.
    fn place<'a>(
        &'a self,
        side: usize,
        from: [InstId; 2],
        (to, known): (Option<InstId>, &'a Known),
        partners: Option<&'a Partners>,
    ) -> Option<Place<'a, 'm, 's>> {
        let Subject { flow, definitions, uniform, behind, live, .. } = self.subjects[side];
        Some(Place {
            flow,
            definitions,
            uniform,
            behind,
            live,
            known,
            start: (definitions.block_of(from[side])?, from[side].next()),
            reader: from[side],
            end: to.map_or(End::Exit, End::Inst),
            branch: None,
            partners,
            state: None,
        })
    }

    /// Shared memory behind a barrier, as far as the code right in front of it has stored there: as the original is free of
    /// data races, nobody else has written these words.
    fn stored(
        &self,
        side: usize,
        barrier: InstId,
        (known, crew): (&Known, Crew),
        values: &mut Values,
    ) -> Memory {
        let stored = self.place(side, [barrier; 2], (None, known), None).and_then(|place| {
            let mut block = Block::new(&place, values, (place.start.0, crew));
            block.stores_before(barrier)?;
            block.memory.start();
            Some(block.memory)
        });
        stored.unwrap_or_default()
    }
}

/// A part of each of two kernels.
struct Between<'b, 'p, 'm, 's> {
    both: &'b Both<'p, 'm, 's>,
    partners: &'b Partners,
    start: [InstId; 2],
    end: Option<[InstId; 2]>,
    /// The registers that count at the end.
    live: [Vec<RegisterId>; 2],
}

impl<'m, 's> Between<'_, '_, 'm, 's> {
    /// Whether the parts do the same in all blocks: in those of one row, whatever its length is, and in others, unless the
    /// original races there.
    fn are_same_in_rows(&self, same: &mut Same, values: &mut Values) -> Option<()> {
        let most = self.both.subjects[0].function.most_threads();
        let most = most.map_or(MOST_THREADS, |most| most.clamp(1, MOST_THREADS.into()) as u32);
        let mut work = vec![(1, most)];
        while let Some((least, most)) = work.pop() {
            if self.are_same_in((least, most), same, values).is_none() {
                // (Where the upper bits of a number are known, so are those of its half.)
                let middle = most >> (least ^ most).checked_ilog2()? << (least ^ most).ilog2();
                work.extend([(least, middle - 1), (middle, most)]);
            }
        }
        // (Code that is the same in each thread is compared as any other.)
        same.by_threads.then_some(())
    }

    /// One thread that stands for all, in rows of some lengths.
    fn stages(
        &self,
        side: usize,
        (known, crew): (&Known, Crew),
        values: &mut Values,
    ) -> Option<Stages> {
        let place = self.place(side, known)?;
        let block = Block::new(&place, values, (place.start.0, crew));
        Some(Stages::of(block, &self.live[side]))
    }

    /// The same of rows of some lengths. Up to some barrier both do the same in all threads; from there on the first warp is
    /// evaluated, and one thread for all others.
    fn are_same_in(&self, range: (u32, u32), same: &mut Same, values: &mut Values) -> Option<()> {
        let known = Known::of_row(range);
        let mut both = |one_row: bool| {
            let of = (&known, Crew::Any { one_row });
            let both = [self.stages(0, of, values)?, self.stages(1, of, values)?];
            Some((both[0].common(&both[1]), both))
        };
        let (mut common, mut both_stages) = both(false)?;
        if both_stages[0].all[common].at != At::Done {
            if both_stages.iter().any(|one| one.asks_for_rows) {
                (common, both_stages) = both(true)?;
            }
            let of = (&known, Crew::FirstOfRow);
            self.stages(0, of, values)?.rows_race.then_some(())?;
        }
        let both = both_stages;
        let [old, new] = &both;
        let at = [&old.all[common], &new.all[common]];
        if at[0].at == At::Done {
            let left = |side: usize| {
                let live = self.live[side].iter();
                live.map(|register| (*register, vec![at[side].registers[register]])).collect()
            };
            same.add(&new.inherited, [left(0), left(1)]);
            return Some(());
        }
        let crew = match range {
            (least, _) if least > WARP_SIZE => Crew::FirstWarp,
            (least, most) if least == most => Crew::All,
            _ => return None,
        };
        self.are_same(at.map(|stage| (common > 0).then_some(stage)), (&known, crew), same, values)?;
        same.inherited.extend(&new.inherited);
        same.by_threads = true;
        Some(())
    }

    fn place<'a>(&'a self, side: usize, known: &'a Known) -> Option<Place<'a, 'm, 's>> {
        let end = self.end.map(|end| end[side]);
        let partners = (side == 1).then_some(self.partners);
        self.both.place(side, self.start, (end, known), partners)
    }

    /// Whether the parts do the same from a stage of each on, or from the start.
    fn are_same(
        &self,
        stages: [Option<&Stage>; 2],
        (known, crew): (&Known, Crew),
        same: &mut Same,
        values: &mut Values,
    ) -> Option<()> {
        let Between { both, start, end, .. } = *self;
        let old = both.subjects[0];
        let memory = match stages[0] {
            None => both.stored(0, start[0], (known, crew), values),
            Some(_) => Memory::default(),
        };
        let mut left = |side: usize| {
            let mut place = self.place(side, known)?;
            if let Some(stage) = stages[side]
                && let At::Running(block, at) = stage.at
            {
                (place.start, place.state) = ((block, at), Some(&stage.registers));
            }
            let mut block = Block::new(&place, values, (place.start.0, crew));
            block.memory = memory.clone();
            evaluate(block, &self.live[side])
        };
        let (one, other) = (left(0)?, left(1)?);
        let sizes = old.sizes(values);
        let is_safe = |start: TermId, own: ByteRange| {
            !old.has_others() && sizes.get(&start).is_some_and(|array| array.covers(own))
        };
        let difference: Vec<_> = one.memory.difference(&other.memory).collect();
        let is_same = (planted!(Bug::UndoneOtherActions)
            || are_alike(&one.actions, &other.actions))
            && other.memory.is_within(&one.memory, &is_safe)
            && (end.is_none() || other.memory.is_left_like(&one.memory))
            && end.is_none_or(|end| both.are_unread(end, &difference, (known, crew), values))
            && old.are_apart(values, [&one.memory, &other.memory]);
        is_same.then_some(())?;
        same.add(&other.inherited, [one.registers, other.registers]);
        Some(())
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
        && old
            .iter()
            .zip(new)
            .all(|(old, new)| old.iter().map(Action::done).eq(new.iter().map(Action::done)))
        && in_order(old, new, &|action| (action.when.0, 0))
        && old
            .chunks(warp)
            .zip(new.chunks(warp))
            .all(|(old, new)| in_order(old, new, &|action| action.when))
}
