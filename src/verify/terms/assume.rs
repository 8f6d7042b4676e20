//! Preconditions that users name: comparisons of a kernel's parameters, and pointers whose bytes do not overlap.
//!
//! In: a text such as `n % 16 == 0 && m < 4096`. Out: the predicate as a term, for proofs, and its truth for the arguments of
//! a launch, for executions. Parameters are signed integers of their declared width.

use std::fmt;

use super::{Kind, Terms};
use crate::expr::{BinaryOp, Comparison, TermId};
use crate::ptx::Function;

/// A conjunction of comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    text: String,
    comparisons: Vec<(Side, Relation, Side)>,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    value: Value,
    /// The divisor, if the value is a remainder (of the dividend's sign, as in C).
    modulus: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Parameter(String),
    Number(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Precondition, String> {
        let comparisons = text.split("&&").map(comparison).collect::<Result<_, _>>()?;
        Ok(Precondition { text: text.trim().to_owned(), comparisons })
    }
}

/// `n % 16 == 0`.
fn comparison(text: &str) -> Result<(Side, Relation, Side), String> {
    const RELATIONS: [(&str, Relation, bool); 6] = [
        ("==", Relation::Equal, false),
        ("!=", Relation::NotEqual, false),
        ("<=", Relation::LessEqual, false),
        (">=", Relation::LessEqual, true),
        ("<", Relation::Less, false),
        (">", Relation::Less, true),
    ];
    let found = RELATIONS.iter().find_map(|(sign, relation, swapped)| {
        let (a, b) = text.split_once(sign)?;
        Some(if *swapped { (b, *relation, a) } else { (a, *relation, b) })
    });
    let Some((a, relation, b)) = found else {
        return Err(format!("`{}`: a comparison is expected, such as `n % 16 == 0`", text.trim()));
    };
    Ok((side(a)?, relation, side(b)?))
}

