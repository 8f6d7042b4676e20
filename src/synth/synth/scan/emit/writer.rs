//! PTX of terms over registers, and of states: a register for each accumulator.

use rustc_hash::FxHashMap;

use super::Code;
use super::networks::Networks;
use crate::isa::Qualifier;
use crate::isa::ScalarType::{self, F32, F64, Pred, U8};
use crate::ptx::write::{Block, Op as Instruction, Reg, Value, op};
use crate::synth::scan::subject::{Accumulator, Kind};
use crate::synth::scan::term::{INFINITY, Op, Shared, Sort, Term, Values};

/// A register for each accumulator; a predicate for one that is a boolean.
pub(super) type State = Vec<Reg>;

/// A kernel as it is written.
pub(super) struct Writer<'c> {
    pub(super) code: &'c Code<'c>,
    pub(super) networks: &'c Networks,
    pub(super) block: Block,
    pub(super) givens: Vec<Reg>,
    pub(super) tid: Reg,
    pub(super) lane: Reg,
    pub(super) warp: Reg,
    pub(super) warps: Reg,
    pub(super) threads: Reg,
}

/// The type with which a value is loaded and stored.
pub(super) fn memory(kind: Kind) -> ScalarType {
    match kind {
        Kind::Boolean => U8,
        Kind::Signed(bits) => ScalarType::s(bits),
        Kind::Unsigned(bits) => ScalarType::u(bits),
        Kind::Float(bits) => {
            if bits == 32 {
                F32
            } else {
                F64
            }
        }
    }
}

