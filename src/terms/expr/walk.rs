//! One assignment of the symbols below some terms, and changes of the assignment towards a wanted
//! value.
//!
//! A change goes down from a term to one symbol: each operation on the way is solved for one of its
//! operands. It follows one way down and may spoil other terms, so it is a move in a search
//! ([`super::search`]), not a decision procedure.

use super::arena::Arena;
use super::bits::{mask, sign_extend, to_signed};
use super::eval::{evaluate_binary, evaluate_node};
use super::node::{BinaryOp, Comparison, Node, SymbolId, TermId, UnaryOp};
use super::valuation::Valuation;

/// How far down a wanted value is followed.
const MAX_DEPTH: u32 = 48;

/// How many terms are tried for one change: the ways down double where a term is used twice.
const MAX_TRIED: u32 = 512;

/// Values of all terms below some roots, and changes that lead to other values.
pub(super) struct Walk<'a> {
    pub arena: &'a Arena,
    values: Valuation<'a>,
    symbols: Vec<TermId>,
    /// Numbers near which results of functions are hashed.
    near: Vec<u64>,
    seed: u64,
    /// Terms evaluated, and tried for changes, so far.
    pub evaluated: u64,
    /// Terms that may still be tried for the current change.
    left: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(arena: &'a Arena, roots: impl Iterator<Item = TermId>) -> Walk<'a> {
        let values = Valuation::new(arena, roots);
        let symbols = values.symbols().map(|(term, _)| term).collect();
        let near = values.terms().iter().filter_map(|&t| arena.constant_value(t)).collect();
        Walk { arena, values, symbols, near, seed: 0, evaluated: 0, left: 0 }
    }

    /// All terms, operands before the terms that use them.
    pub(super) fn terms(&self) -> &[TermId] {
        self.values.terms()
    }

    /// The symbols below the roots.
    pub(super) fn symbols(&self) -> &[TermId] {
        &self.symbols
    }

    /// The next of a fixed row of numbers that look random.
    pub(super) fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ self.seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn value(&self, term: TermId) -> u64 {
        self.values.value(term)
    }

    /// Gives each symbol a new value: the smallest in round 0, 1 in round 1, then numbers of all
    /// magnitudes and both signs, many small ones that are often equal to each other; or the value that `hint`
    /// has for the round and the symbol, if there is one.
    pub(super) fn restart(&mut self, round: u64, hint: &dyn Fn(u64, SymbolId) -> Option<u64>) {
        let near = if round & 1 == 1 { &self.near[..] } else { &[] };
        self.values.restart(near);
        for index in 0..self.symbols.len() {
            let term = self.symbols[index];
            let random = self.next();
            let number = match (round, random >> 56 & 7) {
                (0, _) => 0,
                (1, _) => 1,
                (_, 0) => random & 1,
                (_, 1 | 2) => random & 7,
                (_, 3) => (random & 7).wrapping_neg(),
                (_, 4) => random & 0xfff,
                (_, 5) => random & 0xff_ffff,
                _ => random,
            };
            let hinted = match *self.arena.node(term) {
                Node::Symbol(symbol) => hint(round, symbol),
                _ => None,
            };
            let number = hinted.unwrap_or(number);
            let range = self.arena.range(term);
            let number = number & mask(self.arena.width(term));
            let within = (range.umin..=range.umax).contains(&number);
            let size = (range.umax - range.umin).saturating_add(1);
            self.values.set(term, if within { number } else { range.umin + number % size });
        }
        self.evaluate();
    }

    /// Goes through all values of the symbols, each between its two `bounds`, until `visit` returns true; the result says whether all values were seen. `None`, and nothing is done, if more
    /// than `most` terms would have to be evaluated or a function's results could be anything.
    pub(super) fn each(
        &mut self,
        bounds: &[(u64, u64)],
        most: u64,
        mut visit: impl FnMut(&Self) -> bool,
    ) -> Option<bool> {
        let arena = self.arena;
        let is_open = |&term: &TermId| matches!(arena.node(term), Node::Apply(..));
        if self.values.terms().iter().any(is_open) {
            return None;
        }
        let mut work = self.values.terms().len() as u64;
        for (low, high) in bounds {
            work = work.checked_mul((high - low).checked_add(1)?)?;
            if work > most {
                return None;
            }
        }
        let mut numbers: Vec<u64> = bounds.iter().map(|&(low, _)| low).collect();
        loop {
            for (&symbol, &number) in self.symbols.iter().zip(&numbers) {
                self.values.set(symbol, number);
            }
            self.evaluate();
            if visit(self) {
                return Some(false);
            }
            // The next values, as a counter with a digit for each symbol.
            let carries = numbers.iter_mut().zip(bounds).all(|(number, &(low, high))| {
                let is_last = *number == high;
                *number = if is_last { low } else { *number + 1 };
                is_last
            });
            if carries {
                return Some(true);
            }
        }
    }

    /// Computes all terms anew from the symbols.
    pub(super) fn evaluate(&mut self) {
        self.values.evaluate();
        self.evaluated += self.values.terms().len() as u64;
    }

    /// Changes one symbol (or one result of a function) so that the term gets the value while all
    /// other symbols stay as they are; false if no way down to such a symbol was found. The values of
    /// other terms are stale afterwards.
    pub(super) fn force(&mut self, term: TermId, wanted: u64) -> bool {
        self.left = MAX_TRIED;
        let forced = self.force_within(term, wanted, MAX_DEPTH);
        let tried = u64::from(MAX_TRIED - self.left);
        self.arena.charge(tried);
        self.evaluated += tried;
        forced
    }

    fn force_within(&mut self, term: TermId, wanted: u64, depth: u32) -> bool {
        let (arena, width) = (self.arena, self.arena.width(term));
        debug_assert!(wanted <= mask(width));
        if self.value(term) == wanted {
            return true;
        }
        let range = arena.range(term);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else {
            return false;
        };
        self.left = left;
        if !(range.umin..=range.umax).contains(&wanted) {
            return false;
        }
        match arena.node(term) {
            Node::Constant(_) => false,
            Node::Symbol(_) => {
                self.values.set(term, wanted);
                true
            }
            Node::Apply(..) => {
                self.values.choose(term, wanted);
                true
            }
            Node::Sum { addends, .. } => self.force_sum(term, wanted, addends, depth),
            Node::Product(..) => self.force_product(term, wanted, depth),
            Node::Unary(UnaryOp::Not, a) => self.force_within(*a, wanted ^ 1, depth),
            Node::Unary(UnaryOp::Reverse, a) => {
                let reversed = wanted.reverse_bits() >> (64 - u32::from(width));
                self.force_within(*a, reversed, depth)
            }
            Node::Unary(..) => false,
            Node::Binary(op, a, b) => self.force_binary(*op, (*a, *b), wanted, depth),
            Node::Compare(op, a, b) => self.force_comparison(*op, (*a, *b), wanted != 0, depth),
            Node::IfThenElse(c, a, b) => {
                let (taken, other) = if self.value(*c) != 0 { (*a, *b) } else { (*b, *a) };
                if self.value(other) == wanted {
                    return self.force_within(*c, self.value(*c) ^ 1, depth);
                }
                self.force_within(taken, wanted, depth)
            }
            Node::ZeroExtend(a) => {
                wanted <= mask(arena.width(*a)) && self.force_within(*a, wanted, depth)
            }
            Node::SignExtend(a) => {
                let low = wanted & mask(arena.width(*a));
                sign_extend(low, arena.width(*a)) & mask(width) == wanted
                    && self.force_within(*a, low, depth)
            }
            Node::Extract(a, low) => {
                let kept = self.value(*a) & !(mask(width) << low);
                self.force_within(*a, kept | wanted << low, depth)
            }
            Node::Concatenate(a, b) => {
                let by = arena.width(*b);
                let (high, low) = (wanted >> by, wanted & mask(by));
                self.force_within(*a, high, depth) && self.force_within(*b, low, depth)
            }
        }
    }

    fn force_sum(
        &mut self,
        term: TermId,
        wanted: u64,
        addends: &[(TermId, u64)],
        depth: u32,
    ) -> bool {
        let width = self.arena.width(term);
        let missing = wanted.wrapping_sub(self.value(term)) & mask(width);
        let start = self.next() as usize % addends.len();
        for index in 0..addends.len() {
            let (addend, coefficient) = addends[(start + index) % addends.len()];
            let shift = coefficient.trailing_zeros() as u8;
            if missing & mask(width.min(shift.max(1))) != 0 && shift > 0 {
                continue;
            }
            let step = step(missing, coefficient, width);
            let value = self.value(addend).wrapping_add(step) & mask(width);
            if self.force_within(addend, value, depth) {
                return true;
            }
        }
        self.force_digits(term, wanted, addends, depth)
    }

    /// A number in two digits, as in `256 * block + thread`: the lower one by an addend with an odd coefficient, the
    /// rest by one that only changes the upper one.
    fn force_digits(
        &mut self,
        term: TermId,
        wanted: u64,
        addends: &[(TermId, u64)],
        depth: u32,
    ) -> bool {
        let width = self.arena.width(term);
        let missing = wanted.wrapping_sub(self.value(term)) & mask(width);
        let lower = addends.iter().find(|(_, coefficient)| coefficient & 1 == 1);
        let Some(&(low, by)) = lower else { return false };
        let start = self.next() as usize % addends.len();
        for index in 0..addends.len() {
            let (high, coefficient) = addends[(start + index) % addends.len()];
            let shift = coefficient.trailing_zeros() as u8;
            if shift == 0 || shift >= width {
                continue;
            }
            let digit = (missing & mask(shift)).wrapping_mul(inverse(by)) & mask(shift);
            let below = self.value(low);
            // One step up or down.
            for change in [digit, digit.wrapping_sub(1 << shift)] {
                let left = missing.wrapping_sub(change.wrapping_mul(by)) & mask(width);
                let above = step(left, coefficient, width);
                let value = self.value(high).wrapping_add(above) & mask(width);
                if self.force_within(low, below.wrapping_add(change) & mask(width), depth) {
                    if self.force_within(high, value, depth) {
                        return true;
                    }
                    break;
                }
            }
        }
        false
    }

    fn force_product(&mut self, term: TermId, wanted: u64, depth: u32) -> bool {
        let arena = self.arena;
        let factors = arena.operands(term);
        let start = self.next() as usize % factors.len();
        for index in 0..factors.len() {
            let factor = factors[(start + index) % factors.len()];
            let with = |value: u64| {
                let of = |t: TermId| if t == factor { value } else { self.value(t) };
                evaluate_node(arena, term, &of, &[])
            };
            let others = with(1);
            let value = match others {
                0 => continue,
                odd if odd & 1 == 1 => wanted.wrapping_mul(inverse(odd)),
                even => wanted / even,
            };
            let value = value & mask(arena.width(term));
            if with(value) == wanted && self.force_within(factor, value, depth) {
                return true;
            }
        }
        false
    }

    fn force_binary(
        &mut self,
        op: BinaryOp,
        (a, b): (TermId, TermId),
        wanted: u64,
        depth: u32,
    ) -> bool {
        let width = self.arena.width(a);
        let (x, y) = (self.value(a), self.value(b));
        if width == 1 && matches!(op, BinaryOp::And | BinaryOp::Or) {
            // Both operands must change, or either may.
            let both = (op == BinaryOp::And) == (wanted == 1);
            let (first, second) = if self.next() & 1 == 0 { (a, b) } else { (b, a) };
            return match both {
                true => self.force_within(a, wanted, depth) && self.force_within(b, wanted, depth),
                false => {
                    self.force_within(first, wanted, depth)
                        || self.force_within(second, wanted, depth)
                }
            };
        }
        let within = y < u64::from(width);
        let left = match op {
            BinaryOp::And => x & !y | wanted,
            BinaryOp::Or => wanted & (x | !y),
            BinaryOp::Xor => wanted ^ y,
            BinaryOp::ShiftLeft if within => wanted >> y,
            BinaryOp::ShiftRight | BinaryOp::ArithmeticShiftRight if within => {
                wanted << y | x & mask(y.max(1) as u8)
            }
            BinaryOp::UnsignedDivide | BinaryOp::SignedDivide => wanted.wrapping_mul(y),
            BinaryOp::UnsignedRemainder | BinaryOp::SignedRemainder => {
                x.wrapping_sub(evaluate_binary(op, x, y, width)).wrapping_add(wanted)
            }
            _ => return false,
        } & mask(width);
        if evaluate_binary(op, left, y, width) == wanted && self.force_within(a, left, depth) {
            return true;
        }
        let right = match op {
            BinaryOp::And => y & !x | wanted,
            BinaryOp::Or => wanted & (y | !x),
            BinaryOp::Xor => wanted ^ x,
            _ => return false,
        } & mask(width);
        evaluate_binary(op, x, right, width) == wanted && self.force_within(b, right, depth)
    }

    fn force_comparison(
        &mut self,
        op: Comparison,
        (a, b): (TermId, TermId),
        holds: bool,
        depth: u32,
    ) -> bool {
        let width = self.arena.width(a);
        let random = self.next();
        // At the boundary half of the time.
        let slack = if random & 1 == 0 { 0 } else { random >> 8 & 0xff };
        // `low + gap = high` has this outcome, if the sum does not wrap around.
        let (low, high, gap) = match (op, holds) {
            (Comparison::Equal, true) => (a, b, 0),
            (Comparison::Equal, false) => (a, b, 1 + slack),
            (Comparison::UnsignedLess | Comparison::SignedLess, true) => (a, b, 1 + slack),
            (Comparison::UnsignedLess | Comparison::SignedLess, false) => (b, a, slack),
            (_, true) => (a, b, slack),
            (_, false) => (b, a, 1 + slack),
        };
        let sides = if random & 2 == 0 { [true, false] } else { [false, true] };
        sides.into_iter().any(|raise| {
            let (x, y) = match raise {
                true => (self.value(low), self.value(low).wrapping_add(gap) & mask(width)),
                false => (self.value(high).wrapping_sub(gap) & mask(width), self.value(high)),
            };
            let (left, right) = if (low, high) == (a, b) { (x, y) } else { (y, x) };
            let (term, value) = if raise { (high, y) } else { (low, x) };
            op.holds(left, right, width) == holds && self.force_within(term, value, depth)
        })
    }
}

/// The least change of an addend, towards zero if there are two, by which its multiple changes by
/// `missing` modulo 2^width. The bits of `missing` below the coefficient's lowest one bit are left
/// over; above it the coefficient is odd, so there is one solution.
fn step(missing: u64, coefficient: u64, width: u8) -> u64 {
    let shift = coefficient.trailing_zeros() as u8;
    let left = width - shift;
    let step = (missing >> shift).wrapping_mul(inverse(coefficient >> shift));
    to_signed(step & mask(left), left) as u64
}

/// The inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Newton's iteration doubles the number of right bits; `odd` itself has three.
    (0..5)
        .fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

#[cfg(feature = "internals")]
mod tests {
    use super::inverse;

    crate::unit_tests!(odd_numbers_have_inverses);

    fn odd_numbers_have_inverses() {
        for odd in [1, 3, 5, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
            assert_eq!(inverse(odd).wrapping_mul(odd), 1);
        }
    }
}
