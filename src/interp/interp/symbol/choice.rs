//! Values as numbers, and choices between two values.

use super::value::{Kind, Symbol, Value};
use super::world::{Chosen, State};
use crate::algebra::{Format, Predicate, Term, Truth};
use crate::interp::registers::File;

impl State {
    /// The value as a number of a format, in its lowest bits; none if they are something else.
    pub(crate) fn number(&mut self, value: &Value, format: Format) -> Option<Term> {
        if value.lost {
            return None;
        }
        term(&value.parts, value.bits, format, self)
    }

    /// One of two values by a predicate, of a register of a file.
    pub(crate) fn choice_of(
        &mut self,
        file: File,
        predicate: Predicate,
        values: [Value; 2],
    ) -> Value {
        choose(self, file, predicate, values)
    }
}

/// The number that parts are; `bits` are those of the parts without a symbol.
#[inline]
fn term(parts: &[Symbol], bits: u64, format: Format, state: &mut State) -> Option<Term> {
    let count = format.parts();
    let first = parts[0];
    let own = match format {
        Format::Tf32 => Format::F32,
        format => format,
    };
    if first.kind == Kind::Number(own) && first.part == 0 {
        let together = (1..count).all(|at| parts[at].is_part_of(&first, at));
        return together.then(|| Term::Element(first.element()));
    }
    if parts[..count].iter().all(|part| !part.is_some()) {
        let keep = u64::MAX >> (64 - 16 * count);
        return Some(Term::Number(bits & keep));
    }
    match (own, first.kind) {
        (Format::F32 | Format::S32, Kind::Choice) if parts[1].is_part_of(&first, 1) => {
            state.chosen_number(own, Chosen::Choice(first.element().p))
        }
        // A bfloat16 with zeros behind it is the same number in single precision.
        (Format::F32, Kind::None) if bits & 0xffff == 0 => {
            let upper = &parts[1];
            let is_number = upper.kind == Kind::Number(Format::Bf16);
            is_number.then(|| Term::Element(upper.element()))
        }
        _ => None,
    }
}

/// One of two values by a predicate, of a register of a file.
fn choose(state: &mut State, file: File, predicate: Predicate, [a, b]: [Value; 2]) -> Value {
    if a == b {
        return a;
    }
    if a.lost || b.lost {
        return Value::lost();
    }
    match file {
        File::Pred => choose_truth(state, predicate, [a, b]),
        File::W32 => choose_word(state, predicate, [a, b]),
        File::W64 => {
            if let Some(value) = choose_number(state, Format::F64, predicate, [a, b]) {
                return value;
            }
            let lower = choose_word(state, predicate, [low(a), low(b)]);
            let upper = [low(a.behind_part(2)), low(b.behind_part(2))];
            let high = choose_word(state, predicate, upper);
            let mut value = Value { lost: lower.lost || high.lost, ..lower };
            value.bits |= high.bits << 32;
            value.parts[2..].copy_from_slice(&high.parts[..2]);
            value
        }
    }
}

fn low(value: Value) -> Value {
    let mut low = Value { bits: value.bits & u64::from(u32::MAX), ..value };
    low.parts[2..].fill(Symbol::NONE);
    low
}

fn choose_truth(state: &mut State, predicate: Predicate, values: [Value; 2]) -> Value {
    let [Some(a), Some(b)] = values.map(|value| value.as_truth()) else { return Value::lost() };
    let algebra = &mut state.algebra;
    let mut both = |one: Predicate, other: Truth| match other {
        Truth::Known(true) => Truth::Open(one),
        Truth::Known(false) => Truth::Known(false),
        Truth::Open(other) => algebra.both(one, other),
    };
    // (p and a) or (not p and b)
    let (first, second) = (both(predicate, a), both(predicate.not(), b));
    Value::truth(match (first, second) {
        (Truth::Known(false), other) | (other, Truth::Known(false)) => other,
        (Truth::Open(one), Truth::Open(other)) => match algebra.both(one.not(), other.not()) {
            Truth::Known(holds) => Truth::Known(!holds),
            Truth::Open(neither) => Truth::Open(neither.not()),
        },
        (known, _) => known,
    })
}

fn has_kind(value: &Value, format: Format) -> bool {
    value.parts[0].kind == Kind::Number(format)
}

fn choose_number(
    state: &mut State,
    format: Format,
    predicate: Predicate,
    [a, b]: [Value; 2],
) -> Option<Value> {
    if !has_kind(&a, format) && !has_kind(&b, format) {
        return None;
    }
    let terms = [state.number(&a, format)?, state.number(&b, format)?];
    Some(Value::number(format, state.algebra.choose(predicate, format, terms)?))
}

/// A word as a part of a choice between patterns.
fn chosen(value: &Value) -> Option<Chosen> {
    let first = &value.parts[0];
    match first.kind {
        _ if value.is_known() => Some(Chosen::Bits(value.bits as u32)),
        Kind::Choice if value.parts[1].is_part_of(first, 1) => {
            Some(Chosen::Choice(first.element().p))
        }
        _ => None,
    }
}

/// Chooses one of two words of 32 bits.
fn choose_word(state: &mut State, predicate: Predicate, [a, b]: [Value; 2]) -> Value {
    if a == b {
        return a;
    }
    for format in [Format::F32, Format::S32] {
        if let Some(value) = choose_number(state, format, predicate, [a, b]) {
            return value;
        }
    }
    if let [Some(a), Some(b)] = [chosen(&a), chosen(&b)] {
        return state.choice(predicate, [a, b]);
    }
    let mut value = Value::known(0);
    for part in 0..2 {
        let halves = [a.half(part), b.half(part)];
        let chosen = [Format::F16, Format::Bf16]
            .into_iter()
            .find_map(|format| choose_number(state, format, predicate, halves));
        let chosen = match chosen {
            Some(chosen) => chosen,
            None if halves[0] == halves[1] => halves[0],
            None => return Value::lost(),
        };
        value.bits |= (chosen.bits & 0xffff) << (16 * part);
        value.parts[part] = chosen.parts[0];
    }
    value
}
