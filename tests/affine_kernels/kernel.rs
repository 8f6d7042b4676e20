//! A random kernel: a form of index arithmetic and a list of loads, all in one straight line of code.
//!
//! Every load reads `base + unit * index + immediate`, and the index is affine in the thread's place, in parameters and
//! in a loop's iteration. `emit` spells that as text, `evaluate` computes its values, and `expect` says which loads
//! must meet; these three share only this description.

use fastrand::Rng;

/// How wide an index is and how it becomes an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// The whole index in 32 bits, then extended and scaled.
    Narrow { signed: bool },
    /// The byte offset in 32 bits too, then extended.
    NarrowBytes { signed: bool },
    /// The thread's x index in 32 bits, extended at once; the rest in 64 bits.
    Wide { signed: bool },
}

impl Arithmetic {
    /// Whether narrow values are sign-extended.
    pub fn signed(self) -> bool {
        match self {
            Arithmetic::Narrow { signed }
            | Arithmetic::NarrowBytes { signed }
            | Arithmetic::Wide { signed } => signed,
        }
    }
}

/// Where the row of an index comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// There is one.
    None,
    /// `ctaid.y`
    Block,
    /// `ctaid.y * ntid.y + tid.y`
    Thread,
}

/// Elements from row to row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pitch {
    /// The parameter `w`.
    Parameter,
    /// A number in the text.
    Constant(u32),
}

/// The loop around all loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// There is none.
    None,
    /// The index grows by so much in each iteration; computed from the iteration or kept in a
    /// register of its own.
    Index { step: i32, multiplied: bool },
    /// The addresses are computed in front of the loop and grow by `step` elements.
    Pointer { step: i32 },
    /// `for (i = ...; i < n; i += gridDim.x * blockDim.x)`
    GridStride,
}

/// The type of a load, and of its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    F32,
    U32,
    F64,
    U64,
    U8,
    S8,
    U16,
    V2F32,
    V4F32,
    V2F64,
}

/// How the offset of a load comes into its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// As the immediate of the load, from the address that the row's loads share.
    Immediate,
    /// Added to the shared index.
    AddToIndex,
    /// Subtracted, negated, from the shared index.
    SubtractFromIndex,
    /// Half in the index, half in the immediate.
    Split,
    /// Everything computed anew with other instructions.
    Anew,
    /// Joined by `or` to an index whose low bits are known to be zero.
    Or,
}

/// One load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Which array.
    pub array: usize,
    /// Rows further down.
    pub row: i32,
    /// Elements further right.
    pub column: i32,
    /// Bytes into the element.
    pub field: i32,
    pub access: Access,
    pub spelling: Spelling,
    /// Whether scaling uses shifts.
    pub shift: bool,
    /// Whether multiplication and addition are one instruction.
    pub fused: bool,
}

/// One kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    pub arithmetic: Arithmetic,
    /// Whether x counts through the grid, or through the block only.
    pub grid: bool,
    /// What the x index is multiplied by.
    pub stride: i32,
    /// Bytes of an element.
    pub unit: u32,
    pub rows: Rows,
    pub pitch: Pitch,
    /// Whether the parameter `s` is added to every index.
    pub shifted: bool,
    pub around: Loop,
    /// `lo <= i && i < n - hi` stands around everything.
    pub guard: Option<(i32, i32)>,
    /// Loads name no state space.
    pub generic: bool,
    /// `.reqntid`
    pub required: Option<[u32; 3]>,
    pub loads: Vec<Load>,
}

/// Arrays that a kernel reads.
pub const ARRAYS: usize = 2;

impl Access {
    /// The opcode's last words.
    pub fn suffix(self) -> &'static str {
        match self {
            Access::F32 => "f32",
            Access::U32 => "u32",
            Access::F64 => "f64",
            Access::U64 => "u64",
            Access::U8 => "u8",
            Access::S8 => "s8",
            Access::U16 => "u16",
            Access::V2F32 => "v2.f32",
            Access::V4F32 => "v4.f32",
            Access::V2F64 => "v2.f64",
        }
    }

    /// Elements and bytes of each.
    pub fn elements(self) -> (i64, i64) {
        match self {
            Access::F32 | Access::U32 => (1, 4),
            Access::F64 | Access::U64 => (1, 8),
            Access::U8 | Access::S8 => (1, 1),
            Access::U16 => (1, 2),
            Access::V2F32 => (2, 4),
            Access::V4F32 => (4, 4),
            Access::V2F64 => (2, 8),
        }
    }

    /// Bytes of all elements.
    pub fn bytes(self) -> i64 {
        let (elements, bytes) = self.elements();
        elements * bytes
    }
}

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

/// The loads that are possible from elements of `unit` bytes, with their possible field offsets.
fn accesses(unit: u32) -> &'static [(Access, &'static [i32])] {
    use Access::{F32, F64, S8, U8, U16, U32, U64, V2F32, V2F64, V4F32};
    match unit {
        1 => &[(U8, &[0]), (U8, &[0]), (S8, &[0])],
        2 => &[(U16, &[0]), (U8, &[0, 1])],
        4 => &[(F32, &[0]), (F32, &[0]), (U32, &[0]), (U8, &[0, 1, 2, 3])],
        8 => &[(F64, &[0]), (U64, &[0]), (V2F32, &[0]), (F32, &[0, 4])],
        12 => &[(F32, &[0, 4, 8])],
        _ => &[(V4F32, &[0]), (V2F64, &[0]), (F32, &[0, 4, 8, 12]), (F64, &[0, 8])],
    }
}

