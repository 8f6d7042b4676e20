//! The accesses to each array, if its address goes nowhere else.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::array::SharedArray;
use crate::cfg::{Arg, Base, EdgeCondition, Flow, Inst, InstId, RegisterId};
use crate::emulate::{Effect, definitions, effect, granule};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::StateSpace;
use crate::reuse::refusal::Refusal;
use crate::source::SourceFile;

/// The arrays that a value may be an address in: a bit for each, and one for all other variables.
type From = u64;

/// Other variables.
const OTHER: From = 1 << 63;

/// An address that is not one of these plus a number: it may be in any array.
const BENT: From = 1 << 62;

/// The most instructions that the constant of an address is made of.
const MAX_STEPS: usize = 16;

/// The scope of a function's outermost braces.
const BODY: u32 = 1;

/// The uses of the arrays of a function.
pub(super) struct Uses {
    /// For each array its accesses by instruction, in order, or why they are not all that happens to it.
    pub found: Vec<Result<Vec<InstId>, Refusal>>,
    /// The first instruction, with its line, that takes the address of one for anything but the address of an access.
    pub told: Option<(String, u32)>,
}

/// Looks at every instruction. `callee` is the line of an instruction of a function that may be called, if one addresses
/// shared memory by a number.
pub(super) fn uses(
    source: &SourceFile,
    flow: &Flow<'_, '_>,
    arrays: &[SharedArray],
    callee: Option<u32>,
) -> Uses {
    let found = vec![Ok(Vec::new()); arrays.len()];
    let mut only = ti_vec![None; flow.registers.len()];
    let mut several = ti_vec![false; flow.registers.len()];
    for (at, inst) in flow.insts.iter_enumerated() {
        for register in definitions(inst) {
            several[register] |= only[register].is_some();
            only[register] = Some(at).filter(|_| !several[register]);
        }
    }
    let mut uses = Search { arrays, only, found, told: None };
    if arrays.len() >= 62 {
        let told = Some((format!("{} arrays", arrays.len()), 0));
        return Uses { found: vec![Err(Refusal::Budget); arrays.len()], told };
    }
    let from = uses.sources(flow);
    let line = |inst: &Inst<'_, '_>| source.line(inst.ast.span.start);
    for (at, inst) in flow.insts.iter_enumerated() {
        uses.look_at((flow, &from), at, inst, line(inst));
    }
    for block in flow.block_ids() {
        let last = &flow.insts[flow.block(block).instructions().end.before()];
        for edge in &flow.block(block).successors {
            if let EdgeCondition::Predicate(register, _) = edge.condition {
                uses.tell(from[register], last, line(last));
            }
        }
    }
    if let Some(line) = callee {
        let refusal = |_| Err(Refusal::ArrayEscapes("call".to_owned(), line));
        uses.found = uses.found.into_iter().map(|found| found.and_then(refusal)).collect();
    }
    let told = uses.told.filter(|_| !planted!(Bug::ArrayEscapes));
    Uses { found: uses.found, told }
}

struct Search<'a> {
    arrays: &'a [SharedArray],
    /// The instruction that writes a register, if it is one alone.
    only: TiVec<RegisterId, Option<InstId>>,
    found: Vec<Result<Vec<InstId>, Refusal>>,
    told: Option<(String, u32)>,
}

