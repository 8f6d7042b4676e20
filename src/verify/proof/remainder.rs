//! The low bits of loop-carried values: a register that every iteration changes by a multiple
//! of a power of two keeps, below it, the bits that it had when the loop was entered.
//!
//! In: the loops of evaluated programs. Out: terms of the low bits in which such registers are
//! replaced by their initial values; this is an induction over the iterations of one lane. Of each
//! part only as many bits are asked for as matter to the whole: of `4 * i` two fewer of `i`.

use rustc_hash::FxHashMap;

use crate::expr::{BinaryOp, Comparison, Node, SymbolId, TermId};
use crate::record::Execution;
use crate::terms::{Kind, Terms};

/// Parts of terms that are nested deeper stay as they are.
const MAX_DEPTH: u32 = 32;

/// For the registers of loops, their initial value and the amount that an iteration adds.
pub(crate) struct LowBits {
    values: FxHashMap<SymbolId, (TermId, TermId)>,
    /// By parameter how many low bits of the pointer are zeros.
    zeros: FxHashMap<String, u32>,
    /// By a parameter's term how many low bits are zeros, as a condition says.
    tested: FxHashMap<TermId, u8>,
}

impl LowBits {
    /// The low bits in the loops of some executions; `aligned` has parameters, each with a number that it is a multiple
    /// of.
    pub(crate) fn new(
        terms: &mut Terms,
        executions: &[&Execution],
        aligned: &[(String, u64)],
    ) -> LowBits {
        let mut values = FxHashMap::default();
        for record in executions.iter().flat_map(|execution| execution.loops.iter().flatten()) {
            for loop_value in
                record.values.iter().filter(|loop_value| loop_value.register.is_some())
            {
                let Some(symbol) = terms.as_symbol(loop_value.symbol) else { continue };
                let step = terms.arena.sub(loop_value.latch, loop_value.symbol);
                values.insert(symbol, (loop_value.initial, step));
            }
        }
        let mut zeros: FxHashMap<String, u32> = FxHashMap::default();
        for (name, align) in aligned {
            let known = zeros.entry(name.clone()).or_default();
            *known = align.trailing_zeros().max(*known);
        }
        LowBits { values, zeros, tested: FxHashMap::default() }
    }

    /// The same where some conditions hold: those on low bits of parameters, which no iteration changes.
    pub(crate) fn under(mut self, terms: &Terms, known: &[TermId]) -> LowBits {
        for &condition in known {
            let Node::Compare(Comparison::Equal, a, b) = *terms.arena.node(condition) else {
                continue;
            };
            let (mut term, zero) =
                if terms.arena.constant_value(a) == Some(0) { (b, a) } else { (a, b) };
            if terms.arena.constant_value(zero) != Some(0) {
                continue;
            }
            while let Node::ZeroExtend(inner) = *terms.arena.node(term) {
                term = inner;
            }
            let mut bits = terms.arena.width(term);
            match *terms.arena.node(term) {
                Node::Extract(inner, 0) => term = inner,
                Node::Binary(BinaryOp::And, inner, mask) => {
                    let Some(mask) = terms.arena.constant_value(mask) else { continue };
                    bits = mask.trailing_ones() as u8;
                    term = inner;
                }
                _ => {}
            }
            let is_parameter = terms.as_symbol(term).is_some_and(|symbol| {
                matches!(terms.symbols.info(symbol).kind, Kind::Parameter { .. })
            });
            if is_parameter {
                self.tested.insert(term, bits);
            }
        }
        self
    }

    /// The `bits` low bits of a term, wherever its symbols have values of one iteration.
    pub(crate) fn of(&self, terms: &mut Terms, term: TermId, bits: u8) -> TermId {
        self.low(terms, term, bits, MAX_DEPTH)
    }

    fn low(&self, terms: &mut Terms, term: TermId, bits: u8, depth: u32) -> TermId {
        terms.arena.charge(4);
        if depth == 0 || terms.arena.width(term) <= bits {
            return terms.arena.resize(term, bits);
        }
        let (constant, addends) = terms.arena.linear_parts(term);
        let mut total = terms.arena.constant(constant & ((1 << bits) - 1), bits);
        for (part, coefficient) in addends {
            let zeros = coefficient.trailing_zeros() as u8;
            if zeros >= bits {
                continue;
            }
            let low = match part == term {
                true => self.part(terms, part, bits, depth - 1),
                false => self.low(terms, part, bits - zeros, depth - 1),
            };
            let wide = terms.arena.zero_extend(low, bits);
            let scaled = terms.arena.scale(wide, coefficient);
            total = terms.arena.add(total, scaled);
        }
        total
    }

    /// The low bits of a term that is not a sum.
    fn part(&self, terms: &mut Terms, term: TermId, bits: u8, depth: u32) -> TermId {
        if self.tested.get(&term).is_some_and(|&zeros| bits <= zeros) {
            return terms.arena.constant(0, bits);
        }
        match terms.arena.node(term).clone() {
            Node::Symbol(symbol) => {
                if let Kind::Parameter { name, offset: 0, bits: 64 } =
                    &terms.symbols.info(symbol).kind
                    && self.zeros.get(name).is_some_and(|&zeros| u32::from(bits) <= zeros)
                {
                    return terms.arena.constant(0, bits);
                }
                let Some(&(initial, step)) = self.values.get(&symbol) else {
                    return terms.arena.extract(term, 0, bits);
                };
                // (All registers keep these bits together, by induction over the iterations.)
                let step = self.low(terms, step, bits, depth / 2);
                match terms.arena.constant_value(step) {
                    Some(0) => self.low(terms, initial, bits, depth),
                    _ => terms.arena.extract(term, 0, bits),
                }
            }
            Node::ZeroExtend(inner) | Node::SignExtend(inner)
                if terms.arena.width(inner) >= bits =>
            {
                self.low(terms, inner, bits, depth)
            }
            Node::Extract(inner, 0) => self.low(terms, inner, bits, depth),
            Node::Product(factors) => {
                let one = terms.arena.constant(1, bits);
                factors.iter().fold(one, |product, &(factor, exponent)| {
                    let factor = self.low(terms, factor, bits, depth);
                    let power = terms.arena.power(factor, exponent);
                    terms.arena.mul(product, power)
                })
            }
            _ => terms.arena.extract(term, 0, bits),
        }
    }
}
