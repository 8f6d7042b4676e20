//! Registers that only the rewritten program has and that bring a value from one iteration to the next.
//!
//! In: both programs, evaluated. Out: for such a register its value at the loop's header, as a term of
//! the original at that header. The value is guessed: a value of the original which, with everything
//! as it is an iteration later, is the one that the register gets at the loop's end. The guess is an
//! assumption of the next evaluation; it has to be confirmed where the loop is entered and where it
//! goes round ([`Comparison::loops`]), which is an induction over the iterations, or it is withdrawn.

use rustc_hash::{FxHashMap, FxHashSet};

use super::comparison::Comparison;
use super::execution::LoopRecord;
use super::symbols::{Kind, Side};
use super::turns::{at_entry, values_of};
use crate::cfg::{LoopId, RegisterId};
use crate::expr::{Substitution, TermId};

/// Guesses that are assumed, and those that have been withdrawn.
#[derive(Default)]
pub(super) struct Carried {
    /// The guessed value, by loop and register of the rewritten program.
    pub values: FxHashMap<(LoopId, RegisterId), TermId>,
    withdrawn: FxHashSet<(LoopId, RegisterId)>,
}

/// The most values of the original that are tried for one register.
const MAX_TRIED: usize = 4096;

impl Carried {
    /// Guesses for the registers that have none yet. True if there is a new guess.
    pub fn guess(&mut self, comparison: &mut Comparison<'_, '_>) -> bool {
        let known = self.values.len();
        for index in 0..comparison.after.loops.len() {
            let id = LoopId(index as u32);
            let (Some(before), Some(after)) =
                (&comparison.before.loops[index], &comparison.after.loops[index])
            else {
                continue;
            };
            for round in &after.rounds {
                let Some(register) = round.register else { continue };
                let key = (id, register);
                let own = comparison.terms.as_symbol(round.symbol).is_some_and(|symbol| {
                    let kind = &comparison.terms.symbols.info(symbol).kind;
                    matches!(kind, Kind::Phi(Side::Rewritten, ..))
                });
                if !own || self.values.contains_key(&key) || self.withdrawn.contains(&key) {
                    continue;
                }
                if let Some(value) = guess(comparison, id, before, (round.initial, round.latch)) {
                    self.values.insert(key, value);
                }
            }
        }
        self.values.len() > known
    }

    /// Withdraws guesses that were not confirmed; returns the registers that had none.
    pub fn withdraw(
        &mut self,
        apart: Vec<(LoopId, RegisterId)>,
    ) -> impl Iterator<Item = (LoopId, RegisterId)> + use<> {
        let (mine, others): (Vec<_>, Vec<_>) =
            apart.into_iter().partition(|key| self.values.contains_key(key));
        for key in mine {
            self.values.remove(&key);
            self.withdrawn.insert(key);
        }
        others.into_iter()
    }
}

/// A value of the original in the loop that is, one iteration later, the value that the register gets.
fn guess(
    comparison: &mut Comparison<'_, '_>,
    id: LoopId,
    before: &LoopRecord,
    (initial, latch): (TermId, TermId),
) -> Option<TermId> {
    let width = comparison.terms.arena.width(latch);
    let original = comparison.original;
    let of_loop = |inst: u32| {
        let loops = &original.flow.loops;
        (0..original.flow.blocks.len() as u32).map(crate::cfg::BlockId).any(|block| {
            loops.innermost(block) == Some(id)
                && original.flow.block(block).instructions().contains(&(inst as usize))
        })
    };
    let mut values: Vec<(u32, TermId)> = comparison
        .before
        .definitions
        .iter()
        .filter(|((inst, _), value)| {
            comparison.terms.arena.width(**value) == width && of_loop(*inst)
        })
        .map(|((inst, _), value)| (*inst, *value))
        .collect();
    values.sort_unstable();
    values.dedup_by_key(|(_, value)| *value);
    let terms = &mut *comparison.terms;
    let mut substitution = Substitution::new();
    let later = values_of(terms, before, |round| round.latch);
    let induction = &mut comparison.warp.prover.induction;
    let latch = induction.apply(terms, latch);
    let found = values.into_iter().take(MAX_TRIED).find(|&(_, value)| {
        let next = substitution.apply(&mut terms.arena, value, &mut |_, symbol, own| {
            later.get(&symbol).copied().unwrap_or(own)
        });
        // (A value that does not change tells nothing about the one that the register gets.)
        next != value && induction.apply(terms, next) == latch
    });
    let (_, value) = found?;
    // A guess is only worth an evaluation if it holds at the entry as well.
    let first = at_entry(terms, before, value);
    (first == initial).then_some(value)
}
