//! Decides claims about one symbol exactly, by the intervals of its values in which they hold.
//!
//! A guard over the thread's index alone (`1664 - tid > 127`) says which indices pass, and chains of
//! such guards are what unrolled loops over rows consist of. Each term in them is a straight line in
//! the symbol as long as it does not wrap around, so a comparison holds in an interval. Where a term
//! is anything else nothing is decided here.

use smallvec::{SmallVec, smallvec};

use super::arena::Arena;
use super::bits::to_signed;
use super::found::Search;
use super::node::{BinaryOp, Comparison, Node, TermId, UnaryOp};

/// More terms than this are not looked at, those that are used twice counted twice.
const MAX_STEPS: u32 = 96;

/// The values of the symbol for which something holds: intervals with both ends, in ascending order,
/// none touching the next.
type Set = SmallVec<[(i128, i128); 4]>;

/// The value `slope * symbol + start`, over the integers.
#[derive(Clone, Copy)]
struct Line {
    slope: i128,
    start: i128,
}

/// Decides a claim if one symbol alone occurs in it and in the predicates; `None` if more occur, or if a term is not
/// piecewise affine.
pub(super) fn decided(
    arena: &Arena,
    predicates: &[TermId],
    (a, b): (TermId, TermId),
) -> Option<Search> {
    let symbol = only_symbol(arena, predicates.iter().copied().chain([a, b]))?;
    let mut found = Search::Contradiction;
    for domain in domains(arena, symbol) {
        let mut claims = Claims { arena, domain, left: MAX_STEPS };
        let mut possible = claims.all();
        for &predicate in predicates {
            let holds = claims.set(predicate)?;
            possible = intersection(&possible, &holds);
        }
        let same = if arena.width(a) == 1 {
            let (x, y) = (claims.set(a)?, claims.set(b)?);
            let neither = intersection(&claims.complement(&x), &claims.complement(&y));
            union(&intersection(&x, &y), &neither)
        } else {
            claims.compare(Comparison::Equal, a, b)?
        };
        if !intersection(&possible, &claims.complement(&same)).is_empty() {
            return Some(Search::Counterexample);
        }
        if !possible.is_empty() {
            found = Search::Proof;
        }
    }
    Some(found)
}

/// The least and the greatest value that a symbol may have where some predicates hold that are about it
/// alone; `None` if these cannot all hold.
pub(super) fn hull(arena: &Arena, symbol: TermId, alone: &[TermId]) -> Option<(u64, u64)> {
    let mut hull: Option<(i128, i128)> = None;
    for domain in domains(arena, symbol) {
        let mut possible: Set = smallvec![domain];
        for &predicate in alone {
            if let Some(holds) = (Claims { arena, domain, left: MAX_STEPS }).set(predicate) {
                possible = intersection(&possible, &holds);
            }
        }
        if let (Some(first), Some(last)) = (possible.first(), possible.last()) {
            hull = Some((hull.map_or(first.0, |(low, _)| low), last.1));
        }
    }
    hull.map(|(low, high)| (low as u64, high as u64))
}

/// The one symbol that occurs below some terms; `None` if none or more occur, or an operator that is never piecewise
/// affine.
pub(super) fn only_symbol(arena: &Arena, roots: impl Iterator<Item = TermId>) -> Option<TermId> {
    let mut open: SmallVec<[TermId; 16]> = roots.collect();
    let (mut symbol, mut left) = (None, MAX_STEPS);
    while let Some(term) = open.pop() {
        left = left.checked_sub(1)?;
        match arena.node(term) {
            Node::Symbol(_) if symbol.is_some_and(|known| known != term) => return None,
            Node::Symbol(_) => symbol = Some(term),
            Node::Product(_) | Node::Apply(..) | Node::IfThenElse(..) => return None,
            _ => open.extend(arena.operands(term)),
        }
    }
    arena.charge(u64::from(MAX_STEPS - left));
    symbol
}

/// The values of a symbol in parts, in ascending order, in which it has one sign.
fn domains(arena: &Arena, symbol: TermId) -> SmallVec<[(i128, i128); 2]> {
    let range = arena.range(symbol);
    let (low, high) = (i128::from(range.umin), i128::from(range.umax));
    let half = 1i128 << (arena.width(symbol) - 1);
    match low < half && half <= high {
        true => smallvec![(low, half - 1), (half, high)],
        false => smallvec![(low, high)],
    }
}

