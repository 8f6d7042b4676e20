//! Reasons to leave a tree in shared memory unchanged.

/// The reason why a warp may not do the last steps of a tree by shuffles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Obstacle {
    /// The target has no `shfl.sync` by which lanes may have parted before: older than sm_70, or PTX ISA 6.0.
    #[strum(serialize = "needs-newer-target")]
    #[error("shuffles of a warp that has parted before need sm_70")]
    Target,
    /// It stands in a device function.
    #[strum(serialize = "device-function")]
    #[error("threads of the block may be in another function")]
    Function,
    /// Threads of the block may be elsewhere, or may have left the kernel.
    #[strum(serialize = "tree-of-some-threads")]
    #[error("some threads of the block may be elsewhere, or have left the kernel")]
    Elsewhere,
    /// The threads that take part are not those below the stride: the line of the branch.
    #[strum(serialize = "tree-guard")]
    #[error("the branch at line {0} is not one on `%tid.x` below the stride")]
    Guard(u32),
    /// An address that is not an array's start plus the thread's number times the size of an element: a line.
    #[strum(serialize = "tree-address")]
    #[error(
        "the address at line {0} is not that of the element `%tid.x` of an array, or of the one a stride further"
    )]
    Address(u32),
    /// Strides that are not 32, 16, ... or 16, 8, ..., or are not known.
    #[strum(serialize = "tree-strides")]
    #[error("the strides are not shown to be 32 or 16 and then half of it each time")]
    Strides,
    /// An instruction between the steps that may not be left out: its line.
    #[strum(serialize = "tree-between")]
    #[error("line {0} stands between the steps")]
    Between(u32),
    /// A barrier that is not one of the whole block without conditions: its line.
    #[strum(serialize = "tree-barrier")]
    #[error("the barrier at line {0} is not one of the whole block")]
    Barrier(u32),
    /// No barrier, and nothing but registers, stands in front of the first step that would be replaced.
    #[strum(serialize = "tree-barrier")]
    #[error("accesses stand between the first step and the barrier in front of it")]
    Begins,
    /// No barrier stands between two steps.
    #[strum(serialize = "tree-barrier")]
    #[error("no barrier stands between the step at line {0} and the next one")]
    NoBarrier(u32),
    /// A store whose value is not computed from two elements as in the other steps, or is of another size: its line.
    #[strum(serialize = "tree-element")]
    #[error(
        "what line {0} stores is not computed from two elements of 32 or 64 bits as in the other steps"
    )]
    Element(u32),
    /// A register that a step writes is read behind it.
    #[strum(serialize = "tree-register")]
    #[error("the register `{0}`, which a step writes, is read behind it")]
    Register(String),
    /// Arrays that may share bytes.
    #[strum(serialize = "tree-arrays")]
    #[error("the arrays of the tree may share bytes")]
    Arrays,
    /// A warp does the last steps already, without barriers and by volatile accesses.
    #[strum(serialize = "tree-of-one-warp")]
    #[error("one warp does these steps by volatile accesses, without barriers")]
    Volatile,
    /// A rewrite chosen for other accesses changes the same code.
    #[strum(serialize = "beside-others")]
    #[error("other rewritten code stands there")]
    Beside,
}

impl Obstacle {
    /// The name of the rule, for programs: words joined by dashes.
    pub(super) fn rule(&self) -> &'static str {
        self.into()
    }
}
