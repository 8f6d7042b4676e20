//! Terms of loops: made in a simplified form, evaluated, substituted, printed.

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(super) use crate::solver::numbers::{Op, Sort, Term};

/// A term whose parts may be shared.
pub(super) type Shared = Arc<Term>;

/// Number of the first variable that is read of an element; accumulators come from 0.
pub(super) const INPUT: u32 = 1 << 8;
/// Number of the first variable that is the same for all elements.
pub(super) const GIVEN: u32 = 2 << 8;
/// Number of the first accumulator of the right operand.
pub(super) const RIGHT: u32 = 3 << 8;

/// What variables stand for: a table for each kind of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'v, T> {
    state: &'v [T],
    inputs: &'v [T],
    givens: &'v [T],
    right: &'v [T],
}

impl<'v, T> Values<'v, T> {
    /// The values of accumulators and of givens.
    pub(super) fn new(state: &'v [T], givens: &'v [T]) -> Values<'v, T> {
        Values { state, inputs: &[], givens, right: &[] }
    }

    /// With those of the inputs, element by element.
    pub(super) fn with_inputs(self, inputs: &'v [T]) -> Values<'v, T> {
        Values { inputs, ..self }
    }

    /// With those of the accumulators of the right operand.
    pub(super) fn with_right(self, right: &'v [T]) -> Values<'v, T> {
        Values { right, ..self }
    }

    /// The value of a variable. The table of its kind must have it.
    pub(super) fn of(&self, variable: u32) -> &'v T {
        let (table, first) = match variable {
            0..INPUT => (self.state, 0),
            INPUT..GIVEN => (self.inputs, INPUT),
            GIVEN..RIGHT => (self.givens, GIVEN),
            RIGHT.. => (self.right, RIGHT),
        };
        &table[(variable - first) as usize]
    }
}

/// The infinity of floating-point numbers that are only compared: no literal is as large.
pub(super) const INFINITY: i64 = 1 << 62;

/// A number.
pub(super) fn number(value: i64) -> Shared {
    Arc::new(Term::Number(value))
}

/// A boolean.
pub(super) fn truth(value: bool) -> Shared {
    Arc::new(Term::Truth(value))
}

/// A variable.
pub(super) fn variable(variable: u32) -> Shared {
    Arc::new(Term::Variable(variable))
}

/// A constant of a sort, booleans as 0 and 1.
pub(super) fn constant(sort: Sort, value: i64) -> Shared {
    if sort == Sort::Boolean { truth(value != 0) } else { number(value) }
}

/// The opposite.
pub(super) fn not(a: Shared) -> Shared {
    match &*a {
        Term::Truth(value) => truth(!value),
        Term::Not(inner) => Arc::clone(inner),
        _ => Arc::new(Term::Not(a)),
    }
}

/// An operator's value; booleans are 0 and 1; `None` where there is none, or it is too large.
pub(super) fn apply(op: Op, a: i64, b: i64) -> Option<i64> {
    match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        Op::Div => a.checked_div_euclid(b),
        Op::Rem => a.checked_rem_euclid(b),
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::Equal => Some(i64::from(a == b)),
        Op::Less => Some(i64::from(a < b)),
        Op::LessEqual => Some(i64::from(a <= b)),
        Op::And => Some(a & b),
        Op::Or => Some(a | b),
    }
}

/// An operator with its operands, simplified.
pub(super) fn binary(op: Op, a: Shared, b: Shared) -> Shared {
    use Term::{Number, Truth};
    let is_predicate = matches!(op, Op::Equal | Op::Less | Op::LessEqual);
    match (op, &*a, &*b) {
        (_, Number(x), Number(y)) => {
            if let Some(value) = apply(op, *x, *y) {
                return if is_predicate { truth(value != 0) } else { number(value) };
            }
        }
        (Op::Add, Number(0), _) | (Op::Mul, Number(1), _) => return b,
        (Op::Add | Op::Sub, _, Number(0)) | (Op::Mul | Op::Div, _, Number(1)) => return a,
        (Op::Mul, Number(0), _) | (Op::Mul, _, Number(0)) => return number(0),
        (Op::And, Truth(true), _) | (Op::Or, Truth(false), _) => return b,
        (Op::And, _, Truth(true)) | (Op::Or, _, Truth(false)) => return a,
        (Op::And, Truth(false), _) | (Op::And, _, Truth(false)) => return truth(false),
        (Op::Or, Truth(true), _) | (Op::Or, _, Truth(true)) => return truth(true),
        (Op::Equal, Truth(true), _) => return b,
        (Op::Equal, _, Truth(true)) => return a,
        (Op::Equal, Truth(false), _) => return not(b),
        (Op::Equal, _, Truth(false)) => return not(a),
        (Op::Min | Op::Max | Op::And | Op::Or, _, _) if a == b => return a,
        (Op::Max | Op::Min, Number(x), Term::Binary(inner, _, y)) if op == *inner => {
            if matches!(**y, Number(y) if apply(op, *x, y) == Some(y)) {
                return b;
            }
        }
        (Op::Equal | Op::LessEqual, _, _) if a == b => return truth(true),
        (Op::Less, _, _) if a == b => return truth(false),
        _ => {}
    }
    Arc::new(Term::Binary(op, a, b))
}

