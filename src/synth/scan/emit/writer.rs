//! PTX of terms over registers, and of states: a register for each accumulator.

use rustc_hash::FxHashMap;

use super::networks::Networks;
use super::{Code, sort};
use crate::planted::Bug;
use crate::synth::emit::index::Lines;
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{GIVEN, Op, RIGHT, Shared, Sort, Term};

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

impl Writer<'_> {
    /// The type of numbers.
    pub(super) fn ty(&self) -> String {
        memory(self.code.numbers)
    }

    pub(super) fn is_boolean(&self, at: usize) -> bool {
        self.code.subject().accumulators[at].sort == Sort::Boolean
    }

    pub(super) fn has_booleans(&self) -> bool {
        (0..self.code.subject().accumulators.len()).any(|at| self.is_boolean(at))
    }

    /// The bytes of a state: its numbers, and a word with a bit for each boolean.
    pub(super) fn size(&self) -> u32 {
        let accumulators = &self.code.subject().accumulators;
        let numbers = accumulators.iter().filter(|own| own.sort != Sort::Boolean).count() as u32;
        numbers * self.code.numbers.bits() / 8 + if self.has_booleans() { 4 } else { 0 }
    }

    /// A register for a number.
    pub(super) fn number(&mut self) -> String {
        if self.code.numbers.bits() == 64 { self.lines.wide() } else { self.lines.register() }
    }

    /// The result of an instruction on words.
    pub(super) fn word(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.register();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction on numbers.
    pub(super) fn numeric(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.number();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    /// The result of an instruction on predicates, or of a comparison.
    pub(super) fn predicate(&mut self, instruction: &str, operands: &str) -> String {
        let register = self.lines.predicate();
        self.lines.line(&format!("{instruction} {register}, {operands};"));
        register
    }

    pub(super) fn literal(&self, number: i64) -> String {
        match self.code.numbers {
            Kind::Unsigned(32) => format!("{}", number as u32),
            Kind::Unsigned(_) => format!("{:#x}", number as u64),
            Kind::Float(32) => format!("0f{:08X}", (number as f32).to_bits()),
            Kind::Float(_) => format!("0d{:016X}", (number as f64).to_bits()),
            _ if number == i64::MIN => "0x8000000000000000".to_owned(),
            _ => number.to_string(),
        }
    }

    /// The values of terms, each in a register; what they share is computed once.
    pub(super) fn terms(&mut self, terms: &[Shared], of: &dyn Fn(u32) -> String) -> Vec<String> {
        let mut known = FxHashMap::default();
        let values: Vec<String> =
            terms.iter().map(|term| self.term(term, of, &mut known)).collect();
        let ty = self.ty();
        let held = |value: String| match value.starts_with('%') {
            true => value,
            false => self.numeric(&format!("mov.{ty}"), &value),
        };
        values.into_iter().map(held).collect()
    }

    pub(super) fn term(
        &mut self,
        term: &Shared,
        of: &dyn Fn(u32) -> String,
        known: &mut FxHashMap<Shared, String>,
    ) -> String {
        if let Some(register) = known.get(term) {
            return register.clone();
        }
        let ty = self.ty();
        let made = match &**term {
            Term::Number(number) => self.literal(*number),
            Term::Truth(truth) => self.predicate("mov.pred", if *truth { "1" } else { "0" }),
            Term::Variable(variable) => of(*variable),
            Term::Not(a) => {
                let a = self.term(a, of, known);
                self.predicate("not.pred", &a)
            }
            Term::If(c, a, b) => {
                let (c, x) = (self.term(c, of, known), self.term(a, of, known));
                let y = self.term(b, of, known);
                match sort(self.code.subject(), a) {
                    Sort::Boolean => self.choice(&c, &x, &y),
                    _ => self.numeric(&format!("selp.{ty}"), &format!("{x}, {y}, {c}")),
                }
            }
            Term::Binary(op, a, b) => {
                let truths = sort(self.code.subject(), a) == Sort::Boolean;
                let (a, b) = (self.term(a, of, known), self.term(b, of, known));
                let both = format!("{a}, {b}");
                match op {
                    Op::Add => self.numeric(&format!("add.{ty}"), &both),
                    Op::Sub => self.numeric(&format!("sub.{ty}"), &both),
                    Op::Mul if matches!(self.code.numbers, Kind::Float(_)) => {
                        self.numeric(&format!("mul.{ty}"), &both)
                    }
                    Op::Mul => self.numeric(&format!("mul.lo.{ty}"), &both),
                    Op::Min => self.numeric(&format!("min.{ty}"), &both),
                    Op::Max => self.numeric(&format!("max.{ty}"), &both),
                    Op::Div => self.quotient(&a, &b),
                    Op::Rem => self.remainder(&a, &b).0,
                    Op::Equal if truths => {
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
        };
        known.insert(term.clone(), made.clone());
        made
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
        let ty = self.ty();
        let left = self.numeric(&format!("rem.{ty}"), &format!("{a}, {b}"));
        if self.code.has(Bug::MachineRemainder) {
            return (left, self.predicate("mov.pred", "0"));
        }
        let negative = self.predicate(&format!("setp.lt.{ty}"), &format!("{left}, 0"));
        let size = self.numeric(&format!("abs.{ty}"), b);
        let turned = self.numeric(&format!("add.{ty}"), &format!("{left}, {size}"));
        let made = self.numeric(&format!("selp.{ty}"), &format!("{turned}, {left}, {negative}"));
        (made, negative)
    }

    pub(super) fn quotient(&mut self, a: &str, b: &str) -> String {
        let ty = self.ty();
        let (_, negative) = self.remainder(a, b);
        let plain = self.numeric(&format!("div.{ty}"), &format!("{a}, {b}"));
        let below = self.predicate(&format!("setp.lt.{ty}"), &format!("{b}, 0"));
        let one = self.numeric(&format!("selp.{ty}"), &format!("1, -1, {below}"));
        let turned = self.numeric(&format!("add.{ty}"), &format!("{plain}, {one}"));
        self.numeric(&format!("selp.{ty}"), &format!("{turned}, {plain}, {negative}"))
    }

    /// The state of no elements, in registers that may be written again.
    pub(super) fn unit(&mut self) -> State {
        let starts = self.code.subject().accumulators.iter();
        let starts: Vec<(bool, i64)> =
            starts.map(|own| (own.sort == Sort::Boolean, own.start)).collect();
        let one = |(boolean, start): (bool, i64)| match boolean {
            true => self.predicate("mov.pred", if start != 0 { "1" } else { "0" }),
            false => {
                let (ty, start) = (self.ty(), self.literal(start));
                self.numeric(&format!("mov.{ty}"), &start)
            }
        };
        starts.into_iter().map(one).collect()
    }

    /// Puts a state into other registers.
    pub(super) fn assign(&mut self, to: &State, from: &State) {
        let ty = self.ty();
        // What is read later must not be written before.
        let careless = self.code.has(Bug::WrittenTooEarly);
        let held: State = from
            .iter()
            .enumerate()
            .map(|(at, from)| {
                match (!careless && to.contains(from) && to[at] != *from, self.is_boolean(at)) {
                    (false, _) => from.clone(),
                    (true, true) => self.predicate("mov.pred", from),
                    (true, false) => self.numeric(&format!("mov.{ty}"), from),
                }
            })
            .collect();
        for (at, (to, from)) in to.iter().zip(&held).enumerate() {
            let kind = if self.is_boolean(at) { "pred" } else { &ty };
            self.lines.line(&format!("mov.{kind} {to}, {from};"));
        }
    }

    /// For each accumulator the new value where a condition holds, else the old one.
    pub(super) fn chosen(&mut self, condition: &str, new: &State, old: &State) -> State {
        let ty = self.ty();
        let one = |at: usize| match self.is_boolean(at) {
            true => self.choice(condition, &new[at], &old[at]),
            false => {
                let operands = format!("{}, {}, {condition}", new[at], old[at]);
                self.numeric(&format!("selp.{ty}"), &operands)
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
        self.terms(&found.combine, &of)
    }
}
