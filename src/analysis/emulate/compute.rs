//! Instructions without side effects: reads their operands, asks [`super::semantics`] for their
//! results, and writes the results.
//!
//! Where a form has an exact meaning ([`super::forms`]), that meaning is the result; otherwise the
//! result is an uninterpreted function of the operands, or unknown.

use smallvec::SmallVec;

use super::forms::has_exact_form;
use super::operands;
use super::semantics::{self, Results, Values};
use super::state::State;
use super::trace::Widened;
use crate::cfg::{Arg, Inst};
use crate::expr::{Node, TermId};
use crate::isa::Qualifier;

/// Emulates an instruction without side effects.
pub(super) fn compute<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    guard: Option<TermId>,
) {
    let form = &inst.ast.form;
    let exact = has_exact_form(inst);
    let destination = operands::destination(inst);
    // A pure instruction without an exact meaning here is still a function of its operands, unless it
    // also reads the carry flag.
    let written = match inst.args.first() {
        Some(&Arg::Register(register)) if !semantics::reads_carry(form) => {
            Some(state.register_width(register))
        }
        _ => None,
    };
    let is_function = written.is_some();
    let sources =
        if exact || is_function { operands::sources(state, inst) } else { SmallVec::new() };
    let mut values = Values {
        arena: &mut state.arena,
        symbols: &mut state.symbols,
        name: inst.ast.opcode.text,
        destination,
        sources: &sources,
        carry: state.carry,
    };
    let known = if exact { semantics::evaluate(&mut values, form) } else { None };
    let is_known = known.is_some();
    let carry = values.carry.filter(|_| is_known && guard.is_none());
    let results = match (known, written) {
        (None, Some(width)) => semantics::uninterpreted(&mut values, width),
        (known, _) => known,
    };
    if form.has(Qualifier::Cc) {
        state.carry = carry;
    }
    if is_known {
        note_widened(state, inst);
    }
    match results {
        Some(results) => write(state, inst, &results, guard),
        None => operands::forget(state, inst, guard),
    }
}

/// Writes results into the registers of an instruction's destination.
fn write<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    results: &Results,
    guard: Option<TermId>,
) {
    match (inst.args.first(), &results[..]) {
        (Some(Arg::Pair(pair)), [first, second]) => {
            operands::write(state, &pair[0], *first, guard);
            operands::write(state, &pair[1], *second, guard);
        }
        (Some(Arg::Vector(elements)), [_, _, ..]) => {
            for (element, result) in elements.iter().zip(results) {
                operands::write(state, element, *result, guard);
            }
        }
        // All of the register, although the instruction names only a part of it.
        (Some(&Arg::Modified(register)), [result]) => {
            operands::write(state, &Arg::Register(register), *result, guard);
        }
        (Some(destination), [result]) => {
            operands::write(state, destination, *result, guard);
            if let (&Arg::Register(register), None) = (destination, guard) {
                let (value, at) = (state.read(register), state.at);
                if !matches!(state.arena.node(value), Node::Symbol(_)) {
                    state.hold(register, value, Some(at));
                }
            }
        }
        _ => operands::forget(state, inst, guard),
    }
}

/// Remembers which registers 64-bit values were widened from.
fn note_widened(state: &mut State<'_, '_, '_>, inst: &Inst<'_, '_>) {
    for &index in semantics::widened(&inst.ast.form) {
        if let Some(&Arg::Register(register)) = inst.args.get(index + 1)
            && state.register_width(register) == 32
        {
            let value = state.read(register);
            if state.arena.constant_value(value).is_none() {
                let (block, inst) = (state.block, state.at);
                let settled = state.is_settled(register);
                state.widened.push(Widened { register, value, block, inst, settled });
            }
        }
    }
}
