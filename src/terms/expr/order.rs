//! Whether comparisons contradict each other by order alone: sums that differ by a constant, and
//! chains of "less than" among them.
//!
//! Index arithmetic is mostly of this kind (`i < n - 1`, so `i + 1` is not `n`), and a solver that
//! looks at bits takes tens of thousands of steps for it. Values are read as integers, signed or
//! unsigned, and the largest difference of each two is narrowed until nothing changes. It is narrowed
//! by bounds of the terms, by comparisons, and by sums of the same terms with another constant: these
//! have one of two differences, with and without wrapping around.

use smallvec::SmallVec;

use super::arena::Arena;
use super::bits::mask;
use super::node::{Comparison, TermId};
use super::range::Range;

/// A sum: a constant, and terms with their coefficients in the order of [`Arena::linear_parts`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub width: u8,
    pub constant: u64,
    pub addends: SmallVec<[(TermId, u64); 4]>,
    bounds: Range,
}

/// The fact that the comparison `a op b` comes out as `holds`.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    pub op: Comparison,
    pub a: Side,
    pub b: Side,
    pub holds: bool,
}

/// More values than this are not looked at together: the work rises with their cube.
const MAX_VALUES: usize = 14;

/// Rounds of narrowing; most differences are final after three.
const MAX_ROUNDS: usize = 8;

impl Side {
    /// A term as a sum.
    pub(super) fn of(arena: &Arena, term: TermId) -> Side {
        let (constant, addends) = arena.linear_parts(term);
        let (width, bounds) = (arena.width(term), arena.range(term));
        Side { width, constant, addends: addends.into_iter().collect(), bounds }
    }

    /// A constant as a sum without terms.
    pub(super) fn constant(value: u64, width: u8) -> Side {
        let bounds = Range::unsigned(value, value, width);
        Side { width, constant: value, addends: SmallVec::new(), bounds }
    }

    /// These relations with the sum `replacement`, of the same width, in place of the term at `index`.
    pub(super) fn with(&self, arena: &Arena, index: usize, replacement: TermId) -> Side {
        let mask = mask(self.width);
        let mut addends = self.addends.clone();
        let (_, factor) = addends.remove(index);
        let (constant, parts) = arena.linear_parts(replacement);
        let constant = self.constant.wrapping_add(constant.wrapping_mul(factor)) & mask;
        for (term, coefficient) in parts {
            let by = coefficient.wrapping_mul(factor);
            match addends.iter_mut().find(|(known, _)| *known == term) {
                Some((_, sum)) => *sum = sum.wrapping_add(by) & mask,
                None => addends.push((term, by & mask)),
            }
        }
        addends.retain(|(_, coefficient)| *coefficient != 0);
        addends.sort_unstable();
        let bounds = match addends[..] {
            [] => Range::unsigned(constant, constant, self.width),
            [(term, 1)] if constant == 0 => arena.range(term),
            _ => Range::full(self.width),
        };
        Side { width: self.width, constant, addends, bounds }
    }

    /// Whether two sums have the same terms, so that they differ by a constant.
    fn is_beside(&self, other: &Side) -> bool {
        self.addends == other.addends
    }

    /// Whether the terms of one sum are those of the other with the opposite sign.
    fn is_opposite(&self, other: &Side) -> bool {
        let opposite = |(a, b): (&(TermId, u64), &(TermId, u64))| {
            a.0 == b.0 && a.1.wrapping_add(b.1) & mask(self.width) == 0
        };
        !self.addends.is_empty()
            && self.addends.len() == other.addends.len()
            && self.addends.iter().zip(&other.addends).all(opposite)
    }
}

