//! What strong accesses and fences say about the order of threads.

/// The threads that an order reaches (PTX ISA, "Memory Consistency Model: Scope").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scope {
    /// Those of the block; a cluster is one block here.
    Block,
    /// Those of the device.
    Device,
}

/// The memory order of a strong access (PTX ISA, "Memory Consistency Model: Release and Acquire Patterns").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    /// Its scope.
    pub scope: Scope,
    /// Whether it acquires by itself.
    pub acquires: bool,
    /// Whether it releases by itself.
    pub releases: bool,
}
