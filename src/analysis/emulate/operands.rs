//! Between registers and terms: operands are read before an instruction is computed, results written
//! behind it.

use super::effects::{definitions, registers};
use super::semantics::{Destination, Operand, Part};
use super::special::{self, Reading};
use super::state::State;
use crate::cfg::{Arg, Inst};
use crate::expr::{Node, TermId};
use crate::isa::{Opcode, Qualifier, Selector};
use crate::ptx;
use crate::ptx::ScalarType;

/// The operands of an instruction behind its destination.
pub(super) fn sources<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
) -> smallvec::SmallVec<[Operand<'s>; 4]> {
    let written = inst.ast.operands.iter().skip(1).map(Some).chain(std::iter::repeat(None));
    let args = inst.args.iter().skip(1).zip(written);
    args.map(|(arg, written)| match (arg, written) {
        (Arg::Modified(register), Some(written)) if state.register_width(*register) >= 32 => {
            let negated = matches!(written, ptx::Operand::Negated(_));
            match selector(written) {
                Some(selector) => {
                    Operand::Part(Part { whole: state.read(*register), selector, negated })
                }
                None => Operand::Nothing,
            }
        }
        _ => read(state, arg),
    })
    .collect()
}

/// The selector of the part of a register that an operand names, as written: `Some(None)` if there is
/// none, `None` if it is not understood.
fn selector(written: &ptx::Operand<'_>) -> Option<Option<Selector>> {
    let (ptx::Operand::Name(name) | ptx::Operand::Negated(name)) = written else { return None };
    match name.text.rsplit_once('.') {
        Some((_, text)) => Selector::parse(text).map(Some),
        None => Some(None),
    }
}

/// Where the results of an instruction go.
#[inline]
pub(super) fn destination(inst: &Inst<'_, '_>) -> Destination {
    match inst.args.first() {
        Some(Arg::Register(_)) => Destination::Register,
        Some(Arg::Vector(elements)) => Destination::Vector(elements.len()),
        Some(Arg::Pair(_)) => Destination::Pair,
        Some(Arg::Modified(_)) => {
            let parts = inst.ast.operands.first().and_then(selector);
            parts.map_or(Destination::Other, Destination::Part)
        }
        _ => Destination::Other,
    }
}

/// An operand with the values of the registers that it names.
#[inline]
fn read<'s>(state: &mut State<'_, '_, 's>, arg: &Arg<'s>) -> Operand<'s> {
    match arg {
        Arg::Register(register) => Operand::Register(state.read(*register)),
        Arg::Not(register) => Operand::Not(state.read(*register)),
        Arg::Sum(register, offset) => Operand::Sum(state.read(*register), *offset),
        Arg::Special(register) => match special::read(*register, state.function) {
            Reading::Unsteady(width) => Operand::Unsteady(state.unknown(width)),
            reading => Operand::Special(Box::new(reading)),
        },
        Arg::Constant(value) => Operand::Constant(*value),
        Arg::Symbol { name, offset, indexed, local } => {
            Operand::Address { name, offset: *offset, indexed: *indexed, scope: *local }
        }
        Arg::Vector(elements) => {
            Operand::Vector(elements.iter().map(|element| read(state, element)).collect())
        }
        Arg::Modified(_) | Arg::Pair(_) | Arg::Sink | Arg::Memory { .. } => Operand::Nothing,
    }
}

/// The value of an operand as `width` bits; `None` if the operand is narrower, or is not a value.
pub(super) fn value<'s>(state: &mut State<'_, '_, 's>, arg: &Arg<'s>, width: u8) -> Option<TermId> {
    let operand = read(state, arg);
    operand.value(&mut state.arena, &mut state.symbols, width)
}

/// Writes a result of type `ty`, extended by its sign where the register is wider ("Operand
/// Size Exceeding Instruction-Type Size").
pub(super) fn write(
    state: &mut State<'_, '_, '_>,
    arg: &Arg<'_>,
    (term, ty): (TermId, ScalarType),
    guard: Option<TermId>,
) {
    match arg {
        Arg::Register(register) => {
            let width = state.register_width(*register);
            let from = state.arena.width(term);
            let fitted = match () {
                () if from == width => term,
                () if from > width => state.arena.extract(term, 0, width),
                () if ty.is_signed() => state.arena.sign_extend(term, width),
                () => state.arena.zero_extend(term, width),
            };
            state.write(*register, fitted, guard);
        }
        Arg::Vector(elements) if elements.len() == 1 => {
            write(state, &elements[0], (term, ty), guard);
        }
        // Not a destination for one value: the registers that it names are unknown from here on.
        other => {
            for register in registers(other) {
                state.forget(register, guard);
            }
        }
    }
}

/// Gives every register that an instruction may write an unknown value.
pub(super) fn forget<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    guard: Option<TermId>,
) {
    let is_warp_wide = guard.is_none() && is_warp_wide(state, inst);
    for register in definitions(inst) {
        let unknown = state.unknown(state.register_width(register));
        state.write(register, unknown, guard);
        if let (true, Node::Symbol(symbol)) = (is_warp_wide, state.arena.node(unknown)) {
            state.warp_wide.push(*symbol);
        }
    }
}

/// Whether all 32 lanes execute an instruction together and get one result: a vote, and a shuffle from a constant lane.
fn is_warp_wide<'s>(state: &mut State<'_, '_, 's>, inst: &Inst<'_, 's>) -> bool {
    let form = &inst.ast.form;
    let mut is_constant = |at: usize, wanted: Option<u64>| {
        let value = inst.args.get(at).and_then(|arg| value(state, arg, 32));
        let value = value.and_then(|term| state.arena.constant_value(term));
        value.is_some_and(|value| wanted.is_none_or(|wanted| wanted == value))
    };
    let all = Some(u64::from(u32::MAX));
    match form.opcode {
        Opcode::Vote => form.has(Qualifier::Sync) && is_constant(2, all),
        Opcode::Shfl => {
            form.has(Qualifier::Sync)
                && form.has(Qualifier::Idx)
                && inst.args.len() == 5
                && is_constant(2, None)
                && is_constant(3, Some(31))
                && is_constant(4, all)
        }
        _ => false,
    }
}
