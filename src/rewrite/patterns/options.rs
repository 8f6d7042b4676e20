//! The options of the selection.

use crate::cost::Costs;
use crate::strategies::Strategies;

/// The most loads of one function that are replaced. The assembler's time for a function rises faster
/// than the function's size if many registers are alive at once, and each replaced load adds
/// registers, predicates and branches.
const MAX_REPLACED: usize = 256;

/// The target's support for `redux.sync` (PTX ISA, "redux.sync").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Redux {
    /// Not there: before sm_80 or PTX ISA 7.0.
    #[default]
    Absent,
    /// For integers of 32 bits.
    Integers,
    /// For numbers of single precision, too: sm_100a, sm_103a and their families.
    Numbers,
}

/// The options of the selection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which strategies may be used.
    pub strategies: Strategies,
    /// The costs by which it is decided what pays.
    pub costs: Costs,
    /// Largest |delta|, 0 to 31.
    pub max_delta: u32,
    /// Whether the machine code of a rewritten kernel is compared with that of the original, and a slower one taken back:
    /// then `auto` lays arrays out anew, too.
    pub is_checked: bool,
    /// The threads of a block along x, y and z, where the text has no `.reqntid`: layouts of shared memory are chosen for it.
    pub block: Option<[u64; 3]>,
    /// The maximum number of replaced loads of one function (256 by default).
    pub most: usize,
    /// The target's support for `redux.sync`.
    pub redux: Redux,
    /// Whether the target has `shfl.sync` for lanes that have come different ways: sm_70 and PTX ISA 6.0.
    pub has_shuffles_of_parted: bool,
    /// Whether the target has `nanosleep`: sm_70 and PTX ISA 6.3.
    pub has_nanosleep: bool,
    /// Whether collectives are listed although strategy `collective` may not be used.
    pub lists_collectives: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strategies: Strategies::AUTO,
            costs: Costs::of(crate::cost::DEFAULT_ARCHITECTURE),
            max_delta: 31,
            is_checked: false,
            block: None,
            most: MAX_REPLACED,
            redux: Redux::Absent,
            has_shuffles_of_parted: false,
            has_nanosleep: false,
            lists_collectives: true,
        }
    }
}
