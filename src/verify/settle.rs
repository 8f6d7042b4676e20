//! Settling: brings the rewritten program's values back to the original's as soon as that is possible.
//!
//! In: a register of the rewritten program and the term that it gets, which may contain values that
//! came from another lane (it is *tainted*). Out: if it is shown to be equal to what the original's
//! register of the same name holds there, that term of the original (it is *settled*), otherwise
//! the term as it was. What is computed from a settled register is then equal to the original's by
//! construction, and nothing has to be proved about it again.

use rustc_hash::FxHashMap;

use super::evaluate::Evaluation;
use super::prove::{Place, Proof};
use super::symbols::{Kind, Terms};
use crate::cfg::{LoopId, RegisterId};
use crate::expr::{Node, TermId};
use crate::isa::Special;

/// Which terms contain something that came from another lane and is no term of the original.
#[derive(Default)]
pub(super) struct Taint {
    known: FxHashMap<TermId, bool>,
}

impl Taint {
    /// A term that a shuffle delivers.
    pub fn received(&mut self, term: TermId) {
        self.known.insert(term, true);
    }

    pub fn of(&mut self, terms: &Terms, term: TermId) -> bool {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.known.contains_key(&next) {
                stack.pop();
                continue;
            }
            if let Node::Symbol(symbol) = *terms.arena.node(next) {
                let kind = &terms.symbols.info(symbol).kind;
                self.known.insert(next, matches!(kind, Kind::Unpredictable(_)));
                continue;
            }
            let operands = terms.arena.operands(next);
            terms.arena.charge(2);
            let missing: Vec<TermId> =
                operands.iter().copied().filter(|t| !self.known.contains_key(t)).collect();
            if missing.is_empty() {
                let tainted = operands.iter().any(|t| self.known[t]);
                self.known.insert(next, tainted);
            }
            stack.extend(missing);
        }
        self.known[&term]
    }
}

impl Evaluation<'_, '_, '_, '_> {
    /// The value that a register gets, as the original's term if it is shown to be equal.
    pub(super) fn settle(&mut self, register: RegisterId, term: TermId) -> TermId {
        let candidates = self.candidates(register);
        if candidates.contains(&term) {
            return term;
        }
        // What the lane loaded itself, another time or not, is not worth the solver's time.
        let tainted = self.is_tainted(term);
        for candidate in candidates {
            if self.terms.arena.width(candidate) == self.terms.arena.width(term)
                && self.proved(candidate, term, &[], tainted)
            {
                return candidate;
            }
        }
        if tainted { self.settle_joined(term) } else { term }
    }

    /// A selection of which one side came from another lane: the other side, where they are equal.
    pub(super) fn settle_joined(&mut self, term: TermId) -> TermId {
        if !self.is_tainted(term) {
            return term;
        }
        let Node::IfThenElse(condition, a, b) = *self.terms.arena.node(term) else { return term };
        let negated = self.terms.arena.not(condition);
        let (received, own, when) = match (self.is_tainted(a), self.is_tainted(b)) {
            (true, false) => (a, b, condition),
            (false, true) => (b, a, negated),
            _ => return term,
        };
        if self.proved(own, received, &[when], true) { own } else { term }
    }

    fn is_tainted(&mut self, term: TermId) -> bool {
        let terms = &*self.terms;
        self.warp.as_deref_mut().is_some_and(|warp| warp.taint.of(terms, term))
    }

    /// The values that the original's register of the same name gets from those instructions in whose
    /// place the current one stands, the last first.
    fn candidates(&self, register: RegisterId) -> Vec<TermId> {
        let Some(reference) = self.reference else { return Vec::new() };
        let key = &self.program.keys[register.0 as usize];
        let Some(&counterpart) = reference.program.by_key.get(key) else { return Vec::new() };
        let gap = reference.gaps[self.at as usize].clone();
        gap.rev()
            .filter_map(|inst| reference.execution.definitions.get(&(inst, counterpart)).copied())
            .collect()
    }

    fn proved(&mut self, a: TermId, b: TermId, known: &[TermId], solving: bool) -> bool {
        let place = self.place();
        let Some(warp) = self.warp.as_deref_mut() else { return false };
        warp.prover.solving = solving;
        let proof = warp.prover.equal(self.terms, &mut warp.lanes, &place, (a, b), known);
        warp.prover.solving = true;
        proof == Proof::Equal
    }

    /// The block that is being evaluated with all that is known to hold there.
    fn place(&mut self) -> Place {
        let (reaches, votes): (&[_], &[_]) = match self.warp.as_deref() {
            Some(warp) => (&warp.reaches, &warp.votes),
            None => (&[], &[]),
        };
        let global: &[_] = match self.reference {
            Some(r) if r.execution.generic || self.out.generic => &r.execution.global,
            _ => &[],
        };
        let (entered, out) = (&self.entered, &self.out);
        let entries = |id: LoopId| match entered.get(&id) {
            Some((entry, _)) => Some(*entry),
            None => out.loops[id.0 as usize].as_ref().map(|record| record.entry),
        };
        let facts = (reaches, votes, global);
        Place::new(self.terms, self.program, out, &entries, self.block, facts)
    }
}

/// For messages: what a term is at its root.
pub(super) fn describe(terms: &Terms, term: TermId) -> String {
    use crate::solver::Names;
    match terms.arena.node(term) {
        Node::Symbol(symbol) => match &terms.symbols.info(*symbol).kind {
            Kind::Unpredictable(_) => "an unpredictable value".to_owned(),
            Kind::Tid(axis) => Special::Tid(*axis).to_string(),
            Kind::LaneId => Special::Laneid.to_string(),
            Kind::Uniform(register) => register.to_string(),
            other => format!("{other:?}"),
        },
        Node::Constant(value) => format!("{value:#x}"),
        Node::Apply(function, _) => {
            format!("a result of `{}`", super::commute::plain(terms.symbols.function(*function)))
        }
        _ => "a computed value".to_owned(),
    }
}
