//! What a random kernel is: a tree of statements and the shape of its one launch.
//!
//! Every tree means a kernel that ends, stays within its buffers and is deterministic; those that
//! `generate` makes are free of races too. (Leaving out a barrier may bring a race into a tree. The
//! interpreter notices, and the reducer puts it back.) Statements that refer to something that is
//! not there, such as the iteration outside of any loop, mean zero instead: so any part of a tree
//! may be taken out.

/// A kernel and its launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Whether `.reqntid` says so.
    pub required: bool,
    /// The value of the parameter `n`: a number of iterations, 0 to 4.
    pub n: u32,
    /// How far the indices of [`Array::Far`] start below the place where 32 bits wrap around.
    pub far: u32,
    /// Seed of the buffers' contents.
    pub seed: u64,
    /// Bytes between a multiple of 16 and the place that the pointer of [`Array::Tight`] points to.
    pub shift: u32,
    /// Whether that pointer's parameter says that it is a multiple of 16.
    pub declared: bool,
    /// The architecture: 80 or 100.
    pub target: u32,
    /// What each thread does.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Loads, and mixes what was loaded into the thread's result.
    Load(Load),
    /// Changes the thread's own slot.
    Own(Own),
    /// Barrier, a store to the block's published array, barrier.
    Publish(Barrier),
    /// A fence or barrier that orders nothing that matters.
    Fence(Fence),
    /// A branch.
    If { condition: Condition, then: Vec<Stmt>, otherwise: Vec<Stmt> },
    /// A counted loop.
    Loop(Loop),
    /// Leaves the innermost loop.
    Break(Condition),
    /// Goes on with the innermost loop's next iteration, by a branch back of its own.
    Continue(Condition),
    /// Stores the result so far where a load would read its word.
    Put(Load),
    /// Ends the thread (its result is stored).
    Exit(Condition),
    /// An inner scope that declares registers of the names used outside.
    Scope(Vec<Stmt>),
    /// `brx.idx` over the cases, by a value modulo their number.
    Switch { on: Var, cases: Vec<Vec<Stmt>> },
    /// Gives [`Var::Defined`] a new value.
    Define(Definition),
    /// Adds to [`Var::Cursor`].
    Advance(i32),
    /// Mixes what the warp says about itself into the result.
    Collective(Collective),
    /// Passes a value to the thread at this distance, through shared memory.
    Exchange(u32),
    /// Calls a function that changes the own slot.
    Call,
    /// Calls a function that loads neighbouring words of an input.
    CallStencil,
    /// Stores the result so far to a place of the output, 1 to 7.
    Output(u32),
    /// Accesses to words of the thread's own struct.
    Fields(Vec<Field>),
    /// A loop that sums up in memory.
    Sum(Sum),
}

/// A loop that stores at the middle of the thread's own column in each iteration, and loads along the column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// The number of iterations: at least 1.
    pub trips: Trips,
    /// Bytes from the stored word to what the first iteration loads, and from one iteration to the next.
    pub from: i32,
    pub step: i32,
    /// Whether bytes are loaded, not words.
    pub bytes: bool,
    /// Whether the sum is loaded in each iteration.
    pub read: bool,
    /// Words from the stored word to another one that is stored, too.
    pub second: Option<i32>,
    /// Whether the store comes under a predicate, and whether a fence stands behind it.
    pub guarded: bool,
    pub fenced: bool,
}

/// Something that is a small number in each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Var {
    TidX,
    TidY,
    TidZ,
    CtaidX,
    CtaidY,
    /// `ctaid.x * ntid.x + tid.x`
    X,
    /// The thread's number in its block.
    Linear,
    /// [`Var::X`] by the parameter `w`: the row of a flattened index.
    Row,
    /// The remainder of that division: the place in the row.
    Place,
    Lane,
    /// The parameter `n`.
    N,
    /// The innermost loop's counter.
    Iteration,
    /// That of the loop around it.
    Outer,
    /// A value that the innermost loop changes by another operation than addition.
    Carried,
    /// The counter of the loop that was left last, in the same list of statements.
    After,
    /// See [`Stmt::Define`].
    Defined,
    /// See [`Stmt::Advance`].
    Cursor,
    /// Four bits of the last load that kept them, in the same list of statements.
    Loaded,
}

/// `var < bound`, or whether a bit of `var` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub var: Var,
    pub test: Test,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Less(u32),
    Bit(u32),
}

