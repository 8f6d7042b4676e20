//! SLP vectorisation of stores: one vector store for several stores of consecutive bytes (strategy `wide`).
//!
//! The vector stands in the place of the last store. If alignment is not proved, the same test of the parameters that
//! vector loads ask, at the head of the kernel, decides there between it and the stores, one by one.

use rustc_hash::FxHashMap;

use super::finder::Finder;
use super::footprint::{Accesses, Added, Footprint, Lanes, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, alignment, shapes};
use super::joined::{has_place, packed_stores, weigh_stores};
use super::pattern::Pattern;
use super::text::without_type;
use crate::cfg::InstId;
use crate::emulate::KernelTrace;
use crate::isa::ScalarType;
use crate::ptx::Scanned;
use crate::ptx::write::{Code, memory, op};
use crate::report::{Decision, KernelReport};
use crate::reuse::{AdjacentStores, PlainStore, StoredElement, StoredValue};
use crate::rewrite::{Draft, Part, Planner, Prepared};
use crate::strategies::StrategyName;

/// The pattern.
#[derive(Debug)]
pub(super) struct VectorStores;

impl Pattern for VectorStores {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Wide]
    }

    /// Two stores, the fewest that a vector stands for.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.has_stores(2)
    }

    /// Claims the stores that pay, and lists those that stay.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Wide) {
            return;
        }
        let moved: FxHashMap<InstId, Vec<InstId>> = finder
            .loads
            .iter()
            .map(|&at| trace.accesses[at].inst)
            .map(|inst| (inst, finder.replaced_with(inst)))
            .collect();
        let together = |inst: InstId| Some(moved.get(&inst).cloned().unwrap_or_else(|| vec![inst]));
        for found in finder.legality.adjacent_stores(trace, &together) {
            let footprint = footprint(&found);
            if found.refusal.is_none()
                && (finder.conflicts(&footprint) || !has_place(finder, &found))
            {
                continue;
            }
            let (price, refusal) =
                finder.judged(found.refusal.as_ref(), found.members.len(), |finder| {
                    weigh_stores(finder, trace, &found)
                });
            let group = Group::new(StrategyName::Wide, footprint, found);
            finder.claim(Group { price, refusal, ..group });
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let groups: Vec<&AdjacentStores> = shapes(chosen);
        let mut prepared = Prepared::default();
        for group in groups {
            planner.store_vector(group, &mut prepared);
        }
        prepared.part()
    }
}

/// What a vector store takes. Its test is a branch: so the block has no loop-carried values, and no checks of the warp that
/// are made once for a block.
fn footprint(found: &AdjacentStores) -> Footprint {
    let members = found.members.iter().map(|store| store.access.inst).collect();
    let footprint = Footprint::of(Accesses::Stores, members).lane_by_lane();
    let (blocks, neighbours) = (vec![found.block], Neighbours::NoCode);
    match found.multiples.is_empty() {
        true => footprint.within(Room { blocks, neighbours, ..Room::default() }),
        false => footprint.adding(Added::Versions, blocks.clone()).within(Room {
            blocks,
            neighbours,
            lanes: Lanes::NotInBlocks,
            ..Room::default()
        }),
    }
}

