//! Piecewise functions: which element is chosen where some conditions hold.
//!
//! A condition `d > 0` is a variable t of the random point, and `d > 0 ? a : b` is b + t (a - b). Since t is 0 or 1, t^2 = t; so
//! an element that depends on conditions lists its *cells*, a truth value of each condition and an element without conditions
//! there. An operation is applied cell by cell. A condition that makes no difference vanishes, which leaves one form of each
//! function: whether it was computed by a maximum, a magnitude, or choices in any order is not seen.
//!
//! - The sign and a positive constant factor of d do not matter: -d > 0 and 2d > 0 are described by the variable of d > 0.
//! - They differ where d = 0. A choice that is continuous there uses the variable of d > 0 and that of d >= 0 alike. Other
//!   choices fix which of both a variable is, and those that need the other one get a variable of their own.
//! - Conditions on `x` and `r x + c` for rational r and c exclude each other in some cells, which are left out.
//!
//! An element with too many conditions is that polynomial of variables, without cells.

use std::sync::Arc;

use super::conditions::{Cells, Condition, MAX_POWERS};
use super::element::{Element, mix};
use super::field::{P, inverse_p, mul_p, small_fraction, sub};
use super::lattice::{Line, affine};
use super::point::{Point, name};

/// The most conditions of an element with cells.
const MAX_CONDITIONS: usize = 8;
/// The most cells.
const MAX_CELLS: usize = 32;
/// Conditions with a common line, in the order of the values from which on they hold: the place in a list of conditions, and
/// whether it holds up to that value instead.
type Chain = Vec<(usize, bool)>;

/// The bits of a mask over `from` that stand for the conditions of a part of it.
fn projected(mask: u32, from: &[u32], part: &[u32]) -> u32 {
    let place = |condition: &u32| from.iter().position(|other| other == condition).unwrap_or(31);
    let bits = part.iter().enumerate().map(|(at, condition)| (mask >> place(condition) & 1) << at);
    bits.sum()
}

impl Cells {
    fn at(&self, mask: u32, conditions: &[u32]) -> Option<Element> {
        let own = projected(mask, conditions, &self.conditions);
        self.cells.iter().find(|cell| cell.0 == own).map(|cell| cell.1)
    }
}

