//! Registers of a loop that keep their distance: if two registers change by the same amount in every
//! iteration (compilers make such registers of one subscript), each is the other plus the difference
//! of their values when the loop was entered.
//!
//! In: the loops of the evaluated original. Out: terms in which one register is left of all that keep
//! their distance. This is an induction over the iterations of one lane; so it holds wherever both
//! symbols have values of the same iteration, also behind the loop.
//!
//! A register that changes by a multiple of another one's constant step has gone as many times as far: a pointer that
//! moves by four rows where an index moves by four. Products make claims harder for the solver, so these forms are
//! compared and not put to it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::{LoopForest, LoopId};
use crate::expr::{Node, Substitution, SymbolId, TermId, to_signed};
use crate::record::Execution;
use crate::terms::Terms;

/// The symbols that are another symbol plus a term.
#[derive(Default)]
pub(crate) struct Induction {
    replaced: FxHashMap<SymbolId, TermId>,
    done: Substitution,
    /// Those that are a multiple of what remains.
    scaled: FxHashMap<SymbolId, TermId>,
    done_scaled: Substitution,
}

/// A register of a loop that others are told by.
struct Leader {
    /// Its symbol, and the value that it had at first.
    symbol: TermId,
    first: TermId,
    /// Its change in an iteration.
    step: TermId,
}

impl Induction {
    /// The registers that keep their distance in the original's loops.
    pub(crate) fn new(terms: &mut Terms, loops: &LoopForest, execution: &Execution) -> Induction {
        let mut found = Induction::default();
        // By loop and change in an iteration: a register and the value that it had at first.
        let mut leaders: FxHashMap<(LoopId, TermId), (TermId, TermId)> = FxHashMap::default();
        // A loop comes behind the loops around and before it, so the symbols in initial values have
        // been replaced already.
        for (id, record) in execution.loops.iter_enumerated() {
            let values = record.iter().flat_map(|record| &record.values);
            let mut all = Vec::new();
            for loop_value in values.filter(|loop_value| loop_value.register.is_some()) {
                let Some(symbol) = terms.as_symbol(loop_value.symbol) else { continue };
                let step = terms.arena.sub(loop_value.latch, loop_value.symbol);
                let (initial, key) = (found.apply(terms, loop_value.initial), (id, step));
                match leaders.get(&key) {
                    Some(&(leader, first)) => {
                        let ahead = terms.arena.sub(initial, first);
                        found.replaced.insert(symbol, terms.arena.add(leader, ahead));
                        found.done = Substitution::new();
                    }
                    None => {
                        leaders.insert(key, (loop_value.symbol, initial));
                        let (symbol, first) = (loop_value.symbol, initial);
                        all.push(Leader { symbol, first, step });
                    }
                }
            }
            found.scale(terms, (loops, id), &all);
        }
        found
    }

    /// Tells the leaders of a loop by one whose step is constant, where theirs are multiples of it.
    fn scale(&mut self, terms: &mut Terms, (loops, id): (&LoopForest, LoopId), leaders: &[Leader]) {
        for one in leaders {
            let Some(symbol) = terms.as_symbol(one.symbol) else { continue };
            if !is_outside(terms, loops, id, one.step) {
                continue;
            }
            let told = leaders.iter().filter(|by| by.symbol != one.symbol).find_map(|by| {
                let times = multiple(terms, one.step, by.step)?;
                Some((by, times))
            });
            let Some((by, times)) = told else { continue };
            let gone = terms.arena.sub(by.symbol, by.first);
            let gone = terms.arena.mul(gone, times);
            let value = terms.arena.add(one.first, gone);
            self.scaled.insert(symbol, value);
        }
    }

    /// Whether two terms are equal by the steps of registers in loops.
    pub(crate) fn are_equal(&mut self, terms: &mut Terms, (a, b): (TermId, TermId)) -> bool {
        if self.scaled.is_empty() {
            return false;
        }
        let [a, b] = [a, b].map(|term| {
            let term = self.apply(terms, term);
            let Induction { scaled, done_scaled, .. } = self;
            done_scaled.apply(&mut terms.arena, term, &mut |_, symbol, own| {
                scaled.get(&symbol).copied().unwrap_or(own)
            })
        });
        a == b
    }

    /// A term in which only the symbols that remain occur.
    pub(crate) fn apply(&mut self, terms: &mut Terms, term: TermId) -> TermId {
        if self.replaced.is_empty() {
            return term;
        }
        let Induction { replaced, done, .. } = self;
        done.apply(&mut terms.arena, term, &mut |_, symbol, own| {
            replaced.get(&symbol).copied().unwrap_or(own)
        })
    }

    /// Terms in which only the symbols that remain occur.
    pub(crate) fn apply_all(&mut self, terms: &mut Terms, all: &[TermId]) -> Vec<TermId> {
        all.iter().map(|&term| self.apply(terms, term)).collect()
    }
}

/// Whether a term has the same value in all iterations of a loop.
fn is_outside(terms: &Terms, loops: &LoopForest, id: LoopId, term: TermId) -> bool {
    let (mut seen, mut work) = (FxHashSet::default(), vec![term]);
    while let Some(next) = work.pop() {
        if seen.insert(next) {
            terms.arena.charge(1);
            if let Node::Symbol(symbol) = terms.arena.node(next)
                && loops.nested(terms.symbols.info(*symbol).made_in, id)
            {
                return false;
            }
            work.extend(terms.arena.operands(next));
        }
    }
    true
}

/// How many times a constant step another step is, modulo its width; `None` unless it is a multiple and not constant itself.
fn multiple(terms: &mut Terms, step: TermId, by: TermId) -> Option<TermId> {
    let width = terms.arena.width(step);
    let is_as_wide = terms.arena.width(by) == width;
    let by = terms.arena.constant_value(by).filter(|by| *by != 0 && is_as_wide)?;
    let by = to_signed(by, width);
    let divided = |part: u64| {
        let part = to_signed(part, width);
        (part % by == 0).then_some((part / by) as u64)
    };
    let (constant, addends) = terms.arena.linear_parts(step);
    if addends.is_empty() {
        return None;
    }
    let mut times = terms.arena.constant(divided(constant)?, width);
    for (addend, factor) in addends {
        let part = terms.arena.scale(addend, divided(factor)?);
        times = terms.arena.add(times, part);
    }
    Some(times)
}
