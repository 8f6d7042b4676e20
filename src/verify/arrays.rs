//! The arrays that a function has in shared memory, and which of its accesses are to which of them.
//!
//! In: a function. Out: its own `.shared` variables with their sizes, and each access to shared memory with the
//! variable from whose name its address is made; or why that is not known of all of them. It is not known once the
//! address of a variable goes anywhere but into addresses of plain loads and stores: into memory, a call, a
//! condition, an instruction that accesses shared memory in another way.

use super::instructions::{Role, results, role};
use super::program::Program;
use crate::cfg::{Arg, Base, EdgeCondition, Inst, RegisterId};
use crate::isa::Opcode;
use crate::ptx::{Function, StateSpace, Statement, Variable};

/// A variable of the function in shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Array {
    /// The name, with the number of the scope in front as in the names of addresses.
    pub name: String,
    pub bytes: u64,
    pub align: u64,
}

/// A plain load or store in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SharedAccess {
    pub inst: u32,
    /// The array; `None` for a variable that is declared elsewhere.
    pub array: Option<usize>,
    /// Bytes that each lane accesses.
    pub bytes: u32,
}

/// The arrays of a function and all accesses to shared memory, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    pub declared: Vec<Array>,
    pub accesses: Vec<SharedAccess>,
}

/// The variables that a register's value may be made from: a bit for each array of the function, and the last bit
/// for all other names.
type Made = u64;

const OTHER: Made = 1 << 63;

/// The most arrays.
const MOST: usize = 63;

