//! The duplicated code of a block, behind a test of the warp: one copy with loads replaced, one untouched.
//!
//! Groups of loads that follow each other are tested for together where everything from the first one's test to
//! the last one's end may be duplicated.

use super::legality::Legality;
use crate::cfg::{BlockId, InstId, InstRange};
use crate::emulate::KernelTrace;

/// The multiversioned code so far: a block, and instructions of it.
#[derive(Default)]
pub struct Region(Option<(BlockId, InstRange)>);

impl Legality<'_, '_, '_> {
    /// Calls `make` for a group of loads whose instructions are `range`, with the instruction in front of its test:
    /// that of the groups before, or else its own first one, unless that is in code that is duplicated already. Groups
    /// must come in the order of their first instructions.
    pub fn standing_twice<T>(
        &mut self,
        trace: &mut KernelTrace,
        region: &mut Region,
        (block, range): (BlockId, InstRange),
        mut make: impl FnMut(&mut Self, &mut KernelTrace, InstId) -> Option<T>,
    ) -> Option<T> {
        let known = region.0.clone().filter(|(other, _)| *other == block).map(|(_, known)| known);
        if let Some(known) = &known
            && self.side_effect_free(trace).between(known.end.before(), range.start)
            && let Some(made) = make(self, trace, known.start)
        {
            region.0 = Some((block, known.start.to(known.end.max(range.end))));
            return Some(made);
        }
        if known.is_some_and(|known| range.start < known.end) {
            return None;
        }
        let made = make(self, trace, range.start)?;
        region.0 = Some((block, range));
        Some(made)
    }
}
