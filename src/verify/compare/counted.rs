//! Loops that count in another way: down instead of up, or from another number on.
//!
//! In: a register that only the rewritten program has and whose step is constant, and the original's registers of that
//! loop. Out: its value as a multiple of one of these, a guess like the others of [`super::carried`]; and what holds at
//! the header of such a loop, for that two loops end together depends on where their numbers end. Both are linear
//! relations of induction variables (Allen, Cocke, Kennedy, "Reduction of operator strength", 1981).

use rustc_hash::{FxHashMap, FxHashSet};

use super::comparison::Comparison;
use crate::cfg::LoopId;
use crate::expr::{Comparison as Order, Node, Substitution, SymbolId, TermId, to_signed};
use crate::proof::Proof;
use crate::record::{HeaderRegister, LoopRecord, LoopValue, at_entry, at_latch};
use crate::terms::{Terms, conditions};

/// The change of a value in an iteration, signed; `None` unless it is a constant other than 0.
fn step(terms: &mut Terms, value: &LoopValue) -> Option<i64> {
    let width = terms.arena.width(value.symbol);
    let step = terms.arena.sub(value.latch, value.symbol);
    let step = to_signed(terms.arena.constant_value(step)?, width);
    (step != 0 && value.register.is_some()).then_some(step)
}

/// The value of a register by the original's registers of the loop, if one of these goes a whole part of its step.
pub(super) fn counted(terms: &mut Terms, before: &LoopRecord, value: &LoopValue) -> Option<TermId> {
    let width = terms.arena.width(value.symbol);
    let own = step(terms, value)?;
    before.values.iter().find_map(|by| {
        let whole = terms.arena.width(by.symbol) >= width;
        let times = step(terms, by)
            .filter(|by| whole && own.checked_rem(*by) == Some(0))
            .map(|by| own / by)?;
        let gone = terms.arena.sub(by.symbol, by.initial);
        let gone = terms.arena.extract(gone, 0, width);
        let gone = terms.arena.scale(gone, times as u64);
        Some(terms.arena.add(value.initial, gone))
    })
}

impl Comparison<'_, '_> {
    /// Of registers that differ, those that count in another way, if there are any: the others may differ by these alone.
    pub(super) fn causes(&mut self, differ: Vec<HeaderRegister>) -> Vec<HeaderRegister> {
        let counts = |terms: &mut Terms, key: &HeaderRegister| {
            let before = self.before.loops.get(key.id)?.as_ref()?;
            let after = &self.after.loops[key.id];
            let mut values = after.iter().flat_map(|record| &record.values);
            let value = values.find(|value| value.register == Some(key.register))?;
            counted(terms, before, value).filter(|told| *told != value.symbol)
        };
        let counting: Vec<HeaderRegister> =
            (differ.iter().copied()).filter(|key| counts(self.terms, key).is_some()).collect();
        if counting.is_empty() { differ } else { counting }
    }

    /// Conditions that are shown to hold at a loop's header, in each iteration: that under which the iteration before
    /// went on, told by the values of this one, and that its registers have not passed the values they began with.
    pub(super) fn header_facts(&mut self, id: LoopId) -> Vec<TermId> {
        let Some(before) = &self.before.loops[id] else { return Vec::new() };
        let outside = self.iteration(self.rewritten.flow.loops.get(id).parent);
        let inside = self.place(self.rewritten.flow.loops.get(id).header);
        let steps: FxHashMap<SymbolId, i64> = before
            .values
            .iter()
            .filter_map(|value| {
                Some((self.terms.as_symbol(value.symbol)?, step(self.terms, value)?))
            })
            .collect();
        let always = self.terms.arena.boolean(true);
        let mut facts = Vec::new();
        let mut counters = FxHashSet::default();
        for literal in conditions::literals(&mut self.terms.arena, before.again) {
            let Some(symbols) = self.counters_of((id, before), &steps, literal) else { continue };
            let arena = &mut self.terms.arena;
            let then =
                Substitution::new().apply(arena, literal, &mut |arena, symbol, own| match steps
                    .get(&symbol)
                {
                    Some(&step) => {
                        let step = arena.constant(step as u64, arena.width(own));
                        arena.sub(own, step)
                    }
                    None => own,
                });
            let first = at_entry(self.terms, before, then);
            if self.prove(&outside, first, always, &[before.entry]) == Proof::Equal {
                facts.push(then);
                counters.extend(symbols);
            }
        }
        let counters = before.values.iter().filter(|value| {
            self.terms.as_symbol(value.symbol).is_some_and(|symbol| counters.contains(&symbol))
        });
        let counters: Vec<LoopValue> = counters.copied().collect();
        for value in counters {
            let ends = match step(self.terms, &value) {
                Some(step) if step > 0 => (value.initial, value.symbol),
                _ => (value.symbol, value.initial),
            };
            for order in [Order::SignedLessEqual, Order::UnsignedLessEqual] {
                let passed = self.terms.arena.compare(order, ends.0, ends.1);
                let later = at_latch(self.terms, before, passed);
                let known: Vec<TermId> =
                    facts.iter().copied().chain([passed, before.again]).collect();
                if self.prove(&inside, later, always, &known) == Proof::Equal {
                    facts.push(passed);
                }
            }
        }
        facts
    }

    /// The registers of a loop's header in a term; `None` if there is none, or if the term depends on something else that
    /// changes in the loop.
    fn counters_of(
        &self,
        (id, before): (LoopId, &LoopRecord),
        steps: &FxHashMap<SymbolId, i64>,
        term: TermId,
    ) -> Option<FxHashSet<SymbolId>> {
        let (terms, loops) = (&*self.terms, &self.original.flow.loops);
        let own: FxHashSet<TermId> = before.values.iter().map(|value| value.symbol).collect();
        let (mut seen, mut work) = (FxHashSet::default(), vec![term]);
        let mut found = FxHashSet::default();
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            terms.arena.charge(2);
            match terms.arena.node(next) {
                Node::Symbol(symbol) if steps.contains_key(symbol) => {
                    found.insert(*symbol);
                }
                Node::Symbol(symbol) => {
                    let changes = loops.nested(terms.symbols.info(*symbol).made_in, id);
                    if own.contains(&next) || changes {
                        return None;
                    }
                }
                _ => work.extend(terms.arena.operands(next)),
            }
        }
        (!found.is_empty()).then_some(found)
    }
}
