//! The decoded form of a module, which the execution loop walks over.
//!
//! A function is a flat list of micro-operations; an instruction of the source becomes one or a
//! few of them. Names are resolved to register slots and addresses, labels to indices, and every
//! branch knows where its lanes meet again.

mod place;
pub(super) mod rare;
pub(super) mod transaction;

use std::collections::BTreeMap;
use std::ops::Range;

use typed_index_collections::TiVec;

use self::rare::{CrossLane, FragmentMove, Scalar, Stack};
use self::transaction::{BulkCopy, CopyGroup, MBarrier};
use super::memory::{Named, Site, StateSpaceLayout};
use super::registers::{File, LANES, Mask, Slot, Slots, WarpFn};
use crate::algebra::Format;
use crate::isa::Axis;
use crate::ptx::StateSpace;
use crate::source::Span;

pub(super) use super::memory::{FunctionId, Order, Scope};
pub(super) use place::{AtomicFn, Base, Place};

/// The number of a micro-operation in its function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Pc(pub u32);

table_ids!(Pc);

impl Pc {
    /// The first micro-operation of a function.
    pub(super) const ENTRY: Pc = Pc(0);

    /// The place behind it.
    #[inline(always)]
    pub(super) fn next(self) -> Pc {
        Pc(self.0 + 1)
    }

    /// The micro-operation in front of it. There must be one.
    pub(super) fn before(self) -> Pc {
        Pc(self.0 - 1)
    }
}

/// The reconvergence point of a branch whose lanes meet only where the function returns.
pub(super) const AT_RETURN: Pc = Pc(u32::MAX);

/// All functions that a kernel can reach, and their common data.
#[derive(Debug)]
pub(super) struct Program {
    /// The kernel is function 0.
    pub functions: TiVec<FunctionId, Function>,
    /// Addresses of module variables and of kernel parameters.
    pub layout: StateSpaceLayout,
    /// Whether something besides barriers of the whole block may order threads: fences, strong loads and stores, atomics
    /// with semantics other than relaxed, objects to synchronise on, barriers with a thread count.
    pub orders: bool,
    /// Whether blocks see nothing of each other: only barriers order threads, and all atomics are on
    /// shared memory. Only then can blocks run side by side.
    pub plain: bool,
    /// Whether a lane may wait for a value that another one writes: the program has atomics, volatile
    /// or strong accesses, or objects to synchronise on.
    pub signals: bool,
    /// Whether the program allocates memory (`malloc`).
    pub heap: bool,
    /// Kernel parameters: offset and size in bytes, in order.
    pub params: Vec<ParamPlace>,
}

/// A kernel parameter in its memory.
#[derive(Clone, Debug)]
pub(super) struct ParamPlace {
    /// Its name.
    pub name: String,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// One decoded function.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// Its name.
    pub name: String,
    /// The micro-operations; empty where the module only declares the function.
    pub code: TiVec<Pc, MicroOp>,
    /// Where each micro-operation stands.
    pub spans: TiVec<Pc, Span>,
    /// The place in the sources that each micro-operation was compiled from.
    pub origins: TiVec<Pc, Option<Origin>>,
    /// How a frame's registers look when it is made.
    pub frame: FrameTemplate,
    /// The registers that some path reads before it has written them, with their names.
    pub unwritten: Vec<(rare::Cell, String)>,
    /// Bytes of each lane's local memory that a frame needs (`.local` and `.param` variables).
    pub local_bytes: u64,
    /// The variables in that memory, at offsets from the frame's beginning.
    pub locals: Vec<Named>,
    /// Parameters.
    pub params: Vec<Formal>,
    /// Return values.
    pub returns: Vec<Formal>,
    /// Whether the function is `.noreturn` or a declaration without a body.
    pub external: bool,
    /// Where the lanes of each branch may meet again; empty unless the launch chooses at random.
    pub reconvergences: BTreeMap<Pc, Vec<Reconvergence>>,
    /// The code of each natural loop; empty unless the launch chooses at random.
    pub loops: Vec<Region>,
    /// Number of its first micro-operation among those of all functions.
    pub first_site: Site,
}

/// A place in the sources that PTX was compiled from (`.loc`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// Number of the `.file`.
    pub file: u32,
    /// 1-based line; 0 where the compiler names none.
    pub line: u32,
}

