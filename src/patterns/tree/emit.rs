//! The code of a tree's last steps by one warp.
//!
//! In front of the first step's branch, all threads of the block take the new code or none: where blocks have one row of at
//! least a warp, and a loop is in the iteration with the right stride. There the first warp loads what the steps read,
//! exchanges it by shuffles and combines it by the instructions of the steps themselves, in the lanes below the stride alone; it
//! stores the results. All threads go on where those of the last step meet, in front of its barrier, or behind the loop.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::search::{FIRST, Plan, Tree};
use super::step::{Part, Step};
use crate::cfg::RegisterId;
use crate::emulate::definitions;
use crate::rewrite::{Draft, Planner, Prepared};

/// The registers of one array in the new code.
struct Held {
    /// The thread's own element.
    value: String,
    /// The other element.
    other: String,
    bits: u32,
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the test of the shape of blocks at the head of the kernel; gives the predicate that holds if they have one
    /// row of at least a warp.
    pub(super) fn one_row(&mut self, prepared: &mut Prepared) -> Option<String> {
        let [x, y, z] = [(); 3].map(|()| self.plan.fresh.word());
        let [rows, layers, holds] = [(); 3].map(|()| self.plan.fresh.predicate());
        let first = self.flow.insts.iter().find(|inst| !inst.pragma)?;
        let mut code = format!("mov.u32 {x}, %ntid.x;\n\t");
        if planted!(Bug::TreeUntested) {
            let _ = write!(code, "setp.ge.u32 {holds}, {x}, 1;\n\t");
        } else {
            let _ = write!(
                code,
                "mov.u32 {y}, %ntid.y;\n\tmov.u32 {z}, %ntid.z;\n\tsetp.eq.u32 {rows}, {y}, 1;\n\t\
                 setp.eq.and.u32 {layers}, {z}, 1, {rows};\n\t\
                 setp.ge.and.u32 {holds}, {x}, 32, {layers};\n\t"
            );
        }
        let place = first.ast.span.start as usize;
        prepared.drafts.push(Draft::insert(place, code));
        Some(holds)
    }

    /// Adds the code for a tree.
    pub(super) fn tree(
        &mut self,
        tree: &Tree,
        plan: &Plan,
        one_row: &str,
        prepared: &mut Prepared,
    ) {
        let mut code = String::new();
        let [old, join] = self.plan.fresh.labels();
        let taken = match plan.begins {
            None => one_row.to_owned(),
            Some(set) => {
                let taken = self.plan.fresh.predicate();
                let register = self.name(set.register);
                let value = set.value;
                let _ =
                    write!(code, "setp.eq.and.u32 {taken}, {register}, {value}, {one_row};\n\t");
                taken
            }
        };
        let _ = write!(code, "@!{taken} bra {old};\n\t");
        self.by_first_warp(plan, &join, &mut code);
        let _ = write!(code, "\n{join}:\n\t");
        for set in plan.sets.iter().filter(|_| !planted!(Bug::TreeUnset)) {
            let _ = write!(code, "mov.b32 {}, {};\n\t", self.name(set.register), set.value);
        }
        if let Some(barrier) = plan.barrier.filter(|_| !planted!(Bug::TreeOpen)) {
            let copied = self.plan.copied(self.span(barrier));
            let _ = write!(code, "{copied}\n\t");
        }
        let Some(label) = self.behind(plan, prepared) else { return };
        let _ = write!(code, "bra.uni {label};\n{old}:\n\t");
        prepared.drafts.push(Draft::insert(self.span(tree.branch).start, code));
    }

    /// The label where all threads go on: that of the last step's branch, or a new one behind the loop.
    fn behind(&mut self, plan: &Plan, prepared: &mut Prepared) -> Option<String> {
        if plan.begins.is_none() {
            let (last, _) = plan.steps.last()?;
            return self.label(self.flow.block(last.guard).end - 1);
        }
        let [_, behind] = self.plan.fresh.labels();
        let place = self.span(self.flow.block(plan.behind).first).start;
        prepared.drafts.push(Draft::insert(place, format!("\n{behind}:\n\t")));
        Some(behind)
    }

