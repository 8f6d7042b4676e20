//! Mistakes that the tests plant into the analysis, the rewriter and the synthesis, to see that their judges notice.
//!
//! In: a mistake, and work to do with it planted (`with`). Out: for each place where a mistake would be made, whether
//! it is to be made there (`planted!(Bug::X)`). Each mistake is one condition at one place. Without the Cargo feature
//! `internals`, which only the tests turn on, `planted!` is the constant `false`, and none of the mistakes is left in
//! the program.

/// Whether a mistake is planted where this thread works: `planted!(Bug::X)`, at the one place where the mistake would
/// be made. Without the feature `internals` it is the constant `false`.
#[macro_export]
macro_rules! planted {
    (Bug::$bug:ident) => {
        $crate::planted::is($crate::planted::Bug::$bug)
    };
}

#[cfg(feature = "internals")]
thread_local! {
    static HERE: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// The planted mistake, if any, of the thread that made this value. Has no size without the feature `internals`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    #[cfg(feature = "internals")]
    bug: Option<Bug>,
}

/// Whether this mistake is planted where this thread works.
#[cfg(feature = "internals")]
pub fn is(bug: Bug) -> bool {
    HERE.get() == Some(bug)
}

/// Whether this mistake is planted: never.
#[cfg(not(feature = "internals"))]
#[inline(always)]
pub const fn is(_bug: Bug) -> bool {
    false
}

/// Does some work with a mistake planted (`None`: with none), in this thread and in those that [`crate::parallel`]
/// works in. What judges the work belongs outside.
#[cfg(feature = "internals")]
pub fn with<R>(bug: impl Into<Option<Bug>>, work: impl FnOnce() -> R) -> R {
    Scope { bug: bug.into() }.enter(work)
}

impl Scope {
    /// The scope that this thread works in.
    pub fn here() -> Scope {
        Scope {
            #[cfg(feature = "internals")]
            bug: HERE.get(),
        }
    }

