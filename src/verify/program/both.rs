//! Something of both programs.

/// Something of the original, and the same of the rewritten program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Both<T> {
    pub original: T,
    pub rewritten: T,
}
