//! Why a load is kept: the rule that refused it, and the place that made it apply.

use std::fmt;

use super::restriction::Restriction;
use super::sharing::Sharing;
use crate::collective::Obstacle;
use crate::loops::LoopShape;
use crate::solver::Answer;

/// The reason why a load stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Refusal {
    /// No earlier load reads, in a lane at a constant distance, the bytes that this one reads.
    #[error("no earlier load at a constant lane distance")]
    NoPartner,
    /// The loads of a block read some words of the struct of each lane, which `aos` takes as a whole only: the
    /// words that they read, those of a struct, and its bytes.
    #[error(
        "{0} of the {1} words of a struct of {2} bytes are read together here; `aos` takes whole structs"
    )]
    StructNotWhole(u32, u32, u32),
    /// This instruction, on this line, separates the loads of a struct's words and must not be duplicated.
    #[error("`{0}` at line {1} stands between the loads of a struct, {2}")]
    StructApart(String, u32, Hindrance),
    /// This instruction, on this line, separates loads of consecutive bytes whose alignment has to be tested, and must not
    /// be duplicated.
    #[error(
        "`{0}` at line {1} stands between loads of consecutive bytes, in code that `wide` duplicates where it has to test their alignment"
    )]
    LoadsParted(String, u32),
    /// This instruction, on this line, separates stores of consecutive bytes: it may notice their order.
    #[error("`{0}` at line {1} stands between these stores and may observe or order them")]
    StoresParted(String, u32),
    /// The shape of a loop keeps a value that it stores at one address in memory.
    #[error("{0}, so the value stays in memory")]
    LoopShape(LoopShape),
    /// This instruction of a loop, on this line, may touch, observe or order what the loop stores at one address.
    #[error(
        "`{0}` at line {1} stands in the loop and may touch, observe or order the stored bytes"
    )]
    LoopAccess(String, u32),
    /// The addresses of the access on this line change in a loop whose number of iterations is not known in front of it.
    #[error(
        "the access at line {0} moves in the loop, whose number of iterations is not known in front of it"
    )]
    LoopCount(u32),
    /// No test of parameters shows that the address of a vector store of that size in bytes is aligned.
    #[error("no test of parameters shows that the address of a vector store is a multiple of {0}")]
    NotAligned(u32),
    /// The load is volatile, relaxed, acquire or mmio.
    #[strum(serialize = "strong-load")]
    #[error("{0} loads are never replaced")]
    Strong(&'static str),
    /// `.reqntid` fixes a block in which neighbouring lanes are not neighbours in `tid.x`.
    #[error("block shape: lanes are not consecutive in tid.x")]
    BlockShape,
    /// `.reqntid` or `.maxntid` allows blocks of less than 32 threads only: no warp is ever whole.
    #[error("narrow block: no warp of it is whole")]
    NarrowBlock,
    /// The replacement would never run: where the load stands, or under the guard predicate of the source
    /// load, no warp is ever whole.
    #[error("a replacement would never run: no full warp gets there")]
    NeverRuns,
    /// The load runs under a guard predicate that is written more than once.
    #[strum(serialize = "guard-written-twice")]
    #[error("runs under a guard predicate that is written more than once")]
    Guarded,
    /// Elements of this width are not replaced.
    #[error("width: {1} x {0} bits are not replaced")]
    Width(u32, u8),
    /// `ldu` and other forms that are not rewritten.
    #[error("`{0}` is not replaced")]
    Form(String),
    /// A destination register is narrower than the element that is loaded, or all elements go to
    /// sinks.
    #[strum(serialize = "register-width")]
    #[error("width: the destination register does not hold the loaded value")]
    Register,
    /// A destination register is an element of a vector register, which `shfl` does not take.
    #[error("vector register: a shuffle takes none of its elements")]
    VectorRegister,
    /// Some bytes are in none of the source load's registers.
    #[strum(serialize = "element-width")]
    #[error("width: other elements than the load at line {0}")]
    Elements(u32),
    /// The address is not known.
    #[strum(serialize = "unknown-address")]
    #[error("the address is not known")]
    Address,
    /// No way leads to the load.
    #[error("cannot be reached")]
    Unreachable,
    /// The source load is not executed on every path to this one.
    #[error("source load at line {0} is not available on every path")]
    NotOnEveryPath(u32),
    /// An instruction between source and this load may change the bytes, or orders other threads'
    /// changes before this load: which kind, and on which line.
    #[strum(serialize = "may-have-changed")]
    #[error("{0} at line {1}")]
    Between(String, u32),
    /// The index may wrap around at 32 bits between the lanes, and no register holds it for a
    /// check at run time.
    #[error("no-wrap: the 32-bit index may wrap around{}", in_brackets(*.0))]
    MayWrap(Answer),
    /// The solver did not finish within its resource limit, or was not asked.
    #[error("{}", unknown(*.0))]
    SolverUnknown(Answer),
    /// The work for one function is used up.
    #[error("budget: the work for one function is used up")]
    Budget,
    /// The address is made of too many terms for a comparison with others.
    #[error("budget: the address is made of too many terms")]
    LargeAddress,
    /// This number of the function's loads is replaced already, and more would be too much for the assembler.
    #[error("budget: {0} loads of this function are replaced, which is the limit")]
    Crowded(usize),
    /// The solver found lanes whose addresses differ.
    #[strum(serialize = "addresses-differ")]
    #[error("solver: the addresses can differ")]
    SolverRefuted,
    /// `--strict`: the load is not `.nc` and the kernel writes global memory.
    #[error("strict: not a read-only load and the kernel writes global memory")]
    Strict,
    /// The distance is larger than `--max-delta` allows.
    #[error("delta {0} exceeds --max-delta")]
    TooFar(i32),
    /// The load is the one that an earlier rewrite kept for corner cases.
    #[error("the corner case of an earlier rewrite")]
    CornerCase,
    /// Left out by `--first-shuffle` and `--last-shuffle`.
    #[error("left out by --first-shuffle/--last-shuffle")]
    NotSelected,
    /// The address of an array in shared memory goes to this instruction, on this line.
    #[error("the array may be reached in another way by `{0}` at line {1}")]
    ArrayEscapes(String, u32),
    /// It is not known which bytes of an array the access on this line is to.
    #[error("it is not known which bytes are accessed at line {0}")]
    ArrayUnknown(u32),
    /// An earlier rewrite has laid out the array.
    #[error("an earlier rewrite has laid out the array")]
    ArrayLaidOut,
    /// No layout of an array has fewer bank conflicts.
    #[error("no layout has fewer bank conflicts")]
    NoConflict,
    /// A layout with fewer bank conflicts, in words, needs more bytes than the array may take.
    #[error("{0}: the array may not grow, and more bytes are needed for {1}")]
    ArrayMayNotGrow(Restriction, String),
    /// The array is external, and not certainly all of the kernel's shared memory.
    #[error(
        "an `.extern` array is not all of the kernel's shared memory, or functions elsewhere may use it"
    )]
    ArrayDynamic,
    /// The array is declared at module level, and others than the kernel may access it.
    #[error("{0}")]
    ArrayOfModule(Sharing),
    /// A rewrite chosen for other loads duplicates code with accesses to the array.
    #[error("code with its accesses may be duplicated for other loads")]
    ArrayBesideOthers,
    /// A replacement takes fewer cycles by the model, but is not chosen where no machine code is compared.
    #[error("{}; by the model for sm_{} it takes {} cycles against {}", .1.treatment(.0.possible), .0.architecture, cycles(.0.cost_after), cycles(.0.cost_before))]
    ByNameOnly(Unprofitable, InBuild),
    /// Something of the collective itself keeps it.
    #[error(transparent)]
    Collective(#[from] Obstacle),
    /// A legal replacement by this strategy was not asked for.
    #[error("`{0}` was not asked for")]
    NotAskedFor(&'static str),
    /// The assembler takes the value of the load on this line itself.
    #[error(
        "the assembler takes the value of the load at line {0} itself, which stands in the same block"
    )]
    AssemblerDoesIt(u32),
    /// A legal replacement takes no fewer cycles than the load.
    #[error("{0}")]
    DoesNotPay(Unprofitable),
}