    /// Adds the code of the first warp; the others go to `join`.
    fn by_first_warp(&mut self, plan: &Plan, join: &str, code: &mut String) {
        let Some((first, stride)) = plan.steps.first() else { return };
        let thread = match plan.thread {
            Some(register) => self.name(register),
            None => {
                let thread = self.plan.fresh.word();
                let _ = write!(code, "mov.u32 {thread}, %tid.x;\n\t");
                thread
            }
        };
        let (others, below) = (self.plan.fresh.predicate(), self.plan.fresh.predicate());
        let _ = write!(code, "setp.gt.u32 {others}, {thread}, 31;\n\t@{others} bra {join};\n\t");
        for at in &first.addresses {
            let copied = self.plan.copied(self.span(*at));
            let _ = write!(code, "{copied}\n\t");
        }
        let held: Vec<Held> = first.parts.iter().map(|part| self.held(part)).collect();
        self.loads(first, *stride, &held, code);
        let steps = plan.steps.len() - usize::from(planted!(Bug::TreeStepLost));
        let is_wide = held.iter().any(|one| one.bits == 64);
        let halves = is_wide.then(|| [(); 4].map(|()| self.plan.fresh.word()));
        for (step, stride) in &plan.steps[..steps] {
            let guard = match *stride == FIRST[0] {
                true => None,
                false => {
                    let by = if planted!(Bug::TreeNear) { stride.div_ceil(2) } else { *stride };
                    held.iter().for_each(|one| shuffled(one, by, halves.as_ref(), code));
                    let most = if planted!(Bug::TreeWide) { stride + 1 } else { *stride };
                    let _ = write!(code, "setp.lt.u32 {below}, {thread}, {most};\n\t");
                    (!planted!(Bug::TreeUnguarded)).then_some(&below)
                }
            };
            self.combined(step, first, &held, guard, code);
        }
        if !planted!(Bug::TreeUnstored) {
            self.stores(first, *stride, &held, (&thread, &below), code);
        }
    }

    /// The registers for an array: a value that the steps keep in a register stays there.
    fn held(&mut self, part: &Part) -> Held {
        let bits = 8 * part.bytes as u32;
        let value = match part.carried {
            true => self.name(part.stored),
            false => self.plan.fresh.bits(bits),
        };
        Held { value, other: self.plan.fresh.bits(bits), bits }
    }

    /// The loads of the first step: of a stride of a warp's width the other elements, too.
    fn loads(&self, first: &Step, stride: u64, held: &[Held], code: &mut String) {
        for (part, one) in first.parts.iter().zip(held) {
            let own = part.load.map(|at| (at, &one.value));
            let other = (stride == FIRST[0]).then_some((part.other, &one.other));
            for (at, to) in own.into_iter().chain(other) {
                let (base, offset) = self.address(at);
                let _ = write!(code, "ld.shared.b{} {to}, [{base}+{offset}];\n\t", one.bits);
            }
        }
    }

    /// The stores of all elements that the steps have changed.
    fn stores(
        &self,
        first: &Step,
        stride: u64,
        held: &[Held],
        (thread, below): (&str, &str),
        code: &mut String,
    ) {
        let mut guard = String::new();
        if stride != FIRST[0] || planted!(Bug::TreeHalfStored) {
            let most = if planted!(Bug::TreeHalfStored) { stride / 2 } else { stride };
            let _ = write!(code, "setp.lt.u32 {below}, {thread}, {most};\n\t");
            guard = format!("@{below} ");
        }
        for (part, one) in first.parts.iter().zip(held) {
            let (base, offset) = self.address(part.store);
            let Held { value, bits, .. } = one;
            let _ = write!(code, "{guard}st.shared.b{bits} [{base}+{offset}], {value};\n\t");
        }
    }

    /// The instructions of a step that combine its elements, under a predicate where they give an element its new value.
    fn combined(
        &self,
        step: &Step,
        first: &Step,
        held: &[Held],
        guard: Option<&String>,
        code: &mut String,
    ) {
        let mut names: FxHashMap<&str, String> = FxHashMap::default();
        let mut results: Vec<RegisterId> = Vec::new();
        let named = |register: RegisterId| self.flow.registers[register.0 as usize].name;
        for part in &step.parts {
            let Some(at) = first.parts.iter().position(|one| one.own == part.own) else { continue };
            let mut of_load = |load: u32, to: &String| {
                for register in definitions(&self.flow.insts[load as usize]) {
                    names.insert(named(register), to.clone());
                }
            };
            part.load.iter().for_each(|load| of_load(*load, &held[at].value));
            of_load(part.other, &held[at].other);
            names.insert(named(part.stored), held[at].value.clone());
            results.push(part.stored);
        }
        for at in &step.operations {
            let inst = &self.flow.insts[*at as usize];
            let gives = definitions(inst).iter().any(|register| results.contains(register));
            if let Some(guard) = guard.filter(|_| gives) {
                let _ = write!(code, "@{guard} ");
            }
            let range = inst.ast.opcode.span.start as usize..inst.ast.span.end as usize;
            let copied = self.plan.copied_with(range, |name| names.get(name).cloned());
            let _ = write!(code, "{copied}\n\t");
        }
    }
}

/// The shuffles of one array.
fn shuffled(one: &Held, by: u64, halves: Option<&[String; 4]>, code: &mut String) {
    let Held { value, other, bits } = one;
    let _ = match halves.filter(|_| *bits == 64) {
        Some([low, high, from_low, from_high]) => {
            write!(
                code,
                "mov.b64 {{{low}, {high}}}, {value};\n\t\
                 shfl.sync.down.b32 {from_low}, {low}, {by}, 31, -1;\n\t\
                 shfl.sync.down.b32 {from_high}, {high}, {by}, 31, -1;\n\t\
                 mov.b64 {other}, {{{from_low}, {from_high}}};\n\t"
            )
        }
        None => write!(code, "shfl.sync.down.b32 {other}, {value}, {by}, 31, -1;\n\t"),
    };
}
