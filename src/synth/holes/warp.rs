//! One warp executes a kernel, over [`Nodes`].
//!
//! In: a kernel's control flow. Out: the final contents of every buffer, and the calls of holes. Promised: an
//! unsupported instruction is an error with its place, never skipped.
//!
//! Minimum-PC scheduling: diverged lanes reconverge at the earliest common instruction. A forward branch that depends
//! on loaded data or a hole is if-converted: the code between it and its target is executed, and the target selects
//! between the old and the new registers.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

use super::hole::Holes;
use super::node::{Buffer, Id, Nodes, UNDEFINED, Unsupported};
use crate::cfg::{Arg, Base, Flow, Inst, InstId, RegisterId};
use crate::isa::{Axis, Form, Opcode, Qualifier as Q, ScalarType, Special, StateSpace};
use crate::ptx::{Function, Value};
use crate::source::{Diagnostic, SourceFile};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A lane that has left.
const GONE: InstId = InstId(u32::MAX);

/// Instructions that a warp executes at most.
const MOST_STEPS: u64 = 1 << 20;

/// The memory that a warp wrote: for each place the number of bytes and their value.
pub(super) type Memory = BTreeMap<(Buffer, i64), (u8, Id)>;

/// The outcome.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The stored values.
    pub memory: Memory,
    /// The calls of holes.
    pub holes: Holes,
    /// Executed instructions.
    pub steps: u64,
    /// Buffers that nobody sees in the end.
    pub private: BTreeSet<Buffer>,
}

impl Outcome {
    /// The final contents of buffers that are visible outside: place, bytes and node.
    pub(super) fn results(&self) -> impl Iterator<Item = ((Buffer, i64), (u8, Id))> {
        let seen = self.memory.iter().filter(|((buffer, _), _)| !self.private.contains(buffer));
        seen.map(|(place, held)| (*place, *held))
    }
}

/// Code that a lane executes although it may not come to it.
#[derive(Debug)]
struct Doubtful {
    /// Where it ends.
    end: InstId,
    /// Whether the lane comes to it.
    guard: Id,
    /// The values of registers before.
    before: BTreeMap<RegisterId, Id>,
}

pub(super) struct Warp<'w, 'm, 's> {
    pub(super) source: &'w SourceFile,
    pub(super) function: &'m Function<'s>,
    pub(super) flow: &'w Flow<'m, 's>,
    pub(super) nodes: &'w mut Nodes,
    registers: TiVec<RegisterId, [Id; LANES]>,
    at: [InstId; LANES],
    doubtful: Vec<Vec<Doubtful>>,
    pub(super) out: Outcome,
    /// Parameters of calls: name, scope, bytes.
    parameters: FxHashMap<(&'s str, Option<u32>, i64), [Id; LANES]>,
    not: Form,
    select: Form,
}

/// A step of the execution.
pub(super) type Done<T = ()> = Result<T, Diagnostic>;

/// Executes a kernel for one warp.
///
/// # Errors
/// Something in it is not understood.
pub(super) fn execute<'m, 's>(
    source: &SourceFile,
    function: &'m Function<'s>,
    flow: &Flow<'m, 's>,
    nodes: &mut Nodes,
) -> Result<Outcome, Diagnostic> {
    let mut warp = Warp {
        source,
        function,
        flow,
        nodes,
        registers: ti_vec![[UNDEFINED; LANES]; flow.registers.len()],
        at: [InstId(0); LANES],
        doubtful: (0..LANES).map(|_| Vec::new()).collect(),
        out: Outcome::default(),
        parameters: FxHashMap::default(),
        not: Form::of("not.pred"),
        select: Form::of("selp.b64"),
    };
    warp.run()?;
    Ok(warp.out)
}

impl<'s> Warp<'_, '_, 's> {
    pub(super) fn error(&self, inst: &Inst<'_, '_>, message: impl Into<String>) -> Diagnostic {
        self.source.diagnostic(inst.ast.span, message)
    }

    pub(super) fn unknown(&self, inst: &Inst<'_, '_>) -> Diagnostic {
        let opcode = inst.ast.opcode.text;
        self.error(inst, format!("`{opcode}` is not understood in a kernel with holes"))
    }

    fn unsupported(&self, inst: &Inst<'_, '_>, unsupported: Unsupported) -> Diagnostic {
        match unsupported {
            Unsupported::Instruction => self.unknown(inst),
            Unsupported::TooManyNodes => {
                self.error(inst, "the kernel is too large for its holes to be filled")
            }
        }
    }

