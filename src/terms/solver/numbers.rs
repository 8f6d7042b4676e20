//! Claims about unbounded integers, reals and booleans.
//!
//! In: terms over numbered variables. Out: three-valued answers with the premises that a proof used, or the values
//! of a counterexample. Each query runs under z3's resource limit, and all of a [`Prover`] under one budget, so that
//! the answers depend on the queries alone.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use z3::ast::{Bool, Int, Real};
use z3::{Config, Params, SatResult, Solver, with_z3_config};

/// The range of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// All integers.
    Integer,
    /// All reals.
    Real,
    /// False and true.
    Boolean,
}

/// An operator of two operands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Equality, of numbers or of booleans.
    Equal,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Both.
    And,
    /// At least one.
    Or,
}

/// A term; equal parts may be shared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    /// A number.
    Number(i64),
    /// A boolean.
    Truth(bool),
    /// A variable.
    Variable(u32),
    /// The opposite of a boolean.
    Not(Arc<Term>),
    /// An operator with its operands.
    Binary(Op, Arc<Term>, Arc<Term>),
    /// The second where the first holds, else the third.
    If(Arc<Term>, Arc<Term>, Arc<Term>),
}

/// The verdict on a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It follows from the premises of these places, in their order.
    Proved(Vec<usize>),
    /// The values of the variables asked for in a counterexample; none for a number that is no `i64`.
    Refuted(Vec<Option<i64>>),
    /// The limit was reached.
    Unknown,
}

/// Runs `work` in a z3 context of its own, for many claims by one [`Prover`]: a context for each would cost more than the
/// claims, and earlier work of z3 shows in its answers.
pub fn session<R: Send + Sync>(work: impl FnOnce() -> R + Send + Sync) -> R {
    if !super::is_there() {
        return work();
    }
    super::bound_memory();
    with_z3_config(&Config::new(), work)
}

/// Puts claims to z3, within a budget.
#[derive(Debug)]
pub struct Prover {
    numbers: Sort,
    limit: u32,
    left: u64,
    queries: u32,
}

/// The least that a query takes from the budget.
const LEAST: u64 = 1_000;

enum Value {
    Integer(Int),
    Real(Real),
    Boolean(Bool),
}

impl Prover {
    /// `numbers` is the sort of literals beside literals, integers or reals; beside a real, a literal is a real. `limit`
    /// is z3's resource limit for a query, `budget` for all of them.
    pub fn new(numbers: Sort, limit: u32, budget: u64) -> Prover {
        Prover { numbers, limit, left: budget, queries: 0 }
    }

    /// How many claims were put to z3.
    pub fn queries(&self) -> u32 {
        self.queries
    }

    /// Whether the claim holds for all values with which the premises hold.
    pub fn prove(
        &mut self,
        sort: &dyn Fn(u32) -> Sort,
        premises: &[Arc<Term>],
        claim: &Arc<Term>,
        wanted: &[u32],
    ) -> Verdict {
        if self.left == 0 || !super::is_there() {
            return Verdict::Unknown;
        }
        super::bound_memory();
        self.queries += 1;
        let reals = self.numbers == Sort::Real;
        let mut made = Translation { sort, done: FxHashMap::default(), values: Vec::new(), reals };
        let solver = Solver::new();
        let mut params = Params::new();
        let limit = u64::from(self.limit).min(self.left);
        params.set_u32("rlimit", u32::try_from(limit).unwrap_or(u32::MAX));
        solver.set_params(&params);
        let labels: Vec<Bool> =
            (0..premises.len()).map(|at| Bool::new_const(format!("premise{at}"))).collect();
        for (label, premise) in labels.iter().zip(premises) {
            solver.assert(label.implies(made.truth(premise)));
        }
        solver.assert(made.truth(claim).not());
        let before = super::units(&solver);
        let result = solver.check_assumptions(&labels);
        let used = u64::from(super::units(&solver).wrapping_sub(before));
        self.left = self.left.saturating_sub(used.max(LEAST));
        log::debug!("claim {}: {result:?} after {used} of {limit} units", self.queries);
        match result {
            SatResult::Unsat => {
                let core = solver.get_unsat_core();
                let used = labels.iter().enumerate().filter(|(_, label)| core.contains(label));
                Verdict::Proved(used.map(|(at, _)| at).collect())
            }
            SatResult::Sat => match solver.get_model() {
                Some(model) => Verdict::Refuted(
                    wanted
                        .iter()
                        .map(|&variable| match made.variable(variable) {
                            Value::Integer(v) => model.eval(&v, true)?.as_i64(),
                            Value::Real(v) => {
                                let (top, bottom) = model.eval(&v, true)?.as_rational()?;
                                (bottom == 1).then_some(top)
                            }
                            Value::Boolean(v) => model.eval(&v, true)?.as_bool().map(i64::from),
                        })
                        .collect(),
                ),
                None => Verdict::Unknown,
            },
            SatResult::Unknown => Verdict::Unknown,
        }
    }
}

