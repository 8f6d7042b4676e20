//! The exchanged and combined values of a full warp's lanes (`shfl.sync`, `vote.sync`, `redux.sync` with the constant
//! mask of all lanes), as tables of lanes.
//!
//! In: the results of such instructions, in either program, each as a symbol. Out: whether two terms are equal in each
//! of the 32 lanes, modulo the laws of sums and of the lattice operators (PTX ISA, "shfl.sync", "vote.sync",
//! "redux.sync"). In one lane, the result of a shuffle is the sent value in the source lane; a reduction is the normal
//! form of the values of all lanes, or in the rewritten program of those that name each other as members. Other values stay
//! symbols of their lane. Where a warp may lack lanes, a claim also holds without them (`absent`, `senders`).
//!
//! An instruction with the mask of all lanes is executed by all lanes of a warp together: the others wait for a lane
//! that does not come, and the value it would send is undefined (PTX ISA, "shfl.sync"). Only those instructions count
//! at which no lane of the warp may be at another warp instruction meanwhile (`meeting`).

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::absent::{self, Opaque};
use super::by_lane;
use super::extremum::{Lemma, lemmas};
use super::lanes::Lanes;
use super::meeting::{self, Meeting, Position};
use super::senders::Origins;
use super::tables::{Tables, Ways};
use super::uniform::{Uniform, has_whole_rows};
use super::way::{Way, is_of_all, is_reduction, way};
use crate::cfg::{Inst, InstId, LoopId};
use crate::expr::{Comparison, Node, Substitution, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Opcode, Special};
use crate::program::{Program, Role, placed_results};
use crate::ptx::FunctionKind;
use crate::record::Execution;
use crate::terms::{Kind, Terms, conditions, hardware};

/// The bits of a lane's number.
const LANE_BITS: u8 = WARP_SIZE.trailing_zeros() as u8;

/// The exchanges of whole warps in both programs.
#[derive(Default)]
pub(crate) struct Exchanges {
    /// How each result comes about.
    ways: Ways,
    /// The instruction of the original that a symbol is a result of.
    made_by: FxHashMap<TermId, InstId>,
    /// The instructions of the original whose results were taken apart in a claim that holds.
    accounted: FxHashSet<InstId>,
    /// The instructions of the original.
    original: Vec<Meeting>,
    /// The barriers of the original, each at its place in the order of execution.
    barriers: Vec<Position>,
    /// Whether no lane of a warp is absent at any of these: blocks are whole warps, and what leads there is the same for
    /// all lanes.
    is_full: bool,
    /// Terms without any such symbol.
    without: FxHashSet<TermId>,
}

impl Exchanges {
    /// Those of the original, which has been evaluated.
    pub(crate) fn of_original(
        program: &Program<'_, '_>,
        execution: &Execution,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
    ) -> Exchanges {
        let is_kernel = program.function.kind == FunctionKind::Entry;
        let mut found =
            Exchanges { ways: Ways { is_kernel, ..Ways::default() }, ..Exchanges::default() };
        let collectives = execution.events.iter().filter(|event| event.role == Role::Collective);
        let uniform = Uniform::of(program, execution, terms);
        let mut alone = None;
        for event in collectives {
            let inst = &program.flow.insts[event.inst];
            if inst.guard.is_some() || !is_of_all(inst, &event.operands, terms) {
                continue;
            }
            let alone = alone.get_or_insert_with(|| {
                meeting::alone(program, execution, terms, (&uniform, lanes))
            });
            if !alone.contains(&event.inst) {
                continue;
            }
            let around = program.loop_of(event.block);
            found.original.push(Meeting {
                at: (event.block, event.inst),
                condition: event.condition,
                around,
            });
            for (register, places) in placed_results(inst) {
                let Some(way) = way(inst, &event.operands, places[..] == [1]) else { continue };
                let width = program.flow.registers[register].ty.bits().min(64) as u8;
                let kind = Kind::Event(event.inst, places);
                let symbol = terms.symbol(kind, width, around);
                found.ways.known.insert(symbol, way);
                found.made_by.insert(symbol, event.inst);
            }
        }
        let mut places = found.original.iter();
        found.is_full = program.block.is_some_and(has_whole_rows)
            && is_kernel
            && !program.irreducible
            && !has_calls(program)
            && places.all(|one| are_all(terms, (&uniform, lanes), one.condition, one.around));
        if found.ways.known.is_empty() {
            return found;
        }
        let barriers = execution.events.iter().filter(|event| event.role == Role::Barrier);
        found.barriers = barriers.map(|event| (event.block, event.inst)).collect();
        let extent = |terms: &mut Terms, axis: Axis| match program.block {
            Some(block) => terms.arena.constant(block[axis.index()], 32),
            None => terms.symbol(Kind::Uniform(Special::Ntid(axis)), 32, None),
        };
        let extents = Axis::ALL.map(|axis| extent(terms, axis));
        found.ways.consecutive = Some(hardware::consecutive(&mut terms.arena, extents));
        found.ways.thread = known_symbol(terms, &Kind::Tid(Axis::X));
        found.ways.lane = known_symbol(terms, &Kind::LaneId);
        found
    }