    fn run(&mut self) -> Done {
        loop {
            let at = self.at.iter().copied().min().unwrap_or(GONE);
            let Some(inst) = self.flow.insts.get(at) else { return Ok(()) };
            let lanes: Vec<usize> = (0..LANES).filter(|&lane| self.at[lane] == at).collect();
            self.out.steps += 1;
            if self.out.steps > MOST_STEPS {
                return Err(self.unsupported(inst, Unsupported::TooManyNodes));
            }
            for &lane in &lanes {
                self.finish(at, inst, lane)?;
                self.at[lane] = at.next();
            }
            self.one(at, inst, &lanes)?;
        }
    }

    /// Ends the doubtful code of a lane that ends here.
    fn finish(&mut self, at: InstId, inst: &Inst<'_, '_>, lane: usize) -> Done {
        while self.doubtful[lane].last().is_some_and(|own| own.end <= at) {
            let Some(Doubtful { guard, before, .. }) = self.doubtful[lane].pop() else { break };
            for (register, old) in before {
                let new = self.registers[register][lane];
                let value = self.chosen(inst, new, old, guard)?;
                self.set(register, lane, value);
            }
        }
        Ok(())
    }

    fn set(&mut self, register: RegisterId, lane: usize, value: Id) {
        let old = std::mem::replace(&mut self.registers[register][lane], value);
        if let Some(own) = self.doubtful[lane].last_mut() {
            own.before.entry(register).or_insert(old);
        }
    }

    fn chosen(&mut self, inst: &Inst<'_, '_>, new: Id, old: Id, guard: Id) -> Done<Id> {
        let select = self.select.clone();
        let chosen = self.nodes.apply(&select, "selp.b64", &[new, old, guard]);
        chosen.map_err(|why| self.unsupported(inst, why))
    }

    /// Executes an instruction in some lanes.
    fn one(&mut self, at: InstId, inst: &Inst<'_, 's>, lanes: &[usize]) -> Done {
        let mut guards = vec![None; LANES];
        let mut active = Vec::with_capacity(lanes.len());
        for &lane in lanes {
            let Some((register, negated)) = inst.guard else {
                active.push(lane);
                continue;
            };
            let guard = self.registers[register][lane];
            let guard = if negated { self.negated(inst, guard)? } else { guard };
            match self.nodes.value(guard) {
                Some(value) if value & 1 == 0 => {}
                Some(_) => active.push(lane),
                None => {
                    guards[lane] = Some(guard);
                    active.push(lane);
                }
            }
        }
        if active.is_empty() {
            return Ok(());
        }
        let opcode = inst.ast.form.opcode;
        let computes = !matches!(opcode, |Opcode::Ret| Opcode::Exit
            | Opcode::St
            | Opcode::Call
            | Opcode::Shfl
            | Opcode::Bar
            | Opcode::Barrier);
        let doubtful = active.iter().any(|&lane| !self.doubtful[lane].is_empty());
        let pure_call = opcode == Opcode::Call || Self::is_param(&inst.ast.form);
        if !computes && (guards.iter().any(Option::is_some) || doubtful && !pure_call) {
            let message =
                format!("whether `{opcode}` is executed depends on loaded data or a hole");
            let hint = "choose between values instead: `x = condition ? a : b`";
            return Err(self.error(inst, message).with_hint(hint));
        }
        match opcode {
            Opcode::Bra => {
                let Some(&target) = inst.targets.first() else { return Err(self.unknown(inst)) };
                active
                    .iter()
                    .try_for_each(|&lane| self.branch(at, inst, target, lane, guards[lane]))
            }
            Opcode::Ret | Opcode::Exit => {
                active.iter().for_each(|&lane| self.at[lane] = GONE);
                Ok(())
            }
            // Lanes run in lockstep, and the others see a store at once.
            Opcode::Bar | Opcode::Barrier | Opcode::Membar | Opcode::Fence => {
                let form = &inst.ast.form;
                if form.has_any(&[Q::Popc, Q::And, Q::Or]) {
                    Err(self.unknown(inst))
                } else {
                    Ok(())
                }
            }
            Opcode::St => self.store(inst, &active),
            Opcode::Ld => self.load(inst, &active, &guards),
            Opcode::Shfl => self.shuffle(inst, &active),
            Opcode::Call => self.call(at, inst, &active),
            _ => self.compute(inst, &active, &guards),
        }
    }

