//! A kernel: a graph of blocks, the contents of each block, and the launch.

/// Index of a block; block 0 is the entry.
pub type BlockId = usize;
/// Index of a register that lanes carry from block to block.
pub type Carried = usize;

/// A kernel and its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub seed: u64,
    pub kind: Kind,
    /// The parameter `n`: what counters are compared with.
    pub n: u32,
    /// What each thread may spend on its ways back.
    pub fuel: u32,
    /// Threads of a block, blocks of the grid.
    pub threads: u32,
    pub grid: u32,
    /// How each carried register starts.
    pub carried: Vec<Start>,
    pub blocks: Vec<Block>,
}

/// What shape of control flow a seed has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Conditionals, loops, `break`, `continue`, early exits, switches.
    Structured,
    /// The same, with `brx.idx` for switches and latches.
    Indexed,
    /// Structured, with further edges into the middle and blocks whose forward edge is dead.
    Irreducible,
    /// Edges drawn at random.
    Arbitrary,
    /// What has been got wrong before, nearly as it was found.
    Shaped,
}

/// The value of a carried register at the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Number(u32),
    /// The parameter `n`.
    Parameter,
    Thread,
    /// An element of the input.
    Loaded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub items: Vec<Item>,
    pub end: End,
}

/// How a block is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Jump(BlockId),
    Branch {
        when: Condition,
        yes: BlockId,
        no: BlockId,
    },
    /// `brx.idx`; a power of two of targets.
    Index {
        by: Test,
        to: Vec<BlockId>,
        /// While it holds, any target; afterwards only this one.
        limit: Option<(Limit, usize)>,
    },
    /// The thread ends.
    Leave(Leave),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The last block: stores what the thread found, and returns.
    Last,
    /// In the middle of the code, after storing or without.
    Exit {
        store: bool,
    },
    Return {
        store: bool,
    },
    /// Never comes to pass.
    Trap,
}

/// A predicate. With a limit, the side given there is taken only while the limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub test: Test,
    pub negated: bool,
    pub limit: Option<(Limit, bool)>,
}

/// What ends a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A counter is below `n`.
    Counter(Carried),
    /// The thread has fuel left.
    Fuel,
}

/// What a branch depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Holds, and everyone can see it: `ntid.x != 0`.
    Always,
    /// Never holds, but only the launch knows: `n > 1000`.
    Never,
    /// The same for all: `n > k`, a bit of `ctaid.x`.
    Parameter(u32),
    Grid,
    /// Bits of a carried register.
    Bits(Carried, u32),
    /// Bits of the thread's index.
    Thread(u32),
    /// The index is below a bound.
    Below(u32),
    /// Bits of the index and of a register, taken together.
    Mixed(Carried, u32),
    /// The sum of the index and of a register has these low two bits.
    Sum(Carried, u32),
    /// A bit of what was loaded last.
    Loaded(u32),
    /// A bit of the result so far.
    Result(u32),
    /// The thread has spent its fuel.
    Spent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Step(Carried, Update),
    Load(Load),
    /// To a word of the thread's own slot: nobody else reads it.
    Store {
        word: u32,
        value: Value,
    },
    /// One unit of fuel is gone.
    Spend,
    Sync(Sync),
}

/// What becomes of a carried register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Add(u32),
    /// Times three, and one more.
    Multiply,
    /// Exclusive or with another one.
    Mix(Carried),
    Copy(Carried),
    AddThread,
    AddLoaded,
    Set(u32),
}

/// Loads of neighbouring words, each folded into the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    pub array: Array,
    /// The rows further that it reads: a carried register, with its upper bits cut off or not.
    pub row: Option<(Carried, bool)>,
    pub words: Vec<u32>,
    /// By the path that stores do not pass.
    pub read_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// The input, which nobody writes; words move with the thread.
    Input,
    /// The thread's own slot.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Result,
    Number(u32),
    Carried(Carried),
}

/// Warp-level and block-level synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// `bar.warp.sync` of all lanes.
    Warp,
    /// Of the lanes whose index agrees with the thread's in a bit.
    Group(u32),
    /// Of the two lanes of a pair, by some instruction; only they wait.
    Pair(u32, u32, By),
    /// `vote.sync` of all lanes, without a use.
    Vote,
    /// `shfl.sync` of all lanes, without a use.
    Shuffle,
    /// `vote.sync`, and the result counts: only where all lanes come by equally often.
    CountedVote,
    /// `barrier.sync`, where all threads of the block come by.
    Block,
}

/// The instruction by which lanes wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Barrier,
    Vote,
    Shuffle,
}

/// Words of a row of the input.
pub const ROW: u32 = 128;
/// Rows that can be reached; a register that is cut off stays below [`CUT`].
pub const ROWS: u32 = 96;
pub const CUT: u32 = 15;
/// Words of a thread's own slot.
pub const SLOT: u32 = 4;

impl Condition {
    pub fn of(test: Test, negated: bool) -> Condition {
        Condition { test, negated, limit: None }
    }
}

impl Block {
    pub fn new(end: End) -> Block {
        Block { items: Vec::new(), end }
    }

    /// Where control may go, in the order of the text.
    pub fn targets(&self) -> Vec<BlockId> {
        match &self.end {
            End::Jump(to) => vec![*to],
            End::Branch { yes, no, .. } => vec![*yes, *no],
            End::Index { to, .. } => to.clone(),
            End::Leave(_) => Vec::new(),
        }
    }

    pub fn targets_mut(&mut self) -> Vec<&mut BlockId> {
        match &mut self.end {
            End::Jump(to) => vec![to],
            End::Branch { yes, no, .. } => vec![yes, no],
            End::Index { to, .. } => to.iter_mut().collect(),
            End::Leave(_) => Vec::new(),
        }
    }
}

impl Kernel {
    /// The blocks that some way leads to, in the order of their numbers.
    pub fn reachable(&self) -> Vec<BlockId> {
        let mut seen = vec![false; self.blocks.len()];
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut seen[block], true) {
                work.extend(self.blocks[block].targets());
            }
        }
        (0..seen.len()).filter(|&block| seen[block]).collect()
    }
}
