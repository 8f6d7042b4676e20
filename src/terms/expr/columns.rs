//! Decides claims about one symbol of few values by trying them all, and caches the values of the terms.
//!
//! The index of a thread in its block has at most 1024 values, and compilers make chains of guards over
//! it: each is a little longer than the one before (quotients of quotients, by multiplication and
//! shift). So the values of a term for all values of the symbol, its *column*, are computed once and
//! serve all claims about the terms above it.

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::found::Search;
use super::node::{Node, TermId};
use super::table::{Table, value_at};

/// A symbol of more values has no columns.
const MAX_VALUES: u64 = 1024;

/// The most values kept for one function: 8 MiB.
const MAX_KEPT: u64 = 1 << 20;

/// The symbols that a term depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Basis {
    Nothing,
    /// One symbol, of few values.
    One(TermId),
    /// More than one, or one of many values, or an unknown function.
    Anything,
}

/// The columns of the terms of one arena.
#[derive(Clone, Default, Debug)]
pub(super) struct Columns {
    bases: FxHashMap<TermId, Basis>,
    columns: Table,
    kept: u64,
}

impl Columns {
    /// Decides a claim if it and the predicates depend on one symbol of few values; `None` if they do not, or if more
    /// than `left` terms would have to be evaluated. Each evaluation is subtracted from `left`.
    pub(super) fn decided(
        &mut self,
        arena: &Arena,
        predicates: &[TermId],
        (a, b): (TermId, TermId),
        left: &mut u64,
    ) -> Option<Search> {
        let roots = || predicates.iter().copied().chain([a, b]);
        let mut basis = Basis::Nothing;
        for root in roots() {
            basis = join(basis, self.basis(arena, root));
        }
        let Basis::One(symbol) = basis else { return None };
        let range = arena.range(symbol);
        let size = (range.umax - range.umin + 1) as usize;
        for root in roots() {
            self.evaluate(arena, symbol, root, left)?;
        }
        arena.charge(((predicates.len() + 2) * size) as u64 / 8);
        let mut possible = vec![true; size];
        for &predicate in predicates {
            let column = self.columns.get(predicate)?;
            possible
                .iter_mut()
                .enumerate()
                .for_each(|(i, possible)| *possible &= value_at(column, i) != 0);
        }
        let (x, y) = (self.columns.get(a)?, self.columns.get(b)?);
        let mut found = Search::Contradiction;
        for (index, _) in possible.iter().enumerate().filter(|(_, possible)| **possible) {
            if value_at(x, index) != value_at(y, index) {
                return Some(Search::Counterexample);
            }
            found = Search::Proof;
        }
        Some(found)
    }

    /// The symbols that a term depends on; each term below is visited once.
    fn basis(&mut self, arena: &Arena, root: TermId) -> Basis {
        let mut open = vec![root];
        while let Some(&term) = open.last() {
            if self.bases.contains_key(&term) {
                open.pop();
                continue;
            }
            let unknown =
                arena.operands(term).into_iter().find(|operand| !self.bases.contains_key(operand));
            if let Some(operand) = unknown {
                open.push(operand);
                continue;
            }
            arena.charge(2);
            let basis = match arena.node(term) {
                Node::Apply(..) => Basis::Anything,
                Node::Symbol(_) => {
                    let range = arena.range(term);
                    let few = range.umax - range.umin < MAX_VALUES;
                    if few { Basis::One(term) } else { Basis::Anything }
                }
                _ => arena
                    .operands(term)
                    .into_iter()
                    .fold(Basis::Nothing, |basis, operand| join(basis, self.bases[&operand])),
            };
            self.bases.insert(term, basis);
            open.pop();
        }
        self.bases[&root]
    }

    /// Computes the columns of a term and of the terms below that have none yet.
    fn evaluate(
        &mut self,
        arena: &Arena,
        symbol: TermId,
        root: TermId,
        left: &mut u64,
    ) -> Option<()> {
        let range = arena.range(symbol);
        let mut values = |_, _| (range.umin..=range.umax).collect();
        let kept = &mut self.kept;
        let mut pay = |work: usize| {
            *left = left.checked_sub(work as u64)?;
            *kept += work as u64;
            arena.charge(work as u64 / 2);
            (*kept <= MAX_KEPT).then_some(())
        };
        self.columns.fill(arena, root, &mut values, &mut pay).map(|_| ())
    }
}

