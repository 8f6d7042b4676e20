//! Which version of the code is wanted.

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
