//! The search state of one function that patterns share: the loads, the claimed accesses, and whether a replacement
//! pays.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::footprint::{Accesses, Footprint, Neighbours, Room};
use super::group::{Group, Price, Shape};
use super::options::Options;
use crate::cfg::InstId;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::isa::Qualifier;
use crate::isa::multiprocessor::Multiprocessor;
use crate::reuse::shared::SharedArray;
use crate::reuse::{Assumed, Legality, Limit, Load, Refusal, Unprofitable};
use crate::sass::opcodes::Latency;
use crate::sass::timing::Timing;
use crate::strategies::StrategyName;

/// The cost of a replacement.
#[derive(Clone, Copy, Debug)]
pub struct Weighed {
    /// The cycles per warp of the replacement.
    pub cost_after: f64,
    /// The cycles per warp of the loads in whose place it stands.
    pub cost_before: f64,
    /// A limit that forbids it even where it takes fewer cycles.
    pub limit: Option<Limit>,
    /// How the lanes are taken to lie, where the stride is not known.
    pub assumed: Option<Assumed>,
}

impl Weighed {
    /// A replacement that is done where it takes fewer cycles.
    pub fn new(cost_after: f64, cost_before: f64) -> Weighed {
        Weighed { cost_after, cost_before, limit: None, assumed: None }
    }

    /// The same, forbidden by a limit where it does not hold already.
    pub fn limited(self, limit: Option<Limit>) -> Weighed {
        Weighed { limit: self.limit.or(limit), ..self }
    }

    /// The same for a load whose lanes are taken to be consecutive if its stride is not known.
    pub fn of(self, request: &Request) -> Weighed {
        let assumed = request.stride.is_none().then_some(Assumed::Consecutive);
        Weighed { assumed: self.assumed.or(assumed), ..self }
    }

    /// The share of one of some loads.
    pub fn each(self, loads: usize) -> Weighed {
        let loads = loads.max(1) as f64;
        Weighed {
            cost_after: self.cost_after / loads,
            cost_before: self.cost_before / loads,
            ..self
        }
    }

    /// The cycles that it saves; 0 where it is forbidden or saves none.
    pub fn saved(&self) -> f64 {
        if self.limit.is_some() { 0.0 } else { (self.cost_before - self.cost_after).max(0.0) }
    }
}

/// The groups and refusals that patterns have found in one function so far.
#[derive(Debug, Default)]
pub struct Found {
    /// The groups, chosen or refused.
    pub groups: Vec<Group>,
    /// By instruction, the index of the group that a load is a member of.
    pub claimed: FxHashMap<InstId, usize>,
    /// By instruction, why a load is kept.
    pub refusals: FxHashMap<InstId, Refusal>,
    /// By instruction, why a replacement of a load does not pay, and the rank of the pattern that says so.
    unprofitable: FxHashMap<InstId, (Rank, Unprofitable)>,
    /// How many loads and stores are replaced.
    replaced: usize,
    /// Accesses that a strategy leaves to others.
    pub left: BTreeSet<(StrategyName, InstId)>,
}

/// The search of one pattern. It reads the findings of earlier ones, and changes none of them.
pub struct Finder<'o, 'a, 'm, 's> {
    /// The legal replacements.
    pub legality: &'o mut Legality<'a, 'm, 's>,
    /// The user's options.
    pub options: &'o Options,
    /// Finds the function's arrays in shared memory, with the addresses of their accesses.
    pub arrays: &'o dyn Fn(&mut KernelTrace) -> Vec<SharedArray>,
    /// The global loads, as indices of the trace's accesses, in program order.
    pub loads: &'o [usize],
    /// The strategy that is searched alone, if one is.
    pub only: Option<StrategyName>,
    /// The findings of other patterns.
    pub beside: &'o Found,
    /// Its own findings.
    pub own: Found,
}

/// Which of several reasons is told, if replacements of one load by several patterns do not pay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// Vector loads.
    Vector,
    /// Loop-carried values.
    Carry,
    /// Rows of taps.
    Window,
    /// Structs.
    Struct,
}

impl Found {
    /// Adds the findings of a pattern that was searched beside these.
    pub fn extend(&mut self, found: Found) {
        self.unprofitable.extend(found.unprofitable);
        self.refusals.extend(found.refusals);
        found.groups.into_iter().for_each(|group| self.add(group, 0));
    }

