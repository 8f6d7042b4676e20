//! Reasons to leave a tree in shared memory unchanged.

use std::fmt;

/// The reason why a warp may not do the last steps of a tree by shuffles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The target has no `shfl.sync` by which lanes may have parted before: older than sm_70, or PTX ISA 6.0.
    Target,
    /// It stands in a device function.
    Function,
    /// Threads of the block may be elsewhere, or may have left the kernel.
    Elsewhere,
    /// The threads that take part are not those below the stride: the line of the branch.
    Guard(u32),
    /// An address that is not an array's start plus the thread's number times the size of an element: a line.
    Address(u32),
    /// Strides that are not 32, 16, ... or 16, 8, ..., or are not known.
    Strides,
    /// An instruction between the steps that may not be left out: its line.
    Between(u32),
    /// A barrier that is not one of the whole block without conditions: its line.
    Barrier(u32),
    /// No barrier, and nothing but registers, stands in front of the first step that would be replaced.
    Begins,
    /// No barrier stands between two steps.
    NoBarrier(u32),
    /// A store whose value is not computed from two elements as in the other steps, or is of another size: its line.
    Element(u32),
    /// A register that a step writes is read behind it.
    Register(String),
    /// Arrays that may share bytes.
    Arrays,
    /// A warp does the last steps already, without barriers and by volatile accesses.
    Volatile,
    /// A rewrite chosen for other accesses changes the same code.
    Beside,
}

impl Obstacle {
    /// The name of the rule, for programs: words joined by dashes.
    pub(super) fn rule(&self) -> &'static str {
        match self {
            Obstacle::Target => "needs-newer-target",
            Obstacle::Function => "device-function",
            Obstacle::Elsewhere => "tree-of-some-threads",
            Obstacle::Guard(_) => "tree-guard",
            Obstacle::Address(_) => "tree-address",
            Obstacle::Strides => "tree-strides",
            Obstacle::Between(_) => "tree-between",
            Obstacle::Barrier(_) | Obstacle::NoBarrier(_) | Obstacle::Begins => "tree-barrier",
            Obstacle::Element(_) => "tree-element",
            Obstacle::Register(_) => "tree-register",
            Obstacle::Arrays => "tree-arrays",
            Obstacle::Volatile => "tree-of-one-warp",
            Obstacle::Beside => "beside-others",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Target => write!(f, "shuffles of a warp that has parted before need sm_70"),
            Obstacle::Function => write!(f, "threads of the block may be in another function"),
            Obstacle::Elsewhere => {
                write!(f, "some threads of the block may be elsewhere, or have left the kernel")
            }
            Obstacle::Guard(line) => {
                write!(f, "the branch at line {line} is not one on `%tid.x` below the stride")
            }
            Obstacle::Address(line) => write!(
                f,
                "the address at line {line} is not that of the element `%tid.x` of an array, or of the one a stride further"
            ),
            Obstacle::Strides => {
                write!(f, "the strides are not shown to be 32 or 16 and then half of it each time")
            }
            Obstacle::Between(line) => write!(f, "line {line} stands between the steps"),
            Obstacle::Barrier(line) => {
                write!(f, "the barrier at line {line} is not one of the whole block")
            }
            Obstacle::NoBarrier(line) => {
                write!(f, "no barrier stands between the step at line {line} and the next one")
            }
            Obstacle::Begins => {
                write!(f, "accesses stand between the first step and the barrier in front of it")
            }
            Obstacle::Element(line) => write!(
                f,
                "what line {line} stores is not computed from two elements of 32 or 64 bits as in the other steps"
            ),
            Obstacle::Register(name) => {
                write!(f, "the register `{name}`, which a step writes, is read behind it")
            }
            Obstacle::Arrays => write!(f, "the arrays of the tree may share bytes"),
            Obstacle::Volatile => {
                write!(f, "one warp does these steps by volatile accesses, without barriers")
            }
            Obstacle::Beside => write!(f, "other rewritten code stands there"),
        }
    }
}
