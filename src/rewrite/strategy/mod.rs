//! What code stands for a plan: one file for each shape, none of which decides anything.

mod no_corner;
mod no_load;
mod paper;

use super::edit::Edit;
use super::plan::KernelPlan;
use no_corner::NoCorner;
use no_load::NoLoad;
use paper::Paper;

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

/// Which code stands for a decision in [`Mode::Full`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StrategyName {
    /// The paper's: a shuffle and a guarded load for each covered load.
    #[default]
    Paper,
}

/// Chooses the code for a plan.
pub trait Strategy: Sync {
    /// The edits for one function.
    fn edits(&self, plan: &KernelPlan<'_>) -> Vec<Edit>;
}

/// The strategy for a mode; `None` where nothing is to change.
pub fn strategy(mode: Mode, name: StrategyName) -> Option<Box<dyn Strategy>> {
    match (mode, name) {
        (Mode::Original, _) => None,
        (Mode::NoLoad, _) => Some(Box::new(NoLoad)),
        (Mode::NoCorner, _) => Some(Box::new(NoCorner)),
        (Mode::Full, StrategyName::Paper) => Some(Box::new(Paper)),
    }
}
