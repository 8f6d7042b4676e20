//! Loads and steps, and the holes in them.

use std::collections::BTreeSet;

use super::scope::Scope;
use super::{Array, Lowering, volume};
use crate::source::{Diagnostic, Span};
use crate::synth::ast::{HoleText, Index, Reference};
use crate::synth::family::{Family, Request};
use crate::synth::program::{CellId, Edge, Hole, HoleId, Made, PointId, Price, Statement};

/// The most ways of values through one statement.
const MOST_EDGES: usize = 1 << 23;

/// The most values of a hole, and the most places of each of its coordinates.
const MOST_VALUES: usize = 64;

/// Where the hole of a reference stands.
pub(super) fn hole_of(reference: &Reference) -> Option<(usize, &HoleText)> {
    reference.indices.iter().enumerate().find_map(|(at, index)| match index {
        Index::Hole(hole) => Some((at, hole)),
        Index::Plain(_) => None,
    })
}

impl Lowering<'_> {
    /// `load` and `step`.
    pub(super) fn movement(&mut self, to: &Reference, from: &Reference) -> Result<(), Diagnostic> {
        self.fresh(&to.array)?;
        let holes = to.indices.iter().chain(&from.indices);
        let holes: Vec<Span> = holes
            .filter_map(|index| match index {
                Index::Hole(hole) => Some(hole.span),
                Index::Plain(_) => None,
            })
            .collect();
        if let [_, second, ..] = *holes {
            let hint = "write two steps, each along one axis";
            return Err(self.error(second, "a step has one hole").with_hint(hint));
        }
        let mut scope = Scope::default();
        self.extend(&mut scope, to);
        let inner = scope.axes.len();
        self.extend(&mut scope, from);
        let source = self.array(from)?.clone();
        let (axes, shape) = self.shape(to)?;
        let count = volume(&shape);
        self.room(count.max(scope.places()), to.span)?;
        let mut array = Array { shape, axes, cells: vec![CellId::UNDEFINED; count], input: false };
        if hole_of(to).is_none() && inner < scope.axes.len() {
            let missing = &scope.axes[inner].0;
            let message = format!("the axis `{missing}` does not stand on the left");
            return Err(self.error(from.span, message));
        }
        if let Some((at, hole)) = hole_of(from) {
            self.gather(to, (from, at, hole), &scope, &source, &mut array)?;
        } else if let Some((at, hole)) = hole_of(to) {
            self.scatter((to, at, hole), from, &scope, &source, &mut array)?;
        } else {
            let mut written = vec![false; count];
            for number in 0..scope.places() {
                let place = scope.place(number);
                let at = self.indices(to, &scope, &place)?;
                let flat = array.flat(&at);
                let flat = flat.map_err(|n| self.beyond(to, &array, n, &at, &scope, &place))?;
                if std::mem::replace(&mut written[flat], true) {
                    let message = format!("two values go to {}{at:?}", to.array.text);
                    return Err(self.error(to.span, message));
                }
                array.cells[flat] = self.cell(from, &source, &scope, &place)?;
            }
        }
        self.arrays.insert(to.array.text.clone(), array);
        Ok(())
    }

    /// The axes of an array that a statement makes, and their extents: of each index the first axis.
    pub(super) fn shape(&self, to: &Reference) -> Result<(Vec<String>, Vec<usize>), Diagnostic> {
        let extent = |index: &Index| {
            let expr = match index {
                Index::Plain(plain) => plain,
                Index::Hole(hole) => &hole.first[0],
            };
            let mut extent = None;
            expr.expr.names(&mut |name| {
                let found = self.declared.axis(name);
                extent = extent.take().or(found.cloned());
            });
            extent.ok_or_else(|| {
                let of = |name: &str| self.declared.params.get(name).copied();
                let unknown = super::known(&self.declared, expr, &of).err();
                unknown.unwrap_or_else(|| self.error(expr.span, "this index names no axis"))
            })
        };
        let axes: Result<Vec<_>, _> = to.indices.iter().map(extent).collect();
        Ok(axes?.into_iter().unzip())
    }

    pub(super) fn made(&mut self, count: usize) -> Made {
        let first = CellId::from(self.program.cells);
        self.program.cells += count;
        Made { first, count: count as u32 }
    }

    fn gather(
        &mut self,
        to: &Reference,
        (from, at, text): (&Reference, usize, &HoleText),
        scope: &Scope,
        source: &Array,
        array: &mut Array,
    ) -> Result<(), Diagnostic> {
        let mut price = self.price(from, at, text, array.cells.len());
        if let Price::Shuffles(times) | Price::Selects(times) = price
            && source.input
        {
            price = Price::Loads(times);
        }
        let (hole, coordinates) = self.hole(text, scope, source.shape[at], price)?;
        let made = self.made(array.cells.len());
        let mut edges = Vec::new();
        for number in 0..scope.places() {
            let place = scope.place(number);
            let own = self.indices(to, scope, &place)?;
            let flat = array.flat(&own);
            let flat = flat.map_err(|n| self.beyond(to, array, n, &own, scope, &place))?;
            if array.cells[flat] != CellId::UNDEFINED {
                let message = format!("two values go to {}{own:?}", to.array.text);
                return Err(self.error(to.span, message));
            }
            let target = made.cell(flat);
            array.cells[flat] = target;
            let point = self.point(hole, &coordinates, &place);
            let mut other = self.indices(from, scope, &place)?;
            for value in 0..source.shape[at] {
                other[at] = value as i64;
                let flat = source.flat(&other);
                let source = match flat {
                    Ok(flat) => source.cells[flat],
                    Err(_) if source.input => CellId::UNDEFINED,
                    Err(n) => return Err(self.beyond(from, source, n, &other, scope, &place)),
                };
                edges.push(Edge { source, target, point, value: value as u8 });
            }
        }
        edges.sort_by_key(|edge| edge.source);
        self.program.statements.push(Statement::Move { hole, scatter: false, edges, made });
        Ok(())
    }

    fn scatter(
        &mut self,
        (to, at, text): (&Reference, usize, &HoleText),
        from: &Reference,
        scope: &Scope,
        source: &Array,
        array: &mut Array,
    ) -> Result<(), Diagnostic> {
        let price = self.price(to, at, text, array.cells.len());
        let (hole, coordinates) = self.hole(text, scope, array.shape[at], price)?;
        let made = self.made(array.cells.len());
        for (flat, cell) in array.cells.iter_mut().enumerate() {
            *cell = made.cell(flat);
        }
        let mut edges = Vec::new();
        for number in 0..scope.places() {
            let place = scope.place(number);
            let cell = self.cell(from, source, scope, &place)?;
            let point = self.point(hole, &coordinates, &place);
            let mut own = self.indices(to, scope, &place)?;
            for value in 0..array.shape[at] {
                own[at] = value as i64;
                let flat = array.flat(&own);
                let flat = flat.map_err(|n| self.beyond(to, array, n, &own, scope, &place))?;
                let target = array.cells[flat];
                edges.push(Edge { source: cell, target, point, value: value as u8 });
            }
        }
        edges.sort_by_key(|edge| edge.source);
        self.program.statements.push(Statement::Move { hole, scatter: true, edges, made });
        Ok(())
    }

    /// The price of a movement: shuffles along an axis whose name begins with `lane`, selects along any other one.
    fn price(&self, array: &Reference, at: usize, text: &HoleText, cells: usize) -> Price {
        let lanes = |name: &str| name.starts_with("lane");
        let own = text.first.first().and_then(|first| Self::plain(&first.expr));
        let along = match array.indices.get(at) {
            Some(Index::Hole(hole)) if hole.family.text == "part" => None,
            _ => own,
        };
        let extent = |name: &str| self.declared.axis(name).map(|a| a.1);
        let coordinates = text.first.iter().chain(&text.second);
        let axes: BTreeSet<&str> =
            coordinates.filter_map(|spanned| Self::plain(&spanned.expr)).collect();
        let points: usize = axes.into_iter().filter_map(extent).product();
        let times = (cells / points.max(1)).max(1) as u32;
        match along {
            Some(axis) if lanes(axis) => Price::Shuffles(times),
            _ => Price::Selects(times),
        }
    }

    pub(super) fn point(&self, hole: HoleId, coordinates: &[usize], place: &[i64]) -> PointId {
        let first = place[coordinates[0]] as u32;
        let second = coordinates.get(1).map_or(0, |&axis| place[axis] as u32);
        PointId(second * self.program.holes[hole].extents[0] as u32 + first)
    }

    /// Makes a hole; returns its number and its coordinates' axes in the scope.
    pub(super) fn hole(
        &mut self,
        text: &HoleText,
        scope: &Scope,
        values: usize,
        price: Price,
    ) -> Result<(HoleId, Vec<usize>), Diagnostic> {
        let name = text.family.text.as_str();
        let constants = matches!(name, "part" | "cond");
        let mut coordinates = Vec::new();
        let second = if constants { [].iter() } else { text.second.iter() };
        for spanned in text.first.iter().chain(second) {
            let axis = Self::plain(&spanned.expr).and_then(|name| scope.axis(name));
            let Some(axis) = axis else {
                let message = match Self::plain(&spanned.expr) {
                    Some(name) if self.declared.axis(name).is_some() => {
                        format!("the axis `{name}` does not stand in this statement")
                    }
                    Some(name) => format!("unknown axis `{name}`"),
                    None => "a coordinate of a hole is an axis".to_owned(),
                };
                return Err(self.error(spanned.span, message));
            };
            coordinates.push(axis);
        }
        if coordinates.len() > 2 {
            return Err(self.error(text.span, "a hole has at most two coordinates"));
        }
        let extent = |at: usize| coordinates.get(at).map_or(1, |&axis| scope.axes[axis].1);
        let extents = [extent(0), extent(1)];
        if values.max(extents[0]).max(extents[1]) > MOST_VALUES {
            let message = format!("the axes of a hole have at most {MOST_VALUES} places");
            return Err(self.error(text.span, message));
        }
        let names: Vec<String> = coordinates.iter().map(|&a| scope.axes[a].0.clone()).collect();
        let mut given = Vec::new();
        if constants {
            for spanned in &text.second {
                given.push(super::constant(&self.declared, spanned)?);
            }
        }
        let space = self.space;
        let request = Request { extents, values, space, names: &names };
        let family = match self.families.get(name) {
            Some((own, members)) => {
                let own: Vec<&str> = own.iter().map(|name| name.text.as_str()).collect();
                let mut expressions = Vec::new();
                for member in members {
                    let of = |name: &str| self.declared.params.get(name).copied();
                    let known = |name: &str| own.contains(&name).then_some(0).or(of(name));
                    super::known(&self.declared, member, &known)?;
                    self.without_powers(member)?;
                    expressions.push(member.expr.clone());
                }
                Some(Family::listed(&request, &own, &expressions, &self.declared.params))
            }
            None => Family::named(name, &request, &given),
        };
        let Some(family) = family else {
            let message = format!("unknown family `{name}`");
            let hint = format!("one of {}", Family::NAMES.join(", "));
            return Err(self.error(text.family.span, message).with_hint(hint));
        };
        if scope.places().saturating_mul(values) > MOST_EDGES {
            let message =
                format!("more than {MOST_EDGES} ways of values lead through this statement");
            return Err(self.error(text.span, message));
        }
        let span = text.span;
        let hole = Hole { span, family, coordinates: names, extents, values, price };
        let number = self.program.holes.push_and_get_key(hole);
        Ok((number, coordinates))
    }
}