fn join(a: Basis, b: Basis) -> Basis {
    match (a, b) {
        (Basis::Nothing, other) | (other, Basis::Nothing) => other,
        (Basis::One(x), Basis::One(y)) if x == y => a,
        _ => Basis::Anything,
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{BinaryOp, Comparison, Range, SymbolId};

    crate::unit_tests!(
        a_chain_of_quotients_is_decided_with_each_term_evaluated_once,
        claims_about_more_than_one_symbol_are_left_alone
    );

    /// `x / 46` as compilers write it: the upper half of a product, shifted.
    fn quotient(arena: &mut Arena, x: TermId) -> TermId {
        let wide = arena.sign_extend(x, 64);
        let product = arena.scale(wide, (-1_307_163_959_i64) as u64);
        let upper = arena.extract(product, 32, 32);
        let sum = arena.add(upper, x);
        let five = arena.constant(5, 32);
        let shifted = arena.binary(BinaryOp::ArithmeticShiftRight, sum, five);
        let sign = arena.extract(sum, 31, 1);
        let sign = arena.zero_extend(sign, 32);
        arena.add(shifted, sign)
    }

    fn a_chain_of_quotients_is_decided_with_each_term_evaluated_once() {
        let mut arena = Arena::new();
        let thread = arena.symbol_within(SymbolId(0), 32, Range::unsigned(0, 1023, 32));
        let mut columns = Columns::default();
        let (mut x, mut left) = (thread, 1 << 20);
        for rest in [46, 46 * 46] {
            let by = quotient(&mut arena, x);
            x = by;
            // The largest quotient, and one more.
            let most = arena.constant(1023 / rest, 32);
            let inside = arena.compare(Comparison::SignedLessEqual, by, most);
            let below = arena.compare(Comparison::SignedLess, by, most);
            let yes = arena.constant(1, 1);
            let before = left;
            let answer = columns.decided(&arena, &[], (inside, yes), &mut left);
            assert_eq!(answer, Some(Search::Proof));
            let answer = columns.decided(&arena, &[], (below, yes), &mut left);
            assert_eq!(answer, Some(Search::Counterexample));
            let never = arena.not(inside);
            let answer = columns.decided(&arena, &[never], (below, yes), &mut left);
            assert_eq!(answer, Some(Search::Contradiction));
            assert!(before - left <= 16 * 1024, "{}", before - left);
            // Nothing new is evaluated for the same claim.
            let before = left;
            columns.decided(&arena, &[], (inside, yes), &mut left);
            assert_eq!(before, left);
        }
    }

    fn claims_about_more_than_one_symbol_are_left_alone() {
        let mut arena = Arena::new();
        let lane = |arena: &mut Arena, number| {
            arena.symbol_within(SymbolId(number), 32, Range::unsigned(0, 31, 32))
        };
        let (x, y) = (lane(&mut arena, 0), lane(&mut arena, 1));
        let wide = arena.symbol(SymbolId(2), 32);
        let called = arena.apply(crate::expr::FunctionId(0), &[x], 32);
        let mut columns = Columns::default();
        for other in [y, wide, called] {
            assert_eq!(columns.decided(&arena, &[], (x, other), &mut 1_000_000), None);
        }
        // Two symbols of as many values do not share a column, also if each has a claim of its own.
        let one = arena.constant(1, 32);
        for (symbol, expected) in [(x, Search::Counterexample), (y, Search::Counterexample)] {
            let known = columns.decided(&arena, &[], (symbol, one), &mut 1_000_000);
            assert_eq!(known, Some(expected));
        }
        let (mut few, mut none) = (33, 32);
        assert!(columns.clone().decided(&arena, &[], (x, one), &mut few).is_some());
        let mut fresh = Columns::default();
        assert_eq!(fresh.decided(&arena, &[], (x, one), &mut none), None);
    }
}
