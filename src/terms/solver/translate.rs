//! Terms as z3's bit-vector expressions.

use rustc_hash::{FxHashMap, FxHashSet};
use z3::ast::{Ast, BV, Bool, Dynamic};
use z3::{FuncDecl, Sort};

use super::names::Names;
use crate::expr::{Arena, BinaryOp, Comparison, Node, Range, SymbolId, TermId, UnaryOp};

/// Translates terms of one arena; a shared part is translated once.
pub(super) struct Translator<'a> {
    arena: &'a Arena,
    names: &'a dyn Names,
    done: FxHashMap<TermId, BV>,
    bounded: FxHashSet<TermId>,
    pending: Vec<Bool>,
    /// Values that stand for the symbols.
    values: Option<&'a dyn Fn(SymbolId) -> u64>,
    /// Whether products and quotients of two unknowns are symbols of their own.
    is_coarse: bool,
    /// Whether there was such a product or quotient.
    was_coarse: bool,
}

impl<'a> Translator<'a> {
    pub(super) fn new(arena: &'a Arena, names: &'a dyn Names) -> Self {
        Translator {
            arena,
            names,
            done: FxHashMap::default(),
            bounded: FxHashSet::default(),
            pending: Vec::new(),
            values: None,
            is_coarse: false,
            was_coarse: false,
        }
    }

    /// A translation in which products and quotients of two unknowns may be anything within their
    /// bounds that obeys a few simple laws. A claim that holds of it holds of the terms, and is easy to
    /// prove.
    pub(super) fn coarse(arena: &'a Arena, names: &'a dyn Names) -> Self {
        Translator { is_coarse: true, ..Self::new(arena, names) }
    }

    /// Whether a product or quotient was left open so far.
    pub(super) fn was_coarse(&self) -> bool {
        self.was_coarse
    }

    /// The value of a term for given values of the symbols, by z3's simplifier; `None` if an
    /// uninterpreted function is left in it.
    #[cfg(feature = "internals")]
    pub(super) fn value(
        arena: &'a Arena,
        names: &'a dyn Names,
        term: TermId,
        values: &'a dyn Fn(SymbolId) -> u64,
    ) -> Option<u64> {
        let mut translator = Translator { values: Some(values), ..Self::new(arena, names) };
        translator.bits(term).simplify().as_u64()
    }

    /// A 1-bit term as a formula.
    pub(super) fn boolean(&mut self, term: TermId) -> Bool {
        let bits = self.bits(term);
        bits.eq(BV::from_u64(1, 1))
    }

    /// `a != b`
    pub(super) fn differ(&mut self, a: TermId, b: TermId) -> Bool {
        let (a, b) = (self.bits(a), self.bits(b));
        a.eq(&b).not()
    }

    /// The bounds of the symbols that have been translated since the last call, as the hardware sets
    /// them.
    pub(super) fn bounds(&mut self) -> Vec<Bool> {
        std::mem::take(&mut self.pending)
    }

