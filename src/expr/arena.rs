//! The arena of hash-consed terms and what a term can be.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::budget::Meter;
use super::range::Range;

/// A term in an [`Arena`]. Equal ids mean equal terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TermId(pub(super) u32);

impl TermId {
    /// For indexing: ids are dense and operands come before the terms that use them.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A free symbol. Its meaning is known to the module that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SymbolId(pub u32);

/// An uninterpreted function: equal arguments give equal results, nothing else is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);

/// Operations on one operand; the result is as wide as the operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Logical negation of a predicate (1 bit). Wider complements are sums, `-x - 1`.
    Not,
    /// Number of one bits.
    PopulationCount,
    /// Number of leading zero bits; the width for 0.
    LeadingZeros,
    /// Bits in reverse order.
    Reverse,
}

/// Operations on two operands of one width; the result has that width. Differences and shifts to the
/// left by a constant are not here: they have normal forms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// The sum of two terms that together have too many summands for a [`Node::Sum`].
    Add,
    /// The product of two terms that together have too many factors, or too large exponents, for a
    /// [`Node::Product`].
    Multiply,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left; 0 from `width` on.
    ShiftLeft,
    /// Logical shift to the right; 0 from `width` on.
    ShiftRight,
    /// Arithmetic shift to the right; the sign from `width` on.
    ArithmeticShiftRight,
    /// Unsigned quotient. Division by 0 gives all ones, as in SMT-LIB; PTX leaves it open, so the
    /// emulator keeps it apart.
    UnsignedDivide,
    /// Unsigned remainder; by 0 the dividend.
    UnsignedRemainder,
    /// Signed quotient, rounded towards zero; by 0 as in SMT-LIB.
    SignedDivide,
    /// Signed remainder with the sign of the dividend; by 0 the dividend.
    SignedRemainder,
    /// Upper half of the unsigned product.
    UnsignedMultiplyHigh,
    /// Upper half of the signed product.
    SignedMultiplyHigh,
}

/// Comparisons of two operands of one width; the result is 1 bit wide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// `a = b`
    Equal,
    /// Unsigned `a < b`
    UnsignedLess,
    /// Unsigned `a <= b`
    UnsignedLessEqual,
    /// Signed `a < b`
    SignedLess,
    /// Signed `a <= b`
    SignedLessEqual,
}

/// What a term is. Only the constructors of [`Arena`] build nodes, so each of these is in normal
/// form.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A constant, below 2^width.
    Constant(u64),
    /// A free symbol.
    Symbol(SymbolId),
    /// `constant + sum of coefficient * term`, modulo 2^width. Addends are sorted by term, none is
    /// a sum or constant, no coefficient is 0; at least two summands or a coefficient other than 1.
    Sum {
        /// The constant part.
        constant: u64,
        /// `(term, coefficient)`.
        addends: Box<[(TermId, u64)]>,
    },
    /// The product of `term` to the power of `exponent`, modulo 2^width. Factors are sorted by term,
    /// none is a product or constant, and a sum only where multiplying it out would be too much; no
    /// exponent is 0; at least two factors or an exponent other than 1.
    Product(Box<[(TermId, u64)]>),
    /// An operation on one operand.
    Unary(UnaryOp, TermId),
    /// An operation on two operands.
    Binary(BinaryOp, TermId, TermId),
    /// A comparison.
    Compare(Comparison, TermId, TermId),
    /// `if condition then a else b`
    IfThenElse(TermId, TermId, TermId),
    /// Zeros in front.
    ZeroExtend(TermId),
    /// Copies of the sign bit in front.
    SignExtend(TermId),
    /// The bits of a term from `low` on, as many as the node is wide.
    Extract(TermId, u8),
    /// The first operand's bits above the second's.
    Concatenate(TermId, TermId),
    /// An uninterpreted function of its arguments.
    Apply(FunctionId, Box<[TermId]>),
}

