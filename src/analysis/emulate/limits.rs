//! How much work the analysis of one kernel may take.

/// Bounds on the work for one kernel, by count, so that giving up is reproducible.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions of a body.
    pub instructions: usize,
    /// Work with terms, in steps of about ten nanoseconds and 16 bytes
    /// ([`Arena::charge`](crate::expr::Arena::charge)): the steps of the emulation and of the
    /// decisions about its loads together.
    pub steps: u64,
    /// Values merged: mutable registers times blocks.
    pub merges: usize,
    /// Instructions times the loops around them.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { instructions: 100_000, steps: 20_000_000, merges: 20_000_000, nesting: 4_000_000 }
    }
}

/// A kernel that exceeds its [`Limits`]: which of them, and by how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge(pub String);

impl TooLarge {
    /// The steps for one function are used up.
    pub fn steps(limits: &Limits) -> TooLarge {
        TooLarge(format!("budget: the terms take more than {} steps", limits.steps))
    }
}
