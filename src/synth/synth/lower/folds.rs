//! Folds and goals.

use rustc_hash::FxHashSet;

use super::scope::Scope;
use super::statements::hole_of;
use super::{Array, Lowering, is_lane, volume};
use crate::source::Diagnostic;
use crate::synth::ast::{Folded, HoleText, Index, Name, Part, Reference, When};
use crate::synth::program::{Goal, Guard, Price, Slot, Statement};
use crate::synth::term::{Fold, TermId, UNDEFINED};

impl Lowering<'_> {
    /// `fold`
    pub(super) fn fold(&mut self, to: &Reference, folded: &Folded) -> Result<(), Diagnostic> {
        self.fresh(&to.array)?;
        let op = self.operator(folded)?.unwrap_or(Fold::Sum);
        let factors = folded.parts.iter().flat_map(|part| &part.factors);
        for reference in std::iter::once(to).chain(factors) {
            if let Some((_, hole)) = hole_of(reference) {
                let hint = "write a step in front of it";
                return Err(self
                    .error(hole.span, "a fold has no holes in its indices")
                    .with_hint(hint));
            }
        }
        let (scope, inner) = self.fold_scope(to, folded)?;
        let (axes, shape) = self.shape(to)?;
        let count = volume(&shape);
        let places = scope.places().saturating_mul(folded.parts.len());
        self.room(places.max(count), to.span)?;
        let mut slots: Vec<Vec<Slot>> = vec![Vec::new(); count];
        self.pending.clear();
        for part in &folded.parts {
            let mut holes = part.holes();
            let guard = match holes.next() {
                Some(text) => {
                    let price = Price::Accumulates(self.accumulates(part, text, &scope)?);
                    let hole = self.hole(text, &scope, 2, price)?;
                    self.pending.push(hole.0);
                    Some(hole)
                }
                None => None,
            };
            if let Some(second) = holes.next() {
                return Err(self.error(second.span, "one condition of a product is to be found"));
            }
            // Lanes accumulate together.
            let mut together = FxHashSet::default();
            for number in 0..scope.places() {
                let place = scope.place(number);
                if !self.holds(part, &scope, &place)? {
                    continue;
                }
                if guard.is_none() {
                    let axes = scope.axes.iter().zip(&place);
                    let registers = axes.filter(|(axis, _)| !axis.0.starts_with("lane"));
                    let register: Vec<i64> = registers.map(|(_, at)| *at).collect();
                    self.program.accumulates += u32::from(together.insert(register));
                }
                let mut factors = Vec::new();
                for factor in &part.factors {
                    factors.push(self.cell(factor, self.array(factor)?, &scope, &place)?);
                }
                let guard = match &guard {
                    Some((hole, axes)) => Guard::Hole(*hole, self.point(*hole, axes, &place)),
                    None => Guard::Always,
                };
                let own: Vec<i64> = place[..inner].to_vec();
                let flat = own.iter().zip(&shape).fold(0, |flat, (&at, n)| flat * n + at as usize);
                slots[flat].push(Slot { factors, guard });
            }
        }
        let made = self.made(count);
        let cells = made.cells().collect();
        let holes = std::mem::take(&mut self.pending);
        self.program.statements.push(Statement::Fold { op, holes, slots, made });
        let array = Array { shape, axes, cells, input: false };
        self.arrays.insert(to.array.text.clone(), array);
        Ok(())
    }

    /// How many registers accumulate for each point of a condition's hole.
    fn accumulates(&self, part: &Part, hole: &HoleText, scope: &Scope) -> Result<u32, Diagnostic> {
        let registers = |place: &[i64], wanted: &dyn Fn(&str) -> bool| -> Vec<i64> {
            let axes = scope.axes.iter().zip(place);
            let own = axes.filter(|((name, _), _)| !is_lane(name) && wanted(name));
            own.map(|(_, at)| *at).collect()
        };
        let coordinate =
            |name: &str| hole.first.iter().any(|own| Self::plain(&own.expr) == Some(name));
        let (mut all, mut points) = (FxHashSet::default(), FxHashSet::default());
        for number in 0..scope.places() {
            let place = scope.place(number);
            if self.holds(part, scope, &place)? {
                all.insert(registers(&place, &|_| true));
                points.insert(registers(&place, &coordinate));
            }
        }
        Ok((all.len() / points.len().max(1)).max(1) as u32)
    }

    /// The axes of a fold: those on the left, then those that it folds. Returns the number of the former.
    fn fold_scope(&self, to: &Reference, folded: &Folded) -> Result<(Scope, usize), Diagnostic> {
        let mut scope = Scope::default();
        for index in &to.indices {
            let axis = match index {
                Index::Plain(plain) => Self::plain(&plain.expr),
                Index::Hole(_) => None,
            };
            let found = axis.and_then(|name| self.declared.axis(name));
            let Some(axis) = found.filter(|axis| scope.axis(&axis.0).is_none()) else {
                let message = "the left-hand side of a fold names axes, each once";
                return Err(self.error(to.span, message));
            };
            scope.axes.push(axis.clone());
        }
        let inner = scope.axes.len();
        for Name { text, span } in &folded.axes {
            match self.declared.axis(text) {
                Some(axis) if scope.axis(text).is_none() => scope.axes.push(axis.clone()),
                Some(_) => {
                    return Err(self.error(*span, format!("`{text}` stands here twice")));
                }
                None => return Err(self.error(*span, format!("unknown axis `{text}`"))),
            }
        }
        Ok((scope, inner))
    }

    /// Whether the ordinary conditions of a part hold at a place; a hole counts as if it did.
    fn holds(&self, part: &Part, scope: &Scope, place: &[i64]) -> Result<bool, Diagnostic> {
        for when in &part.when {
            if let When::Compare(cmp, a, b) = when
                && !cmp.holds(self.at(a, scope, place)?, self.at(b, scope, place)?)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn operator(&self, folded: &Folded) -> Result<Option<Fold>, Diagnostic> {
        let Some(name) = &folded.operator else { return Ok(None) };
        match Fold::of(&name.text) {
            Some(op) => Ok(Some(op)),
            None => {
                let message = format!("unknown operator `{}`", name.text);
                let hint = "one of sum, xor, min, max, or, and, list";
                Err(self.error(name.span, message).with_hint(hint))
            }
        }
    }

    /// `goal`
    pub(super) fn goal(&mut self, to: &Reference, folded: &Folded) -> Result<(), Diagnostic> {
        let array = self.array(to)?.clone();
        let op = self.operator(folded)?;
        let factors = folded.parts.iter().flat_map(|part| &part.factors);
        for reference in std::iter::once(to).chain(factors) {
            if let Some((_, hole)) = hole_of(reference) {
                return Err(self.error(hole.span, "a goal has no holes"));
            }
        }
        let mut outer = Scope::default();
        self.extend(&mut outer, to);
        let inner = outer.axes.len();
        let mut scope = outer.clone();
        for Name { text, span } in &folded.axes {
            let axis = self.declared.axis(text);
            let Some(axis) = axis else {
                return Err(self.error(*span, format!("unknown axis `{text}`")));
            };
            scope.axes.push(axis.clone());
        }
        for factor in folded.parts.iter().flat_map(|part| &part.factors) {
            if !self.array(factor)?.input {
                let message = format!("a goal reads inputs, and `{}` is none", factor.array.text);
                return Err(self.error(factor.span, message));
            }
        }
        self.room(scope.places(), to.span)?;
        let folds = scope.places() / outer.places();
        for number in 0..outer.places() {
            let mut values = Vec::new();
            for fold in 0..folds {
                let place = scope.place(number * folds + fold);
                for part in &folded.parts {
                    if let Some(hole) = part.holes().next() {
                        return Err(self.error(hole.span, "a goal has no holes"));
                    }
                    if self.holds(part, &scope, &place)? {
                        values.push(self.wanted(part, &scope, &place)?);
                    }
                }
            }
            let term = match op {
                Some(op) => self.program.terms.fold(op, &values),
                None => values[0],
            };
            let place = outer.place(number);
            let at = self.indices(to, &outer, &place)?;
            let flat = array.flat(&at);
            let flat = flat.map_err(|n| self.beyond(to, &array, n, &at, &outer, &place))?;
            let name = format!("{}{at:?}", to.array.text);
            let cell = array.cells[flat];
            self.program.goals.push(Goal { cell, term, name, span: to.span });
        }
        debug_assert!(inner == outer.axes.len(), "the outer axes come first");
        Ok(())
    }

    /// The term of a part of a goal at a place.
    fn wanted(&mut self, part: &Part, scope: &Scope, place: &[i64]) -> Result<TermId, Diagnostic> {
        let mut factors = Vec::new();
        for factor in &part.factors {
            let array = self.array(factor)?;
            let at = self.indices(factor, scope, place)?;
            match array.flat(&at) {
                Ok(flat) => factors.push(self.program.initial[array.cells[flat]]),
                Err(n) => return Err(self.beyond(factor, array, n, &at, scope, place)),
            }
        }
        let term = self.program.terms.product(&factors);
        debug_assert!(term != UNDEFINED, "inputs hold atoms");
        Ok(term)
    }
}
