//! A serial loop on 32 lists abreast: terms as a list of operations, each of which is done for all lists at a time.
//!
//! In: a loop, and for each element its values in all lists. Out: the results behind it, and for which lists there are
//! any. What a list's results are is what [`super::check`] says of one list.

use rustc_hash::FxHashMap;

use super::Code;
use super::check::is_exact;
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{self, GIVEN, INPUT, Op, Shared, Term};

/// Lists.
pub const LISTS: usize = 32;

/// A value for each list.
pub type Values = [i64; LISTS];

/// One operation; its operands stand in front of it.
#[derive(Clone, Copy, Debug)]
enum Node {
    Constant(i64),
    State(usize),
    Element(usize),
    Given(usize),
    Not(usize),
    Binary(Op, usize, usize),
    If(usize, usize, usize),
}

/// Terms as operations.
#[derive(Debug)]
struct Terms {
    nodes: Vec<Node>,
    roots: Vec<usize>,
}

/// What operations have made: values, and a bit for each list that has none.
#[derive(Debug, Default)]
struct Made {
    values: Vec<Values>,
    none: Vec<u32>,
}

/// The terms of a loop.
#[derive(Debug)]
pub struct Serial {
    step: Terms,
    results: Terms,
    start: Vec<i64>,
    wraps: bool,
    /// The types of accumulators, and of results.
    kinds: [Vec<Kind>; 2],
}

/// A loop that goes through lists.
#[derive(Debug)]
pub struct Running<'s> {
    serial: &'s Serial,
    made: Made,
    state: Vec<Values>,
    /// Lists whose numbers have not become too large.
    alive: u32,
}

impl Terms {
    fn new(terms: &[&Shared]) -> Terms {
        let mut made = Terms { nodes: Vec::new(), roots: Vec::new() };
        let mut known = FxHashMap::default();
        made.roots = terms.iter().map(|term| made.node(term, &mut known)).collect();
        made
    }

