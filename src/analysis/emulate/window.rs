//! The parts of memory with separate versions: a store to one does not change the facts about the others.

use crate::ptx::StateSpace;

/// A part of memory whose versions are followed by themselves. Local memory and parameters are not
/// followed; constant memory never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    Global,
    Shared,
    /// No memory, but followed like it: which barriers a lane has waited at so far.
    Waits,
}

impl Window {
    pub(super) const ALL: [Window; 3] = [Window::Global, Window::Shared, Window::Waits];
    /// The windows that are memory.
    pub(super) const MEMORY: [Window; 2] = [Window::Global, Window::Shared];

    /// The windows that a weak store to a state space may write.
    pub(super) fn written(space: StateSpace) -> &'static [Window] {
        match space {
            StateSpace::Global => &[Window::Global],
            StateSpace::Shared => &[Window::Shared],
            StateSpace::Local | StateSpace::Param => &[],
            _ => &Window::MEMORY,
        }
    }
}
