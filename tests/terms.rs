//! Simplification preserves the meaning of terms: random expressions go through the simplifying constructors and,
//! operation by operation, through the arithmetic written down here, which shares no code with the library. Bounds,
//! substitution and widths are checked on the way.

use ptxasw::expr::{
    Arena, BinaryOp, Comparison, Evaluator, FunctionId, Range, Substitution, SymbolId, TermId,
    UnaryOp,
};
use typed_index_collections::TiVec;

const WIDTHS: [u32; 6] = [1, 8, 16, 24, 32, 64];
/// Symbols of each width; the last is known to be small.
const SYMBOLS: u32 = 3;
/// Upper bound of a small symbol.
const SMALL: u64 = 90;
const ASSIGNMENTS: usize = 6;

fn ones(width: u32) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

fn signed(value: u64, width: u32) -> i128 {
    let value = i128::from(value);
    if value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

fn wrap(value: i128, width: u32) -> u64 {
    (value as u128 & u128::from(ones(width))) as u64
}

/// A term and its value under each assignment.
#[derive(Clone)]
struct Sample {
    term: TermId,
    width: u32,
    values: Vec<u64>,
}

/// Builds expressions at random, keeping all parts for use in others.
struct Builder {
    random: fastrand::Rng,
    arena: Arena,
    pool: Vec<Sample>,
    /// Value of each symbol under each assignment, by symbol.
    symbols: TiVec<SymbolId, Vec<u64>>,
}

/// Values at which arithmetic turns over come often.
fn value(random: &mut fastrand::Rng, width: u32) -> u64 {
    let edge = [0u64, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 255];
    let top = 1u64 << (width - 1);
    let value = match random.u32(0..6) {
        0 => random.choice(edge).unwrap_or(0),
        1 => random.choice(edge).unwrap_or(0).wrapping_neg(),
        2 => top.wrapping_add(random.u64(0..5)).wrapping_sub(2),
        3 => 1u64 << random.u32(0..width),
        4 => ones(random.u32(1..=width)),
        _ => random.u64(..),
    };
    value & ones(width)
}

impl Builder {
    fn new(seed: u64) -> Builder {
        let mut builder = Builder {
            random: fastrand::Rng::with_seed(seed),
            arena: Arena::new(),
            pool: Vec::new(),
            symbols: TiVec::new(),
        };
        for width in WIDTHS {
            for number in 0..SYMBOLS {
                let symbol = builder.symbols.next_key();
                let small = number + 1 == SYMBOLS && width >= 8;
                let term = if small {
                    let range = Range::unsigned(0, SMALL, width as u8);
                    builder.arena.symbol_within(symbol, width as u8, range)
                } else {
                    builder.arena.symbol(symbol, width as u8)
                };
                let values: Vec<u64> = (0..ASSIGNMENTS)
                    .map(|_| {
                        let any = value(&mut builder.random, width);
                        if small { any % (SMALL + 1) } else { any }
                    })
                    .collect();
                builder.symbols.push(values.clone());
                builder.pool.push(Sample { term, width, values });
            }
        }
        builder
    }

    /// An operand of a width: mostly recent ones, so that expressions grow deep.
    fn operand(&mut self, width: u32) -> Sample {
        if self.random.u32(0..4) == 0 {
            let constant = value(&mut self.random, width);
            let term = self.arena.constant(constant, width as u8);
            return Sample { term, width, values: vec![constant; ASSIGNMENTS] };
        }
        let fitting: Vec<&Sample> = self.pool.iter().filter(|s| s.width == width).collect();
        let from = if self.random.bool() { fitting.len().saturating_sub(6) } else { 0 };
        let index = self.random.usize(from..fitting.len());
        fitting[index].clone()
    }

    fn width(&mut self) -> u32 {
        self.random.choice(WIDTHS).unwrap_or(32)
    }

    fn keep(&mut self, what: &str, term: TermId, width: u32, values: Vec<u64>) {
        assert_eq!(u32::from(self.arena.width(term)), width, "{what}: width");
        let sample = Sample { term, width, values };
        self.verify(what, &sample);
        self.pool.push(sample);
    }

    /// The term has the expected values, and they lie within its bounds.
    fn verify(&self, what: &str, sample: &Sample) {
        let range = self.arena.range(sample.term);
        for (assignment, &expected) in sample.values.iter().enumerate() {
            let mut evaluator =
                Evaluator::new(&self.arena, |symbol: SymbolId, _| self.symbols[symbol][assignment]);
            let value = evaluator.value(sample.term);
            let node = self.arena.node(sample.term);
            assert_eq!(value, expected, "{what}, {} bits: {node:?}", sample.width);
            let as_signed = signed(value, sample.width);
            assert!(
                (range.umin..=range.umax).contains(&value)
                    && (i128::from(range.smin)..=i128::from(range.smax)).contains(&as_signed)
                    && value & range.zeros == 0
                    && value & range.ones == range.ones,
                "{what}, {} bits: {value:#x} is outside {range:x?} of {node:?}",
                sample.width
            );
        }
    }

    fn unary(&mut self) {
        let width = self.width();
        let a = self.operand(width);
        let (arena, w) = (&mut self.arena, width);
        let (what, term, of): (_, _, Box<dyn Fn(u64) -> u64>) = match self.random.u32(0..6) {
            0 => ("not", arena.not(a.term), Box::new(move |x| !x & ones(w))),
            1 => ("neg", arena.neg(a.term), Box::new(move |x| wrap(-i128::from(x), w))),
            2 => (
                "popc",
                arena.unary(UnaryOp::PopulationCount, a.term),
                Box::new(move |x| {
                    wrap((0..w).map(|bit| i128::from(x >> bit & 1)).sum::<i128>(), w)
                }),
            ),
            3 => (
                "clz",
                arena.unary(UnaryOp::LeadingZeros, a.term),
                Box::new(move |x| {
                    let top = (0..w).rev().take_while(|bit| x >> bit & 1 == 0).count();
                    wrap(top as i128, w)
                }),
            ),
            4 => (
                "brev",
                arena.unary(UnaryOp::Reverse, a.term),
                Box::new(move |x| (0..w).map(|bit| (x >> bit & 1) << (w - 1 - bit)).sum()),
            ),
            _ => {
                let by = value(&mut self.random, width);
                let term = self.arena.scale(a.term, by);
                ("scale", term, Box::new(move |x| x.wrapping_mul(by) & ones(w)))
            }
        };
        let values = a.values.iter().map(|&x| of(x)).collect();
        self.keep(what, term, width, values);
    }

    fn binary(&mut self) {
        let width = self.width();
        let (a, b) = (self.operand(width), self.operand(width));
        let choice = self.random.u32(0..15);
        let arena = &mut self.arena;
        let op = |op, arena: &mut Arena| arena.binary(op, a.term, b.term);
        let (what, term) = match choice {
            0 => ("add", arena.add(a.term, b.term)),
            1 => ("sub", arena.sub(a.term, b.term)),
            2 => ("mul", arena.mul(a.term, b.term)),
            3 => ("and", op(BinaryOp::And, arena)),
            4 => ("or", op(BinaryOp::Or, arena)),
            5 => ("xor", op(BinaryOp::Xor, arena)),
            6 => ("shl", op(BinaryOp::ShiftLeft, arena)),
            7 => ("lshr", op(BinaryOp::ShiftRight, arena)),
            8 => ("ashr", op(BinaryOp::ArithmeticShiftRight, arena)),
            9 => ("udiv", op(BinaryOp::UnsignedDivide, arena)),
            10 => ("urem", op(BinaryOp::UnsignedRemainder, arena)),
            11 => ("sdiv", op(BinaryOp::SignedDivide, arena)),
            12 => ("srem", op(BinaryOp::SignedRemainder, arena)),
            13 => ("umulhi", op(BinaryOp::UnsignedMultiplyHigh, arena)),
            _ => ("smulhi", op(BinaryOp::SignedMultiplyHigh, arena)),
        };
        let values = a
            .values
            .iter()
            .zip(&b.values)
            .map(|(&x, &y)| binary_value(what, x, y, width))
            .collect();
        self.keep(what, term, width, values);
    }

    fn compare(&mut self) {
        let width = self.width();
        let (a, b) = (self.operand(width), self.operand(width));
        // Often against something that is nearly the same.
        let b = if self.random.u32(0..3) == 0 {
            let by = value(&mut self.random, width);
            let term = self.arena.add_constant(a.term, by);
            let values = a.values.iter().map(|&x| wrap(i128::from(x) + i128::from(by), width));
            Sample { term, width, values: values.collect() }
        } else {
            b
        };
        let ops = [
            Comparison::Equal,
            Comparison::UnsignedLess,
            Comparison::UnsignedLessEqual,
            Comparison::SignedLess,
            Comparison::SignedLessEqual,
        ];
        let op = self.random.choice(ops).unwrap_or(Comparison::Equal);
        let holds = |x: u64, y: u64| match op {
            Comparison::Equal => x == y,
            Comparison::UnsignedLess => x < y,
            Comparison::UnsignedLessEqual => x <= y,
            Comparison::SignedLess => signed(x, width) < signed(y, width),
            Comparison::SignedLessEqual => signed(x, width) <= signed(y, width),
        };
        let values = a.values.iter().zip(&b.values).map(|(&x, &y)| holds(x, y).into()).collect();
        let term = self.arena.compare(op, a.term, b.term);
        self.keep("compare", term, 1, values);
    }

    fn select(&mut self) {
        let width = self.width();
        let (c, a, b) = (self.operand(1), self.operand(width), self.operand(width));
        let term = self.arena.if_then_else(c.term, a.term, b.term);
        let values = (0..ASSIGNMENTS)
            .map(|i| if c.values[i] == 1 { a.values[i] } else { b.values[i] })
            .collect();
        self.keep("select", term, width, values);
    }

    fn resize(&mut self) {
        let from = self.width();
        let a = self.operand(from);
        let to = self.width();
        if to > from {
            let (what, term) = if self.random.bool() {
                ("zext", self.arena.zero_extend(a.term, to as u8))
            } else {
                ("sext", self.arena.sign_extend(a.term, to as u8))
            };
            let extend = |x: u64| if what == "zext" { x } else { wrap(signed(x, from), to) };
            let values = a.values.iter().map(|&x| extend(x)).collect();
            self.keep(what, term, to, values);
        } else {
            let low = self.random.u32(0..=from - to) / if self.random.bool() { 1 } else { 64 };
            let term = self.arena.extract(a.term, low as u8, to as u8);
            let values = a.values.iter().map(|&x| x >> low & ones(to)).collect();
            self.keep("extract", term, to, values);
        }
    }

    fn concatenate(&mut self) {
        let (high, low) = match self.random.u32(0..4) {
            0 => (32, 32),
            1 => (16, 16),
            2 => (8, 24),
            _ => (8, 8),
        };
        let (a, b) = if self.random.bool() && high == low {
            // Put together again what was taken apart.
            let whole = self.operand(high + low);
            let upper = self.arena.extract(whole.term, low as u8, high as u8);
            let lower = self.arena.extract(whole.term, 0, low as u8);
            let part = |from: u32, width: u32| {
                whole.values.iter().map(|&x| x >> from & ones(width)).collect()
            };
            (
                Sample { term: upper, width: high, values: part(low, high) },
                Sample { term: lower, width: low, values: part(0, low) },
            )
        } else {
            (self.operand(high), self.operand(low))
        };
        let term = self.arena.concatenate(a.term, b.term);
        let values = a.values.iter().zip(&b.values).map(|(&x, &y)| x << low | y).collect();
        self.keep("concatenate", term, high + low, values);
    }

    /// Equal arguments, equal results: all that is known of an uninterpreted function.
    fn apply(&mut self) {
        let a = self.operand(32);
        let term = self.arena.apply(FunctionId(0), &[a.term], 32);
        let values: Vec<u64> = (0..ASSIGNMENTS)
            .map(|i| {
                let assign = |symbol: SymbolId, _| self.symbols[symbol][i];
                Evaluator::new(&self.arena, assign).value(term)
            })
            .collect();
        for i in 0..ASSIGNMENTS {
            for j in 0..i {
                assert!(a.values[i] != a.values[j] || values[i] == values[j], "apply");
            }
        }
        self.keep("apply", term, 32, values);
    }

    fn step(&mut self) {
        match self.random.u32(0..16) {
            0..=1 => self.unary(),
            2..=7 => self.binary(),
            8..=9 => self.compare(),
            10..=11 => self.select(),
            12..=13 => self.resize(),
            14 => self.concatenate(),
            _ => self.apply(),
        }
    }

    /// Two terms that differ by a constant differ by it in every assignment.
    fn differences(&mut self) {
        for _ in 0..20 {
            let width = self.width();
            let (a, b) = (self.operand(width), self.operand(width));
            if let Some(difference) = self.arena.constant_difference(a.term, b.term) {
                for (&x, &y) in a.values.iter().zip(&b.values) {
                    assert_eq!(
                        wrap(i128::from(x) - i128::from(y), width),
                        wrap(difference.into(), width)
                    );
                }
            }
        }
    }

    /// A term in which a symbol is replaced by `symbol + 1` has the value of the term where the
    /// symbol is one more. (Only symbols without bounds: bounds must hold for the substituted term, too.)
    fn substitution(&mut self) {
        let symbol = SymbolId(4 * SYMBOLS);
        for sample in self.pool.split_off(self.pool.len().saturating_sub(10)) {
            let mut substitution = Substitution::new();
            let moved = substitution.apply(&mut self.arena, sample.term, &mut |arena, s, term| {
                if s == symbol { arena.add_constant(term, 1) } else { term }
            });
            for i in 0..ASSIGNMENTS {
                let at = |s: SymbolId, step: u64| {
                    let value = self.symbols[s][i];
                    if s == symbol { value.wrapping_add(step) & ones(32) } else { value }
                };
                let expected = Evaluator::new(&self.arena, |s, _| at(s, 1)).value(sample.term);
                let value = Evaluator::new(&self.arena, |s, _| at(s, 0)).value(moved);
                assert_eq!(value, expected, "substitution in {:?}", self.arena.node(sample.term));
            }
        }
    }
}

impl Builder {
    /// The next link of a chain: an operation on what the last one gave, and something recent.
    fn link(&mut self, width: u32) {
        let fitting: Vec<&Sample> = self.pool.iter().filter(|s| s.width == width).collect();
        let a = fitting[fitting.len() - 1].clone();
        let back = self.random.usize(0..fitting.len().min(4));
        let b = fitting[fitting.len() - 1 - back].clone();
        let symbol = fitting[self.random.usize(0..SYMBOLS as usize)].clone();
        let arena = &mut self.arena;
        let (what, term, other) = match self.random.u32(0..9) {
            0 => ("mul", arena.mul(a.term, a.term), a.clone()),
            1 => ("mul", arena.mul(a.term, b.term), b),
            2 => ("mul", arena.mul(a.term, symbol.term), symbol),
            3 => ("sub", arena.sub(a.term, b.term), b),
            4 => ("add", arena.add(a.term, symbol.term), symbol),
            5 => ("xor", arena.xor(a.term, symbol.term), symbol),
            6 => ("umulhi", arena.binary(BinaryOp::UnsignedMultiplyHigh, a.term, b.term), b),
            _ => ("add", arena.add(a.term, b.term), b),
        };
        let pairs = a.values.iter().zip(&other.values);
        let values = pairs.map(|(&x, &y)| binary_value(what, x, y, width)).collect();
        self.keep(what, term, width, values);
        if self.random.u32(0..8) == 0 {
            let end = self.pool[self.pool.len() - 1].clone();
            let term = self.arena.extract(end.term, 0, 16);
            let low = end.values.iter().map(|&x| x & 0xffff).collect();
            self.keep("extract", term, 16, low);
            let wide = self.arena.sign_extend(end.term, 64);
            let values = end.values.iter().map(|&x| wrap(signed(x, width), 64)).collect();
            self.keep("sext", wide, 64, values);
        }
    }
}

fn binary_value(what: &str, x: u64, y: u64, width: u32) -> u64 {
    let (a, b) = (i128::from(x), i128::from(y));
    let (sa, sb) = (signed(x, width), signed(y, width));
    let shift = y.min(64) as u32;
    let value = match what {
        "add" => a + b,
        "sub" => a - b,
        "mul" => ((x as u128).wrapping_mul(y as u128)) as i128,
        "and" => (x & y).into(),
        "or" => (x | y).into(),
        "xor" => (x ^ y).into(),
        "shl" => {
            if shift >= width {
                0
            } else {
                a << shift
            }
        }
        "lshr" => {
            if shift >= width {
                0
            } else {
                a >> shift
            }
        }
        "ashr" => sa >> shift,
        // By zero as in SMT-LIB.
        "udiv" => {
            if b == 0 {
                -1
            } else {
                a / b
            }
        }
        "urem" => {
            if b == 0 {
                a
            } else {
                a % b
            }
        }
        "sdiv" if b == 0 => {
            if sa < 0 {
                1
            } else {
                -1
            }
        }
        "sdiv" => sa / sb,
        "srem" => {
            if b == 0 {
                sa
            } else {
                sa % sb
            }
        }
        "umulhi" => ((x as u128 * y as u128) >> width) as i128,
        "smulhi" => (sa * sb) >> width,
        _ => unreachable!("{what}"),
    };
    wrap(value, width)
}

#[test]
fn constructors_keep_the_meaning() {
    for seed in 0..300 {
        let mut builder = Builder::new(seed);
        for _ in 0..120 {
            builder.step();
        }
        builder.differences();
        builder.substitution();
    }
}

/// Far beyond the bounds of sums and products.
#[test]
fn long_chains_keep_the_meaning() {
    for seed in 0..60 {
        let mut builder = Builder::new(seed);
        for _ in 0..150 {
            builder.link(32);
        }
        builder.differences();
        builder.substitution();
    }
}