/// Where the lanes of a branch may meet again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reconvergence {
    /// They meet at this micro-operation; [`AT_RETURN`] if nowhere.
    pub at: Pc,
    /// The number of a loop of the function: lanes that leave it are not waited for.
    pub within: Option<usize>,
}

/// Some part of a function's code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Region(Vec<Range<Pc>>);

impl Region {
    /// The region made of `ranges`, which come in ascending order.
    pub(super) fn new(ranges: impl Iterator<Item = Range<Pc>>) -> Region {
        let mut all: Vec<Range<Pc>> = Vec::new();
        for range in ranges {
            match all.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => all.push(range),
            }
        }
        Region(all)
    }

    /// Whether a micro-operation belongs to it.
    pub(super) fn contains(&self, pc: Pc) -> bool {
        let next = self.0.partition_point(|range| range.end <= pc);
        self.0.get(next).is_some_and(|range| range.contains(&pc))
    }
}

impl Function {
    /// The number of a micro-operation among those of all functions.
    #[inline(always)]
    pub(super) fn site(&self, pc: Pc) -> Site {
        self.first_site + pc.0
    }
}

impl Program {
    /// The instruction of a micro-operation that is given by its number among those of all functions.
    pub(super) fn span(&self, site: Site) -> Span {
        let function = self.function(site);
        let span = function.and_then(|f| f.spans.get(Pc(site - f.first_site)));
        span.copied().unwrap_or_default()
    }

    /// The function of a micro-operation that is given by its number among those of all functions.
    pub(super) fn function(&self, site: Site) -> Option<&Function> {
        self.functions.iter().rev().find(|f| f.first_site <= site)
    }
}

/// Where a value that crosses a call lives in a frame.
#[derive(Clone, Debug)]
pub(super) enum Formal {
    /// Bytes of the frame's local memory.
    Memory {
        /// First byte within the frame.
        offset: u64,
        /// Bytes.
        size: u64,
    },
    /// A register.
    Register(File, Slot),
}

/// The initial registers of a frame.
#[derive(Debug, Default, Clone)]
pub(super) struct FrameTemplate {
    /// The predicates.
    pub preds: TiVec<Slot, Mask>,
    /// The narrow registers; those that the program does not initialise hold garbage.
    pub w32: TiVec<Slot, [u32; LANES]>,
    /// The wide registers.
    pub w64: TiVec<Slot, [u64; LANES]>,
    /// Slots that hold special registers, to be filled for each warp.
    pub specials: Vec<(LaunchInvariant, Slot)>,
}

/// Special registers that do not change while a warp runs (PTX ISA, "Special Registers"). All are
/// 32 bits wide here; `.u64` ones are widened where they are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LaunchInvariant {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    LaneId,
    WarpId,
    NwarpId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSharedSize,
    TotalSharedSize,
    Constant(u32),
}

/// Which lanes execute a micro-operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// All active lanes execute.
    Always,
    /// Lanes whose predicate is true execute.
    If(Slot),
    /// Lanes whose predicate is false execute.
    Unless(Slot),
}

/// One micro-operation.
#[derive(Debug)]
pub(super) struct MicroOp {
    /// Which lanes take part.
    pub guard: Guard,
    /// Whether it is the first of its instruction: only first ones are counted.
    pub first: bool,
    /// The operation.
    pub op: Op,
}

