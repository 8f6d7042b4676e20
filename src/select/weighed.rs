//! Chooses what pays: each load takes the cheapest of the legal and allowed replacements, or is kept.
//!
//! In: the loads in program order, every legal replacement, and the costs of the architecture. A load
//! that is kept may serve others; a load that is replaced serves none.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Options, Price, StrategyName, Verdict, asked};
use crate::cfg::BlockId;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::isa::Qualifier;
use crate::reuse::{
    Adjacent, Assumed, Guards, Limit, Load, Opportunities, Opportunity, Piece, Refusal, Unpaid,
};

/// Instructions beside the shuffle and the load that the paper's code needs for a load: the bound of
/// the corner case, the move of the received value, a share of the checks.
const PAPER_EXTRA: u32 = 3;

/// Instructions of a comparison of addresses: a difference and a comparison of 64 bits take two each, and the
/// load is still issued.
const COMPARISON: u32 = 5;

/// Instructions of a test of alignment and of the branch on it.
const TEST: u32 = 3;

/// A vector load is taken if it takes at most this share of what the loads take that it stands for. Two
/// loads for which it takes more gain nothing in the simulator: complex doubles 0.99 to 1.09, structs of
/// two words 1.01 to 1.07 times as long (`openacc-bench/results/strategies.md`).
const VECTOR_SHARE: f64 = 0.5;

/// Cycles that a vector load must save a warp if alignment is tested for it and the first-level cache serves the loads
/// of an architecture whose shuffles share its pipe. Groups that save 12 gain where that pipe is the bottleneck and
/// lose as much where memory is: 0.94 to 1.05 times as long; groups that save 24 take 0.83 to 1.02
/// (`openacc-bench/results/strategies.md`).
const TESTED_SAVES: f64 = 16.0;

/// What a replacement costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed {
    /// The cycles per warp of the replacement.
    pub instead: f64,
    /// The cycles per warp of the loads in whose place it stands.
    pub kept: f64,
    /// What forbids it even where it takes fewer cycles.
    pub limit: Option<Limit>,
    /// How the lanes are taken to lie, where the stride is not known.
    pub assumed: Option<Assumed>,
}

impl Weighed {
    /// A replacement that is done where it takes fewer cycles.
    pub fn new(instead: f64, kept: f64) -> Weighed {
        Weighed { instead, kept, limit: None, assumed: None }
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
        Weighed { instead: self.instead / loads, kept: self.kept / loads, ..self }
    }

    /// The cycles that it saves; 0 where it is forbidden or saves none.
    pub fn saved(&self) -> f64 {
        if self.limit.is_some() { 0.0 } else { (self.kept - self.instead).max(0.0) }
    }
}

/// Goes through the loads of one function.
pub(super) struct Weigher<'o, 'a, 'm, 's> {
    pub(super) opportunities: &'o mut Opportunities<'a, 'm, 's>,
    pub(super) options: &'o Options,
    /// Loads replaced so far.
    pub(super) replaced: usize,
    /// For each load by its instruction, the vector load that performs it, or why none pays.
    pub(super) in_vector: FxHashMap<u32, Result<usize, Unpaid>>,
    /// For each load by its instruction, the row that it is a tap of, or why the row does not pay.
    pub(super) in_row: FxHashMap<u32, Result<usize, Unpaid>>,
    /// For each load by its instruction, the struct that it is a part of, or why the struct does not pay.
    pub(super) in_struct: FxHashMap<u32, Result<usize, Unpaid>>,
    /// Blocks with structs: they get no other code that stands twice.
    pub(super) with_structs: FxHashSet<BlockId>,
    /// Blocks of which a part stands twice, for a row or for vectors: a check that is made in one of
    /// the two parts is not known behind them.
    pub(super) in_parts: FxHashSet<BlockId>,
    /// By instruction, the link that brings a load's value from an iteration before.
    pub(super) in_ring: FxHashMap<u32, usize>,
    /// Loads, by instruction, whose values are passed on to later iterations. None of them is replaced by what
    /// other lanes have got in this way: what would be passed on then has no beginning that a proof could
    /// start from.
    pub(super) passed_on: FxHashSet<u32>,
    /// By instruction, why it does not pay to bring a load's value from an iteration before.
    pub(super) not_in_ring: FxHashMap<u32, Unpaid>,
    /// By instruction, the costs of the last replacement that was found to pay: of the one that is chosen, if
    /// one is.
    pub(super) prices: FxHashMap<u32, Price>,
}

