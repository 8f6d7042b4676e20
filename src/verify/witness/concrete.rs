//! Executes a counterexample: both sides of a claim are worked out in plain arithmetic on numbers, as
//! a machine would, and the difference has to show again.
//!
//! In: the solver's model (values of symbols, of loads, of questions about addresses), the facts at
//! the place, and the claim as it was made. Out: the two values, if each fact holds and the values
//! differ. The solver takes loads and parameters for independent values; here they are bytes of one
//! memory, so that two loads of the same bytes give the same value. A term has no value if it
//! depends on an uninterpreted function, on values from other lanes, or on a clock.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::expr::sign_extend;
use crate::expr::{BinaryOp, Node, SymbolId, TermId, evaluate_binary, evaluate_unary, mask};
use crate::ptx::StateSpace;
use crate::record::{StoreRecord, unmarked};
use crate::terms::{Function, Kind, Origin, Terms};

/// How many assignments of the values that the solver left open are tried.
const SEEDS: u64 = 4;

/// The assignment that the solver found.
pub(crate) struct Model {
    /// Values of symbols that the facts or the claim mention.
    pub symbols: FxHashMap<SymbolId, u64>,
    /// Values of uninterpreted functions.
    pub functions: FxHashMap<TermId, u64>,
}

/// A state in which a claim was seen to fail.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub original: u64,
    pub rewritten: u64,
    /// The bytes of global memory that were read.
    pub memory: FxHashMap<u64, u8>,
    /// Values of the parameters' bytes.
    pub parameters: FxHashMap<(String, i64), u8>,
}

/// Whether each fact holds and the claim fails in some state that agrees with the model; the `strict`
/// facts decide whether the place is reached at all.
pub(super) fn observe(
    terms: &Terms,
    stores: &FxHashMap<TermId, StoreRecord>,
    model: &Model,
    (facts, strict): (&[TermId], &[TermId]),
    claim: (TermId, TermId),
) -> Option<Seen> {
    (0..SEEDS).find_map(|seed| {
        let mut machine = Machine {
            terms,
            stores,
            model,
            seed,
            memory: FxHashMap::default(),
            parameters: FxHashMap::default(),
            windows: FxHashMap::default(),
            known: FxHashMap::default(),
            strict: false,
        };
        let holds = facts.iter().all(|&fact| machine.value(fact) == Some(1));
        machine.strict = true;
        machine.known.clear();
        let reached = strict.iter().all(|&fact| machine.value(fact) == Some(1));
        if !holds || !reached {
            return None;
        }
        let (original, rewritten) = (machine.value(claim.0)?, machine.value(claim.1)?);
        let memory = machine.memory.iter().filter(|((space, _), _)| *space == Space::Global);
        let memory = memory.map(|((_, at), byte)| (*at, *byte)).collect();
        let Machine { parameters, .. } = machine;
        (original != rewritten).then_some(Seen { original, rewritten, memory, parameters })
    })
}

/// The state spaces from whose bytes loads get their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Space {
    Global,
    Shared,
    Const,
    Local,
}

/// A machine that computes the value of each term on numbers: the numbers of the solver's model and,
/// where the model leaves some open, numbers derived from `seed`.
struct Machine<'a> {
    terms: &'a Terms,
    stores: &'a FxHashMap<TermId, StoreRecord>,
    model: &'a Model,
    seed: u64,
    memory: FxHashMap<(Space, u64), u8>,
    /// The bytes of parameters that were read, by name and offset.
    parameters: FxHashMap<(String, i64), u8>,
    /// For each address that was asked about, whether it is global.
    windows: FxHashMap<u64, bool>,
    known: FxHashMap<TermId, Option<u64>>,
    /// Whether only values count that a machine has by itself.
    strict: bool,
}

/// The outcome of one step of the computation.
enum Step {
    Done(Option<u64>),
    Needs(TermId),
}