/// The operation of a micro-operation.
#[derive(Debug)]
pub(super) enum Op {
    /// A pure operation on registers.
    Lanes(WarpFn, Slots),
    /// A pure operation, lane by lane.
    Scalar(Box<Scalar>),
    /// A pure operation on the registers of all lanes together.
    CrossLane(CrossLane),
    /// A load; boxed, as are the other rare or large ones, to keep the list compact.
    Load(Box<Load>),
    /// A store.
    Store(Box<Store>),
    /// `atom` and `red`.
    Atomic(Box<Atomic>),
    /// `cp.async` of 4, 8 or 16 bytes from global to shared memory.
    CopyAsync(Box<CopyAsync>),
    /// A group of such copies, or the wait for some.
    CopyGroup(CopyGroup),
    /// `cp.async.bulk`.
    CopyBulk(Box<BulkCopy>),
    /// A load or store of a matrix fragment.
    Fragment(Box<FragmentMove>),
    /// `mbarrier`.
    MBarrier(Box<MBarrier>),
    /// Writes the address of a variable in the frame's local memory: wide destination, offset in
    /// bytes.
    FrameAddress(File, Slot, u64),
    /// A branch; the guard says which lanes take it.
    Branch {
        /// Where to.
        target: Pc,
        /// Where the lanes meet again.
        meet: Pc,
    },
    /// `brx.idx`.
    IndexedBranch(Box<IndexedBranch>),
    /// `call`.
    Call(Box<Call>),
    /// `alloca`, `stacksave`, `stackrestore`.
    Stack(Box<Stack>),
    /// `ret`.
    Return,
    /// `exit`.
    Exit,
    /// `trap` and `brkpt`.
    Trap,
    /// `bar`, `barrier`.
    Barrier(Box<Barrier>),
    /// A warp-wide instruction: `shfl`, `vote`, `match`, `redux`, `bar.warp`, `elect`.
    Collective(Box<Collective>),
    /// `activemask`.
    ActiveMask(Slot),
    /// `%clock`, `%clock64`, `%globaltimer`: instructions executed by the warp so far.
    Clock(File, Slot),
    /// `isspacep`: the predicate, the address and the state space.
    IsSpace(Slot, Slot, StateSpace),
    /// Prefetches and hints, which change nothing here.
    Nothing,
    /// A fence: accesses are never reordered here, but it takes part in the order of threads; none if it only concerns
    /// proxies.
    Fence(Option<Scope>),
    /// An instruction that is not modelled; executing it is a fault with this message.
    Unsupported(Box<str>),
}

/// How a loaded element becomes a register value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Destination {
    /// The register's file.
    pub file: File,
    /// The register's slot.
    pub slot: Slot,
    /// Bits of the register that a sign extension must fill; 0 where the value is zero-extended.
    pub sign_to: u8,
}

/// A load (PTX ISA, "Data Movement and Conversion Instructions: ld").
#[derive(Debug)]
pub(super) struct Load {
    /// The address that is loaded from.
    pub place: Place,
    /// Bytes of an element: 1, 2, 4 or 8 (a 16-byte element counts as two of 8).
    pub bytes: u32,
    /// Required alignment: bytes of all elements together.
    pub align: u32,
    /// Where each element goes; `None` is a sink.
    pub dests: Vec<Option<Destination>>,
    /// Its memory order, if it is strong: volatile, relaxed, acquire.
    pub order: Option<Order>,
    /// Whether it may only read what no thread of the launch writes (`.nc`).
    pub read_only: bool,
}

/// A store.
#[derive(Debug)]
pub(super) struct Store {
    /// The address that is stored to.
    pub place: Place,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Required alignment.
    pub align: u32,
    /// The elements.
    pub sources: Vec<(File, Slot)>,
    /// Its memory order, if it is strong.
    pub order: Option<Order>,
}

/// An element of an atomic: the register of the old value (none for `red`), and operand b.
pub(super) type AtomicElement = (Option<(File, Slot)>, (File, Slot));

/// `atom` and `red` (PTX ISA, "Parallel Synchronization and Communication Instructions").
#[derive(Debug)]
pub(super) struct Atomic {
    /// The memory that it accesses.
    pub place: Place,
    /// Bytes of an element: 2, 4, 8.
    pub bytes: u32,
    /// Required alignment.
    pub align: u32,
    /// The function that it computes.
    pub run: AtomicFn,
    /// The elements.
    pub elements: Vec<AtomicElement>,
    /// Operand c (`cas`).
    pub c: Option<(File, Slot)>,
    /// Whether the old value is returned and not computed with (`exch`).
    pub exchanges: bool,
    /// Whether the value is 128 bits wide: `exch` (false) or `cas` (true) on register pairs.
    pub wide: Option<bool>,
    /// Its memory order.
    pub order: Order,
    /// The format of the floating-point numbers that it adds up, if it does that.
    pub sum: Option<Format>,
}

impl Atomic {
    /// Whether it adds a floating-point number to one in memory.
    pub(super) fn is_sum(&self) -> bool {
        self.sum.is_some() && self.elements.len() == 1
    }
}

