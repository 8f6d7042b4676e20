//! Addresses that are an array's plus a constant and lie outside of it, in any window: those bytes are another array's.

use rustc_hash::FxHashMap;

use super::array::Array;
use super::instructions::results;
use crate::cfg::{Arg, Base, Flow, InstId, RegisterId};
use crate::isa::Opcode;

/// The instruction that writes each register, of those that one alone writes.
fn writers(flow: &Flow<'_, '_>) -> FxHashMap<RegisterId, Option<InstId>> {
    let mut found = FxHashMap::default();
    for (at, inst) in flow.insts.iter_enumerated() {
        for register in results(inst) {
            found.entry(register).and_modify(|only| *only = None).or_insert(Some(at));
        }
    }
    found
}

/// The first access to an address outside of the array from whose name it is made, with that name.
pub(super) fn stray<'a>(flow: &Flow<'_, '_>, arrays: &'a [Array]) -> Option<(InstId, &'a str)> {
    let writers = writers(flow);
    flow.insts.iter_enumerated().find_map(|(at, inst)| {
        let outside = inst.args.iter().find_map(|arg| {
            let Arg::Memory { base, offset, .. } = arg else { return None };
            let (array, offset) = place(flow, arrays, &writers, (*base, *offset))?;
            let ends = if array.is_dynamic { u64::MAX } else { array.bytes };
            (offset < 0 || offset as u64 >= ends).then(|| array.plain_name())
        });
        outside.map(|name| (at, name))
    })
}

/// The array and the bytes from its start that an address is known to be.
fn place<'a, 's>(
    flow: &Flow<'_, 's>,
    arrays: &'a [Array],
    writers: &FxHashMap<RegisterId, Option<InstId>>,
    (mut base, mut offset): (Base<'s>, i64),
) -> Option<(&'a Array, i64)> {
    // A longer chain is a loop's.
    for _ in 0..=writers.len() {
        let register = match base {
            Base::Absolute => return None,
            Base::Register(register) => register,
            Base::Symbol { name, local } => {
                let is_named = |array: &&Array| match local {
                    Some(scope) => array.name == format!("{scope}.{name}"),
                    None => array.name == name,
                };
                return arrays.iter().find(is_named).map(|array| (array, offset));
            }
        };
        let inst = &flow.insts[(*writers.get(&register)?)?];
        if inst.guard.is_some() {
            return None;
        }
        let (sum, by) = match (inst.ast.form.opcode, inst.args.get(1)?, inst.args.get(2)) {
            (Opcode::Mov | Opcode::Cvta, sum, None) => (sum, 0),
            (Opcode::Add, sum, Some(Arg::Constant(by))) => (sum, by.as_integer()?),
            _ => return None,
        };
        let more = match sum {
            Arg::Register(from) => {
                base = Base::Register(*from);
                0
            }
            Arg::Symbol { name, local, offset, indexed: false } => {
                base = Base::Symbol { name, local: *local };
                *offset
            }
            _ => return None,
        };
        offset = offset.wrapping_add(by).wrapping_add(more);
    }
    None
}
