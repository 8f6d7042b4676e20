//! Elements, operands that may be numbers, and truth values that depend on inputs.

/// A bound of the degree of the polynomials that an element is the quotient of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(crate) struct Degree(u32);

const QUOTIENT: u32 = 1 << 31;
const MAX_DEGREE: u32 = QUOTIENT - 1;

impl Degree {
    /// The degree of a constant.
    pub(crate) const ZERO: Degree = Degree(0);
    /// The degree of a variable.
    pub(crate) const ONE: Degree = Degree(1);

    /// The degree as a number.
    pub(super) fn value(self) -> u32 {
        self.0 & MAX_DEGREE
    }

    fn with(self, other: Degree, value: u32) -> Degree {
        Degree(value.min(MAX_DEGREE) | (self.0 | other.0) & QUOTIENT)
    }

    /// The degree of a sum. A sum of quotients has the product of their denominators.
    #[inline]
    pub(super) fn sum(self, other: Degree) -> Degree {
        if (self.0 | other.0) & QUOTIENT == 0 {
            return Degree(self.0.max(other.0));
        }
        self.product(other)
    }

    /// The degree of a product.
    #[inline]
    pub(super) fn product(self, other: Degree) -> Degree {
        self.with(other, self.value().saturating_add(other.value()))
    }

    /// The degree of an inverse.
    pub(super) fn inverse(self) -> Degree {
        if self == Degree::ZERO { self } else { Degree(self.0 | QUOTIENT) }
    }
}

/// An element: over the reals residues modulo `P` and `Q`, over the bits a hash of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(crate) struct Element {
    /// The residue that carries the value.
    pub p: u64,
    /// The residue that carries it as an exponent.
    pub q: u64,
    /// Its degree.
    pub degree: Degree,
}

/// `N` elements side by side.
#[derive(Clone, Debug)]
pub(crate) struct Elements<const N: usize> {
    /// Their residues that carry the values.
    pub p: [u64; N],
    /// Their residues that carry these as exponents.
    pub q: [u64; N],
    /// Their degrees.
    pub degree: [Degree; N],
}

impl<const N: usize> Default for Elements<N> {
    fn default() -> Elements<N> {
        Elements { p: [0; N], q: [0; N], degree: [Degree::ZERO; N] }
    }
}

impl<const N: usize> Elements<N> {
    /// One of them.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Element {
        Element { p: self.p[at], q: self.q[at], degree: self.degree[at] }
    }

    /// Replaces one of them.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, Element { p, q, degree }: Element) {
        (self.p[at], self.q[at], self.degree[at]) = (p, q, degree);
    }

    /// Replaces those in a mask.
    #[inline]
    pub(crate) fn copy(&mut self, mask: u64, from: &Elements<N>) {
        if mask.count_ones() as usize == N {
            (self.p, self.q, self.degree) = (from.p, from.q, from.degree);
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            self.set(at, from.get(at));
            rest &= rest - 1;
        }
    }
}

/// An operand or a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Term {
    /// The bits of a number that is known.
    Number(u64),
    /// A number that is not.
    Element(Element),
}

/// A truth value that depends on the inputs: a name, and whether it is negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(crate) struct Predicate {
    /// Its name.
    pub name: u64,
    /// Whether it is negated.
    pub negated: bool,
}

impl Predicate {
    /// The opposite.
    pub(crate) fn not(self) -> Predicate {
        Predicate { negated: !self.negated, ..self }
    }
}

/// A truth value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Truth {
    /// It is the same for all inputs.
    Known(bool),
    /// It depends on them.
    Open(Predicate),
}

/// Two numbers, by a well mixing function.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let fold = |product: u128| product as u64 ^ (product >> 64) as u64;
    let first = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    let first = fold(first);
    let second = u128::from(first ^ 0xa076_1d64_78bd_642f)
        * u128::from(a.rotate_left(32) ^ b ^ 0xe703_7ed1_a0b4_28db);
    fold(second)
}

impl Truth {
    /// The truth value where another one is a predicate.
    pub(super) fn and(self, one: Predicate) -> Truth {
        match self {
            Truth::Known(true) => Truth::Open(one),
            other => other,
        }
    }
}
