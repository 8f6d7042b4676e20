//! The code that stands for a plan: one file for each shape, none of which decides anything.

mod aos;
mod bank;
mod full;
mod no_corner;
mod no_load;
mod paper;
mod reuse;
mod stored;
mod wide;
mod window;

use super::mention::Draft;
use super::plan::KernelPlan;
use full::Full;
use no_corner::NoCorner;
use no_load::NoLoad;

/// Which version of the code is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Shuffles with the original load for corner cases.
    #[default]
    Full,
    /// No change.
    Original,
    /// Covered loads are removed. For measuring only: computes wrong results.
    NoLoad,
    /// Shuffles without the load for corner cases. For measuring only: computes wrong results.
    NoCorner,
}

impl Mode {
    /// Whether the result computes something else than the input.
    pub fn is_wrong(self) -> bool {
        matches!(self, Mode::NoLoad | Mode::NoCorner)
    }
}

/// Chooses the code for a plan.
pub trait Strategy: Sync {
    /// The code for one function.
    fn edits(&self, plan: &KernelPlan<'_>) -> Vec<Draft>;
}

/// The strategy for a mode; for a mode that changes nothing, the one whose code nobody will see.
pub fn strategy(mode: Mode) -> &'static dyn Strategy {
    match mode {
        Mode::NoLoad => &NoLoad,
        Mode::NoCorner => &NoCorner,
        Mode::Full | Mode::Original => &Full,
    }
}
