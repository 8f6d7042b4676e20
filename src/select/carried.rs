//! Chooses among the values that may go round loops.
//!
//! In: the links between loads of one loop, and what loads cost. Out: the links that pay. Those of one loop
//! are weighed together, since they share tests.

use super::StrategyName;
use super::weighed::Weigher;
use crate::cfg::RegisterId;
use crate::emulate::KernelTrace;
use crate::reuse::{Carried, Load, SameAddress, Slice, Start, Tested, Unpaid};

/// Values that go round a loop under a predicate are taken beside the first-level cache if they save at
/// least this share of the loop's loads. Fewer gain nothing in the simulator: two of seven
/// loads 1.00 to 1.03 times as long, six of nine 0.86 to 1.01 (`openacc-bench/results/strategies.md`).
const CARRIED_SHARE: f64 = 0.5;

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
        let saved: Vec<f64> =
            links.iter().map(|link| self.share_of_loop(trace, link, &links, loads)).collect();
        let mut shares = shares.into_iter().zip(saved);
        links.retain(|link| {
            let shares = shares.next().unwrap_or((0.0, 0.0));
            let weighed = self.weigh_carried(trace, link, shares);
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

    /// The share of the loads of a link's loop that are left out, under a predicate, for values that go round
    /// it.
    fn share_of_loop(
        &self,
        trace: &KernelTrace,
        link: &Carried,
        links: &[Carried],
        loads: &[usize],
    ) -> f64 {
        let around = |inst: u32| {
            let block = self.opportunities.block_of(inst)?;
            self.opportunities.flow().loops.innermost(block)
        };
        let here = around(link.load.inst);
        let of_loop = loads.iter().filter(|&&at| around(trace.accesses[at].inst) == here).count();
        let is_left_out = |other: &&Carried| {
            other.entry == link.entry && matches!(other.start, Start::Performed(_))
        };
        let left_out = links.iter().filter(is_left_out).count();
        left_out as f64 / of_loop.max(1) as f64
    }

    /// Whether a value that goes round a loop takes fewer cycles than the load; `test` are the instructions of
    /// a test in each iteration, or its share of one for several loads, and `saved` is the share of the
    /// loop's loads that all such values save.
    fn weigh_carried(
        &mut self,
        trace: &mut KernelTrace,
        link: &Carried,
        (test, saved): (f64, f64),
    ) -> Result<(), Unpaid> {
        if !self.options.strategies.are_weighed() {
            return Ok(());
        }
        let words: u32 = link.pieces.iter().map(|(_, to)| to.ty.bits().div_ceil(32)).sum();
        let (request, costs) = (self.request(trace, &link.load), &self.options.costs);
        let kept = costs.load(&request) + costs.instructions(1);
        let instead = match link.start {
            // The assembler lets the load fill the register that goes round.
            Start::Loaded { .. } => costs.instructions(words * link.distance),
            // What is not loaded takes a place in the queue all the same.
            Start::Performed(_) => {
                let instead =
                    costs.instructions((words + 1) * link.distance) + test * costs.instructions(1);
                // Beside the first-level cache, what is issued to go without a load takes longer in the
                // simulator than the load if it is tested in each iteration (1.00 to 1.16 times as long in
                // marches over rows and planes), or if there is little of it.
                let pays = tested_always(link).is_none() && saved >= CARRIED_SHARE;
                match costs.allow_shuffles(&request) || pays {
                    true => instead,
                    false => instead.max(kept),
                }
            }
        };
        self.pays(StrategyName::Reuse, &[link.load.inst], instead, kept)
    }
}
