//! Symbols that the facts at a place leave one value.
//!
//! Compilers compare a count again and again: `n <= 1`, then `n < 1`, then `n - 1 < 3`. Where the first
//! holds and the second does not, `n` is 1, the third is decided, and a loop behind it never runs. The
//! solver finds this as well, but in terms that hold products of symbols it takes long to.

use rustc_hash::FxHashMap;

use super::question::Claim;
use crate::expr::{Arena, Comparison, Node, Substitution, SymbolId, TermId, mask, to_signed};
use crate::terms::conditions::literals;

/// How often symbols are searched for, each time in the facts simplified by the values found before.
const MAX_SWEEPS: usize = 4;

/// Facts and a claim in which every symbol that can only have one value is replaced by it.
pub(crate) enum Simplified {
    /// The facts contradict each other: no lane reaches this place.
    Unreachable,
    /// Facts and claim, without those symbols; the facts that are true for every value are left out.
    Simpler { known: Vec<TermId>, claim: Claim },
    /// No symbol is pinned.
    Same,
}

/// Puts in the values of symbols that can have only one where the facts `known` hold.
pub(super) fn simplified(arena: &mut Arena, known: &[TermId], claim: Claim) -> Simplified {
    let (mut known, mut claim) = (known.to_vec(), claim);
    let mut is_same = true;
    for _ in 0..MAX_SWEEPS {
        let Some(values) = pinned(arena, &known) else { return Simplified::Unreachable };
        if values.is_empty() {
            break;
        }
        is_same = false;
        let mut substitution = Substitution::new();
        let mut apply = |arena: &mut Arena, term: TermId| {
            substitution.apply(arena, term, &mut |arena, symbol, term| match values.get(&symbol) {
                Some(&value) => arena.constant(value, arena.width(term)),
                None => term,
            })
        };
        claim = (apply(arena, claim.0), apply(arena, claim.1));
        let mut left = Vec::new();
        for fact in known {
            let fact = apply(arena, fact);
            match *arena.node(fact) {
                Node::Constant(0) => return Simplified::Unreachable,
                Node::Constant(_) => {}
                // A disjunction with one side that is now false.
                _ => left.extend(literals(arena, fact)),
            }
        }
        known = left;
    }
    if is_same { Simplified::Same } else { Simplified::Simpler { known, claim } }
}

/// The known bounds of a symbol, as an unsigned and as a signed number.
struct Bounds {
    width: u8,
    unsigned: (u64, u64),
    signed: (i64, i64),
}

impl Bounds {
    fn new(width: u8) -> Bounds {
        let most = (mask(width) >> 1) as i64;
        Bounds { width, unsigned: (0, mask(width)), signed: (-most - 1, most) }
    }

    fn is_empty(&self) -> bool {
        self.unsigned.0 > self.unsigned.1 || self.signed.0 > self.signed.1
    }

    /// The only value that is left, if there is one.
    fn value(&self) -> Option<u64> {
        match () {
            () if self.unsigned.0 == self.unsigned.1 => Some(self.unsigned.0),
            () if self.signed.0 == self.signed.1 => Some(self.signed.0 as u64 & mask(self.width)),
            () => None,
        }
    }

