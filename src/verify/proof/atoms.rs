//! Terms made of the same parts in another order, where the parts of one are equal to those of the other only by a proof.

use rustc_hash::FxHashSet;

use super::outcome::Proof;
use super::query::Prover;
use super::question::{Claim, Question};
use crate::expr::{Node, Substitution, TermId};
use crate::verify::terms::{Terms, conditions};

/// The most parts of a term that are looked at.
const MAX_ATOMS: usize = 16;

/// How many pairs of terms are compared part by part for one claim.
const MAX_COMPARED: u32 = 8;

/// The most terms that are looked through for parts.
const MAX_TERMS: usize = 256;

impl Prover {
    /// Whether two terms are the same once each part of the second, a result of an uninterpreted function, is replaced
    /// by a part of the first that it is proved equal to.
    pub(super) fn by_atoms(&mut self, at: &mut Question<'_, '_, '_>, (a, b): Claim) -> bool {
        let is_part = [a, b].iter().any(|term| at.terms.applied(*term).is_some());
        if is_part || self.compared_in_parts >= MAX_COMPARED {
            return false;
        }
        let (Some(own), Some(other)) = (atoms(at.terms, a), atoms(at.terms, b)) else {
            return false;
        };
        let only = |these: &[TermId], those: &[TermId]| -> Vec<TermId> {
            these.iter().copied().filter(|atom| !those.contains(atom)).collect()
        };
        let (own, other) = (only(&own, &other), only(&other, &own));
        self.compared_in_parts += 1;
        let mut equal: Vec<(TermId, TermId)> = Vec::new();
        for &theirs in &other {
            let function =
                |terms: &Terms, term: TermId| terms.applied(term).map(|(f, _)| f.clone());
            let alike =
                |terms: &Terms, mine: TermId| function(terms, mine) == function(terms, theirs);
            let candidates: Vec<TermId> =
                own.iter().copied().filter(|mine| alike(at.terms, *mine)).collect();
            let found = candidates
                .into_iter()
                .find(|&mine| self.by_cases(at, (mine, theirs)) == Proof::Equal);
            let Some(mine) = found else { return false };
            equal.push((theirs, mine));
        }
        if equal.is_empty() {
            return false;
        }
        let b = Substitution::new().transform(&mut at.terms.arena, b, &mut |_, term| {
            equal.iter().find(|(theirs, _)| *theirs == term).map(|(_, mine)| *mine)
        });
        a == b
            || at.terms.arena.width(a) == 1
                && conditions::are_same(&mut at.terms.arena, (a, b), at.known)
    }
}

/// The results of uninterpreted functions that a term is made of; `None` if they are too many.
fn atoms(terms: &Terms, term: TermId) -> Option<Vec<TermId>> {
    let (mut found, mut seen, mut stack) = (Vec::new(), FxHashSet::default(), vec![term]);
    while let Some(next) = stack.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        if seen.len() > MAX_TERMS || found.len() > MAX_ATOMS {
            return None;
        }
        match terms.arena.node(next) {
            Node::Apply(..) => found.push(next),
            Node::IfThenElse(..) => return None,
            _ => stack.extend(terms.arena.operands(next)),
        }
    }
    Some(found)
}