impl Weigher<'_, '_, '_, '_> {
    /// The vector loads that are chosen.
    pub(super) fn vectors(&mut self, trace: &mut KernelTrace, loads: &[usize]) -> Vec<Adjacent> {
        if !self.options.strategies.allow(StrategyName::Wide) {
            return Vec::new();
        }
        let mut simple: Vec<Load> =
            loads.iter().filter_map(|&at| self.opportunities.load(trace, at).ok()).collect();
        simple.retain(|load: &Load| {
            let block = trace.accesses[load.access].block;
            !self.in_ring.contains_key(&load.inst) && !self.in_parts.contains(&block)
        });
        let groups = self.opportunities.adjacent(trace, &simple);
        let mut taken = Vec::new();
        for group in groups {
            let members: Vec<u32> = group.members.iter().map(|load| load.inst).collect();
            if self.replaced + members.len() > self.options.most {
                continue;
            }
            let weighed = self.weigh_vector(trace, &group);
            let decided = weighed.map(|()| taken.len());
            self.in_vector.extend(members.iter().map(|&inst| (inst, decided)));
            if decided.is_ok() {
                self.replaced += members.len();
                if !group.multiples.is_empty() {
                    let access = group.members[0].access;
                    self.in_parts.insert(trace.accesses[access].block);
                }
                taken.push(group);
            }
        }
        taken
    }

    /// Whether a vector load takes fewer cycles than what it stands for.
    fn weigh_vector(&mut self, trace: &mut KernelTrace, group: &Adjacent) -> Result<(), Unpaid> {
        if !self.options.strategies.are_weighed() {
            return Ok(());
        }
        let mut requests: Vec<Request> =
            group.members.iter().map(|load| self.request(trace, load)).collect();
        // Lanes whose vectors do not overlap are at least a vector apart, and so are their parts.
        let unknown = requests.iter().any(|request| request.stride.is_none());
        for request in &mut requests {
            request.stride = request.stride.or(Some(group.bytes));
        }
        let costs = &self.options.costs;
        let kept: f64 =
            requests.iter().map(|request| costs.load(request) + costs.instructions(1)).sum();
        let vector = Request { bytes: group.bytes as u32, ..requests[0] };
        let test = if group.multiples.is_empty() { 0 } else { TEST };
        let instead = costs.load(&vector) + costs.instructions(1 + test);
        let is_tested = !group.multiples.is_empty() && !costs.allow_shuffles(&vector);
        let limit = match () {
            () if instead > kept * VECTOR_SHARE => {
                Some(Limit::Share((100.0 * VECTOR_SHARE) as u32))
            }
            () if is_tested && kept - instead < TESTED_SAVES => {
                Some(Limit::Tested((100.0 * TESTED_SAVES) as u32))
            }
            () => None,
        };
        let members: Vec<u32> = group.members.iter().map(|load| load.inst).collect();
        let assumed = unknown.then_some(Assumed::VectorApart);
        let weighed = Weighed { assumed, ..Weighed::new(instead, kept).limited(limit) };
        let paid = self.pays(StrategyName::Wide, &members, weighed);
        paid.map_err(|unpaid| Unpaid { loads: members.len() as u32, ..unpaid })
    }

    pub(super) fn verdict(&mut self, trace: &mut KernelTrace, index: usize) -> Verdict {
        let load = match self.opportunities.load(trace, index) {
            Ok(load) => load,
            Err(refusal) => return Verdict::Kept(refusal),
        };
        if let Some(&link) = self.in_ring.get(&load.inst) {
            self.opportunities.offer(trace, load);
            return Verdict::Carried(link);
        }
        let unpaid = match self.in_vector.get(&load.inst) {
            Some(Ok(group)) => {
                let group = *group;
                self.opportunities.offer(trace, load);
                return Verdict::Wide(group);
            }
            Some(Err(unpaid)) => Some(*unpaid),
            None => self.not_in_ring.get(&load.inst).copied(),
        };
        let unpaid = match self.in_row.get(&load.inst) {
            Some(Ok(row)) => {
                let row = *row;
                self.opportunities.offer(trace, load);
                return Verdict::Window(row);
            }
            Some(Err(other)) => unpaid.or(Some(*other)),
            None => unpaid,
        };
        let unpaid = match self.in_struct.get(&load.inst) {
            Some(Ok(whole)) => {
                let whole = *whole;
                self.opportunities.offer(trace, load);
                return Verdict::Aos(whole);
            }
            Some(Err(other)) => unpaid.or(Some(*other)),
            None => unpaid,
        };
        if self.replaced >= self.options.most {
            return Verdict::Kept(Refusal::Crowded(self.options.most));
        }
        match self.cheapest(trace, &load) {
            Ok((name, opportunity)) => {
                self.replaced += 1;
                Verdict::Covered(name, opportunity)
            }
            Err(refusal) => {
                let refusal = match (refusal, self.opportunities.not_in_struct(load.inst)) {
                    (Refusal::NoPartner, Some(reason)) => reason.clone(),
                    (refusal, _) => refusal,
                };
                self.opportunities.offer(trace, load);
                let unpaid = match (unpaid, &refusal) {
                    (_, Refusal::AssemblerDoesIt(_)) => None,
                    (Some(one), Refusal::DoesNotPay(other)) if other.each() < one.each() => None,
                    _ => unpaid,
                };
                Verdict::Kept(unpaid.map_or(refusal, Refusal::DoesNotPay))
            }
        }
    }

