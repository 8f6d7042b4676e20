//! Reasons to leave a collective unchanged: a network of shuffles, or a tree in shared memory.

/// The reason why fewer instructions may not compute a collective; from `TreeTarget` on, why a warp may not do the last
/// steps of a tree by shuffles.
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
    /// The target has no `shfl.sync` by which lanes may have parted before: older than sm_70, or PTX ISA 6.0.
    #[strum(serialize = "needs-newer-target")]
    #[error("shuffles of a warp that has parted before need sm_70")]
    TreeTarget,
    /// It stands in a device function.
    #[strum(serialize = "device-function")]
    #[error("threads of the block may be in another function")]
    TreeFunction,
    /// Threads of the block may be elsewhere, or may have left the kernel.
    #[error("some threads of the block may be elsewhere, or have left the kernel")]
    TreeOfSomeThreads,
    /// The threads that take part are not those below the stride: the line of the branch.
    #[error("the branch at line {0} is not one on `%tid.x` below the stride")]
    TreeGuard(u32),
    /// An address that is not an array's start plus the thread's number times the size of an element: a line.
    #[error(
        "the address at line {0} is not that of the element `%tid.x` of an array, or of the one a stride further"
    )]
    TreeAddress(u32),
    /// Strides that are not 32, 16, ... or 16, 8, ..., or are not known.
    #[error("the strides are not shown to be 32 or 16 and then half of it each time")]
    TreeStrides,
    /// An instruction between the steps that may not be left out: its line.
    #[error("line {0} stands between the steps")]
    TreeBetween(u32),
    /// A barrier that is not one of the whole block without conditions: its line.
    #[error("the barrier at line {0} is not one of the whole block")]
    TreeBarrier(u32),
    /// No barrier, and nothing but registers, stands in front of the first step that would be replaced.
    #[strum(serialize = "tree-barrier")]
    #[error("accesses stand between the first step and the barrier in front of it")]
    TreeBegins,
    /// No barrier stands between two steps.
    #[strum(serialize = "tree-barrier")]
    #[error("no barrier stands between the step at line {0} and the next one")]
    TreeNoBarrier(u32),
    /// A store whose value is not computed from two elements as in the other steps, or is of another size: its line.
    #[error(
        "what line {0} stores is not computed from two elements of 32 or 64 bits as in the other steps"
    )]
    TreeElement(u32),
    /// A register that a step writes is read behind it.
    #[error("the register `{0}`, which a step writes, is read behind it")]
    TreeRegister(String),
    /// Arrays that may share bytes.
    #[error("the arrays of the tree may share bytes")]
    TreeArrays,
    /// A warp does the last steps already, without barriers and by volatile accesses.
    #[error("one warp does these steps by volatile accesses, without barriers")]
    TreeOfOneWarp,
}
