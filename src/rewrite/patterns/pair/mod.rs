//! Redundant load elimination, one load at a time: the value comes from the registers of another load, of the same lane by
//! moves (strategy `reuse`), of another lane by shuffles with the load itself for corner cases (strategy `paper`).
//!
//! Each load takes the cheapest of the legal and allowed replacements, or is kept. A load that is kept may serve
//! others; a load that is replaced serves none.

mod emit;
mod group;
mod paper;
mod plan;
mod runtime_checked;
mod weigh;

use super::finder::Finder;
use super::footprint::{Accesses, Footprint, Neighbours, Room};
use super::group::{Group, Price};
use super::pattern::Pattern;
use crate::cfg::InstId;
use crate::emulate::KernelTrace;
use crate::reuse::{Guards, LegalReuse, Load, Offers, Refusal};
use crate::rewrite::{Part, Planner};
use crate::strategies::{Strategies, StrategyName};
use group::group;
use weigh::weigh;

/// The pattern.
#[derive(Debug)]
pub(super) struct Pair;

impl Pattern for Pair {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Reuse, StrategyName::Paper]
    }

    /// Decides about every load that no other pattern has claimed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let offers = &mut Offers::default();
        if finder.options.strategies == Strategies::PAPER {
            paper::find(finder, offers, trace);
            return;
        }
        for &index in finder.loads {
            decide(finder, offers, trace, index);
        }
        // The number of lanes that would use the value is unknown, so reuse with checks at run time is tried only if no
        // group of the function duplicates code or carries values around a loop.
        if !finder.has_others::<LegalReuse>() {
            runtime_checked::find(finder, offers, trace, strategy_of_runtime_checked);
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let mut pairs: Vec<(InstId, &LegalReuse)> = chosen
            .iter()
            .filter_map(|group| Some((*group.members().first()?, group.shape::<LegalReuse>()?)))
            .collect();
        pairs.sort_by_key(|(inst, _)| *inst);
        plan::plan(&pairs, planner)
    }
}

fn decide(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
    index: usize,
) {
    let load = match finder.legality.load(trace, index) {
        Ok(load) => load,
        Err(refusal) => return finder.keep(trace.accesses[index].inst, refusal),
    };
    if finder.is_replaced(load.inst) {
        return offers.offer(finder.legality, trace, load);
    }
    if !finder.has_room(1) {
        return finder.keep(load.inst, Refusal::Crowded(finder.options.most));
    }
    match cheapest(finder, offers, trace, &load) {
        Ok((name, legal_reuse, price)) => {
            let group = group(finder, &load, name, legal_reuse, price);
            finder.claim(group);
        }
        Err(refusal) => {
            let refusal = match (refusal, finder.legality.not_joined_with_others(load.inst)) {
                (Refusal::NoPartner, Some(reason)) => reason.clone(),
                (refusal, _) => refusal,
            };
            let unprofitable = match (finder.unprofitable(load.inst), &refusal) {
                (_, Refusal::AssemblerDoesIt(_)) => None,
                (Some(one), Refusal::DoesNotPay(other)) if other.each() < one.each() => None,
                (unprofitable, _) => unprofitable,
            };
            finder.keep(load.inst, unprofitable.map_or(refusal, Refusal::DoesNotPay));
            offers.offer(finder.legality, trace, load);
        }
    }
}

/// The strategy by which a value comes over a distance in lanes.
fn strategy_of(finder: &Finder<'_, '_, '_, '_>, delta: i32) -> StrategyName {
    match delta {
        0 if finder.allows(StrategyName::Reuse) => StrategyName::Reuse,
        _ => StrategyName::Paper,
    }
}

/// The strategy by which a load may take its value from a source in some lanes only: if it is weighed, only where the
/// first-level cache does not serve the load, since the load is issued for the other lanes.
fn strategy_of_runtime_checked(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    delta: i32,
) -> Option<StrategyName> {
    let name = strategy_of(finder, delta);
    let allowed = finder.allows(name)
        && (!finder.is_weighed()
            || finder.options.costs.allow_shuffles(&finder.request(trace, load)));
    allowed.then_some(name)
}

/// The replacement of a load: the strategy, the legal reuse, and the price.
type Chosen = (StrategyName, LegalReuse, Option<Price>);

/// The nearest legal partner that pays; otherwise the reason why none pays, or why there is none.
fn cheapest(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
    load: &Load,
) -> Result<Chosen, Refusal> {
    let mut refusal = None;
    for candidate in offers.candidates(finder.legality, trace, load) {
        if trace.arena.is_nearly_spent() {
            return Err(Refusal::Budget);
        }
        let name = strategy_of(finder, candidate.delta);
        if !finder.allows(name) {
            continue;
        }
        let legal = match candidate.delta {
            delta if delta.unsigned_abs() > finder.options.max_delta => Err(Refusal::TooFar(delta)),
            _ => offers.prove(finder.legality, trace, candidate, load),
        };
        match legal.and_then(|legal| fitting(finder, trace, load, name, legal)) {
            Ok(chosen) => return Ok(chosen),
            // That a partner does not pay says more than why another one is not legal.
            Err(unprofitable @ Refusal::DoesNotPay(_)) => {
                if !matches!(refusal, Some(Refusal::DoesNotPay(_))) {
                    refusal = Some(unprofitable);
                }
            }
            Err(reason) => refusal = refusal.or(Some(reason)),
        }
    }
    match offers.gathered(finder.legality, trace, load, finder.options.max_delta) {
        Ok(legal) => {
            let name = strategy_of(finder, legal.delta);
            if finder.allows(name) {
                return fitting(finder, trace, load, name, legal);
            }
        }
        Err(reason) => refusal = refusal.or(Some(reason)),
    }
    Err(refusal.unwrap_or(Refusal::NoPartner))
}

/// The legal reuse, if it fits the earlier choices and takes fewer cycles than the load.
fn fitting(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    name: StrategyName,
    legal: LegalReuse,
) -> Result<Chosen, Refusal> {
    let blocks = vec![trace.accesses[load.access].block];
    // The guards are known in one version.
    let room = Room { blocks, neighbours: Neighbours::NoVersions, ..Room::default() };
    let footprint = Footprint::of(Accesses::Loads, vec![load.inst]).within(room);
    let in_circle = legal.delta != 0
        && finder.is_passed_on(load.inst)
        && legal.sources().any(|inst| finder.is_loop_carried(inst));
    match in_circle || legal.guards != Guards::default() && finder.conflicts(&footprint) {
        true => Err(Refusal::NoPartner),
        false => weigh(finder, trace, load, name, &legal).map(|price| (name, legal, price)),
    }
}
