//! Mistakes that the tests plant into the analysis, the rewriter and the synthesis, to see that their judges notice.
//!
//! Each mistake is one condition at one place. Without the Cargo feature `planted-bugs`, which only
//! the tests turn on, [`Planted::has`] always returns `false`, and none of the mistakes is left in the
//! program.

/// One way in which the rewriter or the synthesis can be wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bug {
    /// A value that goes round a loop is the first one for ever.
    NothingPassedOn,
    /// The first iteration's value is loaded from another address.
    FirstOfAnother,
    /// Stores and barriers in a loop do not end the values that it carries.
    CarriedOverStores,
    /// A value is carried although not every iteration loads it.
    CarriedSometimes,
    /// Nobody asks whether what an iteration before has read stood at the same address.
    NoAddressTest,
    /// Nobody asks whether a store of the loop changes what goes round.
    NoApartTest,
    /// The first iterations use what nobody has passed on to them.
    PassedAtOnce,
    /// The elements of a vector load go into each other's registers.
    VectorReversed,
    /// A vector load starts a byte too far up.
    VectorOffset,
    /// A vector load fills registers that are still read before the load that it stands for.
    VectorTooEarly,
    /// The alignment of a vector's address is not checked.
    NoAlignmentTest,
    /// One access to an array that is laid out anew is left as it was.
    ArrayForgotten,
    /// A swizzle sets the bits that it should turn.
    ArrayBits,
    /// An array with gaps is declared in its old size.
    ArraySize,
    /// Nobody asks where the address of an array goes.
    ArrayEscapes,
    /// The new address of a register is used for addresses that are in another row.
    ArrayFolded,
    /// The bytes of a vector need not stay together.
    ArrayVectors,
    /// The lanes of a row that send the value loaded 32 lanes further on are one too many.
    RowBound,
    /// The lane that a tap's value comes from is one too far on.
    RowIndex,
    /// The values behind the warp's part of a row are loaded 31 lanes further on.
    RowEnd,
    /// Indices of a row may wrap around.
    RowWraps,
    /// Each lane decides for itself whether to take part in a row's shuffles.
    RowNoVote,
    /// Indices of structs may wrap around.
    StructWraps,
    /// A word of a struct comes from the lane before.
    StructLane,
    /// The words of a struct are turned the other way before they are sent.
    StructTurn,
    /// The words that the lanes of a struct load begin one word too far up.
    StructBegin,
    /// Nobody waits for what other lanes write to their structs.
    StructUnordered,
    /// The fields of a struct are a place off.
    StructField,
    /// Nobody waits for what a lane writes behind the warp's part of a row.
    RowUnordered,
    /// Nobody asks whether the generic addresses of a struct are global.
    StructNotGlobal,
    /// Indices of structs that are stored may wrap around.
    StoreWraps,
    /// Nobody asks whether the generic addresses that structs are stored to are global.
    StoreNotGlobal,
    /// Nobody asks whether the warp is whole before structs are stored by other lanes.
    StorePartial,
    /// The words of structs that are stored go the other way.
    StoreLane,
    /// The words of structs that are stored are turned the other way behind the shuffles.
    StoreTurn,
    /// The last word that each lane stores for others is lost.
    StoreField,
    /// Nobody waits before and after a lane stores the words of other lanes' structs.
    StoreUnordered,
    /// Stores of structs are moved behind loads of what they write.
    StoreOverLoads,
    /// The values in front of the warp's part of a row are loaded 31 lanes before.
    RowBefore,
    /// Values of a row whose lanes hold vectors are those of the next element.
    RowOtherCell,
    /// Nobody asks whether the generic addresses of a row are global.
    RowNotGlobal,
    /// The shuffle goes the other way.
    WrongSign,
    /// `shfl.down` is used one lane too far up.
    CornerTooFarUp,
    /// `shfl.up` is used one lane too far down.
    CornerTooFarDown,
    /// The corner case loads where it should not, and does not where it should.
    CornerInverted,
    /// The clamp operand of the shuffle is that of the other direction.
    WrongClamp,
    /// The halves of 64 bits change places.
    SwappedHalves,
    /// Whether the warp is whole is not checked.
    IncompleteWarp,
    /// The member mask is a constant.
    ConstantMask,
    /// Whether lanes are consecutive in `tid.x` is not checked.
    BlockShape,
    /// Whether the index wraps around is not checked.
    WrapAround,
    /// One of the values at which an index wraps around is forgotten.
    SmallWindow,
    /// The guard predicate is asked in the lane itself only, not in the lane that sends.
    NoVote,
    /// The source load's guard predicate is not looked at.
    SourceGuard,
    /// The covered load's guard predicate is not looked at.
    OwnGuard,
    /// A generic address is taken for a global one.
    GenericAddress,
    /// Whether the load's address is where the source's lets expect it is not asked.
    NoComparison,
    /// The load's address is compared with the source's own, without the bytes between the lanes.
    AddressOfOwnLane,
    /// Nobody asks whether the lane that sends is in the same row of a flattened index.
    RowNotAsked,
    /// The lane on the other side is asked for its row, not the one that sends.
    RowOtherSide,
    /// Nobody asks whether a source in a branch was executed.
    NotAsked,
    /// That a source in a branch was executed is remembered for ever.
    NotCleared,
    /// A source in a branch may have been changed since.
    BranchForgets,
    /// Nobody asks whether a store between was to the bytes of the source.
    StoreNotAsked,
    /// A barrier ends the availability of no load.
    Barrier,
    /// A store ends the availability of no load.
    Store,
    /// A store overlaps only a load that starts where it starts.
    StoreOverlap,
    /// An atomic ends the availability of no load.
    Atomic,
    /// A call ends the availability of no load.
    Call,
    /// Only the blocks of the source and the covered load are searched for instructions that end
    /// availability.
    OnePath,
    /// An instruction that comes round by a back edge ends the availability of no load.
    BackEdge,
    /// A source load need not be on every way.
    Dominance,
    /// A register that two branches write differently counts as uniform.
    JoinedValue,
    /// A register that a loop changes in an unknown way counts as uniform.
    LoopValue,
    /// All lanes count as having left a loop together.
    LoopExit,
    /// The lane's number counts as uniform.
    LaneId,
    /// A value that is not known counts as uniform.
    UnknownValue,
    /// Another element of a vector is sent.
    WrongElement,
    /// Sign and zero extension count as the same.
    Extension,
    /// Of two neighbouring bytes of a register the other one is taken.
    WrongByte,
    /// Bytes are always extended by zeros.
    ZeroExtension,
    /// The source's register is sent although it has been overwritten.
    StaleRegister,
    /// A register is sent by its name although the name means another register there.
    InnerScope,
    /// A register is sent at all latches by a name that was asked about at the first.
    FirstLatchAsked,
    /// A register that lanes are asked about is named where its name means another one.
    ClaimNotAsked,
    /// Instructions are copied in front of a loop without asking what their registers' names mean there.
    EntryNotAsked,
    /// Instructions are copied to latches without asking what their registers' names mean there.
    LatchNotAsked,
    /// A value is copied at a join by a name that means another register there.
    JoinNotAsked,
    /// The guard predicate of a source is named where its name means another one.
    GuardNotAsked,
    /// The register of an index is named where its name means another one.
    IndexNotAsked,
    /// Lanes meet only where all ways out of the function lead through.
    EarlyExits,
    /// Lanes meet only by ways out of the function, whichever ways lead out of a loop or round it.
    WaysWithinLoops,
    /// Nested loops are never made one.
    MergedLoops,
    /// A cycle of several entries is like any other.
    SeveralEntries,
    /// Warp-level synchronisation brings nobody together.
    SynchronisedLanes,
    /// What `activemask` reported holds behind warp-level synchronisation.
    MaskAcrossSync,
    /// A block that is entered only by a retreating edge is not reached.
    EnteredBackwards,
    /// Memory is the same whichever way lanes have come.
    MemoryAtJoins,
    /// Behind every instruction at which lanes wait, they see the same memory.
    MemoryBehindBarriers,
    /// Lanes that come to one barrier have waited for each other there.
    UnequalWaits,
    /// The formula of an `xform` lacks its fan.
    FanFormula,
    /// The formula of an `xform` turns the other way.
    TurnFormula,
    /// The formula of an `xform` lacks its group.
    GroupFormula,
    /// No `xform` has groups.
    NoGroups,
    /// No `xform` has fans.
    NoFans,
    /// No `xform` reduces its rotation.
    NoWraps,
    /// No `xform` turns by a quotient.
    NoQuotients,
    /// The constants of an `xform` are looked for one place too far on.
    TurnedSets,
    /// The formula of a condition adds what the condition subtracts.
    ConditionFormula,
    /// Conditions have no constant but 0.
    NoConstants,
    /// The formula of a `part` names its values in another order.
    PartFormula,
    /// An `xform` yields a table as often as it has a formula for it.
    SeenTwice,
    /// The formula of a `linear` lacks a divisor.
    FlatFormula,
    /// No `linear` subtracts a quotient.
    NoMinus,
    /// A fitted expression is not reduced.
    FittedModulus,
    /// A demand is forced to the first point through which it has a way.
    FirstWayOnly,
    /// A sum wants one copy more of each value than its goal.
    OneCopyMore,
    /// A value that goes round a statement is wanted in it as well.
    AroundForgotten,
    /// A cell counts as used where there is one more of them than values.
    FullTooSoon,
    /// As many values as cells count as too many.
    CrowdedTooSoon,
    /// Different places of a coordinate always have different values.
    AlwaysDiffer,
    /// A sum is right if it has as many values as its goal.
    CountOnly,
    /// What remains of the first hole's members is not tried.
    LastBatchLost,
    /// A solution that costs as much as the best one takes its place.
    DearerKept,
    /// A shuffle that moves nothing costs something.
    IdentityCosts,
    /// A condition has to hold although another one would do.
    EverythingForced,
    /// A factor is looked for beside the first place of the other one only.
    OneKnownSlot,
    /// A row of registers is turned the other way.
    TurnBack,
    /// The last round of a turn is left out.
    RoundLost,
    /// What is negative is divided as it stands.
    NegativeDividends,
    /// What lies beyond an input is loaded.
    LoadUnguarded,
    /// A value takes part in a fold where its condition does not hold.
    ConditionSwapped,
    /// A fold of nothing is 0, whatever folds.
    NothingIsZero,
    /// The upper half of 64 bits stays in its lane.
    HalfShuffled,
    /// The coordinates of two axes of lanes change places.
    AxesSwapped,
    /// A scatter is taken for the gather with its expression.
    InverseForgotten,
    /// Every result of a function is written to the place of the first.
    ResultsMoved,
    /// Of the registers that a lane may pick, the last one is never picked.
    PickedBefore,
    /// Where steps run along an axis together, a fold begins anew at each place of it.
    SumsBegunAgain,
    /// In CUDA, a fold begins anew at each place of the axis along which steps run together.
    CudaSumsBegunAgain,
    /// In CUDA, a row of registers is turned the other way.
    CudaTurnBack,
    /// In CUDA, the last round of a turn is left out.
    CudaRoundLost,
    /// In CUDA, the second axis of lanes is counted on where the first one goes on.
    CudaAxesLost,
    /// In CUDA, what lies beyond an input is loaded.
    CudaLoadUnguarded,
    /// In CUDA, a lane reads others where it is its own source, and itself elsewhere.
    CudaSameSwapped,
    /// In CUDA, a condition that chooses a register chooses the other one.
    CudaChosenSwapped,
    /// In CUDA, the last register that a lane may pick is never picked.
    CudaPickedBefore,
    /// In CUDA, every fold begins with 0.
    CudaNothingBegins,
    /// In CUDA, values take part in a fold whether its condition holds or not.
    CudaConditionLost,
    /// In CUDA, the registers of a goal are stored one over the other.
    CudaResultsMoved,
    /// The law that makes an operator right for longer lists is not proved.
    LawForgotten,
    /// What was guessed of the states that lists reach is taken for proved.
    GuessesBelieved,
    /// The prover does not know what inputs range over.
    RangesForgotten,
    /// A refuted operator's lists do not become an example.
    NothingLearned,
    /// A law about which the prover says nothing is taken for proved.
    UnknownBelieved,
    /// No degree is too high for an operator.
    DegreeIgnored,
    /// An element's state is computed from zeros.
    LiftFromZeros,
    /// In an operator's code, what is put in front goes behind.
    OperandsTurned,
    /// In an operator's code, the first lane begins with what its shuffle gave it.
    UnitForgotten,
    /// In an operator's code, every warp begins as the first one does.
    FrontForgotten,
    /// In an operator's code, nobody waits for the totals.
    TotalsTooEarly,
    /// In an operator's code, the totals of all accumulators are in one place.
    TotalsOverlap,
    /// In an operator's code, all booleans have one bit.
    OneFlag,
    /// In an operator's code, the high half of a number is the lane's own.
    HighHalfStays,
    /// In an operator's code, remainders are as the machine has them.
    MachineRemainder,
    /// In an operator's code, a part of a warp is reduced as if it were whole.
    AllLanesReduced,
    /// In an operator's code, shares go on behind the end.
    ShareTooLong,
    /// In an operator's code, elements are loaded without their sign.
    ElementSign,
    /// In an operator's code, accumulators are written one after the other.
    WrittenTooEarly,
    /// Sums are accumulated in the width of the elements.
    SumsTooNarrow,
    /// Products of values that do not meet are known.
    NothingMeets,
    /// In the code of a network, the first condition of a step is the only one.
    OneCondition,
    /// In the code of a network, operands that changed places are where they were.
    TurnForgotten,
    /// In the code of a network, the last step is left out.
    LastStepLost,
    /// In the code of a network, each lane begins with its own element.
    OwnElementFirst,
    /// The depth of a network is that of the values that come in.
    DepthOfSources,
    /// A network is executed for its own number of lanes alone.
    OneSize,
    /// Wide accesses take one turn.
    WideAtOnce,
    /// Places of elements may overlap.
    PlacesOverlap,
    /// What a lane accesses at once may be apart.
    VectorsApart,
    /// In the code of a placement, elements are stored row by row.
    StoredPlain,
}