    /// Loads that take their value from a source in some lanes only: where nothing in the function stands
    /// twice or goes round a loop, and, if it is weighed, only where the first-level cache does not serve the
    /// load. How many lanes these are is not known, and the load is issued for the others.
    pub(super) fn asked(
        &mut self,
        trace: &mut KernelTrace,
        loads: &[usize],
        verdicts: &mut [Verdict],
    ) {
        let taken = |verdict: &Verdict| {
            matches!(
                verdict,
                Verdict::Wide(_) | Verdict::Window(_) | Verdict::Aos(_) | Verdict::Carried(_)
            )
        };
        if verdicts.iter().any(taken) {
            return;
        }
        let options = self.options;
        let strategies = &options.strategies;
        let name = |opportunities: &mut Opportunities<'_, '_, '_>,
                    trace: &mut KernelTrace,
                    load: &Load,
                    delta: i32| {
            let name = match delta {
                0 if strategies.allow(StrategyName::Reuse) => StrategyName::Reuse,
                _ => StrategyName::Paper,
            };
            let allowed = strategies.allow(name)
                && (!strategies.are_weighed()
                    || options.costs.allow_shuffles(&request(opportunities, trace, load)));
            allowed.then_some(name)
        };
        let before: Vec<bool> = verdicts.iter().map(|v| matches!(v, Verdict::Kept(_))).collect();
        asked::add(self.opportunities, trace, (loads, verdicts), options, name);
        for ((&index, verdict), was_kept) in loads.iter().zip(verdicts).zip(before) {
            let Verdict::Covered(name, opportunity) = verdict else { continue };
            if was_kept
                && let Ok(load) = self.opportunities.load(trace, index)
                && let Err(refusal) = self.weigh(trace, &load, *name, opportunity.clone())
            {
                *verdict = Verdict::Kept(refusal);
            }
        }
    }

