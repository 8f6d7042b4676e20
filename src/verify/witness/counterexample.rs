//! A state in which two terms differ, in words that a user knows: lane, block shape, parameters.
//!
//! Only reachable states count: loops are in their first iteration, so that each symbol of a header has the value with
//! which its loop is entered. If a difference of two terms depends on memory or floating-point arithmetic, it cannot be
//! decided, and no counterexample is given. The solver's model is only a proposal: it counts once both sides of the
//! whole claim have been worked out on its numbers and differ (see `concrete`).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::concrete::{Model, Seen, observe};
use super::describe::say;
use super::reachable::{block_size, first_iterations, loop_values, symbols, whole_warps};
use super::verdict::Counterexample;
use crate::expr::{Node, SymbolId, TermId};
use crate::isa::Special;
use crate::program::Both;
use crate::proof::{Claim, Difference, Lanes, Question, SHAPES, assumptions, in_shape};
use crate::record::{Execution, Place, StoreRecord, unmarked};
use crate::solver::{Judgement, Solver};
use crate::terms::{Kind, Origin, Terms};

/// A counterexample, and the state in which it was seen.
pub(crate) struct Found {
    pub counterexample: Counterexample,
    pub seen: Seen,
}

impl Found {
    /// Marks the two values as addresses that a load reads from, if they are.
    fn of_addresses(self, addresses: bool) -> Found {
        Found { counterexample: self.counterexample.of_addresses(addresses), ..self }
    }
}

/// A claim that was not shown.
pub(crate) struct Refuted<'c> {
    /// The original's and the rewritten program's term that were claimed to be equal.
    pub whole: Claim,
    /// The parts of these terms at which they differ.
    pub difference: &'c Difference,
    pub place: &'c Place,
}

/// Looks for a state in which a difference shows.
pub(crate) fn find(
    terms: &mut Terms,
    lanes: &mut Lanes<'_, '_>,
    solver: &mut Solver,
    claim: &Refuted<'_>,
    executions: Both<&Execution>,
) -> Option<Found> {
    let Both { original: before, rewritten: after } = executions;
    let Difference { original, rewritten, known, addresses } = claim.difference;
    if !is_definite(terms, *original) || !is_definite(terms, *rewritten) {
        return None;
    }
    // A path that floating-point arithmetic decides may never be taken; and of a loop only the values
    // that the original begins with are known.
    let mut all = known.clone();
    all.extend([*original, *rewritten]);
    let first: Vec<SymbolId> =
        loop_values(before).filter_map(|r| terms.as_symbol(r.symbol)).collect();
    let unknown = |symbol: &SymbolId| {
        matches!(terms.symbols.info(*symbol).kind, Kind::Phi(..)) && !first.contains(symbol)
    };
    if calls_unknown(terms, known) || symbols(terms, &all).iter().any(unknown) {
        return None;
    }
    // These facts come first: the others bound the symbols in them.
    let whole = whole_warps(terms);
    let mut facts = assumptions(&mut Question { terms, lanes, place: claim.place, known });
    facts.extend(first_iterations(terms, before));
    facts.extend(whole);
    let mut stores = before.stores.clone();
    stores.extend(after.stores.iter().map(|(version, record)| (*version, *record)));
    let required = lanes.required_shape();
    for shape in required.map_or_else(|| SHAPES.to_vec(), |shape| vec![shape]) {
        let part = (*original, *rewritten);
        let (part, here) = in_shape(terms, part, &facts, shape);
        if here.iter().any(|&fact| terms.arena.constant_value(fact) == Some(0)) {
            continue;
        }
        let found = ask(terms, solver, claim, (part, &here), Some(shape), &stores);
        if let Some(found) = found {
            return Some(found.of_addresses(*addresses));
        }
    }
    facts.extend(block_size(terms));
    let part = (*original, *rewritten);
    let found = ask(terms, solver, claim, (part, &facts), None, &stores)?;
    is_block(found.counterexample.block).then(|| found.of_addresses(*addresses))
}

/// Whether a block can have this shape: the facts bound the extents that they mention, not their product.
fn is_block([x, y, z]: [u64; 3]) -> bool {
    let threads = x.checked_mul(y).and_then(|threads| threads.checked_mul(z));
    z <= 64 && threads.is_some_and(|threads| threads <= 1024)
}

