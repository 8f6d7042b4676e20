//! The outcome of a search for a counterexample.

/// The outcome of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Values under which the predicates hold and the terms differ.
    Counterexample,
    /// Only values under which the predicates hold; the terms agreed in all of them.
    Agreement,
    /// No values under which the predicates hold.
    Nothing,
    /// All values were tried: the terms agree wherever the predicates hold, and somewhere they do.
    Proof,
    /// All values were tried: the predicates hold nowhere.
    Contradiction,
}