    /// The nearest legal partner that pays; otherwise the reason why none pays, or why there is none.
    fn cheapest(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
    ) -> Result<(StrategyName, Opportunity), Refusal> {
        let mut refusal = None;
        for candidate in self.opportunities.candidates(trace, load) {
            if trace.arena.is_nearly_spent() {
                return Err(Refusal::Budget);
            }
            let name = match candidate.delta {
                0 if self.options.strategies.allow(StrategyName::Reuse) => StrategyName::Reuse,
                _ => StrategyName::Paper,
            };
            if !self.options.strategies.allow(name) {
                continue;
            }
            let legal = match candidate.delta {
                delta if delta.unsigned_abs() > self.options.max_delta => {
                    Err(Refusal::TooFar(delta))
                }
                _ => self.opportunities.prove(trace, candidate, load),
            };
            match legal.and_then(|legal| self.fitting(trace, load, name, legal)) {
                Ok(opportunity) => return Ok((name, opportunity)),
                // That a partner does not pay says more than why another one is not legal.
                Err(unpaid @ Refusal::DoesNotPay(_)) => {
                    if !matches!(refusal, Some(Refusal::DoesNotPay(_))) {
                        refusal = Some(unpaid);
                    }
                }
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        match self.opportunities.gathered(trace, load, self.options.max_delta) {
            Ok(legal) => {
                let name = match legal.delta {
                    0 if self.options.strategies.allow(StrategyName::Reuse) => StrategyName::Reuse,
                    _ => StrategyName::Paper,
                };
                if self.options.strategies.allow(name) {
                    return self.fitting(trace, load, name, legal).map(|legal| (name, legal));
                }
            }
            Err(reason) => refusal = refusal.or(Some(reason)),
        }
        Err(refusal.unwrap_or(Refusal::NoPartner))
    }

    /// The opportunity, if it fits what is chosen already and takes fewer cycles than the load.
    fn fitting(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        name: StrategyName,
        legal: Opportunity,
    ) -> Result<Opportunity, Refusal> {
        let divided = self.in_parts.contains(&trace.accesses[load.access].block);
        let in_circle = legal.delta != 0
            && self.passed_on.contains(&load.inst)
            && legal.sources().any(|source| self.in_ring.contains_key(&source));
        match in_circle || divided && legal.guards != Guards::default() {
            true => Err(Refusal::NoPartner),
            false => self.weigh(trace, load, name, legal),
        }
    }

    /// The opportunity, if it takes fewer cycles than the load.
    fn weigh(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        name: StrategyName,
        opportunity: Opportunity,
    ) -> Result<Opportunity, Refusal> {
        if !self.options.strategies.are_weighed() {
            return Ok(opportunity);
        }
        if name == StrategyName::Reuse
            && let Some(line) = self.opportunities.folded(trace, &opportunity, load)
        {
            return Err(Refusal::AssemblerDoesIt(line));
        }
        let request = self.request(trace, load);
        let costs = &self.options.costs;
        let kept = costs.load(&request) + costs.instructions(1);
        let moves: u32 = opportunity.pieces.iter().map(Piece::instructions).sum();
        let comparison = match opportunity.guards.bytes_apart {
            Some(_) => costs.instructions(COMPARISON),
            None => 0.0,
        };
        let rows = &opportunity.guards.same_row;
        let words: u32 =
            rows.iter().map(|claim| if claim.low { 32 } else { claim.bits.into() }).sum();
        let comparison =
            comparison + costs.shuffle(words) + costs.instructions(COMPARISON * rows.len() as u32);
        let mut limit = None;
        let instead = comparison
            + match name {
                StrategyName::Paper => {
                    let corner = Request { lanes: opportunity.delta.unsigned_abs(), ..request };
                    let corner = if opportunity.delta == 0 { 0.0 } else { costs.load(&corner) };
                    // (The load needs a move of what is received in any case.)
                    let assembled = opportunity.pieces.iter().filter(|p| p.whole().is_none());
                    let extra: u32 = assembled.map(Piece::instructions).sum();
                    if !costs.allow_shuffles(&request) && opportunity.delta != 0 {
                        limit = Some(Limit::SharedPipe);
                    }
                    costs.shuffle(32 * opportunity.words())
                        + corner
                        + costs.instructions(PAPER_EXTRA + 1 + extra)
                }
                _ => costs.instructions(moves),
            };
        // Where lanes have to be asked, the load is performed for some: half of the time, as nobody knows how
        // often that is.
        let asked = u32::from(opportunity.guards.source_executed.is_some())
            + opportunity.guards.stores_apart.len() as u32;
        let instead = match asked {
            0 => instead,
            _ => instead + costs.load(&request) / 2.0 + costs.instructions(PAPER_EXTRA * asked),
        };
        // Addresses are compared in front of every such load, and nobody has shown that this is worth it
        // where the first-level cache serves the load.
        let is_compared = opportunity.guards.bytes_apart.is_some() || !rows.is_empty();
        if is_compared && !costs.allow_shuffles(&request) {
            limit = limit.or(Some(Limit::Comparison));
        }
        let paid =
            self.pays(name, &[load.inst], Weighed::new(instead, kept).limited(limit).of(&request));
        paid.map(|()| opportunity).map_err(Refusal::DoesNotPay)
    }

    /// Whether a replacement of some loads takes fewer cycles than they do and no limit forbids it.
    pub(super) fn pays(
        &mut self,
        name: StrategyName,
        loads: &[u32],
        weighed: Weighed,
    ) -> Result<(), Unpaid> {
        let Weighed { instead, kept, limit, assumed } = weighed;
        let hundredths = |cycles: f64| (100.0 * cycles).round() as u32;
        let price = Price { instead: hundredths(instead), kept: hundredths(kept) };
        match instead < kept && limit.is_none() {
            true => {
                self.prices.extend(loads.iter().map(|&load| (load, price)));
                Ok(())
            }
            false => Err(Unpaid {
                possible: name.word(),
                architecture: self.options.costs.architecture,
                cost: price.instead,
                kept: price.kept,
                loads: 1,
                limit: limit.filter(|_| instead < kept).unwrap_or(Limit::Cost),
                assumed,
            }),
        }
    }

    pub(super) fn request(&mut self, trace: &mut KernelTrace, load: &Load) -> Request {
        request(self.opportunities, trace, load)
    }
}

/// What a load asks of memory.
fn request(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
) -> Request {
    let stride = opportunities.lane_stride(trace, load);
    let form = &opportunities.instruction(load.inst).form;
    Request {
        stride,
        bytes: u32::try_from(load.bytes).unwrap_or(u32::MAX),
        lanes: 32,
        past_l1: form.has(Qualifier::Cg) || form.has(Qualifier::Cv),
    }
}
