//! Why a load is kept: the rule that refused it, and the place that made it apply.

use std::fmt;

use super::restriction::Restriction;
use super::sharing::Sharing;
use crate::loops::LoopShape;
use crate::solver::Answer;

/// The reason why a load stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No earlier load reads, in a lane at a constant distance, the bytes that this one reads.
    NoPartner,
    /// The loads of a block read some words of the struct of each lane, which `aos` takes as a whole only: the
    /// words that they read, those of a struct, and its bytes.
    StructNotWhole(u32, u32, u32),
    /// This instruction, on this line, separates the loads of a struct's words and must not be duplicated.
    StructApart(String, u32, Hindrance),
    /// This instruction, on this line, separates loads of consecutive bytes whose alignment has to be tested, and must not
    /// be duplicated.
    LoadsParted(String, u32),
    /// This instruction, on this line, separates stores of consecutive bytes: it may notice their order.
    StoresParted(String, u32),
    /// The shape of a loop keeps a value that it stores at one address in memory.
    LoopShape(LoopShape),
    /// This instruction of a loop, on this line, may touch, observe or order what the loop stores at one address.
    LoopAccess(String, u32),
    /// The addresses of the access on this line change in a loop whose number of iterations is not known in front of it.
    LoopCount(u32),
    /// No test of parameters shows that the address of a vector store of that size in bytes is aligned.
    NotAligned(u32),
    /// The load is volatile, relaxed, acquire or mmio.
    Strong(&'static str),
    /// `.reqntid` fixes a block in which neighbouring lanes are not neighbours in `tid.x`.
    BlockShape,
    /// `.reqntid` or `.maxntid` allows blocks of less than 32 threads only: no warp is ever whole.
    NarrowBlock,
    /// The replacement would never run: where the load stands, or under the guard predicate of the source
    /// load, no warp is ever whole.
    NeverRuns,
    /// The load runs under a guard predicate that is written more than once.
    Guarded,
    /// Elements of this width are not replaced.
    Width(u32, u8),
    /// `ldu` and other forms that are not rewritten.
    Form(String),
    /// A destination register is narrower than the element that is loaded, or all elements go to
    /// sinks.
    Register,
    /// A destination register is an element of a vector register, which `shfl` does not take.
    VectorRegister,
    /// Some bytes are in none of the source load's registers.
    Elements(u32),
    /// The address is not known.
    Address,
    /// No way leads to the load.
    Unreachable,
    /// The source load is not executed on every path to this one.
    NotOnEveryPath(u32),
    /// An instruction between source and this load may change the bytes, or orders other threads'
    /// changes before this load: which kind, and on which line.
    Between(String, u32),
    /// The index may wrap around at 32 bits between the lanes, and no register holds it for a
    /// check at run time.
    MayWrap(Answer),
    /// The solver did not finish within its resource limit, or was not asked.
    SolverUnknown(Answer),
    /// The work for one function is used up.
    Budget,
    /// The address is made of too many terms for a comparison with others.
    LargeAddress,
    /// This number of the function's loads is replaced already, and more would be too much for the assembler.
    Crowded(usize),
    /// The solver found lanes whose addresses differ.
    SolverRefuted,
    /// `--strict`: the load is not `.nc` and the kernel writes global memory.
    Strict,
    /// The distance is larger than `--max-delta` allows.
    TooFar(i32),
    /// The load is the one that an earlier rewrite kept for corner cases.
    CornerCase,
    /// Left out by `--first-shuffle` and `--last-shuffle`.
    NotSelected,
    /// The address of an array in shared memory goes to this instruction, on this line.
    ArrayEscapes(String, u32),
    /// It is not known which bytes of an array the access on this line is to.
    ArrayUnknown(u32),
    /// An earlier rewrite has laid out the array.
    ArrayLaidOut,
    /// No layout of an array has fewer bank conflicts.
    NoConflict,
    /// A layout with fewer bank conflicts, in words, needs more bytes than the array may take.
    ArrayMayNotGrow(Restriction, String),
    /// The array is external, and not certainly all of the kernel's shared memory.
    ArrayDynamic,
    /// The array is declared at module level, and others than the kernel may access it.
    ArrayOfModule(Sharing),
    /// A rewrite chosen for other loads duplicates code with accesses to the array.
    ArrayBesideOthers,
    /// A replacement takes fewer cycles by the model, but is not chosen where no machine code is compared.
    ByNameOnly(Unprofitable, InBuild),
    /// Something of the collective itself keeps it: the rule and the reason.
    Collective(&'static str, String),
    /// A legal replacement by this strategy was not asked for.
    NotAskedFor(&'static str),
    /// The assembler takes the value of the load on this line itself.
    AssemblerDoesIt(u32),
    /// A legal replacement takes no fewer cycles than the load.
    DoesNotPay(Unprofitable),
}

/// Why an instruction between the loads of a struct keeps them from being taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// A load may not be performed in front of it.
    Order,
    /// It would stand in both versions of the code, and only loads and arithmetic are duplicated.
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

/// What decided that a legal replacement does not pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It takes no fewer cycles.
    Cost,
    /// A vector access takes more than the share of the cycles, in percent, that it may.
    Share(u32),
    /// A vector access whose alignment is tested at run time saves less than these hundredths of a cycle.
    Tested(u32),
    /// The places of rows share a test, and together they save less than its cost.
    Test,
    /// Shuffles share the pipe of loads that the first-level cache serves.
    SharedPipe,
    /// A load under a predicate takes its time where the first-level cache serves it.
    Predicated,
    /// Addresses are compared in front of a load that the first-level cache serves.
    Comparison,
    /// Where values of more than 32 bits move, more than the share of the cycles, in percent, that may.
    WideShare(u32),
    /// Replacements that exclude it save more.
    Displaced,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = |hundredths: u32| f64::from(hundredths) / 100.0;
        match *self {
            Limit::Cost => Ok(()),
            Limit::Share(percent) => write!(f, "; a vector may take {percent} % of them"),
            Limit::Tested(least) => {
                write!(
                    f,
                    "; with a test of its alignment it has to save {}, unless a build compares the machine code",
                    cycles(least)
                )
            }
            Limit::Displaced => write!(f, "; replacements that exclude this one save more"),
            Limit::Test => write!(f, "; the rows of this place do not save what their test takes"),
            Limit::SharedPipe => {
                write!(
                    f,
                    "; shuffles here take the pipe of loads that the first-level cache serves"
                )
            }
            Limit::Predicated => {
                write!(
                    f,
                    "; a predicated load takes its time where the first-level cache serves it"
                )
            }
            Limit::Comparison => {
                write!(
                    f,
                    "; comparing addresses is not worth it where the first-level cache serves the load"
                )
            }
            Limit::WideShare(percent) => {
                write!(f, "; a row of values above 32 bits may take {percent} % of them")
            }
        }
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumed {
    /// One behind the other: the case in which the loads take least.
    Consecutive,
    /// A vector apart: the least at which the vectors of two lanes do not overlap.
    VectorApart,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Assumed::Consecutive => "consecutive lanes",
            Assumed::VectorApart => "lanes a vector apart",
        })
    }
}

