//! The kinds of terms.

/// A term in an [`Arena`](super::Arena). Equal ids mean equal terms; operands have lower ids than the
/// terms that use them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TermId(pub(super) u32);

/// A free symbol. Its meaning is known to the module that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SymbolId(pub u32);

/// An uninterpreted function: equal arguments give equal results, nothing else is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);

table_ids!(TermId, SymbolId, FunctionId);

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

/// A term: an operator with its operands. Only the constructors of [`Arena`](super::Arena) build nodes, so each of
/// these is in normal form.
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
