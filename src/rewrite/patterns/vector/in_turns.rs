//! Vectors of loads and stores that stand in turns, such as `a[i] = f(a[i])` for consecutive elements (strategy `wide`).
//!
//! Each vector load stands in the place of its first load, and each vector store in that of its last one, so no load
//! stands between stores whose bytes it could read: that is proved. The alignment of all vectors is asked by one
//! test around them, and where it fails the accesses stand as they were. (With alignment that is proved, the patterns of
//! vector loads and stores do the same one by one; where stores may write the loaded bytes, `batch` does it.)

use super::{TEST, limit_of_tested, plan, weighed};
use crate::cfg::{InstId, InstRange};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::patterns::finder::{Finder, Rank, hundredths};
use crate::patterns::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use crate::patterns::group::{Group, Places, Price, Shape, alignment, shapes};
use crate::patterns::joined::{has_place, weigh_stores};
use crate::patterns::pattern::Pattern;
use crate::report::LoadReport;
use crate::reuse::{AdjacentStores, Batched, Limit, Multiple, Unprofitable, VectorGroup};
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;

/// The pattern.
#[derive(Debug)]
pub(in crate::patterns) struct InTurns;

/// A vector load of some code in which stores stand between the loads.
#[derive(Debug)]
struct Turn {
    vector: VectorGroup,
    /// The conditions on parameters for all vectors of that code.
    multiples: Vec<Multiple>,
    /// Of the first vector, that code: the accesses of the vectors, of stores too, and the instructions between them.
    range: Option<InstRange>,
}

impl Pattern for InTurns {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Wide]
    }

    /// Claims the loads and stores that pay; none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Wide) {
            return;
        }
        let mut all = finder.legality.in_turns(trace);
        all.retain(|found| !finder.conflicts(&footprint(finder, found, Vec::new())));
        let groups: Vec<&Batched> = all.iter().collect();
        let mut stores = finder.legality.vectors_of_stores(trace, &groups);
        stores.retain(|(_, found)| has_place(finder, found));
        for (at, found) in all.iter().enumerate() {
            let of_group = stores.extract_if(.., |(of, _)| *of == at).map(|(_, stores)| stores);
            claim(finder, trace, found, of_group.collect());
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let all: Vec<&Turn> = shapes(chosen);
        for Turn { range, multiples, .. } in &all {
            if let Some(range) = range.as_ref().filter(|_| !planted!(Bug::TurnsUntested)) {
                planner.add_aligned_version(range.clone(), multiples.clone());
            }
        }
        plan::vectors(all.iter().map(|turn| &turn.vector), plan::Filled::InPlace, planner)
    }
}

/// Claims the vectors of a group if they pay together.
fn claim(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    found: &Batched,
    stores: Vec<AdjacentStores>,
) {
    let (mut stored, mut saved) = (Vec::new(), 0);
    for group in stores {
        if let Ok(price) = weigh_stores(finder, trace, &group) {
            saved += price.map_or(0, |price| price.saved());
            stored.push((group, price));
        }
    }
    let mut vectors = Vec::new();
    for vector in finder.legality.vectors_of_batch(trace, found) {
        let members: Vec<InstId> = vector.members.iter().map(|load| load.inst).collect();
        match priced(finder, trace, &vector) {
            Ok(price) => {
                saved += price.map_or(0, |price| price.saved());
                vectors.push((vector, price));
            }
            Err(unprofitable) => finder.decline(&members, Rank::Vector, unprofitable),
        }
    }
    let Some(turns) = Turns::of(found, &vectors, &stored) else { return };
    let is_store = |inst: InstId| effect(&finder.legality.flow().insts[inst]) == Effect::Store;
    if turns.multiples.is_empty()
        || !turns.range.clone().any(is_store)
        || !finder.has_room(turns.accesses)
    {
        return;
    }
    let first = &vectors[0].0;
    let test = hundredths(finder.options.costs.instructions(TEST));
    let limit = limit_of_tested(finder, trace, first, (saved - i64::from(test)) as f64 / 100.0);
    let is_weighed = finder.is_weighed();
    if is_weighed && (saved <= i64::from(test) || limit.is_some()) {
        for (vector, price) in vectors {
            let Some(price) = price else { continue };
            let loads = vector.members.len() as u32;
            let unprofitable = finder.unprofitable_at(StrategyName::Wide, price);
            let limit = limit.unwrap_or(Limit::Cost);
            let members: Vec<InstId> = vector.members.iter().map(|load| load.inst).collect();
            finder.decline(&members, Rank::Vector, Unprofitable { loads, limit, ..unprofitable });
        }
        return;
    }
    let mut lead = None;
    for (at, (vector, price)) in vectors.into_iter().enumerate() {
        let members = vector.members.iter().map(|load| load.inst).collect();
        let more = if at == 0 { test } else { 0 };
        let price = price.map(|price| Price { cost_after: price.cost_after + more, ..price });
        let range = (at == 0).then(|| turns.range.clone());
        let turn = Turn { vector, multiples: turns.multiples.clone(), range: range.clone() };
        let footprint = Footprint { versions: range, ..footprint(finder, found, members) };
        let group = Group::new(StrategyName::Wide, footprint, turn);
        let claimed = finder.claim(Group { within: lead, price, ..group });
        if at == 0 {
            if claimed.is_none() {
                return;
            }
            lead = claimed;
        }
    }
    for (stores, price) in stored {
        let members = stores.members.iter().map(|store| store.access.inst).collect();
        let footprint = Footprint::of(Accesses::Stores, members).lane_by_lane();
        let group = Group::new(StrategyName::Wide, footprint, stores);
        finder.claim(Group { within: lead, price, ..group });
    }
}