impl Bug {
    /// Mistakes in operators of loops, networks and places, and in their code.
    pub const SCANS: [Bug; 31] = [
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

    /// Mistakes of the analysis about where lanes meet and how control flows.
    pub const CONVERGENCE: [Bug; 7] = [
        Bug::EarlyExits,
        Bug::WaysWithinLoops,
        Bug::MergedLoops,
        Bug::SeveralEntries,
        Bug::SynchronisedLanes,
        Bug::MaskAcrossSync,
        Bug::EnteredBackwards,
    ];

    /// Mistakes of the analysis about the memory that lanes see after they have waited for others.
    pub const MEMORY: [Bug; 3] = [Bug::MemoryAtJoins, Bug::MemoryBehindBarriers, Bug::UnequalWaits];

    /// Mistakes in a row of taps for which two loads stand.
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
    /// What names mean where code names them.
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
    /// Loads of structs as loads of consecutive words.
    pub const STRUCTS: [Bug; 7] = [
        Bug::StructNotGlobal,
        Bug::StructUnordered,
        Bug::StructWraps,
        Bug::StructLane,
        Bug::StructTurn,
        Bug::StructBegin,
        Bug::StructField,
    ];
    /// Stores of structs as stores of consecutive words.
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
    /// What strategies other than the paper's may get wrong.
    pub const STRATEGIES: [Bug; 17] = [
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
        Bug::ArrayForgotten,
        Bug::ArrayBits,
        Bug::ArraySize,
        Bug::ArrayEscapes,
        Bug::ArrayFolded,
        Bug::ArrayVectors,
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

    /// All other mistakes.
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

/// The bug that is planted, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Planted {
    #[cfg(feature = "planted-bugs")]
    bug: Option<Bug>,
}

impl Planted {
    /// Plants a bug.
    #[cfg(feature = "planted-bugs")]
    pub fn bug(bug: Bug) -> Planted {
        Planted { bug: Some(bug) }
    }

    /// Whether this bug is planted.
    #[cfg(feature = "planted-bugs")]
    pub fn has(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether a mistake about names is planted: then nobody asks once more when code is placed.
    pub fn is_about_names(self) -> bool {
        Bug::NAMES.into_iter().any(|bug| self.has(bug))
    }

    /// Whether this bug is planted: never.
    #[cfg(not(feature = "planted-bugs"))]
    pub fn has(self, _bug: Bug) -> bool {
        false
    }
}
