//! Vectors among the loads and stores of a [`Batched`] group.
//!
//! In: groups whose loads are performed in front of stores, with one test around all of it. Out: the vectors that these
//! loads and stores make then. In the version where the test holds, no store stands between the loads any more, and no load
//! that is performed early stands between the stores.

use super::adjacent_stores::AdjacentStores;
use super::batched::Batched;
use super::eligible::Load;
use super::legality::Legality;
use super::vector_group::VectorGroup;
use crate::cfg::InstId;
use crate::emulate::{KernelTrace, definitions};
use crate::expr::TermId;

/// Loads from one array, with their distances in bytes from the first of them.
type Row = (TermId, Vec<(Load, i64)>);

impl Legality<'_, '_, '_> {
    /// Finds the vectors that a group's loads make with each other and with the loads between its test and its first
    /// store.
    pub fn vectors_of_batch(
        &mut self,
        trace: &mut KernelTrace,
        group: &Batched,
    ) -> Vec<VectorGroup> {
        let mut rows: Vec<Row> = Vec::new();
        for load in self.loads_of_batch(trace, group) {
            trace.arena.charge(8);
            let constant = trace.arena.constant_part(load.address);
            let bare = trace.arena.add_constant(load.address, constant.wrapping_neg());
            let known = rows
                .iter_mut()
                .find(|(other, row)| *other == bare && self.is_alike(&row[0].0, &load));
            match known {
                Some((_, row)) => {
                    let first = row[0].0.address;
                    let ahead = trace.arena.near_difference(load.address, first);
                    row.extend(ahead.map(|ahead| (load, ahead)));
                }
                None => rows.push((bare, vec![(load, 0)])),
            }
        }
        let mut found = Vec::new();
        for (_, row) in rows.iter().filter(|(_, row)| row.len() > 1) {
            self.split_run(trace, row, true, &mut found);
        }
        found.retain(|vector| self.keeps_guard(trace, vector));
        found.sort_by_key(|vector| vector.members[0].inst);
        found
    }

    /// Whether two loads may be parts of one vector.
    fn is_alike(&self, one: &Load, other: &Load) -> bool {
        one.guard == other.guard && self.same_kind(one, other)
    }

    /// Whether the guard of a vector's loads has one value at all of them.
    fn keeps_guard(&self, trace: &KernelTrace, vector: &VectorGroup) -> bool {
        let (first, last) = (&vector.members[0], &vector.members[vector.members.len() - 1]);
        let Some((guard, _)) = first.guard else { return true };
        let between = first.inst.to(last.inst);
        trace.arena.charge(between.len() as u64);
        !between.into_iter().any(|at| definitions(&self.flow().insts[at]).contains(&guard))
    }

    /// The loads that may be in a vector, in program order. Where they are performed early, all of them are executed.
    fn loads_of_batch(&self, trace: &KernelTrace, group: &Batched) -> Vec<Load> {
        let early = group.test.to(group.place);
        let mut found: Vec<Load> = (0..trace.accesses.len())
            .filter(|&index| {
                let access = &trace.accesses[index];
                access.is_global_load() && early.contains(&access.inst)
            })
            .filter_map(|index| self.load(trace, index).ok())
            .chain(group.moved.iter().map(|one| one.load.clone()))
            .filter(|load| self.is_simple(load) && !load.generic)
            .filter(|load| load.guard.is_none() || !group.is_open)
            .collect();
        found.sort_by_key(|load| load.inst);
        found
    }

    /// The stores that make vectors, each in the place of its last store, with the number of the group whose version holds
    /// them: that group performs all loads between them early that could read their bytes.
    pub fn vectors_of_stores(
        &mut self,
        trace: &mut KernelTrace,
        groups: &[&Batched],
    ) -> Vec<(usize, AdjacentStores)> {
        let moved_by = |inst: InstId| {
            let is_moved = |group: &&Batched| group.moved.iter().any(|one| one.load.inst == inst);
            groups.iter().position(is_moved)
        };
        let together =
            |inst: InstId| Some(if moved_by(inst).is_some() { vec![] } else { vec![inst] });
        let found = self.adjacent_stores(trace, &together);
        let mut vectors = Vec::new();
        for stores in found.into_iter().filter(|stores| stores.refusal.is_none()) {
            let insts = || stores.members.iter().map(|store| store.access.inst);
            let (Some(first), Some(last)) = (insts().min(), insts().max()) else { continue };
            let movers: Vec<usize> = first.to(last).filter_map(moved_by).collect();
            // Where all code of a group gets two versions without a test of distances, stores one behind the other take part.
            let is_around = |group: &&Batched| {
                !group.is_open && group.test < first && first < group.end && last < group.limit
            };
            let around = || groups.iter().position(is_around);
            let Some(at) = movers.first().copied().or_else(around) else { continue };
            let group = groups[at];
            let is_behind = group.place <= first || planted!(Bug::BatchStoreSunk);
            let holds_all = is_behind && last < group.limit;
            let others = groups.iter().enumerate().filter(|(other, _)| *other != at);
            let is_apart = |other: &Batched| {
                other.block != group.block || last < other.test || other.end <= group.test
            };
            let alone = movers.iter().all(|&other| other == at)
                && others.into_iter().all(|(_, other)| is_apart(other));
            if holds_all && alone {
                let asks_distance = !group.tests.is_empty();
                vectors.push((at, AdjacentStores { is_covered: true, asks_distance, ..stores }));
            }
        }
        vectors
    }
}
