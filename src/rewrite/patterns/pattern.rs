//! The interface of a pattern.

use std::fmt::Debug;

use super::finder::Finder;
use super::group::Group;
use crate::emulate::KernelTrace;
use crate::ptx::Scanned;
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;

/// A way to replace accesses.
pub trait Pattern: Sync + Debug {
    /// The strategies that allow its groups.
    fn strategies(&self) -> &'static [StrategyName];

    /// Whether it may find something in a body; where no pattern does, the body is not parsed. By itself: two loads, the
    /// fewest that can share anything.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.global_loads >= 2
    }

    /// Finds the groups that are legal, allowed and pay beside those of other patterns; says of others why they do not.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace);

    /// Plans the code for its groups among those that are chosen in one function, in the order in which they were
    /// claimed.
    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>>;
}
