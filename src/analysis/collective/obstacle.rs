//! Reasons to leave a collective unchanged.

/// The reason why fewer instructions may not compute a collective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Obstacle {
    /// No instruction computes it: the operator, or the type of its operand.
    #[error("no instruction computes {0}")]
    NoInstruction(&'static str),
    /// A rewrite chosen for other accesses or collectives changes the same code.
    #[strum(serialize = "beside-others")]
    #[error("other rewritten code stands there")]
    Beside,
    /// A loop does something else beside the shuffles: the line where.
    #[strum(serialize = "counted-loop")]
    #[error("the loop of the shuffles does something else, too, at line {0}")]
    LoopWork(u32),
    /// A value of the last iteration of the loop is read behind it: a reader's line.
    #[strum(serialize = "counted-loop")]
    #[error("line {0} reads a value that the last iteration of the loop has left")]
    LoopValue(u32),
    /// The loop stays for another collective: the line of that one's result.
    #[strum(serialize = "counted-loop")]
    #[error("the loop stays for the result at line {0}")]
    LoopKept(u32),
    /// The target has no instruction for it: the least compute capability that has one.
    #[strum(serialize = "needs-newer-target")]
    #[error("an instruction for it needs sm_{0}")]
    Target(u32),
    /// The member mask of the shuffle on this line is not the constant of all lanes.
    #[strum(serialize = "member-mask")]
    #[error("the member mask at line {0} is not the constant of all lanes")]
    Mask(u32),
    /// The shuffle on this line is executed under a predicate.
    #[strum(serialize = "predicated-shuffle")]
    #[error("the shuffle at line {0} is executed under a predicate")]
    Guarded(u32),
    /// Some lanes use the result that do not hold all of it: a reader's line.
    #[strum(serialize = "partial-result")]
    #[error("line {0} may read the result in lanes that hold a part of it only")]
    Lanes(u32),
    /// Some lanes of the warp may execute the warp instruction on this line instead.
    #[strum(serialize = "divergent-shuffle")]
    #[error("other lanes of the warp may be at the warp instruction at line {0}")]
    Divergent(u32),
    /// It stands in a device function, which other lanes of the warp may not be in.
    #[strum(serialize = "device-function")]
    #[error("other lanes of the warp may be in another function")]
    Function,
    /// The predicate that is counted is written again before the result is there: the line where.
    #[strum(serialize = "source-overwritten")]
    #[error("the predicate that is counted is written again at line {0}")]
    Overwritten(u32),
    /// Instructions stand between the shuffles that may not be executed in two versions: the line of one.
    #[strum(serialize = "not-in-one-piece")]
    #[error("line {0} stands between the shuffles and may not be executed in two versions")]
    Between(u32),
}

impl Obstacle {
    /// The name of the rule, for programs: words joined by dashes.
    pub fn rule(&self) -> &'static str {
        self.into()
    }
}