    fn negated(&mut self, inst: &Inst<'_, '_>, id: Id) -> Done<Id> {
        let not = self.not.clone();
        self.nodes.apply(&not, "not.pred", &[id]).map_err(|why| self.unsupported(inst, why))
    }

    pub(super) fn write(
        &mut self,
        inst: &Inst<'_, '_>,
        register: RegisterId,
        lane: usize,
        value: Id,
        guard: Option<Id>,
    ) -> Done {
        let old = self.registers[register][lane];
        let value = match guard {
            None => value,
            Some(guard) => self.chosen(inst, value, old, guard)?,
        };
        self.set(register, lane, value);
        Ok(())
    }

    /// A branch that a lane takes, or may take.
    fn branch(
        &mut self,
        at: InstId,
        inst: &Inst<'_, '_>,
        target: InstId,
        lane: usize,
        guard: Option<Id>,
    ) -> Done {
        let within = self.doubtful[lane].last().is_none_or(|own| at < target && target <= own.end);
        match guard {
            None if within => self.at[lane] = target,
            Some(guard) if within && at < target => {
                let guard = self.negated(inst, guard)?;
                self.doubtful[lane].push(Doubtful { end: target, guard, before: BTreeMap::new() });
            }
            _ => {
                let message = "where this branch leads depends on loaded data or a hole";
                let hint = "choose between values instead: `x = condition ? a : b`";
                return Err(self.error(inst, message).with_hint(hint));
            }
        }
        Ok(())
    }

    /// An operand in a lane; constants take the type that the instruction wants.
    pub(super) fn read(
        &mut self,
        inst: &Inst<'_, 's>,
        arg: &Arg<'s>,
        lane: usize,
        ty: ScalarType,
    ) -> Done<Id> {
        Ok(match arg {
            Arg::Register(register) => self.registers[*register][lane],
            Arg::Not(register) => {
                let value = self.registers[*register][lane];
                self.negated(inst, value)?
            }
            Arg::Constant(Value::Signed(i64::MIN) | Value::Unsigned(SIGN))
                if ty == ScalarType::Pred =>
            {
                let message = "assemblers differ about this constant as a predicate; write 0 or 1";
                return Err(self.error(inst, message));
            }
            Arg::Constant(value) => self.nodes.number(constant(*value, ty)),
            Arg::Special(special) => match self.special(*special, lane) {
                Some(value) => self.nodes.number(value),
                None => {
                    let message = "this special register is not understood in a kernel with holes";
                    return Err(self.error(inst, message));
                }
            },
            Arg::Symbol { name, offset, indexed: false, local } => {
                let buffer = self.variable(name, local.is_some(), lane);
                self.nodes.pointer(buffer, *offset)
            }
            Arg::Vector(elements) => match &elements[..] {
                [only] => self.read(inst, only, lane, ty)?,
                _ => return Err(self.unknown(inst)),
            },
            _ => return Err(self.unknown(inst)),
        })
    }

    /// The buffer that a variable is; one in local memory is another one in each lane.
    pub(super) fn variable(&mut self, name: &str, local: bool, lane: usize) -> Buffer {
        let mine = local && name.starts_with("__local_depot");
        let name = if mine { format!("{name} of lane {lane}") } else { name.to_owned() };
        self.nodes.buffer(&name)
    }

    fn special(&self, special: Special, lane: usize) -> Option<u64> {
        let mask = |set: u64| Some(set & 0xffff_ffff);
        match special {
            Special::Tid(Axis::X) | Special::Laneid => Some(lane as u64),
            Special::Tid(_) | Special::Ctaid(_) | Special::Warpid => Some(0),
            Special::Ntid(axis) => match self.function.extents("reqntid") {
                Some(extents) => Some(extents[axis.index()]),
                None => Some(if axis == Axis::X { LANES as u64 } else { 1 }),
            },
            Special::Nctaid(_) => Some(1),
            Special::WarpSize => Some(LANES as u64),
            Special::LanemaskEq => mask(1 << lane),
            Special::LanemaskLt => mask((1 << lane) - 1),
            Special::LanemaskLe => mask((2 << lane) - 1),
            Special::LanemaskGt => mask(!((2u64 << lane) - 1)),
            Special::LanemaskGe => mask(!((1u64 << lane) - 1)),
            _ => None,
        }
    }

