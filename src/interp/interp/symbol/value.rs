//! A lane's value: numbers that are known, and symbols, in parts of 16 bits.

use super::world::State;
use crate::algebra::{Element, Format, Predicate, Term, Truth};
use crate::interp::registers::File;

/// The most parts of a value.
pub(crate) const WIDTH: usize = 4;

/// What a part of a value belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// It is known, or nothing is known of it: poison tells which.
    #[default]
    None,
    /// A number of a format; for 32 and 64 bits all parts have to be side by side.
    Number(Format),
    /// One of two patterns of 32 bits, by a predicate; the element is its name.
    Choice,
    /// A predicate: its name and whether it is negated.
    Truth,
}

/// A part of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Symbol {
    /// The whole value that it is a part of.
    pub element: Element,
    /// The kind of that value.
    pub kind: Kind,
    /// Which part it is, the lowest first.
    pub part: u8,
}

impl Symbol {
    /// No symbol.
    pub(crate) const NONE: Symbol = Symbol {
        element: Element { p: 0, q: 0, degree: crate::algebra::Degree::ZERO },
        kind: Kind::None,
        part: 0,
    };

    /// Whether there is a symbol.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.kind != Kind::None
    }
}

/// A lane's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Value {
    /// The bits of the parts that are known.
    pub bits: u64,
    /// The parts; those that are known have no symbol.
    pub parts: [Symbol; WIDTH],
    /// Whether something in it is neither known nor a symbol.
    pub lost: bool,
}

impl Value {
    /// A value that is known.
    pub(crate) fn known(bits: u64) -> Value {
        Value { bits, parts: [Symbol::NONE; WIDTH], lost: false }
    }

    /// A value of which nothing is known.
    pub(crate) fn lost() -> Value {
        Value { lost: true, ..Value::known(0) }
    }

    /// A number of a format, in the lowest bits.
    pub(crate) fn number(format: Format, term: Term) -> Value {
        match term {
            Term::Number(bits) => Value::known(bits),
            Term::Element(element) => {
                let kind = Kind::Number(match format {
                    Format::Tf32 => Format::F32,
                    format => format,
                });
                let mut value = Value::known(0);
                for (part, symbol) in value.parts[..format.parts()].iter_mut().enumerate() {
                    *symbol = Symbol { element, kind, part: part as u8 };
                }
                value
            }
        }
    }

    /// A truth value.
    pub(crate) fn truth(truth: Truth) -> Value {
        match truth {
            Truth::Known(holds) => Value::known(holds.into()),
            Truth::Open(Predicate { name, negated }) => {
                let mut value = Value::known(0);
                let element = Element { p: name, q: negated.into(), ..Element::default() };
                value.parts[0] = Symbol { element, kind: Kind::Truth, part: 0 };
                value
            }
        }
    }

    /// Whether all of it is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.lost && self.parts.iter().all(|part| !part.is_some())
    }

    /// The value as a truth value; none if it is lost.
    pub(crate) fn as_truth(&self) -> Option<Truth> {
        let Symbol { element, kind, .. } = self.parts[0];
        match kind {
            _ if self.lost => None,
            Kind::Truth => {
                Some(Truth::Open(Predicate { name: element.p, negated: element.q != 0 }))
            }
            Kind::None => Some(Truth::Known(self.bits & 1 != 0)),
            _ => None,
        }
    }

    /// The value from some part on.
    pub(crate) fn from_part(&self, first: usize) -> Value {
        let mut value = Value { bits: self.bits >> (16 * first), ..*self };
        value.parts = [Symbol::NONE; WIDTH];
        value.parts[..WIDTH - first].copy_from_slice(&self.parts[first..]);
        value
    }

    /// The bits that are symbols.
    pub(crate) fn symbolic(&self, file: File) -> u64 {
        let parts = self.parts.iter().enumerate().filter(|(_, part)| part.is_some());
        let all = parts.fold(0, |bits, (at, _)| bits | 0xffff << (16 * at));
        all & crate::interp::poison::whole(file)
    }

    /// The value as a number of a format, in its lowest bits; none if they are something else.
    pub(crate) fn term(&self, format: Format, state: &mut State) -> Option<Term> {
        if self.lost {
            return None;
        }
        term(&self.parts, self.bits, format, state)
    }
}

/// The number that parts are; `bits` are those of the parts without a symbol.
#[inline]
pub(super) fn term(parts: &[Symbol], bits: u64, format: Format, state: &mut State) -> Option<Term> {
    let count = format.parts();
    let first = parts[0];
    let own = match format {
        Format::Tf32 => Format::F32,
        format => format,
    };
    if first.kind == Kind::Number(own) && first.part == 0 {
        let together = (1..count).all(|at| {
            let next = &parts[at];
            next.kind == first.kind && next.element == first.element && next.part == at as u8
        });
        return together.then_some(Term::Element(first.element));
    }
    if parts[..count].iter().all(|part| !part.is_some()) {
        let keep = u64::MAX >> (64 - 16 * count);
        return Some(Term::Number(bits & keep));
    }
    match (own, first.kind) {
        (Format::F32, Kind::Choice) if parts[1].element == first.element => {
            state.chosen_number(first.element)
        }
        // A bfloat16 with zeros behind it is the same number in single precision.
        (Format::F32, Kind::None) if bits & 0xffff == 0 => match parts[1] {
            Symbol { element, kind: Kind::Number(Format::Bf16), .. } => {
                Some(Term::Element(element))
            }
            _ => None,
        },
        _ => None,
    }
}

/// One of two values by a predicate, of a register of a file.
pub(super) fn choose(
    state: &mut State,
    file: File,
    predicate: Predicate,
    [a, b]: [Value; 2],
) -> Value {
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
            let upper = [low(a.from_part(2)), low(b.from_part(2))];
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
    let terms = [a.term(format, state)?, b.term(format, state)?];
    Some(Value::number(format, state.algebra.choose(predicate, format, terms)?))
}

/// Chooses one of two words of 32 bits.
fn choose_word(state: &mut State, predicate: Predicate, [a, b]: [Value; 2]) -> Value {
    if a == b {
        return a;
    }
    if let Some(value) = choose_number(state, Format::F32, predicate, [a, b]) {
        return value;
    }
    if a.is_known() && b.is_known() {
        return state.choice(predicate, [a.bits as u32, b.bits as u32]);
    }
    let is_choice = |value: &Value| value.parts[0].kind == Kind::Choice;
    if is_choice(&a) || is_choice(&b) {
        let terms = (a.term(Format::F32, state), b.term(Format::F32, state));
        if let (Some(a), Some(b)) = terms
            && let Some(term) = state.algebra.choose(predicate, Format::F32, [a, b])
        {
            return Value::number(Format::F32, term);
        }
        return Value::lost();
    }
    let mut value = Value::known(0);
    for part in 0..2 {
        let halves = [half(a, part), half(b, part)];
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

/// A part of a value alone.
pub(super) fn half(value: Value, part: usize) -> Value {
    let mut half = value.from_part(part);
    half.bits &= 0xffff;
    half.parts[1..].fill(Symbol::NONE);
    half
}
