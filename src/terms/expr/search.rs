//! Looks for values of the symbols under which some predicates hold and two terms differ.
//!
//! To let a solver show a counterexample to a wrong claim costs a thousand times more than to try some values. The
//! search tries samples of all magnitudes, repairs them where a predicate does not hold, and then moves them to the
//! corners of the claim: where a comparison or a choice in it changes, where a remainder or a quotient steps, where a
//! narrow value wraps around. Every counterexample is checked by evaluation. A search without a result proves nothing,
//! unless it tried all values; the values of a few low bits may stand for all ([`super::low_bits`]). A claim that
//! depends on the number of a thread alone takes no search: it is decided by intervals of that number
//! ([`super::intervals`]), or by all its values ([`super::columns`]).

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::bits::mask;
use super::columns::Columns;
use super::found::Search;
use super::node::{BinaryOp, Node, SymbolId, TermId};
use super::valuation::Valuation;
use super::walk::Walk;
use super::{intervals, low_bits};

/// Starting points of a search.
const ROUNDS: u64 = 48;

/// Changes of each starting point.
const CHANGES: u64 = 12;

/// The most terms that one search evaluates.
const MAX_EVALUATED: u64 = 150_000;

/// The most terms that all searches for one function evaluate: a tenth of a second and less.
const BUDGET: u64 = 16_000_000;

/// One search uses up at most 1 / `SHARE` of the remaining budget.
const SHARE: u64 = 8;

/// The number of terms that a search may evaluate even if no budget is left: a small claim with a counterexample next
/// to its corners should not cost the start of a solver.
const LEAST: u64 = 1_000;

/// Searches for the claims about one function: they share a bound on the work, and a cache of values of the function's
/// terms.
#[derive(Clone, Debug)]
pub struct Searcher {
    /// The number of terms that may still be evaluated.
    effort: u64,
    columns: Columns,
}

impl Default for Searcher {
    fn default() -> Searcher {
        Searcher { effort: BUDGET, columns: Columns::default() }
    }
}

impl Searcher {
    /// Searches for a function of `instructions` instructions: a term takes some hundredths of a
    /// microsecond, and an assembler some twenty microseconds for an instruction.
    pub fn for_instructions(instructions: usize) -> Searcher {
        let effort = BUDGET.min(60_000 + 200 * instructions as u64);
        Searcher { effort, columns: Columns::default() }
    }

    /// Searches that evaluate `effort` terms at most.
    pub fn with_effort(effort: u64) -> Searcher {
        Searcher { effort, columns: Columns::default() }
    }

    /// Looks for values under which the predicates hold and `a` and `b` differ. Values stay within the
    /// bounds of their symbols. The same calls on the same arena give the same results.
    pub fn search(
        &mut self,
        arena: &Arena,
        predicates: &[TermId],
        claim: (TermId, TermId),
    ) -> Search {
        self.search_near(arena, predicates, claim, &|_, _| None)
    }

    /// The same, starting from values that are likely to fulfil the predicates: `hint` gives them for a starting
    /// point's number and a symbol; symbols without one get any value.
    pub fn search_near(
        &mut self,
        arena: &Arena,
        predicates: &[TermId],
        claim: (TermId, TermId),
        hint: &dyn Fn(u64, SymbolId) -> Option<u64>,
    ) -> Search {
        if let Some(decided) = intervals::decided(arena, predicates, claim) {
            return decided;
        }
        if let Some(decided) = self.columns.decided(arena, predicates, claim, &mut self.effort) {
            return decided;
        }
        let most = MAX_EVALUATED.min(self.effort / SHARE).max(LEAST);
        let mut walk = Walk::new(arena, predicates.iter().copied().chain([claim.0, claim.1]));
        let bounds = match bounds(&walk, predicates, most) {
            Ok(bounds) => bounds,
            Err(contradiction) => return contradiction,
        };
        let mut found = Search::Nothing;
        wander(&mut walk, predicates, claim, most, hint, &mut |walk| {
            let differs = walk.value(claim.0) != walk.value(claim.1);
            found = if differs { Search::Counterexample } else { Search::Agreement };
            differs
        });
        let found = self.completed(&mut walk, (predicates, claim), (most, &bounds), found);
        self.effort = self.effort.saturating_sub(walk.evaluated);
        found
    }

