//! Chooses among legal replacements.
//!
//! In: the control flow and trace of one function, and through [`crate::reuse`] every legal
//! replacement. Out: a [`LoadDecision`] for every global load: a member of a group that replaces it, or kept and why; and
//! the groups, as the [`patterns`] have claimed them.

mod packing;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cfg::{Flow, InstId};
use crate::cost::guessed_executions;
use crate::emulate::{Effect, KernelTrace, effect};
use crate::patterns::{self, Accesses, Finder, Found, Pattern};
use crate::ptx::{Function, StateSpace};
use crate::reuse::shared::{self, Surroundings};
use crate::reuse::{Legality, Refusal};
use crate::source::SourceFile;

pub use crate::patterns::{Group, Options};
pub use crate::strategies::{Strategies, StrategyName, UnknownStrategy};

/// The decision about a load.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Replaced as a member of a group: its index in [`Choice::groups`].
    Replaced(usize),
    /// Kept.
    Kept(Refusal),
}

/// The decision about one global load.
#[derive(Clone, Debug)]
pub struct LoadDecision {
    /// The instruction.
    pub inst: InstId,
    /// Bytes loaded by each lane.
    pub bytes: u32,
    /// The decision.
    pub verdict: Verdict,
}

/// The decisions about one function.
#[derive(Debug, Default)]
pub struct Choice {
    /// Every global load in program order.
    pub decisions: Vec<LoadDecision>,
    /// The groups that replace accesses, and refused ones that are listed.
    pub groups: Vec<Group>,
}

impl Choice {
    /// The groups that are chosen; without those of arrays in shared memory if `loads_only` holds.
    pub fn chosen(&self, loads_only: bool) -> Vec<&Group> {
        let is_wanted = |group: &&Group| group.is_chosen() && (group.is_of_memory() || !loads_only);
        self.groups.iter().filter(is_wanted).collect()
    }

    /// Keeps those replaced loads for which `keep` returns true; it is called once for each, in program
    /// order. A group is only kept if all of its loads are. Stores come behind the loads, each group as one.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        for decision in &self.decisions {
            if let Verdict::Replaced(group) = decision.verdict
                && !keep()
            {
                self.groups[group].refusal = Some(Refusal::NotSelected);
            }
        }
        for group in &mut self.groups {
            let is_counted =
                matches!(group.footprint.accesses, Accesses::Stores | Accesses::Exchanges);
            if is_counted && group.is_chosen() && !keep() {
                group.refusal = Some(Refusal::NotSelected);
                group.price = None;
            }
        }
        self.leave_parts();
        for decision in &mut self.decisions {
            if let Verdict::Replaced(group) = decision.verdict
                && !self.groups[group].is_chosen()
            {
                decision.verdict = Verdict::Kept(Refusal::NotSelected);
            }
        }
    }

    /// Leaves out the groups whose code would stand in the version of one that is not chosen.
    fn leave_parts(&mut self) {
        for index in 0..self.groups.len() {
            let is_left = |of: usize| !self.groups[of].is_chosen();
            if self.groups[index].is_chosen() && self.groups[index].within.is_some_and(is_left) {
                self.groups[index].refusal = Some(Refusal::NotSelected);
                self.groups[index].price = None;
            }
        }
    }
}

/// Decides about every global load of a function, in program order.
pub fn decide(
    (source, around): (&SourceFile, &Surroundings<'_, '_>),
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    legal: &crate::reuse::Options,
    options: &Options,
) -> Choice {
    let mut loads: Vec<usize> =
        (0..trace.accesses.len()).filter(|&i| trace.accesses[i].is_global_load()).collect();
    loads.sort_by_key(|&index| trace.accesses[index].inst);
    let mut legality = Legality::new(source, function, flow, trace, legal);
    let arrays = |trace: &mut KernelTrace| shared::arrays((source, around), function, flow, trace);
    let depths: FxHashMap<InstId, usize> = flow
        .block_ids()
        .flat_map(|block| {
            let depth = flow.loops.depth(flow.loops.innermost(block));
            flow.block(block).instructions().map(move |inst| (inst, depth))
        })
        .collect();
    let executions = |inst: InstId| guessed_executions(depths.get(&inst).copied().unwrap_or(0));
    let mut found = packing::best(options, executions, |only, left| {
        let is_searched =
            |pattern: &&&dyn Pattern| only.is_none_or(|only| pattern.strategies().contains(&only));
        let mut found = Found::default();
        found.left.clone_from(left);
        for pattern in patterns::SEARCHED.iter().filter(is_searched) {
            let (legality, own) = (&mut legality, Found::default());
            let (arrays, loads, beside) = (&arrays, &loads, &found);
            let mut finder = Finder { legality, options, arrays, loads, only, beside, own };
            pattern.find(&mut finder, trace);
            let own = finder.own;
            found.extend(own);
        }
        found
    });
    let mut decisions: Vec<LoadDecision> = loads
        .iter()
        .map(|&index| {
            let access = &trace.accesses[index];
            let kept = || found.refusals.get(&access.inst).cloned().unwrap_or(Refusal::NoPartner);
            let claimed = found.claimed.get(&access.inst).copied();
            let verdict = claimed.map_or_else(|| Verdict::Kept(kept()), Verdict::Replaced);
            LoadDecision { inst: access.inst, bytes: access.bytes(), verdict }
        })
        .collect();
    let named: BTreeSet<usize> = found.claimed.into_values().collect();
    for (index, group) in found.groups.iter_mut().enumerate() {
        // All its loads were claimed once more.
        if group.serves_loads() && !named.contains(&index) {
            group.refusal = Some(Refusal::NotSelected);
        }
    }
    add_unreachable(flow, &mut decisions);
    let mut choice = Choice { decisions, groups: found.groups };
    choice.leave_parts();
    choice
}

/// Adds a decision for each load in code that no way leads to, which has no trace.
fn add_unreachable(flow: &Flow<'_, '_>, decisions: &mut Vec<LoadDecision>) {
    let seen: BTreeSet<InstId> = decisions.iter().map(|decision| decision.inst).collect();
    for (at, inst) in flow.insts.iter_enumerated() {
        let space = inst.ast.form.space();
        let global = matches!(space, StateSpace::Global | StateSpace::Generic);
        if effect(inst) == Effect::Load && global && !seen.contains(&at) {
            let bytes = inst.ast.form.last_type().map_or(0, |ty| ty.bits() / 8);
            let verdict = Verdict::Kept(Refusal::Unreachable);
            decisions.push(LoadDecision { inst: at, bytes, verdict });
        }
    }
    decisions.sort_by_key(|decision| decision.inst);
}
