//! Products of matrices in the registers of a warp.

use super::value::Value;
use super::world::State;
use crate::algebra::{Algebra, Term};
use crate::interp::poison::Poison;
use crate::interp::program::rare::{Cell, CrossLane, MatrixPlaces};
use crate::interp::registers::Registers;

impl Poison {
    /// Computes a product of matrices, some elements being symbols. Returns whether it could.
    pub(super) fn symbols_of_product(
        &mut self,
        cross_lane: &CrossLane,
        registers: &Registers,
        state: &mut State,
    ) -> bool {
        let poisoned = cross_lane.sources.iter().any(|&cell| self.lanes(cell) != 0);
        // A product of known numbers would be rounded.
        let counts = poisoned || matches!(state.algebra, Algebra::Reals(_));
        let Some(product) = cross_lane.product.as_deref().filter(|_| counts) else {
            return false;
        };
        let matrices = [&product.a, &product.b, &product.c];
        let [a, b, c] = matrices.map(|matrix| self.elements(matrix, registers, state));
        let (Some(a), Some(b), Some(c)) = (a, b, c) else { return false };
        let rows = c.len() / product.columns.max(1);
        let mut elements = Vec::with_capacity(c.len());
        let mut pairs = Vec::with_capacity(product.inner);
        for row in 0..rows {
            for column in 0..product.columns {
                pairs.clear();
                pairs.extend(
                    (0..product.inner)
                        .map(|at| [a[row * product.inner + at], b[at * product.columns + column]]),
                );
                let addend = c[row * product.columns + column];
                let formats = (product.a.format, product.c.format);
                let Some(sum) = state.algebra.dot(formats, addend, &pairs) else { return false };
                elements.push(sum);
            }
        }
        self.scatter(&product.d, &elements);
        true
    }

    /// The elements of a matrix; none if one is not known at all.
    fn elements(
        &self,
        matrix: &MatrixPlaces,
        registers: &Registers,
        state: &mut State,
    ) -> Option<Vec<Term>> {
        let count = matrix.places.iter().map(|place| place.0 + 1).max()?;
        let mut elements = vec![Term::Number(0); count];
        for &(at, lane, cell, shift) in &matrix.places {
            let value = self.value(cell, lane, registers).behind_part(shift as usize / 16);
            let value = if matrix.format.parts() == 1 { value.half(0) } else { value };
            elements[at] = state.number(&value, matrix.format)?;
        }
        Some(elements)
    }

    /// Writes the elements of a matrix.
    fn scatter(&mut self, matrix: &MatrixPlaces, elements: &[Term]) {
        let mut results: Vec<(Cell, usize, Value)> = Vec::new();
        let mut index = rustc_hash::FxHashMap::default();
        for &(at, lane, cell, shift) in &matrix.places {
            let part = shift as usize / 16;
            let value = Value::number(matrix.format, elements[at]);
            let place = *index.entry((cell, lane)).or_insert_with(|| {
                results.push((cell, lane, Value::known(0)));
                results.len() - 1
            });
            let result = &mut results[place].2;
            let count = matrix.format.parts();
            result.bits |= value.bits << (16 * part);
            result.parts[part..part + count].copy_from_slice(&value.parts[..count]);
        }
        let cells: Vec<Cell> = results.iter().map(|result| result.0).collect();
        for cell in cells {
            self.clear(cell, crate::interp::registers::FULL);
        }
        if let Some(symbols) = &mut self.symbols {
            symbols.results.extend(results);
        }
    }
}