    /// Works in this scope; afterwards, even after a panic, the thread is in the scope that it was in.
    #[cfg(feature = "internals")]
    pub fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        struct Back(Option<Bug>);
        impl Drop for Back {
            fn drop(&mut self) {
                HERE.set(self.0);
            }
        }
        let _back = Back(HERE.replace(self.bug));
        work()
    }

    /// Does the work.
    #[cfg(not(feature = "internals"))]
    #[inline(always)]
    pub fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// One way in which the rewriter or the synthesis can be wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bug {
    /// The loop-carried register is never updated: it keeps the value of the first iteration.
    NothingPassedOn,
    /// The preheader loads the first value from another address.
    FirstOfAnother,
    /// Stores and barriers in a loop do not end a loop-carried value.
    CarriedOverStores,
    /// A value is loop-carried although not every iteration loads it.
    CarriedSometimes,
    /// The run-time check that the earlier iteration read the same address is left out.
    NoAddressTest,
    /// The run-time check that no store of the loop aliases the loop-carried value is left out.
    NoApartTest,
    /// The first iterations use the loop-carried value before there is one.
    PassedAtOnce,
    /// The elements of a vector load are assigned to registers in reverse order.
    VectorReversed,
    /// The address of a vector load is one byte too high.
    VectorOffset,
    /// A vector load overwrites registers that are still read before the load that it replaces.
    VectorTooEarly,
    /// The run-time check of a vector's alignment is left out.
    NoAlignmentTest,
    /// A vector store is one element further on.
    StoredFurther,
    /// Two values of a vector store are exchanged.
    StoredExchanged,
    /// A vector store stores the registers' values at its own place, not those at its elements' stores.
    StoredLate,
    /// A vector store stands for stores on both sides of a load that reads their bytes.
    StoresOverLoads,
    /// A vector store stands for stores on both sides of a fence.
    StoresOverFences,
    /// The version for vectors that are not aligned leaves out a store.
    StoreForgotten,
    /// A vector store stands for stores under a guard predicate, and has none.
    StoredUnguarded,
    /// The run-time check of a vector store's alignment asks of half of its bytes.
    StoredHalfAligned,
    /// Of several stores to the same bytes the first one is performed, not the last.
    OverwrittenFirst,
    /// A store is left out although a load reads its bytes before they are overwritten.
    OverwrittenRead,
    /// The run-time check that loads read none of the bytes of stores that are left out is left out.
    OverwrittenUntested,
    /// That check is too weak by one byte.
    OverwrittenByteLess,
    /// A store is left out although only some of its bytes are overwritten.
    OverwrittenInPart,
    /// A loop's value stays in a register although another access may touch its bytes in memory.
    PromotedUntested,
    /// The interval in which an access of such a loop moves ends one iteration early.
    PromotedIntervalShort,
    /// That interval is too short by one byte.
    PromotedByteLess,
    /// It is not tested whether the step of such an access, where it has to be computed, is small and not negative.
    PromotedStepUntested,
    /// The value of such a loop is not stored behind it.
    PromotedNotStored,
    /// Behind such a loop the value of the iteration before is stored.
    PromotedStale,
    /// A barrier in such a loop is overlooked.
    PromotedOverFence,
    /// The value of such a loop is not stored where a branch leaves it.
    PromotedExitForgotten,
    /// It is stored there whether the loop has stored it or not.
    PromotedUnasked,
    /// Loads are performed in front of stores without a test that these do not write the loaded bytes.
    BatchUntested,
    /// That test is too weak by one byte.
    BatchByteLess,
    /// Loads are performed in front of stores on the other side of a barrier.
    BatchOverFence,
    /// A load that is performed earlier takes its address from a register that is written in between.
    BatchAddressLate,
    /// A load that is performed earlier is guarded by a predicate that is written in between.
    BatchGuardLate,
    /// A vector has the loads of a group in another order.
    BatchVectorSwapped,
    /// A store is performed behind loads that are performed early, but not in front of it.
    BatchStoreSunk,
    /// Distances that are not the same in all iterations of a loop are tested in front of it.
    BatchTestedOnce,
    /// A vector of loads stands in front of a store that may write bytes of it.
    TurnsNotApart,
    /// Vectors of loads and stores in turns stand without the test of their alignment.
    TurnsUntested,
    /// A reduction over half of the warp's lanes counts as one over all.
    CollectiveStep,
    /// The member mask of the shuffles of a collective is not asked for.
    CollectiveOfSome,
    /// A result that some lanes hold in part is used by all of them.
    CollectiveForAll,
    /// Other lanes of the warp may be at another warp instruction.
    CollectiveElsewhere,
    /// A vote counts half of the lanes.
    CollectiveHalf,
    /// A prefix leaves out the own lane.
    CollectiveExclusive,
    /// A vote asks whether any lane holds instead of all, or all instead of any.
    CollectiveAny,
    /// A vote counts the lanes in which the predicate is false.
    CollectiveNegated,
    /// The operand is read after its register was written again.
    CollectiveStale,
    /// A register stands for a shuffle although it is undefined where other lanes are absent.
    CollectiveAbsent,
    /// The least or greatest is that of signed numbers for unsigned ones, or the other way about.
    CollectiveUnsigned,
    /// A NaN is taken for a number in an order of integers.
    CollectiveNan,
    /// Subnormal numbers are not flushed in an order of integers.
    CollectiveUnflushed,
    /// The run-time test that lanes are consecutive in `%tid.x` is left out.
    CollectiveUntested,
    /// The lanes of a group are combined in two halves.
    CollectiveGroupHalf,
    /// All lanes name the first group as members.
    CollectiveOneGroup,
    /// The halves of a combination of 64 bits are exchanged.
    CollectiveHalves,
    /// The last iteration of a counted loop is not followed.
    CollectiveIteration,
    /// A constant that a counted loop has left in a register is not written into it.
    CollectiveCounter,
    /// A loop of shuffles is replaced although a value of its last iteration is read behind it.
    CollectiveTemporary,
    /// The shape of blocks is not tested in front of a tree.
    TreeUntested,
    /// The last step of a tree is left out.
    TreeStepLost,
    /// A tree's shuffles go half as far as the stride.
    TreeNear,
    /// One lane too many takes part in each step of a tree.
    TreeWide,
    /// All lanes take part in each step of a tree.
    TreeUnguarded,
    /// The final elements of a tree are not stored to shared memory.
    TreeUnstored,
    /// Half of the final elements of a tree are stored to shared memory.
    TreeHalfStored,
    /// The registers of a tree's loop do not get their last values.
    TreeUnset,
    /// No barrier is added behind a tree whose last step has none.
    TreeOpen,
    /// A tree is done by shuffles although threads may have left the kernel.
    TreeParted,
    /// A tree is done by shuffles although accesses stand between it and the barrier in front.
    TreeBegins,
    /// One access to an array with a new layout keeps its old address.
    ArrayForgotten,
    /// A swizzle sets bits instead of flipping them (`or` for `xor`).
    ArrayBits,
    /// A padded array is declared with its size before padding.
    ArraySize,
    /// An array is laid out anew although its address escapes.
    ArrayEscapes,
    /// The new address of a register is used as a base for addresses in another row of the array.
    ArrayFolded,
    /// A layout may split the bytes of a vector access.
    ArrayVectors,
    /// Dynamic shared memory is laid out although its last block is not whole.
    ArrayRest,
    /// An array of the module is laid out although functions that are called name it.
    ArrayShared,
    /// In a stencil, one lane too many takes its value from the second load, 32 elements further on.
    RowBound,
    /// In a stencil, the source lane of a shuffle is one too high.
    RowIndex,
    /// In a stencil, the load of the elements behind the warp's own starts 31 elements further on instead of 32.
    RowEnd,
    /// In a stencil, indices may overflow.
    RowWraps,
    /// In a stencil, each lane chooses the version by itself: the warp does not vote.
    RowNoVote,
    /// In an array of structs, indices may overflow.
    StructWraps,
    /// In a transposed struct load, a word comes from the lane before.
    StructLane,
    /// In a transposed struct load, registers are rotated in the wrong direction before the shuffles.
    StructTurn,
    /// In a transposed struct load, each lane's first word is one word too high.
    StructBegin,
    /// A transposed struct load has no barrier after stores of other lanes to their structs.
    StructUnordered,
    /// In a transposed struct load, each field gets the register of its neighbour.
    StructField,
    /// In a stencil, the load of the elements behind the warp's own has no barrier after stores of other lanes.
    RowUnordered,
    /// The run-time check that the generic address of a struct load is global is left out.
    StructNotGlobal,
    /// In transposed struct stores, indices may overflow.
    StoreWraps,
    /// The run-time check that the generic address of a struct store is global is left out.
    StoreNotGlobal,
    /// The run-time check for a full warp before a transposed struct store is left out.
    StorePartial,
    /// In a transposed struct store, the shuffles go in the wrong direction.
    StoreLane,
    /// In a transposed struct store, registers are rotated in the wrong direction after the shuffles.
    StoreTurn,
    /// In a transposed struct store, the last word of each lane is not stored.
    StoreField,
    /// A transposed struct store has no barriers before and after it.
    StoreUnordered,
    /// A struct store is moved behind loads of the bytes that it writes.
    StoreOverLoads,
    /// In a stencil, the load of the elements in front of the warp's own starts 31 elements before instead of 32.
    RowBefore,
    /// In a stencil of vectors, a value is taken from the next element of the vector.
    RowOtherCell,
    /// The run-time check that the generic addresses of a stencil are global is left out.
    RowNotGlobal,
    /// The shuffle goes in the opposite direction.
    WrongSign,
    /// `shfl.down` is used by one boundary lane too many.
    CornerTooFarUp,
    /// `shfl.up` is used by one boundary lane too many.
    CornerTooFarDown,
    /// Boundary lanes shuffle and the others load.
    CornerInverted,
    /// The clamp operand of the shuffle is that of the opposite direction.
    WrongClamp,
    /// The halves of a 64-bit value are swapped.
    SwappedHalves,
    /// The run-time check for a full warp is left out.
    IncompleteWarp,
    /// The member mask is a constant.
    ConstantMask,
    /// Lanes are assumed to be consecutive in `tid.x`, without a check.
    BlockShape,
    /// Indices are assumed not to overflow, without a check.
    WrapAround,
    /// The check for overflow of an index omits one value at which it overflows.
    SmallWindow,
    /// A lane checks its own guard predicate instead of the source lane's.
    NoVote,
    /// The guard predicate of the source load is ignored.
    SourceGuard,
    /// The guard predicate of the destination load is ignored.
    OwnGuard,
    /// A generic address is taken for a global one.
    GenericAddress,
    /// The run-time comparison of the two addresses is left out.
    NoComparison,
    /// The destination's address is compared with the source's without the distance in bytes between the lanes.
    AddressOfOwnLane,
    /// The run-time check that both lanes have the same quotient of a flattened index is left out.
    RowNotAsked,
    /// The quotient of a flattened index is compared with that of the lane on the other side of the source lane.
    RowOtherSide,
    /// The run-time check that a source load in a branch was executed is left out.
    NotAsked,
    /// The flag that a source load in a branch was executed is never cleared.
    NotCleared,
    /// A source load in a branch stays available although its memory may have changed.
    BranchForgets,
    /// The run-time check that a store in between does not alias the source is left out.
    StoreNotAsked,
    /// A barrier does not end the availability of loads.
    Barrier,
    /// A store does not end the availability of loads.
    Store,
    /// A store aliases only loads of the same start address.
    StoreOverlap,
    /// An atomic does not end the availability of loads.
    Atomic,
    /// A call does not end the availability of loads.
    Call,
    /// Only the blocks of the source and the destination load are searched for what ends availability.
    OnePath,
    /// What control reaches by a back edge does not end the availability of loads.
    BackEdge,
    /// The source load need not dominate the destination load.
    Dominance,
    /// A value merged at a join counts as uniform.
    JoinedValue,
    /// A value that a loop changes in an unknown way counts as uniform.
    LoopValue,
    /// The exit of a loop counts as uniform.
    LoopExit,
    /// `%laneid` counts as uniform.
    LaneId,
    /// An unknown value counts as uniform.
    UnknownValue,
    /// Another element of a vector is sent.
    WrongElement,
    /// Sign and zero extension count as the same.
    Extension,
    /// Of two adjacent bytes of a register, the other one is extracted.
    WrongByte,
    /// Extracted bytes are always zero-extended.
    ZeroExtension,
    /// The source's register is sent although it has been overwritten.
    StaleRegister,
    /// A register is named in a scope where its name means another register.
    InnerScope,
    /// A register is named at all latches, but its scope is checked at the first latch only.
    FirstLatchAsked,
    /// The scope of a register that is compared across lanes is not checked.
    ClaimNotAsked,
    /// The scopes of registers in instructions copied to a preheader are not checked.
    EntryNotAsked,
    /// The scopes of registers in instructions copied to latches are not checked.
    LatchNotAsked,
    /// The scope of a register that is copied at a join is not checked.
    JoinNotAsked,
    /// The scope of a source load's guard predicate is not checked.
    GuardNotAsked,
    /// The scope of an index register is not checked.
    IndexNotAsked,
    /// Only blocks on every path out of the function are reconvergence points.
    EarlyExits,
    /// Reconvergence points are computed from paths out of the function only, without loop exits and back edges.
    WaysWithinLoops,
    /// Nested loops are never merged into one.
    MergedLoops,
    /// An irreducible cycle is treated as a natural loop.
    SeveralEntries,
    /// Warp-level synchronisation does not reconverge lanes.
    SynchronisedLanes,
    /// The result of `activemask` stays valid across warp-level synchronisation.
    MaskAcrossSync,
    /// A block that only a retreating edge enters counts as unreachable.
    EnteredBackwards,
    /// Memory at a join is the same whichever path lanes have taken.
    MemoryAtJoins,
    /// All lanes see the same memory after any instruction that waits.
    MemoryBehindBarriers,
    /// Lanes that reach one barrier instruction have waited there together.
    UnequalWaits,
    /// The formula of an `xform` lacks its fan.
    FanFormula,
    /// The formula of an `xform` rotates in the opposite direction.
    TurnFormula,
    /// The formula of an `xform` lacks its group.
    GroupFormula,
    /// The family `xform` has no member with groups.
    NoGroups,
    /// The family `xform` has no member with fans.
    NoFans,
    /// The family `xform` has no member that reduces its rotation modulo the extent.
    NoWraps,
    /// The family `xform` has no member that rotates by a quotient.
    NoQuotients,
    /// The constants of an `xform` are searched from the wrong point on.
    TurnedSets,
    /// The formula of a condition adds instead of subtracting.
    ConditionFormula,
    /// Conditions have no constant but 0.
    NoConstants,
    /// The formula of a `part` lists its values in another order.
    PartFormula,
    /// An `xform` yields one table once for each of its formulas.
    SeenTwice,
    /// The formula of a `linear` lacks a divisor.
    FlatFormula,
    /// The family `linear` has no member that subtracts a quotient.
    NoMinus,
    /// A fitted expression is not reduced modulo the extent.
    FittedModulus,
    /// A demand with several paths is forced to the first one.
    FirstWayOnly,
    /// A sum demands one copy more of each value than its goal has.
    OneCopyMore,
    /// A value that can bypass a statement is demanded from that statement, too.
    AroundForgotten,
    /// A cell counts as needed although there is one cell more than values.
    FullTooSoon,
    /// As many values as cells count as too many.
    CrowdedTooSoon,
    /// Different points of a coordinate always have different values.
    AlwaysDiffer,
    /// A sum is accepted if its number of values is that of its goal.
    CountOnly,
    /// The last batch of the first hole's members is not searched.
    LastBatchLost,
    /// A solution of the same cost replaces the best one.
    DearerKept,
    /// An identity shuffle has a cost.
    IdentityCosts,
    /// A condition is forced although another one would do.
    EverythingForced,
    /// A factor is searched beside the first slot of the other factor only.
    OneKnownSlot,
    /// A rotation of registers goes in the opposite direction.
    TurnBack,
    /// The last step of a rotation of registers is left out.
    RoundLost,
    /// A negative dividend is divided by truncation instead of by flooring.
    NegativeDividends,
    /// A load beyond the bounds of an input is not guarded.
    LoadUnguarded,
    /// A fold takes part where its condition is false.
    ConditionSwapped,
    /// An empty fold is 0 for every operator.
    NothingIsZero,
    /// The upper half of a 64-bit value is not shuffled.
    HalfShuffled,
    /// The coordinates of two lane axes are swapped.
    AxesSwapped,
    /// A scatter is executed as the gather of the same expression.
    InverseForgotten,
    /// All results of a function are written to the slot of the first.
    ResultsMoved,
    /// A select among registers never selects the last one.
    PickedBefore,
    /// A fold that runs along a shared axis restarts at each point of the axis.
    SumsBegunAgain,
    /// In CUDA, a fold that runs along a shared axis restarts at each point of the axis.
    CudaSumsBegunAgain,
    /// In CUDA, a rotation of registers goes in the opposite direction.
    CudaTurnBack,
    /// In CUDA, the last step of a rotation of registers is left out.
    CudaRoundLost,
    /// In CUDA, the second lane axis is not reduced modulo its extent.
    CudaAxesLost,
    /// In CUDA, a load beyond the bounds of an input is not guarded.
    CudaLoadUnguarded,
    /// In CUDA, the branch of a shuffle whose source is the lane itself is swapped with the other one.
    CudaSameSwapped,
    /// In CUDA, a select between registers is inverted.
    CudaChosenSwapped,
    /// In CUDA, a select among registers never selects the last one.
    CudaPickedBefore,
    /// In CUDA, every fold starts with 0.
    CudaNothingBegins,
    /// In CUDA, the condition of a fold is ignored.
    CudaConditionLost,
    /// In CUDA, the registers of a goal are stored to one address.
    CudaResultsMoved,
    /// The law that extends an operator to longer lists is not proved.
    LawForgotten,
    /// Guessed invariants of reachable states are taken for proved.
    GuessesBelieved,
    /// The prover ignores the ranges of inputs.
    RangesForgotten,
    /// The lists that refute an operator do not become examples.
    NothingLearned,
    /// A law on which the prover answers `unknown` is taken for proved.
    UnknownBelieved,
    /// The degree of an operator is not bounded.
    DegreeIgnored,
    /// An element's state is computed from zeros instead of from the initial state.
    LiftFromZeros,
    /// In an operator's code, the operands of a product are swapped.
    OperandsTurned,
    /// In an operator's code, the first lane uses the result of its shuffle instead of the initial state.
    UnitForgotten,
    /// In an operator's code, every warp starts with the initial state instead of the prefix of the warps before it.
    FrontForgotten,
    /// In an operator's code, the barrier before the warps' totals are read is left out.
    TotalsTooEarly,
    /// In an operator's code, the totals of all accumulators have overlapping addresses.
    TotalsOverlap,
    /// In an operator's code, all booleans share one bit.
    OneFlag,
    /// In an operator's code, the upper half of a 64-bit value is not shuffled.
    HighHalfStays,
    /// In an operator's code, remainders are truncated instead of floored.
    MachineRemainder,
    /// In an operator's code, a partial warp is reduced like a full one.
    AllLanesReduced,
    /// In an operator's code, `redux` and `vote` also combine lanes that have no state.
    OthersCombined,
    /// In an operator's code, a scan by ballots counts the lanes behind as well.
    BallotOfAll,
    /// In an operator's code, `redux` takes numbers with a sign for such without.
    ReduxUnsigned,
    /// In an operator's code, a thread's share extends beyond the end of the input.
    ShareTooLong,
    /// In an operator's code, signed elements are loaded without sign extension.
    ElementSign,
    /// In an operator's code, accumulators are assigned one by one instead of at once.
    WrittenTooEarly,
    /// Sums are accumulated in the width of the elements.
    SumsTooNarrow,
    /// The product of two ranges that are not adjacent is known.
    NothingMeets,
    /// In a network's code, only the first condition of a step is tested.
    OneCondition,
    /// In a network's code, the swap of operands is ignored.
    TurnForgotten,
    /// In a network's code, the last step is left out.
    LastStepLost,
    /// In a network's code, each lane starts with its own element.
    OwnElementFirst,
    /// The depth of a network is that of its inputs.
    DepthOfSources,
    /// A network is executed for its own number of lanes only.
    OneSize,
    /// A wide access takes one shared-memory transaction.
    WideAtOnce,
    /// The addresses of elements may overlap.
    PlacesOverlap,
    /// The elements of one access may be at separate addresses.
    VectorsApart,
    /// In a placement's code, elements are stored row by row.
    StoredPlain,
}