fn ask(
    terms: &mut Terms,
    solver: &mut Solver,
    claim: &Refuted<'_>,
    (part, facts): (Claim, &[TermId]),
    shape: Option<[u64; 3]>,
    stores: &FxHashMap<TermId, StoreRecord>,
) -> Option<Found> {
    let shown = shown(terms, facts, part.0, part.1);
    let asked = valued(terms, facts, part);
    let mut wanted: Vec<TermId> = shown.iter().map(|(_, term)| *term).collect();
    wanted.extend([part.0, part.1]);
    let behind = wanted.len();
    wanted.extend(&asked);
    let answer = solver.judge(&terms.arena, &terms.symbols, part, facts, &wanted);
    let Judgement::Refuted(values) = answer else { return None };
    let model = model(terms, &asked, &values[behind..], shape);
    let strict = &claim.difference.known;
    let seen = observe(terms, stores, &model, (facts, strict), claim.whole)?;
    // The values of the whole claim, unless the part that differs tells more.
    let worth = |part: TermId, value: u64, whole: u64| {
        let tells = claim.difference.addresses
            || matches!(terms.arena.node(part), Node::Symbol(_) | Node::Apply(..));
        if tells { say(terms, part, value) } else { format!("{whole:#x}") }
    };
    let mut found = Counterexample {
        lane: 0,
        thread: [0; 3],
        block: shape.unwrap_or([1; 3]),
        active: None,
        values: BTreeMap::new(),
        original: worth(part.0, values[behind - 2], seen.original),
        rewritten: worth(part.1, values[behind - 1], seen.rewritten),
    };
    let mut lane = None;
    for ((symbol, _), &value) in shown.iter().zip(&values) {
        match &terms.symbols.info(*symbol).kind {
            Kind::Tid(axis) => found.thread[axis.index()] = value,
            Kind::LaneId => lane = Some(value),
            Kind::Mask(_) => found.active = Some(format!("{value:#010x}")),
            Kind::Uniform(Special::Ntid(axis)) => found.block[axis.index()] = value,
            Kind::Uniform(other) => {
                found.values.insert(other.to_string(), format!("{value:#x}"));
            }
            Kind::Parameter { name, offset, .. } => {
                let name = if *offset == 0 { name.clone() } else { format!("{name}+{offset}") };
                found.values.insert(name, format!("{value:#x}"));
            }
            _ => {}
        }
    }
    let [x, y, z] = found.thread;
    // (The numbers of a state that cannot be may be large.)
    let row = y.wrapping_add(found.block[1].wrapping_mul(z));
    let linear = x.wrapping_add(found.block[0].wrapping_mul(row));
    found.lane = lane.unwrap_or(linear % 32);
    Some(Found { counterexample: found, seen })
}

/// The symbols that facts and a claim mention, versions of memory left out, and the loads and
/// questions about addresses in them.
fn valued(terms: &mut Terms, facts: &[TermId], part: Claim) -> Vec<TermId> {
    let (mut seen, mut found) = (rustc_hash::FxHashSet::default(), Vec::new());
    let mut work = facts.to_vec();
    work.extend([part.0, part.1]);
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        match terms.arena.node(term) {
            Node::Symbol(symbol)
                if !matches!(terms.symbols.info(*symbol).kind, Kind::Memory(..)) =>
            {
                found.push(term);
            }
            Node::Apply(..) => found.push(term),
            _ => {}
        }
        work.extend(terms.arena.operands(term));
    }
    found.sort_unstable();
    found
}

/// The model made of the solver's values and a shape of blocks.
fn model(terms: &Terms, asked: &[TermId], values: &[u64], shape: Option<[u64; 3]>) -> Model {
    let mut model = Model { symbols: FxHashMap::default(), functions: FxHashMap::default() };
    for (&term, &value) in asked.iter().zip(values) {
        match terms.arena.node(term) {
            Node::Symbol(symbol) => model.symbols.insert(*symbol, value),
            _ => model.functions.insert(term, value),
        };
    }
    let Some(shape) = shape else { return model };
    for (symbol, info) in terms.symbols.iter() {
        let value = match info.kind {
            Kind::Uniform(Special::Ntid(axis)) => shape[axis.index()],
            Kind::Uniform(Special::Ctaid(_)) => 0,
            Kind::Uniform(Special::Nctaid(_)) => 1,
            _ => continue,
        };
        model.symbols.insert(symbol, value);
    }
    model
}

/// Whether conditions depend on a function about which nothing is known.
fn calls_unknown(terms: &Terms, conditions: &[TermId]) -> bool {
    let (mut work, mut seen) = (conditions.to_vec(), rustc_hash::FxHashSet::default());
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        if terms.applied(term).is_some_and(|(function, _)| !function.has_values()) {
            return true;
        }
        work.extend(terms.arena.operands(term));
    }
    false
}

/// Whether a term's values are those of machine arithmetic, so that values which differ in the
/// solver's model differ on a machine. Memory may hold anything at the start; later it holds the bytes
/// that were stored, and the result of a floating-point operation is not free to choose.
fn is_definite(terms: &Terms, term: TermId) -> bool {
    match terms.arena.node(term) {
        Node::Symbol(symbol) => !matches!(
            terms.symbols.info(*symbol).kind,
            Kind::Memory(..)
                | Kind::Shifted(..)
                | Kind::Event(..)
                | Kind::RewrittenOnly(..)
                | Kind::Volatile(..)
        ),
        Node::Apply(_, operands) => {
            let entry = |term: TermId| match terms.arena.node(unmarked(terms, term).0) {
                Node::Symbol(symbol) => match terms.symbols.info(*symbol).kind {
                    Kind::Memory(_, origin) => origin == Origin::Entry,
                    _ => true,
                },
                _ => is_definite(terms, term),
            };
            terms.loaded(term).is_some() && operands.iter().all(|&operand| entry(operand))
        }
        Node::Constant(_) => true,
        _ => terms.arena.operands(term).iter().all(|&operand| is_definite(terms, operand)),
    }
}

/// The symbols that a user can set, with their terms.
fn shown(
    terms: &mut Terms,
    facts: &[TermId],
    original: TermId,
    rewritten: TermId,
) -> Vec<(SymbolId, TermId)> {
    let mut all = facts.to_vec();
    all.extend([original, rewritten]);
    let mut found: Vec<SymbolId> = symbols(terms, &all)
        .into_iter()
        .filter(|symbol| {
            matches!(
                terms.symbols.info(*symbol).kind,
                Kind::Tid(_)
                    | Kind::LaneId
                    | Kind::Mask(_)
                    | Kind::Uniform(_)
                    | Kind::Parameter { .. }
            )
        })
        .collect();
    found.sort_unstable();
    let width = |terms: &Terms, symbol: SymbolId| terms.symbols.info(symbol).width;
    found
        .into_iter()
        .map(|symbol| {
            let width = width(terms, symbol);
            (symbol, terms.arena.symbol(symbol, width))
        })
        .collect()
}
