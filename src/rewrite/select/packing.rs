//! Weighted set packing: which groups save most together.
//!
//! The patterns claim accesses one after the other, so a search is greedy: a group of an early pattern keeps accesses and blocks
//! from larger groups of later ones. In: a search for all strategies or one, which leaves some accesses of strategies to others. Out: the groups of the search that is
//! predicted to save most. Each strategy is searched alone for the groups that it would claim, the heaviest set of groups that do
//! not conflict is determined for each component of the conflict graph, and a last search leaves what the other groups would claim. Of equal results the
//! greedy one is taken.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::unionfind::UnionFind;
use rustc_hash::FxHashMap;

use crate::cfg::{BlockId, InstId};
use crate::patterns::{Footprint, Found, Group, Options};
use crate::reuse::Refusal;
use crate::strategies::StrategyName;

/// The most groups of a component whose subsets are all weighed. In a larger one the heaviest group goes first.
const MAX_EXACT: usize = 16;

/// Accesses, each with a strategy that would replace it.
type Claims = BTreeSet<(StrategyName, InstId)>;

/// A resource that two groups may share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Access(InstId),
    Block(BlockId),
}

/// A group that a search claims.
struct Candidate {
    strategy: StrategyName,
    footprint: Footprint,
    /// Hundredths of a cycle per warp.
    weight: i64,
}

impl Candidate {
    /// A group of accesses to memory that is chosen.
    fn new(group: &Group) -> Option<Candidate> {
        (group.is_chosen() && group.is_of_memory()).then(|| Candidate {
            strategy: group.strategy,
            footprint: group.footprint.clone(),
            weight: group.saved(),
        })
    }

    fn conflicts(&self, other: &Candidate) -> bool {
        self.footprint.competes(&other.footprint, self.strategy == other.strategy)
    }

    /// The accesses with the strategy that would replace them.
    fn claims(&self) -> impl Iterator<Item = (StrategyName, InstId)> + '_ {
        self.footprint.members.iter().map(|&inst| (self.strategy, inst))
    }

    /// The accesses and blocks, by which conflicts are found.
    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let members = self.footprint.members.iter().map(|&inst| Place::Access(inst));
        members.chain(self.footprint.blocks.iter().map(|&block| Place::Block(block)))
    }
}

/// The groups of the search that is predicted to save most. `executions` guesses how often an instruction is executed.
pub(super) fn best(
    options: &Options,
    executions: impl Fn(InstId) -> f64,
    mut search: impl FnMut(Option<StrategyName>, &Claims) -> Found,
) -> Found {
    let found = best_of_accesses(options, &mut search);
    let is_hindered = |group: &Group| matches!(group.refusal, Some(Refusal::ArrayBesideOthers));
    if !options.strategies.are_weighed() || !found.groups.iter().any(is_hindered) {
        return found;
    }
    // Layouts of arrays exclude all else, so that they are judged by themselves.
    let mut layouts = search(Some(StrategyName::Bank), &Claims::new());
    let saved = |found: &Found| -> f64 {
        found.groups.iter().map(|group| group.saved_in_loops(&executions)).sum()
    };
    if saved(&layouts) <= saved(&found) {
        return found;
    }
    layouts.refusals.extend(found.refusals);
    let replaced = found.groups.iter().filter(|group| group.is_chosen());
    for group in replaced {
        let refusal = group.displaced(options.costs.architecture);
        layouts.refusals.extend(group.members().iter().map(|&inst| (inst, refusal.clone())));
    }
    layouts
}

/// The groups of the search that is predicted to save most among accesses to global memory.
fn best_of_accesses(
    options: &Options,
    mut search: impl FnMut(Option<StrategyName>, &Claims) -> Found,
) -> Found {
    let greedy = search(None, &Claims::new());
    let mut candidates: Vec<Candidate> = greedy.groups.iter().filter_map(Candidate::new).collect();
    if !options.strategies.are_weighed() || candidates.is_empty() {
        return greedy;
    }
    let claimed = candidates.len();
    let mut known: BTreeSet<Claims> = candidates.iter().map(|one| one.claims().collect()).collect();
    let claimants: BTreeSet<StrategyName> = candidates.iter().map(|one| one.strategy).collect();
    let is_hindered = |name: &StrategyName| claimants.iter().any(|other| other != name);
    for name in options.strategies.names().filter(StrategyName::claims_memory).filter(is_hindered) {
        let alone = search(Some(name), &Claims::new());
        for candidate in alone.groups.iter().filter_map(Candidate::new) {
            if known.insert(candidate.claims().collect()) {
                candidates.push(candidate);
            }
        }
    }
    let chosen = heaviest(&candidates);
    if (0..candidates.len()).all(|at| chosen.contains(&at) == (at < claimed)) {
        return greedy;
    }
    let claims = |is_chosen: bool| {
        let those = candidates.iter().enumerate();
        let those = those.filter(|(at, _)| chosen.contains(at) == is_chosen);
        those.flat_map(|(_, one)| one.claims()).collect::<Claims>()
    };
    let left = &claims(false) - &claims(true);
    let packed = search(None, &left);
    if saved(&packed, options) > saved(&greedy, options) { packed } else { greedy }
}

/// The cycles per warp that all that was found is predicted to save.
fn saved(found: &Found, options: &Options) -> f64 {
    let hundredths: i64 = found.groups.iter().map(Group::saved).sum();
    let tests: BTreeSet<InstId> =
        found.groups.iter().filter_map(|group| group.shared_test).collect();
    hundredths as f64 / 100.0 - tests.len() as f64 * options.costs.version_cycles
}