/// A choice, simplified.
pub(super) fn choose(c: Shared, a: Shared, b: Shared) -> Shared {
    match &*c {
        Term::Truth(true) => a,
        Term::Truth(false) => b,
        _ if a == b => a,
        Term::Not(inner) => choose(Arc::clone(inner), b, a),
        _ => Arc::new(Term::If(c, a, b)),
    }
}

/// The value for given values of the variables.
pub(super) fn value(term: &Term, of: &dyn Fn(u32) -> i64) -> Option<i64> {
    Some(match term {
        Term::Number(value) => *value,
        Term::Truth(value) => i64::from(*value),
        Term::Variable(variable) => of(*variable),
        Term::Not(a) => 1 - value(a, of)?,
        Term::Binary(op, a, b) => return apply(*op, value(a, of)?, value(b, of)?),
        Term::If(c, a, b) => return value(if value(c, of)? != 0 { a } else { b }, of),
    })
}

/// Replaces variables; parts that are shared stay so.
pub(super) fn substitute(term: &Shared, by: &dyn Fn(u32) -> Shared) -> Shared {
    fn walk(
        term: &Shared,
        by: &dyn Fn(u32) -> Shared,
        done: &mut FxHashMap<*const Term, Shared>,
    ) -> Shared {
        if let Some(known) = done.get(&Arc::as_ptr(term)) {
            return Arc::clone(known);
        }
        let made = match &**term {
            Term::Number(_) | Term::Truth(_) => Arc::clone(term),
            Term::Variable(variable) => by(*variable),
            Term::Not(a) => not(walk(a, by, done)),
            Term::Binary(op, a, b) => binary(*op, walk(a, by, done), walk(b, by, done)),
            Term::If(c, a, b) => choose(walk(c, by, done), walk(a, by, done), walk(b, by, done)),
        };
        done.insert(Arc::as_ptr(term), Arc::clone(&made));
        made
    }
    walk(term, by, &mut FxHashMap::default())
}

/// Calls `visit` for the term and all its parts, operands first.
pub(super) fn parts(term: &Shared, visit: &mut dyn FnMut(&Shared)) {
    match &**term {
        Term::Number(_) | Term::Truth(_) | Term::Variable(_) => {}
        Term::Not(a) => parts(a, visit),
        Term::Binary(_, a, b) => {
            parts(a, visit);
            parts(b, visit);
        }
        Term::If(c, a, b) => {
            parts(c, visit);
            parts(a, visit);
            parts(b, visit);
        }
    }
    visit(term);
}

/// Whether a term is made of sums, differences and products alone.
pub(super) fn is_polynomial(term: &Shared) -> bool {
    let mut polynomial = true;
    parts(term, &mut |part| {
        polynomial &= match &**part {
            Term::Binary(op, ..) => matches!(op, Op::Add | Op::Sub | Op::Mul),
            Term::If(..) | Term::Not(_) | Term::Truth(_) => false,
            Term::Number(_) | Term::Variable(_) => true,
        };
    });
    polynomial
}

/// The term as text.
pub(super) fn show(term: &Term, names: &dyn Fn(u32) -> String) -> String {
    fn walk(term: &Term, names: &dyn Fn(u32) -> String, least: u8) -> String {
        let (text, binds) = match term {
            Term::Number(value) if value.unsigned_abs() == INFINITY.unsigned_abs() => {
                (if *value < 0 { "-inf" } else { "inf" }.to_owned(), 6)
            }
            Term::Number(value) if *value < 0 => (value.to_string(), 6),
            Term::Number(value) => (value.to_string(), 9),
            Term::Truth(value) => (value.to_string(), 9),
            Term::Variable(variable) => (names(*variable), 9),
            Term::Not(a) => match &**a {
                Term::Binary(op @ (Op::Equal | Op::Less | Op::LessEqual), a, b) => {
                    let sign = match op {
                        Op::Equal => "!=",
                        Op::Less => ">=",
                        _ => ">",
                    };
                    (format!("{} {sign} {}", walk(a, names, 5), walk(b, names, 5)), 4)
                }
                _ => (format!("!{}", walk(a, names, 8)), 8),
            },
            Term::Binary(op @ (Op::Min | Op::Max), a, b) => {
                let name = if *op == Op::Min { "min" } else { "max" };
                (format!("{name}({}, {})", walk(a, names, 0), walk(b, names, 0)), 9)
            }
            Term::Binary(op, a, b) => {
                let (sign, binds) = match op {
                    Op::Add => ("+", 5),
                    Op::Sub => ("-", 5),
                    Op::Mul => ("*", 6),
                    Op::Div => ("/", 6),
                    Op::Rem => ("%", 6),
                    Op::Equal => ("==", 3),
                    Op::Less => ("<", 4),
                    Op::LessEqual => ("<=", 4),
                    Op::And => ("&&", 2),
                    _ => ("||", 1),
                };
                let (a, b) = (walk(a, names, binds), walk(b, names, binds + 1));
                (format!("{a} {sign} {b}"), binds)
            }
            Term::If(c, a, b) => {
                let (c, a, b) = (walk(c, names, 1), walk(a, names, 1), walk(b, names, 0));
                (format!("if {c} then {a} else {b}"), 0)
            }
        };
        if binds < least { format!("({text})") } else { text }
    }
    walk(term, names, 0)
}
