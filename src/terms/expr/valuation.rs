//! The values of all terms below some roots, for one assignment of the symbols after the other, or for those of the
//! lanes of a warp at once: the order of evaluation is found once for all of them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

use super::arena::Arena;
use super::bits::mask;
use super::eval::evaluate_lanes;
use super::node::{FunctionId, Node, SymbolId, TermId};

/// A function's result for some arguments: its number, the result's width, the arguments.
type Call = (FunctionId, u8, SmallVec<[u64; 4]>);

/// Values of terms for one assignment.
pub type Valuation<'a> = LaneValuation<'a, 1>;

/// Values of terms for several assignments at once, those of the lanes of a warp. Uninterpreted functions get results by
/// hashing, unless a result was chosen.
pub struct LaneValuation<'a, const LANES: usize> {
    arena: &'a Arena,
    /// Operands before the terms that use them.
    terms: Vec<TermId>,
    /// The place of each term's value in `values`; that of the others is 0.
    places: TiVec<TermId, u32>,
    /// Nothing, and the values of the terms in their order.
    values: Vec<[u64; LANES]>,
    chosen: FxHashMap<Call, u64>,
    near: Vec<u64>,
    /// The symbols and functions that each term depends on, by the place of its value: a bit for each, which others may
    /// share. Empty up to the first evaluation.
    leaves: Vec<u64>,
    /// The symbols and functions whose values have changed since the last evaluation.
    changed: u64,
}

/// All symbols and functions.
const EVERYTHING: u64 = u64::MAX;

impl<'a, const LANES: usize> LaneValuation<'a, LANES> {
    /// The values of some roots and the terms below them; all symbols are 0 and no term is evaluated
    /// yet.
    pub fn new(arena: &'a Arena, roots: impl Iterator<Item = TermId>) -> Self {
        // Cleared memory is given out by the page, so it costs little.
        arena.charge(1 + arena.len() as u64 / 64);
        let mut places = ti_vec![0; arena.len()];
        let (mut terms, mut open): (Vec<TermId>, Vec<TermId>) = (Vec::new(), roots.collect());
        while let Some(term) = open.pop() {
            if std::mem::replace(&mut places[term], 1) == 0 {
                terms.push(term);
                open.extend(arena.operands(term));
            }
        }
        arena.charge(2 * terms.len() as u64);
        terms.sort_unstable();
        terms.iter().zip(1..).for_each(|(term, place)| places[*term] = place);
        let (values, near) = (vec![[0; LANES]; terms.len() + 1], Vec::new());
        let (chosen, changed) = (FxHashMap::default(), EVERYTHING);
        LaneValuation { arena, terms, places, values, chosen, near, leaves: Vec::new(), changed }
    }

    /// All terms, operands before the terms that use them.
    pub fn terms(&self) -> &[TermId] {
        &self.terms
    }

    /// The symbols among the terms.
    pub fn symbols(&self) -> impl Iterator<Item = (TermId, SymbolId)> {
        self.terms.iter().filter_map(|&term| match self.arena.node(term) {
            Node::Symbol(symbol) => Some((term, *symbol)),
            _ => None,
        })
    }

    /// Forgets chosen results. From now on hashed results are one of the numbers `near` or a neighbour
    /// of one, if there are any numbers.
    pub fn restart(&mut self, near: &[u64]) {
        self.chosen.clear();
        self.changed = EVERYTHING;
        self.near.clear();
        self.near.extend_from_slice(near);
    }

    /// Gives a symbol its values. Terms that depend on it are out of date until they are evaluated.
    pub fn set_lanes(&mut self, symbol: TermId, values: [u64; LANES]) {
        debug_assert!(values.iter().all(|value| *value <= mask(self.arena.width(symbol))));
        let place = self.places[symbol] as usize;
        if place != 0 && self.values[place] != values {
            self.values[place] = values;
            self.changed |= self.leaves.get(place).copied().unwrap_or(EVERYTHING);
        }
    }

    /// Gives each symbol its values, cut to the symbol's width, and computes the values of all terms.
    pub fn assign_lanes(&mut self, mut values: impl FnMut(SymbolId) -> [u64; LANES]) {
        for index in 0..self.terms.len() {
            let term = self.terms[index];
            if let Node::Symbol(symbol) = *self.arena.node(term) {
                let mask = mask(self.arena.width(term));
                self.set_lanes(term, values(symbol).map(|value| value & mask));
            }
        }
        self.evaluate();
    }

    /// The values that a term had when it was evaluated last.
    pub fn lanes(&self, term: TermId) -> &[u64; LANES] {
        &self.values[self.places[term] as usize]
    }

