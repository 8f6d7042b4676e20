//! What an instruction computes, as data: for those who compute with something else than its operands' bits.

/// A format of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Format {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision; matrices use its upper 19 bits.
    Tf32,
    /// Integers of 32 bits; those that depend on symbols do not wrap.
    S32,
}

impl Format {
    /// The 16-bit parts of a number.
    pub(crate) fn parts(self) -> usize {
        match self {
            Format::F16 | Format::Bf16 => 1,
            Format::F32 | Format::Tf32 | Format::S32 => 2,
            Format::F64 => 4,
        }
    }
}

/// How a result is rounded, and what becomes of subnormal numbers. Over the reals none of it is seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Mode(pub u8);

impl Mode {
    /// To the nearest number, ties to even.
    pub(crate) const EVEN: Mode = Mode(0);
    /// Subnormal numbers are flushed to zero.
    pub(crate) const FTZ: u8 = 1;
    /// The result is an approximation.
    pub(crate) const APPROX: u8 = 2;
    /// Towards minus infinity.
    pub(crate) const DOWN: u8 = 4;
    /// Towards infinity.
    pub(crate) const UP: u8 = 8;
    /// Towards zero.
    pub(crate) const ZERO: u8 = 16;
    /// A NaN is passed on by minima and maxima.
    pub(crate) const NAN: u8 = 32;
}

/// A function of real numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Real {
    Add,
    Sub,
    Mul,
    /// `a b + c`
    Fma,
    Div,
    Neg,
    Abs,
    Max,
    Min,
    Rcp,
    Sqrt,
    Rsqrt,
    /// 2^a
    Ex2,
    /// The logarithm to the base 2.
    Lg2,
    Sin,
    Cos,
    Tanh,
    /// The number itself: flushing and rounding.
    Same,
    /// Clamped to [0, 1].
    Sat,
    /// The larger one of the number and 0.
    Relu,
    /// The magnitude of b with the sign of a.
    Copysign,
    /// The largest integer that is not larger.
    Floor,
    /// The smallest integer that is not smaller.
    Ceil,
    /// The integer part.
    Trunc,
    /// The nearest integer.
    Nearest,
}

impl Real {
    /// Its operands.
    pub(crate) fn operands(self) -> usize {
        match self {
            Real::Fma => 3,
            Real::Add
            | Real::Sub
            | Real::Mul
            | Real::Div
            | Real::Max
            | Real::Min
            | Real::Copysign => 2,
            _ => 1,
        }
    }
}

/// A relation of two numbers. An unordered one is the same: no real number is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// What an operation on registers computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Meaning {
    /// Something that is not described here.
    #[default]
    Unknown,
    /// A function of numbers of one format.
    Real(Real, Format, Mode),
    /// The same of each half of a register.
    Halves(Real, Format, Mode),
    /// A number in another format.
    Convert {
        /// The format of the source.
        from: Format,
        /// That of the result.
        to: Format,
        /// How it is rounded.
        mode: Mode,
    },
    /// Two numbers in another format, in one register: the first one in the upper half.
    Pack {
        /// The format of the sources.
        from: Format,
        /// That of the results.
        to: Format,
        /// How they are rounded.
        mode: Mode,
    },
    /// An integer as a number, and whether it is signed.
    FromInteger(Format, bool),
    /// The integer part of a number of a format, as an integer.
    ToInteger(Format),
    /// A relation of two numbers; [`Mode::NAN`]: it holds if one is NaN.
    Compare(Comparison, Format, Mode),
    /// The first source where the third, a predicate, holds; else the second.
    Select,
    /// The bits, shifted left.
    ShiftLeft,
    /// The bits.
    Copy,
}

impl Meaning {
    /// A function of numbers of a format.
    pub(crate) const fn real(op: Real, format: Format, mode: u8) -> Meaning {
        Meaning::Real(op, format, Mode(mode))
    }

    /// A function of both halves of a register.
    pub(crate) const fn halves(op: Real, format: Format, mode: u8) -> Meaning {
        Meaning::Halves(op, format, Mode(mode))
    }

    /// A conversion.
    pub(crate) const fn convert(from: Format, to: Format, mode: u8) -> Meaning {
        Meaning::Convert { from, to, mode: Mode(mode) }
    }
}