/// Whether the literals cannot all hold. If there are too many, only those are looked at that are
/// connected with the first `goals` of them.
pub(super) fn contradict(arena: &Arena, literals: &[Literal], goals: usize) -> bool {
    let mut widths: Vec<u8> = literals.iter().map(|literal| literal.a.width).collect();
    widths.sort_unstable();
    widths.dedup();
    widths.into_iter().any(|width| {
        let known = nearest(literals, goals, width);
        [true, false].into_iter().any(|signed| System::new(&known, width, signed).is_empty(arena))
    })
}

/// The literals of a width: first the goals, then those that have terms in common with them, directly
/// or by way of others, then the rest.
fn nearest(literals: &[Literal], goals: usize, width: u8) -> Vec<&Literal> {
    let (goals, others) = literals.split_at(goals.min(literals.len()));
    let mut known: Vec<&Literal> = goals.iter().filter(|l| l.a.width == width).collect();
    let mut open: Vec<&Literal> = others.iter().filter(|l| l.a.width == width).collect();
    let mut first = 0;
    while first < known.len() && known.len() < MAX_VALUES {
        let literal = known[first];
        first += 1;
        let touches = |side: &Side| {
            !side.addends.is_empty()
                && [&literal.a, &literal.b]
                    .into_iter()
                    .any(|other| side.is_beside(other) || side.is_opposite(other))
        };
        open.retain(|&other| {
            let near = touches(&other.a) || touches(&other.b);
            if near {
                known.push(other);
            }
            !near
        });
    }
    known.extend(open);
    known
}

/// Values and the largest differences between each two of them.
struct System<'a> {
    /// Whether values are read as signed.
    signed: bool,
    width: u8,
    literals: &'a [&'a Literal],
    /// The value with number `i + 1`; number 0 is zero.
    values: Vec<&'a Side>,
    /// `most[i * size + j]`: at most so much is value `i` above value `j`.
    most: Vec<i128>,
    size: usize,
    changed: bool,
    /// Whether no values satisfy the differences.
    is_empty: bool,
}

