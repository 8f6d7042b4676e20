//! Integers of 32 bits that depend on symbols, and the bits of numbers that a program takes for integers.
//!
//! Operations are tried, not told: sums, products, bitwise operations and relations show in a few results. Sums
//! and products of integers are those of the algebra; an integer operation that is none of these is a function without laws.
//! Of the bits of a number only that is known which libraries do with them: its sign, and its exponent
//! ([`Algebra::exponent`]).

use super::tried::{Tried, tried};
use super::value::{Kind, Symbol, Value};
use super::world::State;
use crate::algebra::{
    Algebra, Comparison, Element, Format, Mode, Predicate, Real, Term, Truth, mix,
};
use crate::interp::program::rare::Cell;
use crate::interp::registers::{File, WarpOp};

/// The bits of infinity: those of a positive number are below.
const INFINITY: u64 = 0x7f80_0000;
/// The sign of a single.
const SIGN: u64 = 0x8000_0000;
/// Sign and exponent.
const EXPONENT: u64 = 0xff80_0000;

/// The result of an operation on registers of 32 bits, some of whose sources are integers that depend on symbols, or the bits
/// of numbers that do; none if nothing is known of it.
pub(super) fn result(
    op: &WarpOp,
    cells: &[Cell],
    values: &[Value],
    state: &mut State,
) -> Option<Value> {
    let is_word = |file: Option<File>| matches!(file, Some(File::W32 | File::Pred));
    let narrow = is_word(op.d[0]) && cells.iter().all(|cell| cell.0 == File::W32);
    if !narrow || op.d[1].is_some() || !matches!(state.algebra, Algebra::Reals(_)) {
        return None;
    }
    let key = std::ptr::from_ref(op) as usize;
    let tried = *state.tried.entry(key).or_insert_with(|| tried(op, cells.len()));
    if let Some(value) = of_numbers(tried, values, state) {
        return Some(value);
    }
    let mut terms = [Term::Number(0); 4];
    for (term, value) in terms.iter_mut().zip(values) {
        *term = state.number(value, Format::S32)?;
    }
    let terms = &terms[..values.len()];
    let integer = |term: Option<Term>| Some(Value::number(Format::S32, term?));
    match tried {
        Tried::Sum(factors) => integer(sum(&factors, terms, state)),
        Tried::Product => {
            let product = apply(Real::Mul, &terms[..2], state)?;
            integer(match terms.get(2) {
                Some(&added) => apply(Real::Add, &[product, added], state),
                None => Some(product),
            })
        }
        Tried::Shift => {
            let Term::Number(bits @ 0..31) = terms[1] else { return None };
            integer(apply(Real::Mul, &[terms[0], Term::Number(1 << bits)], state))
        }
        Tried::Relation(comparison, true) => {
            let (comparison, other) = match (comparison, terms[1]) {
                // A bit is the mask, or it is 0.
                (Comparison::Eq, Term::Number(mask)) if is_bit(terms[0], mask, state) => {
                    (Comparison::Ne, Term::Number(0))
                }
                (Comparison::Ne, Term::Number(mask)) if is_bit(terms[0], mask, state) => {
                    (Comparison::Eq, Term::Number(0))
                }
                (_, other) => (comparison, other),
            };
            let mode = (comparison, Format::S32, Mode::EVEN);
            Some(Value::truth(state.algebra.compare(mode, [terms[0], other])?))
        }
        Tried::Relation(comparison, false) => {
            let (first, second, negated) = match comparison {
                Comparison::Lt => (terms[0], terms[1], false),
                Comparison::Ge => (terms[0], terms[1], true),
                Comparison::Gt => (terms[1], terms[0], false),
                _ => (terms[1], terms[0], true),
            };
            let name = state.algebra.function(BELOW, &[first, second])?.p;
            Some(Value::truth(Truth::Open(Predicate { name, negated })))
        }
        Tried::And | Tried::Or | Tried::Other => {
            let name = op.text.bytes().fold(0, |hash, byte| mix(hash, byte.into()));
            let element = state.algebra.function(name, terms)?;
            if let (Tried::And, Term::Number(mask)) = (tried, *terms.get(1)?) {
                state.bits.insert(element.p, mask);
            }
            Some(match op.d[0] {
                Some(File::Pred) => {
                    let predicate = Predicate { name: element.p, negated: false };
                    Value::truth(Truth::Open(predicate))
                }
                _ => Value::number(Format::S32, Term::Element(element)),
            })
        }
    }
}

