//! Blocks of a launch that are alike: a few are executed, and what they show holds for others.
//!
//! In: a decoded kernel, and the execution of some of its blocks. Out: a [`Trace`], from which [`Cover`] learns which other
//! blocks take the same way, lane by lane, with addresses that differ by a multiple of the difference of the block indices.
//!
//! The argument. A register is *affine* in the block index if its value in block b is v + slope (b - r), where v is its value in
//! the block r that is executed; `slopes` computes slopes for all registers of a function, without regard to the order of
//! instructions. What a kernel makes of an affine value is either affine again, or a relation, a quotient, or an extension
//! whose result stays the same as long as a linear function of b - r stays in an interval; `observer` notes these intervals while
//! r is executed. In all blocks in which they hold, each instruction does the same as in r, by induction over the executed
//! instructions, and an access moves by its slope. Whatever else depends on the block is an obstacle.
//!
//! Elements of symbolic inputs stand for all numbers, and an equation that holds for different symbols holds if they become
//! one. So two kernels that leave equal elements of the algebra in block r do so in block b, too, if elements that are
//! different symbols in b were so in r: a buffer that is accessed with two slopes must not be accessed at the same elements ([`Cover`]).

mod cover;
mod observer;
mod slopes;

pub use cover::{Apart, Cover};
pub(super) use observer::Observer;
pub use observer::Trace;

use super::program::rare::Cell;
use crate::algebra::Comparison;

/// How much an integer grows with each of the three block indices.
pub(super) type Slope = [i64; 3];

/// The slope of what is the same in all blocks.
const LEVEL: Slope = [0; 3];

/// An operand with the slope of its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Affine {
    cell: Cell,
    slope: Slope,
}

/// What has to be seen of a micro-operation, in each block that is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    /// The operand does not leave the numbers of its width, as it is widened.
    Fits(Affine, bool),
    /// A relation, of signed numbers or not, has the same outcome.
    Relation([Affine; 2], Comparison, bool),
    /// The first operand divided by another one, both signed or not, has the same integer part.
    Quotient(Affine, Divisor, bool),
    /// An access to global memory moves by a slope.
    Access(Slope),
    /// Nothing is known of other blocks.
    Obstacle(&'static str),
}

/// What an affine operand is divided by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Divisor {
    /// A register.
    Register(Cell),
    /// 2 to the power of a register.
    Power(Cell),
    /// A power of 2.
    Number(u64),
    /// 2 to the power of the operand's width, after a multiplication by a register.
    High(Cell),
}
