//! Quotients, remainders, shifts and masks by a number.

use super::evaluate::{Context, Evaluator, MAX_CASES, Value};
use super::shape::LANES;
use super::sum::LaneSum;
use crate::emulate::SymbolKind;
use crate::expr::{BinaryOp, Node, TermId, mask};

impl Evaluator<'_> {
    /// A quotient, remainder, shift or mask by a number.
    pub(crate) fn by_number(
        &mut self,
        term: TermId,
        op: BinaryOp,
        x: &LaneSum,
        number: i64,
        width: u8,
    ) -> Value {
        let shift = || u32::try_from(number).ok().filter(|&by| by < 62 && by < u32::from(width));
        match op {
            BinaryOp::ShiftLeft => match shift() {
                Some(by) => {
                    let mut sum = LaneSum::default();
                    let _ = sum.add(x, 1 << by);
                    Value::Known(sum)
                }
                None => self.unfollowed(term),
            },
            BinaryOp::ArithmeticShiftRight
                if number == i64::from(width) - 1 && self.is_count(x) =>
            {
                Value::Known(LaneSum::constant(0))
            }
            BinaryOp::ShiftRight | BinaryOp::ArithmeticShiftRight => match shift() {
                Some(by) => self.quotient(term, x, 1 << by),
                None => self.unfollowed(term),
            },
            BinaryOp::UnsignedDivide | BinaryOp::SignedDivide if number > 0 => {
                self.quotient(term, x, number)
            }
            BinaryOp::UnsignedRemainder | BinaryOp::SignedRemainder if number > 0 => {
                self.remainder(term, x, number)
            }
            BinaryOp::And => self.masked(term, x, number, width),
            _ => self.unfollowed(term),
        }
    }

    fn masked(&mut self, term: TermId, x: &LaneSum, number: i64, width: u8) -> Value {
        let bits = number as u64 & mask(width);
        if bits.wrapping_add(1).is_power_of_two() && bits < 1 << 62 {
            return self.remainder(term, x, bits as i64 + 1);
        }
        let cleared = !bits & mask(width);
        let zeros = self.alignments.of_sum(x, true).min(62);
        // The mask keeps all bits of the factors, or only bits below them.
        let numbers = x.numbers_only();
        if cleared >> zeros == 0 {
            let mut sum = x.clone();
            let lost = numbers.map(|one| one & cleared as i64);
            if sum.add(&LaneSum::numbers(lost), -1) {
                return Value::Known(sum);
            }
        }
        if bits >> zeros == 0 {
            return Value::Known(LaneSum::numbers(numbers.map(|one| one & bits as i64)));
        }
        self.unfollowed(term)
    }

    /// The value as a multiple of a power of two, which is uniform, and a rest below it per lane.
    pub(crate) fn in_row(&mut self, x: &LaneSum) -> Option<(u32, [i64; LANES])> {
        let zeros = self.alignments.of_sum(x, true).min(40);
        let numbers = x.numbers_only();
        let first = numbers[0] >> zeros;
        let together = numbers.iter().all(|one| one >> zeros == first);
        (x.differs_by_numbers() && together && zeros > 0)
            .then(|| (zeros, numbers.map(|one| one & ((1 << zeros) - 1))))
    }

    /// `x / by`: a uniform number where a row of lanes does not cross a multiple of the divisor.
    pub(crate) fn quotient(&mut self, term: TermId, x: &LaneSum, by: i64) -> Value {
        if let Some((zeros, _)) = self.in_row(x)
            && by % (1 << zeros) == 0
        {
            return Value::Known(LaneSum::uniform(term));
        }
        let Some(shift) = power(by) else { return self.unfollowed(term) };
        // Multiples of the divisor, and numbers that are divided by themselves.
        if !x.differs_by_numbers() || self.alignments.of_sum(x, true) < shift {
            return self.unfollowed(term);
        }
        let zeros = self.alignments.of_sum(x, true) - shift;
        let numbers = x.numbers_only().map(|one| one >> shift);
        self.beside(term, zeros, &LaneSum::numbers(numbers))
    }

    /// `x % by`.
    pub(crate) fn remainder(&mut self, term: TermId, x: &LaneSum, by: i64) -> Value {
        let is_multiple = power(by).is_some_and(|shift| self.alignments.of_sum(x, true) >= shift);
        if is_multiple {
            return Value::Known(LaneSum::numbers(x.numbers_only().map(|one| one & (by - 1))));
        }
        if let Some((zeros, rest)) = self.in_row(x)
            && by % (1 << zeros) == 0
        {
            return self.beside(term, zeros, &LaneSum::numbers(rest));
        }
        match power(by) {
            Some(bits) => self.wrapped(term, x, bits as u8, false),
            None => self.unfollowed(term),
        }
    }

    /// The low `bits` bits of a sum, read as a number. Where its uniform part is just below a multiple of their power of
    /// two, some lanes have wrapped around and others have not.
    pub(crate) fn wrapped(&mut self, term: TermId, x: &LaneSum, bits: u8, signed: bool) -> Value {
        if !x.differs_by_numbers() || bits >= 62 {
            return self.unfollowed(term);
        }
        let size = 1_i64 << bits;
        let half = if signed { size / 2 } else { 0 };
        let numbers = x.numbers_only();
        let zeros = self.alignments.of_sum(x, true);
        if zeros >= bits.into() {
            let cut = numbers.map(|one| (one.wrapping_add(half)).rem_euclid(size) - half);
            return Value::Known(LaneSum::numbers(cut));
        }
        // In each lane the sum is `base + rest`, where the base is a multiple of `step`.
        let step = 1_i64 << zeros;
        let low = numbers.iter().copied().min().unwrap_or(0).div_euclid(step).wrapping_mul(step);
        let rest = numbers.map(|one| one.wrapping_sub(low));
        let far = rest.iter().copied().max().unwrap_or(0);
        if !(0..size).contains(&far) {
            return self.unfollowed(term);
        }
        let first = (size - far).div_euclid(step) * step;
        let first = if first < size - far { first + step } else { first };
        if (size - first) / step > MAX_CASES as i64 {
            return self.unfollowed(term);
        }
        let mut cases = Vec::new();
        if first > 0 {
            let Value::Known(sum) = self.beside(term, zeros, &LaneSum::numbers(rest)) else {
                return Value::Unknown;
            };
            cases.push(sum);
        }
        for base in (first..size).step_by(step as usize) {
            let cut = rest.map(|one| (base + one) % size - half);
            cases.push(LaneSum::numbers(cut));
        }
        Value::one_of(cases).unwrap_or(Value::Unknown)
    }

    /// Whether a value is a sum of products of numbers that are not negative: indices of threads and blocks, their counts,
    /// iterations. Such a sum is taken not to be negative.
    fn is_count(&self, x: &LaneSum) -> bool {
        let Context { trace, .. } = self.context;
        let is_count = |&term: &TermId| {
            let inner = match *trace.arena.node(term) {
                Node::Extract(inner, 0) => inner,
                _ => term,
            };
            let is_iteration = matches!(*trace.arena.node(inner), Node::Symbol(symbol)
                if matches!(trace.symbols.info(symbol).kind, SymbolKind::Iteration(_)));
            is_iteration || trace.arena.range(term).smin >= 0
        };
        x.parts().iter().all(|(factor, coefficients)| {
            coefficients.lanes().iter().all(|&one| one >= 0) && factor.iter().all(is_count)
        })
    }
}

fn power(number: i64) -> Option<u32> {
    (number > 0 && number & (number - 1) == 0).then(|| number.trailing_zeros())
}