    /// Adds a group behind as many others.
    fn add(&mut self, group: Group, others: usize) {
        if !group.is_chosen() {
            let footprint = group.footprint.clone().left();
            self.groups.push(Group { footprint, ..group });
            return;
        }
        if group.is_of_memory() {
            self.replaced += group.members().len();
        }
        if group.serves_loads() {
            let number = others + self.groups.len();
            self.claimed.extend(group.members().iter().map(|&inst| (inst, number)));
        }
        self.groups.push(group);
    }

    /// Says of loads that it does not pay to replace them together.
    fn decline(&mut self, members: &[InstId], rank: Rank, unprofitable: Unprofitable) {
        for &inst in members {
            let known = self.unprofitable.entry(inst).or_insert((rank, unprofitable));
            if rank <= known.0 {
                *known = (rank, unprofitable);
            }
        }
    }
}

impl Finder<'_, '_, '_, '_> {
    /// Whether a strategy may be used.
    pub fn allows(&self, name: StrategyName) -> bool {
        self.options.strategies.allow(name) && self.only.is_none_or(|only| only == name)
    }

    /// Whether strategies are used only where they pay.
    pub fn is_weighed(&self) -> bool {
        self.options.strategies.are_weighed()
    }

    /// The groups found so far, by all patterns.
    fn groups(&self) -> impl Iterator<Item = &Group> {
        self.beside.groups.iter().chain(&self.own.groups)
    }

    /// Whether some more accesses may be replaced.
    pub fn has_room(&self, accesses: usize) -> bool {
        self.beside.replaced + self.own.replaced + accesses <= self.options.most
    }

    /// Whether a group cannot be chosen beside those that are.
    pub fn conflicts(&self, footprint: &Footprint) -> bool {
        let mut chosen = self.groups().filter(|group| group.is_chosen());
        chosen.any(|group| footprint.conflicts(&group.footprint))
    }

    /// The chosen groups of one shape, which are those of one pattern.
    pub fn own<S: Shape>(&self) -> impl Iterator<Item = (&Group, &S)> {
        let chosen = self.groups().filter(|group| group.is_chosen());
        chosen.filter_map(|group| Some((group, group.shape()?)))
    }

    /// Whether groups of other shapes replace loads.
    pub fn has_others<S: Shape>(&self) -> bool {
        self.groups().any(|group| group.serves_loads() && group.shape::<S>().is_none())
    }

    /// Whether a load is a member of a chosen group.
    pub fn is_replaced(&self, inst: InstId) -> bool {
        self.beside.claimed.contains_key(&inst) || self.own.claimed.contains_key(&inst)
    }

    /// The loads that are replaced together with one; that alone if it is not replaced.
    pub fn replaced_with(&self, inst: InstId) -> Vec<InstId> {
        let mut serving = self.groups().filter(|group| group.serves_loads());
        let group = serving.find(|group| group.members().contains(&inst));
        group.map_or_else(|| vec![inst], |group| group.members().to_vec())
    }

    /// Whether a load gets its value from an earlier iteration.
    pub fn is_loop_carried(&self, inst: InstId) -> bool {
        let serving = self.groups().filter(|group| group.serves_loads());
        let last = serving.filter(|group| group.members().contains(&inst)).last();
        last.is_some_and(|group| !group.loop_carried.is_empty())
    }

    /// Whether the value of a load is passed on to later iterations.
    pub fn is_passed_on(&self, inst: InstId) -> bool {
        self.groups().any(|group| group.loop_carried.contains(&inst))
    }

    /// The loads that may be replaced and that no group has claimed, outside of blocks where groups have code beside which they
    /// may not stand.
    pub fn free_loads(&self, trace: &KernelTrace, neighbours: Neighbours) -> Vec<Load> {
        let legal = self.loads.iter().filter_map(|&at| self.legality.load(trace, at).ok());
        let is_free = |load: &Load| {
            let blocks = vec![trace.accesses[load.access].block];
            let room = Room { blocks, neighbours, ..Room::default() };
            let footprint = Footprint::of(Accesses::Loads, vec![load.inst]).within(room);
            !self.is_replaced(load.inst) && !self.conflicts(&footprint)
        };
        legal.filter(is_free).collect()
    }

    /// Adds a group, and gives its number if it is chosen: then its members are replaced. One with an access that its
    /// strategy leaves to others is refused.
    pub fn claim(&mut self, group: Group) -> Option<usize> {
        let is_left = |&inst: &InstId| self.beside.left.contains(&(group.strategy, inst));
        let is_displaced = group.is_chosen() && group.members().iter().any(is_left);
        let group = match group.displaced(self.options.costs.architecture) {
            Refusal::DoesNotPay(unprofitable) if is_displaced => {
                if group.footprint.accesses == Accesses::Loads {
                    self.decline(group.members(), Rank::Struct, unprofitable);
                }
                group.refused(Refusal::DoesNotPay(unprofitable))
            }
            _ => group,
        };
        let others = self.beside.groups.len();
        let number = group.is_chosen().then_some(others + self.own.groups.len());
        self.own.add(group, others);
        number
    }