    /// Adds one of the rewritten program; `operands` are those behind the result. `None` if the delivered value is not known.
    pub(crate) fn add(
        &mut self,
        terms: &mut Terms,
        inst: &Inst<'_, '_>,
        operands: &[TermId],
        (symbol, second): (TermId, bool),
    ) -> Option<()> {
        if !is_of_all(inst, operands, terms) {
            // All lanes come here, and each group among them that has one mask reduces its values.
            let &[_, mask] = operands else { return None };
            if !is_reduction(inst) {
                return None;
            }
            self.ways.lane = self.ways.lane.or_else(|| known_symbol(terms, &Kind::LaneId));
            if !self.name_each_other(terms, mask) {
                return None;
            }
            self.ways.members.insert(symbol, mask);
        }
        self.ways.lane = self.ways.lane.or_else(|| known_symbol(terms, &Kind::LaneId));
        self.ways.known.insert(symbol, way(inst, operands, second)?);
        self.without.clear();
        Some(())
    }

    /// Whether each lane is in its own member mask, and the lanes named by it name the same ones (PTX ISA,
    /// "redux.sync").
    fn name_each_other(&self, terms: &mut Terms, mask: TermId) -> bool {
        let (opaque, of_selections) = (Opaque::default(), FxHashMap::default());
        [true, false].into_iter().all(|consecutive| {
            let (done, combined) = (FxHashMap::default(), Vec::new());
            let (ways, opaque, of_selections) = (&self.ways, &opaque, &of_selections);
            let mut tables = Tables { ways, consecutive, opaque, of_selections, done, combined };
            let mut of_lane = |lane| {
                let there = tables.in_lane(terms, mask, lane)?;
                terms.arena.constant_value(there)
            };
            let masks: Option<Vec<u64>> = by_lane::all().map(&mut of_lane).collect();
            masks.is_some_and(|masks| {
                by_lane::all().zip(&masks).all(|(lane, own)| {
                    let others = by_lane::all().filter(|other| own >> other & 1 != 0);
                    own >> lane & 1 != 0
                        && others.into_iter().all(|one| masks[one as usize] == *own)
                })
            })
        })
    }

    /// Whether an instruction of the original is one whose result others deliver: a claim that holds has it.
    pub(crate) fn is_accounted_for(&self, inst: InstId) -> bool {
        self.accounted.contains(&inst)
    }

    /// Whether an instruction of the original is one.
    pub(crate) fn has(&self, inst: InstId) -> bool {
        self.original.iter().any(|known| known.at.1 == inst)
    }

    /// Whether all lanes of a warp, or none, come where a path of the rewritten program leads: where all of them exchange
    /// something in the original, with no barrier in between, and the other conditions of the path have one value for the
    /// warp. The original is somewhere between two places then.
    pub(crate) fn all_come(
        &self,
        terms: &Terms,
        path: TermId,
        (place, between): (Option<LoopId>, Range<Position>),
    ) -> bool {
        let is_beyond = |exchange: Position| {
            let mut barriers = self.barriers.iter();
            barriers.any(|at| {
                exchange < *at && *at < between.end || between.start <= *at && *at < exchange
            })
        };
        let mut there = self.original.iter().filter(|one| one.around == place);
        there.any(|one| !is_beyond(one.at) && self.is_under_uniform(terms, one.condition, path))
    }

    /// Whether literals are those of a condition, and others that have one value for the warp.
    fn is_part(&self, terms: &Terms, condition: TermId, path: &[TermId]) -> bool {
        let needed = conditions::conjuncts(&terms.arena, condition);
        let needed: Vec<TermId> =
            needed.into_iter().filter(|one| terms.arena.constant_value(*one) != Some(1)).collect();
        needed.iter().all(|one| path.contains(one))
            && path.iter().all(|one| needed.contains(one) || self.is_uniform(terms, *one))
    }