fn union<'a>(parts: impl IntoIterator<Item = &'a Vec<u32>>) -> Vec<u32> {
    let mut all: Vec<u32> = parts.into_iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A function of elements without conditions.
type Function<'a, const N: usize> = &'a mut dyn FnMut(&mut Point, [Element; N]) -> Option<Element>;

impl Point {
    /// A function applied in each cell of its operands; none if these have no conditions, or too many. `direct` is the result if
    /// the function is linear, and the largest number of operands with conditions.
    #[inline]
    pub(super) fn by_cells<const N: usize>(
        &mut self,
        operands: [Element; N],
        direct: Option<(Element, usize)>,
        function: Function<'_, N>,
    ) -> Option<Element> {
        if self.conditions.recent.is_empty() {
            return None;
        }
        self.cell_by_cell(operands, direct, function)
    }

    /// The one of two elements that is at least as large as the other one in each cell, if one is.
    pub(super) fn larger_in_all_cells(&mut self, a: Element, b: Element) -> Option<Element> {
        self.conditions.cells(a).or_else(|| self.conditions.cells(b))?;
        [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
            let below = self.sub(other, one);
            (self.by_sign(below, below, Element::default()).p == 0).then_some(one)
        })
    }

    /// The same of a function that is not defined for 0.
    pub(super) fn of_cells(
        &mut self,
        a: Element,
        function: impl Fn(&mut Point, Element) -> Element,
    ) -> Option<Element> {
        let mut each =
            |point: &mut Point, [a]: [Element; 1]| (a.p != 0).then(|| function(point, a));
        self.by_cells([a], None, &mut each)
    }

    /// The same of a function of all numbers.
    pub(super) fn of_cells_or_zero(
        &mut self,
        a: Element,
        function: impl Fn(&mut Point, Element) -> Element,
    ) -> Option<Element> {
        self.by_cells([a], None, &mut |point, [a]| Some(function(point, a)))
    }

    fn cell_by_cell<const N: usize>(
        &mut self,
        operands: [Element; N],
        direct: Option<(Element, usize)>,
        function: Function<'_, N>,
    ) -> Option<Element> {
        let cells = operands.map(|operand| self.conditions.cells(operand));
        let direct = direct.filter(|&(_, most)| cells.iter().flatten().count() <= most);
        let direct = direct.map(|(direct, _)| direct);
        let mut known = cells.iter().flatten();
        let first = known.next()?;
        let (conditions, masks) = if known.all(|other| other.conditions == first.conditions) {
            let masks = first.cells.iter().map(|cell| cell.0).collect();
            (first.conditions.clone(), masks)
        } else {
            let conditions = union(cells.iter().flatten().map(|cells| &cells.conditions));
            let masks = self.possible(&conditions)?;
            (conditions, masks)
        };
        let mut results = Vec::with_capacity(masks.len());
        for mask in masks {
            let mut values = operands;
            for (value, cells) in values.iter_mut().zip(&cells) {
                if let Some(cells) = cells {
                    *value = cells.at(mask, &conditions)?;
                }
            }
            results.push((mask, function(self, values)?));
        }
        self.refined(conditions, results, direct)
    }

    /// The element with these cells, whose elements may have conditions, too.
    fn refined(
        &mut self,
        conditions: Vec<u32>,
        cells: Vec<(u32, Element)>,
        direct: Option<Element>,
    ) -> Option<Element> {
        let inner: Vec<Option<Arc<Cells>>> =
            cells.iter().map(|cell| self.conditions.cells(cell.1)).collect();
        if inner.iter().all(Option::is_none) {
            return Some(self.assembled(conditions, cells, direct));
        }
        let inside = inner.iter().flatten().map(|cells| &cells.conditions);
        let all = union(inside.chain([&conditions]));
        let mut results = Vec::new();
        for mask in self.possible(&all)? {
            let own = projected(mask, &all, &conditions);
            let at = cells.iter().position(|cell| cell.0 == own)?;
            let value = match &inner[at] {
                Some(inner) => inner.at(mask, &all)?,
                None => cells[at].1,
            };
            results.push((mask, value));
        }
        Some(self.assembled(all, results, None))
    }

    /// The element with these cells: without the conditions that make no difference.
    fn assembled(
        &mut self,
        mut conditions: Vec<u32>,
        mut cells: Vec<(u32, Element)>,
        direct: Option<Element>,
    ) -> Element {
        let before = conditions.len();
        for at in (0..before).rev() {
            let without = |mask: u32| mask & ((1 << at) - 1) | mask >> (at + 1) << at;
            let mut merged: Vec<(u32, Element)> = Vec::with_capacity(cells.len());
            let differs = cells.iter().any(|&(mask, value)| {
                let mask = without(mask);
                match merged.iter().find(|cell| cell.0 == mask) {
                    Some(&(_, other)) => !self.same(value, other),
                    None => {
                        merged.push((mask, value));
                        false
                    }
                }
            });
            if !differs {
                conditions.remove(at);
                cells = merged;
            }
        }
        if let [(_, only)] = cells[..] {
            return only;
        }
        let result = match direct.filter(|_| conditions.len() == before) {
            Some(direct) => direct,
            None => self.weighted(&conditions, &cells),
        };
        self.conditions.insert(result, Cells { conditions, cells });
        result
    }

    /// The polynomial of variables that an element is: the sum of its cells, each times its own variables.
    fn weighted(&mut self, conditions: &[u32], cells: &[(u32, Element)]) -> Element {
        let chains = self.chains(conditions);
        let one = self.integer(1);
        let mut sum = Element::default();
        for &(mask, value) in cells {
            let mut term = value;
            for chain in &chains {
                // From here on, but not from the next value on.
                let holds = |&&(at, reversed): &&(usize, bool)| (mask >> at & 1 != 0) != reversed;
                let count = chain.iter().take_while(holds).count();
                let mut from = |place: usize| match chain.get(place) {
                    Some(&(at, reversed)) => {
                        let value = self.conditions.all[conditions[at] as usize].value;
                        if reversed { self.plain_sub(one, value) } else { value }
                    }
                    None => Element::default(),
                };
                let here = if count == 0 { one } else { from(count - 1) };
                let next = from(count);
                let weight = self.plain_sub(here, next);
                term = self.plain_mul(term, weight);
            }
            sum = self.plain_add(sum, term);
        }
        sum
    }

    /// The conditions in chains of those with a common line.
    fn chains(&mut self, conditions: &[u32]) -> Vec<Chain> {
        // The conditions of a chain: the value from which on it holds, whether it is larger than that, and the place.
        type Link = ((i128, i128), Option<bool>, (usize, bool));
        let mut chains: Vec<(u32, Vec<Link>)> = Vec::new();
        for (at, &condition) in conditions.iter().enumerate() {
            let closed = self.conditions.all[condition as usize].closed;
            let found = chains.iter().enumerate().find_map(|(chain, (first, links))| {
                let line = self.line(condition, *first)?;
                // factor * first + constant > 0
                let (value, reversed) = (line.zero(), line.falls());
                let open = closed.map(|closed| closed == reversed);
                let taken = |link: &Link| {
                    link.0 == value && (link.1.is_none() || open.is_none() || link.1 == open)
                };
                (!links.iter().any(taken)).then_some((chain, (value, open, (at, reversed))))
            });
            match found {
                Some((chain, link)) => chains[chain].1.push(link),
                None => {
                    let open = closed.map(|closed| !closed);
                    chains.push((condition, vec![((0, 1), open, (at, false))]));
                }
            }
        }
        let sorted = chains.into_iter().map(|(_, mut links)| {
            let order = |one: &Link, other: &Link| {
                let [one_value, other_value] = [one.0, other.0];
                let values = (one_value.0 * other_value.1).cmp(&(other_value.0 * one_value.1));
                values.then(one.1.cmp(&other.1))
            };
            links.sort_by(order);
            links.into_iter().map(|link| link.2).collect()
        });
        sorted.collect()
    }

    /// How the difference of a condition is computed from that of another one.
    fn line(&mut self, one: u32, other: u32) -> Option<Line> {
        if let Some(&known) = self.conditions.lines.get(&(one, other)) {
            return known;
        }
        let difference = |at: u32| self.conditions.all[at as usize].difference;
        let (a, b) = (difference(one)?, difference(other)?);
        let line = if a.degree == b.degree { affine(a, b) } else { None };
        let line = line.filter(Line::is_not_constant);
        if self.conditions.lines.len() >= MAX_POWERS {
            self.conditions.lines.clear();
        }
        self.conditions.lines.insert((one, other), line);
        line
    }

    /// The cells of conditions that can be, a bit for each one that holds; none if they are too many.
    fn possible(&mut self, conditions: &[u32]) -> Option<Vec<u32>> {
        if conditions.len() > MAX_CONDITIONS {
            return None;
        }
        let chains = self.chains(conditions);
        let is_possible = |mask: &u32| {
            chains.iter().all(|chain| {
                let holds = |&(at, reversed): &(usize, bool)| (mask >> at & 1 != 0) != reversed;
                chain.iter().map(holds).is_sorted_by(|one, other| one >= other)
            })
        };
        let masks: Vec<u32> = (0..1 << conditions.len()).filter(is_possible).collect();
        (masks.len() <= MAX_CELLS).then_some(masks)
    }

    /// One of two elements by a condition.
    fn split(&mut self, condition: u32, holds: Element, fails: Element) -> Element {
        if self.same(holds, fails) {
            return holds;
        }
        let cells = vec![(0, fails), (1, holds)];
        self.refined(vec![condition], cells, None).unwrap_or_else(|| {
            let value = self.conditions.all[condition as usize].value;
            let gap = self.plain_sub(holds, fails);
            let part = self.plain_mul(value, gap);
            self.plain_add(fails, part)
        })
    }

    /// `a` where a predicate of a name holds, else `b`.
    pub(super) fn by_name(&mut self, predicate: u64, a: Element, b: Element) -> Element {
        let key = predicate | 1 << 63;
        let condition = match self.conditions.names.get(&key) {
            Some(&known) => known,
            None => self.new_condition(key, None, None),
        };
        self.split(condition, a, b)
    }

    fn new_condition(
        &mut self,
        key: u64,
        difference: Option<Element>,
        closed: Option<bool>,
    ) -> u32 {
        let value = self.hash(&[name::CONDITION, key]);
        let number = self.conditions.all.len() as u32;
        self.conditions.all.push(Condition { difference, closed, value });
        self.conditions.names.insert(key, number);
        number
    }

    /// `a` where a difference is positive, else `b`.
    pub(super) fn by_sign(&mut self, difference: Element, a: Element, b: Element) -> Element {
        if self.same(a, b) {
            return a;
        }
        if let Some(positive) = self.sign(difference) {
            return if positive { a } else { b };
        }
        let mut each = |point: &mut Point, [difference, a, b]: [Element; 3]| {
            Some(point.by_sign(difference, a, b))
        };
        if let Some(result) = self.by_cells([difference, a, b], None, &mut each) {
            return result;
        }
        let (number, aligned) = self.condition(difference);
        let Condition { difference: of, closed, .. } = self.conditions.all[number as usize];
        let of = of.unwrap_or_default();
        // The condition that the difference is smaller than 0 is that it is not at least 0.
        let wanted = !aligned;
        let number = match closed {
            Some(closed) if closed == wanted => number,
            _ if self.is_small_multiple(a, b, difference) => number,
            None => {
                self.conditions.all[number as usize].closed = Some(wanted);
                number
            }
            Some(_) if planted!(Bug::StrictnessIgnored) => number,
            Some(_) if self.is_continuous(a, b, difference) => number,
            Some(_) => {
                let key = mix(of.p, u64::from(wanted)) | 1 << 63;
                match self.conditions.names.get(&key) {
                    Some(&known) => known,
                    None => self.new_condition(key, Some(of), Some(wanted)),
                }
            }
        };
        let [holds, fails] = if aligned { [a, b] } else { [b, a] };
        self.split(number, holds, fails)
    }

    /// The condition that a difference is positive, or that it is negative.
    fn condition(&mut self, difference: Element) -> (u32, bool) {
        let opposite = sub(0, difference.p, P);
        let sign = |p: u64| self.conditions.signs.get(&p).copied();
        if let Some((of, same)) = sign(difference.p) {
            let (condition, aligned) = self.condition(of);
            return (condition, aligned == same);
        }
        if let Some((of, same)) = sign(opposite) {
            let (condition, aligned) = self.condition(of);
            return (condition, aligned != same);
        }
        let own = difference.p.min(opposite);
        let mut found = None;
        for factor in std::iter::once(None).chain(self.conditions.factors.iter().map(Some)) {
            let scaled = factor.map_or(difference.p, |&factor| mul_p(difference.p, factor));
            let key = scaled.min(sub(0, scaled, P));
            if let Some(&number) = self.conditions.names.get(&key) {
                found = Some((number, scaled));
                break;
            }
        }
        match found {
            Some((number, scaled)) => {
                let known = self.conditions.all[number as usize].difference;
                let same = known.is_some_and(|known| known.p == scaled);
                (number, same || planted!(Bug::NegativeFactor))
            }
            None => (self.new_condition(own, Some(difference), None), true),
        }
    }

    /// The sign of an element, where it is known: whether it is positive.
    pub(super) fn sign(&self, a: Element) -> Option<bool> {
        if let Some((numerator, _)) = self.as_fraction(a) {
            return Some(numerator > 0);
        }
        let opposite = sub(0, a.p, P);
        let positive = |p: u64| self.positives.contains(&p);
        if positive(a.p) { Some(true) } else { positive(opposite).then_some(false) }
    }

    fn is_small_multiple(&mut self, a: Element, b: Element, of: Element) -> bool {
        let gap = self.plain_sub(a, b);
        let ratio = inverse_p(of.p).map(|inverse| mul_p(gap.p, inverse));
        let (Some(ratio), None) = (ratio, self.class(gap)) else { return false };
        small_fraction(ratio, 1 << 12).is_some_and(|(numerator, denominator)| {
            let ratio = self.fraction(numerator, denominator);
            self.plain_mul(ratio, of).q == gap.q
        })
    }

    /// Whether two elements are the same where a difference is 0.
    fn is_continuous(&mut self, a: Element, b: Element, difference: Element) -> bool {
        let gap = self.plain_sub(a, b);
        [gap, a].into_iter().any(|element| self.vanishes(element, difference))
            && [gap, b].into_iter().any(|element| self.vanishes(element, difference))
    }

    /// Whether an element is known to be 0 where another one is: a multiple by r d + c, for rational r and c, or of its sign.
    fn vanishes(&mut self, a: Element, at: Element) -> bool {
        if a.p == 0 {
            return true;
        }
        if let Some(&(of, _)) = self.conditions.signs.get(&a.p) {
            return self.condition(of).0 == self.condition(at).0;
        }
        if self.class(a).is_some() {
            return false;
        }
        let inverse = self.inverse(at);
        let cofactor = self.plain_mul(a, inverse);
        affine(cofactor, at).is_some()
    }

    /// Notes the sign of `sum`, if it is a constant times 2^u - 1, where `constant` is its constant addend and may be positive.
    pub(super) fn note_sign(&mut self, sum: Element, constant: Element, positive: bool) {
        if self.conditions.exponents.is_empty() {
            return;
        }
        let Some(inverse) = inverse_p(constant.p) else { return };
        let power = mul_p(sub(constant.p, sum.p, P), inverse);
        if let Some(&exponent) = self.conditions.exponents.get(&power) {
            // Exponents to the base e, which have rational factors more often.
            let log2_of_e = self.log2_of_e;
            let inverse = self.inverse(log2_of_e);
            let exponent = self.plain_mul(exponent, inverse);
            self.conditions.signs.insert(sum.p, (exponent, !positive));
        }
    }

    /// Notes that a product has the sign of its factor, or the opposite one.
    pub(super) fn note_multiple(&mut self, product: Element, factor: Element, positive: bool) {
        if let Some(&(of, same)) = self.conditions.signs.get(&factor.p) {
            self.conditions.signs.insert(product.p, (of, same == positive));
        }
    }

    /// Notes the exponent of a product of powers.
    pub(super) fn note_product(&mut self, product: Element, factors: [Element; 2]) {
        let exponent = |point: &Point, a: Element| point.conditions.exponents.get(&a.p).copied();
        if let [Some(a), Some(b)] = factors.map(|factor| exponent(self, factor)) {
            let sum = self.plain_add(a, b);
            self.conditions.exponent(product, sum);
        }
    }

    /// Whether elements are the same in each cell.
    pub(super) fn same_by_cells(&self, a: Element, b: Element) -> bool {
        let [Some(a), Some(b)] = [a, b].map(|element| self.conditions.cells(element)) else {
            return false;
        };
        let mut cells = a.cells.iter().zip(&b.cells);
        a.conditions == b.conditions
            && a.cells.len() == b.cells.len()
            && cells.all(|(one, other)| one.0 == other.0 && self.same(one.1, other.1))
    }
}
