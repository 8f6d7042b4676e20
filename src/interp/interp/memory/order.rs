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
    /// Whether it is a load that a loop repeats until it likes the value.
    pub polls: bool,
}

impl Order {
    /// How strong a plain load or store of this order is.
    pub(crate) fn of_plain(self) -> Strength {
        let loose = !(self.acquires || self.releases || self.polls);
        Strength { scope: self.scope, loose }
    }

    /// How strong an atomic operation of this order is.
    pub(crate) fn of_atomic(self) -> Strength {
        Strength { scope: self.scope, loose: false }
    }
}

/// How strong an access is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Strength {
    /// Its scope.
    pub scope: Scope,
    /// Whether it is a volatile or relaxed load or store and nothing more, so that it orders nothing, and waits for
    /// nothing.
    pub loose: bool,
}