/// Where a load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// An input that nobody writes.
    A,
    /// Another one.
    B,
    /// The thread's own 16 bytes; the index is ignored.
    Own,
    /// One word for each thread of the block, written by [`Stmt::Publish`].
    Published,
    /// An input whose 32-bit index wraps around within the block.
    Far,
    /// A generic pointer that may lie in the input or in local memory.
    Either,
    /// The thread's own [`COLUMN`] bytes, which [`Stmt::Put`] writes.
    Column,
    /// An input that ends with the last byte that a load may read.
    Tight,
}

/// The type of a load, and of its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    F32,
    U32,
    S32,
    F64,
    U64,
    U8,
    S8,
    U16,
    S16,
    /// 16 bits into a register of 32.
    S16Wide,
    V2F32,
    V4F32,
    V2U32,
    V2F64,
    V4U8,
}

/// How an index becomes an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// The offset is the immediate of the load.
    Immediate,
    /// The offset is added in 32 bits.
    Chain,
    /// As `Chain`, with `mad.wide`.
    Fused,
    /// The offset is added in 64 bits.
    Wide,
    /// From the address that the loop moves; the terms are the loop's.
    Moving,
}

/// Which register a load writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One of its own.
    Fresh,
    /// One that other loads write too.
    Pool,
    /// That of the address, where the widths agree.
    Address,
}

/// `array + unit * (sum of coefficient * var + offset) + field`
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub array: Array,
    pub terms: Vec<(i32, Var)>,
    /// -16 to 16
    pub offset: i32,
    pub unit: u32,
    pub field: u32,
    pub access: Access,
    pub spelling: Spelling,
    /// Whether 32-bit indices are sign-extended.
    pub signed: bool,
    /// `.nc`, where the array is an input.
    pub read_only: bool,
    /// No state space.
    pub generic: bool,
    /// `.volatile`
    pub volatile: bool,
    /// `.cg`: past the first-level cache.
    pub past_l1: bool,
    /// Whether the guard's predicate is computed once for all loads of the list that have it.
    pub once: bool,
    pub guard: Option<Condition>,
    pub destination: Destination,
    /// Whether [`Var::Loaded`] becomes this one's value.
    pub keep: bool,
}

/// An access to words of the thread's own struct; see [`Kernel::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub word: u32,
    /// Words that are accessed at once: 1 or 2.
    pub count: u32,
    /// Stored, or loaded.
    pub stored: bool,
    pub guard: Option<Condition>,
}

/// What happens to the thread's own slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    pub how: Change,
    /// The word, 0 to 3.
    pub word: u32,
    pub guard: Option<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Store,
    /// One byte of the word.
    StoreByte(u32),
    /// The whole slot.
    StoreVector,
    Atomic,
    Reduction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    Block,
    /// Only in blocks of one warp.
    Warp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    Membar,
    AcquireRelease,
    /// `bar.sync`
    Block,
    /// `bar.warp.sync`
    Warp,
}

/// A loop whose counter runs from 0 in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    pub trips: Trips,
    pub step: u32,
    /// Tested at the bottom: runs once at least.
    pub bottom: bool,
    /// A condition under which the loop is entered by a branch, past a change of the address that it moves.
    pub entered: Option<Condition>,
    /// Whether [`Var::Carried`] starts from the thread's number instead of 0.
    pub carried_from_tid: bool,
    /// An address that moves with the loop.
    pub moving: Option<Moving>,
    pub body: Vec<Stmt>,
}

/// An address into an array that moves by `step` units of 16 bytes in each iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    pub array: Array,
    pub terms: Vec<(i32, Var)>,
    pub step: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    Constant(u32),
    /// The parameter `n`.
    N,
    /// Some more than the parameter `n`, at most [`MAX_BEYOND`].
    Beyond(u32),
    /// Two bits of a value.
    Of(Var),
    /// Three bits of a value.
    Eight(Var),
}

/// A small value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// One of two values, by a branch.
    Merge(Condition, u32, u32),
    /// 5, 9 or 30, by two branches that lead to one place: whether the variable is below the first
    /// bound, else below the second.
    Choose(Var, u32, u32),
    /// One of two values, without a branch.
    Select(Condition, u32, u32),
    /// The thread's x index, and one more under a guard.
    Bumped(Condition),
    Lane,
    /// How many lanes agree.
    Vote(Condition),
    /// The value of the lane whose number is this one exclusive-or the constant.
    Shuffle(Var, u32),
    /// A field of bits.
    Extract(Var),
    /// The square.
    Square(Var),
    /// What an input holds.
    Gather(Var),
    /// What a function says.
    Call(Var),
    /// A plain copy.
    Copy(Var),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    ActiveMask,
    Ballot(Condition),
    Shuffle(u32),
}