/// Why an instruction between the loads of a struct keeps them from being taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    /// A load may not be performed in front of it.
    #[error("which `aos` takes together")]
    Order,
    /// It would stand in both versions of the code, and only loads and arithmetic are duplicated.
    #[error("in code that `aos` duplicates; it does not change what these `.nc` loads read")]
    Duplication,
}

/// The treatment in a build, which compares machine code, of a replacement that is chosen by name only elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBuild {
    /// It is left alone there, too.
    Left,
    /// It is tried, and kept unless the machine code is slower.
    Tried,
    /// It is tried if it is predicted to save more than the kernel's other replacements.
    TriedAgainstOthers,
}

impl InBuild {
    fn treatment(self, possible: &str) -> String {
        match self {
            InBuild::Left => format!("`{possible}` has to be asked for by name"),
            InBuild::Tried => format!(
                "a build that compares machine code tries `{possible}` and keeps it unless that is slower"
            ),
            InBuild::TriedAgainstOthers => format!(
                "a build that compares machine code tries `{possible}` or the other replacements, whichever are predicted to save more"
            ),
        }
    }
}

/// What decided that a legal replacement does not pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// It takes no fewer cycles.
    #[error("")]
    Cost,
    /// A vector access takes more than the share of the cycles, in percent, that it may.
    #[error("; a vector may take {0} % of them")]
    Share(u32),
    /// A vector access whose alignment is tested at run time saves less than these hundredths of a cycle.
    #[error("; with a test of its alignment it has to save {}, unless a build compares the machine code", cycles(*.0))]
    Tested(u32),
    /// The places of rows share a test, and together they save less than its cost.
    #[error("; the rows of this place do not save what their test takes")]
    Test,
    /// Shuffles share the pipe of loads that the first-level cache serves.
    #[error("; shuffles here take the pipe of loads that the first-level cache serves")]
    SharedPipe,
    /// A load under a predicate takes its time where the first-level cache serves it.
    #[error("; a predicated load takes its time where the first-level cache serves it")]
    Predicated,
    /// Addresses are compared in front of a load that the first-level cache serves.
    #[error("; comparing addresses is not worth it where the first-level cache serves the load")]
    Comparison,
    /// Where values of more than 32 bits move, more than the share of the cycles, in percent, that may.
    #[error("; a row of values above 32 bits may take {0} % of them")]
    WideShare(u32),
    /// Replacements that exclude it save more.
    #[error("; replacements that exclude this one save more")]
    Displaced,
}

