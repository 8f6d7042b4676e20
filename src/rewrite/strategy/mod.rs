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

use super::edit::Edit;
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
    /// The edits for one function; `text` is the whole input.
    fn edits(&self, plan: &KernelPlan<'_>, text: &str) -> Vec<Edit>;
}

/// The strategy for a mode; `None` if the mode changes nothing.
pub fn strategy(mode: Mode) -> Option<Box<dyn Strategy>> {
    match mode {
        Mode::Original => None,
        Mode::NoLoad => Some(Box::new(NoLoad)),
        Mode::NoCorner => Some(Box::new(NoCorner)),
        Mode::Full => Some(Box::new(Full)),
    }
}
