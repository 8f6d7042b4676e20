//! The fields of an instruction: 128 bits, the same places from compute capability 7.0 to 12.1.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 to 11 | opcode; bits 9 to 11 are the kinds of the operands (register, constant, uniform register) |
//! | 12 to 14, 15 | guard predicate (7: always), negated |
//! | 16 to 23, 24 to 31, 32 to 39, 40 to 47, 64 to 71 | operands, see [`Slot`] |
//! | 34 to 81 | displacement of a branch in units of 4 bytes from the next instruction; from 9.0 on bits 16 to 23 are its low 8 bits |
//! | 73 to 75 | width of a memory access |
//! | 87 to 89, 90 | predicate operand (7: true), negated |
//! | 91 | whether there are uniform registers among the sources |
//! | 105 to 108 | cycles until the next instruction of the warp may be issued |
//! | 109 | whether the scheduler prefers another warp |
//! | 110 to 112 | scoreboard that is released when the result has been written (7: none) |
//! | 113 to 115 | scoreboard that is released when the operands have been read (7: none) |
//! | 116 to 121 | scoreboards that the instruction waits for |
//! | 122 to 125 | operands that stay in the operand cache |
//!
//! Sources: Z. Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), for the
//! control fields; all of them were held against `nvdisasm` and against the code itself (`tests/sass.rs`).

/// Bytes of an instruction.
pub const BYTES: u32 = 16;

/// The number of scoreboards of a warp.
pub const SCOREBOARDS: usize = 6;

/// The form of operands with a number that stands in the instruction: bits 9 to 11 of the opcode.
const IMMEDIATE: u64 = 4;

/// The predicate that is always true.
const ALWAYS: u8 = 7;

/// The place of a register operand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// Bits 16 to 23: the result.
    D,
    /// Bits 24 to 31.
    A,
    /// Bits 32 to 39.
    B,
    /// Bits 64 to 71.
    C,
    /// Bits 40 to 47: the handle of a texture.
    T,
}

#[cfg(feature = "internals")]
impl Slot {
    /// All slots.
    pub const ALL: [Slot; 5] = [Slot::D, Slot::A, Slot::B, Slot::C, Slot::T];

    fn shift(self) -> u32 {
        match self {
            Slot::D => 16,
            Slot::A => 24,
            Slot::B => 32,
            Slot::C => 64,
            Slot::T => 40,
        }
    }
}

/// A register operand of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operand {
    /// Its place.
    pub slot: Slot,
    /// Whether it is a register of the warp instead of the thread.
    pub uniform: bool,
}

/// The control fields: when an instruction is issued, and its scoreboards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Cycles until the next instruction of the warp may be issued; 0 where ptxas has not scheduled the code.
    pub stall: u8,
    /// The scoreboard that is released when the result has been written.
    pub writes: Option<u8>,
    /// The scoreboard that is released when the operands have been read.
    pub reads: Option<u8>,
    /// The scoreboards that the instruction waits for, one bit each.
    pub waits: u8,
}

/// An instruction as it stands in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Bytes from the beginning of the function.
    pub offset: u32,
    word: u128,
}

impl Instruction {
    /// Its bits as they stand in the code.
    pub fn word(self) -> u128 {
        self.word
    }

    /// The instruction with these bits.
    pub fn new(offset: u32, word: u128) -> Instruction {
        Instruction { offset, word }
    }

    fn bits(self, from: u32, count: u32) -> u64 {
        (self.word >> from) as u64 & (u64::MAX >> (64 - count))
    }

    /// The opcode, 12 bits.
    pub fn opcode(self) -> u16 {
        self.bits(0, 12) as u16
    }

    /// Whether a guard predicate decides if the instruction is executed.
    pub fn is_predicated(self) -> bool {
        self.bits(12, 4) != u64::from(ALWAYS)
    }

    /// The guard predicate, and whether the instruction is executed where it is false; `None` if it is executed always or
    /// never.
    pub fn guard(self) -> Option<(u8, bool)> {
        let (predicate, negated) = (self.bits(12, 3) as u8, self.bits(15, 1) != 0);
        (predicate != ALWAYS).then_some((predicate, negated))
    }

    /// Whether the guard is never true.
    pub fn is_never_executed(self) -> bool {
        self.bits(12, 4) == u64::from(ALWAYS | 8)
    }

    /// The register in an operand's place; `None` if it is the one that reads as 0, or if the instruction has no such
    /// operand. Uniform registers have 6 bits
    /// before compute capability 10.0.
    #[cfg(feature = "internals")]
    pub fn operand(self, operand: Operand, architecture: u32) -> Option<u8> {
        if operand.uniform && operand.slot != Slot::D && self.bits(91, 1) == 0 {
            return None;
        }
        let (bits, zero) = match operand.uniform && architecture < 100 {
            true => (6, 63),
            false => (8, 255),
        };
        let number = self.bits(operand.slot.shift(), bits) as u8;
        (number != zero).then_some(number)
    }

    /// The control fields of the instruction.
    pub fn control(self) -> Control {
        let scoreboard = |from| {
            let number = self.bits(from, 3) as u8;
            (usize::from(number) < SCOREBOARDS).then_some(number)
        };
        Control {
            stall: self.bits(105, 4) as u8,
            writes: scoreboard(110),
            reads: scoreboard(113),
            waits: self.bits(116, 6) as u8,
        }
    }

    /// Where a branch goes, in bytes from the beginning of the function; `None` if it is outside of the addressable
    /// range.
    pub fn target(self, architecture: u32) -> Option<u32> {
        let high = self.bits(34, 48) as i64;
        let high = high << 16 >> 16;
        let words = match architecture {
            90.. => high << 8 | self.bits(16, 8) as i64,
            _ => high,
        };
        let next = i64::from(self.offset) + i64::from(BYTES);
        let target = words.checked_mul(4)?.checked_add(next)?;
        u32::try_from(target).ok().filter(|target| target % BYTES == 0)
    }

    /// Whether a branch is taken by all lanes that execute it: it depends on nothing but its guard. Those with `.DIV` or
    /// `.CONV` ask whether the warp is divergent; another form of operands asks a uniform predicate.
    pub fn is_plain_branch(self) -> bool {
        let asks_nothing = self.bits(87, 4) == u64::from(ALWAYS) && self.bits(33, 1) == 0;
        self.bits(9, 3) == IMMEDIATE && asks_nothing
    }

    /// Whether a branch goes to itself, by either place of the displacement.
    pub fn is_trap(self) -> bool {
        [70, 90].into_iter().any(|architecture| self.target(architecture) == Some(self.offset))
    }

    /// Bytes that a thread loads or stores. Only for memory accesses with a width.
    pub fn access_bytes(self) -> u32 {
        match self.bits(73, 3) {
            0 | 1 => 1,
            2 | 3 => 2,
            4 => 4,
            5 => 8,
            _ => 16,
        }
    }

    /// The scoreboard that `DEPBAR.LE` waits for, and how many releases it may still lack.
    pub fn partial_wait(self) -> (u8, u8) {
        (self.bits(44, 3) as u8, self.bits(38, 6) as u8)
    }
}
