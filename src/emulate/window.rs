//! The parts of memory that are kept apart.

use crate::ptx::StateSpace;

/// A part of memory that is written apart from the others. Local memory and parameters are not kept;
/// constant memory never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    Global,
    Shared,
}

impl Window {
    pub const ALL: [Window; 2] = [Window::Global, Window::Shared];

    /// The windows that a weak store to a state space may write.
    pub fn written(space: StateSpace) -> &'static [Window] {
        match space {
            StateSpace::Global => &[Window::Global],
            StateSpace::Shared => &[Window::Shared],
            StateSpace::Local | StateSpace::Param => &[],
            _ => &Window::ALL,
        }
    }
}
