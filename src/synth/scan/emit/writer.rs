//! PTX of terms over registers, and of states: a register for each accumulator.

use rustc_hash::FxHashMap;

use super::Code;
use super::networks::Networks;
use crate::synth::emit::index::Lines;
use crate::synth::scan::subject::{Accumulator, Kind};
use crate::synth::scan::term::{GIVEN, INFINITY, Op, RIGHT, Shared, Sort, Term};

/// A register for each accumulator; a predicate for one that is a boolean.
pub(super) type State = Vec<String>;

/// A kernel as it is written.
pub(super) struct Writer<'c> {
    pub(super) code: &'c Code<'c>,
    pub(super) networks: &'c Networks,
    pub(super) lines: Lines,
    pub(super) givens: Vec<String>,
    pub(super) tid: String,
    pub(super) lane: String,
    pub(super) warp: String,
    pub(super) warps: String,
    pub(super) threads: String,
}

/// The type with which a value is loaded and stored.
pub(super) fn memory(kind: Kind) -> String {
    match kind {
        Kind::Boolean => "u8".to_owned(),
        Kind::Signed(bits) => format!("s{bits}"),
        Kind::Unsigned(bits) => format!("u{bits}"),
        Kind::Float(bits) => format!("f{bits}"),
    }
}

/// A number of a loop as a floating-point number.
pub(super) fn float(number: i64) -> f64 {
    match number {
        INFINITY => f64::INFINITY,
        _ if number == -INFINITY => f64::NEG_INFINITY,
        number => number as f64,
    }
}

