//! The code of a tree's last steps by one warp.
//!
//! In front of the first step's branch, all threads of the block take the new code or none: where blocks have one row
//! of at least a warp, and a loop is in the iteration with the right stride. There the first warp loads the elements
//! that the steps read, exchanges them by shuffles and combines them by the instructions of the steps themselves, in
//! the lanes below the stride alone; it stores the results. All threads go on where those of the last step meet, in
//! front of its barrier, or behind the loop.

use std::fmt::{Display, Write as _};

use rustc_hash::FxHashMap;

use super::search::{FIRST, Plan, Tree};
use super::step::{Part, Step};
use crate::cfg::{InstId, RegisterId};
use crate::emulate::definitions;
use crate::isa::ScalarType;
use crate::ptx::write::{Code, Reg, op, vector};
use crate::rewrite::{Draft, Planner, Prepared};

/// The registers of one array in the new code.
struct Held {
    /// The thread's own element.
    value: String,
    /// The other element.
    other: Reg,
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the test of the shape of blocks at the head of the kernel; gives the predicate that holds if they have one
    /// row of at least a warp.
    pub(super) fn one_row(&mut self, prepared: &mut Prepared) -> Option<String> {
        let [x, y, z] = [(); 3].map(|()| self.plan.fresh.word());
        let [rows, layers, holds] = [(); 3].map(|()| self.plan.fresh.predicate());
        let first = self.flow.insts.iter().find(|inst| !inst.pragma)?;
        let mut code = Code::in_front();
        code.put(op!(Mov.U32), &[&x, &"%ntid.x"]);
        if planted!(Bug::TreeUntested) {
            code.put(op!(Setp.Ge.U32), &[&holds, &x, &1]);
        } else {
            code.put(op!(Mov.U32), &[&y, &"%ntid.y"]);
            code.put(op!(Mov.U32), &[&z, &"%ntid.z"]);
            code.put(op!(Setp.Eq.U32), &[&rows, &y, &1]);
            code.put(op!(Setp.Eq.And.U32), &[&layers, &z, &1, &rows]);
            code.put(op!(Setp.Ge.And.U32), &[&holds, &x, &32, &layers]);
        }
        let place = first.front;
        prepared.drafts.push(Draft::insert(place, code.text));
        Some(holds.into())
    }

    /// Adds the code for a tree.
    pub(super) fn tree(
        &mut self,
        tree: &Tree,
        plan: &Plan,
        one_row: &str,
        prepared: &mut Prepared,
    ) {
        let mut code = Code::in_front();
        let [old, join] = self.plan.fresh.labels();
        let taken = match plan.begins {
            None => one_row.to_owned(),
            Some(set) => {
                let (taken, register) = (self.plan.fresh.predicate(), self.name(set.register));
                let test: [&dyn Display; 3] = [&register, &set.value, &one_row];
                code.set(taken, op!(Setp.Eq.And.U32), &test).into()
            }
        };
        code.put_if(&format!("@!{taken} "), op!(Bra), &[&old]);
        self.by_first_warp(plan, &join, &mut code);
        let _ = write!(code.text, "\n{join}:\n\t");
        for set in plan.sets.iter().filter(|_| !planted!(Bug::TreeUnset)) {
            code.put(op!(Mov.B32), &[&self.name(set.register), &set.value]);
        }
        if let Some(barrier) = plan.barrier.filter(|_| !planted!(Bug::TreeOpen)) {
            let copied = self.plan.copied(self.span(barrier));
            let _ = write!(code.text, "{copied}\n\t");
        }
        let Some(label) = self.behind(plan, prepared) else { return };
        let _ = write!(code.text, "bra.uni {label};\n{old}:\n\t");
        prepared.drafts.push(Draft::insert(self.span(tree.branch).start, code.text));
    }

    /// The label where all threads go on: that of the last step's branch, or a new one behind the loop.
    fn behind(&mut self, plan: &Plan, prepared: &mut Prepared) -> Option<String> {
        if plan.begins.is_none() {
            let (last, _) = plan.steps.last()?;
            return self.label(self.flow.block(last.guard).end.before());
        }
        let [_, behind] = self.plan.fresh.labels();
        let place = self.span(self.flow.block(plan.behind).first).start;
        prepared.drafts.push(Draft::insert(place, format!("\n{behind}:\n\t")));
        Some(behind)
    }

