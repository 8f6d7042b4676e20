//! The result of an instruction, from the terms of its operands: exact where its meaning is, otherwise an uninterpreted
//! function.
//!
//! Such a function is named by the instruction as written, so equal terms mean equal bits: the order of the operands
//! of a floating-point addition of 64 bits counts, since the payload of a NaN may depend on it.

use std::fmt::Write;

use super::values::{Unknown, Values};
use crate::cfg::{Arg, Inst, RegisterId};
use crate::expr::{Arena, TermId};
use crate::isa::{Opcode, Qualifier, Special};
use crate::program::{Role, role};
use crate::ptx::{ScalarType, Value};
use crate::terms::commute::{commutes, sort};
use crate::terms::{FloatComparison, Registers, exact};

/// The state of a thread.
pub(super) trait Thread {
    /// The terms of the block.
    fn values(&mut self) -> &mut Values;
    /// The value of a register.
    fn read(&mut self, register: RegisterId) -> Option<TermId>;
    /// The value of a special register.
    fn special(&mut self, register: Special) -> Option<TermId>;
    /// A register's width in bits, if it is at most 64.
    fn width(&self, register: RegisterId) -> Option<u8>;
}

/// A thread as the meaning of instructions sees it.
struct Of<'t>(&'t mut (dyn Thread + 't));

impl<'s> Registers<'s> for Of<'_> {
    fn arena(&mut self) -> &mut Arena {
        &mut self.0.values().arena
    }

    fn operand(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        operand(self.0, arg, width)
    }

    fn compare(&mut self, comparison: FloatComparison, operands: [TermId; 2]) -> TermId {
        self.0.values().apply(format!("{comparison:?}"), &operands, 1)
    }

    fn extremum(
        &mut self,
        opcode: Opcode,
        first: TermId,
        [a, b]: [TermId; 2],
        ty: ScalarType,
    ) -> Option<TermId> {
        let op = if opcode == Opcode::Min { Qualifier::Min } else { Qualifier::Max };
        match self.arena().constant_value(first) {
            Some(first) if (first == 1) == (opcode == Opcode::Min) => Some(a),
            Some(_) => Some(b),
            None => self.0.values().joined(op, ty, [a, b]),
        }
    }
}

/// The registers that an instruction without effects writes, each with its new value; `None` for an instruction that
/// is not modelled.
pub(super) fn compute(
    thread: &mut dyn Thread,
    inst: &Inst<'_, '_>,
) -> Option<Vec<(RegisterId, TermId)>> {
    let form = &inst.ast.form;
    let carries = matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    if role(inst) != Role::Pure || carries || form.has(Qualifier::Cc) {
        return None;
    }
    let Some(results) = exact(&mut Of(thread), inst) else { return applied(thread, inst) };
    let mut found = Vec::new();
    for (to, term, signed) in results {
        let register = match to {
            Arg::Register(register) => *register,
            Arg::Sink => continue,
            _ => return None,
        };
        let width = thread.width(register)?;
        let arena = &mut thread.values().arena;
        let fitted = match arena.width(term) {
            from if from >= width => arena.extract(term, 0, width),
            _ if signed => arena.sign_extend(term, width),
            _ => arena.zero_extend(term, width),
        };
        found.push((register, fitted));
    }
    Some(found)
}

/// The value of an operand in a width of 1 to 64 bits.
pub(super) fn operand(thread: &mut dyn Thread, arg: &Arg<'_>, width: u8) -> Option<TermId> {
    let term = match arg {
        Arg::Register(register) => thread.read(*register)?,
        Arg::Not(register) => {
            let term = thread.read(*register)?;
            thread.values().arena.not(term)
        }
        Arg::Sum(register, offset) => {
            let term = thread.read(*register)?;
            thread.values().arena.add_constant(term, *offset as u64)
        }
        Arg::Special(register) => {
            let term = thread.special(*register)?;
            return Some(thread.values().arena.resize(term, width));
        }
        Arg::Constant(value) => {
            let bits = match *value {
                Value::Signed(value) => value as u64,
                Value::Unsigned(value) => value,
                Value::F32(bits) if width == 32 => u64::from(bits),
                Value::F64(bits) if width == 64 => bits,
                Value::F32(_) | Value::F64(_) => return None,
            };
            (width > 1).then_some(())?;
            return Some(thread.values().arena.constant(bits, width));
        }
        Arg::Symbol { name, offset, indexed: false, local } => {
            let base = address(thread.values(), name, *local);
            let at = thread.values().arena.add_constant(base, *offset as u64);
            (width >= 32).then_some(())?;
            return Some(thread.values().arena.zero_extend(at, width));
        }
        _ => return None,
    };
    let from = thread.values().arena.width(term);
    (from >= width).then(|| thread.values().arena.extract(term, 0, width))
}

/// The address of a variable: 32 bits, which is enough in shared memory.
pub(super) fn address(values: &mut Values, name: &str, local: Option<u32>) -> TermId {
    values.unknown(Unknown::Address(variable(name, local)), 32)
}

/// A variable's name with the scope that declares it.
pub(super) fn variable(name: &str, local: Option<u32>) -> String {
    local.map_or_else(|| name.to_owned(), |scope| format!("{scope}.{name}"))
}

/// The results of an instruction as functions of its operands that are not looked into.
fn applied(thread: &mut dyn Thread, inst: &Inst<'_, '_>) -> Option<Vec<(RegisterId, TermId)>> {
    let mut name: String = inst.ast.opcode.text.split_whitespace().collect();
    let mut operands = Vec::new();
    for arg in inst.args.iter().skip(1) {
        match arg {
            Arg::Register(register) => {
                operands.push(thread.read(*register)?);
                name.push_str(" r");
            }
            Arg::Not(register) => {
                operands.push(thread.read(*register)?);
                name.push_str(" !r");
            }
            Arg::Constant(value) => _ = write!(name, " {value:?}"),
            _ => return None,
        }
    }
    if commutes(inst) && matches!(inst.args[1..], [Arg::Register(_), Arg::Register(_), ..]) {
        sort(&mut operands);
    }
    let destinations: Vec<RegisterId> = match inst.args.first()? {
        Arg::Register(register) => vec![*register],
        Arg::Pair(pair) => match &pair[..] {
            [Arg::Register(first), Arg::Register(second)] => vec![*first, *second],
            _ => return None,
        },
        _ => return None,
    };
    let mut found = Vec::new();
    for (at, register) in destinations.into_iter().enumerate() {
        let width = thread.width(register)?;
        let term = thread.values().apply(format!("{name} #{at} of {width}"), &operands, width);
        found.push((register, term));
    }
    Some(found)
}