/// The type that values are computed with.
fn computed(kind: Kind) -> ScalarType {
    if kind == Kind::Boolean { Pred } else { memory(kind) }
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

    /// A number of a type as an operand; of a boolean, whether it holds.
    fn literal(kind: Kind, number: i64) -> Value {
        match kind {
            Kind::Unsigned(32) => Value::Number((number as u32).into()),
            Kind::Unsigned(_) => Value::Literal(format!("{:#x}", number as u64)),
            Kind::Float(32) => {
                Value::Literal(format!("0f{:08X}", (float(number) as f32).to_bits()))
            }
            Kind::Float(_) => Value::Literal(format!("0d{:016X}", float(number).to_bits())),
            Kind::Boolean => Value::Number(i64::from(number != 0)),
            _ if number == i64::MIN => Value::Literal("0x8000000000000000".to_owned()),
            _ => Value::Number(number),
        }
    }

    /// A value of a type in a register that may be written again.
    fn held(&mut self, kind: Kind, value: &Value) -> Reg {
        let ty = computed(kind);
        self.block.make(ty, op!(Mov.(ty)), &[value])
    }

    /// The values of terms, each in a register of its type; shared subterms are computed once.
    pub(super) fn terms(&mut self, terms: &[(Shared, Sort)], of: &dyn Fn(u32) -> Reg) -> Vec<Reg> {
        let mut known = FxHashMap::default();
        let values = terms.iter().map(|(term, sort)| self.term(term, *sort, of, &mut known));
        let values: Vec<Value> = values.collect();
        let held = |(value, (_, sort)): (Value, &(Shared, Sort))| match value {
            Value::Reg(register) => register,
            value => self.held(self.code.kind(*sort), &value),
        };
        values.into_iter().zip(terms).map(held).collect()
    }

    /// The value of a term; one of literals alone is of the sort that is wanted.
    fn term(
        &mut self,
        term: &Shared,
        wanted: Sort,
        of: &dyn Fn(u32) -> Reg,
        known: &mut FxHashMap<(Shared, Sort), Value>,
    ) -> Value {
        let subject = self.code.subject();
        let sort = subject.sort_of(term).unwrap_or(wanted);
        let key = (Shared::clone(term), sort);
        if let Some(register) = known.get(&key) {
            return register.clone();
        }
        let kind = self.code.kind(sort);
        let made = match &**term {
            Term::Number(number) => Self::literal(kind, *number),
            Term::Truth(truth) => self.held(Kind::Boolean, &Value::Number((*truth).into())).into(),
            Term::Variable(variable) => of(*variable).into(),
            Term::Not(a) => {
                let a = self.term(a, Sort::Boolean, of, known);
                self.block.test(op!(Not.Pred), &[&a]).into()
            }
            Term::If(c, a, b) => {
                let c = self.term(c, Sort::Boolean, of, known);
                let (x, y) = (self.term(a, sort, of, known), self.term(b, sort, of, known));
                self.choice(kind, &c, &x, &y).into()
            }
            Term::Binary(op, a, b) => {
                let own = subject.sort_of(a).or_else(|| subject.sort_of(b));
                let own = own.unwrap_or_else(|| match sort {
                    Sort::Boolean => subject.literals(),
                    sort => sort,
                });
                let (a, b) = (self.term(a, own, of, known), self.term(b, own, of, known));
                self.binary(*op, self.code.kind(own), &a, &b).into()
            }
        };
        known.insert(key, made.clone());
        made
    }

    /// The value of an operator of operands of a type.
    fn binary(&mut self, op: Op, kind: Kind, a: &Value, b: &Value) -> Reg {
        let ty = memory(kind);
        let operands: [&dyn std::fmt::Display; 2] = [a, b];
        let comparison = |cmp: Qualifier| (Pred, op!(Setp.(cmp).(ty)));
        let (result, instruction): (ScalarType, Instruction) = match op {
            Op::Add => (ty, op!(Add.(ty))),
            Op::Sub => (ty, op!(Sub.(ty))),
            Op::Mul if ty.is_float() => (ty, op!(Mul.(ty))),
            Op::Mul => (ty, op!(Mul.Lo.(ty))),
            Op::Min => (ty, op!(Min.(ty))),
            Op::Max => (ty, op!(Max.(ty))),
            Op::Div => return self.quotient(a, b),
            Op::Rem => return self.remainder(a, b).0,
            Op::Equal if kind == Kind::Boolean => {
                let differ = self.block.test(op!(Xor.Pred), &operands);
                return self.block.test(op!(Not.Pred), &[&differ]);
            }
            Op::Equal => comparison(Qualifier::Eq),
            Op::Less => comparison(Qualifier::Lt),
            Op::LessEqual => comparison(Qualifier::Le),
            Op::And => (Pred, op!(And.Pred)),
            Op::Or => (Pred, op!(Or.Pred)),
        };
        self.block.make(result, instruction, &operands)
    }

    /// One of two values of a type.
    pub(super) fn choice(&mut self, kind: Kind, c: &Value, a: &Value, b: &Value) -> Reg {
        let (ty, block) = (memory(kind), &mut self.block);
        if kind != Kind::Boolean {
            return block.make(ty, op!(Selp.(ty)), &[a, b, c]);
        }
        let not = block.test(op!(Not.Pred), &[c]);
        let a = block.test(op!(And.Pred), &[c, a]);
        let b = block.test(op!(And.Pred), &[&not, b]);
        block.test(op!(Or.Pred), &[&a, &b])
    }

    /// The remainder as Euclid has it, and where the machine's was negative; only numbers with a sign are divided.
    fn remainder(&mut self, a: &Value, b: &Value) -> (Reg, Reg) {
        let (ty, block) = (memory(self.code.integers), &mut self.block);
        let left = block.make(ty, op!(Rem.(ty)), &[a, b]);
        if planted!(Bug::MachineRemainder) {
            return (left, block.test(op!(Mov.Pred), &[&0]));
        }
        let negative = block.test(op!(Setp.Lt.(ty)), &[&left, &0]);
        let size = block.make(ty, op!(Abs.(ty)), &[b]);
        let turned = block.make(ty, op!(Add.(ty)), &[&left, &size]);
        let made = block.make(ty, op!(Selp.(ty)), &[&turned, &left, &negative]);
        (made, negative)
    }

    fn quotient(&mut self, a: &Value, b: &Value) -> Reg {
        let (_, negative) = self.remainder(a, b);
        let (ty, block) = (memory(self.code.integers), &mut self.block);
        let plain = block.make(ty, op!(Div.(ty)), &[a, b]);
        let below = block.test(op!(Setp.Lt.(ty)), &[b, &0]);
        let one = block.make(ty, op!(Selp.(ty)), &[&1, &-1, &below]);
        let turned = block.make(ty, op!(Add.(ty)), &[&plain, &one]);
        block.make(ty, op!(Selp.(ty)), &[&turned, &plain, &negative])
    }

    /// The state of no elements, in registers that may be written again.
    pub(super) fn unit(&mut self) -> State {
        let starts = self.code.subject().accumulators.iter();
        let one = |own: &Accumulator| {
            let kind = self.code.kind(own.sort);
            self.held(kind, &Self::literal(kind, own.start))
        };
        starts.map(one).collect()
    }

    /// Puts a state into other registers.
    pub(super) fn assign(&mut self, to: &State, from: &State) {
        // A source that is read later must not be overwritten before.
        let careless = planted!(Bug::WrittenTooEarly);
        let mut held = State::new();
        for (at, from) in from.iter().enumerate() {
            let overwritten = !careless && to.contains(from) && to[at] != *from;
            held.push(match overwritten {
                false => from.clone(),
                true => self.held(self.code.accumulated(at), &from.clone().into()),
            });
        }
        for (at, (to, from)) in to.iter().zip(&held).enumerate() {
            self.block.put(op!(Mov.(computed(self.code.accumulated(at)))), &[to, from]);
        }
    }

    /// For each accumulator the new value where a condition holds, else the old one.
    pub(super) fn chosen(&mut self, condition: &Reg, new: &State, old: &State) -> State {
        let condition = Value::Reg(condition.clone());
        let one = |(at, (new, old)): (usize, (&Reg, &Reg))| {
            let kind = self.code.accumulated(at);
            self.choice(kind, &condition, &new.clone().into(), &old.clone().into())
        };
        new.iter().zip(old).enumerate().map(one).collect()
    }

    /// The state after two lists.
    pub(super) fn combined(&mut self, a: &State, b: &State) -> State {
        let givens = self.givens.clone();
        let values = Values::new(a, &givens).with_right(b);
        let of = |variable: u32| values.of(variable).clone();
        let found = self.code.found;
        let combine = found.combine.iter().cloned();
        let sorts = found.subject.accumulators.iter().map(|own| own.sort);
        self.terms(&combine.zip(sorts).collect::<Vec<_>>(), &of)
    }
}
