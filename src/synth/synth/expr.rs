//! Expressions over named coordinates: evaluated, printed, simplified against the table they have to give.
//!
//! Division and remainder are Euclidean: the remainder is never negative.

use std::fmt;
use std::sync::Arc;

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Euclidean quotient.
    Div,
    /// Euclidean remainder.
    Rem,
    /// Exclusive or.
    Xor,
    /// Bitwise and.
    And,
    /// Shift to the left.
    Shl,
    /// Shift to the right.
    Shr,
    /// Power.
    Pow,
    /// The least exponent with which a power of the first is not below the second.
    Log,
}

impl Op {
    /// How the operator is written.
    pub fn text(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::Rem => "%",
            Op::Xor => "^",
            Op::And => "&",
            Op::Shl => "<<",
            Op::Shr => ">>",
            Op::Pow => "**",
            Op::Log => "log",
        }
    }

    /// The operator that is written so.
    pub fn of(text: &str) -> Option<Op> {
        use Op::{Add, And, Div, Mul, Pow, Rem, Shl, Shr, Sub, Xor};
        [Add, Sub, Mul, Div, Rem, Xor, And, Shl, Shr, Pow].into_iter().find(|op| op.text() == text)
    }

    /// How tightly it binds, as in C.
    pub fn binds(self) -> u8 {
        match self {
            // Written as a function, so that nothing binds more tightly.
            Op::Log => 7,
            Op::Pow => 6,
            Op::Mul | Op::Div | Op::Rem => 5,
            Op::Add | Op::Sub => 4,
            Op::Shl | Op::Shr => 3,
            Op::And => 2,
            Op::Xor => 1,
        }
    }

    /// The value; `None` where it has none.
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Div => a.checked_div_euclid(b),
            Op::Rem => a.checked_rem_euclid(b),
            Op::Xor => Some(a ^ b),
            Op::And => Some(a & b),
            Op::Shl => u32::try_from(b).ok().filter(|&b| b < 32).and_then(|b| a.checked_shl(b)),
            Op::Shr => u32::try_from(b).ok().filter(|&b| b < 64).map(|b| a >> b),
            Op::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
            Op::Log => (a >= 2 && b >= 1).then(|| {
                let (mut power, mut exponent) = (1i64, 0);
                while power < b {
                    (power, exponent) = (power.saturating_mul(a), exponent + 1);
                }
                exponent
            }),
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Cmp {
    /// Every comparison, the cheapest reading first.
    pub const ALL: [Cmp; 6] = [Cmp::Lt, Cmp::Ge, Cmp::Le, Cmp::Gt, Cmp::Eq, Cmp::Ne];

    /// How it is written in C.
    pub fn text(self) -> &'static str {
        match self {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Lt => "<",
            Cmp::Le => "<=",
            Cmp::Gt => ">",
            Cmp::Ge => ">=",
        }
    }

    /// The comparison that is written so; a sketch may write `=` for `==`.
    pub fn of(text: &str) -> Option<Cmp> {
        Cmp::ALL.into_iter().find(|cmp| cmp.text() == text || text == "=" && *cmp == Cmp::Eq)
    }

    /// Whether it holds.
    pub fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// A coordinate or parameter.
    Name(Arc<str>),
    /// Two operands.
    Binary(Op, Arc<Expr>, Arc<Expr>),
    /// 1 where the comparison holds, 0 elsewhere.
    Compare(Cmp, Arc<Expr>, Arc<Expr>),
    /// The second where the first is not 0, else the third.
    Choose(Arc<Expr>, Arc<Expr>, Arc<Expr>),
}

impl Expr {
    /// A name.
    pub fn name(name: &str) -> Expr {
        Expr::Name(name.into())
    }

    /// An operator with two operands; constants are folded at once.
    pub fn binary(op: Op, a: Expr, b: Expr) -> Expr {
        use Expr::Number;
        match (op, &a, &b) {
            (_, Number(x), Number(y)) if op.apply(*x, *y).is_some() => {
                Number(op.apply(*x, *y).unwrap_or_default())
            }
            (Op::Add | Op::Sub | Op::Xor | Op::Shl | Op::Shr, _, Number(0)) => a,
            (Op::Add | Op::Xor, Number(0), _) => b,
            (Op::Mul | Op::Div, _, Number(1)) => a,
            (Op::Mul, Number(1), _) => b,
            (Op::Mul, _, Number(0)) | (Op::Mul, Number(0), _) | (Op::Rem, _, Number(1)) => {
                Number(0)
            }
            _ => Expr::Binary(op, Arc::new(a), Arc::new(b)),
        }
    }