impl Search<'_> {
    fn variable(&self, name: &str, local: Option<u32>) -> From {
        let is_declared = |array: &SharedArray| match array.is_of_module {
            true => local.is_none(),
            false => local == Some(BODY),
        };
        match self.arrays.iter().position(|array| array.name == name && is_declared(array)) {
            Some(index) => 1 << index,
            None => OTHER,
        }
    }

    fn base(&self, base: Base<'_>, from: &TiSlice<RegisterId, From>) -> From {
        match base {
            Base::Register(register) => from[register],
            Base::Symbol { name, local } => self.variable(name, local),
            Base::Absolute => 0,
        }
    }

    fn operand(&self, arg: &Arg<'_>, from: &TiSlice<RegisterId, From>) -> From {
        let all = |args: &[Arg<'_>]| args.iter().fold(0, |all, one| all | self.operand(one, from));
        let of = |register: &RegisterId| from[*register];
        match arg {
            Arg::Register(r) | Arg::Not(r) | Arg::Modified(r) | Arg::Sum(r, _) => of(r),
            Arg::Symbol { name, local, .. } => self.variable(name, *local),
            Arg::Vector(args) => all(args),
            Arg::Pair(args) => all(&args[..]),
            Arg::Memory { base, rest, .. } => all(rest) | self.base(*base, from),
            Arg::Special(_) | Arg::Constant(_) | Arg::Sink => 0,
        }
    }

    /// For each register the arrays that it may hold an address in, wherever it is written. No address is ever in
    /// memory, so nothing that is loaded is one.
    fn sources(&self, flow: &Flow<'_, '_>) -> TiVec<RegisterId, From> {
        let mut from = ti_vec![0; flow.registers.len()];
        loop {
            let mut news = false;
            let reads_memory = |inst: &&Inst<'_, '_>| {
                matches!(effect(inst), Effect::Load | Effect::Atomic) || granule(inst).is_some()
            };
            for inst in flow.insts.iter().filter(|inst| !reads_memory(inst)) {
                let all = self.made_of(inst, &from);
                for register in definitions(inst) {
                    let known = &mut from[register];
                    news |= *known | all != *known;
                    *known |= all;
                }
            }
            if !news {
                return from;
            }
        }
    }

    /// The arrays that a result may be an address in. Gaps and swizzles move an address by bits of its own.
    fn made_of(&self, inst: &Inst<'_, '_>, from: &TiSlice<RegisterId, From>) -> From {
        let all = inst.args.iter().fold(0, |all, arg| all | self.operand(arg, from));
        let is_whole = |at: usize| {
            let own = inst.args.get(at).map_or(0, |arg| self.operand(arg, from));
            own != 0 && own & BENT == 0
        };
        let is_sum = match inst.ast.form.opcode {
            Opcode::Mov | Opcode::Cvt | Opcode::Cvta | Opcode::Selp | Opcode::Setp => return all,
            Opcode::Add | Opcode::Or | Opcode::Xor => is_whole(1) || is_whole(2),
            Opcode::Sub => is_whole(1) && !is_whole(2),
            Opcode::Mad | Opcode::Mad24 => is_whole(3) && !is_whole(1) && !is_whole(2),
            _ => false,
        };
        // (A register that is written anew in terms of itself is an address only later, mostly.)
        let own = definitions(inst);
        let is_other = |arg: &Arg<'_>| !matches!(arg, Arg::Register(one) if own.contains(one));
        let others = inst.args.iter().filter(|arg| is_other(arg));
        match others.fold(0, |all, arg| all | self.operand(arg, from)) {
            _ if is_sum => all & !BENT,
            0 => all,
            _ => all | BENT,
        }
    }

    /// Whether an address lies outside of its array for certain: it is the array's plus a constant.
    fn leaves<'s>(&self, flow: &Flow<'_, 's>, mut base: Base<'s>, mut offset: i64) -> bool {
        for _ in 0..MAX_STEPS {
            let register = match base {
                Base::Symbol { name, local } => {
                    let array = self.variable(name, local).trailing_zeros() as usize;
                    let is_outside = |array: &SharedArray| {
                        offset < 0 || !array.is_dynamic && offset as u64 >= array.bytes
                    };
                    return self.arrays.get(array).is_some_and(is_outside);
                }
                Base::Register(register) => register,
                Base::Absolute => return false,
            };
            let Some(at) = self.only[register] else { return false };
            let inst = &flow.insts[at];
            match (inst.ast.form.opcode, &inst.args[..], inst.guard) {
                (
                    Opcode::Mov,
                    &[_, Arg::Symbol { name, local, indexed: false, offset: by }],
                    None,
                ) => {
                    base = Base::Symbol { name, local };
                    offset = offset.wrapping_add(by);
                }
                (Opcode::Mov | Opcode::Cvta, &[_, Arg::Register(from)], None) => {
                    base = Base::Register(from);
                }
                (Opcode::Add, &[_, Arg::Register(from), Arg::Constant(by)], None) => {
                    let Some(by) = by.as_integer() else { return false };
                    base = Base::Register(from);
                    offset = offset.wrapping_add(by);
                }
                _ => return false,
            }
        }
        false
    }

    /// Refuses arrays whose address is a value that an instruction takes.
    fn tell(&mut self, from: From, inst: &Inst<'_, '_>, line: u32) {
        if from & !OTHER != 0 {
            self.told.get_or_insert_with(|| (inst.ast.opcode.text.to_owned(), line));
        }
        self.refuse(from, inst, line);
    }

    /// Refuses arrays whose address goes to an instruction.
    fn refuse(&mut self, from: From, inst: &Inst<'_, '_>, line: u32) {
        if planted!(Bug::ArrayEscapes) {
            return;
        }
        for (index, found) in self.found.iter_mut().enumerate() {
            if from & 1 << index != 0 && found.is_ok() {
                let opcode = inst.ast.opcode.text.to_owned();
                *found = Err(Refusal::ArrayEscapes(opcode, line));
            }
        }
    }

    /// Refuses everything where a generic address is made that may be one in any array.
    fn look_at_window(&mut self, from: &TiSlice<RegisterId, From>, inst: &Inst<'_, '_>, line: u32) {
        let form = &inst.ast.form;
        let is_made = form.opcode == Opcode::Cvta
            && form.space() == StateSpace::Shared
            && !form.has(Qualifier::To);
        let made_of = inst.args.get(1).map_or(0, |arg| self.operand(arg, from));
        if is_made && (made_of == 0 || made_of & BENT != 0) {
            self.refuse(!0, inst, line);
        }
    }

    fn look_at<'s>(
        &mut self,
        (flow, from): (&Flow<'_, 's>, &TiSlice<RegisterId, From>),
        at: InstId,
        inst: &Inst<'_, 's>,
        line: u32,
    ) {
        let everything = !0;
        if let Some((register, _)) = inst.guard {
            self.tell(from[register], inst, line);
        }
        let effect = effect(inst);
        let form = &inst.ast.form;
        let place = match effect {
            Effect::Load => Some(1),
            Effect::Store => Some(0),
            Effect::Atomic if matches!(form.opcode, Opcode::Atom | Opcode::Red) => {
                Some(usize::from(form.opcode == Opcode::Atom))
            }
            _ => granule(inst).map(|granule| granule.operand),
        };
        // The other operand of a copy is in global memory.
        let is_copy = form.opcode == Opcode::Cp && granule(inst).is_some();
        for (index, arg) in inst.args.iter().enumerate() {
            let in_shared = form.space() == StateSpace::Shared && !(is_copy && index == 1);
            match arg {
                Arg::Memory { base, offset, rest } if in_shared => {
                    let array = self.base(*base, from);
                    let plain = place == Some(index) && rest.is_empty();
                    let leaves = self.leaves(flow, *base, *offset);
                    if array == 0 || !array.is_power_of_two() || leaves {
                        self.refuse(everything, inst, line);
                    } else if array != OTHER && !plain {
                        self.refuse(array, inst, line);
                    } else if array != OTHER
                        && let Ok(uses) = &mut self.found[array.trailing_zeros() as usize]
                    {
                        uses.push(at);
                    }
                }
                // A generic address, or one of another window.
                Arg::Memory { base, offset, .. }
                    if self.base(*base, from) & BENT != 0 || self.leaves(flow, *base, *offset) =>
                {
                    self.refuse(everything, inst, line);
                }
                // An element by its number: its address is not the array's own plus a number of bytes.
                Arg::Symbol { indexed: true, .. } => self.tell(self.operand(arg, from), inst, line),
                _ if effect == Effect::Pure => {}
                _ => self.tell(self.operand(arg, from), inst, line),
            }
        }
        self.look_at_window(from, inst, line);
        // These access shared memory in ways of their own.
        let other = matches!(
            form.opcode,
            Opcode::Cp
                | Opcode::Ldmatrix
                | Opcode::Stmatrix
                | Opcode::Wmma
                | Opcode::Wgmma
                | Opcode::Tcgen05
                | Opcode::Mbarrier
                | Opcode::Mapa
                | Opcode::Multimem
                | Opcode::Unknown
        );
        // Instructions that wait for copies have no address.
        let has_address = inst.args.iter().any(|arg| matches!(arg, Arg::Memory { .. }));
        let waits = form.opcode == Opcode::Cp && form.has(Qualifier::Async) && !has_address;
        if other && !waits && granule(inst).is_none() {
            self.refuse(everything, inst, line);
        }
    }
}
