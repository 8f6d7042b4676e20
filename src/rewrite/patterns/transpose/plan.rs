//! The part of a plan for loads and stores of structs: their text, and the multiversioned statements.

use super::stored::TransposeStores;
use super::structs::TransposeLoads;
use crate::reuse::transposition::Entry;
use std::ops::Range;

use super::fields::{FieldPlan, StoredFieldPlan, StoredPlan, StructPlan};
use super::{loads, stores};
use crate::cfg::{BlockId, InstId};
use crate::isa::Qualifier;
use crate::patterns::text::without_type;
use crate::reuse::{NoWrap, StoredValue};
use crate::rewrite::{Checks, Draft, KernelPlan, Mode, Part, Planner, WarpTest};

/// The loads of structs of one function.
#[derive(Debug)]
struct Loads(Vec<StructPlan>);

impl Part for Loads {
    fn linear_lanes(&self, _mode: Mode) -> bool {
        self.0.iter().any(|whole| whole.linear_lanes)
    }

    fn left_out(&self) -> Vec<Range<usize>> {
        let fields = self.0.iter().flat_map(|whole| &whole.fields[1..]);
        fields.map(|field| field.span.clone()).collect()
    }

    fn edits(
        &self,
        _plan: &KernelPlan<'_>,
        checks: &mut Checks<'_>,
        _mode: Mode,
        edits: &mut Vec<Draft>,
    ) {
        loads::edits(&self.0, checks, edits);
    }
}

/// The stores of structs of one function.
#[derive(Debug)]
struct Stores(Vec<StoredPlan>);

impl Part for Stores {
    fn no_wrap(&self, _mode: Mode) -> Vec<(BlockId, &[NoWrap])> {
        self.0.iter().map(|whole| (whole.test.block, &whole.test.no_wrap[..])).collect()
    }

    fn linear_lanes(&self, _mode: Mode) -> bool {
        self.0.iter().any(|whole| whole.linear_lanes)
    }

    fn edits(
        &self,
        plan: &KernelPlan<'_>,
        checks: &mut Checks<'_>,
        _mode: Mode,
        edits: &mut Vec<Draft>,
    ) {
        stores::edits(&self.0, plan, checks, edits);
    }
}

/// Plans the loads of structs that have been chosen.
pub(super) fn loads(
    groups: &[&TransposeLoads],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let with_entries = groups.iter().filter_map(|whole| Some((*whole, Entry::of(whole.words)?)));
    let (mut plans, mut tests) = (Vec::new(), Vec::new());
    for (whole, entry) in with_entries {
        plans.push(planner.struct_plan(whole, entry));
        let last = whole.fields.last().map_or(whole.place, |field| field.load.inst);
        let first = &whole.fields[0].load;
        let global = match first.generic {
            true if planted!(Bug::StructNotGlobal) => Vec::new(),
            true => planner.words((first.inst, whole.offset), (whole.words, whole.word_bits)),
            false => Vec::new(),
        };
        let (block, no_wrap) = (whole.block, whole.no_wrap.clone());
        let multiples = Vec::new();
        tests.push((last, WarpTest { block, place: whole.place, no_wrap, multiples, global }));
    }
    planner.add_warp_tests(tests);
    (!plans.is_empty()).then(|| Box::new(Loads(plans)) as Box<dyn Part>)
}

/// Plans the stores of structs that have been chosen.
pub(super) fn stores(
    groups: &[&TransposeStores],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let mut plans = Vec::new();
    for whole in groups {
        let Some(entry) = Entry::of(whole.words) else { continue };
        for check in &whole.no_wrap {
            let name = planner.name(check.register);
            planner.plan.registers.insert(check.register, name);
        }
        plans.extend(planner.stored_plan(whole, entry));
    }
    (!plans.is_empty()).then(|| Box::new(Stores(plans)) as Box<dyn Part>)
}

impl Planner<'_, '_, '_, '_> {
    /// The addresses of a struct's words, from an access to it and the bytes from there to its beginning: where they
    /// are generic, it is asked of each whether it is global.
    fn words(
        &self,
        (inst, offset): (InstId, i64),
        (words, bits): (u32, u32),
    ) -> Vec<(String, i64)> {
        let (base, added) = self.address_behind(inst, offset);
        let bytes = |word: u32| added.wrapping_add(i64::from(word * bits / 8));
        (0..words).map(|word| (base.clone(), bytes(word))).collect()
    }

    fn struct_plan(&self, whole: &TransposeLoads, entry: &'static Entry) -> StructPlan {
        let first = whole.fields[0].load.inst;
        let address = self.address_behind(first, whole.offset);
        let size = i64::from(whole.word_bits / 8);
        let fields = whole.fields.iter().map(|field| FieldPlan {
            span: self.flow.insts[field.load.inst].ast.span.range(),
            registers: field
                .load
                .elements
                .iter()
                .map(|element| {
                    (self.name(element.register), field.word + (element.offset / size) as u32)
                })
                .collect(),
        });
        StructPlan {
            opcode: without_type(self.flow.insts[first].ast.opcode.text),
            address,
            word_bits: whole.word_bits,
            read_only: self.flow.insts[first].ast.form.has(Qualifier::Nc),
            fields: fields.collect(),
            place: whole.place,
            linear_lanes: whole.linear_lanes,
            entry,
        }
    }

    fn stored_plan(&self, whole: &TransposeStores, entry: &'static Entry) -> Option<StoredPlan> {
        let (first, last) = (whole.fields.first()?.inst, whole.fields.last()?.inst);
        let address = self.address_behind(last, whole.offset);
        let value = |value: &StoredValue| match value {
            StoredValue::Register(register) => self.name(*register),
            StoredValue::Bits(bits) => format!("{bits:#x}"),
        };
        let fields = whole.fields.iter().map(|field| StoredFieldPlan {
            span: self.flow.insts[field.inst].ast.span.range(),
            values: (field.word, field.values.iter().map(value).collect()),
        });
        Some(StoredPlan {
            opcode: without_type(self.flow.insts[first].ast.opcode.text),
            address,
            word_bits: whole.word_bits,
            fields: fields.collect(),
            test: WarpTest {
                block: whole.block,
                place: first,
                no_wrap: whole.no_wrap.clone(),
                multiples: Vec::new(),
                global: match whole.request.generic {
                    true if planted!(Bug::StoreNotGlobal) => Vec::new(),
                    true => self.words((first, whole.begin), (whole.words, whole.word_bits)),
                    false => Vec::new(),
                },
            },
            linear_lanes: whole.linear_lanes,
            entry,
        })
    }
}