impl Bug {
    /// Mistakes about scopes: the meaning of a name where new code uses it.
    pub const NAMES: [Bug; 8] = [
        Bug::InnerScope,
        Bug::FirstLatchAsked,
        Bug::ClaimNotAsked,
        Bug::EntryNotAsked,
        Bug::LatchNotAsked,
        Bug::JoinNotAsked,
        Bug::GuardNotAsked,
        Bug::IndexNotAsked,
    ];

    /// Whether a mistake about names is planted here: then the placed code is not checked for names once more.
    pub fn is_about_names_here() -> bool {
        Bug::NAMES.into_iter().any(is)
    }
}

/// The sets of mistakes for the tests.
#[cfg(feature = "internals")]
impl Bug {
    /// Mistakes in operators of loops, networks and places, and in their code.
    pub const SCANS: [Bug; 34] = [
        Bug::LawForgotten,
        Bug::GuessesBelieved,
        Bug::RangesForgotten,
        Bug::NothingLearned,
        Bug::UnknownBelieved,
        Bug::DegreeIgnored,
        Bug::LiftFromZeros,
        Bug::OperandsTurned,
        Bug::UnitForgotten,
        Bug::FrontForgotten,
        Bug::TotalsTooEarly,
        Bug::TotalsOverlap,
        Bug::OneFlag,
        Bug::HighHalfStays,
        Bug::MachineRemainder,
        Bug::AllLanesReduced,
        Bug::OthersCombined,
        Bug::BallotOfAll,
        Bug::ReduxUnsigned,
        Bug::ShareTooLong,
        Bug::ElementSign,
        Bug::WrittenTooEarly,
        Bug::SumsTooNarrow,
        Bug::NothingMeets,
        Bug::OneCondition,
        Bug::TurnForgotten,
        Bug::LastStepLost,
        Bug::OwnElementFirst,
        Bug::DepthOfSources,
        Bug::OneSize,
        Bug::WideAtOnce,
        Bug::PlacesOverlap,
        Bug::VectorsApart,
        Bug::StoredPlain,
    ];

