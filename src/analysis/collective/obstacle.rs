//! Reasons to leave a collective unchanged.

use std::fmt;

/// The reason why fewer instructions may not compute a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No instruction computes it: the operator, or the type of its operand.
    NoInstruction(&'static str),
    /// A rewrite chosen for other accesses or collectives changes the same code.
    Beside,
    /// A loop does something else beside the shuffles: the line where.
    LoopWork(u32),
    /// A value of the last iteration of the loop is read behind it: a reader's line.
    LoopValue(u32),
    /// The loop stays for another collective: the line of that one's result.
    LoopKept(u32),
    /// The target has no instruction for it: the least compute capability that has one.
    Target(u32),
    /// The member mask of the shuffle on this line is not the constant of all lanes.
    Mask(u32),
    /// The shuffle on this line is executed under a predicate.
    Guarded(u32),
    /// Some lanes use the result that do not hold all of it: a reader's line.
    Lanes(u32),
    /// Some lanes of the warp may execute the warp instruction on this line instead.
    Divergent(u32),
    /// It stands in a device function, which other lanes of the warp may not be in.
    Function,
    /// The predicate that is counted is written again before the result is there: the line where.
    Overwritten(u32),
    /// Instructions stand between the shuffles that may not be executed in two versions: the line of one.
    Between(u32),
}

impl Obstacle {
    /// The name of the rule, for programs: words joined by dashes.
    pub fn rule(&self) -> &'static str {
        match self {
            Obstacle::NoInstruction(_) => "no-instruction",
            Obstacle::Beside => "beside-others",
            Self::LoopWork(_) | Self::LoopValue(_) | Self::LoopKept(_) => "counted-loop",
            Obstacle::Target(_) => "needs-newer-target",
            Obstacle::Mask(_) => "member-mask",
            Obstacle::Guarded(_) => "predicated-shuffle",
            Obstacle::Lanes(_) => "partial-result",
            Obstacle::Divergent(_) => "divergent-shuffle",
            Obstacle::Function => "device-function",
            Obstacle::Overwritten(_) => "source-overwritten",
            Obstacle::Between(_) => "not-in-one-piece",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::NoInstruction(what) => write!(f, "no instruction computes {what}"),
            Obstacle::Beside => write!(f, "other rewritten code stands there"),
            Obstacle::LoopWork(line) => {
                write!(f, "the loop of the shuffles does something else, too, at line {line}")
            }
            Obstacle::LoopValue(line) => {
                write!(f, "line {line} reads a value that the last iteration of the loop has left")
            }
            Obstacle::LoopKept(line) => {
                write!(f, "the loop stays for the result at line {line}")
            }
            Obstacle::Target(least) => write!(f, "an instruction for it needs sm_{least}"),
            Obstacle::Mask(line) => {
                write!(f, "the member mask at line {line} is not the constant of all lanes")
            }
            Obstacle::Guarded(line) => {
                write!(f, "the shuffle at line {line} is executed under a predicate")
            }
            Obstacle::Lanes(line) => {
                write!(f, "line {line} may read the result in lanes that hold a part of it only")
            }
            Obstacle::Divergent(line) => {
                write!(f, "other lanes of the warp may be at the warp instruction at line {line}")
            }
            Obstacle::Function => {
                write!(f, "other lanes of the warp may be in another function")
            }
            Obstacle::Overwritten(line) => {
                write!(f, "the predicate that is counted is written again at line {line}")
            }
            Obstacle::Between(line) => {
                write!(
                    f,
                    "line {line} stands between the shuffles and may not be executed in two versions"
                )
            }
        }
    }
}
