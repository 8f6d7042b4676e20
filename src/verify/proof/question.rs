//! A question to the prover: a place, and the conditions that hold in the case that is being looked at.

use super::lanes::Lanes;
use crate::expr::TermId;
use crate::record::Place;
use crate::terms::Terms;

/// The original's term, and the rewritten program's that is to be equal to it.
pub(crate) type Claim = (TermId, TermId);

/// Where claims are made: all proofs of one case share it.
pub(crate) struct Question<'q, 'r, 's> {
    pub terms: &'q mut Terms,
    pub lanes: &'q mut Lanes<'r, 's>,
    pub place: &'q Place,
    /// The conditions that hold.
    pub known: &'q [TermId],
}

impl<'q, 'r, 's> Question<'q, 'r, 's> {
    /// The same place, where other conditions are known.
    pub(crate) fn under<'n>(&'n mut self, known: &'n [TermId]) -> Question<'n, 'r, 's>
    where
        'q: 'n,
    {
        Question { terms: self.terms, lanes: self.lanes, place: self.place, known }
    }

    /// Another place, and the facts there.
    pub(crate) fn in_place<'n>(
        &'n mut self,
        place: &'n Place,
        known: &'n [TermId],
    ) -> Question<'n, 'r, 's> {
        Question { terms: self.terms, lanes: self.lanes, place, known }
    }
}
