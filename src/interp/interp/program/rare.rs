//! Micro-operations that are too rare for a warp-wide function of their own: closures that know the
//! instruction's modifiers and work on one lane or on the registers of a whole warp; and the movement
//! of matrix fragments.

use std::fmt;

use super::place::Place;
use crate::algebra::{Format, Meaning};
use crate::interp::registers::{File, LANES, Registers, Slot};

/// A register of a lane.
pub(crate) type Cell = (File, Slot);

/// The function of a pure instruction in one lane, on raw bits; the error is the rule that the lane
/// has broken.
pub(crate) type ScalarFn = Box<dyn Fn([u64; 4]) -> Result<u64, &'static str> + Send + Sync>;

/// A pure instruction, performed lane by lane.
pub(crate) struct Scalar {
    /// Its operation.
    pub run: ScalarFn,
    /// The destination.
    pub d: Cell,
    /// The sources; as many as the instruction has.
    pub s: Vec<Cell>,
    /// Its meaning.
    pub meaning: Meaning,
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scalar").field("d", &self.d).field("s", &self.s).finish_non_exhaustive()
    }
}

/// The effect of an instruction on the registers of a whole warp.
pub(crate) type AcrossFn = Box<dyn Fn(&mut Registers) + Send + Sync>;

/// A pure instruction that mixes the registers of all 32 lanes: `mma`, `movmatrix`.
pub(crate) struct CrossLane {
    /// Its operation.
    pub run: AcrossFn,
    /// The registers that it reads.
    pub sources: Vec<Cell>,
    /// The registers that it writes.
    pub results: Vec<Cell>,
    /// The product of matrices that it computes, if it is one of floating-point numbers.
    pub product: Option<Box<MatrixProduct>>,
}

/// A matrix in the registers of a warp.
#[derive(Debug)]
pub(crate) struct MatrixPlaces {
    /// The format of its elements.
    pub format: Format,
    /// Each place of an element: the number of the element row by row, the lane, the register, the first bit.
    pub places: Vec<(usize, usize, Cell, u32)>,
}

/// `D = A * B + C`
#[derive(Debug)]
pub(crate) struct MatrixProduct {
    /// Columns of D.
    pub columns: usize,
    /// Columns of A.
    pub inner: usize,
    /// The left factor.
    pub a: MatrixPlaces,
    /// The right factor.
    pub b: MatrixPlaces,
    /// The addend.
    pub c: MatrixPlaces,
    /// The result.
    pub d: MatrixPlaces,
}

impl fmt::Debug for CrossLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CrossLane { sources, results, .. } = self;
        f.debug_struct("CrossLane").field("s", sources).field("d", results).finish_non_exhaustive()
    }
}

/// An instruction that moves the stack pointer.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Which instruction it is.
    pub kind: StackKind,
    /// The bytes to allocate, or the saved stack pointer.
    pub value: Cell,
}

/// The operation of a stack instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StackKind {
    /// `alloca`.
    Allocate {
        /// The register that receives the address in local memory.
        d: Cell,
        /// The alignment in bytes, a power of two.
        align: u64,
    },
    /// `stacksave`.
    Save {
        /// The register that receives the stack pointer.
        d: Cell,
    },
    /// `stackrestore`.
    Restore,
}

/// The operands from which the address of a fragment's element is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FragmentBase {
    /// The address operand of each lane.
    pub addresses: [u64; LANES],
    /// The stride operand of each lane, in elements; 0 where there is none.
    pub strides: [u32; LANES],
}

/// The address of a lane's element.
pub(crate) type ElementAddress = Box<dyn Fn(&FragmentBase, usize, usize) -> u64 + Send + Sync>;

/// A matrix fragment between memory and registers: `ldmatrix`, `stmatrix`, `wmma.load`,
/// `wmma.store`.
pub(crate) struct FragmentMove {
    /// Whether registers are written to memory.
    pub store: bool,
    /// The address operand.
    pub place: Place,
    /// The stride operand, a narrow register.
    pub stride: Option<Slot>,
    /// How many lanes, from lane 0 on, have an address operand that counts.
    pub givers: usize,
    /// The required alignment of the address operands, in bytes.
    pub align: u32,
    /// Whether each lane names a row of 16 bytes (`ldmatrix`, `stmatrix`), and not the first element of the matrix (`wmma`).
    pub in_rows: bool,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Where each element of a lane lives: its register, and the first bit in it. The elements of
    /// a register stand next to each other.
    pub elements: Vec<(Cell, u32)>,
    /// Where each element of a lane lies in memory.
    pub address: ElementAddress,
}

impl fmt::Debug for FragmentMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FragmentMove")
            .field("store", &self.store)
            .field("place", &self.place)
            .field("elements", &self.elements)
            .finish_non_exhaustive()
    }
}
