//! The outcome of evaluating a program: every event, load and store with the condition under which it
//! happens, and for each loop the loop-carried values. Data only.
//!
//! Conditions are relative to the header of the innermost loop around them: "given that this
//! iteration is executed".

use rustc_hash::FxHashMap;
use typed_index_collections::{TiSlice, TiVec};

use crate::cfg::{BlockId, InstId, InstRange, LoopId, RegisterId};
use crate::expr::TermId;
use crate::program::split::Split;
use crate::program::{Program, Role, Window};
use crate::ptx::StateSpace;

/// A version of each window.
pub(crate) type Memory = [TermId; Window::ALL.len()];

/// An event: an action of a lane that others can notice, so that both programs must have it alike.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub inst: InstId,
    pub block: BlockId,
    pub role: Role,
    /// The condition under which it happens, relative to the iteration.
    pub condition: TermId,
    /// Its address, values and further operands.
    pub operands: Vec<TermId>,
}

/// A weak load. It is not an event, but the rewritten program must load nothing that the original does
/// not.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub inst: InstId,
    pub block: BlockId,
    pub condition: TermId,
    pub space: StateSpace,
    pub address: TermId,
    /// Bytes read.
    pub bytes: u32,
}

/// Bytes of memory that an instruction accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessed {
    /// The address of the first.
    pub address: TermId,
    /// How many.
    pub bytes: u32,
    /// Whether it is outside of global memory, by a generic address: only stores to generic addresses are compared with it.
    pub is_generic: bool,
}

/// A register at a loop's header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct HeaderRegister {
    pub id: LoopId,
    pub register: RegisterId,
}

/// A loop-carried value: a register or window that a loop changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopValue {
    /// The register; `None` for a window of memory.
    pub register: Option<RegisterId>,
    /// Its value at the header: a symbol.
    pub symbol: TermId,
    /// Its value when the loop is entered.
    pub initial: TermId,
    /// Its value at the back edge.
    pub latch: TermId,
}

/// The outcome of evaluating a loop.
#[derive(Clone, Debug)]
pub(crate) struct LoopRecord {
    /// The condition under which it is entered, relative to the loop around it.
    pub entry: TermId,
    /// The condition under which a back edge is taken, relative to the iteration.
    pub again: TermId,
    pub values: Vec<LoopValue>,
}

/// A block with several predecessors, in a function with a cycle of several entries: evaluation starts anew
/// there.
#[derive(Clone, Debug)]
pub(crate) struct Cutpoint {
    pub block: BlockId,
    /// The symbols of the registers and windows at this block.
    pub symbols: Vec<(Option<RegisterId>, TermId)>,
    /// The windows among them, in this order.
    pub windows: Vec<Window>,
    /// One for each edge into the block.
    pub paths: Vec<CutpointPath>,
}

/// The fact about an address that an access to the global space implies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalFact {
    /// The condition of the access.
    pub condition: TermId,
    /// The innermost loop around it.
    pub around: Option<LoopId>,
    /// The predicate that its address is global.
    pub is_global: TermId,
}

/// A read-only load, which promises that no thread writes its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// The condition under which it is executed.
    pub condition: TermId,
    /// The innermost loop around it.
    pub around: Option<LoopId>,
}

/// A path from one cutpoint to another.
#[derive(Clone, Debug)]
pub(crate) struct CutpointPath {
    /// The block of the cutpoint before.
    pub from: BlockId,
    /// The condition under which it is taken from there.
    pub condition: TermId,
    /// The values that it brings, in the order of [`Cutpoint::symbols`].
    pub values: Vec<TermId>,
}

/// A store as seen from the version of memory that it made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreRecord {
    /// The instruction, in the program that made it.
    pub inst: InstId,
    pub before: TermId,
    pub address: TermId,
    pub bytes: u32,
}

/// The outcome of an evaluation.
#[derive(Debug, Default)]
pub(crate) struct Execution {
    pub events: Vec<Event>,
    pub loads: Vec<Load>,
    pub loops: TiVec<LoopId, Option<LoopRecord>>,
    /// For each block the condition under which it is reached.
    pub path: TiVec<BlockId, Option<TermId>>,
    /// In functions with cycles of several entries, all blocks with several predecessors (see `cutpoints`).
    pub cutpoints: Vec<Cutpoint>,
    /// For each block the last cutpoint on the path to it; in functions without cutpoints the entry.
    pub root: TiVec<BlockId, BlockId>,
    /// The condition by which a block branches.
    pub branches: TiVec<BlockId, Option<TermId>>,
    /// For each definition of a register, by instruction and register, the value.
    pub definitions: FxHashMap<(InstId, RegisterId), TermId>,
    /// For each version of memory that a store made, that store.
    pub stores: FxHashMap<TermId, StoreRecord>,
    /// The same for versions of shared and local memory that a store to a generic address made, with that address.
    pub generic_stores: FxHashMap<TermId, StoreRecord>,
    /// The values of read-only loads, each with the loads that deliver it.
    pub read_only: FxHashMap<TermId, Vec<Promise>>,
    /// Facts about the addresses of accesses that name the global space.
    pub global: Vec<GlobalFact>,
    /// The addresses of plain loads and stores that name the shared space, by instruction, each as wide as its
    /// register.
    pub shared: FxHashMap<InstId, TermId>,
    /// The original's addresses that correspond to them, where the array has another layout.
    pub stands_for: FxHashMap<InstId, TermId>,
    /// The accesses that could not be shown to go where the layout says.
    pub astray: Vec<InstId>,
    /// Whether there is a generic load; only for these it matters which addresses are global.
    pub generic: bool,
}

/// The original, against which the rewritten program is evaluated.
pub(crate) struct Reference<'r, 's> {
    /// The original's outcome.
    pub execution: &'r Execution,
    /// The original, prepared.
    pub program: &'r Program<'r, 's>,
    /// For each instruction of the rewritten program the original's that it is matched with.
    pub matched: &'r TiSlice<InstId, Option<InstId>>,
    /// For each unmatched instruction of the rewritten program the unmatched instructions of the
    /// original between the same neighbours, which it replaces.
    pub gaps: &'r TiSlice<InstId, InstRange>,
    /// Vector stores that replace several stores.
    pub splits: &'r [Split],
    /// For each register at a loop's header the original's that it is paired with; without them registers are
    /// paired by name.
    pub paired: Option<&'r FxHashMap<HeaderRegister, RegisterId>>,
    /// Registers that, at a loop's header, do not hold the value of the original's register that they were taken
    /// for.
    pub split: &'r [HeaderRegister],
    /// The values at a loop's header of registers that only the rewritten program has, in terms of the original: an
    /// assumption, which is checked where the loop is entered and at its back edges.
    pub carried: &'r FxHashMap<HeaderRegister, Assumed>,
}

/// The assumed value at a loop's header of a register that only the rewritten program has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assumed {
    /// The value, in terms of the original at that header.
    pub value: TermId,
    /// Flags of the rewritten program alone: the value holds where one of them is true; always if there are none.
    pub when: Vec<RegisterId>,
}
