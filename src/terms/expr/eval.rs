//! The value of a term for given values of its symbols: the meaning of every operation, in plain
//! arithmetic.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::arena::Arena;
use super::bits::{mask, power, sign_extend, to_signed};
use super::node::{BinaryOp, Node, SymbolId, TermId, UnaryOp};

/// The value of a one-operand operation on a `width`-bit value.
pub fn evaluate_unary(op: UnaryOp, a: u64, width: u8) -> u64 {
    let result = match op {
        UnaryOp::Not => !a,
        UnaryOp::PopulationCount => u64::from(a.count_ones()),
        UnaryOp::LeadingZeros => u64::from(a.leading_zeros()) - (64 - u64::from(width)),
        UnaryOp::Reverse => a.reverse_bits() >> (64 - u32::from(width)),
    };
    result & mask(width)
}

/// The value of a two-operand operation on `width`-bit values.
pub fn evaluate_binary(op: BinaryOp, a: u64, b: u64, width: u8) -> u64 {
    let (sa, sb) = (to_signed(a, width), to_signed(b, width));
    let within = b < u64::from(width);
    let result = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => {
            if within {
                a << b
            } else {
                0
            }
        }
        BinaryOp::ShiftRight => {
            if within {
                a >> b
            } else {
                0
            }
        }
        BinaryOp::ArithmeticShiftRight => (sa >> b.min(u64::from(width) - 1)) as u64,
        BinaryOp::UnsignedDivide => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::UnsignedRemainder => a.checked_rem(b).unwrap_or(a),
        BinaryOp::SignedDivide if b == 0 => {
            if sa < 0 {
                1
            } else {
                u64::MAX
            }
        }
        BinaryOp::SignedDivide => sa.wrapping_div(sb) as u64,
        BinaryOp::SignedRemainder if b == 0 => a,
        BinaryOp::SignedRemainder => sa.wrapping_rem(sb) as u64,
        BinaryOp::UnsignedMultiplyHigh => ((u128::from(a) * u128::from(b)) >> width) as u64,
        BinaryOp::SignedMultiplyHigh => ((i128::from(sa) * i128::from(sb)) >> width) as u64,
    };
    result & mask(width)
}

/// One of some numbers, or the number below or above it, as `seed` chooses.
pub fn neighbour(numbers: &[u64], seed: u64) -> u64 {
    let number = numbers[(seed / 3 % numbers.len() as u64) as usize];
    number.wrapping_add(seed % 3).wrapping_sub(1)
}

/// Evaluates terms under one assignment of the symbols. Uninterpreted functions get results by
/// hashing: deterministic, and equal for equal arguments.
pub struct Evaluator<'a, F: FnMut(SymbolId, u8) -> u64> {
    arena: &'a Arena,
    assign: F,
    known: FxHashMap<TermId, u64>,
}

impl<'a, F: FnMut(SymbolId, u8) -> u64> Evaluator<'a, F> {
    /// `assign` gives a symbol of some width its value.
    pub fn new(arena: &'a Arena, assign: F) -> Self {
        Evaluator { arena, assign, known: FxHashMap::default() }
    }

    /// The value of a term.
    pub fn value(&mut self, term: TermId) -> u64 {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.known.contains_key(&next) {
                stack.pop();
                continue;
            }
            let depth = stack.len();
            let operands = self.arena.operands(next);
            self.arena.charge(2 + operands.len() as u64);
            stack.extend(operands.into_iter().filter(|t| !self.known.contains_key(t)));
            if stack.len() == depth {
                let value = self.step(next);
                self.known.insert(next, value);
                stack.pop();
            }
        }
        self.known[&term]
    }

    fn step(&mut self, term: TermId) -> u64 {
        let arena = self.arena;
        match arena.node(term) {
            Node::Symbol(symbol) => {
                let width = arena.width(term);
                (self.assign)(*symbol, width) & mask(width)
            }
            _ => evaluate_node(arena, term, &|t| self.known[&t], &[]),
        }
    }
}

/// The value of a term for given values of its operands; 0 for a symbol. Uninterpreted functions get
/// results by hashing, close to one of the numbers `near` if there are any.
pub fn evaluate_node(
    arena: &Arena,
    term: TermId,
    value_of: &impl Fn(TermId) -> u64,
    near: &[u64],
) -> u64 {
    let [value] = evaluate_lanes(arena, term, &|term| [value_of(term)], near);
    value
}

/// The same in several lanes at once.
pub(super) fn evaluate_lanes<const LANES: usize>(
    arena: &Arena,
    term: TermId,
    value_of: &impl Fn(TermId) -> [u64; LANES],
    near: &[u64],
) -> [u64; LANES] {
    let width = arena.width(term);
    let of = |t: &TermId| value_of(*t);
    let folded = |first: u64, all: &[(TermId, u64)], with: fn(u64, u64, u64) -> u64| {
        let mut found = [first; LANES];
        for &(term, number) in all {
            let values = value_of(term);
            found
                .iter_mut()
                .zip(values)
                .for_each(|(so_far, value)| *so_far = with(*so_far, value, number));
        }
        found
    };
    let values = match arena.node(term) {
        Node::Constant(value) => [*value; LANES],
        Node::Symbol(_) => [0; LANES],
        Node::Sum { constant, addends } => folded(*constant, addends, |sum, value, factor| {
            sum.wrapping_add(value.wrapping_mul(factor))
        }),
        Node::Product(factors) => folded(1, factors, |product, value, exponent| {
            product.wrapping_mul(power(value, exponent))
        }),
        Node::Unary(op, a) => of(a).map(|a| evaluate_unary(*op, a, width)),
        Node::Binary(op, a, b) => {
            let (a, b) = (of(a), of(b));
            std::array::from_fn(|lane| evaluate_binary(*op, a[lane], b[lane], width))
        }
        Node::Compare(op, a, b) => {
            let (bits, a, b) = (arena.width(*a), of(a), of(b));
            std::array::from_fn(|lane| u64::from(op.holds(a[lane], b[lane], bits)))
        }
        Node::IfThenElse(c, a, b) => {
            let (c, a, b) = (of(c), of(a), of(b));
            std::array::from_fn(|lane| if c[lane] != 0 { a[lane] } else { b[lane] })
        }
        Node::ZeroExtend(a) => of(a),
        Node::SignExtend(a) => of(a).map(|value| sign_extend(value, arena.width(*a))),
        Node::Extract(a, low) => of(a).map(|value| value >> low),
        Node::Concatenate(a, b) => {
            let (bits, a, b) = (arena.width(*b), of(a), of(b));
            std::array::from_fn(|lane| a[lane] << bits | b[lane])
        }
        Node::Apply(function, arguments) => {
            let arguments: SmallVec<[[u64; LANES]; 4]> = arguments.iter().map(of).collect();
            std::array::from_fn(|lane| {
                let mut hasher = FxHasher::default();
                function.hash(&mut hasher);
                arguments.iter().for_each(|values| values[lane].hash(&mut hasher));
                let hash = hasher.finish().rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
                match near {
                    [] => hash,
                    near => neighbour(near, hash),
                }
            })
        }
    };
    values.map(|value| value & mask(width))
}