    /// The price of a group of some accesses, or why it stays: a reason that is known already, too many accesses, or the
    /// price.
    pub fn judged(
        &mut self,
        known: Option<&Refusal>,
        accesses: usize,
        weigh: impl FnOnce(&mut Self) -> Result<Option<Price>, Unprofitable>,
    ) -> (Option<Price>, Option<Refusal>) {
        if let Some(refusal) = known {
            return (None, Some(refusal.clone()));
        }
        if !self.has_room(accesses) {
            return (None, Some(Refusal::Crowded(self.options.most)));
        }
        match weigh(self) {
            Ok(price) => (price, None),
            Err(unprofitable) => (None, Some(Refusal::DoesNotPay(unprofitable))),
        }
    }

    /// Says of loads that it does not pay to replace them together.
    pub fn decline(&mut self, members: &[InstId], rank: Rank, unprofitable: Unprofitable) {
        let known = |inst: &InstId| self.beside.unprofitable.get(inst);
        let news =
            members.iter().copied().filter(|inst| known(inst).is_none_or(|(of, _)| rank <= *of));
        let news: Vec<InstId> = news.collect();
        self.own.decline(&news, rank, unprofitable);
    }

    /// Why no replacement of a load pays that was found so far.
    pub fn unprofitable(&self, inst: InstId) -> Option<Unprofitable> {
        let known =
            self.own.unprofitable.get(&inst).or_else(|| self.beside.unprofitable.get(&inst));
        known.map(|(_, unprofitable)| *unprofitable)
    }

    /// Says why a load is kept.
    pub fn keep(&mut self, inst: InstId, refusal: Refusal) {
        self.own.refusals.insert(inst, refusal);
    }

    /// Why a load is kept, if that is decided.
    pub fn refusal_of(&self, inst: InstId) -> Option<&Refusal> {
        self.own.refusals.get(&inst).or_else(|| self.beside.refusals.get(&inst))
    }

    /// The price of a replacement, if it takes fewer cycles than the accesses and no limit forbids it.
    ///
    /// # Errors
    /// It does not pay.
    pub fn pays(&self, name: StrategyName, weighed: Weighed) -> Result<Price, Unprofitable> {
        let Weighed { cost_after, cost_before, limit, assumed } = weighed;
        let price =
            Price { cost_after: hundredths(cost_after), cost_before: hundredths(cost_before) };
        match cost_after < cost_before && limit.is_none() {
            true => Ok(price),
            false => Err(Unprofitable {
                limit: limit.filter(|_| cost_after < cost_before).unwrap_or(Limit::Cost),
                assumed,
                ..self.unprofitable_at(name, price)
            }),
        }
    }

    /// The refusal of a legal replacement that is not profitable at a price.
    pub fn unprofitable_at(&self, name: StrategyName, price: Price) -> Unprofitable {
        price.unprofitable(name, self.options.costs.architecture)
    }

    /// The cycles per warp that a wait for global memory costs where the other warps of a full multiprocessor have work:
    /// its share of the time until memory answers.
    pub fn wait(&self) -> f64 {
        let architecture = self.options.costs.architecture;
        let latency = Timing::of(architecture).map_or(0, |of| of.latency(Latency::Global));
        let warps = Multiprocessor::of(architecture).map_or(1, |of| of.most_warps());
        f64::from(latency) / f64::from(warps.max(1))
    }

    /// The memory request of a load.
    pub fn request(&mut self, trace: &mut KernelTrace, load: &Load) -> Request {
        request(self.legality, trace, load)
    }
}

/// Cycles in hundredths.
pub(super) fn hundredths(cycles: f64) -> u32 {
    (100.0 * cycles).round().min(f64::from(u32::MAX)) as u32
}

/// The memory request of a load.
pub(super) fn request(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
) -> Request {
    let stride = legality.lane_stride(trace, load);
    let form = &legality.instruction(load.inst).form;
    Request {
        stride,
        bytes: u32::try_from(load.bytes).unwrap_or(u32::MAX),
        lanes: 32,
        past_l1: form.has(Qualifier::Cg) || form.has(Qualifier::Cv),
    }
}
