//! What threads do outside of shared memory: others may notice it, or it depends on what others do.

use std::fmt::Write;

use super::operation::Thread;
use super::threads::{Crew, Lane};
use super::values::{Action, Unknown};
use crate::cfg::{Arg, Base, Inst};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::program::{Role, results, role};
use crate::ptx::StateSpace;

impl Lane<'_, '_, '_, '_, '_> {
    /// Accesses global memory, or orders accesses. Results may be anything: the same in a program that does the same.
    pub(super) fn act(&mut self, inst: &Inst<'_, '_>) -> Option<()> {
        let form = &inst.ast.form;
        let (crew, alone) = (self.block.crew, self.block.is_alone());
        let is_shared = form.space() == StateSpace::Shared;
        let is_known = is_shared && alone || form.space() == StateSpace::Global;
        let (source, is_modelled) = match form.opcode {
            Opcode::Ld => (1, is_known && (is_shared || !form.has(Qualifier::Volatile))),
            Opcode::St => (0, is_known && (is_shared || !form.has(Qualifier::Volatile))),
            Opcode::Atom => (1, is_known),
            Opcode::Red => (0, is_known),
            Opcode::Membar | Opcode::Fence => (0, true),
            _ => (0, false),
        };
        let is_weak = matches!(role(inst), Role::Load | Role::Store);
        (is_modelled && (is_weak || crew != Crew::FirstOfRow)).then_some(())?;
        let mut what: String = inst.ast.opcode.text.split_whitespace().collect();
        if form.opcode == Opcode::St
            && let Some(ty) = form.last_type()
        {
            // (A store takes as many bits of its operand, whatever its type is.)
            what = what.replace(&ty.to_string(), &format!(".b{}", ty.bits()));
        }
        let mut operands = Vec::new();
        for arg in inst.args.iter().skip(source) {
            match arg {
                Arg::Memory { .. } if is_shared => {
                    operands.push(self.address(arg)?);
                    what.push_str(" [r]");
                }
                _ => self.named(arg, &mut what, &mut operands)?,
            }
        }
        let condition = self.block.condition();
        let when = (self.block.barriers, self.block.memory.waited(self.thread));
        let number = self.block.actions[self.thread as usize].len();
        let is_load = alone && role(inst) == Role::Load;
        for (place, register) in results(inst).into_iter().enumerate() {
            let width = self.width(register)?;
            let name = match is_load {
                true => Unknown::Loaded(what.clone(), operands.clone(), (when.0, number), place),
                false => Unknown::Result(self.name(), number, place),
            };
            let term = self.block.values.unknown(name, width);
            self.block.registers[self.thread as usize].insert(register, term);
        }
        if is_weak
            && crew == Crew::FirstOfRow
            && condition.is_none()
            && let Some(address) = operands.first()
            && !self.block.values.varies(*address)
        {
            let place = (form.space(), when.0, *address);
            match is_load {
                true => self.block.sure_loads.push(place),
                false => self.block.rows_race |= self.block.sure_loads.contains(&place),
            }
        }
        operands.extend(condition);
        if is_load {
            self.block.loads.push((what, operands));
            return Some(());
        }
        self.block.actions[self.thread as usize].push(Action { when, what, operands });
        Some(())
    }

    /// Adds an operand to the words and terms of an action.
    fn named(&mut self, arg: &Arg<'_>, what: &mut String, terms: &mut Vec<TermId>) -> Option<()> {
        match arg {
            Arg::Register(register) => {
                terms.push(self.read(*register)?);
                what.push_str(" r");
            }
            Arg::Constant(value) => _ = write!(what, " {value:?}"),
            Arg::Memory { base: Base::Register(register), offset, rest } if rest.is_empty() => {
                let base = self.read(*register)?;
                terms.push(self.values().arena.add_constant(base, *offset as u64));
                what.push_str(" [r]");
            }
            Arg::Memory { base: Base::Symbol { name, local: None }, offset, rest }
                if rest.is_empty() =>
            {
                _ = write!(what, " [{name}+{offset}]");
            }
            Arg::Vector(parts) => {
                _ = write!(what, " v{}", parts.len());
                for part in parts {
                    self.named(part, what, terms)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}
