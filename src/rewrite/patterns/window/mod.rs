//! Redundant load elimination across lanes for the row of a stencil (strategy `window`): a few loads and shuffles.

mod cost;
mod emit;
mod plan;
mod rows;
mod shape;
mod taps;

use super::finder::{Finder, Rank, Weighed};
use super::footprint::{Accesses, Added, Footprint, Neighbours};
use super::group::{Group, Places, Shape, alignment, shapes};
use super::pattern::Pattern;
use crate::cfg::InstId;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::isa::Qualifier;
use crate::report::LoadReport;
use crate::reuse::{Limit, Load};
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;
use rows::StencilGroup;
use rows::rows;
use shape::StencilShape;

/// The most instructions from a row's first tap to its last one: its values are live in registers between them, and the
/// code there is duplicated. With 519 instructions (`curvilinear`) rows made the simulated kernel take 1.27 times as
/// long on a Kepler-like machine, with 142 registers instead of 114; up to 108 instructions they gained
/// (`openacc-bench/results/strategies.md`).
const MOST_APART: u32 = 128;

/// The pattern: rows in blocks in which there are some whose lanes hold vectors, or the others.
#[derive(Debug)]
pub(super) struct Window {
    /// Whether lanes hold vectors.
    pub broad: bool,
}

impl Pattern for Window {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Window]
    }

    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Window) {
            return;
        }
        let free = finder.free_loads(trace, Neighbours::Nothing);
        let rows = match self.broad {
            true => broad(finder, trace, &free),
            false => rows(finder.legality, trace, &free, limits(finder), |_, _| false),
        };
        take(finder, trace, &rows);
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        // One of the two plans all rows.
        if self.broad { plan::plan(&shapes(chosen), planner) } else { None }
    }
}

impl Shape for StencilGroup {
    fn account(&self, inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        let tap = self.taps.iter().find(|tap| tap.load.inst == inst);
        report.source_line = places.line_of_other(self.start().load.inst, inst);
        let mut distances = tap.iter().flat_map(|tap| tap.values.iter().map(|v| v.distance));
        report.delta = distances.find(|distance| *distance != 0);
        let mut guards = places.warp_guards(self.linear_lanes, true, &self.no_wrap);
        guards.extend(self.multiples.iter().map(alignment));
        if self.start().load.generic {
            guards.push("global-address".to_owned());
        }
        guards.dedup();
        report.guards = Some(guards);
    }
}

/// The rows of blocks in which there are some whose lanes hold vectors.
fn broad(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    free: &[Load],
) -> Vec<StencilGroup> {
    let (options, flow, limits) = (finder.options, finder.legality.flow(), limits(finder));
    let wanted = |broad: &StencilShape, narrow: &[StencilShape]| {
        let first = &broad.taps[0].load;
        let form = &flow.insts[first.inst].ast.form;
        let request = Request {
            stride: Some(broad.stride),
            bytes: (first.bytes / first.elements.len() as i64) as u32,
            lanes: 32,
            past_l1: form.has(Qualifier::Cg) || form.has(Qualifier::Cv),
        };
        !options.strategies.are_weighed()
            || options.costs.allow_shuffles(&request)
                && cost::is_better(&options.costs, broad, narrow, &request)
    };
    let mut rows = rows(finder.legality, trace, free, limits, wanted);
    let is_broad =
        |row: &&StencilGroup| row.taps.iter().any(|tap| row.cells.len() != tap.values.len());
    let blocks: Vec<_> = rows.iter().filter(is_broad).map(|row| row.block).collect();
    rows.retain(|row| blocks.contains(&row.block));
    rows
}

/// The most lanes that a row reaches, and the most instructions from its first tap to its last one.
fn limits(finder: &Finder<'_, '_, '_, '_>) -> (u32, u32) {
    let apart = if finder.is_weighed() { MOST_APART } else { u32::MAX };
    (finder.options.max_delta, apart)
}

/// Takes the rows that pay. The rows of one place must pay for its test together; each must also pay by itself.
fn take(finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace, rows: &[StencilGroup]) {
    for together in rows.chunk_by(|a, b| a.place == b.place) {
        let weighed: Vec<Weighed> = together.iter().map(|row| weigh(finder, trace, row)).collect();
        let saved: f64 = weighed.iter().map(Weighed::saved).sum();
        let paid = saved > finder.options.costs.version_cycles || !finder.is_weighed();
        for (row, weighed) in together.iter().zip(weighed) {
            if finder.has_room(row.taps.len()) {
                take_one(finder, row, weighed.limited((!paid).then_some(Limit::Test)));
            }
        }
    }
}

/// The cycles of a row, and those of its own loads.
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    row: &StencilGroup,
) -> Weighed {
    let first = &row.taps[0].load;
    let bytes = (first.bytes / first.elements.len() as i64) as u32;
    let request = Request { bytes, ..finder.request(trace, first) };
    let shared = !finder.options.costs.allow_shuffles(&request);
    let weighed = cost::costs(&finder.options.costs, row, &request);
    weighed.limited(shared.then_some(Limit::SharedPipe))
}

fn take_one(finder: &mut Finder<'_, '_, '_, '_>, row: &StencilGroup, weighed: Weighed) {
    let members: Vec<InstId> = row.taps.iter().map(|tap| tap.load.inst).collect();
    // Each tap has a share of the row's cost.
    let paid = match finder.is_weighed() {
        false => Ok(None),
        true => finder.pays(StrategyName::Window, weighed.each(members.len())).map(Some),
    };
    match paid {
        Ok(price) => {
            let footprint = Footprint::of(Accesses::Loads, members);
            let footprint = footprint.adding(Added::Versions, vec![row.block]);
            finder.claim(Group {
                shared_test: Some(row.place),
                price,
                ..Group::new(StrategyName::Window, footprint, row.clone())
            });
        }
        Err(unprofitable) => finder.decline(&members, Rank::Window, unprofitable),
    }
}
