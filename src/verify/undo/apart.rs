//! Proves that accesses of a loop touch different bytes in one lane, in whatever iterations.

use super::iterations::{Address, Iterations, Step};
use crate::cfg::InstId;

impl Iterations {
    /// Whether an access to `bytes` bytes whose address does not change in the loop touches none of the bytes of another
    /// one in any iteration.
    ///
    /// With `ahead` from the position of the other access at which it just does not reach the bytes yet, they are apart
    /// if `ahead >= both` without a sign, where `both` is the number of positions that overlap. That position moves by
    /// `step` in each iteration, so `ahead` falls by that, and must not fall below `both`.
    pub(super) fn are_apart(
        &mut self,
        (kept, bytes): (InstId, u32),
        (other, other_bytes): (InstId, u32),
    ) -> bool {
        let (Some(of_kept), Some(of_other)) = (self.address(kept), self.address(other)) else {
            return false;
        };
        let (kept, other) = ((of_kept, bytes), (of_other, other_bytes));
        // Of two that do not change either may be taken for the other one.
        let is_still = |address: Address| address.step == Step::Constant(0);
        is_still(of_kept)
            && bytes > 0
            && other_bytes > 0
            && (self.keeps_away(kept, other) || is_still(of_other) && self.keeps_away(other, kept))
    }

    /// The same for an address and another one, each with the bytes of the access.
    fn keeps_away(
        &mut self,
        (kept, bytes): (Address, u32),
        (other, others): (Address, u32),
    ) -> bool {
        let Address { first, step } = other;
        let (span, most) = match step {
            Step::Constant(0) => (Some(self.values.arena.constant(0, 64)), Some(0)),
            Step::Constant(step) => self.span(step.unsigned_abs()).unzip(),
            Step::Term(step) => (self.span_of_term(step), None),
        };
        let Some(span) = span else { return false };
        let falls = matches!(step, Step::Constant(..0));
        let both = u64::from(bytes) + u64::from(others) - 1;
        let arena = &mut self.values.arena;
        let ahead = arena.sub(kept.first, first);
        let ahead = arena.add_constant(ahead, u64::from(bytes) - 1);
        if let (Some(known), Some(most)) = (arena.constant_value(ahead), most) {
            let is_certain = match falls {
                // It grows, and does not come around to 0.
                true => known >= both && known.checked_add(most).is_some(),
                false => known >= both + most,
            };
            if is_certain {
                return true;
            }
        }
        let ahead = if falls { arena.add(ahead, span) } else { ahead };
        let needed = arena.add_constant(span, both);
        self.is_at_least(ahead, needed)
    }
}
