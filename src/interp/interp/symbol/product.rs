//! Products of matrices in the registers of a warp.

use super::lanes::fills;
use super::value::{Kind, Value};
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
        let (formats, shape) =
            ((product.a.format, product.c.format), (product.columns, product.inner));
        let Some(elements) = state.algebra.product(formats, [&a, &b, &c], shape) else {
            return false;
        };
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
        let Some(symbols) = &self.symbols else { return None };
        for &(at, lane, cell, shift) in &matrix.places {
            // Most are whole numbers, or halves that are.
            let own = u64::MAX >> (64 - 16 * matrix.format.parts()) << shift;
            if self.bits(cell, lane) & own == own {
                let half = || {
                    let part = symbols.part(cell, lane, shift as usize / 16);
                    let is_number = part.kind == Kind::Number(matrix.format) && part.part == 0;
                    is_number.then(|| part.element())
                };
                let whole = match matrix.format.parts() {
                    1 => half(),
                    _ => symbols.number(cell, lane, matrix.format),
                };
                if let Some(element) = whole {
                    elements[at] = Term::Element(element);
                    continue;
                }
            }
            let value = self.value(cell, lane, registers).behind_part(shift as usize / 16);
            let value = if matrix.format.parts() == 1 { value.half(0) } else { value };
            elements[at] = state.number(&value, matrix.format)?;
        }
        Some(elements)
    }

    /// Writes the elements of a matrix.
    fn scatter(&mut self, matrix: &MatrixPlaces, elements: &[Term]) {
        let whole = |element: Term, cell: Cell| match element {
            Term::Element(element) if fills(cell.0, matrix.format) => Some(element),
            _ => None,
        };
        if let (Some(symbols), true) = (&mut self.symbols, matrix.format.parts() > 1) {
            let places = matrix.places.iter();
            let numbers = places.map(|&(at, lane, cell, _)| {
                Some((cell, lane, (matrix.format, whole(elements[at], cell)?)))
            });
            if let Some(numbers) = numbers.collect::<Option<Vec<_>>>() {
                symbols.numbers.extend(numbers);
                for &(_, lane, cell, _) in &matrix.places {
                    self.clear(cell, 1 << lane);
                }
                return;
            }
        }
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