    /// A term as a bit-vector.
    pub(super) fn bits(&mut self, term: TermId) -> BV {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.done.contains_key(&next) {
                stack.pop();
                continue;
            }
            let depth = stack.len();
            let operands = self.arena.operands(next);
            stack.extend(operands.into_iter().filter(|t| !self.done.contains_key(t)));
            if stack.len() == depth {
                let built = self.step(next);
                self.done.insert(next, built);
                stack.pop();
            }
        }
        self.done[&term].clone()
    }

    fn step(&mut self, term: TermId) -> BV {
        let arena = self.arena;
        let width = u32::from(arena.width(term));
        let constant = |value: u64| BV::from_u64(value, width);
        let of = |t: &TermId| self.done[t].clone();
        match arena.node(term) {
            Node::Constant(value) => constant(*value),
            Node::Symbol(symbol) => {
                if let Some(values) = self.values {
                    return constant(values(*symbol));
                }
                let name = self.names.symbol(*symbol);
                let bits = BV::new_const(name, width);
                self.bound(term, &bits);
                bits
            }
            Node::Sum { constant: start, addends } => addends
                .iter()
                .fold(constant(*start), |sum, (t, c)| sum.bvadd(of(t).bvmul(constant(*c)))),
            _ if self.is_coarse && is_hard(arena, term) => self.anything(term),
            Node::Product(factors) => factors
                .iter()
                .map(|(t, exponent)| power(&of(t), *exponent))
                .reduce(|product, factor| product.bvmul(&factor))
                .unwrap_or_else(|| constant(1)),
            Node::Unary(op, a) => unary(*op, &of(a)),
            Node::Binary(op, a, b) => binary(*op, &of(a), &of(b)),
            Node::Compare(op, a, b) => {
                let (a, b) = (of(a), of(b));
                let holds = match op {
                    Comparison::Equal => a.eq(&b),
                    Comparison::UnsignedLess => a.bvult(&b),
                    Comparison::UnsignedLessEqual => a.bvule(&b),
                    Comparison::SignedLess => a.bvslt(&b),
                    Comparison::SignedLessEqual => a.bvsle(&b),
                };
                holds.ite(&BV::from_u64(1, 1), &BV::from_u64(0, 1))
            }
            Node::IfThenElse(c, a, b) => of(c).eq(BV::from_u64(1, 1)).ite(&of(a), &of(b)),
            Node::ZeroExtend(a) => of(a).zero_ext(width - u32::from(arena.width(*a))),
            Node::SignExtend(a) => of(a).sign_ext(width - u32::from(arena.width(*a))),
            Node::Extract(a, low) => of(a).extract(u32::from(*low) + width - 1, u32::from(*low)),
            Node::Concatenate(a, b) => of(a).concat(of(b)),
            Node::Apply(function, arguments) => {
                let arguments: Vec<BV> = arguments.iter().map(of).collect();
                let sorts: Vec<Sort> =
                    arguments.iter().map(|a| Sort::bitvector(a.get_size())).collect();
                let name = self.names.function(*function);
                // One name may be used with operands of several widths: each is its own function.
                let widths: Vec<String> =
                    arguments.iter().map(|a| a.get_size().to_string()).collect();
                let name = format!("{name}:{}:{width}", widths.join(","));
                let sorts: Vec<&Sort> = sorts.iter().collect();
                let declared = FuncDecl::new(name, &sorts, &Sort::bitvector(width));
                let arguments: Vec<&dyn Ast> = arguments.iter().map(|a| a as &dyn Ast).collect();
                let applied: Dynamic = declared.apply(&arguments);
                applied.as_bv().unwrap_or_else(|| self.anything(term))
            }
        }
    }

    /// A symbol that stands for a product or quotient, with the laws that it obeys.
    fn anything(&mut self, term: TermId) -> BV {
        let arena = self.arena;
        let width = u32::from(arena.width(term));
        self.was_coarse = true;
        let result = BV::new_const(format!("term:{}", usize::from(term)), width);
        self.bound(term, &result);
        let Node::Binary(op, a, b) = arena.node(term) else { return result };
        let (a, b) = (self.done[a].clone(), self.done[b].clone());
        let zero = BV::from_u64(0, width);
        // A number below the divisor is its own remainder, and its quotient is 0.
        let (within, law) = match op {
            BinaryOp::UnsignedRemainder => (a.bvult(&b), result.eq(&a)),
            BinaryOp::UnsignedDivide => (a.bvult(&b), result.eq(&zero)),
            BinaryOp::SignedRemainder => (a.bvsge(&zero) & a.bvslt(&b), result.eq(&a)),
            BinaryOp::SignedDivide => (a.bvsge(&zero) & a.bvslt(&b), result.eq(&zero)),
            _ => return result,
        };
        self.pending.push(within.implies(&law));
        // A remainder lies below the divisor.
        match op {
            BinaryOp::UnsignedRemainder => {
                self.pending.push(b.eq(&zero) | result.bvult(&b));
            }
            BinaryOp::SignedRemainder => {
                let positive = a.bvsge(&zero) & b.bvsgt(&zero);
                self.pending.push(positive.implies(result.bvsge(&zero) & result.bvslt(&b)));
            }
            _ => {}
        }
        result
    }

    fn bound(&mut self, term: TermId, bits: &BV) {
        let range = self.arena.range(term);
        let width = self.arena.width(term);
        if range != Range::full(width) && self.bounded.insert(term) {
            let size = u32::from(width);
            self.pending.push(bits.bvuge(BV::from_u64(range.umin, size)));
            self.pending.push(bits.bvule(BV::from_u64(range.umax, size)));
        }
    }
}