/// The heaviest set of groups, as indices, without a conflict between two of them.
fn heaviest(candidates: &[Candidate]) -> BTreeSet<usize> {
    let count = candidates.len();
    let mut at_place: FxHashMap<Place, Vec<usize>> = FxHashMap::default();
    for (at, candidate) in candidates.iter().enumerate() {
        candidate.places().for_each(|place| at_place.entry(place).or_default().push(at));
    }
    let conflicts: Vec<Vec<usize>> = (0..count)
        .map(|at| {
            let conflicts =
                |&other: &usize| other != at && candidates[at].conflicts(&candidates[other]);
            let near = candidates[at].places().flat_map(|place| at_place[&place].iter().copied());
            near.filter(conflicts).collect::<BTreeSet<usize>>().into_iter().collect()
        })
        .collect();
    let mut components = UnionFind::new(count);
    for (at, others) in conflicts.iter().enumerate() {
        others.iter().for_each(|&other| _ = components.union(at, other));
    }
    let mut by_label: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, label) in components.into_labeling().into_iter().enumerate() {
        by_label.entry(label).or_default().push(at);
    }
    let mut chosen = BTreeSet::new();
    for members in by_label.into_values() {
        let weight = |at: usize| candidates[at].weight;
        chosen.extend(if members.len() <= MAX_EXACT {
            exact(&members, &conflicts, &weight).1
        } else {
            heavy_first(members, &conflicts, &weight)
        });
    }
    chosen
}

/// The heaviest of all subsets without a conflict, and its weight; the first group is in it if both choices weigh the same.
fn exact(
    rest: &[usize],
    conflicts: &[Vec<usize>],
    weight: &impl Fn(usize) -> i64,
) -> (i64, Vec<usize>) {
    let Some((&first, others)) = rest.split_first() else { return (0, Vec::new()) };
    let compatible: Vec<usize> =
        others.iter().copied().filter(|other| !conflicts[first].contains(other)).collect();
    let (mut taken, mut set) = exact(&compatible, conflicts, weight);
    taken += weight(first);
    set.push(first);
    if compatible.len() < others.len() {
        let without = exact(others, conflicts, weight);
        if without.0 > taken {
            return without;
        }
    }
    (taken, set)
}

/// A set without a conflict: the heaviest group, then the heaviest of the rest that does not conflict, and so on; then each group
/// that is heavier than all that conflict with it takes their place.
fn heavy_first(
    mut members: Vec<usize>,
    conflicts: &[Vec<usize>],
    weight: &impl Fn(usize) -> i64,
) -> Vec<usize> {
    members.sort_by_key(|&at| std::cmp::Reverse(weight(at)));
    let mut chosen = BTreeSet::new();
    // The sum of weights grows with each exchange, so this ends.
    loop {
        let mut is_changed = false;
        for &at in members.iter().filter(|&&at| weight(at) > 0) {
            if chosen.contains(&at) {
                continue;
            }
            let against: Vec<usize> =
                conflicts[at].iter().copied().filter(|other| chosen.contains(other)).collect();
            if weight(at) > against.iter().map(|&other| weight(other)).sum() {
                against.iter().for_each(|other| _ = chosen.remove(other));
                chosen.insert(at);
                is_changed = true;
            }
        }
        if !is_changed {
            return chosen.into_iter().collect();
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(no_set_without_a_conflict_is_heavier, exchanges_leave_no_conflict);

    /// Groups of strategy `wide` with random members; every second one of strategy `batch`, with random blocks.
    fn candidates(random: &mut fastrand::Rng, count: usize) -> Vec<Candidate> {
        let mut candidate = |at: usize| Candidate {
            strategy: [StrategyName::Wide, StrategyName::Batch][at % 2],
            footprint: Footprint {
                members: (0..2).map(|_| InstId(random.u32(0..2 * count as u32))).collect(),
                blocks: (0..random.u32(0..2)).map(|_| BlockId(random.u32(0..3))).collect(),
                ..Footprint::default()
            },
            weight: random.i64(0..100),
        };
        (0..count).map(&mut candidate).collect()
    }

    fn weight(candidates: &[Candidate], set: &BTreeSet<usize>) -> i64 {
        set.iter().map(|&at| candidates[at].weight).sum()
    }

    fn has_conflict(candidates: &[Candidate], set: &BTreeSet<usize>) -> bool {
        let conflicts = |&at: &usize, &other: &usize| {
            at < other && candidates[at].conflicts(&candidates[other])
        };
        set.iter().any(|at| set.iter().any(|other| conflicts(at, other)))
    }

    fn no_set_without_a_conflict_is_heavier() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let candidates = candidates(&mut random, 8);
            let chosen = heaviest(&candidates);
            assert!(!has_conflict(&candidates, &chosen));
            for bits in 0..1_u32 << 8 {
                let subset: BTreeSet<usize> = (0..8).filter(|at| bits >> at & 1 != 0).collect();
                let is_heavier = weight(&candidates, &subset) > weight(&candidates, &chosen);
                assert!(!is_heavier || has_conflict(&candidates, &subset), "{subset:?}");
            }
        }
    }

    fn exchanges_leave_no_conflict() {
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..50 {
            let candidates = candidates(&mut random, 60);
            let chosen = heaviest(&candidates);
            assert!(!has_conflict(&candidates, &chosen));
            let alone = (0..60).map(|at| candidates[at].weight).max();
            assert!(Some(weight(&candidates, &chosen)) >= alone);
        }
    }
}
