//! Truth values of predicates that follow from known ones through `and`, `or`, `not`, `xor` and selections.
//!
//! In: predicates that hold. Out: which other predicates they decide, and whether they contradict each other. This is
//! unit propagation on the circuit of the predicates, and a search over cases (DPLL) for a contradiction. Everything
//! but a connective, such as a comparison, is an atom: only its negation is known. So a decision here holds for all
//! values of the atoms, and thus for all values of the symbols. Compilers test one condition again and again on the
//! paths to a place, and whole paths of them are impossible by logic alone.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use typed_index_collections::TiVec;

use crate::expr::{Arena, BinaryOp, Comparison, Node, TermId, UnaryOp};

/// Predicates of more parts together are not looked at.
const MAX_NODES: usize = 6_000;

/// The most cases of a claim about two predicates.
const MAX_CASES: u32 = 32;

/// Whether two predicates are equal wherever the known ones hold, by logic alone.
pub(crate) fn are_equal(arena: &mut Arena, (a, b): (TermId, TermId), known: &[TermId]) -> bool {
    if arena.width(a) != 1 {
        return false;
    }
    let differ = arena.xor(a, b);
    let all: Vec<TermId> = [differ].into_iter().chain(known.iter().copied()).collect();
    let truth = Truth::of(arena, &all);
    truth.map_or(true, |mut truth| truth.is_contradictory(arena, &mut { MAX_CASES }))
}

/// An atom or a connective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GateId(u32);

table_ids!(GateId);

/// An atom or a connective, and whether it is meant as it is (or negated).
type Signed = (GateId, bool);

/// The connective of a predicate, with its parts.
#[derive(Clone, Copy, Debug)]
enum Gate {
    Atom,
    /// Both hold.
    And(Signed, Signed),
    /// Exactly one holds.
    Xor(Signed, Signed),
    /// The second where the first holds, else the third.
    Select(Signed, Signed, Signed),
}

/// The known predicates, and their consequences.
#[derive(Default)]
pub(crate) struct Truth {
    numbers: FxHashMap<TermId, Signed>,
    gates: TiVec<GateId, Gate>,
    /// The connectives that each predicate is a part of.
    users: TiVec<GateId, SmallVec<[GateId; 4]>>,
    values: TiVec<GateId, Option<bool>>,
    /// The decided predicates, in order.
    trail: Vec<GateId>,
    /// The decided predicates whose consequences have been drawn.
    drawn: usize,
}

/// The predicates contradict each other.
#[derive(Debug)]
pub(crate) struct Contradiction;

impl Truth {
    /// The consequences of predicates that hold.
    ///
    /// # Errors
    /// The predicates contradict each other.
    pub(crate) fn of(arena: &mut Arena, known: &[TermId]) -> Result<Truth, Contradiction> {
        let mut truth = Truth::default();
        for &predicate in known {
            let Some((gate, holds)) = truth.number(arena, predicate) else { break };
            truth.set(gate, holds)?;
        }
        truth.propagate()?;
        arena.charge(4 * truth.gates.len() as u64);
        Ok(truth)
    }

    /// The truth value of a predicate, if it is decided.
    pub(crate) fn value(&mut self, arena: &mut Arena, predicate: TermId) -> Option<bool> {
        let (gate, holds) = self.number(arena, predicate)?;
        // (A new predicate follows from its parts.)
        let found = self.propagate();
        debug_assert!(found.is_ok(), "a new connective has no value yet");
        self.values[gate].map(|value| value == holds)
    }

    /// Whether all cases contradict; at most `cases` are looked at.
    pub(crate) fn is_contradictory(&mut self, arena: &Arena, cases: &mut u32) -> bool {
        let Some(left) = cases.checked_sub(1) else { return false };
        *cases = left;
        arena.charge(1 + self.trail.len() as u64);
        let Some(open) = self.open_part() else { return false };
        let (mark, drawn) = (self.trail.len(), self.drawn);
        for holds in [true, false] {
            let refuted = self.set(open, holds).and_then(|()| self.propagate()).is_err()
                || self.is_contradictory(arena, cases);
            self.undo(mark, drawn);
            if !refuted {
                return false;
            }
        }
        true
    }

    /// A part of a decided connective that is not decided itself and matters.
    fn open_part(&self) -> Option<GateId> {
        self.trail.iter().find_map(|&gate| {
            let parts: SmallVec<[Signed; 3]> = match self.gates[gate] {
                Gate::Atom => return None,
                Gate::And(..) if self.values[gate] == Some(true) => return None,
                // One of the two is false: nothing is left to be decided.
                Gate::And(a, b) if [a, b].iter().any(|one| self.known(*one) == Some(false)) => {
                    return None;
                }
                Gate::And(a, b) | Gate::Xor(a, b) => smallvec![a, b],
                Gate::Select(condition, ..) => smallvec![condition],
            };
            parts.into_iter().map(|(part, _)| part).find(|part| self.values[*part].is_none())
        })
    }

    fn undo(&mut self, mark: usize, drawn: usize) {
        for gate in self.trail.drain(mark..) {
            self.values[gate] = None;
        }
        self.drawn = drawn;
    }

