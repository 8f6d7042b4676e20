//! The exchanged and combined values of a full warp's lanes (`shfl.sync`, `vote.sync`, `redux.sync` with the constant
//! mask of all lanes), as tables of lanes.
//!
//! In: the results of such instructions, in either program, each as a symbol. Out: whether two terms are equal in each
//! of the 32 lanes, modulo the laws of sums and of the lattice operators (PTX ISA, "shfl.sync", "vote.sync",
//! "redux.sync"). In one lane, the result of a shuffle is the sent value in the source lane; a reduction is the normal
//! form of the values of all lanes, or in the rewritten program of those that name each other as members. Other values stay symbols of their lane.
//!
//! An instruction with the mask of all lanes is executed by all lanes of a warp together: the others wait for a lane
//! that does not come, and the value it would send is undefined (PTX ISA, "shfl.sync"). Only those instructions count
//! at which no lane of the warp may be at another warp instruction meanwhile (`meeting`).

use rustc_hash::{FxHashMap, FxHashSet};

use super::absent::{self, Combination, Combiner, Opaque};
use super::by_lane::{self, InLane};
use super::extremum::{Lemma, lemmas};
use super::meeting;
use super::normal_form::{
    as_bit, ballot, bit_of, by_halves, combined, count, counted, exclusive, lattice_of, sum,
};
use super::way::{Direction, Way, is_of_all, is_reduction, lane_mask, source_lane, way};
use crate::cfg::{Inst, InstId, LoopId};
use crate::expr::{BinaryOp, Comparison, Node, Substitution, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Special};
use crate::ptx::FunctionKind;
use crate::verify::program::{Program, Role, placed_results};
use crate::verify::record::Execution;
use crate::verify::terms::{Function, Kind, Lattice, Terms, commute, conditions, hardware};

/// The bits of a lane's number.
const LANE_BITS: u8 = WARP_SIZE.trailing_zeros() as u8;

/// The most terms of lanes that are made for one claim.
const MAX_TERMS: usize = 1 << 17;

/// The exchanges of whole warps in both programs.
#[derive(Default)]
pub(in crate::verify) struct Exchanges {
    /// By the symbol of a result.
    known: FxHashMap<TermId, Way>,
    /// By the symbol of a result, the member mask of a reduction in groups of lanes.
    members: FxHashMap<TermId, TermId>,
    /// The instruction of the original that a symbol is a result of.
    made_by: FxHashMap<TermId, InstId>,
    /// The instructions of the original whose results were taken apart in a claim that holds.
    accounted: FxHashSet<InstId>,
    /// The instructions of the original, each with its condition and the loop around it.
    original: Vec<(InstId, TermId, Option<LoopId>)>,
    /// The barriers of the original.
    barriers: Vec<InstId>,
    /// Terms without any such symbol.
    without: FxHashSet<TermId>,
    /// Whether lanes are consecutive in `%tid.x`, as a term.
    consecutive: Option<TermId>,
    /// `%tid.x`
    thread: Option<TermId>,
    /// The lane's number.
    lane: Option<TermId>,
    /// Whether parameters are the same in all lanes.
    is_kernel: bool,
}

/// Terms of lanes, under one assumption about consecutive lanes.
struct Tables<'t> {
    exchanges: &'t Exchanges,
    /// Whether lanes are consecutive.
    consecutive: bool,
    /// Terms that are symbols of their lanes.
    opaque: &'t Opaque,
    /// Terms as terms of such symbols.
    of_selections: &'t FxHashMap<TermId, TermId>,
    done: FxHashMap<(TermId, u32), TermId>,
    /// The reductions and votes that were followed.
    combined: Vec<Combination>,
}