    /// Computes the values of all terms from those of the symbols; what depends on none that has changed is up to date.
    pub fn evaluate(&mut self) {
        self.arena.charge(LANES as u64 * (1 + self.terms.len() as u64 / 2));
        if self.leaves.is_empty() {
            self.leaves = self.found_leaves();
        }
        let changed = std::mem::take(&mut self.changed);
        for index in 0..self.terms.len() {
            let term = self.terms[index];
            if self.leaves[index + 1] & changed == 0 && changed != EVERYTHING {
                continue;
            }
            let node = self.arena.node(term);
            if matches!(node, Node::Symbol(_)) {
                continue;
            }
            let mut values = evaluate_lanes(self.arena, term, &|t| *self.lanes(t), &self.near);
            if let (Node::Apply(function, arguments), false) = (node, self.chosen.is_empty()) {
                for (lane, value) in values.iter_mut().enumerate() {
                    let call = self.call((term, lane), *function, arguments);
                    *value = self.chosen.get(&call).copied().unwrap_or(*value);
                }
            }
            self.values[index + 1] = values;
        }
    }

    fn call(
        &self,
        (term, lane): (TermId, usize),
        function: FunctionId,
        arguments: &[TermId],
    ) -> Call {
        let arguments = arguments.iter().map(|&term| self.lanes(term)[lane]).collect();
        (function, self.arena.width(term), arguments)
    }

    /// The symbols and functions that each term depends on, by the place of its value. Terms stand behind their operands.
    fn found_leaves(&self) -> Vec<u64> {
        let mut leaves = vec![0; self.values.len()];
        let mut symbols = 0;
        for (index, &term) in self.terms.iter().enumerate() {
            let own = match self.arena.node(term) {
                Node::Symbol(_) => {
                    symbols += 1;
                    1 << (symbols % u64::BITS)
                }
                // Equal calls have equal results.
                Node::Apply(function, _) => 1 << (function.0 % u64::BITS),
                _ => 0,
            };
            let below = self.arena.operands(term).into_iter();
            leaves[index + 1] =
                below.fold(own, |all, term| all | leaves[self.places[term] as usize]);
        }
        leaves
    }
}

impl Valuation<'_> {
    /// Gives a symbol a value. Terms that depend on it are out of date until they are evaluated.
    pub fn set(&mut self, symbol: TermId, value: u64) {
        self.set_lanes(symbol, [value]);
    }

    /// Gives each symbol a value, cut to the symbol's width, and computes the values of all terms.
    pub fn assign(&mut self, mut value: impl FnMut(SymbolId) -> u64) {
        self.assign_lanes(|symbol| [value(symbol)]);
    }

    /// Chooses the result of a function for the arguments that it has at present.
    pub fn choose(&mut self, application: TermId, value: u64) {
        if let Node::Apply(function, arguments) = self.arena.node(application) {
            let call = self.call((application, 0), *function, arguments);
            self.chosen.insert(call, value);
            self.changed |= 1 << (function.0 % u64::BITS);
        }
    }

    /// The value that a term had when it was evaluated last.
    pub fn value(&self, term: TermId) -> u64 {
        let [value] = *self.lanes(term);
        value
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{BinaryOp, Comparison};

    crate::unit_tests!(what_has_not_changed_is_up_to_date);

    /// Terms over more symbols and functions than there are bits for them.
    fn terms(arena: &mut Arena, numbers: &mut impl FnMut(usize) -> usize) -> Vec<TermId> {
        let mut terms: Vec<TermId> =
            (0..80).map(|symbol| arena.symbol(SymbolId(symbol), 32)).collect();
        for made in 0..400u32 {
            let [a, b, c] = [0; 3].map(|_| terms[numbers(terms.len())]);
            terms.push(match numbers(6) {
                0 => arena.add(a, b),
                1 => arena.mul(a, b),
                2 => arena.binary(BinaryOp::Xor, a, b),
                3 => arena.apply(FunctionId(made % 70), &[a, b], 32),
                4 => {
                    let less = arena.compare(Comparison::SignedLess, a, b);
                    arena.if_then_else(less, b, c)
                }
                _ => arena.add_constant(a, u64::from(made)),
            });
        }
        terms
    }

    fn what_has_not_changed_is_up_to_date() {
        let mut state = 1u64;
        let mut numbers = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut arena = Arena::new();
        let terms = terms(&mut arena, &mut numbers);
        let is_call = |term: &&TermId| matches!(arena.node(**term), Node::Apply(..));
        let calls: Vec<TermId> = terms.iter().filter(is_call).copied().collect();
        let roots = || terms.iter().copied();
        let mut kept = Valuation::new(&arena, roots());
        let mut symbols = [0u64; 80];
        for round in 0..300 {
            let at = numbers(80);
            symbols[at] = numbers(1 << 20) as u64;
            kept.set(terms[at], symbols[at]);
            if round % 7 == 0 {
                let call = (calls[numbers(calls.len())], numbers(100) as u64);
                kept.evaluate();
                kept.choose(call.0, call.1);
            }
            if round % 50 == 49 {
                kept.restart(&[3, 1000]);
            }
            kept.evaluate();
            let mut fresh = Valuation::new(&arena, roots());
            fresh.restart(&kept.near);
            fresh.chosen = kept.chosen.clone();
            (0..80).for_each(|at| fresh.set(terms[at], symbols[at]));
            fresh.evaluate();
            assert!(terms.iter().all(|term| kept.value(*term) == fresh.value(*term)), "{round}");
        }
    }
}
