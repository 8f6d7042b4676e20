//! The list of the mistakes: each with its meaning and the sets of tests that look for it.

/// The tests that look for a mistake.
#[cfg(feature = "internals")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Set {
    /// Mistakes in the paper's strategy and in the code that all strategies share.
    All,
    /// Mistakes in strategies other than the paper's.
    Strategies,
    /// Mistakes in stencils, whose loads two loads replace.
    Rows,
    /// Mistakes in transposed struct loads.
    Structs,
    /// Mistakes in transposed struct stores.
    Stores,
    /// Mistakes about scopes: the meaning of a name where new code uses it.
    Names,
    /// Mistakes about reconvergence and control flow.
    Convergence,
    /// Mistakes about the memory that lanes see after a barrier.
    Memory,
    /// Mistakes in the families, the search and the code of sketches.
    Synthesis,
    /// Mistakes in operators of loops, networks and places, and in their code.
    Scans,
    /// Mistakes in the CUDA that is written for a solution.
    Cuda,
    /// Mistakes in the laws of algebras, and where values are symbols.
    Algebra,
    /// Mistakes about blocks that are not executed.
    Blocks,
    /// Mistakes of the judge where it undoes versions of code.
    Undo,
}

/// Lists each mistake once, with its meaning and the sets that it belongs to.
macro_rules! mistakes {
    ($($(#[$doc:meta])+ $bug:ident: $($set:ident)*,)+) => {
        /// One way in which the rewriter or the synthesis can be wrong.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Bug {
            $($(#[$doc])+ $bug,)+
        }

        /// The sets of each mistake.
        #[cfg(feature = "internals")]
        const SETS: &[(Bug, &[Set])] = &[$((Bug::$bug, &[$(Set::$set),*]),)+];
    };
}

mistakes! {
    /// The loop-carried register is never updated: it keeps the value of the first iteration.
    NothingPassedOn: Strategies,
    /// The preheader loads the first value from another address.
    FirstOfAnother: Strategies,
    /// Stores and barriers in a loop do not end a loop-carried value.
    CarriedOverStores: Strategies,
    /// A value is loop-carried although not every iteration loads it.
    CarriedSometimes: Strategies,
    /// The run-time check that the earlier iteration read the same address is left out.
    NoAddressTest: Strategies,
    /// The run-time check that no store of the loop aliases the loop-carried value is left out.
    NoApartTest: Strategies,
    /// The first iterations use the loop-carried value before there is one.
    PassedAtOnce: Strategies,
    /// The elements of a vector load are assigned to registers in reverse order.
    VectorReversed: Strategies,
    /// The address of a vector load is one byte too high.
    VectorOffset: Strategies,
    /// A vector load overwrites registers that are still read before the load that it replaces.
    VectorTooEarly: Strategies,
    /// The run-time check of a vector's alignment is left out.
    NoAlignmentTest: Strategies,
    /// A vector store is one element further on.
    StoredFurther: Strategies,
    /// Two values of a vector store are exchanged.
    StoredExchanged: Strategies,
    /// A vector store stores the registers' values at its own place, not those at its elements' stores.
    StoredLate: Strategies,
    /// A vector store stands for stores on both sides of a load that reads their bytes.
    StoresOverLoads: Strategies,
    /// A vector store stands for stores on both sides of a fence.
    StoresOverFences: Strategies,
    /// The version for vectors that are not aligned leaves out a store.
    StoreForgotten: Strategies,
    /// A vector store stands for stores under a guard predicate, and has none.
    StoredUnguarded: Strategies,
    /// The run-time check of a vector store's alignment asks of half of its bytes.
    StoredHalfAligned: Strategies,
    /// Of several stores to the same bytes the first one is performed, not the last.
    OverwrittenFirst: Strategies,
    /// A store is left out although a load reads its bytes before they are overwritten.
    OverwrittenRead: Strategies,
    /// The run-time check that loads read none of the bytes of stores that are left out is left out.
    OverwrittenUntested: Strategies,
    /// That check is too weak by one byte.
    OverwrittenByteLess: Strategies,
    /// A store is left out although only some of its bytes are overwritten.
    OverwrittenInPart: Strategies,
    /// A loop's value stays in a register although another access may touch its bytes in memory.
    PromotedUntested: Strategies,
    /// The interval in which an access of such a loop moves ends one iteration early.
    PromotedIntervalShort: Strategies,
    /// That interval is too short by one byte.
    PromotedByteLess: Strategies,
    /// It is not tested whether the step of such an access, where it has to be computed, is small and not negative.
    PromotedStepUntested: Strategies,
    /// The value of such a loop is not stored behind it.
    PromotedNotStored: Strategies,
    /// Behind such a loop the value of the iteration before is stored.
    PromotedStale: Strategies,
    /// A barrier in such a loop is overlooked.
    PromotedOverFence: Strategies,
    /// The value of such a loop is not stored where a branch leaves it.
    PromotedExitForgotten: Strategies,
    /// It is stored there whether the loop has stored it or not.
    PromotedUnasked: Strategies,
    /// Loads are performed in front of stores without a test that these do not write the loaded bytes.
    BatchUntested: Strategies,
    /// That test is too weak by one byte.
    BatchByteLess: Strategies,
    /// Loads are performed in front of stores on the other side of a barrier.
    BatchOverFence: Strategies,
    /// A load that is performed earlier takes its address from a register that is written in between.
    BatchAddressLate: Strategies,
    /// A load that is performed earlier is guarded by a predicate that is written in between.
    BatchGuardLate: Strategies,
    /// A vector has the loads of a group in another order.
    BatchVectorSwapped: Strategies,
    /// A store is performed behind loads that are performed early, but not in front of it.
    BatchStoreSunk: Strategies,
    /// Distances that are not the same in all iterations of a loop are tested in front of it.
    BatchTestedOnce: Strategies,
    /// A vector of loads stands in front of a store that may write bytes of it.
    TurnsNotApart: Strategies,
    /// Vectors of loads and stores in turns stand without the test of their alignment.
    TurnsUntested: Strategies,
    /// A reduction over half of the warp's lanes counts as one over all.
    CollectiveStep: Strategies,
    /// The member mask of the shuffles of a collective is not asked for.
    CollectiveOfSome: Strategies,
    /// A result that some lanes hold in part is used by all of them.
    CollectiveForAll: Strategies,
    /// Other lanes of the warp may be at another warp instruction.
    CollectiveElsewhere: Strategies,
    /// A vote counts half of the lanes.
    CollectiveHalf: Strategies,
    /// A prefix leaves out the own lane.
    CollectiveExclusive: Strategies,
    /// A vote asks whether any lane holds instead of all, or all instead of any.
    CollectiveAny: Strategies,
    /// A vote counts the lanes in which the predicate is false.
    CollectiveNegated: Strategies,
    /// The operand is read after its register was written again.
    CollectiveStale: Strategies,
    /// A register stands for a shuffle although it is undefined where other lanes are absent.
    CollectiveAbsent: Strategies,
    /// The least or greatest is that of signed numbers for unsigned ones, or the other way about.
    CollectiveUnsigned: Strategies,
    /// A NaN is taken for a number in an order of integers.
    CollectiveNan: Strategies,
    /// Subnormal numbers are not flushed in an order of integers.
    CollectiveUnflushed: Strategies,
    /// The run-time test that lanes are consecutive in `%tid.x` is left out.
    CollectiveUntested: Strategies,
    /// The lanes of a group are combined in two halves.
    CollectiveGroupHalf: Strategies,
    /// All lanes name the first group as members.
    CollectiveOneGroup: Strategies,
    /// The halves of a combination of 64 bits are exchanged.
    CollectiveHalves: Strategies,
    /// The last iteration of a counted loop is not followed.
    CollectiveIteration: Strategies,
    /// A constant that a counted loop has left in a register is not written into it.
    CollectiveCounter: Strategies,
    /// A loop of shuffles is replaced although a value of its last iteration is read behind it.
    CollectiveTemporary: Strategies,
    /// The shape of blocks is not tested in front of a tree.
    TreeUntested: Strategies,
    /// The last step of a tree is left out.
    TreeStepLost: Strategies,
    /// A tree's shuffles go half as far as the stride.
    TreeNear: Strategies,
    /// One lane too many takes part in each step of a tree.
    TreeWide: Strategies,
    /// All lanes take part in each step of a tree.
    TreeUnguarded: Strategies,
    /// The final elements of a tree are not stored to shared memory.
    TreeUnstored: Strategies,
    /// Half of the final elements of a tree are stored to shared memory.
    TreeHalfStored: Strategies,
    /// The registers of a tree's loop do not get their last values.
    TreeUnset: Strategies,
    /// No barrier is added behind a tree whose last step has none.
    TreeOpen: Strategies,
    /// A tree is done by shuffles although threads may have left the kernel.
    TreeParted: Strategies,
    /// A tree is done by shuffles although accesses stand between it and the barrier in front.
    TreeBegins: Strategies,
    /// One access to an array with a new layout keeps its old address.
    ArrayForgotten: Strategies,
    /// A swizzle sets bits instead of flipping them (`or` for `xor`).
    ArrayBits: Strategies,
    /// A padded array is declared with its size before padding.
    ArraySize: Strategies,
    /// An array is laid out anew although its address escapes.
    ArrayEscapes: Strategies,
    /// The new address of a register is used as a base for addresses in another row of the array.
    ArrayFolded: Strategies,
    /// A layout may split the bytes of a vector access.
    ArrayVectors: Strategies,
    /// Dynamic shared memory is laid out although its last block is not whole.
    ArrayRest: Strategies,
    /// An array of the module is laid out although functions that are called name it.
    ArrayShared: Strategies,
    /// In a stencil, one lane too many takes its value from the second load, 32 elements further on.
    RowBound: Rows,
    /// In a stencil, the source lane of a shuffle is one too high.
    RowIndex: Rows,
    /// In a stencil, the load of the elements behind the warp's own starts 31 elements further on instead of 32.
    RowEnd: Rows,
    /// In a stencil, indices may overflow.
    RowWraps: Rows,
    /// In a stencil, each lane chooses the version by itself: the warp does not vote.
    RowNoVote: Rows,
    /// In an array of structs, indices may overflow.
    StructWraps: Structs,
    /// In a transposed struct load, a word comes from the lane before.
    StructLane: Structs,
    /// In a transposed struct load, registers are rotated in the wrong direction before the shuffles.
    StructTurn: Structs,
    /// In a transposed struct load, each lane's first word is one word too high.
    StructBegin: Structs,
    /// A transposed struct load has no barrier after stores of other lanes to their structs.
    StructUnordered: Structs,
    /// In a transposed struct load, each field gets the register of its neighbour.
    StructField: Structs,
    /// In a stencil, the load of the elements behind the warp's own has no barrier after stores of other lanes.
    RowUnordered: Rows,
    /// The run-time check that the generic address of a struct load is global is left out.
    StructNotGlobal: Structs,
    /// In transposed struct stores, indices may overflow.
    StoreWraps: Stores,
    /// The run-time check that the generic address of a struct store is global is left out.
    StoreNotGlobal: Stores,
    /// The run-time check for a full warp before a transposed struct store is left out.
    StorePartial: Stores,
    /// In a transposed struct store, the shuffles go in the wrong direction.
    StoreLane: Stores,
    /// In a transposed struct store, registers are rotated in the wrong direction after the shuffles.
    StoreTurn: Stores,
    /// In a transposed struct store, the last word of each lane is not stored.
    StoreField: Stores,
    /// A transposed struct store has no barriers before and after it.
    StoreUnordered: Stores,
    /// A struct store is moved behind loads of the bytes that it writes.
    StoreOverLoads: Stores,
    /// In a stencil, the load of the elements in front of the warp's own starts 31 elements before instead of 32.
    RowBefore: Rows,
    /// In a stencil of vectors, a value is taken from the next element of the vector.
    RowOtherCell: Rows,
    /// The run-time check that the generic addresses of a stencil are global is left out.
    RowNotGlobal: Rows,
    /// The shuffle goes in the opposite direction.
    WrongSign: All,
    /// `shfl.down` is used by one boundary lane too many.
    CornerTooFarUp: All,
    /// `shfl.up` is used by one boundary lane too many.
    CornerTooFarDown: All,
    /// Boundary lanes shuffle and the others load.
    CornerInverted: All,
    /// The clamp operand of the shuffle is that of the opposite direction.
    WrongClamp: All,
    /// The halves of a 64-bit value are swapped.
    SwappedHalves: All,
    /// The run-time check for a full warp is left out.
    IncompleteWarp: All,
    /// The member mask is a constant.
    ConstantMask: All,
    /// Lanes are assumed to be consecutive in `tid.x`, without a check.
    BlockShape: All,
    /// Indices are assumed not to overflow, without a check.
    WrapAround: All,
    /// The check for overflow of an index omits one value at which it overflows.
    SmallWindow: All,
    /// A lane checks its own guard predicate instead of the source lane's.
    NoVote: All,
    /// The guard predicate of the source load is ignored.
    SourceGuard: All,
    /// The guard predicate of the destination load is ignored.
    OwnGuard: All,
    /// A generic address is taken for a global one.
    GenericAddress: All,
    /// The run-time comparison of the two addresses is left out.
    NoComparison: All,
    /// The destination's address is compared with the source's without the distance in bytes between the lanes.
    AddressOfOwnLane: All,
    /// The run-time check that both lanes have the same quotient of a flattened index is left out.
    RowNotAsked: All,
    /// The quotient of a flattened index is compared with that of the lane on the other side of the source lane.
    RowOtherSide: All,
    /// The run-time check that a source load in a branch was executed is left out.
    NotAsked: All,
    /// The flag that a source load in a branch was executed is never cleared.
    NotCleared: All,
    /// A source load in a branch stays available although its memory may have changed.
    BranchForgets: All,
    /// The run-time check that a store in between does not alias the source is left out.
    StoreNotAsked: All,
    /// A barrier does not end the availability of loads.
    Barrier: All,
    /// A store does not end the availability of loads.
    Store: All,
    /// A store aliases only loads of the same start address.
    StoreOverlap: All,
    /// An atomic does not end the availability of loads.
    Atomic: All,
    /// A call does not end the availability of loads.
    Call: All,
    /// Only the blocks of the source and the destination load are searched for what ends availability.
    OnePath: All,
    /// What control reaches by a back edge does not end the availability of loads.
    BackEdge: All,
    /// The source load need not dominate the destination load.
    Dominance: All,
    /// A value merged at a join counts as uniform.
    JoinedValue: All,
    /// A value that a loop changes in an unknown way counts as uniform.
    LoopValue: All,
    /// The exit of a loop counts as uniform.
    LoopExit: All,
    /// `%laneid` counts as uniform.
    LaneId: All,
    /// An unknown value counts as uniform.
    UnknownValue: All,
    /// Another element of a vector is sent.
    WrongElement: All,
    /// Sign and zero extension count as the same.
    Extension: All,
    /// Of two adjacent bytes of a register, the other one is extracted.
    WrongByte: All,
    /// Extracted bytes are always zero-extended.
    ZeroExtension: All,
    /// The source's register is sent although it has been overwritten.
    StaleRegister: All,
    /// A register is named in a scope where its name means another register.
    InnerScope: Names All,
    /// A register is named at all latches, but its scope is checked at the first latch only.
    FirstLatchAsked: Names,
    /// The scope of a register that is compared across lanes is not checked.
    ClaimNotAsked: Names,
    /// The scopes of registers in instructions copied to a preheader are not checked.
    EntryNotAsked: Names,
    /// The scopes of registers in instructions copied to latches are not checked.
    LatchNotAsked: Names,
    /// The scope of a register that is copied at a join is not checked.
    JoinNotAsked: Names,
    /// The scope of a source load's guard predicate is not checked.
    GuardNotAsked: Names,
    /// The scope of an index register is not checked.
    IndexNotAsked: Names,
    /// Only blocks on every path out of the function are reconvergence points.
    EarlyExits: Convergence,
    /// Reconvergence points are computed from paths out of the function only, without loop exits and back edges.
    WaysWithinLoops: Convergence,
    /// Nested loops are never merged into one.
    MergedLoops: Convergence,
    /// An irreducible cycle is treated as a natural loop.
    SeveralEntries: Convergence,
    /// Warp-level synchronisation does not reconverge lanes.
    SynchronisedLanes: Convergence,
    /// The result of `activemask` stays valid across warp-level synchronisation.
    MaskAcrossSync: Convergence,
    /// A block that only a retreating edge enters counts as unreachable.
    EnteredBackwards: Convergence,
    /// Memory at a join is the same whichever path lanes have taken.
    MemoryAtJoins: Memory,
    /// All lanes see the same memory after any instruction that waits.
    MemoryBehindBarriers: Memory,
    /// Lanes that reach one barrier instruction have waited there together.
    UnequalWaits: Memory,
    /// The formula of an `xform` lacks its fan.
    FanFormula: Synthesis,
    /// The formula of an `xform` rotates in the opposite direction.
    TurnFormula: Synthesis,
    /// The formula of an `xform` lacks its group.
    GroupFormula: Synthesis,
    /// The family `xform` has no member with groups.
    NoGroups: Synthesis,
    /// The family `xform` has no member with fans.
    NoFans: Synthesis,
    /// The family `xform` has no member that reduces its rotation modulo the extent.
    NoWraps: Synthesis,
    /// The family `xform` has no member that rotates by a quotient.
    NoQuotients: Synthesis,
    /// The constants of an `xform` are searched from the wrong point on.
    TurnedSets: Synthesis,
    /// The formula of a condition adds instead of subtracting.
    ConditionFormula: Synthesis,
    /// Conditions have no constant but 0.
    NoConstants: Synthesis,
    /// The formula of a `part` lists its values in another order.
    PartFormula: Synthesis,
    /// An `xform` yields one table once for each of its formulas.
    SeenTwice: Synthesis,
    /// The formula of a `linear` lacks a divisor.
    FlatFormula: Synthesis,
    /// The family `linear` has no member that subtracts a quotient.
    NoMinus: Synthesis,
    /// A fitted expression is not reduced modulo the extent.
    FittedModulus: Synthesis,
    /// A demand with several paths is forced to the first one.
    FirstWayOnly: Synthesis,
    /// A sum demands one copy more of each value than its goal has.
    OneCopyMore: Synthesis,
    /// A value that can bypass a statement is demanded from that statement, too.
    AroundForgotten: Synthesis,
    /// A cell counts as needed although there is one cell more than values.
    FullTooSoon: Synthesis,
    /// As many values as cells count as too many.
    CrowdedTooSoon: Synthesis,
    /// Different points of a coordinate always have different values.
    AlwaysDiffer: Synthesis,
    /// A sum is accepted if its number of values is that of its goal.
    CountOnly: Synthesis,
    /// The last batch of the first hole's members is not searched.
    LastBatchLost: Synthesis,
    /// A solution of the same cost replaces the best one.
    DearerKept: Synthesis,
    /// An identity shuffle has a cost.
    IdentityCosts: Synthesis,
    /// A condition is forced although another one would do.
    EverythingForced: Synthesis,
    /// A factor is searched beside the first slot of the other factor only.
    OneKnownSlot: Synthesis,
    /// A rotation of registers goes in the opposite direction.
    TurnBack: Synthesis,
    /// The last step of a rotation of registers is left out.
    RoundLost: Synthesis,
    /// A negative dividend is divided by truncation instead of by flooring.
    NegativeDividends: Synthesis,
    /// A load beyond the bounds of an input is not guarded.
    LoadUnguarded: Synthesis,
    /// A fold takes part where its condition is false.
    ConditionSwapped: Synthesis,
    /// An empty fold is 0 for every operator.
    NothingIsZero: Synthesis,
    /// The upper half of a 64-bit value is not shuffled.
    HalfShuffled: Synthesis,
    /// The coordinates of two lane axes are swapped.
    AxesSwapped: Synthesis,
    /// A scatter is executed as the gather of the same expression.
    InverseForgotten: Synthesis,
    /// All results of a function are written to the slot of the first.
    ResultsMoved: Synthesis,
    /// A select among registers never selects the last one.
    PickedBefore: Synthesis,
    /// A fold that runs along a shared axis restarts at each point of the axis.
    SumsBegunAgain: Synthesis,
    /// In CUDA, a fold that runs along a shared axis restarts at each point of the axis.
    CudaSumsBegunAgain: Cuda,
    /// In CUDA, a rotation of registers goes in the opposite direction.
    CudaTurnBack: Cuda,
    /// In CUDA, the last step of a rotation of registers is left out.
    CudaRoundLost: Cuda,
    /// In CUDA, the second lane axis is not reduced modulo its extent.
    CudaAxesLost: Cuda,
    /// In CUDA, a load beyond the bounds of an input is not guarded.
    CudaLoadUnguarded: Cuda,
    /// In CUDA, the branch of a shuffle whose source is the lane itself is swapped with the other one.
    CudaSameSwapped: Cuda,
    /// In CUDA, a select between registers is inverted.
    CudaChosenSwapped: Cuda,
    /// In CUDA, a select among registers never selects the last one.
    CudaPickedBefore: Cuda,
    /// In CUDA, every fold starts with 0.
    CudaNothingBegins: Cuda,
    /// In CUDA, the condition of a fold is ignored.
    CudaConditionLost: Cuda,
    /// In CUDA, the registers of a goal are stored to one address.
    CudaResultsMoved: Cuda,
    /// The law that extends an operator to longer lists is not proved.
    LawForgotten: Scans,
    /// Guessed invariants of reachable states are taken for proved.
    GuessesBelieved: Scans,
    /// The prover ignores the ranges of inputs.
    RangesForgotten: Scans,
    /// The lists that refute an operator do not become examples.
    NothingLearned: Scans,
    /// A law on which the prover answers `unknown` is taken for proved.
    UnknownBelieved: Scans,
    /// The degree of an operator is not bounded.
    DegreeIgnored: Scans,
    /// An element's state is computed from zeros instead of from the initial state.
    LiftFromZeros: Scans,
    /// In an operator's code, the operands of a product are swapped.
    OperandsTurned: Scans,
    /// In an operator's code, the first lane uses the result of its shuffle instead of the initial state.
    UnitForgotten: Scans,
    /// In an operator's code, every warp starts with the initial state instead of the prefix of the warps before it.
    FrontForgotten: Scans,
    /// In an operator's code, the barrier before the warps' totals are read is left out.
    TotalsTooEarly: Scans,
    /// In an operator's code, the totals of all accumulators have overlapping addresses.
    TotalsOverlap: Scans,
    /// In an operator's code, all booleans share one bit.
    OneFlag: Scans,
    /// In an operator's code, the upper half of a 64-bit value is not shuffled.
    HighHalfStays: Scans,
    /// In an operator's code, remainders are truncated instead of floored.
    MachineRemainder: Scans,
    /// In an operator's code, a partial warp is reduced like a full one.
    AllLanesReduced: Scans,
    /// In an operator's code, `redux` and `vote` also combine lanes that have no state.
    OthersCombined: Scans,
    /// In an operator's code, a scan by ballots counts the lanes behind as well.
    BallotOfAll: Scans,
    /// In an operator's code, `redux` takes numbers with a sign for such without.
    ReduxUnsigned: Scans,
    /// In an operator's code, a thread's share extends beyond the end of the input.
    ShareTooLong: Scans,
    /// In an operator's code, signed elements are loaded without sign extension.
    ElementSign: Scans,
    /// In an operator's code, accumulators are assigned one by one instead of at once.
    WrittenTooEarly: Scans,
    /// Sums are accumulated in the width of the elements.
    SumsTooNarrow: Scans,
    /// The product of two ranges that are not adjacent is known.
    NothingMeets: Scans,
    /// In a network's code, only the first condition of a step is tested.
    OneCondition: Scans,
    /// In a network's code, the swap of operands is ignored.
    TurnForgotten: Scans,
    /// In a network's code, the last step is left out.
    LastStepLost: Scans,
    /// In a network's code, each lane starts with its own element.
    OwnElementFirst: Scans,
    /// The depth of a network is that of its inputs.
    DepthOfSources: Scans,
    /// A network is executed for its own number of lanes only.
    OneSize: Scans,
    /// A wide access takes one shared-memory transaction.
    WideAtOnce: Scans,
    /// The addresses of elements may overlap.
    PlacesOverlap: Scans,
    /// The elements of one access may be at separate addresses.
    VectorsApart: Scans,
    /// In a placement's code, elements are stored row by row.
    StoredPlain: Scans,
    /// Logarithms of numbers that differ by a root of unity are the same.
    ClassOfLogarithm: Algebra,
    /// A choice between two numbers is the larger one whichever difference decides.
    ChoiceIsMaximum: Algebra,
    /// A sum of numbers that are known counts although it was rounded.
    RoundingKept: Algebra,
    /// The magnitude of a tree is the tree that is not negated.
    MagnitudeOfTree: Algebra,
    /// Elements that only one kernel writes are not compared.
    FootprintsIgnored: Algebra,
    /// A branch on symbols goes one way.
    OneWay: Algebra,
    /// The result of an operation without a meaning counts as known.
    UnknownIsKnown: Algebra,
    /// A maximum forgets what its second operand is a maximum of.
    MaximumForgets: Algebra,
    /// A polynomial of the library is believed whatever its coefficients are.
    ExpansionBelieved: Algebra,
    /// A store of a symbol leaves the bytes as they are.
    SymbolsUnchanged: Algebra,
    /// A difference of positive numbers is positive.
    DifferencePositive: Algebra,
    /// All choices are continuous: whether a relation is strict does not count.
    StrictnessIgnored: Algebra,
    /// Conditions on multiples of a number are the same whatever the sign of the factor.
    NegativeFactor: Algebra,
    /// Blocks are alike in which a relation has another outcome.
    IntervalsIgnored: Blocks,
    /// Obstacles are passed over: everything depends on the block by a sum.
    OtherIsAffine: Blocks,
    /// Elements may move by different distances in both kernels.
    DistancesIgnored: Blocks,
    /// Blocks may access what others write.
    BlocksMeet: Blocks,
    /// An index that is widened may have wrapped around.
    WrapsUnseen: Blocks,
    /// A bypass is undone although its sides leave other values in registers.
    UndoneOtherValues: Undo,
    /// The side with shuffles of a bypass stays, and the other one is left out.
    UndoneOtherSide: Undo,
    /// A loop with values in registers is undone although it does not store them where it is left.
    UndoneUnstored: Undo,
    /// The code of the second one of two unswitched loops is executed whatever the test says.
    UndoneUntested: Undo,
    /// A loop is unrolled to one iteration less.
    UndoneIterationLess: Undo,
    /// Parts of two kernels are left out although threads do something else in them.
    UndoneOtherActions: Undo,
}

#[cfg(feature = "internals")]
impl Bug {
    /// The mistakes of a set.
    pub fn of(set: Set) -> Vec<Bug> {
        let those = SETS.iter().filter(|(_, sets)| sets.contains(&set));
        those.map(|(bug, _)| *bug).collect()
    }
}
