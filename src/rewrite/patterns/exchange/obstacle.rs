//! Reasons to leave an exchange through shared memory unchanged.

use std::fmt;

/// The reason why shuffles may not do an exchange through shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The target has no `shfl.sync` by which lanes may have parted before: older than sm_70, or PTX ISA 6.0.
    Target,
    /// It stands in a device function.
    Function,
    /// Threads of the block may be elsewhere, or may have left the kernel.
    Elsewhere,
    /// `.reqntid` does not say that the block is of whole warps with consecutive lanes.
    Shape,
    /// The barrier is none of the whole warp or block: its line.
    Barrier(u32),
    /// A strong access: its line.
    Strong(u32),
    /// An access under a predicate: its line.
    Guarded(u32),
    /// An access to another number of bytes, to several elements, or not between a register and memory: its line.
    Element(u32),
    /// An address that is not a sum of a value of the warp and a function of the thread's number: its line.
    Address(u32),
    /// Another store may change the words: its line.
    Store(u32),
    /// An instruction that orders memory, or may change it, between store and load: its line.
    Between(u32),
    /// Two threads store to one word: the line of the store.
    SameWord(u32),
    /// A word that a thread of another warp stores: the line of the load.
    OtherWarp(u32),
    /// A word that nobody stores in front of the barrier: the line of the load.
    Unstored(u32),
    /// Source lanes that are not a constant, `lane ^ c` or `a * lane + c`: the line of the load.
    Lanes(u32),
    /// The array may be reached in other ways, or its size comes with the launch.
    Array,
    /// A rewrite chosen for other accesses changes the same code.
    Beside,
}

impl Obstacle {
    /// The name of the rule, for programs: words joined by dashes.
    pub(super) fn rule(&self) -> &'static str {
        match self {
            Obstacle::Target => "needs-newer-target",
            Obstacle::Function => "device-function",
            Obstacle::Elsewhere => "exchange-of-some-threads",
            Obstacle::Shape => "exchange-shape",
            Obstacle::Barrier(_) => "exchange-barrier",
            Obstacle::Strong(_) | Obstacle::Guarded(_) | Obstacle::Element(_) => "exchange-access",
            Obstacle::Store(_) | Obstacle::Between(_) => "exchange-between",
            Obstacle::Address(_)
            | Obstacle::SameWord(_)
            | Obstacle::OtherWarp(_)
            | Obstacle::Unstored(_) => "exchange-words",
            Obstacle::Lanes(_) => "exchange-lanes",
            Obstacle::Array => "exchange-array",
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
            Obstacle::Shape => write!(
                f,
                "no `.reqntid` says that the block is of whole warps whose lanes are consecutive in `%tid.x`"
            ),
            Obstacle::Barrier(line) => {
                write!(f, "the barrier at line {line} is not one of the whole warp or block")
            }
            Obstacle::Strong(line) => {
                write!(f, "the access at line {line} is volatile or otherwise strong")
            }
            Obstacle::Guarded(line) => {
                write!(f, "the access at line {line} stands under a predicate")
            }
            Obstacle::Element(line) => write!(
                f,
                "line {line} does not move one register of 32 or 64 bits, or another number of bytes than the store"
            ),
            Obstacle::Address(line) => write!(
                f,
                "the address at line {line} is not a value of the warp plus a function of the thread's number"
            ),
            Obstacle::Store(line) => {
                write!(f, "the store at line {line} may change the words in between")
            }
            Obstacle::Between(line) => {
                write!(f, "line {line}, between store and load, orders memory or may change it")
            }
            Obstacle::SameWord(line) => {
                write!(f, "two threads store to one word at line {line}")
            }
            Obstacle::OtherWarp(line) => {
                write!(f, "a lane loads a word of another warp at line {line}")
            }
            Obstacle::Unstored(line) => write!(
                f,
                "a lane loads a word at line {line} that nobody stores in front of the barrier"
            ),
            Obstacle::Lanes(line) => write!(
                f,
                "the source lanes at line {line} are not a constant, `lane ^ c` or `a * lane + c`"
            ),
            Obstacle::Array => write!(
                f,
                "the array may be accessed in other ways, or its size comes with the launch"
            ),
            Obstacle::Beside => write!(f, "other rewritten code stands there"),
        }
    }
}
