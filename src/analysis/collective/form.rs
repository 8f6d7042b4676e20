//! Instructions that compute a collective.

use super::value::Operator;
use crate::cfg::{InstId, RegisterId};

/// A predicate of each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predicate {
    /// The register.
    pub register: RegisterId,
    /// Whether the lane counts where the register is false.
    pub negated: bool,
}

/// Instructions that compute a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `redux.sync` of each group of lanes, from sm_80 on; of numbers of single precision from sm_100 on (PTX ISA,
    /// "redux.sync").
    Redux(Operator),
    /// `redux.sync` of each group of lanes, of integers that are in the order of the numbers of single precision, from
    /// sm_80 on.
    Ordered(Operator),
    /// Two `redux.sync` of each group of lanes, of the halves of 64 bits.
    Wide(Operator),
    /// `vote.sync.ballot`, and `popc` of all lanes.
    Count(Predicate),
    /// `vote.sync.ballot`, and `popc` of the lanes up to the own one.
    PrefixCount(Predicate),
    /// `vote.sync.any` or, if `all` holds, `vote.sync.all`.
    Vote {
        /// The predicate.
        predicate: Predicate,
        /// Whether it has to hold in all lanes.
        all: bool,
    },
    /// `mov` from a register that holds the values, and the instruction that has written it.
    Move(RegisterId, InstId),
}