    /// The number of a predicate, with its parts; `None` if there are too many.
    fn number(&mut self, arena: &mut Arena, predicate: TermId) -> Option<Signed> {
        let mut stack = vec![predicate];
        while let Some(&next) = stack.last() {
            if self.numbers.contains_key(&next) {
                stack.pop();
                continue;
            }
            if self.gates.len() > MAX_NODES {
                return None;
            }
            let parts = parts(arena, next);
            let depth = stack.len();
            stack.extend(parts.iter().copied().filter(|part| !self.numbers.contains_key(part)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let signed = self.made(arena, next);
            self.numbers.insert(next, signed);
        }
        self.numbers.get(&predicate).copied()
    }

    /// A predicate whose parts have numbers.
    fn made(&mut self, arena: &mut Arena, term: TermId) -> Signed {
        let of = |truth: &Truth, part: TermId| truth.numbers[&part];
        let negated = |(gate, holds): Signed| (gate, !holds);
        match *arena.node(term) {
            Node::Unary(UnaryOp::Not, inner) => negated(of(self, inner)),
            Node::Binary(BinaryOp::And, a, b) => {
                (self.gate(Gate::And(of(self, a), of(self, b))), true)
            }
            Node::Binary(BinaryOp::Or, a, b) => {
                let (a, b) = (negated(of(self, a)), negated(of(self, b)));
                (self.gate(Gate::And(a, b)), false)
            }
            Node::Binary(BinaryOp::Xor, a, b) => {
                (self.gate(Gate::Xor(of(self, a), of(self, b))), true)
            }
            Node::Compare(Comparison::Equal, a, b) if arena.width(a) == 1 => {
                (self.gate(Gate::Xor(of(self, a), of(self, b))), false)
            }
            Node::IfThenElse(condition, a, b) => {
                let gate = Gate::Select(of(self, condition), of(self, a), of(self, b));
                (self.gate(gate), true)
            }
            Node::Compare(op, ..) if op != Comparison::Equal => {
                // The negation of an order is the other order: both are one atom.
                let other = arena.not(term);
                match self.numbers.get(&other) {
                    Some(&known) => negated(known),
                    None => (self.gate(Gate::Atom), true),
                }
            }
            Node::Constant(value) => {
                let gate = self.gate(Gate::Atom);
                self.values[gate] = Some(value == 1);
                (gate, true)
            }
            _ => (self.gate(Gate::Atom), true),
        }
    }

    /// A new connective or atom.
    fn gate(&mut self, gate: Gate) -> GateId {
        let number = self.gates.next_key();
        let parts: SmallVec<[Signed; 3]> = match gate {
            Gate::Atom => smallvec![],
            Gate::And(a, b) | Gate::Xor(a, b) => smallvec![a, b],
            Gate::Select(c, a, b) => smallvec![c, a, b],
        };
        for &(part, _) in &parts {
            self.users[part].push(number);
        }
        self.gates.push(gate);
        self.users.push(SmallVec::new());
        self.values.push(None);
        let upwards = self.follows(number);
        if let Some(value) = upwards {
            self.values[number] = Some(value);
            self.trail.push(number);
        }
        number
    }

    fn known(&self, (gate, holds): Signed) -> Option<bool> {
        self.values[gate].map(|value| value == holds)
    }

    fn set(&mut self, gate: GateId, value: bool) -> Result<(), Contradiction> {
        match self.values[gate] {
            Some(known) if known == value => Ok(()),
            Some(_) => Err(Contradiction),
            None => {
                self.values[gate] = Some(value);
                self.trail.push(gate);
                Ok(())
            }
        }
    }

    fn set_signed(&mut self, (gate, holds): Signed, value: bool) -> Result<(), Contradiction> {
        self.set(gate, value == holds)
    }

    /// The value of a connective that its parts decide.
    fn follows(&self, gate: GateId) -> Option<bool> {
        match self.gates[gate] {
            Gate::Atom => None,
            Gate::And(a, b) => match (self.known(a), self.known(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Gate::Xor(a, b) => Some(self.known(a)? != self.known(b)?),
            Gate::Select(condition, a, b) => match self.known(condition) {
                Some(true) => self.known(a),
                Some(false) => self.known(b),
                None => self.known(a).filter(|value| self.known(b) == Some(*value)),
            },
        }
    }

    /// Draws all consequences of the decided predicates.
    fn propagate(&mut self) -> Result<(), Contradiction> {
        while let Some(&next) = self.trail.get(self.drawn) {
            self.drawn += 1;
            self.decide_parts(next)?;
            for index in 0..self.users[next].len() {
                let user = self.users[next][index];
                if let Some(value) = self.follows(user) {
                    self.set(user, value)?;
                }
                self.decide_parts(user)?;
            }
        }
        Ok(())
    }

    /// Decides parts of a connective by its value.
    fn decide_parts(&mut self, gate: GateId) -> Result<(), Contradiction> {
        let Some(value) = self.values[gate] else { return Ok(()) };
        match self.gates[gate] {
            Gate::Atom => Ok(()),
            Gate::And(a, b) if value => {
                self.set_signed(a, true)?;
                self.set_signed(b, true)
            }
            Gate::And(a, b) => match (self.known(a), self.known(b)) {
                (Some(true), _) => self.set_signed(b, false),
                (_, Some(true)) => self.set_signed(a, false),
                _ => Ok(()),
            },
            Gate::Xor(a, b) => match (self.known(a), self.known(b)) {
                (Some(one), _) => self.set_signed(b, one != value),
                (_, Some(one)) => self.set_signed(a, one != value),
                _ => Ok(()),
            },
            Gate::Select(condition, a, b) => match self.known(condition) {
                Some(true) => self.set_signed(a, value),
                Some(false) => self.set_signed(b, value),
                None if self.known(a) == Some(!value) => {
                    self.set_signed(condition, false)?;
                    self.set_signed(b, value)
                }
                None if self.known(b) == Some(!value) => {
                    self.set_signed(condition, true)?;
                    self.set_signed(a, value)
                }
                None => Ok(()),
            },
        }
    }
}

/// The predicates that another one is made of by logic.
fn parts(arena: &Arena, term: TermId) -> SmallVec<[TermId; 4]> {
    match *arena.node(term) {
        Node::Unary(UnaryOp::Not, a) => smallvec![a],
        Node::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => smallvec![a, b],
        Node::IfThenElse(condition, a, b) => smallvec![condition, a, b],
        Node::Compare(Comparison::Equal, a, b) if arena.width(a) == 1 => smallvec![a, b],
        _ => smallvec![],
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    crate::unit_tests!(what_is_decided_holds_for_all_values, the_other_order_is_the_negation);

    /// Random predicates over a few atoms, against all values of the atoms.
    fn what_is_decided_holds_for_all_values() {
        const ATOMS: u32 = 5;
        let mut random = fastrand::Rng::with_seed(7);
        let (mut decided, mut refuted, mut missed, mut equal) = (0, 0, 0, 0);
        for _ in 0..400 {
            let mut arena = Arena::new();
            let mut terms: Vec<TermId> = (0..ATOMS).map(|n| arena.symbol(SymbolId(n), 1)).collect();
            for _ in 0..12 {
                let mut any = || terms[random.usize(..terms.len())];
                let (a, b, c) = (any(), any(), any());
                terms.push(match random.u8(0..5) {
                    0 => arena.and(a, b),
                    1 => arena.or(a, b),
                    2 => arena.not(a),
                    3 => arena.if_then_else(a, b, c),
                    _ => arena.equal(a, b),
                });
            }
            let known: Vec<TermId> = (0..3).map(|_| terms[random.usize(..terms.len())]).collect();
            let rows: Vec<u32> = (0..1 << ATOMS)
                .filter(|row| {
                    let mut of = Evaluator::new(&arena, |symbol, _| u64::from(row >> symbol.0 & 1));
                    known.iter().all(|one| of.value(*one) == 1)
                })
                .collect();
            let Ok(mut truth) = Truth::of(&mut arena, &known) else {
                assert!(rows.is_empty());
                refuted += 1;
                continue;
            };
            let contradictory = truth.is_contradictory(&arena, &mut 1_000);
            assert_eq!(contradictory, rows.is_empty(), "{known:?}");
            refuted += u32::from(contradictory);
            for &term in &terms {
                let of = |arena: &Arena, row: u32| {
                    Evaluator::new(arena, |symbol, _| u64::from(row >> symbol.0 & 1)).value(term)
                        == 1
                };
                let other = terms[random.usize(..terms.len())];
                let is_equal = rows.iter().all(|row| {
                    of(&arena, *row) == {
                        Evaluator::new(&arena, |symbol, _| u64::from(row >> symbol.0 & 1))
                            .value(other)
                            == 1
                    }
                });
                let found = are_equal(&mut arena, (term, other), &known);
                assert!(is_equal || !found, "{term:?} and {other:?} under {known:?}");
                equal += u32::from(found && term != other);
                match truth.value(&mut arena, term) {
                    Some(value) => {
                        assert!(rows.iter().all(|row| of(&arena, *row) == value));
                        decided += 1;
                    }
                    None => missed += 1,
                }
            }
        }
        assert!(decided > 1_000 && refuted > 20 && missed > 500, "{decided} {refuted} {missed}");
        assert!(equal > 500, "{equal}");
    }

    fn the_other_order_is_the_negation() {
        let mut arena = Arena::new();
        let (x, y) = (arena.symbol(SymbolId(0), 32), arena.symbol(SymbolId(1), 32));
        let less = arena.compare(Comparison::SignedLess, x, y);
        let not_less = arena.compare(Comparison::SignedLessEqual, y, x);
        assert!(Truth::of(&mut arena, &[less, not_less]).is_err());
        let mut truth = Truth::of(&mut arena, &[less]).expect("one comparison contradicts nothing");
        assert_eq!(truth.value(&mut arena, not_less), Some(false));
    }
}