/// The legal replacement that was left alone, both costs, and what decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unprofitable {
    /// The strategy's word.
    pub possible: &'static str,
    /// Compute capability, 80 for `sm_80`.
    pub architecture: u32,
    /// The cost of the strategy, in hundredths of a cycle per warp.
    pub cost_after: u32,
    /// The cost of the load, in hundredths of a cycle per warp.
    pub cost_before: u32,
    /// The loads that both costs are of: more than one for a vector.
    pub loads: u32,
    /// What decided.
    pub limit: Limit,
    /// How the lanes are taken to lie, where the bytes from one to the next are not known.
    pub assumed: Option<Assumed>,
}

/// How the lanes of a load are taken to lie where the bytes from one to the next are no constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Assumed {
    /// One behind the other: the case in which the loads take least.
    #[error("consecutive lanes")]
    Consecutive,
    /// A vector apart: the least at which the vectors of two lanes do not overlap.
    #[error("lanes a vector apart")]
    VectorApart,
}

impl Unprofitable {
    /// The cost of the strategy for one load, in hundredths of a cycle per warp.
    pub fn each(&self) -> u32 {
        self.cost_after / self.loads.max(1)
    }
}

impl fmt::Display for Unprofitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unprofitable { possible, architecture, loads, limit, .. } = self;
        let (cost_after, cost_before) = (cycles(self.cost_after), cycles(self.cost_before));
        write!(
            f,
            "does not pay on sm_{architecture}: `{possible}` {}{cost_after} cycle{} against {cost_before}",
            match cost_after < cost_before && *limit != Limit::Displaced {
                true => "saves too little, ",
                false => "",
            },
            if cost_after == 1.0 { "" } else { "s" }
        )?;
        if *loads > 1 {
            write!(f, " for {loads} loads")?;
        }
        if let Some(assumed) = self.assumed {
            write!(f, " (the stride is not known: taken as {assumed})")?;
        }
        limit.fmt(f)
    }
}

/// Hundredths of a cycle as cycles.
fn cycles(hundredths: u32) -> f64 {
    f64::from(hundredths) / 100.0
}

impl Refusal {
    /// The name of the rule, for programs: words joined by dashes.
    pub fn rule(&self) -> &'static str {
        match self {
            Refusal::Collective(obstacle) => obstacle.into(),
            other => other.into(),
        }
    }
}

/// Why the solver gave no answer.
fn unknown(answer: Answer) -> &'static str {
    match answer {
        Answer::OverBudget => "solver: unknown, its budget for the function is used up",
        Answer::TooLarge => "solver: unknown, the query is too large",
        _ => "solver: unknown",
    }
}

/// The same in brackets; nothing where the solver gave an answer.
fn in_brackets(answer: Answer) -> String {
    match answer {
        Answer::Unknown | Answer::OverBudget | Answer::TooLarge => {
            format!(" ({})", unknown(answer))
        }
        _ => String::new(),
    }
}
