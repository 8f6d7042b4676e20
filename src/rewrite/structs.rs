//! The part of a plan for loads and stores of structs: their text, and which statements stand twice.

use std::ops::Range;

use super::fields::{FieldPlan, StoredFieldPlan, StoredPlan, StructPlan};
use super::plan::Planner;
use super::taps::WarpTest;
use super::vectors::without_type;
use crate::isa::Qualifier;
use crate::planted::Bug;

use crate::reuse::transposition::Entry;
use crate::reuse::{StoredValue, StructLoads, StructStores};
use crate::select::{Choice, Verdict};

impl Planner<'_, '_, '_, '_> {
    /// Plans the structs that have been chosen.
    pub(super) fn structs(&mut self, choice: &Choice) {
        let wanted = choice.chosen(|verdict| match verdict {
            Verdict::Aos(whole) => Some(*whole),
            _ => None,
        });
        // Structs tested for at one place follow each other.
        let mut open: Option<(Range<u32>, WarpTest)> = None;
        for at in wanted {
            let whole = &choice.structs[at];
            let Some(entry) = Entry::of(whole.words) else { continue };
            let plan = self.struct_plan(whole, entry);
            self.plan.structs.push(plan);
            for check in &whole.no_wrap {
                let name = self.name(check.register);
                self.plan.registers.insert(check.register, name);
            }
            let last = whole.fields.last().map_or(whole.place, |field| field.load.inst);
            let first = &whole.fields[0].load;
            let global = match first.generic {
                true if self.plan.planted.has(Bug::StructNotGlobal) => Vec::new(),
                true => self.words((first.inst, whole.offset), (whole.words, whole.word_bits)),
                false => Vec::new(),
            };
            match &mut open {
                Some((range, test)) if range.start == whole.place => {
                    range.end = range.end.max(last + 1);
                    test.no_wrap.extend(&whole.no_wrap);
                    test.global.extend(global);
                }
                _ => {
                    let (block, no_wrap) = (whole.block, whole.no_wrap.clone());
                    let multiples = Vec::new();
                    let test = WarpTest { block, place: whole.place, no_wrap, multiples, global };
                    let before = open.replace((whole.place..last + 1, test));
                    self.add_version(before);
                }
            }
        }
        self.add_version(open);
    }

    /// The addresses of a struct's words, from an access to it and the bytes from there to its beginning: where they
    /// are generic, it is asked of each whether it is global.
    fn words(&self, (inst, offset): (u32, i64), (words, bits): (u32, u32)) -> Vec<(String, i64)> {
        let (base, added) = self.address(inst);
        let bytes = |word: u32| added + offset + i64::from(word * bits / 8);
        (0..words).map(|word| (base.clone(), bytes(word))).collect()
    }

    fn struct_plan(&self, whole: &StructLoads, entry: &'static Entry) -> StructPlan {
        let first = whole.fields[0].load.inst;
        let (base, offset) = self.address(first);
        let size = i64::from(whole.word_bits / 8);
        let fields = whole.fields.iter().map(|field| FieldPlan {
            span: self.flow.insts[field.load.inst as usize].ast.span.range(),
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
            opcode: without_type(self.flow.insts[first as usize].ast.opcode.text),
            address: (base, offset + whole.offset),
            word_bits: whole.word_bits,
            read_only: self.flow.insts[first as usize].ast.form.has(Qualifier::Nc),
            fields: fields.collect(),
            place: whole.place,
            linear_lanes: whole.linear_lanes,
            entry,
        }
    }

    /// Plans the structs whose stores have been chosen.
    pub(super) fn stores(&mut self, choice: &Choice) {
        for found in choice.stores.iter().filter(|found| found.refusal.is_none()) {
            let whole = &found.whole;
            let Some(entry) = Entry::of(whole.words) else { continue };
            for check in &whole.no_wrap {
                let name = self.name(check.register);
                self.plan.registers.insert(check.register, name);
            }
            let plan = self.stored_plan(whole, entry);
            self.plan.stores.extend(plan);
        }
    }

    fn stored_plan(&self, whole: &StructStores, entry: &'static Entry) -> Option<StoredPlan> {
        let (first, last) = (whole.fields.first()?.inst, whole.fields.last()?.inst);
        let (base, offset) = self.address(last);
        let value = |value: &StoredValue| match value {
            StoredValue::Register(register) => self.name(*register),
            StoredValue::Bits(bits) => format!("{bits:#x}"),
        };
        let fields = whole.fields.iter().map(|field| StoredFieldPlan {
            span: self.flow.insts[field.inst as usize].ast.span.range(),
            values: (field.word, field.values.iter().map(value).collect()),
        });
        Some(StoredPlan {
            opcode: without_type(self.flow.insts[first as usize].ast.opcode.text),
            address: (base, offset + whole.offset),
            word_bits: whole.word_bits,
            fields: fields.collect(),
            test: WarpTest {
                block: whole.block,
                place: first,
                no_wrap: whole.no_wrap.clone(),
                multiples: Vec::new(),
                global: match whole.request.generic {
                    true if self.plan.planted.has(Bug::StoreNotGlobal) => Vec::new(),
                    true => self.words((first, whole.begin), (whole.words, whole.word_bits)),
                    false => Vec::new(),
                },
            },
            linear_lanes: whole.linear_lanes,
            entry,
        })
    }
}
