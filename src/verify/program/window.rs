//! The parts of memory that the judge keeps apart, each with versions of its own. Written apart
//! from the analysis's windows (`emulate`) on purpose.

/// A part of memory whose versions are followed by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Window {
    Global,
    Shared,
    Local,
    /// Parameters of calls.
    Param,
}

impl Window {
    pub(crate) const ALL: [Window; 4] =
        [Window::Global, Window::Shared, Window::Local, Window::Param];
}