struct Claims<'a> {
    arena: &'a Arena,
    /// The smallest and the largest value of the symbol that are looked at.
    domain: (i128, i128),
    /// Terms that may still be looked at.
    left: u32,
}

impl Claims<'_> {
    fn all(&self) -> Set {
        smallvec![self.domain]
    }

    /// The values for which a predicate holds.
    fn set(&mut self, predicate: TermId) -> Option<Set> {
        self.left = self.left.checked_sub(1)?;
        match *self.arena.node(predicate) {
            Node::Constant(0) => Some(Set::new()),
            Node::Constant(_) => Some(self.all()),
            Node::Unary(UnaryOp::Not, inner) => {
                let holds = self.set(inner)?;
                Some(self.complement(&holds))
            }
            Node::Binary(BinaryOp::And, a, b) => Some(intersection(&self.set(a)?, &self.set(b)?)),
            Node::Binary(BinaryOp::Or, a, b) => Some(union(&self.set(a)?, &self.set(b)?)),
            Node::Compare(op, a, b) => self.compare(op, a, b),
            _ => None,
        }
    }

    /// The values for which a comparison holds.
    fn compare(&mut self, op: Comparison, a: TermId, b: TermId) -> Option<Set> {
        let width = self.arena.width(a);
        let (mut x, mut y) = (self.line(a)?, self.line(b)?);
        if matches!(op, Comparison::SignedLess | Comparison::SignedLessEqual) {
            (x, y) = (self.signed(x, width)?, self.signed(y, width)?);
        }
        let difference =
            Line { slope: x.slope.checked_sub(y.slope)?, start: x.start.checked_sub(y.start)? };
        Some(match op {
            Comparison::Equal => {
                let above = self.complement(&self.below(difference, 1));
                self.complement(&union(&self.below(difference, 0), &above))
            }
            Comparison::UnsignedLess | Comparison::SignedLess => self.below(difference, 0),
            Comparison::UnsignedLessEqual | Comparison::SignedLessEqual => {
                self.below(difference, 1)
            }
        })
    }

    /// The values for which a line is below `limit`.
    fn below(&self, line: Line, limit: i128) -> Set {
        let (low, high) = self.domain;
        let rest = limit - line.start;
        let (from, to) = match line.slope {
            0 if rest > 0 => (low, high),
            0 => return Set::new(),
            slope if slope > 0 => (low, high.min((rest - 1).div_euclid(slope))),
            slope => (low.max((-rest).div_euclid(-slope) + 1), high),
        };
        if from > to { Set::new() } else { smallvec![(from, to)] }
    }

    /// A term, read as unsigned, as a line over all values of the symbol.
    fn line(&mut self, term: TermId) -> Option<Line> {
        self.left = self.left.checked_sub(1)?;
        let (arena, width) = (self.arena, self.arena.width(term));
        match arena.node(term) {
            Node::Constant(value) => Some(Line { slope: 0, start: i128::from(*value) }),
            Node::Symbol(_) => Some(Line { slope: 1, start: 0 }),
            Node::ZeroExtend(a) => self.line(*a),
            Node::SignExtend(a) => {
                let line = self.line(*a)?;
                let line = self.signed(line, arena.width(*a))?;
                self.reduced(line, width)
            }
            Node::Extract(a, 0) => {
                let line = self.line(*a)?;
                self.reduced(line, width)
            }
            Node::Sum { constant, addends } => {
                let mut sum = Line { slope: 0, start: i128::from(to_signed(*constant, width)) };
                for &(addend, coefficient) in addends {
                    let line = self.line(addend)?;
                    let by = i128::from(to_signed(coefficient, width));
                    sum.slope = sum.slope.checked_add(line.slope.checked_mul(by)?)?;
                    sum.start = sum.start.checked_add(line.start.checked_mul(by)?)?;
                }
                self.reduced(sum, width)
            }
            _ => None,
        }
    }

    /// The least and the greatest value of a line.
    fn bounds(&self, line: Line) -> Option<(i128, i128)> {
        let at = |value: i128| line.slope.checked_mul(value)?.checked_add(line.start);
        let (x, y) = (at(self.domain.0)?, at(self.domain.1)?);
        Some((x.min(y), x.max(y)))
    }

    /// A line modulo 2^width, if it takes the same number of turns everywhere.
    fn reduced(&self, line: Line, width: u8) -> Option<Line> {
        let turn = 1i128 << width;
        let (least, most) = self.bounds(line)?;
        let turns = least.div_euclid(turn);
        (turns == most.div_euclid(turn))
            .then_some(Line { start: line.start - turns * turn, ..line })
    }

    /// A line of unsigned values below 2^width, read as signed.
    fn signed(&self, line: Line, width: u8) -> Option<Line> {
        let half = 1i128 << (width - 1);
        let (least, most) = self.bounds(line)?;
        if most < half {
            Some(line)
        } else {
            (least >= half).then_some(Line { start: line.start - 2 * half, ..line })
        }
    }

    fn complement(&self, set: &Set) -> Set {
        let (mut from, high) = self.domain;
        let mut rest = Set::new();
        for &(low, top) in set {
            if from < low {
                rest.push((from, low - 1));
            }
            from = top + 1;
        }
        if from <= high {
            rest.push((from, high));
        }
        rest
    }
}