impl Machine<'_> {
    /// The value of a term; `None` if it has none.
    fn value(&mut self, term: TermId) -> Option<u64> {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.known.contains_key(&next) {
                stack.pop();
                continue;
            }
            match self.step(next) {
                Step::Needs(operand) => stack.push(operand),
                Step::Done(value) => {
                    let width = self.terms.arena.width(next);
                    self.known.insert(next, value.map(|value| value & mask(width)));
                    stack.pop();
                }
            }
        }
        self.known[&term]
    }

    fn step(&mut self, term: TermId) -> Step {
        let terms = self.terms;
        let arena = &terms.arena;
        // Only the side that is taken has to have a value.
        match *arena.node(term) {
            Node::IfThenElse(condition, a, b) => {
                return match self.known.get(&condition) {
                    None => Step::Needs(condition),
                    Some(None) => Step::Done(None),
                    Some(&Some(holds)) => {
                        let side = if holds == 1 { a } else { b };
                        self.known.get(&side).map_or(Step::Needs(side), |&value| Step::Done(value))
                    }
                };
            }
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if arena.width(term) == 1 => {
                let decides = u64::from(op == BinaryOp::Or);
                for side in [a, b] {
                    match self.known.get(&side) {
                        None => return Step::Needs(side),
                        Some(&Some(value)) if value == decides => return Step::Done(Some(decides)),
                        Some(_) => {}
                    }
                }
            }
            Node::Apply(..) => return self.function(term),
            Node::Symbol(symbol) => return Step::Done(self.symbol(symbol, term)),
            _ => {}
        }
        let operands = arena.operands(term);
        if let Some(&missing) = operands.iter().find(|operand| !self.known.contains_key(operand)) {
            return Step::Needs(missing);
        }
        let values: Option<Vec<u64>> = operands.iter().map(|operand| self.known[operand]).collect();
        let Some(values) = values else { return Step::Done(None) };
        let width = arena.width(term);
        Step::Done(match arena.node(term) {
            Node::Constant(value) => Some(*value),
            Node::Sum { constant, addends } => {
                let scaled = values.iter().zip(addends).map(|(v, (_, c))| v.wrapping_mul(*c));
                Some(scaled.fold(*constant, u64::wrapping_add))
            }
            Node::Product(_) => Some(values.iter().fold(1, |p: u64, v| p.wrapping_mul(*v))),
            Node::Unary(op, _) => Some(evaluate_unary(*op, values[0], width)),
            Node::Binary(op, ..) => Some(evaluate_binary(*op, values[0], values[1], width)),
            Node::Compare(op, a, _) => {
                Some(u64::from(op.holds(values[0], values[1], arena.width(*a))))
            }
            Node::ZeroExtend(_) => Some(values[0]),
            Node::SignExtend(a) => Some(sign_extend(values[0], arena.width(*a))),
            Node::Extract(_, low) => Some(values[0] >> low),
            Node::Concatenate(_, low) => Some(values[0] << arena.width(*low) | values[1]),
            Node::IfThenElse(..) | Node::Apply(..) | Node::Symbol(_) => None,
        })
    }

    fn symbol(&mut self, symbol: SymbolId, term: TermId) -> Option<u64> {
        let info = self.terms.symbols.info(symbol);
        let modelled = self.model.symbols.get(&symbol).copied();
        match &info.kind {
            Kind::Parameter { name, offset, bits } => {
                let whole = modelled.unwrap_or_else(|| self.arbitrary(("parameter", symbol.0)));
                let mut value = 0;
                for byte in 0..i64::from(*bits).div_euclid(8) {
                    let own = (whole >> (8 * byte)) as u8;
                    let bits = *self.parameters.entry((name.clone(), offset + byte)).or_insert(own);
                    value |= u64::from(bits) << (8 * byte);
                }
                Some(value)
            }
            Kind::Memory(..) | Kind::InLane(..) => None,
            Kind::Shifted(..)
            | Kind::Event(..)
            | Kind::RewrittenOnly(..)
            | Kind::Carry(..)
            | Kind::Volatile(..)
            | Kind::Abstract(_)
                if self.strict =>
            {
                None
            }
            _ => modelled.or_else(|| {
                let range = self.terms.arena.range(term);
                let size = (range.umax - range.umin).wrapping_add(1);
                let number = self.arbitrary(("symbol", symbol.0));
                Some(if size == 0 { number } else { range.umin + number % size })
            }),
        }
    }

    /// The value of a load from memory as it was at the start, or whether an address is global.
    fn function(&mut self, term: TermId) -> Step {
        let terms = self.terms;
        let Some((function, arguments)) = terms.applied(term) else {
            return Step::Done(None);
        };
        let modelled = self.model.functions.get(&term).copied();
        if *function == Function::IsGlobal {
            let Some(&address) = self.known.get(&arguments[0]) else {
                return Step::Needs(arguments[0]);
            };
            let Some(address) = address else { return Step::Done(None) };
            let own = modelled.is_none_or(|value| value == 1);
            return Step::Done(Some(u64::from(*self.windows.entry(address).or_insert(own))));
        }
        let Some(load) = function.as_load() else { return Step::Done(None) };
        let space = match load.space {
            StateSpace::Global => Space::Global,
            StateSpace::Shared => Space::Shared,
            StateSpace::Local => Space::Local,
            StateSpace::Const => Space::Const,
            _ => return Step::Done(None),
        };
        let (version, address) = match space {
            Space::Const => (None, arguments[0]),
            _ => (Some(arguments[0]), arguments[1]),
        };
        let Some(&at) = self.known.get(&address) else { return Step::Needs(address) };
        let Some(at) = at else { return Step::Done(None) };
        let bytes = u64::from(self.terms.arena.width(term)) / 8;
        match version.map_or(Ok(true), |version| self.is_initial(version, at, bytes)) {
            Err(needed) => return Step::Needs(needed),
            Ok(false) => return Step::Done(None),
            Ok(true) => {}
        }
        let mut value = 0;
        for byte in 0..bytes {
            let place = (space, at.wrapping_add(byte));
            let own = match modelled {
                Some(whole) => (whole >> (8 * byte)) as u8,
                None => self.arbitrary((space, place.1)) as u8,
            };
            value |= u64::from(*self.memory.entry(place).or_insert(own)) << (8 * byte);
        }
        Step::Done(Some(value))
    }

    /// Whether some bytes of a version are as they were at the start; the error is a term whose value
    /// has to be known first.
    fn is_initial(&self, version: TermId, at: u64, bytes: u64) -> Result<bool, TermId> {
        let known = |term: TermId| self.known.get(&term).copied().ok_or(term);
        let mut version = version;
        loop {
            if let Some(record) = self.stores.get(&version) {
                let Some(stored) = known(record.address)? else { return Ok(false) };
                let (ahead, behind) = (at.wrapping_sub(stored), stored.wrapping_sub(at));
                if ahead < u64::from(record.bytes) || behind < bytes {
                    return Ok(false);
                }
                version = record.before;
                continue;
            }
            match *self.terms.arena.node(version) {
                Node::IfThenElse(condition, a, b) => match known(condition)? {
                    Some(holds) => version = if holds == 1 { a } else { b },
                    None => return Ok(false),
                },
                Node::Apply(..) => match unmarked(self.terms, version) {
                    (inner, true) => version = inner,
                    _ => return Ok(false),
                },
                // The version of memory that never changes.
                Node::Constant(_) => return Ok(true),
                Node::Symbol(symbol) => {
                    let kind = &self.terms.symbols.info(symbol).kind;
                    return Ok(matches!(kind, Kind::Memory(_, Origin::Entry)));
                }
                _ => return Ok(false),
            }
        }
    }

    /// A number derived from `what` and the seed.
    fn arbitrary(&self, what: impl Hash) -> u64 {
        let mut hasher = FxHasher::default();
        (what, self.seed).hash(&mut hasher);
        hasher.finish().rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 5
    }
}
