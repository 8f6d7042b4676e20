//! Which lane holds which element of a matrix.

use super::Shape;
use super::element::Element;
use crate::algebra::Format;
use crate::interp::program::rare::{Cell, MatrixPlaces};
use crate::interp::registers::{LANES, Registers};

/// The part that a matrix has in `D = A * B + C`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// m rows, k columns.
    A,
    /// k rows, n columns.
    B,
    /// m rows, n columns; `C` and `D`.
    C,
}

impl Part {
    /// Rows and columns.
    pub(super) fn size(self, shape: Shape) -> (usize, usize) {
        match self {
            Part::A => (shape.m, shape.k),
            Part::B => (shape.k, shape.n),
            Part::C => (shape.m, shape.n),
        }
    }
}

/// How the elements are spread over the lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spread {
    /// As the manual prescribes for `mma` with n = 8.
    Mma,
    /// By our own choice: the manual leaves the layout of `wmma` fragments open. Elements follow each
    /// other row by row; if the registers hold more elements than the matrix has, they begin again
    /// with the first.
    Wmma,
}

impl Spread {
    /// Row and column of the element with a given number in a lane; the lane's registers hold `per`
    /// elements each, and `total` in all.
    pub(super) fn place(
        self,
        part: Part,
        shape: Shape,
        (per, total): (usize, usize),
        lane: usize,
        index: usize,
    ) -> (usize, usize) {
        let (rows, columns) = part.size(shape);
        if self == Spread::Wmma {
            let linear = (lane * total + index) % (rows * columns);
            return (linear / columns, linear % columns);
        }
        let (group, thread) = (lane / 4, lane % 4);
        let (register, inside) = (index / per, index % per);
        match part {
            Part::A => {
                // Of a matrix of 16 rows, every other register holds elements of the lower half.
                let halves = rows / 8;
                let row = group + 8 * (register % halves);
                (row, thread * per + inside + 4 * per * (register / halves))
            }
            Part::B => (thread * per + inside + 4 * per * register, group),
            Part::C => (group + 8 * (index / 2), 2 * thread + index % 2),
        }
    }
}

/// A matrix in registers.
#[derive(Debug)]
pub(super) struct Matrix {
    /// Which of the product's matrices it is.
    pub part: Part,
    /// The shape of the product.
    pub shape: Shape,
    /// How its elements are spread over lanes.
    pub spread: Spread,
    /// The type of its elements.
    pub element: Element,
    /// The registers of a lane.
    pub cells: Vec<Cell>,
}

impl Matrix {
    /// Elements of a lane.
    pub(super) fn per_lane(&self) -> usize {
        self.cells.len() * self.element.per_register()
    }

    /// Whether the lanes hold each element: exactly once, or at least once with `wmma`.
    pub(super) fn is_complete(&self) -> bool {
        let (rows, columns) = self.part.size(self.shape);
        match self.spread {
            Spread::Mma => self.per_lane() * LANES == rows * columns,
            Spread::Wmma => {
                rows * columns > 0 && (self.per_lane() * LANES).is_multiple_of(rows * columns)
            }
        }
    }

    /// Calls a function with each place: lane, register, first bit, row, column.
    pub(super) fn places(&self, mut each: impl FnMut(usize, Cell, u32, (usize, usize))) {
        let (per, total) = (self.element.per_register(), self.per_lane());
        for lane in 0..LANES {
            for index in 0..total {
                let at = self.spread.place(self.part, self.shape, (per, total), lane, index);
                let shift = (index % per) as u32 * self.element.bits();
                each(lane, self.cells[index / per], shift, at);
            }
        }
    }

    /// Each place of an element, if the element's format is described.
    pub(super) fn places_as_data(&self) -> Option<MatrixPlaces> {
        let format = match self.element {
            Element::F16 => Format::F16,
            Element::Bf16 => Format::Bf16,
            Element::Tf32 => Format::Tf32,
            Element::F32 => Format::F32,
            Element::F64 => Format::F64,
            _ => return None,
        };
        let (_, columns) = self.part.size(self.shape);
        let mut places = Vec::new();
        self.places(|lane, cell, shift, (row, column)| {
            places.push((row * columns + column, lane, cell, shift));
        });
        Some(MatrixPlaces { format, places })
    }

    /// The elements' bits, row by row.
    pub(super) fn gather(&self, registers: &Registers) -> Vec<u64> {
        let (rows, columns) = self.part.size(self.shape);
        let mask = u64::MAX >> (64 - self.element.bits());
        let mut elements = vec![0; rows * columns];
        self.places(|lane, cell, shift, (row, column)| {
            elements[row * columns + column] = read(registers, cell, lane) >> shift & mask;
        });
        elements
    }

    /// Writes the elements.
    pub(super) fn scatter(&self, registers: &mut Registers, elements: &[u64]) {
        let (_, columns) = self.part.size(self.shape);
        let mask = u64::MAX >> (64 - self.element.bits());
        self.places(|lane, cell, shift, (row, column)| {
            let new = elements[row * columns + column] & mask;
            let old = read(registers, cell, lane);
            write(registers, cell, lane, old & !(mask << shift) | new << shift);
        });
    }
}

fn read(registers: &Registers, (file, slot): Cell, lane: usize) -> u64 {
    registers.get(file, slot, lane)
}

fn write(registers: &mut Registers, (file, slot): Cell, lane: usize, value: u64) {
    registers.set(file, slot, lane, value);
}
