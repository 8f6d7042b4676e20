//! Replaces the rewritten program's values by equal ones of the original as early as possible.
//!
//! In: a register of the rewritten program and the term that it gets, which may contain values that
//! came from another lane (see `cross_lane`). Out: if the term is shown to be equal to the value of the
//! original's register of the same name there, that value of the original (the two are congruent),
//! otherwise the term as it was. A value computed from a unified register is then equal to the
//! original's by construction, and needs no further proof.

use super::warp::Warp;
use crate::cfg::{Inst, InstId, LoopId, RegisterId};
use crate::expr::{Node, TermId};
use crate::lane::{Evaluation, Oracle, Results};
use crate::program::results;
use crate::proof::{Claim, Effort, Proof, Question};
use crate::record::{Known, Place};
use crate::terms::Terms;

/// The most values tried that the register gets at other places.
const MAX_SAME_REGISTER: usize = 4;

impl<'s> Oracle<'s> for Warp<'_, 's> {
    fn unify(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        register: RegisterId,
        term: TermId,
    ) -> TermId {
        let candidates = candidates(here, register);
        if candidates.contains(&term) {
            return term;
        }
        let crosses = self.cross_lane.contains(here.terms, term);
        let fits = |terms: &Terms, candidate: &TermId| {
            terms.arena.width(*candidate) == terms.arena.width(term)
        };
        let matched = here.reference.is_some_and(|r| r.matched[here.at].is_some());
        let (last, count) = if matched { (None, 0) } else { written_since(here, register) };
        for &candidate in &candidates {
            // A value that was written again since is most likely not the one. For the lane's own values, loaded at
            // another time or not, less is tried: nothing has to be brought back to another lane's.
            let effort = match () {
                () if count > 0 => Effort::Rules,
                () if crosses => Effort::Solver,
                () if matched => Effort::Rules,
                () => Effort::Values,
            };
            if fits(here.terms, &candidate) && self.proved(here, (candidate, term), &[], effort) {
                return candidate;
            }
        }
        // (Of duplicated code only one copy is where the original's code is.)
        let mut places = match !matched && (crosses || candidates.is_empty()) {
            true => self.same_register_values(here, register, (last, count)),
            false => Vec::new(),
        };
        if !crosses {
            places.truncate(1);
            if let Some(&candidate) = places.first()
                && fits(here.terms, &candidate)
                && self.proved(here, (candidate, term), &[], Effort::Values)
            {
                return candidate;
            }
            return term;
        }
        for (index, candidate) in places.into_iter().enumerate() {
            // The solver decides about the likeliest value alone.
            let new =
                fits(here.terms, &candidate) && !(count == 0 && candidates.contains(&candidate));
            let effort = if index == 0 { Effort::Solver } else { Effort::Rules };
            if new && self.proved(here, (candidate, term), &[], effort) {
                return candidate;
            }
        }
        self.unify_joined(here, term)
    }

    /// If one side of a selection came from another lane and is equal to the other side, that other
    /// side.
    fn unify_joined(&mut self, here: &mut Evaluation<'_, 's>, term: TermId) -> TermId {
        if !self.cross_lane.contains(here.terms, term) {
            return term;
        }
        let Node::IfThenElse(condition, a, b) = *here.terms.arena.node(term) else { return term };
        let negated = here.terms.arena.not(condition);
        let (received, own, when) = match (
            self.cross_lane.contains(here.terms, a),
            self.cross_lane.contains(here.terms, b),
        ) {
            (true, false) => (a, b, condition),
            (false, true) => (b, a, negated),
            _ => return term,
        };
        if self.proved(here, (own, received), &[when], Effort::Solver) { own } else { term }
    }

    fn rewritten_only<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
        guard: Option<TermId>,
    ) -> Option<Results<'i, 's>> {
        self.understand(here, inst, guard)
    }

    fn is_equal(&mut self, here: &mut Evaluation<'_, 's>, claim: Claim, known: &[TermId]) -> bool {
        self.proved(here, claim, known, Effort::Solver)
    }

    fn may_wait(&mut self) {
        self.masks.clear();
    }
}

impl<'s> Warp<'_, 's> {
    fn proved(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        claim: Claim,
        known: &[TermId],
        effort: Effort,
    ) -> bool {
        let place = self.place(here);
        self.prover.effort = effort;
        let lanes = &mut self.lanes;
        let mut at = Question { terms: here.terms, lanes, place: &place, known };
        let proof = self.prover.equal(&mut at, claim);
        self.prover.effort = Effort::Solver;
        proof == Proof::Equal
    }

    /// The values that the original's register of the same name gets in the same iteration, the likeliest first: for
    /// duplicated code, and only one version stands where the original's code is. The likeliest value is that
    /// of as many writes behind the last matched instruction as in the rewritten program.
    fn same_register_values(
        &self,
        here: &Evaluation<'_, 's>,
        register: RegisterId,
        (last, count): (Option<InstId>, usize),
    ) -> Vec<TermId> {
        let Some(reference) = here.reference else { return Vec::new() };
        let key = &here.program.keys[register];
        let counterpart = reference.program.by_key.get(key);
        let written = counterpart.and_then(|other| self.written.get(other));
        let flow = &reference.program.flow;
        let same_loop = |inst: InstId| {
            flow.block_ids()
                .find(|id| flow.block(*id).instructions().contains(&inst))
                .is_some_and(|block| reference.program.loop_of(block) == here.here())
        };
        let all = written.map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|(inst, _)| last.is_some_and(|last| *inst <= last));
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| at.abs_diff(first + count));
        let values = order.into_iter().map(|at| all[at]).filter(|(inst, _)| same_loop(*inst));
        values.map(|(_, term)| term).take(MAX_SAME_REGISTER).collect()
    }

    /// The place of the block that is being evaluated.
    fn place(&self, here: &mut Evaluation<'_, 's>) -> Place {
        let global: &[_] = match here.reference {
            Some(r) if r.execution.generic || here.out.generic => &r.execution.global,
            _ => &[],
        };
        let (entered, out) = (&here.entered, &here.out);
        let entries = |id: LoopId| match entered.get(&id) {
            Some((entry, _)) => Some(*entry),
            None => out.loops[id].as_ref().map(|record| record.entry),
        };
        let known = Known { reaches: &self.reaches, votes: &self.votes, global };
        Place::new(here.terms, here.program, out, &entries, here.block, &known)
    }
}

/// The values that the original's register of the same name gets from the instructions in whose place
/// the current one is, the last first.
fn candidates(here: &Evaluation<'_, '_>, register: RegisterId) -> Vec<TermId> {
    let Some(reference) = here.reference else { return Vec::new() };
    let key = &here.program.keys[register];
    let Some(&counterpart) = reference.program.by_key.get(key) else { return Vec::new() };
    let gap = reference.gaps[here.at].clone();
    gap.rev()
        .filter_map(|inst| reference.execution.definitions.get(&(inst, counterpart)).copied())
        .collect()
}

/// The last instruction of the original that is matched with one in front of the current one, and how often a register
/// has been written since.
fn written_since(here: &Evaluation<'_, '_>, register: RegisterId) -> (Option<InstId>, usize) {
    let Some(reference) = here.reference else { return (None, 0) };
    let mut count = 0;
    for at in InstId(0).to(here.at).rev() {
        here.terms.arena.charge(1);
        if reference.matched[at].is_some() {
            return (reference.matched[at], count);
        }
        count += usize::from(results(&here.program.flow.insts[at]).contains(&register));
    }
    (None, count)
}
