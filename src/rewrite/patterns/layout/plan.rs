//! The part of a plan for arrays in shared memory that are laid out anew: their declarations and the addresses of
//! their accesses.

use std::fmt::Display;
use std::ops::Range;

use super::search::ArrayFinding;
use crate::cfg::{InstId, RegisterId};
use crate::isa::ScalarType;
use crate::ptx::Operand;
use crate::ptx::write::{Code, Op, Reg, memory, op};
use crate::reuse::shared::{ArrayAccess, BLOCK, Made, Placement, SharedArray};
use crate::rewrite::{self, Draft, Part, Planner, Prepared};

/// Code in front of an access, and the register or name from which it is addressed, with bytes added.
struct Address {
    code: String,
    base: String,
    added: i64,
}

/// An array with its new layout.
#[derive(Clone, Copy)]
struct NewLayout<'a> {
    array: &'a SharedArray,
    placement: Placement,
    /// The register with the bits that are turned, where each launch gives the array's size.
    mask: Option<&'a Reg>,
}

/// Plans the arrays that are laid out anew.
pub(super) fn plan(
    arrays: &[&ArrayFinding],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let mut prepared = Prepared::default();
    for found in arrays {
        let mask = if found.array.is_dynamic {
            planner.mask(found, &mut prepared.at_start)
        } else {
            let (range, code) =
                (found.array.declaration.clone(), planner.declared(&found.array, found.placement));
            prepared.drafts.push(Draft { range, code });
            None
        };
        planner.accesses(found, mask, &mut prepared.drafts);
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

    /// The register with the bits that are turned in addresses of an array whose size each launch gives, and the code
    /// that sets it where the kernel starts: none unless the array begins with a row and consists of whole blocks.
    fn mask(&mut self, found: &ArrayFinding, at_start: &mut String) -> Option<Reg> {
        let ArrayFinding { array, placement, .. } = found;
        let Placement::Swizzle { bits, unit, .. } = *placement else { return None };
        let turned = ((1u32 << bits) - 1) << unit;
        let width = array.accesses.first().map_or(32, |access| u32::from(access.width));
        let (ty, word) = (ScalarType::b(width), ScalarType::b(32));
        let fresh = &mut self.plan.fresh;
        let mut code = Code::behind();
        let start = rewrite::name(&array.name, None);
        let start = code.set(fresh.bits(width), op!(Mov.(ty)), &[&start]);
        let rest = (1u64 << placement.start()) - 1;
        let start = code.set(fresh.bits(width), op!(And.(ty)), &[&start, &rest]);
        let rest = if planted!(Bug::ArrayRest) { 0 } else { (1u32 << BLOCK) - 1 };
        let size = code.set(fresh.bits(32), op!(Mov.(word)), &[&"%dynamic_smem_size"]);
        // Without any the array is one of another file, whose size nobody knows.
        let some = code.set(fresh.predicate(), op!(Setp.Ne.(word)), &[&size, &0]);
        let size = code.set(fresh.bits(32), op!(And.(word)), &[&size, &rest]);
        let whole = code.set(fresh.predicate(), op!(Setp.Eq.And.(word)), &[&size, &0, &some]);
        let begins = code.set(fresh.predicate(), op!(Setp.Eq.And.(ty)), &[&start, &0, &whole]);
        let mask = code.set(fresh.bits(width), op!(Selp.(ty)), &[&turned, &0, &begins]);
        at_start.push_str(&code.text);
        Some(mask)
    }

    /// An array's name, for code of the plan.
    fn start(&self, array: &SharedArray) -> String {
        if array.is_of_module {
            return rewrite::name(&array.name, None);
        }
        let meaning = self.flow.scopes.meaning_at(&array.name, array.declaration.end);
        rewrite::name(&array.name, meaning)
    }

    fn accesses(&mut self, found: &ArrayFinding, mask: Option<Reg>, changes: &mut Vec<Draft>) {
        let ArrayFinding { array, placement, made, .. } = found;
        // The registers with new addresses, by the accesses that make them; and those with the bits that are turned.
        let mut shared: Vec<(InstId, String)> = Vec::new();
        let mut turns: Vec<(InstId, String)> = Vec::new();
        let layout = NewLayout { array, placement: *placement, mask: mask.as_ref() };
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
                            let new = self.moved(layout, access, &old, &mut code);
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
                (Made::Turned { from, before, behind }, Some(register)) => {
                    let mut code = Code::in_front();
                    let old = self.name(register);
                    let turn = match turns.iter().find(|(at, _)| *at == from) {
                        Some((_, known)) => known.clone(),
                        None => {
                            let turn = self.turn(layout, access, &old, &mut code);
                            turns.push((from, turn.clone()));
                            turn
                        }
                    };
                    let [ty, signed, _] = types(access);
                    let known = shared.iter().find(|(at, _)| *at == from);
                    let base = match (before, known) {
                        (0, Some((_, known))) => known.clone(),
                        (0, None) => {
                            let new = self.result(access, &mut code, joined(ty), &[&old, &turn]);
                            shared.push((from, new.clone()));
                            new
                        }
                        _ => {
                            let old =
                                self.result(access, &mut code, op!(Add.(signed)), &[&old, &before]);
                            self.result(access, &mut code, joined(ty), &[&old, &turn])
                        }
                    };
                    Address { code: code.text, base, added: behind }
                }
                (Made::Own | Made::Turned { .. }, base) => self.own(layout, access, base),
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
        layout: NewLayout<'_>,
        access: &ArrayAccess,
        base: Option<RegisterId>,
    ) -> Address {
        let NewLayout { array, .. } = layout;
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
        let base = self.moved(layout, access, &old, &mut code);
        Address { code: code.text, base, added: 0 }
    }

    /// Adds the code that computes the new address of a register's target; returns the register with it.
    fn moved(
        &mut self,
        layout: NewLayout<'_>,
        access: &ArrayAccess,
        old: &str,
        code: &mut Code,
    ) -> String {
        let [ty, signed, unsigned] = types(access);
        let NewLayout { array, placement, .. } = layout;
        match placement {
            Placement::Same => old.to_owned(),
            Placement::Swizzle { .. } => {
                let turn = self.turn(layout, access, old, code);
                self.result(access, code, joined(ty), &[&old, &turn])
            }
            Placement::Gaps { row, bytes } => {
                let start = self.result(access, code, op!(Mov.(ty)), &[&self.start(array)]);
                let ahead = self.result(access, code, op!(Sub.(signed)), &[&old, &start]);
                let rows = self.result(access, code, op!(Shr.(unsigned)), &[&ahead, &row]);
                self.result(access, code, op!(Mad.Lo.(signed)), &[&rows, &bytes, &old])
            }
        }
    }

    /// Adds the code that takes from an address the bits that a swizzle turns in it; gives the register with them.
    fn turn(
        &mut self,
        NewLayout { placement, mask, .. }: NewLayout<'_>,
        access: &ArrayAccess,
        old: &str,
        code: &mut Code,
    ) -> String {
        let [ty, _, unsigned] = types(access);
        let Placement::Swizzle { row, bits, unit } = placement else { return "0".to_owned() };
        let by = row - unit;
        let turned = self.result(access, code, op!(Shr.(unsigned)), &[&old, &by]);
        match mask {
            Some(mask) => self.result(access, code, op!(And.(ty)), &[&turned, mask]),
            None => {
                let mask = ((1u32 << bits) - 1) << unit;
                self.result(access, code, op!(And.(ty)), &[&turned, &mask])
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

/// How the bits that are turned go into an address.
fn joined(ty: ScalarType) -> Op {
    if planted!(Bug::ArrayBits) { op!(Or.(ty)) } else { op!(Xor.(ty)) }
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