impl Exchanges {
    /// Those of the original, which has been evaluated.
    pub(crate) fn of_original(
        program: &Program<'_, '_>,
        execution: &Execution,
        terms: &mut Terms,
    ) -> Exchanges {
        let mut found = Exchanges {
            is_kernel: program.function.kind == FunctionKind::Entry,
            ..Exchanges::default()
        };
        let collectives = execution.events.iter().filter(|event| event.role == Role::Collective);
        let mut alone = None;
        for event in collectives {
            let inst = &program.flow.insts[event.inst];
            if inst.guard.is_some() || !is_of_all(inst, &event.operands, terms) {
                continue;
            }
            let alone = alone.get_or_insert_with(|| meeting::alone(program, execution, terms));
            if !alone.contains(&event.inst) {
                continue;
            }
            let around = program.loop_of(event.block);
            found.original.push((event.inst, event.condition, around));
            for (register, places) in placed_results(inst) {
                let Some(way) = way(inst, &event.operands, places[..] == [1]) else { continue };
                let width = program.flow.registers[register].ty.bits().min(64) as u8;
                let kind = Kind::Event(event.inst, places);
                let symbol = terms.symbol(kind, width, around);
                found.known.insert(symbol, way);
                found.made_by.insert(symbol, event.inst);
            }
        }
        if found.known.is_empty() {
            return found;
        }
        let barriers = execution.events.iter().filter(|event| event.role == Role::Barrier);
        found.barriers = barriers.map(|event| event.inst).collect();
        let extent = |terms: &mut Terms, axis: Axis| match program.block {
            Some(block) => terms.arena.constant(block[axis.index()], 32),
            None => terms.symbol(Kind::Uniform(Special::Ntid(axis)), 32, None),
        };
        let extents = Axis::ALL.map(|axis| extent(terms, axis));
        found.consecutive = Some(hardware::consecutive(&mut terms.arena, extents));
        found.thread = known_symbol(terms, &Kind::Tid(Axis::X));
        found.lane = known_symbol(terms, &Kind::LaneId);
        found
    }

    /// Adds one of the rewritten program; `operands` are those behind the result. `None` if the delivered value is not known.
    pub(crate) fn add(
        &mut self,
        terms: &mut Terms,
        inst: &Inst<'_, '_>,
        operands: &[TermId],
        symbol: TermId,
    ) -> Option<()> {
        if !is_of_all(inst, operands, terms) {
            // All lanes come here, and each group among them that has one mask reduces its values.
            let &[_, mask] = operands else { return None };
            if !is_reduction(inst) {
                return None;
            }
            self.members.insert(symbol, mask);
            self.lane = self.lane.or_else(|| known_symbol(terms, &Kind::LaneId));
        }
        self.known.insert(symbol, way(inst, operands, false)?);
        self.without.clear();
        Some(())
    }

    /// Whether an instruction of the original is one whose result others deliver: a claim that holds has it.
    pub(crate) fn is_accounted_for(&self, inst: InstId) -> bool {
        self.accounted.contains(&inst)
    }

    /// Whether an instruction of the original is one.
    pub(crate) fn has(&self, inst: InstId) -> bool {
        self.original.iter().any(|(known, ..)| *known == inst)
    }