    /// Adds the code of the first warp; the others go to `join`.
    fn by_first_warp(&mut self, plan: &Plan, join: &str, code: &mut Code) {
        let Some((first, stride)) = plan.steps.first() else { return };
        let thread = match plan.thread {
            Some(register) => self.name(register),
            None => code.set(self.plan.fresh.word(), op!(Mov.U32), &[&"%tid.x"]).into(),
        };
        let (others, below) = (self.plan.fresh.predicate(), self.plan.fresh.predicate());
        code.put(op!(Setp.Gt.U32), &[&others, &thread, &31]);
        code.put_if(&format!("@{others} "), op!(Bra), &[&join]);
        for at in &first.addresses {
            let copied = self.plan.copied(self.span(*at));
            let _ = write!(code.text, "{copied}\n\t");
        }
        let held: Vec<Held> = first.parts.iter().map(|part| self.held(part)).collect();
        self.loads(first, *stride, &held, code);
        let steps = plan.steps.len() - usize::from(planted!(Bug::TreeStepLost));
        let is_wide = held.iter().any(|one| one.other.ty.bits() == 64);
        let halves = is_wide.then(|| [(); 4].map(|()| self.plan.fresh.word()));
        for (step, stride) in &plan.steps[..steps] {
            let guard = match *stride == FIRST[0] {
                true => None,
                false => {
                    let by = if planted!(Bug::TreeNear) { stride.div_ceil(2) } else { *stride };
                    held.iter().for_each(|one| shuffled(one, by, halves.as_ref(), code));
                    let most = if planted!(Bug::TreeWide) { stride + 1 } else { *stride };
                    code.put(op!(Setp.Lt.U32), &[&below, &thread, &most]);
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
            false => self.plan.fresh.bits(bits).into(),
        };
        Held { value, other: self.plan.fresh.bits(bits) }
    }

    /// The loads of the first step: of a stride of a warp's width the other elements, too.
    fn loads(&self, first: &Step, stride: u64, held: &[Held], code: &mut Code) {
        for (part, one) in first.parts.iter().zip(held) {
            let own = part.load.map(|at| (at, &*one.value));
            let other = (stride == FIRST[0]).then_some((part.other, &*one.other));
            for (at, to) in own.into_iter().chain(other) {
                let (base, offset) = self.address(at);
                code.put(op!(Ld.Shared.(one.other.ty)), &[&to, &format!("[{base}+{offset}]")]);
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
        code: &mut Code,
    ) {
        let mut guard = String::new();
        if stride != FIRST[0] || planted!(Bug::TreeHalfStored) {
            let most = if planted!(Bug::TreeHalfStored) { stride / 2 } else { stride };
            code.put(op!(Setp.Lt.U32), &[&below, &thread, &most]);
            guard = format!("@{below} ");
        }
        for (part, one) in first.parts.iter().zip(held) {
            let (base, offset) = self.address(part.store);
            let store = op!(St.Shared.(one.other.ty));
            code.put_if(&guard, store, &[&format!("[{base}+{offset}]"), &one.value]);
        }
    }

    /// The instructions of a step that combine its elements, under a predicate where they give an element its new value.
    fn combined(
        &self,
        step: &Step,
        first: &Step,
        held: &[Held],
        guard: Option<&Reg>,
        code: &mut Code,
    ) {
        let mut names: FxHashMap<RegisterId, String> = FxHashMap::default();
        let mut results: Vec<RegisterId> = Vec::new();
        for part in &step.parts {
            let Some(at) = first.parts.iter().position(|one| one.own == part.own) else { continue };
            let mut of_load = |load: InstId, to: &str| {
                for register in definitions(&self.flow.insts[load]) {
                    names.insert(register, to.to_owned());
                }
            };
            part.load.iter().for_each(|load| of_load(*load, &held[at].value));
            of_load(part.other, &held[at].other);
            names.insert(part.stored, held[at].value.clone());
            results.push(part.stored);
        }
        for at in &step.operations {
            let inst = &self.flow.insts[*at];
            let gives = definitions(inst).iter().any(|register| results.contains(register));
            if let Some(guard) = guard.filter(|_| gives) {
                let _ = write!(code.text, "@{guard} ");
            }
            let range = inst.ast.opcode.span.start as usize..inst.ast.span.end as usize;
            let copied = self.plan.copied_with_registers(range, &names);
            let _ = write!(code.text, "{copied}\n\t");
        }
    }
}

/// The shuffles of one array.
fn shuffled(one: &Held, by: u64, halves: Option<&[Reg; 4]>, code: &mut Code) {
    let Held { value, other } = one;
    let shuffle = |to: &Reg, from: &dyn Display, code: &mut Code| {
        code.put(op!(Shfl.Sync.Down.B32), &[to, from, &by, &31, &-1]);
    };
    match halves.filter(|_| other.ty == ScalarType::B64) {
        Some([low, high, from_low, from_high]) => {
            code.put(op!(Mov.B64), &[&vector(&[low, high]), value]);
            shuffle(from_low, low, code);
            shuffle(from_high, high, code);
            code.put(op!(Mov.B64), &[other, &vector(&[from_low, from_high])]);
        }
        None => shuffle(other, value, code),
    }
}