    /// Whether an event of the rewritten program is executed by all lanes of a warp or by none, among those that execute
    /// the original's.
    pub(crate) fn is_under_uniform(&self, terms: &Terms, before: TermId, after: TermId) -> bool {
        let path = conditions::conjuncts(&terms.arena, after);
        self.is_part(terms, before, &path)
    }

    fn is_uniform(&self, terms: &Terms, term: TermId) -> bool {
        hardware::is_uniform(terms, term, &|_| false, self.ways.is_kernel)
    }

    /// Whether two terms are equal in each lane that the known conditions allow, if some lemmas hold; `None` if that is not
    /// shown.
    pub(crate) fn equal_by(
        &mut self,
        terms: &mut Terms,
        (original, rewritten): (TermId, TermId),
        known: &[TermId],
    ) -> Option<Vec<Lemma>> {
        if !self.is_in(terms, rewritten) && !self.is_in(terms, original) {
            return None;
        }
        let (sent, combined) = self.operands(terms, [original, rewritten]);
        // Where a part of a term that is sent shows in a claim, loads are symbols, and the term is made of them.
        let mut own = absent::opaque(terms, &sent, &combined);
        let of_selections = absent::of_selections(terms, (&sent, &combined), &mut own);
        let mut choices =
            vec![(own, of_selections), (absent::loads(terms, &combined), FxHashMap::default())];
        // The result of an instruction that stays is the same in both programs, also where an absent lane has sent it.
        let kept = if self.is_full { Vec::new() } else { self.kept(terms, rewritten) };
        if !kept.is_empty() {
            let mut with_kept = choices.clone();
            for (opaque, _) in &mut with_kept {
                opaque.extend(kept.iter().map(|symbol| (*symbol, (*symbol, false))));
            }
            choices = [with_kept, choices].concat();
        }
        choices.into_iter().find_map(|(opaque, of_selections)| {
            let opaque = (&opaque, &of_selections);
            self.equal_with(terms, (original, rewritten), known, opaque)
        })
    }

    /// The same, where some terms are taken as symbols of their lanes.
    fn equal_with(
        &mut self,
        terms: &mut Terms,
        (original, rewritten): (TermId, TermId),
        known: &[TermId],
        (opaque, of_selections): (&Opaque, &FxHashMap<TermId, TermId>),
    ) -> Option<Vec<Lemma>> {
        let mut needed: Vec<Lemma> = Vec::new();
        let mut looked_at: FxHashSet<InstId> = FxHashSet::default();
        let decided = self.ways.consecutive.and_then(|term| terms.arena.constant_value(term));
        let mut cases = [true, false]
            .into_iter()
            .filter(|case| decided.is_none_or(|known| (known != 0) == *case));
        let are_equal = cases.all(|consecutive| {
            if self.are_same(terms, (original, rewritten), consecutive) {
                return true;
            }
            let (done, combined) = (FxHashMap::default(), Vec::new());
            let mut tables =
                Tables { ways: &self.ways, consecutive, opaque, of_selections, done, combined };
            let mut origins = Origins::default();
            let holds = by_lane::all().all(|lane| {
                // (A value that an absent lane sends may fulfil any condition.)
                let mut is_impossible = |fact: &TermId| {
                    let there = tables.in_lane(terms, *fact, lane);
                    there.is_some_and(|there| is_false(terms, there))
                        && (self.is_full || origins.is_own(&tables, terms, *fact, lane))
                };
                known.iter().any(&mut is_impossible) || {
                    let a = tables.in_lane(terms, original, lane);
                    let b = tables.in_lane(terms, rewritten, lane);
                    let (Some(a), Some(b)) = (a, b) else { return false };
                    if a != b {
                        let Some(found) = lemmas(terms, a, b) else { return false };
                        needed.extend(found);
                    }
                    let claim = (original, rewritten);
                    self.is_full || origins.are_defined_alike(&tables, terms, claim, lane)
                }
            });
            let insts = tables.done.keys().filter_map(|(term, _)| self.made_by.get(term));
            looked_at.extend(insts);
            holds && (self.is_full || absent::may_be_absent(terms, &tables.combined))
        });
        needed.sort_unstable();
        needed.dedup();
        if !are_equal {
            return None;
        }
        self.accounted.extend(looked_at);
        Some(needed)
    }