    /// Searches for two claims: that a predicate is always false, and that it is always true; `constants` are the
    /// terms of false and true. One walk looks for counterexamples to both.
    pub fn search_values(
        &mut self,
        arena: &Arena,
        predicates: &[TermId],
        predicate: TermId,
        constants: [TermId; 2],
    ) -> [Search; 2] {
        let claims = constants.map(|constant| (predicate, constant));
        let mut decided = [None; 2];
        for (place, claim) in decided.iter_mut().zip(claims) {
            *place = intervals::decided(arena, predicates, claim)
                .or_else(|| self.columns.decided(arena, predicates, claim, &mut self.effort));
        }
        if let [Some(first), Some(second)] = decided {
            return [first, second];
        }
        let most = MAX_EVALUATED.min(self.effort / SHARE).max(LEAST);
        let roots = predicates.iter().copied().chain([predicate]).chain(constants);
        let mut walk = Walk::new(arena, roots);
        let bounds = match bounds(&walk, predicates, most) {
            Ok(bounds) => bounds,
            Err(contradiction) => return [contradiction; 2],
        };
        let mut had = [false; 2];
        wander(&mut walk, predicates, claims[1], most, &|_, _| None, &mut |walk| {
            had[usize::from(walk.value(predicate) != 0)] = true;
            had == [true; 2]
        });
        let mut found = [Search::Nothing; 2];
        for (value, claim) in claims.into_iter().enumerate() {
            found[value] = match had {
                _ if let Some(decided) = decided[value] => decided,
                had if had[1 - value] => Search::Counterexample,
                had => {
                    let so_far = if had[value] { Search::Agreement } else { Search::Nothing };
                    self.completed(&mut walk, (predicates, claim), (most, &bounds), so_far)
                }
            };
        }
        self.effort = self.effort.saturating_sub(walk.evaluated);
        found
    }

    /// The result of a walk about a claim, or that of all values if there are few, or of all low bits if these decide.
    fn completed(
        &mut self,
        walk: &mut Walk<'_>,
        (predicates, claim): (&[TermId], (TermId, TermId)),
        (most, bounds): (u64, &Option<Vec<(u64, u64)>>),
        found: Search,
    ) -> Search {
        let found = match (found, bounds) {
            (Search::Nothing | Search::Agreement, Some(bounds)) => {
                exhausted(walk, bounds, predicates, claim, most).unwrap_or(found)
            }
            _ => found,
        };
        if found == Search::Agreement
            && let Some((equal, evaluated)) = low_bits::are_equal(walk.arena, claim, most)
        {
            self.effort = self.effort.saturating_sub(evaluated);
            if equal {
                return Search::Proof;
            }
        }
        found
    }
}

/// The most corners of one claim.
const MAX_CORNERS: usize = 96;

/// Between which values the predicates about one symbol alone leave each symbol; nothing if there are too many
/// values for all to be tried.
///
/// # Errors
/// They leave a symbol none.
fn bounds(
    walk: &Walk<'_>,
    predicates: &[TermId],
    most: u64,
) -> Result<Option<Vec<(u64, u64)>>, Search> {
    let arena = walk.arena;
    let mut alone: FxHashMap<TermId, Vec<TermId>> = FxHashMap::default();
    for &predicate in predicates {
        if let Some(symbol) = intervals::only_symbol(arena, [predicate].into_iter()) {
            alone.entry(symbol).or_default().push(predicate);
        }
    }
    let mut bounds = Some(Vec::with_capacity(walk.symbols().len()));
    for symbol in walk.symbols() {
        let range = arena.range(*symbol);
        let own = match alone.get(symbol) {
            Some(predicates) => intervals::hull(arena, *symbol, predicates)
                .ok_or(Search::Contradiction)
                .map(Some)?,
            None => Some((range.umin, range.umax)).filter(|(low, high)| high - low <= most),
        };
        bounds = bounds.zip(own).map(|(mut all, own)| {
            all.push(own);
            all
        });
    }
    Ok(bounds)
}