    /// The value under an assignment of names; `None` for an unknown name or an operation without value.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Expr::Number(number) => Some(*number),
            Expr::Name(name) => of(name),
            Expr::Binary(op, a, b) => op.apply(a.value(of)?, b.value(of)?),
            Expr::Compare(cmp, a, b) => Some(i64::from(cmp.holds(a.value(of)?, b.value(of)?))),
            Expr::Choose(c, a, b) => {
                if c.value(of)? != 0 {
                    a.value(of)
                } else {
                    b.value(of)
                }
            }
        }
    }

    /// Calls `see` for the expression and all its parts, from the left to the right.
    pub fn parts<'e>(&'e self, see: &mut dyn FnMut(&'e Expr)) {
        see(self);
        match self {
            Expr::Number(_) | Expr::Name(_) => {}
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
                [a, b].into_iter().for_each(|e| e.parts(see))
            }
            Expr::Choose(a, b, c) => [a, b, c].into_iter().for_each(|e| e.parts(see)),
        }
    }

    /// Whether there is a power or a logarithm in it.
    pub fn has_powers(&self) -> bool {
        let mut has = false;
        self.parts(&mut |part| has |= matches!(part, Expr::Binary(Op::Pow | Op::Log, ..)));
        has
    }

    /// The number of operators.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.parts(&mut |part| {
            size += usize::from(!matches!(part, Expr::Number(_) | Expr::Name(_)))
        });
        size
    }

    /// Calls `see` for each name.
    pub fn names(&self, see: &mut dyn FnMut(&str)) {
        self.parts(&mut |part| {
            if let Expr::Name(name) = part {
                see(name);
            }
        });
    }

    /// The smallest expression that taking parts away leads to and for which `same` still holds.
    pub fn simplified(self, same: &dyn Fn(&Expr) -> bool) -> Expr {
        let mut best = self;
        while let Some(smaller) = best.smaller(&|e| e).into_iter().find(|e| same(e)) {
            best = smaller;
        }
        best
    }

    /// Expressions that lack one part of this one; `wrap` puts them into the surrounding expression.
    fn smaller(&self, wrap: &dyn Fn(Expr) -> Expr) -> Vec<Expr> {
        let mut found = Vec::new();
        match self {
            Expr::Number(_) => return found,
            Expr::Name(_) => {
                found.push(wrap(Expr::Number(0)));
                return found;
            }
            Expr::Binary(op, a, b) => {
                found.extend([wrap(Expr::Number(0)), wrap((**a).clone()), wrap((**b).clone())]);
                // `lane * 32 / 32`
                if let Expr::Binary(_, inner, _) = &**a {
                    found.push(wrap((**inner).clone()));
                }
                match (op, &**b) {
                    (Op::Rem, Expr::Number(m)) if m.count_ones() == 1 && *m > 1 => {
                        let mask = Arc::new(Expr::Number(m - 1));
                        found.push(wrap(Expr::Binary(Op::And, a.clone(), mask)));
                    }
                    (Op::Add, Expr::Number(c)) if *c < 0 => {
                        found.push(wrap(Expr::binary(Op::Sub, (**a).clone(), Expr::Number(-c))));
                    }
                    _ => {}
                }
                found.extend(a.smaller(&|e| wrap(Expr::binary(*op, e, (**b).clone()))));
                found.extend(b.smaller(&|e| wrap(Expr::binary(*op, (**a).clone(), e))));
            }
            Expr::Compare(cmp, a, b) => {
                found.extend([wrap(Expr::Number(0)), wrap(Expr::Number(1))]);
                let compare = |a: Expr, b: Expr| Expr::Compare(*cmp, Arc::new(a), Arc::new(b));
                found.extend(a.smaller(&|e| wrap(compare(e, (**b).clone()))));
                found.extend(b.smaller(&|e| wrap(compare((**a).clone(), e))));
            }
            Expr::Choose(c, a, b) => {
                found.extend([wrap((**a).clone()), wrap((**b).clone())]);
                let choose = |c: &Arc<Expr>, a: &Arc<Expr>, b: &Arc<Expr>| {
                    Expr::Choose(c.clone(), a.clone(), b.clone())
                };
                found.extend(c.smaller(&|e| wrap(choose(&Arc::new(e), a, b))));
                found.extend(a.smaller(&|e| wrap(choose(c, &Arc::new(e), b))));
                found.extend(b.smaller(&|e| wrap(choose(c, a, &Arc::new(e)))));
            }
        }
        found
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, outer: u8) -> fmt::Result {
        let (own, op, a, b) = match self {
            Expr::Number(number) => return write!(f, "{number}"),
            Expr::Name(name) => return f.write_str(name),
            Expr::Choose(c, a, b) => {
                f.write_str("(")?;
                c.show(f, 0)?;
                f.write_str(" ? ")?;
                a.show(f, 0)?;
                f.write_str(" : ")?;
                b.show(f, 0)?;
                return f.write_str(")");
            }
            // C reads `a < b & c` otherwise than people do, so comparisons stand in parentheses within others.
            Expr::Compare(cmp, a, b) => (0, cmp.text(), a, b),
            Expr::Binary(Op::Log, a, b) => return write!(f, "log({a}, {b})"),
            Expr::Binary(op, a, b) => (op.binds(), op.text(), a, b),
        };
        // The operands of bitwise operators are set apart as well.
        let bitwise = own > 0 && own < 4;
        let (left, right) = match self {
            // As in C, where bitwise operators bind less tightly than comparisons.
            Expr::Compare(..) => (4, 4),
            _ if bitwise => (6, 6),
            _ => (own, own + 1),
        };
        let parentheses = own < outer;
        if parentheses {
            f.write_str("(")?;
        }
        a.show(f, left)?;
        write!(f, " {op} ")?;
        b.show(f, right)?;
        if parentheses { f.write_str(")") } else { Ok(()) }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, 0)
    }
}
