//! The part of a plan for vector loads: their text, and the multiversioned statements.
//!
//! If alignment is proved, the vector load stands in the place of the first of the loads. If it is
//! not, one test of each parameter at the head of the kernel, the same for all threads, decides at
//! each such place between the rewritten statements and the untouched ones.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cfg::{Inst, InstId, InstRange};
use crate::emulate::{definitions, mentions};
use crate::patterns::joined::{element_type, packed};
use crate::patterns::text::without_type;
use crate::ptx::write::{Code, Reg, memory, vector};
use crate::reuse::{Element, Multiple, SideEffectFree, VectorGroup};
use crate::rewrite::{Draft, Part, Planner, Prepared};

/// A vector load and the loads that it stands for.
#[derive(Clone, Debug)]
struct VectorLoad {
    /// The statement in whose place it stands.
    span: Range<usize>,
    /// The vector load.
    code: String,
    /// Each other load's statement, and the text in its place: moves, if its registers could not be
    /// written earlier.
    others: Vec<(Range<usize>, String)>,
}

/// Plans the vector loads that have been chosen.
pub(super) fn plan(
    groups: &[&VectorGroup],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let part = vectors(groups.iter().copied(), Filled::Early, planner);
    for (range, multiples) in versions(planner, groups) {
        planner.add_aligned_version(range, multiples);
    }
    part
}

/// Where the registers of a vector's loads are filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// By the vector, if nothing in between reads or writes them.
    Early,
    /// Where each load stands: a store may be performed behind the vector that stands in front of it.
    InPlace,
}

/// Plans vector loads without a test.
pub(super) fn vectors<'g>(
    groups: impl Iterator<Item = &'g VectorGroup>,
    filled: Filled,
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let vectors: Vec<VectorLoad> = groups.map(|group| planner.vector(group, filled)).collect();
    let mut prepared = Prepared::default();
    for VectorLoad { span, code, others } in vectors {
        prepared.drafts.push(Draft { range: span, code });
        for (range, code) in others {
            prepared.left_out.push(range.clone());
            prepared.drafts.push(Draft { range, code });
        }
    }
    prepared.part()
}

impl Planner<'_, '_, '_, '_> {
    fn vector(&mut self, group: &VectorGroup, filled: Filled) -> VectorLoad {
        let first = &self.flow.insts[group.members[0].inst];
        let mut moves: BTreeMap<InstId, String> = BTreeMap::new();
        let mut registers: Vec<String> = group
            .elements
            .iter()
            .map(|(element, inst)| self.destination((group, filled), element, *inst, &mut moves))
            .collect();
        if planted!(Bug::VectorReversed) {
            registers.reverse();
        }
        let more = group.offset + i64::from(planted!(Bug::VectorOffset));
        let (base, offset) = self.address_behind(group.members[0].inst, more);
        let (guard, at) = (self.guard(first.guard), memory(&base, offset));
        let opcode = without_type(first.ast.opcode.text);
        let load = |registers: &[String], ty: &str| {
            let (count, registers) = (registers.len(), vector(registers));
            format!("{guard}{opcode}.v{count}{ty} {registers}, {at};")
        };
        let code = match packed(group) {
            None => load(&registers, &element_type(group)),
            Some(packed) => {
                let fresh = &mut self.plan.fresh;
                let elements: Vec<&[String]> = registers.chunks(packed.in_word()).collect();
                let words: Vec<Reg> = elements.iter().map(|_| fresh.word()).collect();
                let how = (guard.as_str(), group.elements[0].0.ty.is_signed());
                let mut code = Code::behind();
                for (word, own) in words.iter().zip(elements) {
                    packed.unpack((&mut code, fresh), how, word, own);
                }
                let words: Vec<String> = words.into_iter().map(String::from).collect();
                load(&words, ".b32") + &code.text
            }
        };
        let code = match moves.remove(&group.members[0].inst) {
            Some(first) => format!("{code}\n\t{first}"),
            None => code,
        };
        let span = |inst: InstId| self.flow.insts[inst].ast.span.range();
        let others = group.members[1..]
            .iter()
            .map(|load| (span(load.inst), moves.remove(&load.inst).unwrap_or_default()))
            .collect();
        VectorLoad { span: span(group.members[0].inst), code, others }
    }

    /// The register that the vector load fills for an element: the load's own; or a new one, from
    /// which the load's own is filled in the load's place, if an instruction in between reads or
    /// writes the load's own.
    fn destination(
        &mut self,
        (group, filled): (&VectorGroup, Filled),
        element: &Element,
        inst: InstId,
        moves: &mut BTreeMap<InstId, String>,
    ) -> String {
        let first = group.members[0].inst;
        let between = &self.flow.insts[first.next()..inst.max(first.next())];
        let used = |inst: &Inst<'_, '_>| {
            mentions(inst).contains(&element.register)
                || definitions(inst).contains(&element.register)
        };
        let fills = |(other, _): &&(Element, InstId)| other.register == element.register;
        let alone = group.elements.iter().filter(fills).count() == 1;
        let is_early = filled == Filled::Early && !between.iter().any(used);
        let free = alone && (inst == first || is_early);
        let name = self.name(element.register);
        if free || planted!(Bug::VectorTooEarly) {
            return name;
        }
        let bits = element.register_bits;
        let fresh = self.plan.fresh.bits(bits);
        let guard = self.guard(self.flow.insts[inst].guard);
        let text = moves.entry(inst).or_default();
        if !text.is_empty() {
            text.push_str("\n\t");
        }
        text.push_str(&format!("{guard}mov.b{bits} {name}, {fresh};"));
        fresh.into()
    }
}

/// The multiversioned statements: from the first to the last load of each group that needs a test, with the conditions
/// to test; groups with only loads and arithmetic between them are joined.
fn versions(
    planner: &Planner<'_, '_, '_, '_>,
    groups: &[&VectorGroup],
) -> Vec<(InstRange, Vec<Multiple>)> {
    let mut ranges: Vec<(InstRange, Vec<Multiple>)> = Vec::new();
    let strongest = strongest(groups);
    let tested: Vec<_> = groups.iter().filter(|group| !group.multiples.is_empty()).collect();
    if tested.is_empty() {
        return Vec::new();
    }
    let side_effect_free = SideEffectFree::new(planner.source, planner.flow);
    for group in tested {
        let first = group.members[0].inst;
        let last = group.members.last().map_or(first, |load| load.inst);
        let multiples = group.multiples.iter().map(&strongest);
        match ranges.last_mut() {
            Some((range, known)) if side_effect_free.between(range.end.before(), first) => {
                range.end = range.end.max(last.next());
                known.extend(multiples);
            }
            _ => ranges.push((first.to(last.next()), multiples.collect())),
        }
    }
    for (_, multiples) in &mut ranges {
        multiples.sort();
        multiples.dedup();
    }
    ranges
}

/// The strongest of all conditions on a parameter, which one test asks for all groups.
fn strongest(groups: &[&VectorGroup]) -> impl Fn(&Multiple) -> Multiple + use<> {
    let mut known: BTreeMap<(String, i64, u8), u64> = BTreeMap::new();
    for multiple in groups.iter().flat_map(|group| &group.multiples) {
        let key = (multiple.parameter.clone(), multiple.offset, multiple.bits);
        let of = known.entry(key).or_default();
        *of = multiple.of.max(*of);
    }
    move |multiple| {
        let key = (multiple.parameter.clone(), multiple.offset, multiple.bits);
        Multiple { of: known[&key], ..multiple.clone() }
    }
}
