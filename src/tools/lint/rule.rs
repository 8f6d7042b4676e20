//! The rules by name. The page of each is its section in `docs/lint.md`.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The rule of a finding.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Debug,
    EnumIter,
    EnumString,
    IntoStaticStr,
    Serialize,
    Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Lanes load from more sectors than their bytes need.
    UncoalescedLoad,
    /// Lanes store to more sectors than their bytes need.
    UncoalescedStore,
    /// A row of consecutive elements that begins inside a sector.
    MisalignedRow,
    /// Lanes access some members of structs.
    PartialSectors,
    /// Lanes access different words of one bank of shared memory.
    BankConflict,
    /// The address depends on loaded data.
    Irregular,
    /// An array lies in local memory since an index into it is not constant.
    LocalMemory,
    /// A load in a loop reads the same address each time, since a store may change the value there.
    LoopInvariantLoad,
    /// A value is loaded again since a store may have changed it.
    ReloadedAfterStore,
    /// A loop stores to the same address in each iteration, since other accesses may read it.
    SumInMemory,
    /// Consecutive scalars that one vector access would move.
    ScalarCouldBeVector,
    /// Arithmetic in double precision on floats because of a constant.
    DoublePromotion,
    /// A division by a value that does not change in the loop.
    SlowDivision,
    /// Lanes of every warp take different sides of a branch.
    DivergentBranch,
    /// All lanes of a warp add to one address.
    AtomicHotSpot,
    /// The state space of an access is not known to the compiler.
    GenericAccess,
    /// The value that a load reads is in a register already, of this thread or of another lane.
    RedundantLoad,
    /// Lanes of a warp go past a barrier that other lanes execute.
    BarrierInDivergence,
    /// The mask of a shuffle names lanes that do not execute it.
    ShuffleFromInactiveLane,
    /// Shuffles compute what one instruction could.
    CollectivePossible,
    /// Two threads access the same bytes without an order.
    Race,
}

impl Rule {
    /// The name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing.
    #[default]
    Note,
    /// Worth changing.
    Warning,
}

impl Level {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
        }
    }
}
