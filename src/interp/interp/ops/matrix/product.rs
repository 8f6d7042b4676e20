//! `D = A * B + C`.
//!
//! The manual leaves open in which order products are added and how often a sum is rounded. Here a
//! sum of floating-point products is built in double precision, from C on with ascending k, and
//! rounded once; double-precision products are fused multiply-adds in the same order.

use super::element::Element;
use super::layout::Matrix;
use crate::float::format::F16;
use crate::float::{Round, canonical32, canonical64, directed};
use crate::interp::program::rare::MatrixProduct;
use crate::interp::registers::Registers;

/// How single bits are multiplied and added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BitOperation {
    /// `.and.popc`
    And,
    /// `.xor.popc`
    Xor,
}

/// A multiply-accumulate of whole matrices.
#[derive(Debug)]
pub(super) struct Product {
    /// The left factor.
    pub a: Matrix,
    /// The right factor.
    pub b: Matrix,
    /// The addend.
    pub c: Matrix,
    /// The result.
    pub d: Matrix,
    /// `.satfinite` of integers.
    pub saturate: bool,
    /// The rounding mode of doubles.
    pub round: Round,
    /// How elements of one bit are multiplied; `None` for all others.
    pub bits: Option<BitOperation>,
}

impl Product {
    /// Performs the operation.
    pub(super) fn run(&self, registers: &mut Registers) {
        let shape = self.a.shape;
        let (a, b) = (self.a.gather(registers), self.b.gather(registers));
        let mut result = self.c.gather(registers);
        if !self.c.element.is_integer() {
            self.numbers(&a, &b, &mut result);
        } else {
            for row in 0..shape.m {
                for column in 0..shape.n {
                    let pairs =
                        (0..shape.k).map(|k| (a[row * shape.k + k], b[k * shape.n + column]));
                    let element = &mut result[row * shape.n + column];
                    *element = self.integers(*element, pairs);
                }
            }
        }
        self.d.scatter(registers, &result);
    }

    /// The product as data, if its numbers have formats that are described.
    pub(super) fn meaning(&self) -> Option<Box<MatrixProduct>> {
        let shape = self.a.shape;
        Some(Box::new(MatrixProduct {
            columns: shape.n,
            inner: shape.k,
            a: self.a.places_as_data()?,
            b: self.b.places_as_data()?,
            c: self.c.places_as_data()?,
            d: self.d.places_as_data()?,
        }))
    }

    fn integers(&self, c: u64, pairs: impl Iterator<Item = (u64, u64)>) -> u64 {
        let sum = pairs.fold(self.c.element.integer(c), |sum, (a, b)| {
            sum + match self.bits {
                Some(BitOperation::And) => (a & b) as i64,
                Some(BitOperation::Xor) => (a ^ b) as i64,
                None => self.a.element.integer(a) * self.b.element.integer(b),
            }
        });
        let sum = if self.saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        u64::from(sum as u32)
    }

    /// Elements of floating-point numbers, which are widened once, row by row.
    fn numbers(&self, a: &[u64], b: &[u64], result: &mut [u64]) {
        let shape = self.a.shape;
        let widened = |bits: &[u64], element: Element| -> Vec<f64> {
            bits.iter().map(|&bits| element.number(bits)).collect()
        };
        let (a, b) = (widened(a, self.a.element), widened(b, self.b.element));
        for (factors, row) in a.chunks(shape.k).zip(result.chunks_mut(shape.n)) {
            let mut sums = widened(row, self.c.element);
            for (&a, others) in factors.iter().zip(b.chunks(shape.n)) {
                let each = sums.iter_mut().zip(others);
                match (self.d.element, self.round) {
                    (Element::F64, Round::Even) => {
                        each.for_each(|(sum, &b)| *sum = a.mul_add(b, *sum))
                    }
                    (Element::F64, round) => {
                        each.for_each(|(sum, &b)| *sum = directed::fma(a, b, *sum, round));
                    }
                    _ => each.for_each(|(sum, &b)| *sum += a * b),
                }
            }
            for (element, &sum) in row.iter_mut().zip(&sums) {
                *element = match self.d.element {
                    Element::F64 => canonical64(sum).to_bits(),
                    Element::F16 => u64::from(F16.round(sum, Round::Even)),
                    _ => u64::from(canonical32(sum as f32).to_bits()),
                };
            }
        }
    }
}