    fn node(&mut self, term: &Shared, known: &mut FxHashMap<*const Term, usize>) -> usize {
        if let Some(&at) = known.get(&std::sync::Arc::as_ptr(term)) {
            return at;
        }
        let node = match &**term {
            Term::Number(value) => Node::Constant(*value),
            Term::Truth(value) => Node::Constant(i64::from(*value)),
            Term::Variable(variable) => match *variable {
                variable @ GIVEN.. => Node::Given((variable - GIVEN) as usize),
                variable @ INPUT.. => Node::Element((variable - INPUT) as usize),
                variable => Node::State(variable as usize),
            },
            Term::Not(a) => Node::Not(self.node(a, known)),
            Term::Binary(op, a, b) => {
                let (a, b) = (self.node(a, known), self.node(b, known));
                Node::Binary(*op, a, b)
            }
            Term::If(c, a, b) => {
                let (c, a, b) = (self.node(c, known), self.node(a, known), self.node(b, known));
                Node::If(c, a, b)
            }
        };
        self.nodes.push(node);
        known.insert(std::sync::Arc::as_ptr(term), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Makes the values of all operations.
    fn make(
        &self,
        made: &mut Made,
        state: &[Values],
        element: &[Values],
        givens: &[Values],
        wraps: bool,
    ) {
        made.values.resize(self.nodes.len(), [0; LISTS]);
        made.none.resize(self.nodes.len(), 0);
        for (at, node) in self.nodes.iter().enumerate() {
            let (before, rest) = made.values.split_at_mut(at);
            let value = &mut rest[0];
            let none = &made.none;
            made.none[at] = match *node {
                Node::Constant(constant) => {
                    *value = [constant; LISTS];
                    0
                }
                Node::State(number) => {
                    *value = state[number];
                    0
                }
                Node::Element(number) => {
                    *value = element[number];
                    0
                }
                Node::Given(number) => {
                    *value = givens[number];
                    0
                }
                Node::Not(a) => {
                    for list in 0..LISTS {
                        value[list] = 1 - before[a][list];
                    }
                    none[a]
                }
                Node::Binary(op, a, b) => {
                    let lost = none[a] | none[b];
                    lost | binary(op, wraps, &before[a], &before[b], value)
                }
                Node::If(c, a, b) => {
                    let (condition, yes, no) = (&before[c], &before[a], &before[b]);
                    let mut taken = 0;
                    for list in 0..LISTS {
                        let holds = condition[list] != 0;
                        value[list] = if holds { yes[list] } else { no[list] };
                        taken |= u32::from(holds) << list;
                    }
                    none[c] | none[a] & taken | none[b] & !taken
                }
            };
        }
    }
}

/// An operator's values; a bit for each list where there is none.
fn binary(op: Op, wraps: bool, a: &Values, b: &Values, value: &mut Values) -> u32 {
    macro_rules! each {
        (|$a:ident, $b:ident| $of:expr) => {
            for list in 0..LISTS {
                let ($a, $b) = (a[list], b[list]);
                value[list] = $of;
            }
        };
    }
    match op {
        Op::Add => each!(|a, b| a.wrapping_add(b)),
        Op::Sub => each!(|a, b| a.wrapping_sub(b)),
        Op::Mul if wraps => each!(|a, b| a.wrapping_mul(b)),
        Op::Min => each!(|a, b| a.min(b)),
        Op::Max => each!(|a, b| a.max(b)),
        Op::Equal => each!(|a, b| i64::from(a == b)),
        Op::Less => each!(|a, b| i64::from(a < b)),
        Op::LessEqual => each!(|a, b| i64::from(a <= b)),
        Op::And => each!(|a, b| a & b),
        Op::Or => each!(|a, b| a | b),
        Op::Mul | Op::Div | Op::Rem => {
            let mut none = 0;
            for list in 0..LISTS {
                match term::apply(op, a[list], b[list]) {
                    Some(result) => value[list] = result,
                    None => none |= 1 << list,
                }
            }
            return none;
        }
    }
    match op {
        // (The sum's sign is neither's.)
        Op::Add if !wraps => signs(|list| (a[list] ^ value[list]) & (b[list] ^ value[list])),
        Op::Sub if !wraps => signs(|list| (a[list] ^ b[list]) & (a[list] ^ value[list])),
        _ => 0,
    }
}

/// A bit for each list whose number is negative.
fn signs(of: impl Fn(usize) -> i64) -> u32 {
    let mut any = 0;
    for list in 0..LISTS {
        any |= of(list);
    }
    if any >= 0 {
        return 0;
    }
    (0..LISTS).fold(0, |bits, list| bits | u32::from(of(list) < 0) << list)
}

impl Serial {
    /// The loop of an operator.
    pub fn new(code: &Code) -> Serial {
        let subject = code.subject();
        let steps: Vec<&Shared> = subject.accumulators.iter().map(|own| &own.step).collect();
        let results: Vec<&Shared> = subject.result.iter().collect();
        Serial {
            step: Terms::new(&steps),
            results: Terms::new(&results),
            start: subject.start(),
            wraps: code.wraps(),
            kinds: [
                subject.accumulators.iter().map(|own| code.kind(own.sort)).collect(),
                subject.result.iter().map(|term| code.kind(code.sort(term))).collect(),
            ],
        }
    }

    /// In front of the first element.
    pub fn start(&self) -> Running<'_> {
        let state = self.start.iter().map(|&value| [value; LISTS]).collect();
        Running { serial: self, made: Made::default(), state, alive: u32::MAX }
    }
}

/// The lists whose number is compared.
fn exact(kind: Kind, values: &Values) -> u32 {
    if matches!(kind, Kind::Unsigned(_)) || values.iter().all(|value| is_exact(kind, *value)) {
        return u32::MAX;
    }
    let bits = values.iter().enumerate();
    bits.fold(0, |bits, (list, value)| bits | u32::from(is_exact(kind, *value)) << list)
}

impl Running<'_> {
    /// Goes on by an element.
    pub fn step(&mut self, element: &[Values], givens: &[Values]) {
        let Running { serial, made, state, alive } = self;
        serial.step.make(made, state, element, givens, serial.wraps);
        let roots = serial.step.roots.iter().zip(&serial.kinds[0]);
        for (own, (&root, &kind)) in state.iter_mut().zip(roots) {
            *own = made.values[root];
            *alive &= !made.none[root] & exact(kind, own);
        }
    }

    /// The results, each with the lists that have one.
    pub fn results(&mut self, givens: &[Values]) -> impl Iterator<Item = (&Values, u32)> {
        let Running { serial, made, state, alive } = self;
        serial.results.make(made, state, &[], givens, serial.wraps);
        let made: &Made = made;
        let alive = *alive;
        let roots = serial.results.roots.iter().zip(&serial.kinds[1]);
        roots.map(move |(&root, &kind)| {
            let values = &made.values[root];
            (values, alive & !made.none[root] & exact(kind, values))
        })
    }
}