impl Unprofitable {
    /// The cost of the strategy for one load, in hundredths of a cycle per warp.
    pub fn each(&self) -> u32 {
        self.cost_after / self.loads.max(1)
    }
}

impl Refusal {
    /// The name of the rule, for programs: words joined by dashes.
    pub fn rule(&self) -> &'static str {
        match self {
            Refusal::NoPartner => "no-partner",
            Refusal::StructNotWhole(..) => "struct-not-whole",
            Refusal::StructApart(..) => "struct-apart",
            Refusal::LoadsParted(..) => "loads-parted",
            Refusal::StoresParted(..) => "stores-parted",
            Refusal::LoopShape(_) => "loop-shape",
            Refusal::LoopAccess(..) => "loop-access",
            Refusal::LoopCount(_) => "loop-count",
            Refusal::NotAligned(_) => "not-aligned",
            Refusal::Strong(_) => "strong-load",
            Refusal::BlockShape => "block-shape",
            Refusal::NarrowBlock => "narrow-block",
            Refusal::NeverRuns => "never-runs",
            Refusal::Guarded => "guard-written-twice",
            Refusal::Width(..) => "width",
            Refusal::Form(_) => "form",
            Refusal::Register => "register-width",
            Refusal::VectorRegister => "vector-register",
            Refusal::Elements(_) => "element-width",
            Refusal::Address => "unknown-address",
            Refusal::Unreachable => "unreachable",
            Refusal::NotOnEveryPath(_) => "not-on-every-path",
            Refusal::Between(..) => "may-have-changed",
            Refusal::MayWrap(_) => "may-wrap",
            Refusal::SolverUnknown(_) => "solver-unknown",
            Refusal::Budget => "budget",
            Refusal::LargeAddress => "large-address",
            Refusal::Crowded(_) => "crowded",
            Refusal::SolverRefuted => "addresses-differ",
            Refusal::Strict => "strict",
            Refusal::TooFar(_) => "too-far",
            Refusal::CornerCase => "corner-case",
            Refusal::NotSelected => "not-selected",
            Refusal::ArrayEscapes(..) => "array-escapes",
            Refusal::ArrayUnknown(_) => "array-unknown",
            Refusal::ArrayLaidOut => "array-laid-out",
            Refusal::NoConflict => "no-conflict",
            Refusal::ArrayMayNotGrow(..) => "array-may-not-grow",
            Refusal::ArrayDynamic => "array-dynamic",
            Refusal::ArrayOfModule(_) => "array-of-module",
            Refusal::ArrayBesideOthers => "array-beside-others",
            Refusal::ByNameOnly(..) => "by-name-only",
            Refusal::Collective(rule, _) => rule,
            Refusal::NotAskedFor(_) => "not-asked-for",
            Refusal::AssemblerDoesIt(_) => "assembler-does-it",
            Refusal::DoesNotPay(_) => "does-not-pay",
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoPartner => write!(f, "no earlier load at a constant lane distance"),
            Refusal::StructNotWhole(read, words, bytes) => write!(
                f,
                "{read} of the {words} words of a struct of {bytes} bytes are read together here; `aos` takes whole structs"
            ),
            Refusal::StructApart(opcode, line, Hindrance::Order) => write!(
                f,
                "`{opcode}` at line {line} stands between the loads of a struct, which `aos` takes together"
            ),
            Refusal::StructApart(opcode, line, Hindrance::Duplication) => write!(
                f,
                "`{opcode}` at line {line} stands between the loads of a struct, in code that `aos` duplicates; it does \
                 not change what these `.nc` loads read"
            ),
            Refusal::LoadsParted(opcode, line) => write!(
                f,
                "`{opcode}` at line {line} stands between loads of consecutive bytes, in code that `wide` duplicates where \
                 it has to test their alignment"
            ),
            Refusal::StoresParted(opcode, line) => write!(
                f,
                "`{opcode}` at line {line} stands between these stores and may observe or order them"
            ),
            Refusal::LoopShape(shape) => write!(f, "{shape}, so the value stays in memory"),
            Refusal::LoopAccess(opcode, line) => write!(
                f,
                "`{opcode}` at line {line} stands in the loop and may touch, observe or order the stored bytes"
            ),
            Refusal::LoopCount(line) => write!(
                f,
                "the access at line {line} moves in the loop, whose number of iterations is not known in front of it"
            ),
            Refusal::NotAligned(bytes) => write!(
                f,
                "no test of parameters shows that the address of a vector store is a multiple of {bytes}"
            ),
            Refusal::Collective(_, reason) => f.write_str(reason),
            Refusal::NotAskedFor(strategy) => write!(f, "`{strategy}` was not asked for"),
            Refusal::AssemblerDoesIt(line) => write!(
                f,
                "the assembler takes the value of the load at line {line} itself, which stands in the same block"
            ),
            Refusal::Strong(what) => write!(f, "{what} loads are never replaced"),
            Refusal::BlockShape => write!(f, "block shape: lanes are not consecutive in tid.x"),
            Refusal::NarrowBlock => write!(f, "narrow block: no warp of it is whole"),
            Refusal::NeverRuns => {
                write!(f, "a replacement would never run: no full warp gets there")
            }
            Refusal::Guarded => {
                write!(f, "runs under a guard predicate that is written more than once")
            }
            Refusal::Width(bits, elements) => {
                write!(f, "width: {elements} x {bits} bits are not replaced")
            }
            Refusal::Form(form) => write!(f, "`{form}` is not replaced"),
            Refusal::Register => {
                write!(f, "width: the destination register does not hold the loaded value")
            }
            Refusal::VectorRegister => {
                write!(f, "vector register: a shuffle takes none of its elements")
            }
            Refusal::Elements(line) => {
                write!(f, "width: other elements than the load at line {line}")
            }
            Refusal::Address => write!(f, "the address is not known"),
            Refusal::Unreachable => write!(f, "cannot be reached"),
            Refusal::NotOnEveryPath(line) => {
                write!(f, "source load at line {line} is not available on every path")
            }
            Refusal::Between(what, line) => write!(f, "{what} at line {line}"),
            Refusal::MayWrap(
                answer @ (Answer::Unknown | Answer::OverBudget | Answer::TooLarge),
            ) => {
                write!(f, "no-wrap: the 32-bit index may wrap around ({})", unknown(*answer))
            }
            Refusal::MayWrap(_) => write!(f, "no-wrap: the 32-bit index may wrap around"),
            Refusal::SolverUnknown(answer) => write!(f, "{}", unknown(*answer)),
            Refusal::Budget => write!(f, "budget: the work for one function is used up"),
            Refusal::LargeAddress => write!(f, "budget: the address is made of too many terms"),
            Refusal::Crowded(most) => {
                write!(f, "budget: {most} loads of this function are replaced, which is the limit")
            }
            Refusal::SolverRefuted => write!(f, "solver: the addresses can differ"),
            Refusal::CornerCase => write!(f, "the corner case of an earlier rewrite"),
            Refusal::Strict => {
                write!(f, "strict: not a read-only load and the kernel writes global memory")
            }
            Refusal::TooFar(delta) => write!(f, "delta {delta} exceeds --max-delta"),
            Refusal::NotSelected => write!(f, "left out by --first-shuffle/--last-shuffle"),
            Refusal::ArrayEscapes(opcode, line) => {
                write!(f, "the array may be reached in another way by `{opcode}` at line {line}")
            }
            Refusal::ArrayUnknown(line) => {
                write!(f, "it is not known which bytes are accessed at line {line}")
            }
            Refusal::ArrayLaidOut => write!(f, "an earlier rewrite has laid out the array"),
            Refusal::NoConflict => write!(f, "no layout has fewer bank conflicts"),
            Refusal::ArrayMayNotGrow(restriction, layout) => {
                write!(
                    f,
                    "{restriction}: the array may not grow, and more bytes are needed for {layout}"
                )
            }
            Refusal::ArrayDynamic => {
                write!(
                    f,
                    "an `.extern` array is not all of the kernel's shared memory, or functions elsewhere may use it"
                )
            }
            Refusal::ArrayOfModule(sharing) => write!(f, "{sharing}"),
            Refusal::ArrayBesideOthers => {
                write!(f, "code with its accesses may be duplicated for other loads")
            }
            Refusal::ByNameOnly(unprofitable, in_build) => {
                let Unprofitable { possible, architecture, cost_after, cost_before, .. } =
                    unprofitable;
                let (cost_after, cost_before) =
                    (f64::from(*cost_after) / 100.0, f64::from(*cost_before) / 100.0);
                match in_build {
                    InBuild::Left => write!(f, "`{possible}` has to be asked for by name")?,
                    InBuild::Tried => {
                        write!(
                            f,
                            "a build that compares machine code tries `{possible}` and keeps it unless that is slower"
                        )?;
                    }
                    InBuild::TriedAgainstOthers => {
                        write!(
                            f,
                            "a build that compares machine code tries `{possible}` or the other replacements, whichever are predicted to save more"
                        )?;
                    }
                }
                write!(
                    f,
                    "; by the model for sm_{architecture} it takes {cost_after} cycles against {cost_before}"
                )
            }
            Refusal::DoesNotPay(Unprofitable {
                possible,
                architecture,
                cost_after,
                cost_before,
                loads,
                limit,
                assumed,
            }) => {
                let cycles = |hundredths: &u32| f64::from(*hundredths) / 100.0;
                let (cost_after, cost_before) = (cycles(cost_after), cycles(cost_before));
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
                if let Some(assumed) = assumed {
                    write!(f, " (the stride is not known: taken as {assumed})")?;
                }
                limit.fmt(f)
            }
        }
    }
}