impl Shape for AdjacentStores {
    fn is_invariant(&self) -> bool {
        true
    }

    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let last = self.members.last().map_or(0, |store| places.line(store.access.inst));
        for member in &self.members {
            let mut store = places.report_of(member.access.inst);
            store.bytes = member.access.bytes as u32;
            match &group.refusal {
                Some(refusal) => places.keep(&mut store, refusal),
                None => {
                    store.decision = Decision::By(group.strategy);
                    store.source_line = Some(last).filter(|last| *last != store.line);
                    let apart = self.asks_distance.then(|| "stores-apart".to_owned());
                    let aligned = self.multiples.iter().map(alignment);
                    store.guards = Some(apart.into_iter().chain(aligned).collect());
                    store.cost = group.price.map(Price::cost);
                }
            }
            report.stores.push(store);
        }
    }
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code of a vector store.
    fn store_vector(&mut self, group: &AdjacentStores, prepared: &mut Prepared) {
        let Some(last) = group.members.last() else { return };
        let mut kept: Vec<String> = vec![String::new(); group.members.len()];
        let mut setup = Code::in_front();
        let mut values: Vec<String> = group
            .elements
            .iter()
            .map(|element| self.stored_operand(group, element, &mut kept, &mut setup))
            .collect();
        let untouched = self.one_by_one(group, &values);
        if planted!(Bug::StoredExchanged) {
            values.swap(0, 1);
        }
        let guard = self.guard(last.access.guard);
        let further = i64::from(planted!(Bug::StoredFurther)) * group.bytes / values.len() as i64;
        let (mut ty, mut words) = (element_type(group), Code::in_front());
        if let Some(packed) = packed_stores(group) {
            let fresh = &mut self.plan.fresh;
            let pack = |own: &[String]| packed.pack(&mut words, fresh, own).into();
            (values, ty) = (values.chunks(packed.in_word()).map(pack).collect(), ".b32".to_owned());
        }
        let code = format!(
            "{}{}{}{}.v{}{ty} {}, {{{}}};",
            setup.text,
            words.text,
            if planted!(Bug::StoredUnguarded) { String::new() } else { guard },
            self.opcode_without_type(last),
            values.len(),
            self.place_of(last, group.offset + further),
            values.join(", "),
        );
        let number = group.members.len();
        for (index, (member, copies)) in group.members.iter().zip(kept).enumerate() {
            let range = self.span(member.access.inst);
            let code = if index + 1 == number { code.clone() } else { copies };
            prepared.drafts.push(Draft { range, code });
        }
        if !group.multiples.is_empty() && !group.is_covered {
            let mut multiples = group.multiples.to_vec();
            if planted!(Bug::StoredHalfAligned) {
                multiples.iter_mut().for_each(|multiple| multiple.of /= 2);
            }
            self.add_aligned_version_of(last.access.inst, multiples, setup.text + &untouched);
        }
    }

    /// The operand of a vector store for an element: the register itself; a copy, made where the element was stored, if
    /// the register is written in between; a new register for a constant.
    fn stored_operand(
        &mut self,
        group: &AdjacentStores,
        element: &StoredElement,
        kept: &mut [String],
        setup: &mut Code,
    ) -> String {
        match element.value {
            StoredValue::Bits(bits) => {
                let width = group.register_bits;
                let ty = ScalarType::b(width);
                let (fresh, bits) = (self.plan.fresh.of(ty), format!("{bits:#x}"));
                setup.set(fresh, op!(Mov.(ty)), &[&bits]).into()
            }
            StoredValue::Register(register) => {
                let name = self.name(register);
                if !element.overwritten || planted!(Bug::StoredLate) {
                    return name;
                }
                let bits = self.flow.registers[register].ty.bits();
                let fresh = self.plan.fresh.bits(bits);
                let at = group.members.iter().position(|one| one.access.inst == element.inst);
                if let Some(code) = at.and_then(|at| kept.get_mut(at)) {
                    if !code.is_empty() {
                        code.push_str("\n\t");
                    }
                    code.push_str(&format!("mov.b{bits} {fresh}, {name};"));
                }
                fresh.into()
            }
        }
    }

    /// The stores one by one, at the place of the last.
    fn one_by_one(&self, group: &AdjacentStores, values: &[String]) -> String {
        let mut stores = Vec::new();
        for (member, distance) in group.members.iter().zip(&group.distances) {
            let own = |element: &StoredElement| element.inst == member.access.inst;
            let own: Vec<&str> = group
                .elements
                .iter()
                .zip(values)
                .filter(|(element, _)| own(element))
                .map(|(_, value)| value.as_str())
                .collect();
            let stored = match own[..] {
                [single] => single.to_owned(),
                _ => format!("{{{}}}", own.join(", ")),
            };
            let inst = &self.flow.insts[member.access.inst];
            let last = group.members.last().unwrap_or(member);
            stores.push(format!(
                "{}{} {}, {stored};",
                self.guard(member.access.guard),
                inst.ast.opcode.text,
                self.place_of(last, *distance)
            ));
        }
        if planted!(Bug::StoreForgotten) {
            stores.pop();
        }
        stores.join("\n\t")
    }

    fn opcode_without_type(&self, store: &PlainStore) -> String {
        without_type(self.flow.insts[store.access.inst].ast.opcode.text)
    }

    /// The address operand of a store, `more` bytes further.
    fn place_of(&self, store: &PlainStore, more: i64) -> String {
        let (base, offset) = self.address_behind(store.access.inst, more);
        memory(&base, offset)
    }
}

/// The type of a vector's elements: the type that all stores have, or untyped bits of their size.
fn element_type(group: &AdjacentStores) -> String {
    let first = group.members[0].ty;
    match group.members.iter().all(|store| store.ty == first) {
        true => first.to_string(),
        false => format!(".b{}", first.bits()),
    }
}