    /// Whether all lanes of a warp, or none, come where a path of the rewritten program leads: where all of them exchange
    /// something in the original, with no barrier in between, and the other conditions of the path have one value for the
    /// warp. `position` is the last instruction of the original that is matched with one in front.
    pub(crate) fn all_come(
        &self,
        terms: &Terms,
        path: TermId,
        (place, position): (Option<LoopId>, InstId),
    ) -> bool {
        let is_beyond = |inst: InstId| {
            let mut barriers = self.barriers.iter();
            barriers.any(|at| inst < *at && *at <= position || position < *at && *at < inst)
        };
        let mut there = self.original.iter().filter(|(_, _, around)| *around == place);
        there.any(|(inst, condition, _)| {
            !is_beyond(*inst) && self.is_under_uniform(terms, *condition, path)
        })
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
        hardware::is_uniform(terms, term, None, self.is_kernel)
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
        let choices =
            [(own, of_selections), (absent::loads(terms, &combined), FxHashMap::default())];
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
        let decided = self.consecutive.and_then(|term| terms.arena.constant_value(term));
        let mut cases = [true, false]
            .into_iter()
            .filter(|case| decided.is_none_or(|known| (known != 0) == *case));
        let are_equal = cases.all(|consecutive| {
            if self.are_same(terms, (original, rewritten), consecutive) {
                return true;
            }
            let (done, combined) = (FxHashMap::default(), Vec::new());
            let mut tables =
                Tables { exchanges: self, consecutive, opaque, of_selections, done, combined };
            let holds = by_lane::all().all(|lane| {
                let mut is_impossible = |fact: &TermId| {
                    let fact = tables.in_lane(terms, *fact, lane);
                    fact.is_some_and(|fact| is_false(terms, fact))
                };
                known.iter().any(&mut is_impossible) || {
                    let a = tables.in_lane(terms, original, lane);
                    let b = tables.in_lane(terms, rewritten, lane);
                    let (Some(a), Some(b)) = (a, b) else { return false };
                    if a != b {
                        let Some(found) = lemmas(terms, a, b) else { return false };
                        needed.extend(found);
                    }
                    true
                }
            });
            let insts = tables.done.keys().filter_map(|(term, _)| self.made_by.get(term));
            looked_at.extend(insts);
            holds && absent::may_be_absent(terms, &tables.combined)
        });
        needed.sort_unstable();
        needed.dedup();
        if !are_equal {
            return None;
        }
        self.accounted.extend(looked_at);
        Some(needed)
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
            match self.known.get(&next).copied() {
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
                (Some(next) == self.consecutive).then(|| arena.boolean(consecutive))
            })
        };
        assumed(claim.0) == assumed(claim.1)
    }

    /// Whether a term has something in it that was exchanged.
    fn is_in(&mut self, terms: &Terms, term: TermId) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let (mut work, mut seen) = (vec![term], FxHashSet::default());
        while let Some(next) = work.pop() {
            if self.known.contains_key(&next) {
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

impl Tables<'_> {
    /// A term as a lane has it; `None` if that is not known, or takes too many terms.
    fn in_lane(&mut self, terms: &mut Terms, term: TermId, lane: u32) -> Option<TermId> {
        let mut stack = vec![(term, lane)];
        while let Some(&(next, lane)) = stack.last() {
            if self.done.contains_key(&(next, lane)) {
                stack.pop();
                continue;
            }
            if self.done.len() > MAX_TERMS {
                return None;
            }
            terms.arena.charge(2);
            let needed = self.needed(terms, next, lane)?;
            let depth = stack.len();
            stack.extend(needed.into_iter().filter(|one| !self.done.contains_key(one)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let value = self.value(terms, next, lane)?;
            self.done.insert((next, lane), value);
        }
        self.done.get(&(term, lane)).copied()
    }

    fn of(&self, term: TermId, lane: u32) -> Option<TermId> {
        self.done.get(&(term, lane)).copied()
    }

    /// The source lane of a shuffle, once the operands that say so are known.
    fn source(
        &self,
        terms: &Terms,
        direction: Direction,
        [_, number, control]: [TermId; 3],
        lane: u32,
    ) -> Option<(u32, bool)> {
        let constant = |term| terms.arena.constant_value(self.of(term, lane)?);
        source_lane(direction, lane, constant(number)?, constant(control)?)
    }

    /// The terms of lanes that a term of a lane is made of.
    fn needed(&self, terms: &Terms, term: TermId, lane: u32) -> Option<Vec<(TermId, u32)>> {
        if self.opaque.contains_key(&term) {
            return Some(Vec::new());
        }
        if let Some(&whole) = self.of_selections.get(&term) {
            return Some(vec![(whole, lane)]);
        }
        let Some(way) = self.exchanges.known.get(&term) else {
            return Some(terms.arena.operands(term).into_iter().map(|one| (one, lane)).collect());
        };
        Some(match *way {
            Way::Shuffle(direction, operands) | Way::InRange(direction, operands) => {
                let [value, number, control] = operands;
                let mut needed = vec![(number, lane), (control, lane)];
                if needed.iter().all(|one| self.done.contains_key(one)) {
                    let (source, _) = self.source(terms, direction, operands, lane)?;
                    needed.push((value, source));
                }
                needed
            }
            Way::Sum(value)
            | Way::Lattice(_, value)
            | Way::Xor(value)
            | Way::Ballot(value)
            | Way::Vote(_, value) => {
                let members = self.exchanges.members.get(&term);
                let operands = [Some(&value), members].into_iter().flatten();
                operands.flat_map(|one| by_lane::all().map(|lane| (*one, lane))).collect()
            }
        })
    }

    /// The lanes whose values a lane gets together with its own: those of the mask, which each of them names. All lanes
    /// where the instruction has the mask of all.
    fn group(&self, terms: &Terms, term: TermId, lane: u32) -> Option<Vec<usize>> {
        let Some(&mask) = self.exchanges.members.get(&term) else {
            return Some((0..WARP_SIZE as usize).collect());
        };
        let of_lane = |lane: u32| terms.arena.constant_value(self.of(mask, lane)?);
        let own = of_lane(lane)?;
        let mut group = Vec::new();
        for other in by_lane::all().filter(|other| own >> other & 1 != 0) {
            if of_lane(other)? != own {
                return None;
            }
            group.push(other as usize);
        }
        group.contains(&(lane as usize)).then_some(group)
    }

    /// A term of a lane, made of those that it needs.
    fn value(&mut self, terms: &mut Terms, term: TermId, lane: u32) -> Option<TermId> {
        if Some(term) == self.exchanges.consecutive {
            return Some(terms.arena.boolean(self.consecutive));
        }
        if let Some(symbol) = absent::symbol(terms, self.opaque, term, lane) {
            return Some(symbol);
        }
        if let Some(&whole) = self.of_selections.get(&term) {
            return self.of(whole, lane);
        }
        let Some(&way) = self.exchanges.known.get(&term) else {
            return self.of_node(terms, term, lane);
        };
        let width = terms.arena.width(term);
        let each =
            |value| by_lane::all().map(|lane| self.of(value, lane)).collect::<Option<Vec<_>>>();
        Some(match way {
            Way::Shuffle(direction, operands) => {
                let (source, _) = self.source(terms, direction, operands, lane)?;
                self.of(operands[0], source)?
            }
            Way::InRange(direction, operands) => {
                let (_, in_range) = self.source(terms, direction, operands, lane)?;
                terms.arena.boolean(in_range)
            }
            Way::Sum(value)
            | Way::Xor(value)
            | Way::Ballot(value)
            | Way::Lattice(_, value)
            | Way::Vote(_, value) => {
                let all = each(value)?;
                let group = self.group(terms, term, lane)?;
                let each: Vec<TermId> = group.into_iter().map(|at| all[at]).collect();
                let combiner = match way {
                    Way::Lattice(lattice, _) | Way::Vote(lattice, _) => Combiner::Lattice(lattice),
                    _ => Combiner::Addends,
                };
                let result = match way {
                    Way::Lattice(lattice, _) | Way::Vote(lattice, _) => {
                        combined(terms, lattice, &each)
                    }
                    Way::Xor(_) => exclusive(terms, &each),
                    Way::Ballot(_) => terms.apply(Function::Ballot, &each, width),
                    _ => {
                        let addends = each.iter().map(|one| (*one, 1)).collect();
                        sum(terms, 0, width, addends)
                    }
                };
                // (Each lane has one group, so an absent one has to be neutral there.)
                let combination = (combiner, all);
                if !self.combined.contains(&combination) {
                    self.combined.push(combination);
                }
                result
            }
        })
    }

    /// A node that is not an exchange.
    fn of_node(&mut self, terms: &mut Terms, term: TermId, lane: u32) -> Option<TermId> {
        if terms.arena.constant_value(term).is_some() {
            return Some(term);
        }
        if terms.as_symbol(term).is_some() {
            return Some(self.of_symbol(terms, term, lane));
        }
        if let Some((Function::OfLane(special), _)) = terms.applied(term) {
            let width = terms.arena.width(term);
            return Some(match lane_mask(*special, lane) {
                Some(mask) => terms.arena.constant(mask, width),
                None => terms.symbol(Kind::InLane(lane, term), width, None),
            });
        }
        if let Node::IfThenElse(condition, ..) = *terms.arena.node(term)
            && let Some(predicate) = as_bit(terms, term)
            && terms.arena.width(term) > 1
        {
            let there = self.of(condition, lane)?;
            let there = if predicate == condition { there } else { terms.arena.not(there) };
            let width = terms.arena.width(term);
            return Some(bit_of(terms, there, width));
        }
        if let Some((lattice, [a, b])) = lattice_of(terms, term) {
            let operands = [self.of(a, lane)?, self.of(b, lane)?];
            return Some(match lattice {
                Lattice::And | Lattice::Or if terms.arena.width(term) == 64 => {
                    by_halves(terms, operands, &|terms, both| combined(terms, lattice, both))
                }
                _ => combined(terms, lattice, &operands),
            });
        }
        let width = terms.arena.width(term);
        match terms.arena.node(term).clone() {
            Node::Binary(BinaryOp::Xor, a, b) => {
                let both = [self.of(a, lane)?, self.of(b, lane)?];
                return Some(match width {
                    64 => by_halves(terms, both, &exclusive),
                    _ => exclusive(terms, &both),
                });
            }
            Node::Binary(BinaryOp::Add, a, b) => {
                let both = vec![(self.of(a, lane)?, 1), (self.of(b, lane)?, 1)];
                return Some(sum(terms, 0, width, both));
            }
            Node::Sum { constant, addends } => {
                let there = |&(one, factor): &(TermId, u64)| Some((self.of(one, lane)?, factor));
                let addends = addends.iter().map(there).collect::<Option<Vec<_>>>()?;
                return Some(sum(terms, constant, width, addends));
            }
            _ => {}
        }
        if let Some(counted) = counted(terms, term) {
            return Some(match ballot(terms, self.of(counted, lane)?) {
                Some(predicates) => count(terms, &predicates),
                None => terms.arena.rebuilt(term, &|one| self.done[&(one, lane)]),
            });
        }
        // Lanes that give each other their values have them in different orders.
        if let Some((function, operands)) = terms.applied(term)
            && function.commutes()
        {
            let function = function.clone();
            let there = operands.iter().map(|one| self.of(*one, lane));
            let mut there = there.collect::<Option<Vec<_>>>()?;
            commute::sort(&mut there);
            return Some(terms.apply(function, &there, width));
        }
        Some(terms.arena.rebuilt(term, &|one| self.done[&(one, lane)]))
    }

    fn of_symbol(&self, terms: &mut Terms, term: TermId, lane: u32) -> TermId {
        let width = terms.arena.width(term);
        if Some(term) == self.exchanges.lane {
            return terms.arena.constant(lane.into(), width);
        }
        if Some(term) == self.exchanges.thread && self.consecutive {
            return InLane::numbered(&mut terms.arena, term, lane);
        }
        let Some(symbol) = terms.as_symbol(term) else { return term };
        match terms.symbols.info(symbol).kind {
            Kind::Uniform(_) | Kind::Address(_) => term,
            Kind::Parameter { .. } if self.exchanges.is_kernel => term,
            _ => terms.symbol(Kind::InLane(lane, term), width, None),
        }
    }
}