impl<'a> System<'a> {
    fn new(literals: &'a [&'a Literal], width: u8, signed: bool) -> System<'a> {
        let mut values: Vec<&Side> = Vec::new();
        for side in literals.iter().flat_map(|literal| [&literal.a, &literal.b]) {
            if values.len() < MAX_VALUES && !values.iter().any(|known| same(known, side)) {
                values.push(side);
            }
        }
        let size = values.len() + 1;
        let bounds = |side: &Side| {
            let Range { umin, umax, smin, smax, .. } = side.bounds;
            match signed {
                true => (i128::from(smin), i128::from(smax)),
                false => (i128::from(umin), i128::from(umax)),
            }
        };
        let bounds: SmallVec<[(i128, i128); MAX_VALUES + 1]> =
            std::iter::once((0, 0)).chain(values.iter().map(|side| bounds(side))).collect();
        let mut most = vec![0; size * size];
        for (i, (_, high)) in bounds.iter().enumerate() {
            for (j, (low, _)) in bounds.iter().enumerate().filter(|(j, _)| *j != i) {
                most[i * size + j] = high - low;
            }
        }
        let is_empty = bounds.iter().any(|(low, high)| low > high);
        System { signed, width, literals, values, most, size, changed: false, is_empty }
    }

    /// Whether no values satisfy the differences.
    fn is_empty(&mut self, arena: &Arena) -> bool {
        for _ in 0..MAX_ROUNDS {
            arena.charge((self.size * self.size * self.size) as u64 / 4);
            if self.is_empty {
                return true;
            }
            self.changed = false;
            for literal in self.literals {
                self.compare(literal);
            }
            if !self.shift() {
                return true;
            }
            if !self.changed {
                break;
            }
        }
        self.is_empty
    }

    /// Records that value `i` is at most `by` above value `j`, and narrows each difference by way of the two.
    fn bound(&mut self, i: usize, j: usize, by: i128) {
        let size = self.size;
        if by >= self.most[i * size + j] {
            return;
        }
        self.changed = true;
        self.is_empty |= by + self.most[j * size + i] < 0;
        if self.is_empty {
            return;
        }
        for from in 0..size {
            let first = self.most[from * size + i] + by;
            for to in 0..size {
                let way = first + self.most[j * size + to];
                let most = &mut self.most[from * size + to];
                *most = way.min(*most);
            }
        }
    }

    fn most(&self, i: usize, j: usize) -> i128 {
        self.most[i * self.size + j]
    }

    fn number(&self, side: &Side) -> Option<usize> {
        self.values.iter().position(|known| same(known, side)).map(|index| index + 1)
    }

    fn compare(&mut self, literal: &Literal) {
        let (Some(a), Some(b)) = (self.number(&literal.a), self.number(&literal.b)) else { return };
        // As `low <= high` or `low < high`.
        let (low, high) = if literal.holds { (a, b) } else { (b, a) };
        let (signed, strict) = match literal.op {
            Comparison::Equal if literal.holds => {
                self.bound(a, b, 0);
                return self.bound(b, a, 0);
            }
            Comparison::Equal => {
                for (i, j) in [(a, b), (b, a)] {
                    if self.most(i, j) == 0 {
                        self.bound(i, j, -1);
                    }
                }
                return;
            }
            Comparison::SignedLess => (true, literal.holds),
            Comparison::SignedLessEqual => (true, !literal.holds),
            Comparison::UnsignedLess => (false, literal.holds),
            Comparison::UnsignedLessEqual => (false, !literal.holds),
        };
        let by = -i128::from(strict);
        let half = 1i128 << (self.width - 1);
        // In the other reading the comparison says the same within each half of the range; the half
        // that is the upper one there is the lower one here.
        match (signed == self.signed, self.signed) {
            (true, _) => {}
            (false, true) if self.most(0, high) <= 0 => self.bound(0, low, 0),
            (false, true) if self.most(low, 0) < 0 => self.bound(high, 0, -1),
            (false, false) if self.most(low, 0) < half => self.bound(high, 0, half - 1),
            (false, false) if self.most(0, high) <= -half => self.bound(0, low, -half),
            (false, _) => return,
        }
        self.bound(low, high, by);
    }

    /// Narrows the differences of sums of the same terms, and of the same terms with opposite signs;
    /// false if no values satisfy them.
    fn shift(&mut self) -> bool {
        let turn = 1i128 << self.width;
        for i in 1..self.size {
            for j in 1..i {
                let (x, y) = (self.values[i - 1], self.values[j - 1]);
                if x.is_beside(y) {
                    let up = x.constant.wrapping_sub(y.constant) & mask(self.width);
                    let (least, most) = (-self.most(j, i), self.most(i, j));
                    let fits = |by: &i128| (least..=most).contains(by);
                    let possible: SmallVec<[i128; 2]> =
                        [i128::from(up), i128::from(up) - turn].into_iter().filter(fits).collect();
                    match possible[..] {
                        [] => return false,
                        [by] => {
                            self.bound(i, j, by);
                            self.bound(j, i, -by);
                        }
                        _ => {}
                    }
                } else if x.is_opposite(y) {
                    let sum = i128::from(x.constant.wrapping_add(y.constant) & mask(self.width));
                    let least = -self.most(0, i) - self.most(0, j);
                    let most = self.most(i, 0) + self.most(j, 0);
                    let mut possible = (-2..=2)
                        .map(|turns| sum + turns * turn)
                        .filter(|total| (least..=most).contains(total));
                    match (possible.next(), possible.next()) {
                        (None, _) => return false,
                        (Some(total), None) => {
                            for (one, other) in [(i, j), (j, i)] {
                                let (low, high) = (-self.most(0, other), self.most(other, 0));
                                self.bound(one, 0, total - low);
                                self.bound(0, one, high - total);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        true
    }
}

/// Whether two sums are the same, however they were made.
fn same(a: &Side, b: &Side) -> bool {
    a.width == b.width && a.constant == b.constant && a.addends == b.addends
}