impl Kernel {
    /// The kernel of a seed.
    pub fn random(seed: u64) -> Kernel {
        let rng = &mut Rng::with_seed(seed);
        let signed = rng.bool();
        let mut kernel = Kernel {
            arithmetic: match rng.u8(..4) {
                0 | 1 => Arithmetic::Narrow { signed },
                2 => Arithmetic::NarrowBytes { signed },
                _ => Arithmetic::Wide { signed },
            },
            grid: rng.u8(..4) > 0,
            stride: pick(rng, &[1, 1, 1, 2, 3, 4, -1, -2]),
            unit: pick(rng, &[1, 2, 4, 4, 4, 8, 8, 12, 16]),
            rows: pick(rng, &[Rows::None, Rows::Block, Rows::Thread]),
            pitch: if rng.bool() { Pitch::Parameter } else { Pitch::Constant(rng.u32(1..20)) },
            shifted: rng.bool(),
            around: match rng.u8(..8) {
                0 | 1 => Loop::Index { step: rng.i32(-9..100), multiplied: rng.bool() },
                2 => Loop::Pointer { step: rng.i32(1..100) },
                3 => Loop::GridStride,
                _ => Loop::None,
            },
            guard: rng.bool().then(|| (rng.i32(0..4), rng.i32(0..4))),
            generic: rng.u8(..6) == 0,
            required: match rng.u8(..12) {
                0 => Some([128, 1, 1]),
                1 => Some([32, 4, 2]),
                2 => Some([48, 2, 1]),
                _ => None,
            },
            loads: Vec::new(),
        };
        if kernel.around == Loop::GridStride {
            kernel.grid = true;
            kernel.guard = None;
        }
        // What counts backwards starts from somewhere.
        kernel.shifted |= kernel.stride < 0;
        let count = rng.usize(2..14);
        kernel.loads = (0..count).map(|_| kernel.load(rng)).collect();
        if rng.bool() {
            kernel.add_parts_and_whole(rng);
        }
        kernel
    }

    /// Adds loads of all parts of an element, and behind them one of a whole element.
    fn add_parts_and_whole(&mut self, rng: &mut Rng) {
        use Access::{F32, F64, U8, U16, U32, V2F64, V4F32};
        let (whole, part, fields): (Access, Access, &[i32]) = match self.unit {
            2 => (U16, U8, &[0, 1]),
            4 => (U32, U8, &[0, 1, 2, 3]),
            8 => (F64, F32, &[0, 4]),
            16 if rng.bool() => (V4F32, F32, &[0, 4, 8, 12]),
            16 => (V2F64, F64, &[0, 8]),
            _ => return,
        };
        let place = self.load(rng);
        for &field in fields {
            self.loads.push(Load { access: part, field, ..place });
        }
        let columns = if place.spelling == Spelling::Or { 0 } else { rng.i32(-2..=2) };
        self.loads.push(Load { access: whole, field: 0, column: place.column + columns, ..place });
    }

    fn load(&self, rng: &mut Rng) -> Load {
        use Spelling::{AddToIndex, Anew, Immediate, Or, Split, SubtractFromIndex};
        let (access, fields) = pick(rng, accesses(self.unit));
        let mut load = Load {
            array: rng.usize(..ARRAYS).min(rng.usize(..ARRAYS)),
            row: if self.has_rows() { rng.i32(-1..=1) } else { 0 },
            column: if rng.u8(..8) == 0 { rng.i32(-100..100) } else { rng.i32(-5..=5) },
            field: pick(rng, fields),
            access,
            spelling: pick(rng, &[Immediate, AddToIndex, SubtractFromIndex, Split, Anew, Or]),
            shift: rng.bool(),
            fused: rng.bool(),
        };
        if load.spelling == Or {
            match self.low_bits_are_zero() {
                true => load.column = rng.i32(0..4),
                false => load.spelling = AddToIndex,
            }
        }
        if matches!(self.around, Loop::Pointer { .. }) && load.spelling == Anew {
            load.spelling = Immediate;
        }
        load
    }

    /// Whether loads may be of different rows. A row that is widened by itself may wrap around by
    /// itself: where that decides about a constant distance, there is one row only.
    fn has_rows(&self) -> bool {
        let wide = matches!(self.arithmetic, Arithmetic::Wide { .. });
        self.rows != Rows::None && (!wide || self.pitch == Pitch::Parameter)
    }

    /// Whether an unsigned index is known to be small but for the few columns by which it may lie
    /// below zero. In one lane it can then be seen not to wrap around and in its neighbour it cannot:
    /// such pairs may be left alone (which is a pity, and not wrong).
    pub fn nearly_bounded(&self) -> bool {
        let unknown = self.rows != Rows::None && self.pitch == Pitch::Parameter;
        !self.arithmetic.signed() && !self.grid && !self.shifted && !unknown
    }

    /// Whether an index without column is a multiple of four, and visibly so.
    pub fn low_bits_are_zero(&self) -> bool {
        self.stride == 4
            && self.rows == Rows::None
            && !self.shifted
            && !matches!(self.around, Loop::Index { .. })
    }
}