/// The shared variables that a function declares.
pub(super) fn declared(function: &Function<'_>) -> Vec<Array> {
    fn collect(statements: &[Statement<'_>], scopes: &mut u32, found: &mut Vec<Array>) {
        *scopes += 1;
        let scope = *scopes;
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => collect(statements, scopes, found),
                Statement::Variable(variable) if variable.space == StateSpace::Shared => {
                    found.extend(array(variable, scope));
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(function.statements().unwrap_or_default(), &mut 0, &mut found);
    found
}

/// The one array that a declaration declares, if its size is known.
fn array(variable: &Variable<'_>, scope: u32) -> Option<Array> {
    let [declared] = &variable.names[..] else { return None };
    let element = u64::from(variable.ty?.bits()) / 8 * u64::from(variable.vector.max(1));
    let known = declared.count.is_none() && variable.linkage.is_empty() && element > 0;
    let bytes = declared
        .dimensions
        .iter()
        .try_fold(element, |bytes, dimension| bytes.checked_mul((*dimension)?));
    let align = variable.align.unwrap_or(element);
    let name = format!("{scope}.{}", declared.name.text);
    bytes.filter(|_| known).map(|bytes| Array { name, bytes, align })
}

impl Arrays {
    /// The arrays of a function with all accesses to them.
    ///
    /// # Errors
    /// Why not all accesses are known.
    pub fn of(program: &Program<'_, '_>) -> Result<Arrays, String> {
        let declared = declared(program.function);
        if declared.len() > MOST {
            return Err(format!("{} arrays in shared memory", declared.len()));
        }
        let mut arrays = Arrays { declared, accesses: Vec::new() };
        let made = arrays.made(program);
        for (at, inst) in program.flow.insts.iter().enumerate() {
            arrays.look_at(program, &made, at as u32, inst)?;
        }
        for block in program.flow.block_ids() {
            for edge in &program.flow.block(block).successors {
                if let EdgeCondition::Predicate(register, _) = edge.condition
                    && made[register.0 as usize] & !OTHER != 0
                {
                    return Err("a branch depends on the address of a shared array".to_owned());
                }
            }
        }
        Ok(arrays)
    }

    /// What a name stands for.
    fn named(&self, name: &str, local: Option<u32>) -> Made {
        let Some(scope) = local else { return OTHER };
        let full = format!("{scope}.{name}");
        match self.declared.iter().position(|array| array.name == full) {
            Some(index) => 1 << index,
            None => OTHER,
        }
    }

    /// The names that an operand's value is made from.
    fn of_operand(&self, arg: &Arg<'_>, made: &[Made]) -> Made {
        let of = |register: &RegisterId| made[register.0 as usize];
        match arg {
            Arg::Register(r) | Arg::Not(r) | Arg::Modified(r) | Arg::Sum(r, _) => of(r),
            Arg::Symbol { name, local, .. } => self.named(name, *local),
            Arg::Vector(parts) => parts.iter().fold(0, |all, one| all | self.of_operand(one, made)),
            Arg::Pair(parts) => parts.iter().fold(0, |all, one| all | self.of_operand(one, made)),
            Arg::Memory { base, rest, .. } => {
                let rest = rest.iter().fold(0, |all, one| all | self.of_operand(one, made));
                rest | self.of_base(*base, made)
            }
            Arg::Special(_) | Arg::Constant(_) | Arg::Sink => 0,
        }
    }

    fn of_base(&self, base: Base<'_>, made: &[Made]) -> Made {
        match base {
            Base::Register(register) => made[register.0 as usize],
            Base::Symbol { name, local } => self.named(name, local),
            Base::Absolute => 0,
        }
    }

    /// For each register, the names from which its values may be made, wherever it gets them. What is loaded is
    /// made from no address, since none is ever stored.
    fn made(&self, program: &Program<'_, '_>) -> Vec<Made> {
        let mut made = vec![0; program.flow.registers.len()];
        loop {
            let mut changed = false;
            for inst in &program.flow.insts {
                if role(inst) == Role::Load {
                    continue;
                }
                let from = inst.args.iter().fold(0, |all, arg| all | self.of_operand(arg, &made));
                for register in results(inst) {
                    let known = &mut made[register.0 as usize];
                    changed |= *known | from != *known;
                    *known |= from;
                }
            }
            if !changed {
                return made;
            }
        }
    }

    /// Notes an instruction's access, or says what is not known of it.
    fn look_at(
        &mut self,
        program: &Program<'_, '_>,
        made: &[Made],
        at: u32,
        inst: &Inst<'_, '_>,
    ) -> Result<(), String> {
        let opcode = inst.ast.opcode.text;
        let line = program.line(at);
        let unknown = |what: &str| Err(format!("line {line}: {what} `{opcode}`"));
        if inst.guard.is_some_and(|(register, _)| made[register.0 as usize] & !OTHER != 0) {
            return unknown("the address of a shared array decides about");
        }
        let own = |all: Made| all & !OTHER != 0;
        let space = inst.ast.form.space();
        let plain = matches!(role(inst), Role::Load | Role::Store);
        let place = if role(inst) == Role::Store { 0 } else { 1 };
        for (index, arg) in inst.args.iter().enumerate() {
            let Arg::Memory { base, rest, .. } = arg else {
                // Arithmetic may be made with addresses.
                if own(self.of_operand(arg, made)) && role(inst) != Role::Pure {
                    return unknown("the address of a shared array goes to");
                }
                continue;
            };
            let from = self.of_base(*base, made);
            let is_address = plain && index == place && rest.is_empty();
            match space {
                StateSpace::Shared if is_address => {
                    let array = match from {
                        0 => return unknown("it is not known which array is accessed by"),
                        OTHER => None,
                        one if one.is_power_of_two() => Some(one.trailing_zeros() as usize),
                        _ => return unknown("it is not known which array is accessed by"),
                    };
                    let bytes = inst.ast.form.last_type().map_or(0, |ty| ty.bits() / 8)
                        * u32::from(inst.ast.form.elements().unwrap_or(1));
                    if bytes == 0 {
                        return unknown("it is not known how many bytes are accessed by");
                    }
                    self.accesses.push(SharedAccess { inst: at, array, bytes });
                }
                _ if own(from) => return unknown("the address of a shared array goes to"),
                StateSpace::Shared if from == 0 => {
                    return unknown("it is not known which array is accessed by");
                }
                _ => {}
            }
        }
        // These reach shared memory by operands or descriptors of other forms.
        let elsewhere = matches!(
            inst.ast.form.opcode,
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
        if elsewhere { unknown("shared memory may be accessed by") } else { Ok(()) }
    }
}
