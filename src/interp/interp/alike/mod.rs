//! Blocks of a launch that are alike: a few are executed, and their traces hold for others.
//!
//! In: a decoded kernel, and the execution of some of its blocks. Out: a [`Trace`], from which [`Classes`] learns which other
//! blocks take the same way, lane by lane, with addresses that differ by a multiple of the difference of the block indices; and
//! [`Cover`], which blocks of two kernels have to be compared.
//!
//! The argument. A register is *affine* in the block index if its value in block b is v + slope (b - r), where v is its value in
//! the block r that is executed; `slopes` computes slopes for all registers of a function, without regard to the order of
//! instructions. The index is one of several axes (`axes`): a number that the kernel divides the index by makes an axis of its own. What a kernel makes of an affine value is either affine again, or a relation, a quotient, or an extension
//! whose result stays the same as long as a linear function of b - r stays in an interval; `observer` notes these intervals while
//! r is executed. In all blocks in which they hold, each instruction does the same as in r, by induction over the executed
//! instructions, and an access moves by its slope. Whatever else depends on the block is an obstacle.
//!
//! Elements of symbolic inputs stand for all numbers, and an equation that holds for different symbols holds if they become
//! one. So two kernels that leave equal elements of the algebra in block r do so in block b, too, if elements that are
//! different symbols in b were so in r: elements of a buffer that move by different distances must not be the same in r ([`Cover`]).

mod axes;
mod classes;
mod cover;
mod dependence;
mod observer;
mod slopes;
mod tried;

pub use classes::{Apart, Classes};
pub use cover::Cover;
pub(super) use observer::{Observer, Trace};
pub(super) use slopes::Launched;

use rustc_hash::FxHashMap;

use super::memory::FunctionId;
use super::program::rare::Cell;
use crate::algebra::Comparison;

/// The axes of a grid, those that x is split into among them.
const AXES: usize = 5;

/// How much an integer grows along each axis of the grid.
pub(super) type Slope = [i64; AXES];

/// The slope of a number that all blocks have.
const LEVEL: Slope = [0; AXES];

/// Registers that something is divided by or joined with, and the numbers that were seen there; none if there were several.
pub(super) type Divisors = FxHashMap<(FunctionId, Cell), Option<u64>>;

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
    /// A relation of signed numbers or not holds: it is why the second operand is the minimum or maximum.
    Holds([Affine; 2], Comparison, bool),
    /// The operand divided by another one, both signed or not, has the same integer part, but for the part of its slope
    /// that the divisor divides: the rest of the slope is given.
    Quotient(Affine, Slope, Divisor, bool),
    /// A register holds a number that was seen there.
    Equals(Cell, u64),
    /// A register holds numbers below this power of 2.
    Below(Cell, u32),
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
    /// A number.
    Number(u64),
    /// 2 to the power of the operand's width, after a multiplication by a register.
    High(Cell),
}