/// Iterations of a loop at most.
pub const MAX_TRIPS: u32 = 4;
/// By how many iterations [`Trips::Beyond`] goes beyond the parameter. The steps of loops with more
/// than [`MAX_TRIPS`] iterations are 4 at most.
pub const MAX_BEYOND: u32 = 3;
/// Bytes of a thread's own column; the middle of them is its place 0.
pub const COLUMN: u32 = 1024;
/// Bytes of a thread's own slot.
pub const SLOT: u32 = 16;
/// Bytes of a thread's part of the output.
pub const OUTPUT: u32 = 32;
/// Words around a block's part of the published array.
pub const HALO: u32 = 32;
/// How far an offset may go.
pub const MAX_OFFSET: u32 = 16;

impl Kernel {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Words of a thread's struct, bits of each, and whether its address is generic.
    pub fn structs(&self) -> (u32, u32, bool) {
        let number = self.seed / 3;
        let bits = if number / 15 % 4 == 3 { 64 } else { 32 };
        (2 + (number % 15) as u32, bits, number / 60 % 3 == 2)
    }

    /// The value of the parameter `w`: the places of a row.
    pub fn width(&self) -> u32 {
        9 + self.seed as u32 % 90
    }

    /// The largest value that a variable takes.
    pub fn most(&self, var: Var) -> u32 {
        let [x, y, z] = self.block;
        match var {
            Var::TidX => x - 1,
            Var::TidY => y - 1,
            Var::TidZ => z - 1,
            Var::CtaidX => self.grid[0] - 1,
            Var::CtaidY => self.grid[1] - 1,
            Var::X => x * self.grid[0] - 1,
            Var::Linear => self.threads() - 1,
            Var::Row => self.most(Var::X) / self.width(),
            Var::Place => self.width() - 1,
            Var::Lane => 31,
            Var::N => MAX_TRIPS,
            // Steps of up to 8.
            Var::Iteration | Var::Outer | Var::After => 8 * MAX_TRIPS,
            Var::Carried => 63,
            Var::Defined => 64.max(self.most(Var::X) + 1),
            // Statements in nested loops, see `generate`.
            Var::Cursor => 1023,
            Var::Loaded => 15,
        }
    }

    /// The largest sum of `|coefficient| * var`, taken over the terms that `which` chooses.
    pub fn reach(&self, terms: &[(i32, Var)], which: impl Fn(i32) -> bool) -> u32 {
        terms
            .iter()
            .filter(|(coefficient, _)| which(*coefficient))
            .map(|&(coefficient, var)| coefficient.unsigned_abs() * self.most(var))
            .sum()
    }
}

impl Access {
    /// The opcode's last words.
    pub fn suffix(self) -> &'static str {
        match self {
            Access::F32 => "f32",
            Access::U32 => "u32",
            Access::S32 => "s32",
            Access::F64 => "f64",
            Access::U64 => "u64",
            Access::U8 => "u8",
            Access::S8 => "s8",
            Access::U16 => "u16",
            Access::S16 | Access::S16Wide => "s16",
            Access::V2F32 => "v2.f32",
            Access::V4F32 => "v4.f32",
            Access::V2U32 => "v2.u32",
            Access::V2F64 => "v2.f64",
            Access::V4U8 => "v4.u8",
        }
    }

    /// Elements, and bytes of each.
    pub fn elements(self) -> (u32, u32) {
        match self {
            Access::F32 | Access::U32 | Access::S32 => (1, 4),
            Access::F64 | Access::U64 => (1, 8),
            Access::U8 | Access::S8 => (1, 1),
            Access::U16 | Access::S16 | Access::S16Wide => (1, 2),
            Access::V2F32 | Access::V2U32 => (2, 4),
            Access::V4F32 => (4, 4),
            Access::V2F64 => (2, 8),
            Access::V4U8 => (4, 1),
        }
    }

    /// Bytes of all elements, which is also the alignment.
    pub fn bytes(self) -> u32 {
        let (count, bytes) = self.elements();
        count * bytes
    }
}
