//! Chooses among the values that may go round loops.
//!
//! In: the links between loads of one loop, and what loads cost. Out: the links that pay. Those of one loop
//! are weighed together, since they share tests.

use super::StrategyName;
use super::weighed::{Weighed, Weigher};
use crate::cfg::RegisterId;
use crate::emulate::KernelTrace;
use crate::reuse::{Carried, Limit, Load, SameAddress, Slice, Start, Tested, Unpaid};

/// What identifies a test at the end of each iteration: the loop's entry, the iterations, the copies that
/// compute the one base, the register with the other.
type Test = (u32, u32, Slice, RegisterId);

/// What is tested at the end of each iteration for a link.
fn tested_always(link: &Carried) -> Option<Test> {
    match &link.start {
        Start::Performed(Some(SameAddress { slice, source: Tested::Always(base), .. })) => {
            Some((link.entry, link.distance, slice.clone(), *base))
        }
        _ => None,
    }
}

/// The instructions of a test, divided among those that share it.
fn share(test: Option<&Test>, all: &[Option<Test>]) -> f64 {
    let Some(test) = test else { return 0.0 };
    let sharing = all.iter().flatten().filter(|other| *other == test).count();
    (test.2.len() + 2) as f64 / sharing.max(1) as f64
}

impl Weigher<'_, '_, '_, '_> {
    /// The values that go round loops.
    pub(super) fn carried(&mut self, trace: &mut KernelTrace, loads: &[usize]) -> Vec<Carried> {
        if !self.options.strategies.allow(StrategyName::Reuse) {
            return Vec::new();
        }
        let simple: Vec<Load> =
            loads.iter().filter_map(|&at| self.opportunities.load(trace, at).ok()).collect();
        let mut links = self.opportunities.carried(trace, &simple);
        let tests: Vec<_> = links.iter().map(tested_always).collect();
        let shares: Vec<f64> = tests.iter().map(|test| share(test.as_ref(), &tests)).collect();
        let mut shares = shares.into_iter();
        links.retain(|link| {
            let weighed = self.weigh_carried(trace, link, shares.next().unwrap_or(0.0));
            if let Err(unpaid) = weighed {
                self.not_in_ring.insert(link.load.inst, unpaid);
            }
            weighed.is_ok()
        });
        links.truncate(self.options.most);
        self.replaced += links.len();
        let at = |(index, link): (usize, &Carried)| (link.load.inst, index);
        self.in_ring = links.iter().enumerate().map(at).collect();
        self.passed_on = links.iter().map(|link| link.source).collect();
        links
    }

    /// Whether a value that goes round a loop takes fewer cycles than the load; `test` are the instructions of
    /// a test in each iteration, or its share of one for several loads.
    fn weigh_carried(
        &mut self,
        trace: &mut KernelTrace,
        link: &Carried,
        test: f64,
    ) -> Result<(), Unpaid> {
        if !self.options.strategies.are_weighed() {
            return Ok(());
        }
        let words: u32 = link.pieces.iter().map(|(_, to)| to.ty.bits().div_ceil(32)).sum();
        let (request, costs) = (self.request(trace, &link.load), &self.options.costs);
        let kept = costs.load(&request) + costs.instructions(1);
        let mut limit = None;
        let instead = match link.start {
            // The assembler lets the load fill the register that goes round.
            Start::Loaded { .. } => costs.instructions(words * link.distance),
            // What is not loaded takes a place in the queue all the same.
            Start::Performed(_) => {
                // Beside the first-level cache a load that is there under a predicate takes its time all the
                // same: in the simulator such marches over rows and planes took 1.00 to 1.19 times as long, and
                // less only where the assembler had unrolled all of a loop.
                limit = (!costs.allow_shuffles(&request)).then_some(Limit::Predicated);
                costs.instructions((words + 1) * link.distance) + test * costs.instructions(1)
            }
        };
        let weighed = Weighed::new(instead, kept).limited(limit).of(&request);
        self.pays(StrategyName::Reuse, &[link.load.inst], weighed)
    }
}