/// `cp.async` (non-bulk); performed at once, but nobody may touch the bytes before the thread has waited.
#[derive(Debug)]
pub(super) struct CopyAsync {
    /// Shared memory.
    pub to: Place,
    /// Global memory.
    pub from: Place,
    /// 4, 8 or 16.
    pub bytes: u32,
    /// How many bytes are read, the others being zero; or a predicate to read none.
    pub limit: CopyLimit,
}

/// The optional operand of `cp.async`.
#[derive(Clone, Copy, Debug)]
pub(super) enum CopyLimit {
    /// All bytes are read.
    All,
    /// `src-size`.
    Bytes(Slot),
    /// `ignore-src`.
    Ignore(Slot),
}

/// `brx.idx`.
#[derive(Debug)]
pub(super) struct IndexedBranch {
    /// The index, a narrow register.
    pub index: Slot,
    /// The micro-operation for each index.
    pub targets: Vec<Pc>,
    /// Where the lanes meet again.
    pub meet: Pc,
}

/// The function that a call calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Callee {
    /// A function of the program.
    Direct(FunctionId),
    /// The function whose handle a wide register holds.
    Indirect(Slot),
}

/// `call`.
#[derive(Debug)]
pub(super) struct Call {
    /// The function that is called.
    pub callee: Callee,
    /// Arguments, in the caller's frame.
    pub args: Vec<Formal>,
    /// Results, in the caller's frame.
    pub results: Vec<Formal>,
}

/// The action of a barrier instruction besides arriving.
#[derive(Clone, Copy, Debug)]
pub(super) enum BarrierKind {
    /// Waits.
    Sync,
    /// Does not wait.
    Arrive,
    /// Waits and counts the lanes whose predicate (negated or not) is true, into a register.
    Popc { d: Slot, p: Slot, negated: bool },
    /// Waits and combines predicates.
    And { d: Slot, p: Slot, negated: bool },
    /// Waits and combines predicates.
    Or { d: Slot, p: Slot, negated: bool },
}

/// `bar.*` and `barrier.*` of the block.
#[derive(Debug)]
pub(super) struct Barrier {
    /// Barrier number, a narrow register; `None` is the barrier of the cluster.
    pub id: Option<Slot>,
    /// Thread count, a narrow register; all threads of the block where absent.
    pub threads: Option<Slot>,
    /// Its effect besides arriving.
    pub kind: BarrierKind,
    /// All lanes of a warp must execute it together (`.aligned`, and every `bar`).
    pub aligned: bool,
}

/// `shfl` modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `redux.sync` operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reduction {
    Add,
    MinU,
    MaxU,
    MinS,
    MaxS,
    And,
    Or,
    Xor,
    /// `.f32`: minimum or maximum, of absolute values, NaN-propagating.
    Float {
        max: bool,
        abs: bool,
        nan: bool,
    },
}

/// The operation of a collective instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CollectiveKind {
    /// `shfl`: value, b, c are narrow registers; `d[0]` the result, predicate `d[1]`.
    Shuffle(Shuffle),
    /// `vote.all`.
    All,
    /// `vote.any`.
    Any,
    /// `vote.uni`.
    Uni,
    /// `vote.ballot`.
    Ballot,
    /// `match.any` on values of 32 or 64 bits.
    MatchAny(File),
    /// `match.all`.
    MatchAll(File),
    /// `redux`.
    Redux(Reduction),
    /// `bar.warp.sync`.
    Sync,
    /// `elect`.
    Elect,
}

/// A collective instruction.
#[derive(Debug)]
pub(super) struct Collective {
    /// The operation.
    pub kind: CollectiveKind,
    /// The member mask, a narrow register; the executing lanes where absent (before `.sync`).
    pub members: Option<Slot>,
    /// Sources; for votes `s[0]` is a predicate.
    pub s: [Slot; 3],
    /// Whether the source predicate of a vote is negated.
    pub negated: bool,
    /// The result register or predicate, if it is wanted.
    pub d: Option<Slot>,
    /// The second result (the predicate of `shfl`, `match.all`, `elect`), if it is wanted.
    pub p: Option<Slot>,
}
