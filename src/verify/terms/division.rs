//! Facts about quotients and remainders of small dividends, for divisors that are not constant;
//! elsewhere such quotients are functions of their operands. An index that was checked against `n` is
//! its own remainder by `n`, and the remainder of one that is a little larger is the index minus `n`,
//! which is how periodic neighbours are found ([`Division::small`]). About division by zero no fact is
//! given (PTX ISA, "div", "rem").

use rustc_hash::FxHashSet;

use super::functions::IntegerDivision;
use super::symbols::Terms;
use crate::expr::{Division, Node, TermId};

/// The most divisions of one claim about which facts are given.
const MAX_DIVISIONS: usize = 8;

/// A claim that is larger than this many terms gets no facts.
const MAX_TERMS: usize = 2048;

/// Facts about the divisions in some terms, which hold for all values. Divisions inside of products
/// and other functions are left out, since these are symbols where the facts are used.
pub(crate) fn facts(terms: &mut Terms, roots: impl Iterator<Item = TermId>) -> Vec<TermId> {
    let found = divisions(terms, roots);
    found.into_iter().flat_map(|division| division.small(&mut terms.arena)).collect()
}

/// The division that a term is, if it is one. A division by a constant is left out: the solver knows
/// it.
fn division(terms: &Terms, result: TermId) -> Option<Division> {
    let (function, operands) = terms.applied(result)?;
    let &[dividend, divisor] = operands else { return None };
    let IntegerDivision { remainder, ty } = function.as_division()?;
    let width = |term| u32::from(terms.arena.width(term));
    let whole = [result, dividend, divisor].into_iter().all(|one| width(one) == ty.bits());
    whole.then_some(Division { result, dividend, divisor, signed: ty.is_signed(), remainder })
}

/// The first divisions, in the order in which they were made.
fn divisions(terms: &Terms, roots: impl Iterator<Item = TermId>) -> Vec<Division> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut work: Vec<TermId> = roots.collect();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        terms.arena.charge(1);
        if seen.len() > MAX_TERMS {
            return Vec::new();
        }
        match terms.arena.node(term) {
            Node::Product(_) => continue,
            Node::Apply(..) => match division(terms, term) {
                Some(division) => found.push(division),
                None => continue,
            },
            _ => {}
        }
        work.extend(terms.arena.operands(term));
    }
    found.sort_unstable_by_key(|division| division.result);
    found.truncate(MAX_DIVISIONS);
    found
}
