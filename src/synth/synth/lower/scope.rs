//! Names in a statement: the axes it runs over, and the value of an index at each of their places.

use super::{Array, Lowering};
use crate::source::Diagnostic;
use crate::synth::ast::{Index, Reference, Spanned};
use crate::synth::program::CellId;

/// The axes that a statement runs over, each with its extent.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Names and extents, the slowest first.
    pub axes: Vec<(String, usize)>,
}

impl Scope {
    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.axes.iter().fold(1, |places, (_, extent)| places.saturating_mul(*extent))
    }

    /// The coordinates of a place.
    pub(super) fn place(&self, mut number: usize) -> Vec<i64> {
        let mut place = vec![0; self.axes.len()];
        for (at, (_, extent)) in place.iter_mut().zip(&self.axes).rev() {
            *at = (number % extent) as i64;
            number /= extent;
        }
        place
    }

    /// The number of an axis.
    pub(super) fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|(axis, _)| axis == name)
    }
}

impl Lowering<'_> {
    /// The axes that stand in the indices of a reference, each once, added to a scope.
    pub(super) fn extend(&self, scope: &mut Scope, reference: &Reference) {
        let mut add = |name: &str| {
            let found = self.declared.axis(name);
            if let Some(axis) = found.filter(|_| scope.axis(name).is_none()) {
                scope.axes.push(axis.clone());
            }
        };
        for index in &reference.indices {
            match index {
                Index::Plain(plain) => plain.expr.names(&mut add),
                Index::Hole(hole) => {
                    hole.first.iter().for_each(|spanned| spanned.expr.names(&mut add));
                }
            }
        }
    }

    /// The value of an expression at a place.
    pub(super) fn at(
        &self,
        value: &Spanned,
        scope: &Scope,
        place: &[i64],
    ) -> Result<i64, Diagnostic> {
        self.without_powers(value)?;
        let of = |name: &str| match scope.axis(name) {
            Some(axis) => Some(place[axis]),
            None => self.declared.params.get(name).copied(),
        };
        match value.expr.value(&of) {
            Some(value) => Ok(value),
            None => {
                super::known(&self.declared, value, &of)?;
                Err(self.error(value.span, "this has no value"))
            }
        }
    }

    /// Refuses powers and logarithms, for which there is no code.
    pub(super) fn without_powers(&self, value: &Spanned) -> Result<(), Diagnostic> {
        if value.expr.has_powers() {
            let message = "powers and logarithms stand in params, extents and networks";
            return Err(self.error(value.span, message));
        }
        Ok(())
    }

    /// The array that a reference names, with as many indices as it has.
    pub(super) fn array(&self, reference: &Reference) -> Result<&Array, Diagnostic> {
        let Some(array) = self.arrays.get(&reference.array.text) else {
            let message = format!("no array `{}` is there yet", reference.array.text);
            return Err(self.error(reference.array.span, message));
        };
        let (given, wanted) = (reference.indices.len(), array.shape.len());
        if given != wanted {
            let name = &reference.array.text;
            let message = format!("`{name}` has {wanted} indices, not {given}");
            return Err(self.error(reference.span, message));
        }
        Ok(array)
    }

    /// The values of a reference's plain indices at a place.
    pub(super) fn indices(
        &self,
        reference: &Reference,
        scope: &Scope,
        place: &[i64],
    ) -> Result<Vec<i64>, Diagnostic> {
        let value = |index: &Index| match index {
            Index::Plain(plain) => self.at(plain, scope, place),
            Index::Hole(_) => Ok(0),
        };
        reference.indices.iter().map(value).collect()
    }

    /// The cell that a reference names at a place; cell 0 beyond an input.
    pub(super) fn cell(
        &self,
        reference: &Reference,
        array: &Array,
        scope: &Scope,
        place: &[i64],
    ) -> Result<CellId, Diagnostic> {
        let at = self.indices(reference, scope, place)?;
        match array.flat(&at) {
            Ok(flat) => Ok(array.cells[flat]),
            Err(_) if array.input => Ok(CellId::UNDEFINED),
            Err(number) => Err(self.beyond(reference, array, number, &at, scope, place)),
        }
    }

    /// The message for an index that is out of its axis, with the first place where it is.
    pub(super) fn beyond(
        &self,
        reference: &Reference,
        array: &Array,
        number: usize,
        at: &[i64],
        scope: &Scope,
        place: &[i64],
    ) -> Diagnostic {
        let span = match &reference.indices[number] {
            Index::Plain(plain) => plain.span,
            Index::Hole(hole) => hole.span,
        };
        let names = scope.axes.iter().zip(place);
        let names: Vec<String> = names.map(|((name, _), at)| format!("{name} = {at}")).collect();
        let message = format!(
            "this index is {} where {}, out of its axis of {}",
            at[number],
            names.join(", "),
            array.shape[number]
        );
        self.error(span, message)
    }
}