/// Tries all values between some bounds, if there are few.
fn exhausted(
    walk: &mut Walk<'_>,
    bounds: &[(u64, u64)],
    predicates: &[TermId],
    (a, b): (TermId, TermId),
    most: u64,
) -> Option<Search> {
    let mut possible = false;
    let all = walk.each(bounds, most, |walk| {
        let holds = predicates.iter().all(|&predicate| walk.value(predicate) != 0);
        possible |= holds;
        holds && walk.value(a) != walk.value(b)
    })?;
    Some(match (all, possible) {
        (false, _) => Search::Counterexample,
        (true, true) => Search::Proof,
        (true, false) => Search::Contradiction,
    })
}

/// Goes from one assignment to the next, towards the predicates and from there to the corners of a claim, until
/// `is_enough` is true of one under which the predicates hold.
fn wander(
    walk: &mut Walk<'_>,
    predicates: &[TermId],
    (a, b): (TermId, TermId),
    most: u64,
    hint: &dyn Fn(u64, SymbolId) -> Option<u64>,
    is_enough: &mut dyn FnMut(&Walk<'_>) -> bool,
) {
    let arena = walk.arena;
    let corners = corners(arena, a, b);
    let mut turn = 0;
    for round in 0..ROUNDS {
        walk.restart(round, hint);
        for _ in 0..CHANGES {
            let broken = broken(walk, predicates);
            let moved = match broken {
                Some(predicate) => walk.force(predicate, 1),
                None if is_enough(walk) => return,
                None => {
                    turn += 1;
                    !corners.is_empty() && corners[turn % corners.len()].visit(walk)
                }
            };
            if walk.evaluated > most {
                return;
            }
            // A corner that cannot be reached from here is left to the next change.
            if moved {
                walk.evaluate();
            } else if broken.is_some() || corners.is_empty() {
                break;
            }
        }
    }
}

/// A predicate that does not hold at present.
fn broken(walk: &mut Walk<'_>, predicates: &[TermId]) -> Option<TermId> {
    let fails = |walk: &Walk<'_>, p: TermId| walk.value(p) == 0;
    let count = predicates.iter().filter(|&&p| fails(walk, p)).count();
    if count == 0 {
        return None;
    }
    let chosen = walk.next() as usize % count;
    predicates.iter().copied().filter(|&p| fails(walk, p)).nth(chosen)
}

/// Where a claim may break.
#[derive(Clone, Copy, Debug)]
enum Corner {
    /// A predicate turns over.
    Flip(TermId),
    /// A term has this value.
    Value(TermId, u64),
    /// A term is this much above another one.
    Above(TermId, TermId, u64),
    /// Some low bits of a term are all ones (or zeros).
    LowBits(TermId, u8, bool),
}

impl Corner {
    /// Moves the walk to this corner; false if it cannot be reached.
    fn visit(self, walk: &mut Walk<'_>) -> bool {
        match self {
            Corner::Flip(term) => walk.force(term, walk.value(term) ^ 1),
            Corner::Value(term, value) => walk.force(term, value),
            Corner::Above(a, b, by) => {
                let mask = mask(walk.arena.width(a));
                let (x, y) = (walk.value(a), walk.value(b));
                let (to_b, to_a) = ((b, x.wrapping_sub(by) & mask), (a, y.wrapping_add(by) & mask));
                let (first, then) = match walk.next() & 1 {
                    0 => (to_b, to_a),
                    _ => (to_a, to_b),
                };
                walk.force(first.0, first.1) || walk.force(then.0, then.1)
            }
            Corner::LowBits(term, bits, ones) => {
                let low = mask(bits);
                let value = walk.value(term);
                walk.force(term, if ones { value | low } else { value & !low })
            }
        }
    }
}

/// The corners of the claim that two terms are equal, the outermost first.
fn corners(arena: &Arena, a: TermId, b: TermId) -> Vec<Corner> {
    let claim = Valuation::new(arena, [a, b].into_iter());
    let mut corners: Vec<Corner> =
        [a, b].into_iter().filter(|&t| arena.width(t) == 1).map(Corner::Flip).collect();
    for &term in claim.terms().iter().rev() {
        if corners.len() > MAX_CORNERS {
            break;
        }
        match *arena.node(term) {
            Node::Compare(_, x, y) => {
                corners.extend([0, 1, u64::MAX].map(|by| Corner::Above(x, y, by)));
            }
            Node::IfThenElse(condition, ..) => corners.push(Corner::Flip(condition)),
            Node::Binary(
                BinaryOp::UnsignedRemainder
                | BinaryOp::SignedRemainder
                | BinaryOp::UnsignedDivide
                | BinaryOp::SignedDivide,
                x,
                y,
            ) => corners.extend([u64::MAX, 0].map(|by| Corner::Above(x, y, by))),
            // Shifted by its width or more, any value becomes 0.
            Node::Binary(
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ArithmeticShiftRight,
                _,
                amount,
            ) => {
                corners.extend([0, 1].map(|value| Corner::Value(amount, value)));
            }
            Node::SignExtend(x) => {
                let half = mask(arena.width(x)) >> 1;
                corners.extend([half, half + 1].map(|value| Corner::Value(x, value)));
            }
            Node::ZeroExtend(x) => {
                corners.extend([mask(arena.width(x)), 0].map(|value| Corner::Value(x, value)));
            }
            Node::Extract(x, low) => {
                let bits = if low > 0 { low } else { arena.width(term) };
                corners.extend([true, false].map(|ones| Corner::LowBits(x, bits, ones)));
            }
            _ => {}
        }
    }
    corners
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Comparison, Range, SymbolId};

    crate::unit_tests!(
        a_clamped_index_is_refuted_at_the_edge,
        a_periodic_index_is_refuted_at_the_edge,
        an_index_is_refuted_where_it_wraps_around,
        a_shift_is_refuted_where_something_is_left,
        an_index_of_two_digits_is_refuted_where_it_wraps_around,
        bounds_of_symbols_hold_in_every_counterexample,
        a_path_that_cannot_be_taken_agrees_with_nothing,
        all_values_are_tried_where_there_are_few,
        all_values_are_tried_that_predicates_leave,
        a_loaded_value_is_chosen_where_the_path_asks_for_it
    );

    fn searched(arena: &Arena, predicates: &[TermId], claim: (TermId, TermId)) -> Search {
        Searcher::default().search(arena, predicates, claim)
    }

    fn symbol(arena: &mut Arena, number: u32, width: u8) -> TermId {
        arena.symbol(SymbolId(number), width)
    }

    fn a_clamped_index_is_refuted_at_the_edge() {
        // x > 0 ? x - 1 : 0 is x - 1 but for x <= 0, where the path is 0 <= x < n.
        let mut arena = Arena::new();
        let (x, n) = (symbol(&mut arena, 0, 32), symbol(&mut arena, 1, 32));
        let zero = arena.constant(0, 32);
        let before = arena.add_constant(x, u64::MAX);
        let inside = arena.compare(Comparison::SignedLess, zero, x);
        let clamped = arena.if_then_else(inside, before, zero);
        let path = [
            arena.compare(Comparison::SignedLess, x, n),
            arena.compare(Comparison::SignedLessEqual, zero, x),
        ];
        assert_eq!(searched(&arena, &path, (clamped, before)), Search::Counterexample);
        // Away from the edge there is none.
        let path = [path[0], inside];
        assert_eq!(searched(&arena, &path, (clamped, before)), Search::Agreement);
    }

    fn a_periodic_index_is_refuted_at_the_edge() {
        for (remainder, divide) in [
            (BinaryOp::UnsignedRemainder, BinaryOp::UnsignedDivide),
            (BinaryOp::SignedRemainder, BinaryOp::SignedDivide),
        ] {
            let mut arena = Arena::new();
            let (i, n) = (symbol(&mut arena, 0, 64), symbol(&mut arena, 1, 64));
            let limit = arena.constant(1 << 20, 64);
            let next = arena.add_constant(i, 1);
            let path = [
                arena.compare(Comparison::UnsignedLess, i, n),
                arena.compare(Comparison::UnsignedLess, n, limit),
            ];
            let wrapped = arena.binary(remainder, next, n);
            assert_eq!(searched(&arena, &path, (wrapped, next)), Search::Counterexample);
            // A row and the next one: two indices apart, but not in the same row.
            let (here, there) = (arena.binary(divide, i, n), arena.binary(divide, next, n));
            assert_eq!(searched(&arena, &path, (here, there)), Search::Counterexample);
        }
    }

    fn an_index_is_refuted_where_it_wraps_around() {
        let mut arena = Arena::new();
        let (x, n) = (symbol(&mut arena, 0, 32), symbol(&mut arena, 1, 32));
        let next = arena.add_constant(x, 1);
        let wide = arena.sign_extend(x, 64);
        let after = arena.add_constant(wide, 1);
        let extended = arena.sign_extend(next, 64);
        let path = [arena.compare(Comparison::SignedLess, n, x)];
        assert_eq!(searched(&arena, &path, (extended, after)), Search::Counterexample);
        let path = [arena.compare(Comparison::SignedLess, x, n)];
        assert_eq!(searched(&arena, &path, (extended, after)), Search::Agreement);
    }

    /// By most amounts both sides are shifted to 0.
    fn a_shift_is_refuted_where_something_is_left() {
        let mut arena = Arena::new();
        let amount = symbol(&mut arena, 0, 32);
        let amount = arena.add_constant(amount, 12345);
        let [nine, fourteen] = [9, 14].map(|value| arena.constant(value, 32));
        let claim = (
            arena.binary(BinaryOp::ShiftLeft, nine, amount),
            arena.binary(BinaryOp::ShiftLeft, fourteen, amount),
        );
        assert_eq!(searched(&arena, &[], claim), Search::Counterexample);
    }

    fn an_index_of_two_digits_is_refuted_where_it_wraps_around() {
        // 256 * block + thread: neither alone gets to the largest number.
        let mut arena = Arena::new();
        let thread = arena.symbol_within(SymbolId(0), 32, Range::unsigned(0, 1023, 32));
        let block = arena.symbol(SymbolId(1), 32);
        let upper = arena.scale(block, 256);
        let x = arena.add(thread, upper);
        let next = arena.add_constant(x, 1);
        let wide = arena.sign_extend(x, 64);
        let after = arena.add_constant(wide, 1);
        let extended = arena.sign_extend(next, 64);
        assert_eq!(searched(&arena, &[], (extended, after)), Search::Counterexample);
    }

    fn bounds_of_symbols_hold_in_every_counterexample() {
        let mut arena = Arena::new();
        let lane = arena.symbol_within(SymbolId(0), 32, Range::unsigned(0, 31, 32));
        let row = arena.constant(32, 32);
        let inside = arena.constant(1, 1);
        let always = arena.binary(BinaryOp::Xor, lane, row);
        let claim = arena.compare(Comparison::UnsignedLess, lane, always);
        assert_ne!(searched(&arena, &[], (claim, inside)), Search::Counterexample);
    }

    fn a_path_that_cannot_be_taken_agrees_with_nothing() {
        let mut arena = Arena::new();
        let (x, n) = (symbol(&mut arena, 0, 32), symbol(&mut arena, 1, 32));
        let path = [
            arena.compare(Comparison::UnsignedLess, x, n),
            arena.compare(Comparison::UnsignedLess, n, x),
        ];
        assert_eq!(searched(&arena, &path, (x, n)), Search::Nothing);
    }

    fn all_values_are_tried_where_there_are_few() {
        // A division by ten, and the multiplication that a compiler makes of it.
        let mut arena = Arena::new();
        let x = arena.symbol_within(SymbolId(0), 32, Range::unsigned(0, 1023, 32));
        let wide = arena.zero_extend(x, 64);
        let inverse = arena.constant(0x6666_6667, 64);
        let product = arena.mul(wide, inverse);
        let by = arena.constant(34, 64);
        let tenth = arena.binary(BinaryOp::ShiftRight, product, by);
        let ten = arena.constant(10, 64);
        let quotient = arena.binary(BinaryOp::UnsignedDivide, wide, ten);
        assert_eq!(searched(&arena, &[], (tenth, quotient)), Search::Proof);
        let other = arena.constant(11, 64);
        let eleventh = arena.binary(BinaryOp::UnsignedDivide, wide, other);
        assert_eq!(searched(&arena, &[], (tenth, eleventh)), Search::Counterexample);
        let seven = arena.constant(7, 64);
        let remainder = arena.binary(BinaryOp::UnsignedRemainder, wide, seven);
        let never = arena.equal(remainder, seven);
        assert_eq!(searched(&arena, &[never], (tenth, wide)), Search::Contradiction);
    }

    fn all_values_are_tried_that_predicates_leave() {
        // 1 <= n and n <= 1, read as signed, and so n & 3 is 1; of 1 <= n alone that does not follow.
        let mut arena = Arena::new();
        let (n, m) = (symbol(&mut arena, 0, 32), symbol(&mut arena, 1, 32));
        let one = arena.constant(1, 32);
        let low = arena.extract(n, 0, 2);
        let low = arena.zero_extend(low, 32);
        let path = [
            arena.compare(Comparison::SignedLessEqual, one, n),
            arena.compare(Comparison::SignedLessEqual, n, one),
        ];
        assert_eq!(searched(&arena, &path, (low, one)), Search::Proof);
        assert_eq!(searched(&arena, &path[..1], (low, one)), Search::Counterexample);
        // Another symbol that nothing bounds leaves too many values.
        let same = arena.binary(BinaryOp::And, low, m);
        let bit = arena.binary(BinaryOp::And, one, m);
        assert_eq!(searched(&arena, &path, (same, bit)), Search::Agreement);
        let zero = arena.constant(0, 32);
        let below = arena.compare(Comparison::SignedLess, n, zero);
        let never = [path[0], below];
        assert_eq!(searched(&arena, &never, (low, zero)), Search::Contradiction);
    }

    fn a_loaded_value_is_chosen_where_the_path_asks_for_it() {
        let mut arena = Arena::new();
        let (x, y) = (symbol(&mut arena, 0, 64), symbol(&mut arena, 1, 64));
        let loaded = arena.apply(crate::expr::FunctionId(0), &[x], 32);
        let number = arena.constant(0x1234_5678, 32);
        let path = [arena.compare(Comparison::Equal, loaded, number)];
        assert_eq!(searched(&arena, &path, (x, y)), Search::Counterexample);
        // Equal arguments give equal results, also where they were chosen.
        let again = arena.apply(crate::expr::FunctionId(0), &[y], 32);
        let path = [path[0], arena.compare(Comparison::Equal, x, y)];
        assert_eq!(searched(&arena, &path, (again, number)), Search::Agreement);
    }
}
