//! The accesses of a thread to shared memory.

use super::memory::Access;
use super::operation::{Thread, address, operand};
use super::threads::{Lane, MAX_DEPTH};
use crate::cfg::{Arg, Base, Inst};
use crate::expr::{Node, TermId};
use crate::isa::Qualifier;

impl Lane<'_, '_, '_, '_, '_> {
    /// The address of an access to shared memory, in 32 bits.
    pub(super) fn address(&mut self, arg: &Arg<'_>) -> Option<TermId> {
        let Arg::Memory { base, offset, rest } = arg else { return None };
        rest.is_empty().then_some(())?;
        let start = match base {
            Base::Register(register) => {
                let term = self.read(*register)?;
                let width = self.block.values.arena.width(term);
                (width >= 32).then(|| self.block.values.arena.extract(term, 0, 32))?
            }
            Base::Symbol { name, local } => address(self.block.values, name, *local),
            Base::Absolute => return None,
        };
        // (A thread that stands for others has one word with all of them in common, or many without.)
        (!self.is_other() || !self.block.values.varies(start)).then_some(())?;
        Some(self.block.values.arena.add_constant(start, *offset as u64))
    }

    /// The access to an element.
    fn access(&mut self, address: TermId, bytes: u32) -> Access {
        let arena = &mut self.block.values.arena;
        let (constant, addends) = arena.linear_parts(address);
        let start = arena.sum(32, 0, addends);
        let is_certain = self.block.conditions.is_empty();
        let offset = i64::from(constant as i32);
        Access { start, offset, bytes, thread: self.thread, is_certain }
    }

    /// The value of an element; of an address that a condition chooses the value that it chooses.
    fn loaded(&mut self, address: TermId, bytes: u32) -> Option<TermId> {
        let arena = &mut self.block.values.arena;
        let (constant, mut addends) = arena.linear_parts(address);
        let chosen =
            addends.iter().position(|(term, _)| matches!(arena.node(*term), Node::IfThenElse(..)));
        if let Some(at) = chosen {
            (self.block.conditions.len() < MAX_DEPTH).then_some(())?;
            let (term, factor) = addends.remove(at);
            let Node::IfThenElse(holds, a, b) = *arena.node(term) else { return None };
            let rest = arena.sum(32, constant, addends);
            let not = arena.not(holds);
            let mut terms = [a, b];
            for (term, condition) in terms.iter_mut().zip([holds, not]) {
                let arena = &mut self.block.values.arena;
                let part = arena.scale(*term, factor);
                let address = arena.add(rest, part);
                self.block.conditions.push(condition);
                *term = self.loaded(address, bytes)?;
                self.block.conditions.pop();
            }
            return Some(self.block.values.arena.if_then_else(holds, terms[0], terms[1]));
        }
        let access = self.access(address, bytes);
        self.block.memory.read(self.block.values, access)
    }

    /// The sizes of the elements of an access to shared memory, and their registers or values.
    fn elements<'a, 's>(inst: &'a Inst<'_, 's>, arg: &'a Arg<'s>) -> Option<(u32, &'a [Arg<'s>])> {
        let form = &inst.ast.form;
        // (Without races a volatile access is like a weak one.)
        let plain = [Qualifier::V2, Qualifier::V4, Qualifier::Volatile];
        let plain = form.qualifiers().all(|one| plain.contains(&one));
        let bytes = form.last_type()?.bits() / 8;
        let parts = match arg {
            Arg::Vector(parts) => &parts[..],
            other => std::slice::from_ref(other),
        };
        let fits = form.elements().map_or(1, usize::from) == parts.len();
        (plain && fits && (1..=8).contains(&bytes)).then_some((bytes, parts))
    }

    /// Loads elements into registers.
    pub(super) fn load(&mut self, inst: &Inst<'_, '_>) -> Option<()> {
        let (bytes, parts) = Self::elements(inst, inst.args.first()?)?;
        let ty = inst.ast.form.last_type()?;
        let mut address = self.address(inst.args.get(1)?)?;
        if parts.len() > 1 {
            let first = self.access(address, bytes);
            self.block.memory.vector(first, bytes * parts.len() as u32);
        }
        for part in parts {
            let term = self.loaded(address, bytes)?;
            address = self.block.values.arena.add_constant(address, u64::from(bytes));
            let Arg::Register(register) = part else { return None };
            let width = self.width(*register)?;
            let arena = &mut self.block.values.arena;
            (arena.width(term) <= width).then_some(())?;
            let term = match ty.is_signed() {
                true => arena.sign_extend(term, width),
                false => arena.zero_extend(term, width),
            };
            self.block.registers[self.thread as usize].insert(*register, term);
        }
        Some(())
    }

    /// Stores the values of registers.
    pub(super) fn store(&mut self, inst: &Inst<'_, '_>) -> Option<()> {
        let (bytes, parts) = Self::elements(inst, inst.args.get(1)?)?;
        let address = self.address(inst.args.first()?).filter(|_| !self.is_other())?;
        let mut access = self.access(address, bytes);
        if parts.len() > 1 {
            self.block.memory.vector(access, bytes * parts.len() as u32);
        }
        for part in parts {
            let mut term = operand(self, part, 8 * bytes as u8)?;
            if let Some(holds) = self.block.condition() {
                let before = self.block.memory.read(self.block.values, access)?;
                term = self.block.values.arena.if_then_else(holds, term, before);
            }
            self.block.memory.write(self.block.values, access, term)?;
            access.offset += i64::from(bytes);
        }
        Some(())
    }
}