    /// Mistakes about reconvergence and control flow.
    pub const CONVERGENCE: [Bug; 7] = [
        Bug::EarlyExits,
        Bug::WaysWithinLoops,
        Bug::MergedLoops,
        Bug::SeveralEntries,
        Bug::SynchronisedLanes,
        Bug::MaskAcrossSync,
        Bug::EnteredBackwards,
    ];

    /// Mistakes about the memory that lanes see after a barrier.
    pub const MEMORY: [Bug; 3] = [Bug::MemoryAtJoins, Bug::MemoryBehindBarriers, Bug::UnequalWaits];

    /// Mistakes in stencils, whose loads two loads replace.
    pub const ROWS: [Bug; 9] = [
        Bug::RowUnordered,
        Bug::RowBound,
        Bug::RowIndex,
        Bug::RowEnd,
        Bug::RowWraps,
        Bug::RowNoVote,
        Bug::RowBefore,
        Bug::RowOtherCell,
        Bug::RowNotGlobal,
    ];
    /// Mistakes in transposed struct loads.
    pub const STRUCTS: [Bug; 7] = [
        Bug::StructNotGlobal,
        Bug::StructUnordered,
        Bug::StructWraps,
        Bug::StructLane,
        Bug::StructTurn,
        Bug::StructBegin,
        Bug::StructField,
    ];
    /// Mistakes in transposed struct stores.
    pub const STORES: [Bug; 8] = [
        Bug::StoreNotGlobal,
        Bug::StoreWraps,
        Bug::StorePartial,
        Bug::StoreLane,
        Bug::StoreTurn,
        Bug::StoreField,
        Bug::StoreUnordered,
        Bug::StoreOverLoads,
    ];
    /// Mistakes in strategies other than the paper's.
    pub const STRATEGIES: [Bug; 82] = [
        Bug::NothingPassedOn,
        Bug::FirstOfAnother,
        Bug::CarriedOverStores,
        Bug::CarriedSometimes,
        Bug::NoAddressTest,
        Bug::NoApartTest,
        Bug::PassedAtOnce,
        Bug::VectorReversed,
        Bug::VectorOffset,
        Bug::VectorTooEarly,
        Bug::NoAlignmentTest,
        Bug::StoredFurther,
        Bug::StoredExchanged,
        Bug::StoredLate,
        Bug::StoresOverLoads,
        Bug::StoresOverFences,
        Bug::StoreForgotten,
        Bug::StoredUnguarded,
        Bug::StoredHalfAligned,
        Bug::OverwrittenFirst,
        Bug::OverwrittenRead,
        Bug::OverwrittenUntested,
        Bug::OverwrittenByteLess,
        Bug::OverwrittenInPart,
        Bug::PromotedUntested,
        Bug::PromotedIntervalShort,
        Bug::PromotedByteLess,
        Bug::PromotedStepUntested,
        Bug::PromotedNotStored,
        Bug::PromotedStale,
        Bug::PromotedOverFence,
        Bug::PromotedExitForgotten,
        Bug::PromotedUnasked,
        Bug::BatchUntested,
        Bug::BatchByteLess,
        Bug::BatchOverFence,
        Bug::BatchAddressLate,
        Bug::BatchGuardLate,
        Bug::BatchVectorSwapped,
        Bug::BatchStoreSunk,
        Bug::BatchTestedOnce,
        Bug::TurnsNotApart,
        Bug::TurnsUntested,
        Bug::CollectiveStep,
        Bug::CollectiveOfSome,
        Bug::CollectiveForAll,
        Bug::CollectiveElsewhere,
        Bug::CollectiveHalf,
        Bug::CollectiveExclusive,
        Bug::CollectiveAny,
        Bug::CollectiveNegated,
        Bug::CollectiveStale,
        Bug::CollectiveAbsent,
        Bug::CollectiveUnsigned,
        Bug::CollectiveNan,
        Bug::CollectiveUnflushed,
        Bug::CollectiveUntested,
        Bug::CollectiveGroupHalf,
        Bug::CollectiveOneGroup,
        Bug::CollectiveHalves,
        Bug::CollectiveIteration,
        Bug::CollectiveCounter,
        Bug::CollectiveTemporary,
        Bug::TreeUntested,
        Bug::TreeStepLost,
        Bug::TreeNear,
        Bug::TreeWide,
        Bug::TreeUnguarded,
        Bug::TreeUnstored,
        Bug::TreeHalfStored,
        Bug::TreeUnset,
        Bug::TreeOpen,
        Bug::TreeParted,
        Bug::TreeBegins,
        Bug::ArrayForgotten,
        Bug::ArrayBits,
        Bug::ArraySize,
        Bug::ArrayEscapes,
        Bug::ArrayFolded,
        Bug::ArrayVectors,
        Bug::ArrayRest,
        Bug::ArrayShared,
    ];