/// `a` to the power of `exponent`, which is not 0.
fn power(a: &BV, exponent: u64) -> BV {
    // From the highest bit of the exponent down: square, and multiply if the bit is set.
    let below = exponent.checked_ilog2().unwrap_or(0);
    (0..below).rev().fold(a.clone(), |result, bit| {
        let square = result.bvmul(&result);
        if exponent >> bit & 1 == 1 { square.bvmul(a) } else { square }
    })
}

/// Whether a solver takes long for a term: it is nonlinear in unknowns.
pub(super) fn is_hard(arena: &Arena, term: TermId) -> bool {
    match arena.node(term) {
        Node::Product(_) => true,
        Node::Binary(op, a, b) => {
            let unknown = |t: &TermId| arena.constant_value(*t).is_none();
            match op {
                BinaryOp::UnsignedDivide
                | BinaryOp::UnsignedRemainder
                | BinaryOp::SignedDivide
                | BinaryOp::SignedRemainder => unknown(b) || arena.width(term) > 32,
                BinaryOp::Multiply
                | BinaryOp::UnsignedMultiplyHigh
                | BinaryOp::SignedMultiplyHigh => unknown(a) && unknown(b),
                _ => false,
            }
        }
        _ => false,
    }
}

fn unary(op: UnaryOp, a: &BV) -> BV {
    let width = a.get_size();
    let bit = |index: u32| a.extract(index, index);
    match op {
        UnaryOp::Not => a.bvnot(),
        UnaryOp::PopulationCount => (0..width)
            .map(|index| if width == 1 { bit(index) } else { bit(index).zero_ext(width - 1) })
            .reduce(|sum, b| sum.bvadd(&b))
            .unwrap_or_else(|| a.clone()),
        UnaryOp::LeadingZeros => {
            // From the lowest bit up, so that the highest one bit decides.
            (0..width).fold(BV::from_u64(u64::from(width), width), |count, index| {
                let here = BV::from_u64(u64::from(width - 1 - index), width);
                bit(index).eq(BV::from_u64(1, 1)).ite(&here, &count)
            })
        }
        UnaryOp::Reverse => (1..width).fold(bit(0), |reversed, index| reversed.concat(bit(index))),
    }
}

fn binary(op: BinaryOp, a: &BV, b: &BV) -> BV {
    let width = a.get_size();
    match op {
        BinaryOp::Add => a.bvadd(b),
        BinaryOp::Multiply => a.bvmul(b),
        BinaryOp::And => a.bvand(b),
        BinaryOp::Or => a.bvor(b),
        BinaryOp::Xor => a.bvxor(b),
        BinaryOp::ShiftLeft => a.bvshl(b),
        BinaryOp::ShiftRight => a.bvlshr(b),
        BinaryOp::ArithmeticShiftRight => a.bvashr(b),
        BinaryOp::UnsignedDivide => a.bvudiv(b),
        BinaryOp::UnsignedRemainder => a.bvurem(b),
        BinaryOp::SignedDivide => a.bvsdiv(b),
        BinaryOp::SignedRemainder => a.bvsrem(b),
        BinaryOp::UnsignedMultiplyHigh => {
            let product = a.zero_ext(width).bvmul(b.zero_ext(width));
            product.extract(2 * width - 1, width)
        }
        BinaryOp::SignedMultiplyHigh => {
            let product = a.sign_ext(width).bvmul(b.sign_ext(width));
            product.extract(2 * width - 1, width)
        }
    }
}