/// From terms to z3's.
struct Translation<'a> {
    sort: &'a dyn Fn(u32) -> Sort,
    /// The place in `values`, by the address of a term, which the claim keeps alive.
    done: FxHashMap<*const Term, usize>,
    /// In the order in which they were made, so that they are dropped in this order: z3 reuses the numbers of dropped
    /// terms, and its results depend on numbers.
    values: Vec<Value>,
    /// Whether literals are reals.
    reals: bool,
}

impl Clone for Value {
    fn clone(&self) -> Value {
        match self {
            Value::Integer(v) => Value::Integer(v.clone()),
            Value::Real(v) => Value::Real(v.clone()),
            Value::Boolean(v) => Value::Boolean(v.clone()),
        }
    }
}

impl Value {
    /// A term of the wrong sort is an internal error; it becomes an unconstrained value.
    fn truth(self) -> Bool {
        match self {
            Value::Boolean(v) => v,
            _ => Bool::fresh_const("ill-typed"),
        }
    }
}

/// Two operands of one sort: an integer beside a real becomes a real.
fn alike(a: Value, b: Value) -> (Value, Value) {
    match (a, b) {
        (Value::Integer(a), b @ Value::Real(_)) => (Value::Real(Real::from_int(&a)), b),
        (a @ Value::Real(_), Value::Integer(b)) => (a, Value::Real(Real::from_int(&b))),
        both => both,
    }
}

