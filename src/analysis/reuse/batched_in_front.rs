//! The tests of loads that are moved over stores, in front of the loop around them.
//!
//! In: a group of loads in a loop, and the distances that code in it tests. Out: the same tests over the values that registers
//! have in front of the loop, where each of them has the same outcome in all iterations: the distance changes by 0 bytes.

use rustc_hash::FxHashSet;

use super::batched::{Addend, Batched, Distance};
use super::legality::Legality;
use crate::cfg::{Arg, Flow, RegisterId};
use crate::emulate::definitions;
use crate::loops::{LoopCode, MAX_STEP, Sum, WholeLoop, step};

impl Legality<'_, '_, '_> {
    /// Finds out which distances are the same in all iterations of the innermost loop around a block.
    pub(super) fn find_invariant(&self, group: &mut Batched) {
        let flow = self.flow();
        let Some(around) = flow.loops.innermost(group.block) else { return };
        let inside = flow.block_ids().filter(|block| flow.loops.contains(around, *block));
        let insts = inside.flat_map(|block| &flow.insts[flow.block(block).instructions().range()]);
        let written: FxHashSet<RegisterId> = insts.flat_map(definitions).collect();
        for test in &mut group.tests {
            test.varies = test.parts.iter().any(|(part, _)| match part {
                Addend::Register(register) => written.contains(register),
                Addend::Step(_) => true,
            });
        }
        let whole = WholeLoop::of(self.source, flow, around);
        group.in_front = whole.and_then(|whole| in_front(flow, &whole.code, group));
    }
}

/// The tests of a group in front of a loop; `None` if the outcome of one may differ between iterations, or if it is known.
fn in_front(flow: &Flow<'_, '_>, code: &LoopCode, group: &Batched) -> Option<Vec<Distance>> {
    let mut sums = code.sums(flow);
    let mut moved = |test: &Distance| {
        let mut found = Sum::default();
        for (part, factor) in &test.parts {
            let (register, place) = match part {
                Addend::Register(register) => (*register, group.test),
                Addend::Step(step) => {
                    let at = group.measured[*step].inst;
                    match flow.insts[at].args[..] {
                        [Arg::Register(register), ..] => (register, at.next()),
                        _ => return None,
                    }
                }
            };
            found.add(&sums.of(register, place), *factor);
        }
        let each = step(&mut sums, &found, code, flow)?.known()?;
        let is_still = each == 0 || planted!(Bug::BatchTestedOnce);
        let is_small = found.parts.values().all(|factor| factor.unsigned_abs() <= MAX_STEP as u64);
        let parts: Vec<_> = found
            .parts
            .iter()
            .map(|(held, factor)| (Addend::Register(held.register), *factor))
            .collect();
        let least = test.least.wrapping_sub(found.constant);
        (is_still && is_small && !parts.is_empty()).then_some(Distance {
            parts,
            least,
            more: test.more,
            varies: false,
        })
    };
    group.tests.iter().map(&mut moved).collect()
}
