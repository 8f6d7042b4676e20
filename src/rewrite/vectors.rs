//! The part of a plan for vector loads: their text, and which statements stand twice.

use std::collections::BTreeMap;
use std::ops::Range;

use super::plan::{Condition, Planner, VectorLoad, Version, line_end};
use crate::cfg::{Inst, RegisterId};
use crate::emulate::{definitions, mentions};
use crate::isa::{Modifier, Qualifier, Words};
use crate::planted::Bug;
use crate::reuse::{Adjacent, Element, Multiple, Quiet};
use crate::select::{Choice, Verdict};

impl Planner<'_, '_, '_, '_> {
    /// Plans the vector loads that have been chosen.
    pub(super) fn vectors(&mut self, choice: &Choice) {
        let wanted = choice.chosen(|verdict| match verdict {
            Verdict::Wide(group) => Some(*group),
            _ => None,
        });
        let groups: Vec<&Adjacent> = wanted.into_iter().map(|at| &choice.vectors[at]).collect();
        for group in &groups {
            let vector = self.vector(group);
            self.plan.vectors.push(vector);
        }
        self.plan.versions = self.versions(&groups);
    }

    fn vector(&mut self, group: &Adjacent) -> VectorLoad {
        let first = &self.flow.insts[group.members[0].inst as usize];
        let mut moves: BTreeMap<u32, String> = BTreeMap::new();
        let mut registers: Vec<String> = group
            .elements
            .iter()
            .map(|(element, inst)| self.destination(group, element, *inst, &mut moves))
            .collect();
        if self.plan.planted.has(Bug::VectorReversed) {
            registers.reverse();
        }
        let (base, offset) = self.address(group.members[0].inst);
        let offset = offset + group.offset + i64::from(self.plan.planted.has(Bug::VectorOffset));
        let guard = self.guard_of(first);
        let at = if offset == 0 { base } else { format!("{base}+{offset}") };
        let code = format!(
            "{guard}{}.v{}{} {{{}}}, [{at}];",
            without_type(first.ast.opcode.text),
            registers.len(),
            element_type(group),
            registers.join(", "),
        );
        let code = match moves.remove(&group.members[0].inst) {
            Some(first) => format!("{code}\n\t{first}"),
            None => code,
        };
        let span = |inst: u32| self.flow.insts[inst as usize].ast.span.range();
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
        group: &Adjacent,
        element: &Element,
        inst: u32,
        moves: &mut BTreeMap<u32, String>,
    ) -> String {
        let first = group.members[0].inst;
        let between = &self.flow.insts[first as usize + 1..(inst as usize).max(first as usize + 1)];
        let used = |inst: &Inst<'_, '_>| {
            mentions(inst).contains(&element.register)
                || definitions(inst).contains(&element.register)
        };
        let fills = |(other, _): &&(Element, u32)| other.register == element.register;
        let alone = group.elements.iter().filter(fills).count() == 1;
        let free = alone && (inst == first || !between.iter().any(used));
        let name = self.name(element.register);
        if free || self.plan.planted.has(Bug::VectorTooEarly) {
            return name;
        }
        let bits = element.register_bits;
        let fresh = self.plan.fresh.bits(bits);
        let guard = self.guard_of(&self.flow.insts[inst as usize]);
        let text = moves.entry(inst).or_default();
        if !text.is_empty() {
            text.push_str("\n\t");
        }
        text.push_str(&format!("{guard}mov.b{bits} {name}, {fresh};"));
        fresh
    }

    /// An instruction's guard predicate as a prefix.
    fn guard_of(&self, inst: &Inst<'_, '_>) -> String {
        let prefix = |(register, negated): (RegisterId, bool)| {
            format!("@{}{} ", if negated { "!" } else { "" }, self.name(register))
        };
        inst.guard.map(prefix).unwrap_or_default()
    }

    /// The statements that stand twice: from the first to the last load of each group that needs a
    /// test; groups with only loads and arithmetic between them are joined.
    fn versions(&self, groups: &[&Adjacent]) -> Vec<Version> {
        let mut ranges: Vec<(Range<u32>, Vec<Multiple>)> = Vec::new();
        let strongest = strongest(groups);
        let tested: Vec<_> = groups.iter().filter(|group| !group.multiples.is_empty()).collect();
        if tested.is_empty() {
            return Vec::new();
        }
        let quiet = Quiet::new(self.source, self.flow);
        for group in tested {
            let first = group.members[0].inst;
            let last = group.members.last().map_or(first, |load| load.inst);
            let multiples = group.multiples.iter().map(&strongest);
            match ranges.last_mut() {
                Some((range, known)) if quiet.between(range.end - 1, first) => {
                    range.end = range.end.max(last + 1);
                    known.extend(multiples);
                }
                _ => ranges.push((first..last + 1, multiples.collect())),
            }
        }
        ranges
            .into_iter()
            .map(|(range, mut multiples)| {
                multiples.sort();
                multiples.dedup();
                let span = |inst: u32| self.flow.insts[inst as usize].ast.span.range();
                let end = span(range.end - 1).end;
                Version {
                    range: span(range.start).start..end,
                    behind: line_end(self.source.text(), end),
                    condition: Condition::Multiples(multiples),
                }
            })
            .collect()
    }
}

/// The strongest of all conditions on a parameter, which one test asks for all groups.
fn strongest(groups: &[&Adjacent]) -> impl Fn(&Multiple) -> Multiple + use<> {
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

/// An opcode without its type and vector: `ld.global.nc` of `ld.global.nc.v2.f32`.
pub(super) fn without_type(opcode: &str) -> String {
    let kept = Words::of(opcode).filter(|word| match Modifier::of(word) {
        Modifier::Type(_) => false,
        Modifier::Qualifier(word) => !matches!(word, Qualifier::V2 | Qualifier::V4 | Qualifier::V8),
        _ => true,
    });
    kept.collect::<Vec<_>>().join(".")
}

/// The type of a vector's elements: the type that all have, or untyped bits of their size.
fn element_type(group: &Adjacent) -> String {
    let first = group.elements[0].0.ty;
    match group.elements.iter().all(|(element, _)| element.ty == first) {
        true => first.to_string(),
        false => format!(".b{}", first.bits()),
    }
}