    /// An instruction that computes registers from operands.
    fn compute(&mut self, inst: &Inst<'_, 's>, lanes: &[usize], guards: &[Option<Id>]) -> Done {
        let form = &inst.ast.form;
        let Some(ty) = form.first_type() else { return Err(self.unknown(inst)) };
        let ty = if form.opcode == Opcode::Cvt { form.last_type().unwrap_or(ty) } else { ty };
        let Some((to, from)) = inst.args.split_first() else { return Err(self.unknown(inst)) };
        if form.opcode == Opcode::Mov
            && let Some(done) = self.packed(inst, to, from, lanes, guards)
        {
            return done;
        }
        let Arg::Register(to) = to else { return Err(self.unknown(inst)) };
        for &lane in lanes {
            let mut args = Vec::with_capacity(from.len());
            for (place, arg) in from.iter().enumerate() {
                // A comparison's or selection's last operand is a predicate; a wide sum has a wide summand.
                let own = match (form.opcode, place) {
                    (Opcode::Mad, 2) if form.has(Q::Wide) => ScalarType::B64,
                    (Opcode::Shl | Opcode::Shr, 1) => ScalarType::B32,
                    (Opcode::Selp | Opcode::Setp | Opcode::Set, 2) => ScalarType::Pred,
                    _ => ty,
                };
                args.push(self.read(inst, arg, lane, own)?);
            }
            let value = self.nodes.apply(form, inst.ast.opcode.text, &args);
            let value = value.map_err(|why| self.unsupported(inst, why))?;
            self.write(inst, *to, lane, value, guards[lane])?;
        }
        Ok(())
    }

    /// `mov.b64 {a, b}, c` and `mov.b64 c, {a, b}`; none for any other.
    fn packed(
        &mut self,
        inst: &Inst<'_, 's>,
        to: &Arg<'s>,
        from: &[Arg<'s>],
        lanes: &[usize],
        guards: &[Option<Id>],
    ) -> Option<Done> {
        let ty = inst.ast.form.first_type()?;
        match (to, from) {
            (Arg::Vector(parts), [whole]) => Some(lanes.iter().try_for_each(|&lane| {
                let whole = self.read(inst, whole, lane, ty)?;
                for (number, part) in parts.iter().enumerate() {
                    let value = self.nodes.part(whole, number, parts.len(), ty.bits());
                    match part {
                        Arg::Register(part) => {
                            self.write(inst, *part, lane, value, guards[lane])?
                        }
                        Arg::Sink => {}
                        _ => return Err(self.unknown(inst)),
                    }
                }
                Ok(())
            })),
            (Arg::Register(to), [Arg::Vector(parts)]) if parts.len() > 1 => {
                Some(lanes.iter().try_for_each(|&lane| {
                    let mut values = Vec::new();
                    for part in parts {
                        values.push(self.read(inst, part, lane, ty)?);
                    }
                    let whole = self.nodes.joined(&values, ty.bits());
                    self.write(inst, *to, lane, whole, guards[lane])
                }))
            }
            _ => None,
        }
    }

    pub(super) fn parameter(&mut self, base: Base<'s>, offset: i64) -> Option<&mut [Id; LANES]> {
        match base {
            Base::Symbol { name, local: Some(scope) } => {
                let slot = self.parameters.entry((name, Some(scope), offset));
                Some(slot.or_insert([UNDEFINED; LANES]))
            }
            _ => None,
        }
    }

    pub(super) fn register(&self, register: RegisterId, lane: usize) -> Id {
        self.registers[register][lane]
    }

    pub(super) fn is_param(form: &Form) -> bool {
        form.space() == StateSpace::Param
    }
}

/// The constant with nothing but the sign bit: as a predicate false in some instructions and true in others.
const SIGN: u64 = 1 << 63;

/// The bits of a constant in an operand of a type.
fn constant(value: Value, ty: ScalarType) -> u64 {
    let bits = match value {
        // A predicate is whether the number is not zero.
        Value::Signed(value) if ty == ScalarType::Pred => u64::from(value != 0),
        Value::Unsigned(value) if ty == ScalarType::Pred => u64::from(value != 0),
        Value::F64(bits) if ty.is_float() && ty.bits() == 32 => {
            u64::from((f64::from_bits(bits) as f32).to_bits())
        }
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) => bits,
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
    };
    super::node::cut(bits, ty)
}