/// The name of "below, unsigned".
const BELOW: u64 = 1;

fn apply(op: Real, terms: &[Term], state: &mut State) -> Option<Term> {
    state.algebra.apply((op, Format::S32, Mode::EVEN), terms)
}

fn sum(factors: &[i8; 3], terms: &[Term], state: &mut State) -> Option<Term> {
    let mut sum = Term::Number(0);
    for (&factor, &term) in factors.iter().zip(terms) {
        let op = if factor < 0 { Real::Sub } else { Real::Add };
        sum = apply(op, &[sum, term], state)?;
    }
    Some(sum)
}

/// Whether an integer is `mask` or 0.
fn is_bit(term: Term, mask: u64, state: &State) -> bool {
    match term {
        Term::Element(element) => {
            mask.is_power_of_two() && state.bits.get(&element.p) == Some(&mask)
        }
        Term::Number(_) => false,
    }
}

/// The result of an operation on the bits of numbers in single precision.
fn of_numbers(tried: Tried, values: &[Value], state: &mut State) -> Option<Value> {
    let [first, second] = values else { return None };
    let (first, second) = match tried {
        Tried::And | Tried::Or | Tried::Sum([1, 1, _]) if first.is_known() => (second, first),
        _ => (first, second),
    };
    let single = |state: &mut State, value: &Value| match state.number(value, Format::F32) {
        Some(Term::Element(element)) if value.parts[0].kind == Kind::Number(Format::F32) => {
            Some(element)
        }
        _ => None,
    };
    let known = second.is_known().then_some(second.bits);
    let number = |element: Element| Value::number(Format::F32, Term::Element(element));
    match (tried, known) {
        (Tried::Sum([1, 1, _]), Some(constant)) => {
            let x = single(state, first)?;
            let name = mix(mix(x.p, 0x6269_6173), constant);
            state.biased.insert(name, (x, constant as u32));
            let name = Element { p: name, q: x.p, ..Element::default() };
            Some(whole(name, Kind::Biased))
        }
        (Tried::And, Some(EXPONENT)) if first.parts[0].kind == Kind::Biased => {
            let &(x, constant) = state.biased.get(&first.parts[0].element().p)?;
            let exponent = state.algebra.exponent(x, constant)?;
            Some(Value::number(Format::S32, Term::Element(exponent)))
        }
        (Tried::And, Some(SIGN)) => Some(whole(single(state, first)?, Kind::Sign)),
        (Tried::Or, None) => {
            let (sign, other) = match [first, second].map(|value| value.parts[0].kind) {
                [Kind::Sign, _] => (first, second),
                [_, Kind::Sign] => (second, first),
                _ => return None,
            };
            let magnitude = single(state, other)?;
            let sign = sign.parts[0].element();
            Some(number(state.algebra.with_sign(sign, magnitude)?))
        }
        (Tried::Sum([1, -1, _]), None) => {
            let Term::Element(exponent) = state.number(second, Format::S32)? else { return None };
            let x = match first.is_known() {
                true => state.algebra.constant(Format::F32, first.bits)?,
                false => single(state, first)?,
            };
            Some(number(state.algebra.without_exponent(x, exponent)?))
        }
        (Tried::Relation(comparison, signed), Some(bound)) => {
            let x = single(state, first)?;
            let negative = match (comparison, signed, bound) {
                (Comparison::Ge, false, INFINITY) => true,
                (Comparison::Gt, false, bound) if bound == INFINITY - 1 => true,
                (Comparison::Lt, false, INFINITY) => false,
                (Comparison::Le, false, bound) if bound == INFINITY - 1 => false,
                (Comparison::Lt, true, 0) | (Comparison::Le, true, 0xffff_ffff) => true,
                (Comparison::Ge, true, 0) | (Comparison::Gt, true, 0xffff_ffff) => false,
                _ => return None,
            };
            let mode = (Comparison::Lt, Format::F32, Mode::EVEN);
            let below = state.algebra.compare(mode, [Term::Element(x), Term::Number(0)])?;
            Some(Value::truth(match below {
                Truth::Known(holds) => Truth::Known(holds == negative),
                Truth::Open(below) => Truth::Open(if negative { below } else { below.not() }),
            }))
        }
        _ => None,
    }
}

/// A word that is wholly one value.
fn whole(element: Element, kind: Kind) -> Value {
    let mut value = Value::known(0);
    for part in 0..2 {
        value.parts[part] = Symbol::new(element, kind, part as u8);
    }
    value
}