    /// Narrows the bounds by a comparison of the symbol with a constant: `symbol op value`, or `value op symbol`.
    /// Bounds that no value meets become empty.
    fn narrow(&mut self, op: Comparison, value: u64, symbol_is_left: bool) {
        let signed = to_signed(value, self.width);
        match (op, symbol_is_left) {
            (Comparison::Equal, _) => {
                self.unsigned = (self.unsigned.0.max(value), self.unsigned.1.min(value));
                self.signed = (self.signed.0.max(signed), self.signed.1.min(signed));
            }
            (Comparison::UnsignedLessEqual, true) => self.unsigned.1 = self.unsigned.1.min(value),
            (Comparison::UnsignedLessEqual, false) => self.unsigned.0 = self.unsigned.0.max(value),
            (Comparison::SignedLessEqual, true) => self.signed.1 = self.signed.1.min(signed),
            (Comparison::SignedLessEqual, false) => self.signed.0 = self.signed.0.max(signed),
            (Comparison::UnsignedLess, true) => match value.checked_sub(1) {
                Some(top) => self.unsigned.1 = self.unsigned.1.min(top),
                None => self.unsigned = (1, 0),
            },
            (Comparison::UnsignedLess, false) => match value.checked_add(1) {
                Some(bottom) => self.unsigned.0 = self.unsigned.0.max(bottom),
                None => self.unsigned = (1, 0),
            },
            (Comparison::SignedLess, true) => match signed.checked_sub(1) {
                Some(top) => self.signed.1 = self.signed.1.min(top),
                None => self.signed = (1, 0),
            },
            (Comparison::SignedLess, false) => match signed.checked_add(1) {
                Some(bottom) => self.signed.0 = self.signed.0.max(bottom),
                None => self.signed = (1, 0),
            },
        }
    }
}

/// The symbols that can have one value, and these; `None` if a symbol can have none.
fn pinned(arena: &Arena, known: &[TermId]) -> Option<FxHashMap<SymbolId, u64>> {
    let mut bounds: FxHashMap<SymbolId, Bounds> = FxHashMap::default();
    for &fact in known {
        arena.charge(4);
        // The negation of an order is the other order; that of `=` says nothing of bounds.
        let Node::Compare(op, a, b) = *arena.node(fact) else { continue };
        let (symbol, constant, is_left) = match (arena.node(a), arena.node(b)) {
            (&Node::Symbol(symbol), &Node::Constant(value)) => (symbol, value, true),
            (&Node::Constant(value), &Node::Symbol(symbol)) => (symbol, value, false),
            _ => continue,
        };
        let of = bounds.entry(symbol).or_insert_with(|| Bounds::new(arena.width(a)));
        of.narrow(op, constant, is_left);
        if of.is_empty() {
            return None;
        }
    }
    Some(bounds.into_iter().filter_map(|(symbol, of)| Some((symbol, of.value()?))).collect())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::Evaluator;

    crate::unit_tests!(no_other_value_is_possible);

    /// All pairs of comparisons of a small width, against all values.
    fn no_other_value_is_possible() {
        const WIDTH: u8 = 3;
        let mut arena = Arena::new();
        let id = SymbolId(0);
        let x = arena.symbol(id, WIDTH);
        let ops = [
            Comparison::SignedLess,
            Comparison::SignedLessEqual,
            Comparison::UnsignedLess,
            Comparison::UnsignedLessEqual,
            Comparison::Equal,
        ];
        let mut facts = Vec::new();
        for op in ops {
            for value in 0..1 << WIDTH {
                let constant = arena.constant(value, WIDTH);
                facts.extend([arena.compare(op, x, constant), arena.compare(op, constant, x)]);
            }
        }
        let holds = |arena: &Arena, fact: TermId, value: u64| {
            Evaluator::new(arena, |_, _| value).value(fact) == 1
        };
        let (mut found, mut empty) = (0, 0);
        for (&a, &b) in facts.iter().flat_map(|a| facts.iter().map(move |b| (a, b))) {
            let possible: Vec<u64> = (0..1 << WIDTH)
                .filter(|&value| holds(&arena, a, value) && holds(&arena, b, value))
                .collect();
            match pinned(&arena, &[a, b]) {
                None => {
                    assert!(possible.is_empty(), "{possible:?}");
                    empty += 1;
                }
                Some(values) => {
                    let Some(&value) = values.get(&id) else { continue };
                    assert!(possible.is_empty() || possible == [value], "{possible:?} {value}");
                    found += 1;
                }
            }
        }
        assert!(found > 500 && empty > 500, "{found} {empty}");
    }
}