    /// The results of instructions of the original that a term of the rewritten program has in it.
    fn kept(&self, terms: &Terms, rewritten: TermId) -> Vec<TermId> {
        let mut found = Vec::new();
        let (mut work, mut seen) = (vec![rewritten], FxHashSet::default());
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            terms.arena.charge(1);
            if self.made_by.contains_key(&next) {
                found.push(next);
                continue;
            }
            work.extend(terms.arena.operands(next));
            let way = self.ways.known.get(&next);
            work.extend(way.into_iter().flat_map(|way| way.operands()));
        }
        found
    }

    /// The terms that are sent, or combined by the original, and those that are combined, in a claim about two terms.
    fn operands(&self, terms: &mut Terms, claim: [TermId; 2]) -> (Vec<TermId>, Vec<TermId>) {
        let (mut sent, mut combined) = (Vec::new(), Vec::new());
        let (mut work, mut seen) = (claim.to_vec(), FxHashSet::default());
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            terms.arena.charge(1);
            match self.ways.known.get(&next).copied() {
                None => work.extend(terms.arena.operands(next)),
                Some(Way::Shuffle(_, operands) | Way::InRange(_, operands)) => {
                    sent.push(operands[0]);
                    work.extend(operands);
                }
                Some(
                    Way::Sum(value)
                    | Way::Lattice(_, value)
                    | Way::Xor(value)
                    | Way::Ballot(value)
                    | Way::Match(_, value)
                    | Way::Vote(_, value),
                ) => {
                    combined.push(value);
                    if self.made_by.contains_key(&next) {
                        sent.push(value);
                    }
                    work.push(value);
                }
            }
        }
        (sent, combined)
    }

    /// Whether two terms are one where it is known whether lanes are consecutive.
    fn are_same(&self, terms: &mut Terms, claim: (TermId, TermId), consecutive: bool) -> bool {
        let mut known = Substitution::new();
        let mut assumed = |term| {
            known.transform(&mut terms.arena, term, &mut |arena, next| {
                (Some(next) == self.ways.consecutive).then(|| arena.boolean(consecutive))
            })
        };
        assumed(claim.0) == assumed(claim.1)
    }

    /// Whether a term has something in it that was exchanged.
    fn is_in(&mut self, terms: &Terms, term: TermId) -> bool {
        if self.ways.known.is_empty() {
            return false;
        }
        let (mut work, mut seen) = (vec![term], FxHashSet::default());
        while let Some(next) = work.pop() {
            if self.ways.known.contains_key(&next) {
                return true;
            }
            if !self.without.contains(&next) && seen.insert(next) {
                terms.arena.charge(1);
                work.extend(terms.arena.operands(next));
            }
        }
        self.without.extend(seen);
        false
    }
}

/// Whether a program calls functions, which some lanes might not come back from.
fn has_calls(program: &Program<'_, '_>) -> bool {
    program.flow.insts.iter().any(|inst| inst.ast.form.opcode == Opcode::Call)
}

/// Whether a condition holds for all lanes of a warp or for none, in iterations that all of them do.
fn are_all(
    terms: &mut Terms,
    (uniform, lanes): (&Uniform<'_>, &mut Lanes<'_, '_>),
    condition: TermId,
    around: Option<LoopId>,
) -> bool {
    let literals = conditions::conjuncts(&terms.arena, condition);
    literals.iter().all(|one| uniform.holds(terms, lanes, *one, around))
        && lanes.go_together(terms, around)
}

/// The term of a symbol that there is.
fn known_symbol(terms: &mut Terms, kind: &Kind) -> Option<TermId> {
    let symbol = terms.symbols.find(kind)?;
    let width = terms.symbols.info(symbol).width;
    Some(terms.arena.symbol(symbol, width))
}

/// Whether a condition does not hold: numbers are equal whose low bits differ.
fn is_false(terms: &mut Terms, condition: TermId) -> bool {
    if let &Node::Compare(Comparison::Equal, a, b) = terms.arena.node(condition)
        && terms.arena.width(a) > LANE_BITS
    {
        let low = [a, b].map(|one| terms.arena.extract(one, 0, LANE_BITS));
        let [a, b] = low.map(|one| terms.arena.constant_value(one));
        return a.is_some() && b.is_some() && a != b;
    }
    terms.arena.constant_value(condition) == Some(0)
}
