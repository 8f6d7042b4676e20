//! A load that may take its value from registers that another one has filled, with its guards; and the assumptions that
//! the search for such loads may make.

use std::collections::BTreeSet;

use super::alignment::MAX_VECTOR;
use super::alike::LaneClaim;
use super::availability::NoAliasCheck;
use super::pieces::Piece;
use super::prove::NoWrap;
use crate::cfg::{BlockId, InstId, RegisterId};

/// The allowed assumptions, and the limits of the search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Take it for granted that 32-bit indices do not wrap around, as the original did.
    pub assume_no_wrap: bool,
    /// Only loads of read-only memory take part, and loads in kernels that write no global memory.
    pub strict: bool,
    /// Resource limit of one solver query, in z3's units.
    pub solver_limit: u32,
    /// The budget of all solver queries about one function together, in z3's units; less for a small function
    /// (`solver::budget_for`).
    pub solver_budget: u64,
    /// Bytes of the widest vector load that may be written: 16, or more where the module's
    /// version and target have it.
    pub widest_vector: i64,
    /// A folder for the solver's queries.
    pub dump_queries: Option<std::path::PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            assume_no_wrap: false,
            strict: false,
            solver_limit: 200_000,
            solver_budget: crate::solver::FUNCTION_BUDGET,
            widest_vector: MAX_VECTOR,
            dump_queries: None,
        }
    }
}

/// The checks at run time before a shuffled value is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The warp's lanes must be consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// All 32 lanes of the warp must be there.
    pub whole_warp: bool,
    /// These indices must not wrap around.
    pub no_wrap: Vec<NoWrap>,
    /// The guard predicate of the source load, and whether that is negated; it must have let the
    /// source load run in the lane that sends.
    pub source_active: Option<(RegisterId, bool)>,
    /// The source stands in a branch, so the lane that sends must have executed it since it came by the
    /// end of this block.
    pub source_executed: Option<BlockId>,
    /// These stores must not have been to the source's bytes in this lane.
    pub no_alias_checks: Vec<NoAliasCheck>,
    /// The load's generic address must be global.
    pub global_address: bool,
    /// In the lane itself, the load's address must be this number of bytes above the source's. If the source's address
    /// is known to be affine in the lane id, this comparison at run time replaces a proof about the load's address.
    pub address_delta: Option<i64>,
    /// Registers that the address depends on, such as the row of a flattened index and the place in the row. In the
    /// sending lane they must have the claimed values.
    pub same_index: Vec<LaneClaim>,
}

/// A load whose value is in the registers of another load, in the same lane or in another: its proof, and the remaining checks.
#[derive(Clone, Debug)]
pub struct LegalReuse {
    /// Index of the source load's instruction; of the first one, if there are several.
    pub source: InstId,
    /// For each element of the load the sources of its register.
    pub pieces: Vec<Piece>,
    /// `A(tid.x + delta) = B(tid.x)`.
    pub delta: i32,
    /// The checks at run time.
    pub guards: Guards,
}

impl LegalReuse {
    /// The instructions of the loads that the value comes from.
    pub fn sources(&self) -> impl Iterator<Item = InstId> + '_ {
        self.pieces.iter().flat_map(|piece| piece.parts.iter().map(|part| part.source))
    }

    /// How many words of 32 bits come from another lane.
    pub fn words(&self) -> u32 {
        let words: BTreeSet<_> = self.pieces.iter().flat_map(Piece::words).collect();
        words.len() as u32
    }
}