    /// Mistakes in the families, the search and the code of sketches.
    pub const SYNTHESIS: [Bug; 39] = [
        Bug::FanFormula,
        Bug::TurnFormula,
        Bug::GroupFormula,
        Bug::NoGroups,
        Bug::NoFans,
        Bug::NoWraps,
        Bug::NoQuotients,
        Bug::TurnedSets,
        Bug::ConditionFormula,
        Bug::NoConstants,
        Bug::PartFormula,
        Bug::SeenTwice,
        Bug::FlatFormula,
        Bug::NoMinus,
        Bug::FittedModulus,
        Bug::FirstWayOnly,
        Bug::OneCopyMore,
        Bug::AroundForgotten,
        Bug::FullTooSoon,
        Bug::CrowdedTooSoon,
        Bug::AlwaysDiffer,
        Bug::CountOnly,
        Bug::LastBatchLost,
        Bug::DearerKept,
        Bug::IdentityCosts,
        Bug::EverythingForced,
        Bug::OneKnownSlot,
        Bug::TurnBack,
        Bug::RoundLost,
        Bug::NegativeDividends,
        Bug::LoadUnguarded,
        Bug::ConditionSwapped,
        Bug::NothingIsZero,
        Bug::HalfShuffled,
        Bug::AxesSwapped,
        Bug::InverseForgotten,
        Bug::ResultsMoved,
        Bug::PickedBefore,
        Bug::SumsBegunAgain,
    ];

