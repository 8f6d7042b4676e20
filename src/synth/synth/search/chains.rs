//! Places grouped by the term that they hold.

use typed_index_collections::TiVec;

use crate::synth::term::TermId;

/// For each term a linked list of places of one kind, the one that was pushed last first.
pub(super) struct Chains<K> {
    /// The first place of each list, valid while its stamp is the current one.
    heads: TiVec<TermId, (u32, Option<K>)>,
    stamp: u32,
    /// The next place of each list.
    next: TiVec<K, Option<K>>,
}

impl<K: Copy + From<usize>> Chains<K>
where
    usize: From<K>,
{
    /// Empty lists.
    pub(super) fn new() -> Chains<K> {
        Chains { heads: TiVec::new(), stamp: 0, next: TiVec::new() }
    }

    /// Empties the lists, with room for `terms` terms and `places` places.
    pub(super) fn clear(&mut self, terms: usize, places: usize) {
        self.heads.resize(terms, (0, None));
        if self.next.len() < places {
            self.next.resize(places, None);
        }
        self.stamp += 1;
    }

    /// The first place that holds a term.
    fn head(&self, term: TermId) -> Option<K> {
        match self.heads.get(term) {
            Some(&(stamp, head)) if stamp == self.stamp => head,
            _ => None,
        }
    }

    /// Adds a place to the list of a term.
    pub(super) fn push(&mut self, term: TermId, place: K) {
        self.next[place] = self.head(term);
        self.heads[term] = (self.stamp, Some(place));
    }

    /// The places that hold a term.
    pub(super) fn of(&self, term: TermId) -> impl Iterator<Item = K> + '_ {
        std::iter::successors(self.head(term), |&place| self.next[place])
    }
}
