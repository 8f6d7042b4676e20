//! What the patterns share that join accesses to vectors: costs, and how elements lie in words.

use super::finder::{Finder, Weighed};
use super::group::Price;
use super::packed::Packed;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::reuse::{AdjacentStores, Assumed, Unprofitable, VectorGroup};
use crate::strategies::StrategyName;

/// Instructions of a branch on a test of alignment, and of the one behind the vector.
const TEST: u32 = 2;

/// The least and the largest constant of an address operand (PTX ISA, "Addresses as Operands").
const OFFSETS: std::ops::RangeInclusive<i64> = -(1 << 31)..=(1 << 31) - 1;

/// Whether the constants of all addresses can be written.
pub(super) fn has_place(finder: &Finder<'_, '_, '_, '_>, found: &AdjacentStores) -> bool {
    let insts = &finder.legality.flow().insts;
    let Some(last) = found.members.last() else { return false };
    let memory = insts[last.access.inst].args.iter().find_map(|arg| match arg {
        crate::cfg::Arg::Memory { offset, .. } => Some(*offset),
        _ => None,
    });
    let mut all = found.distances.iter().chain([&found.offset]);
    memory.is_some_and(|own| all.all(|more| OFFSETS.contains(&own.saturating_add(*more))))
}

/// Whether a vector store takes fewer cycles than the stores that it stands for. (All stores go on to the second-level
/// cache.)
pub(super) fn weigh_stores(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &AdjacentStores,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let stride = finder.legality.lane_stride(trace, &group.members[0].access);
    let costs = &finder.options.costs;
    let request = |bytes: i64| Request {
        // Lanes whose vectors do not overlap are at least a vector apart.
        stride: stride.or(Some(group.bytes)),
        bytes: bytes as u32,
        lanes: 32,
        past_l1: true,
    };
    let each = |bytes: i64| costs.load(&request(bytes)) + costs.instructions(1);
    let kept: f64 = group.members.iter().map(|store| each(store.access.bytes)).sum();
    let moves = group.elements.iter().filter(|element| element.overwritten).count() as u32;
    let test = if group.multiples.is_empty() || group.is_covered { 0 } else { TEST };
    let pack = packed_stores(group).map_or(0, |packed| packed.to_pack(group.elements.len()));
    let cost_after = each(group.bytes) + costs.instructions(moves + test + pack);
    let assumed = stride.is_none().then_some(Assumed::VectorApart);
    let weighed = Weighed { assumed, ..Weighed::new(cost_after, kept) };
    let paid = finder.pays(StrategyName::Wide, weighed);
    paid.map(Some)
        .map_err(|unprofitable| Unprofitable { loads: group.members.len() as u32, ..unprofitable })
}

/// How the elements of a vector lie in words, if they do.
pub(super) fn packed_stores(group: &AdjacentStores) -> Option<Packed> {
    Packed::of(group.elements.len(), group.members[0].ty.bits(), group.register_bits)
}

/// How the elements of a vector lie in words, if they do.
pub(super) fn packed(group: &VectorGroup) -> Option<Packed> {
    let (element, _) = group.elements[0];
    Packed::of(group.elements.len(), element.ty.bits(), element.register_bits)
}

/// The type of a vector's elements: the type that all have, or untyped bits of their size.
pub(super) fn element_type(group: &VectorGroup) -> String {
    let first = group.elements[0].0.ty;
    match group.elements.iter().all(|(element, _)| element.ty == first) {
        true => first.to_string(),
        false => format!(".b{}", first.bits()),
    }
}
