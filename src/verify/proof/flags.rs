//! The meaning of a flag of the rewritten program: a loop-carried predicate that is false at the loop's entry, and
//! afterwards the conjunction of some loop-invariant conditions. Where it is true, they hold.

use rustc_hash::FxHashMap;
use typed_index_collections::TiSlice;

use crate::cfg::{LoopForest, LoopId};
use crate::expr::TermId;
use crate::record::{LoopRecord, is_of_header};
use crate::terms::{Kind, Side, Terms, conditions};

/// By the symbol of a flag at a loop's header, the conditions that hold where it is true.
#[derive(Debug, Default)]
pub(crate) struct Flags(FxHashMap<TermId, Vec<TermId>>);

/// The most passes over flags that get each other's value.
const MAX_PASSES: usize = 8;

impl Flags {
    /// The flags of the rewritten program's loops.
    ///
    /// By induction over the iterations: at first the flag is false; later it is what its value at the end
    /// of the iteration before was, and so were the conditions in that, or those of the flag that it was.
    pub(crate) fn new(
        terms: &mut Terms,
        forest: &LoopForest,
        loops: &TiSlice<LoopId, Option<LoopRecord>>,
    ) -> Flags {
        let mut flags = Flags::default();
        for (id, record) in loops.iter_enumerated() {
            let Some(record) = record else { continue };
            let outside = LoopRecord { values: Vec::new(), ..record.clone() };
            let mut found: Vec<(TermId, Vec<TermId>)> = Vec::new();
            for loop_value in &record.values {
                let is_own = terms.as_symbol(loop_value.symbol).is_some_and(|symbol| {
                    matches!(terms.symbols.info(symbol).kind, Kind::Phi(Side::Rewritten, ..))
                });
                if !is_own
                    || terms.arena.width(loop_value.symbol) != 1
                    || terms.arena.constant_value(loop_value.initial) != Some(0)
                {
                    continue;
                }
                let later = conditions::literals(&mut terms.arena, loop_value.latch).to_vec();
                found.push((loop_value.symbol, later));
            }
            for _ in 0..MAX_PASSES {
                for (flag, later) in &found {
                    for &condition in later {
                        let more = match flags.0.get(&condition) {
                            Some(more) => more.clone(),
                            None if is_of_header(terms, forest, (id, &outside), condition) => {
                                vec![condition]
                            }
                            None => continue,
                        };
                        let all = flags.0.entry(*flag).or_default();
                        all.extend(more);
                        all.sort_unstable();
                        all.dedup();
                    }
                }
                if found.len() < 2 {
                    break;
                }
            }
        }
        flags
    }

    /// Adds to conditions that hold those that the flags among them imply.
    pub(crate) fn add_to(&self, known: &mut Vec<TermId>) {
        if self.0.is_empty() {
            return;
        }
        for index in 0..known.len() {
            for &more in self.0.get(&known[index]).into_iter().flatten() {
                if !known.contains(&more) {
                    known.push(more);
                }
            }
        }
    }
}