    /// Mistakes in the CUDA that is written for a solution.
    pub const CUDA: [Bug; 11] = [
        Bug::CudaSumsBegunAgain,
        Bug::CudaTurnBack,
        Bug::CudaRoundLost,
        Bug::CudaAxesLost,
        Bug::CudaLoadUnguarded,
        Bug::CudaSameSwapped,
        Bug::CudaChosenSwapped,
        Bug::CudaPickedBefore,
        Bug::CudaNothingBegins,
        Bug::CudaConditionLost,
        Bug::CudaResultsMoved,
    ];

    /// Mistakes in the paper's strategy and in the code that all strategies share.
    pub const ALL: [Bug; 42] = [
        Bug::WrongSign,
        Bug::CornerTooFarUp,
        Bug::CornerTooFarDown,
        Bug::CornerInverted,
        Bug::WrongClamp,
        Bug::SwappedHalves,
        Bug::IncompleteWarp,
        Bug::ConstantMask,
        Bug::BlockShape,
        Bug::WrapAround,
        Bug::SmallWindow,
        Bug::NoVote,
        Bug::SourceGuard,
        Bug::OwnGuard,
        Bug::GenericAddress,
        Bug::NoComparison,
        Bug::AddressOfOwnLane,
        Bug::RowNotAsked,
        Bug::RowOtherSide,
        Bug::NotAsked,
        Bug::NotCleared,
        Bug::BranchForgets,
        Bug::StoreNotAsked,
        Bug::Barrier,
        Bug::Store,
        Bug::StoreOverlap,
        Bug::Atomic,
        Bug::Call,
        Bug::OnePath,
        Bug::BackEdge,
        Bug::Dominance,
        Bug::JoinedValue,
        Bug::LoopValue,
        Bug::LoopExit,
        Bug::LaneId,
        Bug::UnknownValue,
        Bug::WrongElement,
        Bug::Extension,
        Bug::WrongByte,
        Bug::ZeroExtension,
        Bug::StaleRegister,
        Bug::InnerScope,
    ];
}