fn intersection(a: &Set, b: &Set) -> Set {
    let mut both = Set::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (from, to) = (x.0.max(y.0), x.1.min(y.1));
        if from <= to {
            both.push((from, to));
        }
        if x.1 < y.1 { i += 1 } else { j += 1 }
    }
    both
}

fn union(a: &Set, b: &Set) -> Set {
    let mut all: Set = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut merged = Set::new();
    for (from, to) in all {
        match merged.last_mut() {
            Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Range, SymbolId, Valuation};

    crate::unit_tests!(what_is_decided_is_what_trying_all_values_finds);

    /// Random predicates and claims over one symbol: each decision agrees with a search over all values.
    fn what_is_decided_is_what_trying_all_values_finds() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut answers = [0; 4];
        for _ in 0..12_000 {
            let mut arena = Arena::new();
            let (low, size) = (next(200), next(300));
            let width = [8, 9, 16, 32][next(4) as usize];
            let top = (low + size).min(u64::MAX >> (64 - u32::from(width)));
            let symbol =
                arena.symbol_within(SymbolId(0), width, Range::unsigned(low.min(top), top, width));
            let mut side = |arena: &mut Arena| {
                let scaled =
                    arena.scale(symbol, [1, 1, 2, 3, u64::MAX, u64::MAX - 1][next(6) as usize]);
                let inner = arena.add_constant(scaled, next(700));
                match next(3) {
                    0 => arena.zero_extend(inner, 40),
                    1 => arena.sign_extend(inner, 40),
                    _ => {
                        let wide = arena.zero_extend(symbol, 40);
                        let negated = arena.scale(wide, u64::MAX);
                        arena.add_constant(negated, next(700))
                    }
                }
            };
            let mut comparisons = Vec::new();
            for _ in 0..4 {
                let (x, y) = (side(&mut arena), side(&mut arena));
                comparisons.push((x, y));
            }
            let mut predicates: Vec<TermId> = Vec::new();
            for (x, y) in comparisons {
                let op = [
                    Comparison::Equal,
                    Comparison::UnsignedLess,
                    Comparison::UnsignedLessEqual,
                    Comparison::SignedLess,
                    Comparison::SignedLessEqual,
                ][next(5) as usize];
                let limit = arena.constant(next(700), 40);
                let y = if next(4) == 0 { y } else { limit };
                let comparison = arena.compare(op, x, y);
                predicates.push(if next(2) == 0 { arena.not(comparison) } else { comparison });
            }
            let claim = match next(3) {
                0 => (arena.and(predicates[2], predicates[3]), arena.constant(next(2), 1)),
                1 => (arena.or(predicates[2], predicates[3]), arena.constant(next(2), 1)),
                _ => (predicates[2], predicates[3]),
            };
            let known = &predicates[..2];
            let Some(found) = decided(&arena, known, claim) else {
                answers[3] += 1;
                continue;
            };
            let roots = known.iter().copied().chain([claim.0, claim.1]);
            let mut values = Valuation::new(&arena, roots);
            let (mut possible, mut differ) = (false, false);
            for value in low.min(top)..=top {
                values.set(symbol, value);
                values.evaluate();
                if known.iter().all(|&predicate| values.value(predicate) != 0) {
                    possible = true;
                    differ |= values.value(claim.0) != values.value(claim.1);
                }
            }
            let (expected, kind) = match (possible, differ) {
                (false, _) => (Search::Contradiction, 0),
                (true, true) => (Search::Counterexample, 1),
                (true, false) => (Search::Proof, 2),
            };
            assert_eq!(found, expected);
            answers[kind] += 1;
        }
        assert!(answers.iter().all(|&count| count > 100), "{answers:?}");
    }
}
