//! The part of a plan for arrays in shared memory that are laid out anew: their declarations and the addresses of
//! their accesses.

use std::fmt::Display;
use std::ops::Range;

use super::search::ArrayFinding;
use crate::cfg::{InstId, RegisterId};
use crate::isa::ScalarType;
use crate::ptx::Operand;
use crate::ptx::write::{Code, Op, memory, op};
use crate::reuse::shared::{ArrayAccess, Made, Placement, SharedArray};
use crate::rewrite::{self, Draft, Part, Planner, Prepared};

/// Code in front of an access, and the register or name from which it is addressed, with bytes added.
struct Address {
    code: String,
    base: String,
    added: i64,
}

/// Plans the arrays that are laid out anew.
pub(super) fn plan(
    arrays: &[&ArrayFinding],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let mut prepared = Prepared::default();
    for found in arrays {
        let (range, code) =
            (found.array.declaration.clone(), planner.declared(&found.array, found.placement));
        prepared.drafts.push(Draft { range, code });
        planner.accesses(found, &mut prepared.drafts);
    }
    prepared.part()
}

impl Planner<'_, '_, '_, '_> {
    /// The declaration of an array: its type stays, so that the array's elements are the same.
    fn declared(&self, array: &SharedArray, placement: Placement) -> String {
        let (ty, element) = array.element;
        let (align, mut bytes) = (placement.align(array), placement.bytes(array));
        if planted!(Bug::ArraySize) {
            bytes = array.bytes;
        }
        let name = rewrite::declaration(&array.name);
        format!(".shared .align {align} .{ty} {name}[{}];", bytes / element)
    }

    /// An array's name, for code of the plan.
    fn start(&self, array: &SharedArray) -> String {
        let meaning = self.flow.scopes.meaning_at(&array.name, array.declaration.end);
        rewrite::name(&array.name, meaning)
    }

    fn accesses(&mut self, found: &ArrayFinding, changes: &mut Vec<Draft>) {
        let ArrayFinding { array, placement, made, .. } = found;
        // The registers with new addresses, by the accesses that make them.
        let mut shared: Vec<(InstId, String)> = Vec::new();
        let forgotten = usize::from(planted!(Bug::ArrayForgotten));
        for (access, made) in array.accesses.iter().zip(made).skip(forgotten) {
            let address = match (*made, access.base.0) {
                (Made::Kept, _) => continue,
                (Made::Shared { added, .. }, None) => {
                    Address { code: String::new(), base: self.start(array), added }
                }
                (Made::Shared { from, turned, added }, Some(register)) => {
                    let mut code = Code::in_front();
                    let known =
                        shared.iter().find(|(at, _)| *at == from).map(|(_, name)| name.clone());
                    let base = match known {
                        Some(known) => known,
                        None => {
                            let old = self.name(register);
                            let new = self.moved(array, *placement, access, &old, &mut code);
                            shared.push((from, new.clone()));
                            new
                        }
                    };
                    let base = match turned {
                        0 => base,
                        _ => {
                            let [ty, ..] = types(access);
                            self.result(access, &mut code, op!(Xor.(ty)), &[&base, &turned])
                        }
                    };
                    Address { code: code.text, base, added }
                }
                (Made::Own, base) => self.own(array, *placement, access, base),
            };
            let ast = self.flow.insts[access.inst].ast;
            let start = ast.span.start as usize;
            if !address.code.is_empty() {
                changes.push(Draft::insert(start, address.code));
            }
            if let Some(span) = address_span(&ast.operands) {
                let Address { base, added, .. } = address;
                changes.push(Draft { range: span, code: memory(&base, added) });
            }
        }
    }

    /// An access's new address, made for it alone.
    fn own(
        &mut self,
        array: &SharedArray,
        placement: Placement,
        access: &ArrayAccess,
        base: Option<RegisterId>,
    ) -> Address {
        let [ty, signed, _] = types(access);
        let mut code = Code::in_front();
        let start = match base {
            Some(register) => self.name(register),
            None => self.result(access, &mut code, op!(Mov.(ty)), &[&self.start(array)]),
        };
        let old = match access.base.1 {
            0 => start,
            bytes => self.result(access, &mut code, op!(Add.(signed)), &[&start, &bytes]),
        };
        let base = self.moved(array, placement, access, &old, &mut code);
        Address { code: code.text, base, added: 0 }
    }

    /// Adds the code that makes the new address of what a register points to; gives the register with it.
    fn moved(
        &mut self,
        array: &SharedArray,
        placement: Placement,
        access: &ArrayAccess,
        old: &str,
        code: &mut Code,
    ) -> String {
        let [ty, signed, unsigned] = types(access);
        match placement {
            Placement::Same => old.to_owned(),
            Placement::Swizzle { row, bits, unit } => {
                let by = row - unit;
                let mask = ((1u32 << bits) - 1) << unit;
                let turned = self.result(access, code, op!(Shr.(unsigned)), &[&old, &by]);
                let turned = self.result(access, code, op!(And.(ty)), &[&turned, &mask]);
                let join = if planted!(Bug::ArrayBits) { op!(Or.(ty)) } else { op!(Xor.(ty)) };
                self.result(access, code, join, &[&old, &turned])
            }
            Placement::Gaps { row, bytes } => {
                let start = self.result(access, code, op!(Mov.(ty)), &[&self.start(array)]);
                let ahead = self.result(access, code, op!(Sub.(signed)), &[&old, &start]);
                let rows = self.result(access, code, op!(Shr.(unsigned)), &[&ahead, &row]);
                self.result(access, code, op!(Mad.Lo.(signed)), &[&rows, &bytes, &old])
            }
        }
    }

    /// Adds an instruction; gives its result's register.
    fn result(
        &mut self,
        access: &ArrayAccess,
        code: &mut Code,
        op: Op,
        operands: &[&dyn Display],
    ) -> String {
        code.set(self.plan.fresh.bits(access.width.into()), op, operands).into()
    }
}

/// The types of an access's addresses: bits, with a sign, and without.
fn types(access: &ArrayAccess) -> [ScalarType; 3] {
    [ScalarType::b, ScalarType::s, ScalarType::u].map(|of| of(access.width.into()))
}

/// The place of an instruction's memory operand.
fn address_span(operands: &[Operand<'_>]) -> Option<Range<usize>> {
    operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address.span.range()),
        _ => None,
    })
}