/// The price of a vector load, without the test, if it pays.
fn priced(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    vector: &VectorGroup,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let weighed = weighed(finder, trace, vector);
    let paid = finder.pays(StrategyName::Wide, weighed);
    paid.map(Some)
        .map_err(|unprofitable| Unprofitable { loads: vector.members.len() as u32, ..unprofitable })
}

/// The code that gets two versions.
struct Turns {
    range: InstRange,
    multiples: Vec<Multiple>,
    /// The accesses that become vectors.
    accesses: usize,
}

impl Turns {
    /// That of some vectors of loads and of stores; `None` if no load becomes one.
    fn of(
        found: &Batched,
        vectors: &[(VectorGroup, Option<Price>)],
        stored: &[(AdjacentStores, Option<Price>)],
    ) -> Option<Turns> {
        let loads = || vectors.iter().flat_map(|(vector, _)| &vector.members).map(|load| load.inst);
        let stores = stored.iter().flat_map(|(group, _)| &group.members);
        let accesses: Vec<InstId> = loads().chain(stores.map(|store| store.access.inst)).collect();
        let (first, last) = (*accesses.iter().min()?, *accesses.iter().max()?);
        loads().next().filter(|_| found.test <= first)?;
        let of_loads = vectors.iter().flat_map(|(vector, _)| vector.multiples.iter());
        let of_stores = stored.iter().flat_map(|(group, _)| group.multiples.iter());
        let mut multiples: Vec<Multiple> = of_loads.chain(of_stores).cloned().collect();
        // Of several conditions on one parameter the strongest implies the others.
        multiples.sort();
        multiples.reverse();
        let of_one = |one: &Multiple, other: &Multiple| {
            (&one.parameter, one.offset, one.bits) == (&other.parameter, other.offset, other.bits)
        };
        multiples.dedup_by(|one, other| of_one(one, other));
        multiples.reverse();
        Some(Turns { range: first.to(last.next()), multiples, accesses: accesses.len() })
    }
}

/// What the vectors of some code take: no other pattern has put code into the block, or replaces an access there.
fn footprint(finder: &Finder<'_, '_, '_, '_>, found: &Batched, members: Vec<InstId>) -> Footprint {
    let (blocks, neighbours) = (vec![found.block], Neighbours::Nothing);
    let insts = vec![finder.legality.flow().block(found.block).instructions()];
    Footprint::of(Accesses::Loads, members)
        .lane_by_lane()
        .adding(Added::Versions, blocks.clone())
        .within(Room { blocks, neighbours, insts, ..Room::default() })
}

impl Shape for Turn {
    fn is_invariant(&self) -> bool {
        true
    }

    fn account(&self, inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        report.source_line = places.line_of_other(self.vector.members[0].inst, inst);
        report.guards = Some(self.multiples.iter().map(alignment).collect());
    }
}
