//! Tables of lanes: a term as each lane of a warp has it, with what the lanes exchange.
//!
//! In: how the results of warp instructions come about ([`Ways`]). Out: a term of one lane, made of symbols of lanes.

use rustc_hash::FxHashMap;

use super::absent::{self, Combination, Combiner, Opaque};
use super::by_lane::{self, InLane};
use super::normal_form::{
    as_bit, ballot, bit_of, by_halves, combined, count, counted, exclusive, lattice_of, sum,
};
use super::way::{Direction, Matched, Way, lane_mask, source_lane};
use crate::expr::{BinaryOp, Node, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::terms::{Function, Kind, Lattice, Terms, commute};

/// The most terms of lanes that are made for one claim.
const MAX_TERMS: usize = 1 << 17;

/// How values come from other lanes.
#[derive(Default)]
pub(super) struct Ways {
    /// By the symbol of a result.
    pub known: FxHashMap<TermId, Way>,
    /// By the symbol of a result, the member mask of a reduction in groups of lanes.
    pub members: FxHashMap<TermId, TermId>,
    /// Whether lanes are consecutive in `%tid.x`, as a term.
    pub consecutive: Option<TermId>,
    /// `%tid.x`
    pub thread: Option<TermId>,
    /// The lane's number.
    pub lane: Option<TermId>,
    /// Whether parameters are the same in all lanes.
    pub is_kernel: bool,
}

/// Terms of lanes, under one assumption about consecutive lanes.
pub(super) struct Tables<'t> {
    pub ways: &'t Ways,
    /// Whether lanes are consecutive.
    pub consecutive: bool,
    /// Terms that are symbols of their lanes.
    pub opaque: &'t Opaque,
    /// Terms as terms of such symbols.
    pub of_selections: &'t FxHashMap<TermId, TermId>,
    pub done: FxHashMap<(TermId, u32), TermId>,
    /// The reductions and votes that were followed.
    pub combined: Vec<Combination>,
}

impl Tables<'_> {
    /// A term as a lane has it; `None` if that is not known, or takes too many terms.
    pub(super) fn in_lane(&mut self, terms: &mut Terms, term: TermId, lane: u32) -> Option<TermId> {
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

    /// A sum as a constant and addends with their factors. A part of it that is a symbol of its lane, the largest one, is
    /// one addend: a lane may add a value that it sends to one that it receives.
    fn parts(&self, terms: &Terms, term: TermId) -> Option<(u64, Vec<(TermId, u64)>)> {
        let Node::Sum { constant, addends } = terms.arena.node(term) else { return None };
        let of = |part: &TermId| match terms.arena.node(*part) {
            Node::Sum { constant, addends } => Some((*part, *constant, addends)),
            _ => None,
        };
        let sums = self.opaque.keys().filter_map(of);
        let within = sums.filter(|(_, _, part)| part.iter().all(|one| addends.contains(one)));
        let largest = within.max_by_key(|(name, _, part)| (part.len(), *name));
        let Some((name, less, part)) = largest else { return Some((*constant, addends.to_vec())) };
        let rest = addends.iter().filter(|one| !part.contains(one)).copied();
        Some((constant.wrapping_sub(less), rest.chain([(name, 1)]).collect()))
    }

    /// The terms of lanes that a term of a lane is made of.
    pub(super) fn needed(
        &self,
        terms: &Terms,
        term: TermId,
        lane: u32,
    ) -> Option<Vec<(TermId, u32)>> {
        if self.opaque.contains_key(&term) {
            return Some(Vec::new());
        }
        if let Some(&whole) = self.of_selections.get(&term) {
            return Some(vec![(whole, lane)]);
        }
        let Some(way) = self.ways.known.get(&term) else {
            let operands = match self.parts(terms, term) {
                Some((_, addends)) => addends.into_iter().map(|(one, _)| one).collect(),
                None => terms.arena.operands(term),
            };
            return Some(operands.into_iter().map(|one| (one, lane)).collect());
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
            | Way::Match(_, value)
            | Way::Vote(_, value) => {
                let members = self.ways.members.get(&term);
                let operands = [Some(&value), members].into_iter().flatten();
                operands.flat_map(|one| by_lane::all().map(|lane| (*one, lane))).collect()
            }
        })
    }

    /// The lanes whose values a lane gets together with its own: those of the mask, which each of them names. All lanes
    /// where the instruction has the mask of all.
    fn group(&self, terms: &Terms, term: TermId, lane: u32) -> Option<Vec<usize>> {
        let Some(&mask) = self.ways.members.get(&term) else {
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
        if Some(term) == self.ways.consecutive {
            return Some(terms.arena.boolean(self.consecutive));
        }
        if let Some(symbol) = absent::symbol(terms, self.opaque, term, lane) {
            return Some(symbol);
        }
        if let Some(&whole) = self.of_selections.get(&term) {
            return self.of(whole, lane);
        }
        let Some(&way) = self.ways.known.get(&term) else {
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
            Way::Match(matched, value) => {
                let all = each(value)?;
                let combination = (Combiner::Match { all: matched != Matched::Any }, all.clone());
                if !self.combined.contains(&combination) {
                    self.combined.push(combination);
                }
                compared(terms, matched, &all, lane as usize)
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
            Node::Sum { .. } => {
                let (constant, addends) = self.parts(terms, term)?;
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
        let there = terms.arena.rebuilt(term, &|one| self.done[&(one, lane)]);
        // A condition beside the comparison may be known in this lane.
        Some(match lattice_of(terms, there) {
            Some((lattice, both)) if matches!(terms.arena.node(there), Node::IfThenElse(..)) => {
                combined(terms, lattice, &both)
            }
            _ => there,
        })
    }

    fn of_symbol(&self, terms: &mut Terms, term: TermId, lane: u32) -> TermId {
        let width = terms.arena.width(term);
        if Some(term) == self.ways.lane {
            return terms.arena.constant(lane.into(), width);
        }
        if Some(term) == self.ways.thread && self.consecutive {
            return InLane::numbered(&mut terms.arena, term, lane);
        }
        let Some(symbol) = terms.as_symbol(term) else { return term };
        match terms.symbols.info(symbol).kind {
            Kind::Uniform(_) | Kind::Address(_) => term,
            Kind::Parameter { .. } if self.ways.is_kernel => term,
            _ => terms.symbol(Kind::InLane(lane, term), width, None),
        }
    }
}

/// The result of a comparison of all lanes' values in one lane.
fn compared(terms: &mut Terms, matched: Matched, all: &[TermId], lane: usize) -> TermId {
    let with = if matched == Matched::Any { all[lane] } else { all[0] };
    let equal: Vec<TermId> = all.iter().map(|one| terms.arena.equal(with, *one)).collect();
    if matched == Matched::Any {
        return terms.apply(Function::Ballot, &equal, 32);
    }
    let holds = combined(terms, Lattice::And, &equal);
    if matched == Matched::Holds {
        return holds;
    }
    let (every, none) = (terms.arena.constant(u32::MAX.into(), 32), terms.arena.constant(0, 32));
    terms.arena.if_then_else(holds, every, none)
}