impl Translation<'_> {
    fn variable(&self, variable: u32) -> Value {
        let name = format!("v{variable}");
        match (self.sort)(variable) {
            Sort::Integer => Value::Integer(Int::new_const(name)),
            Sort::Real => Value::Real(Real::new_const(name)),
            Sort::Boolean => Value::Boolean(Bool::new_const(name)),
        }
    }

    fn truth(&mut self, term: &Arc<Term>) -> Bool {
        self.value(term).truth()
    }

    fn value(&mut self, term: &Arc<Term>) -> Value {
        if let Some(&known) = self.done.get(&Arc::as_ptr(term)) {
            return self.values[known].clone();
        }
        let made = match &**term {
            Term::Number(n) if self.reals => Value::Real(Real::from_int(&Int::from_i64(*n))),
            Term::Number(n) => Value::Integer(Int::from_i64(*n)),
            Term::Truth(b) => Value::Boolean(Bool::from_bool(*b)),
            Term::Variable(variable) => self.variable(*variable),
            Term::Not(a) => Value::Boolean(self.truth(a).not()),
            Term::If(c, a, b) => {
                let c = self.truth(c);
                match alike(self.value(a), self.value(b)) {
                    (Value::Integer(a), Value::Integer(b)) => Value::Integer(c.ite(&a, &b)),
                    (Value::Real(a), Value::Real(b)) => Value::Real(c.ite(&a, &b)),
                    (a, b) => Value::Boolean(c.ite(&a.truth(), &b.truth())),
                }
            }
            Term::Binary(op, a, b) => match alike(self.value(a), self.value(b)) {
                (Value::Integer(a), Value::Integer(b)) => match op {
                    Op::Add => Value::Integer(a + b),
                    Op::Sub => Value::Integer(a - b),
                    Op::Mul => Value::Integer(a * b),
                    Op::Div => Value::Integer(a.div(b)),
                    Op::Rem => Value::Integer(a.modulo(b)),
                    Op::Min => Value::Integer(a.le(&b).ite(&a, &b)),
                    Op::Max => Value::Integer(a.ge(&b).ite(&a, &b)),
                    Op::Less => Value::Boolean(a.lt(&b)),
                    Op::LessEqual => Value::Boolean(a.le(&b)),
                    _ => Value::Boolean(a.eq(&b)),
                },
                (Value::Real(a), Value::Real(b)) => match op {
                    Op::Add => Value::Real(a + b),
                    Op::Sub => Value::Real(a - b),
                    Op::Mul => Value::Real(a * b),
                    Op::Div | Op::Rem => Value::Real(Real::fresh_const("inexact")),
                    Op::Min => Value::Real(a.le(&b).ite(&a, &b)),
                    Op::Max => Value::Real(a.ge(&b).ite(&a, &b)),
                    Op::Less => Value::Boolean(a.lt(&b)),
                    Op::LessEqual => Value::Boolean(a.le(&b)),
                    _ => Value::Boolean(a.eq(&b)),
                },
                (a, b) => {
                    let (a, b) = (a.truth(), b.truth());
                    Value::Boolean(match op {
                        Op::And => a & b,
                        Op::Or => a | b,
                        Op::Equal => a.iff(&b),
                        _ => Bool::fresh_const("ill-typed"),
                    })
                }
            },
        };
        self.done.insert(Arc::as_ptr(term), self.values.len());
        self.values.push(made.clone());
        made
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        claims_are_proved_from_what_they_need_and_refuted_by_values,
        beyond_the_budget_nothing_is_known
    );

    fn variable(number: u32) -> Arc<Term> {
        Arc::new(Term::Variable(number))
    }

    fn binary(op: Op, a: Arc<Term>, b: Arc<Term>) -> Arc<Term> {
        Arc::new(Term::Binary(op, a, b))
    }

    fn claims_are_proved_from_what_they_need_and_refuted_by_values() {
        let integers = |_: u32| Sort::Integer;
        let [a, b, c] = [0, 1, 2].map(variable);
        let less = |a: &Arc<Term>, b: &Arc<Term>| binary(Op::Less, a.clone(), b.clone());
        let mut prover = Prover::new(Sort::Integer, 100_000, 1_000_000);
        let premises = [less(&c, &a), less(&a, &b), less(&b, &c)];
        let two = [premises[1].clone(), premises[2].clone(), less(&a, &Arc::new(Term::Number(9)))];
        assert_eq!(prover.prove(&integers, &two, &less(&a, &c), &[]), Verdict::Proved(vec![0, 1]));
        let Verdict::Refuted(values) =
            prover.prove(&integers, &two[..1], &less(&a, &c), &[0, 1, 2])
        else {
            panic!("nothing is said of the third number")
        };
        let [Some(a_is), Some(b_is), Some(c_is)] = values[..] else { panic!("{values:?}") };
        assert!(a_is < b_is && a_is >= c_is, "{values:?}");
        // Between two integers there is not always another one; between reals there is.
        let one = Arc::new(Term::Number(1));
        let next = binary(Op::LessEqual, binary(Op::Add, a.clone(), one), b.clone());
        assert_eq!(prover.prove(&integers, &[less(&a, &b)], &next, &[]), Verdict::Proved(vec![0]));
        assert_eq!(prover.queries(), 3);
        let mut prover = Prover::new(Sort::Real, 100_000, 1_000_000);
        let refuted = prover.prove(&|_| Sort::Real, &[less(&a, &b)], &next, &[0, 1]);
        assert!(matches!(refuted, Verdict::Refuted(_)), "{refuted:?}");
    }

    fn beyond_the_budget_nothing_is_known() {
        let mut prover = Prover::new(Sort::Integer, 100_000, 900);
        let claim = Arc::new(Term::Truth(true));
        assert_eq!(prover.prove(&|_| Sort::Boolean, &[], &claim, &[]), Verdict::Proved(vec![]));
        assert_eq!(prover.prove(&|_| Sort::Boolean, &[], &claim, &[]), Verdict::Unknown);
        assert_eq!(prover.queries(), 1);
    }
}
