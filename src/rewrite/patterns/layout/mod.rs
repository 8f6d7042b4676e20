//! Shared-memory layout (strategy `bank`): padding or an xor swizzle, so that accesses have fewer bank conflicts.

mod plan;
mod search;

use super::finder::Finder;
use super::footprint::{Accesses, Footprint, Neighbours, Room};
use super::group::{Group, Places, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::{InstId, InstRange};
use crate::emulate::KernelTrace;
use crate::ptx::Scanned;
use crate::report::{ArrayAccessReport, ArrayReport, Cost, KernelReport, Wavefronts};
use crate::reuse::shared::Placement;
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;
use search::{ArrayFinding, Beside};

/// The pattern.
#[derive(Debug)]
pub(super) struct Layout;

impl Pattern for Layout {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Bank]
    }

    /// An array in shared memory.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.uses_shared()
    }

    /// Lists every array, the chosen ones and the others.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let flow = finder.legality.flow();
        let conflicts = |insts: Vec<InstRange>| {
            let neighbours = Neighbours::Nothing;
            let room = Room { everywhere: true, neighbours, insts, ..Room::default() };
            finder.conflicts(&Footprint::of(Accesses::Shared, Vec::new()).within(room))
        };
        let all = InstId(0).to(InstId(flow.insts.len() as u32));
        let beside = Beside { any: conflicts(vec![all]), code_twice: conflicts(Vec::new()) };
        let arrays = (finder.arrays)(trace);
        for found in search::decide((flow, trace), arrays, beside, finder.options) {
            let members = found.array.accesses.iter().map(|access| access.inst).collect();
            let (refusal, footprint) =
                (found.refusal.clone(), Footprint::of(Accesses::Shared, members));
            finder.claim(Group { refusal, ..Group::new(StrategyName::Bank, footprint, found) });
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let mut arrays: Vec<&ArrayFinding> = shapes(chosen);
        arrays.retain(|found| found.placement != Placement::Same);
        plan::plan(&arrays, planner)
    }
}

impl Shape for ArrayFinding {
    fn saved_in_loops(&self) -> Option<f64> {
        self.cost.map(|(strategy, load)| load - strategy)
    }

    fn list(&self, _group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let ArrayFinding { array, placement, wavefronts, cost, refusal, .. } = self;
        let rounded = |number: f64| (100.0 * number).round() / 100.0;
        let each = array.accesses.iter().zip(wavefronts).map(|(access, &(before, after))| {
            let wavefronts = Wavefronts { before: rounded(before), after: rounded(after) };
            let (line, source) = (places.line(access.inst), places.origin(access.inst));
            ArrayAccessReport { line, source, bytes: access.bytes, wavefronts }
        });
        // The sum of no numbers is -0.
        let sum = |of: fn(&(f64, f64)) -> f64| rounded(wavefronts.iter().map(of).sum()) + 0.0;
        let all = Wavefronts { before: sum(|pair| pair.0), after: sum(|pair| pair.1) };
        report.arrays.push(ArrayReport {
            line: array.line,
            name: array.name.clone(),
            bytes: array.bytes,
            layout: (*placement != Placement::Same).then(|| placement.to_string()),
            wavefronts: array.refusal.is_none().then_some(all),
            accesses: each.collect(),
            cost: cost
                .map(|(strategy, load)| Cost { strategy: rounded(strategy), load: rounded(load) }),
            rule: refusal.as_ref().map(|refusal| refusal.rule().to_owned()),
            reason: refusal.as_ref().map(ToString::to_string),
        });
    }
}
