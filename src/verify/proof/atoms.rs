//! Terms made of the same parts in another order, where the parts of one are equal to those of the other only by a proof.

use rustc_hash::FxHashSet;

use super::outcome::Proof;
use super::query::Prover;
use super::question::{Claim, Question};
use crate::expr::{Node, Substitution, TermId};
use crate::terms::{Terms, conditions};

/// The most parts of a term that are looked at.
const MAX_ATOMS: usize = 16;

/// How many pairs of terms are compared part by part for one claim.
const MAX_COMPARED: u32 = 8;

/// The most terms that are looked through for parts.
const MAX_TERMS: usize = 256;

impl Prover {
    /// Whether two terms are the same once each part of the second, a result of an uninterpreted function, is replaced
    /// by a part of the first that it is proved equal to, and parts of the first by those.
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
        let common: Vec<TermId> = own.iter().copied().filter(|atom| other.contains(atom)).collect();
        let (own, other) = (only(&own, &other), only(&other, &own));
        self.compared_in_parts += 1;
        let mut equal: Vec<(TermId, TermId)> = Vec::new();
        for &theirs in &other {
            let Some(mine) = self.equal_part(at, &own, theirs) else { return false };
            equal.push((theirs, mine));
        }
        if !equal.is_empty() && same(at, (a, b), &equal) {
            return true;
        }
        // One part of the second may stand for several of the first.
        let matched: Vec<TermId> =
            common.into_iter().chain(equal.iter().map(|(_, mine)| *mine)).collect();
        for &mine in own.iter().filter(|mine| !matched.contains(mine)) {
            let Some(stands) = self.equal_part(at, &matched, mine) else { return false };
            equal.push((mine, stands));
        }
        same(at, (a, b), &equal)
    }

    /// The first of some parts that is a result of the same function as a part, and proved equal to it.
    fn equal_part(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        among: &[TermId],
        part: TermId,
    ) -> Option<TermId> {
        let function = |terms: &Terms, term: TermId| terms.applied(term).map(|(f, _)| f.clone());
        let wanted = function(at.terms, part);
        let alike: Vec<TermId> =
            among.iter().copied().filter(|one| function(at.terms, *one) == wanted).collect();
        alike.into_iter().find(|&one| self.by_cases(at, (one, part)) == Proof::Equal)
    }
}

/// Whether two terms are the same with parts replaced by parts that they are equal to.
fn same(at: &mut Question<'_, '_, '_>, (a, b): Claim, equal: &[(TermId, TermId)]) -> bool {
    let mut replaced = |term: TermId| {
        Substitution::new().transform(&mut at.terms.arena, term, &mut |_, part| {
            equal.iter().find(|(from, _)| *from == part).map(|(_, to)| *to)
        })
    };
    let (a, b) = (replaced(a), replaced(b));
    a == b
        || at.terms.arena.width(a) == 1
            && conditions::are_same(&mut at.terms.arena, (a, b), at.known)
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
