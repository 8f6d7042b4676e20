//! Conditions made of the same parts in another order, where the parts of one are equal to those of the other only by a
//! proof.

use super::outcome::Proof;
use super::query::Prover;
use super::question::{Claim, Question};
use crate::expr::{BinaryOp, Node, Substitution, TermId, UnaryOp};
use crate::verify::terms::{Terms, conditions};

/// The most parts of a condition that are looked at.
const MAX_ATOMS: usize = 16;

/// The most terms of a condition that are looked through for its parts.
const MAX_TERMS: usize = 256;

impl Prover {
    /// Whether two conditions are the same once each part of the second, a result of an uninterpreted function, is
    /// replaced by a part of the first that it is proved equal to.
    pub(super) fn by_atoms(&mut self, at: &mut Question<'_, '_, '_>, (a, b): Claim) -> bool {
        if at.terms.arena.width(a) != 1
            || [a, b].iter().any(|term| at.terms.applied(*term).is_some())
        {
            return false;
        }
        let (Some(own), Some(other)) = (atoms(at.terms, a), atoms(at.terms, b)) else {
            return false;
        };
        let only = |these: &[TermId], those: &[TermId]| -> Vec<TermId> {
            these.iter().copied().filter(|atom| !those.contains(atom)).collect()
        };
        let (own, other) = (only(&own, &other), only(&other, &own));
        let mut equal: Vec<(TermId, TermId)> = Vec::new();
        for &theirs in &other {
            let function =
                |terms: &Terms, term: TermId| terms.applied(term).map(|(f, _)| f.clone());
            let alike =
                |terms: &Terms, mine: TermId| function(terms, mine) == function(terms, theirs);
            let mut candidates = own.iter().filter(|mine| alike(at.terms, **mine)).copied();
            let candidates: Vec<TermId> = candidates.by_ref().collect();
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
        a == b || conditions::are_same(&mut at.terms.arena, (a, b), at.known)
    }
}

/// The results of uninterpreted functions that a condition is made of by `and`, `or`, `xor` and `not`; `None` if they are
/// too many.
fn atoms(terms: &Terms, condition: TermId) -> Option<Vec<TermId>> {
    let (mut found, mut seen, mut stack) = (Vec::new(), 0, vec![condition]);
    while let Some(term) = stack.pop() {
        seen += 1;
        terms.arena.charge(1);
        if seen > MAX_TERMS || found.len() > MAX_ATOMS {
            return None;
        }
        match *terms.arena.node(term) {
            Node::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, x, y) => {
                stack.extend([x, y])
            }
            Node::Unary(UnaryOp::Not, inner) => stack.push(inner),
            Node::Apply(..) if !found.contains(&term) => found.push(term),
            _ => {}
        }
    }
    Some(found)
}