fn side(text: &str) -> Result<Side, String> {
    let (value, modulus) = match text.split_once('%') {
        // Names may begin with the sign.
        Some((value, modulus)) if !value.trim().is_empty() => (value.trim(), Some(modulus.trim())),
        _ => (text.trim(), None),
    };
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}`: a number is expected"));
    let modulus = modulus.map(number).transpose()?;
    if modulus.is_some_and(|modulus: i64| modulus <= 0) {
        return Err(format!("`{}`: a remainder is by a number above 0", text.trim()));
    }
    let is_name = value.starts_with(|c: char| c.is_ascii_alphabetic() || "_$%".contains(c))
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_$%".contains(c));
    let value = match is_name {
        true => Value::Parameter(value.to_owned()),
        false => Value::Number(number(value)?),
    };
    Ok(Side { value, modulus })
}

impl Precondition {
    /// The parameters that it names.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let sides = self.comparisons.iter().flat_map(|(a, _, b)| [a, b]);
        sides.filter_map(|side| match &side.value {
            Value::Parameter(name) => Some(name.as_str()),
            Value::Number(_) => None,
        })
    }

    /// The same with other names for its parameters.
    #[must_use]
    pub fn renamed(mut self, name: impl Fn(&str) -> String) -> Precondition {
        for (a, _, b) in &mut self.comparisons {
            for side in [a, b] {
                if let Value::Parameter(own) = &mut side.value {
                    *own = name(own);
                }
            }
        }
        self
    }

    /// Whether it holds for values of parameters, signed; `None` if one is not known.
    pub fn holds(&self, value: impl Fn(&str) -> Option<i64>) -> Option<bool> {
        let of = |side: &Side| -> Option<i64> {
            let own = match &side.value {
                Value::Parameter(name) => value(name)?,
                Value::Number(number) => *number,
            };
            Some(side.modulus.map_or(own, |modulus| own % modulus))
        };
        let mut holds = true;
        for (a, relation, b) in &self.comparisons {
            let (a, b) = (of(a)?, of(b)?);
            holds &= match relation {
                Relation::Equal => a == b,
                Relation::NotEqual => a != b,
                Relation::Less => a < b,
                Relation::LessEqual => a <= b,
            };
        }
        Some(holds)
    }

    /// The predicates, if the function has all of its parameters.
    pub(crate) fn terms(&self, function: &Function<'_>, terms: &mut Terms) -> Option<Vec<TermId>> {
        let mut found = Vec::new();
        for (a, relation, b) in &self.comparisons {
            if let (Relation::Equal, Some(low)) = (relation, a.low_bits(b, function, terms)) {
                found.push(low);
                continue;
            }
            let [a, b] = [a.term(function, terms)?, b.term(function, terms)?];
            let arena = &mut terms.arena;
            found.push(match relation {
                Relation::Equal => arena.equal(a, b),
                Relation::NotEqual => {
                    let equal = arena.equal(a, b);
                    arena.not(equal)
                }
                Relation::Less => arena.compare(Comparison::SignedLess, a, b),
                Relation::LessEqual => arena.compare(Comparison::SignedLessEqual, a, b),
            });
        }
        Some(found)
    }
}

impl Side {
    /// The value in 64 bits.
    fn term(&self, function: &Function<'_>, terms: &mut Terms) -> Option<TermId> {
        let own = match &self.value {
            Value::Number(number) => {
                return Some(terms.arena.constant(self.of(*number) as u64, 64));
            }
            Value::Parameter(name) => parameter(function, name, terms)?,
        };
        let (arena, width) = (&mut terms.arena, terms_width(function, &self.value)?);
        let Some(modulus) = self.modulus else { return Some(arena.sign_extend(own, 64)) };
        if width < 64 && modulus >= 1 << (width - 1) {
            let (own, modulus) = (arena.sign_extend(own, 64), arena.constant(modulus as u64, 64));
            return Some(arena.binary(BinaryOp::SignedRemainder, own, modulus));
        }
        let modulus = arena.constant(modulus as u64, width);
        let rest = arena.binary(BinaryOp::SignedRemainder, own, modulus);
        Some(arena.sign_extend(rest, 64))
    }

    /// That the remainder by a power of two is 0, as a predicate on the low bits, if such a remainder is compared with 0.
    fn low_bits(&self, other: &Side, function: &Function<'_>, terms: &mut Terms) -> Option<TermId> {
        let modulus = self.modulus.filter(|modulus| modulus.count_ones() == 1)? as u64;
        let Value::Parameter(name) = &self.value else { return None };
        let own = parameter(function, name, terms)?;
        let is_zero = *other == Side { value: Value::Number(0), modulus: None };
        let arena = &mut terms.arena;
        let width = arena.width(own);
        let rest = arena.and_constant(own, modulus - 1);
        let zero = arena.constant(0, width);
        (is_zero && modulus.ilog2() < u32::from(width)).then(|| arena.equal(rest, zero))
    }

    fn of(&self, number: i64) -> i64 {
        self.modulus.map_or(number, |modulus| number % modulus)
    }
}

/// The bits of a parameter.
fn terms_width(function: &Function<'_>, value: &Value) -> Option<u8> {
    let Value::Parameter(name) = value else { return None };
    let mut parameters = function.params.iter();
    let own = parameters.find(|one| one.names.iter().any(|own| own.name.text == name))?;
    let is_one = own.vector <= 1 && own.names[0].dimensions.is_empty();
    own.ty
        .filter(|ty| is_one && !ty.is_float())
        .map(|ty| ty.bits() as u8)
        .filter(|bits| matches!(bits, 8 | 16 | 32 | 64))
}

/// The symbol of a parameter.
pub(crate) fn parameter(function: &Function<'_>, name: &str, terms: &mut Terms) -> Option<TermId> {
    let bits = terms_width(function, &Value::Parameter(name.to_owned()))?;
    let kind = Kind::Parameter { name: name.to_owned(), offset: 0, bits };
    Some(terms.symbol(kind, bits, None))
}