impl Writer<'_> {
    pub(super) fn is_boolean(&self, at: usize) -> bool {
        self.code.subject().accumulators[at].sort == Sort::Boolean
    }

    pub(super) fn has_booleans(&self) -> bool {
        (0..self.code.subject().accumulators.len()).any(|at| self.is_boolean(at))
    }

    /// The bytes of a state: its numbers, and a word with a bit for each boolean.
    pub(super) fn size(&self) -> u32 {
        let accumulators = 0..self.code.subject().accumulators.len();
        let numbers = accumulators.filter(|&at| !self.is_boolean(at));
        let numbers: u32 = numbers.map(|at| self.code.accumulated(at).bits() / 8).sum();
        numbers + if self.has_booleans() { 4 } else { 0 }
    }

    /// A register for a number of a type.
    fn number(&mut self, kind: Kind) -> String {
        if kind.bits() == 64 { self.lines.wide() } else { self.lines.register() }
    }

    /// The result of an instruction on words.
    pub(super) fn word(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.register();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction that makes a number of a type.
    pub(super) fn numeric(&mut self, kind: Kind, instruction: &str, operands: &str) -> String {
        let register = self.number(kind);
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction on predicates, or of a comparison.
    pub(super) fn predicate(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.predicate();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// A number of a type as an operand.
    fn literal(kind: Kind, number: i64) -> String {
        match kind {
            Kind::Unsigned(32) => format!("{}", number as u32),
            Kind::Unsigned(_) => format!("{:#x}", number as u64),
            Kind::Float(32) => format!("0f{:08X}", (float(number) as f32).to_bits()),
            Kind::Float(_) => format!("0d{:016X}", float(number).to_bits()),
            _ if number == i64::MIN => "0x8000000000000000".to_owned(),
            _ => number.to_string(),
        }
    }

    /// The values of terms, each of its type in a register; what they share is computed once.
    pub(super) fn terms(
        &mut self,
        terms: &[(Shared, Sort)],
        of: &dyn Fn(u32) -> String,
    ) -> Vec<String> {
        let mut known = FxHashMap::default();
        let values = terms.iter().map(|(term, sort)| self.term(term, *sort, of, &mut known));
        let values: Vec<String> = values.collect();
        let held = |(value, (_, sort)): (String, &(Shared, Sort))| {
            let kind = self.code.kind(*sort);
            match value.starts_with('%') {
                true => value,
                false => self.numeric(kind, &format!("mov.{}", memory(kind)), &value),
            }
        };
        values.into_iter().zip(terms).map(held).collect()
    }

    /// The value of a term; one of literals alone is of the sort that is wanted.
    fn term(
        &mut self,
        term: &Shared,
        wanted: Sort,
        of: &dyn Fn(u32) -> String,
        known: &mut FxHashMap<(Shared, Sort), String>,
    ) -> String {
        let subject = self.code.subject();
        let sort = subject.sort_of(term).unwrap_or(wanted);
        let key = (Shared::clone(term), sort);
        if let Some(register) = known.get(&key) {
            return register.clone();
        }
        let kind = self.code.kind(sort);
        let made = match &**term {
            Term::Number(number) => Self::literal(kind, *number),
            Term::Truth(truth) => self.predicate("mov.pred", if *truth { "1" } else { "0" }),
            Term::Variable(variable) => of(*variable),
            Term::Not(a) => {
                let a = self.term(a, Sort::Boolean, of, known);
                self.predicate("not.pred", &a)
            }
            Term::If(c, a, b) => {
                let c = self.term(c, Sort::Boolean, of, known);
                let (x, y) = (self.term(a, sort, of, known), self.term(b, sort, of, known));
                match kind {
                    Kind::Boolean => self.choice(&c, &x, &y),
                    _ => {
                        let select = format!("selp.{}", memory(kind));
                        self.numeric(kind, &select, &format!("{x}, {y}, {c}"))
                    }
                }
            }
            Term::Binary(op, a, b) => {
                let own = subject.sort_of(a).or_else(|| subject.sort_of(b));
                let own = own.unwrap_or_else(|| match sort {
                    Sort::Boolean => subject.literals(),
                    sort => sort,
                });
                let (a, b) = (self.term(a, own, of, known), self.term(b, own, of, known));
                self.binary(*op, self.code.kind(own), &a, &b)
            }
        };
        known.insert(key, made.clone());
        made
    }

    /// The value of an operator of operands of a type.
    fn binary(&mut self, op: Op, kind: Kind, a: &str, b: &str) -> String {
        let (ty, both) = (memory(kind), format!("{a}, {b}"));
        match op {
            Op::Add => self.numeric(kind, &format!("add.{ty}"), &both),
            Op::Sub => self.numeric(kind, &format!("sub.{ty}"), &both),
            Op::Mul if matches!(kind, Kind::Float(_)) => {
                self.numeric(kind, &format!("mul.{ty}"), &both)
            }
            Op::Mul => self.numeric(kind, &format!("mul.lo.{ty}"), &both),
            Op::Min => self.numeric(kind, &format!("min.{ty}"), &both),
            Op::Max => self.numeric(kind, &format!("max.{ty}"), &both),
            Op::Div => self.quotient(a, b),
            Op::Rem => self.remainder(a, b).0,
            Op::Equal if kind == Kind::Boolean => {
                let differ = self.predicate("xor.pred", &both);
                self.predicate("not.pred", &differ)
            }
            Op::Equal => self.predicate(&format!("setp.eq.{ty}"), &both),
            Op::Less => self.predicate(&format!("setp.lt.{ty}"), &both),
            Op::LessEqual => self.predicate(&format!("setp.le.{ty}"), &both),
            Op::And => self.predicate("and.pred", &both),
            Op::Or => self.predicate("or.pred", &both),
        }
    }

    /// One of two booleans.
    pub(super) fn choice(&mut self, c: &str, a: &str, b: &str) -> String {
        let not = self.predicate("not.pred", c);
        let (a, b) = (
            self.predicate("and.pred", &format!("{c}, {a}")),
            self.predicate("and.pred", &format!("{not}, {b}")),
        );
        self.predicate("or.pred", &format!("{a}, {b}"))
    }

    /// The remainder as Euclid has it, and where the machine's was negative; only numbers with a sign are divided.
    pub(super) fn remainder(&mut self, a: &str, b: &str) -> (String, String) {
        let (kind, ty) = (self.code.integers, memory(self.code.integers));
        let left = self.numeric(kind, &format!("rem.{ty}"), &format!("{a}, {b}"));
        if planted!(Bug::MachineRemainder) {
            return (left, self.predicate("mov.pred", "0"));
        }
        let negative = self.predicate(&format!("setp.lt.{ty}"), &format!("{left}, 0"));
        let size = self.numeric(kind, &format!("abs.{ty}"), b);
        let turned = self.numeric(kind, &format!("add.{ty}"), &format!("{left}, {size}"));
        let made =
            self.numeric(kind, &format!("selp.{ty}"), &format!("{turned}, {left}, {negative}"));
        (made, negative)
    }

    pub(super) fn quotient(&mut self, a: &str, b: &str) -> String {
        let (kind, ty) = (self.code.integers, memory(self.code.integers));
        let (_, negative) = self.remainder(a, b);
        let plain = self.numeric(kind, &format!("div.{ty}"), &format!("{a}, {b}"));
        let below = self.predicate(&format!("setp.lt.{ty}"), &format!("{b}, 0"));
        let one = self.numeric(kind, &format!("selp.{ty}"), &format!("1, -1, {below}"));
        let turned = self.numeric(kind, &format!("add.{ty}"), &format!("{plain}, {one}"));
        self.numeric(kind, &format!("selp.{ty}"), &format!("{turned}, {plain}, {negative}"))
    }

    /// The state of no elements, in registers that may be written again.
    pub(super) fn unit(&mut self) -> State {
        let starts = self.code.subject().accumulators.iter();
        let one = |own: &Accumulator| match self.code.kind(own.sort) {
            Kind::Boolean => self.predicate("mov.pred", if own.start != 0 { "1" } else { "0" }),
            kind => {
                let start = Self::literal(kind, own.start);
                self.numeric(kind, &format!("mov.{}", memory(kind)), &start)
            }
        };
        starts.map(one).collect()
    }

    /// Puts a state into other registers.
    pub(super) fn assign(&mut self, to: &State, from: &State) {
        // What is read later must not be written before.
        let careless = planted!(Bug::WrittenTooEarly);
        let mut held = State::new();
        for (at, from) in from.iter().enumerate() {
            let overwritten = !careless && to.contains(from) && to[at] != *from;
            held.push(match self.code.accumulated(at) {
                _ if !overwritten => from.clone(),
                Kind::Boolean => self.predicate("mov.pred", from),
                kind => self.numeric(kind, &format!("mov.{}", memory(kind)), from),
            });
        }
        for (at, (to, from)) in to.iter().zip(&held).enumerate() {
            let kind = match self.code.accumulated(at) {
                Kind::Boolean => "pred".to_owned(),
                kind => memory(kind),
            };
            self.lines.line(&format!("mov.{kind} {to}, {from};"));
        }
    }

    /// For each accumulator the new value where a condition holds, else the old one.
    pub(super) fn chosen(&mut self, condition: &str, new: &State, old: &State) -> State {
        let one = |at: usize| match self.code.accumulated(at) {
            Kind::Boolean => self.choice(condition, &new[at], &old[at]),
            kind => {
                let operands = format!("{}, {}, {condition}", new[at], old[at]);
                self.numeric(kind, &format!("selp.{}", memory(kind)), &operands)
            }
        };
        (0..new.len()).map(one).collect()
    }

    /// The state after two lists.
    pub(super) fn combined(&mut self, a: &State, b: &State) -> State {
        let givens = self.givens.clone();
        let of = |variable: u32| match variable {
            RIGHT.. => b[(variable - RIGHT) as usize].clone(),
            GIVEN.. => givens[(variable - GIVEN) as usize].clone(),
            _ => a[variable as usize].clone(),
        };
        let found = self.code.found;
        let combine = found.combine.iter().cloned();
        let sorts = found.subject.accumulators.iter().map(|own| own.sort);
        self.terms(&combine.zip(sorts).collect::<Vec<_>>(), &of)
    }
}