/// Steps charged for a new term: it takes memory.
const NEW_TERM: u64 = 12;

/// Owns all terms of one kernel.
#[derive(Debug, Default)]
pub struct Arena {
    pub(super) nodes: IndexSet<(Node, u8), FxBuildHasher>,
    pub(super) ranges: Vec<Range>,
    /// See [`Arena::tree_size`].
    pub(super) sizes: Vec<u32>,
    pub(super) meter: Meter,
    /// See [`Arena::split_known`].
    pub(super) splits: FxHashMap<TermId, (TermId, i64)>,
}

impl Arena {
    /// A term and a constant that a later stage has split a term into and remembers, so that it need not do so again.
    pub fn split_known(&self, term: TermId) -> Option<(TermId, i64)> {
        self.splits.get(&term).copied()
    }

    /// Remembers what a term was split into.
    pub fn remember_split(&mut self, term: TermId, split: (TermId, i64)) {
        self.splits.insert(term, split);
    }

    /// An empty arena.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// How many terms exist. Ids are given in order, operands before the terms that use them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All terms, operands before the terms that use them.
    pub fn terms(&self) -> impl Iterator<Item = TermId> + use<> {
        (0..self.nodes.len() as u32).map(TermId)
    }

    /// Whether no term exists.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What a term is.
    pub fn node(&self, term: TermId) -> &Node {
        &self.nodes[term.0 as usize].0
    }

    /// A term's width in bits.
    pub fn width(&self, term: TermId) -> u8 {
        self.nodes[term.0 as usize].1
    }

    /// Bounds that hold for every value of the symbols.
    pub fn range(&self, term: TermId) -> Range {
        self.ranges[term.0 as usize]
    }

    /// A term's value, if it is a constant.
    pub fn constant_value(&self, term: TermId) -> Option<u64> {
        match *self.node(term) {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The operands of a term, in order.
    pub fn operands(&self, term: TermId) -> smallvec::SmallVec<[TermId; 4]> {
        use smallvec::smallvec;
        match self.node(term) {
            Node::Constant(_) | Node::Symbol(_) => smallvec![],
            Node::Sum { addends: parts, .. } | Node::Product(parts) => {
                parts.iter().map(|&(t, _)| t).collect()
            }
            Node::Unary(_, a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::Extract(a, _) => {
                smallvec![*a]
            }
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concatenate(a, b) => {
                smallvec![*a, *b]
            }
            Node::IfThenElse(c, a, b) => smallvec![*c, *a, *b],
            Node::Apply(_, arguments) => arguments.iter().copied().collect(),
        }
    }

    /// Adds a node that is already in normal form, or finds the equal one.
    pub(super) fn intern(&mut self, node: Node, width: u8) -> TermId {
        debug_assert!((1..=64).contains(&width));
        let cells = match &node {
            Node::Sum { addends: parts, .. } | Node::Product(parts) => parts.len(),
            Node::Apply(_, arguments) => arguments.len(),
            _ => 0,
        };
        self.charge(1 + cells as u64);
        let size = self.compute_size(&node);
        let (index, new) = self.nodes.insert_full((node, width));
        if new {
            self.charge(NEW_TERM);
            let range = self.compute_range(index);
            self.ranges.push(range);
            self.sizes.push(size);
        }
        let range = self.ranges[index];
        if range.umin == range.umax && !matches!(self.nodes[index].0, Node::Constant(_)) {
            return self.constant(range.umin, width);
        }
        TermId(index as u32)
    }

    /// Adds a symbol whose values are known to lie within bounds.
    pub fn symbol_within(&mut self, symbol: SymbolId, width: u8, range: Range) -> TermId {
        let term = self.intern(Node::Symbol(symbol), width);
        self.ranges[term.0 as usize] = range;
        term
    }

    pub(super) fn entry(&self, index: usize) -> (&Node, u8) {
        let (node, width) = &self.nodes[index];
        (node, *width)
    }
}
