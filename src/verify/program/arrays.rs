//! The arrays that a function has in shared memory, and which of its accesses are to which of them.
//!
//! In: a function. Out: its own `.shared` variables, and those that its module declares for it alone, with their sizes;
//! each access to shared memory with the variable from whose name its address is made; and for each variable whether it
//! may be reached in another way. It may once its address goes anywhere but into addresses of accesses: into memory, a
//! call, a condition, an instruction that accesses shared memory in a way of its own.

use rustc_hash::FxHashSet;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::array::{Array, array, of_file};
use super::both::Both;
use super::granules::{granule, only_waits};
use super::instructions::{Role, results, role};
use super::prepared::Program;
use super::stray::stray;
use crate::cfg::{Arg, Base, Inst, InstId, RegisterId};
use crate::isa::Opcode;
use crate::isa::limits::MAX_STATIC_SHARED;
use crate::ptx::resolved::Resolved;
use crate::ptx::{
    AddressBase, Function, FunctionKind, Item, Module, Operand, StateSpace, Statement, Variable,
};

/// A load, store or atomic access in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SharedAccess {
    pub inst: InstId,
    /// The array; `None` for a variable that is declared elsewhere.
    pub array: Option<usize>,
    /// Bytes that each lane accesses.
    pub bytes: u32,
}

/// The arrays of a function and all accesses to shared memory, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    pub declared: Vec<Array>,
    pub accesses: Vec<SharedAccess>,
    /// For each array, how it may be reached but by these accesses.
    pub reached: Vec<Option<String>>,
    /// Where the address of an array is a value that an instruction takes, and no address of an access.
    pub told: Option<String>,
    /// Where an address that is made from an array's is not that plus a number, or lies outside of it for certain. (Of
    /// the rewritten program it is shown for each access where it goes.)
    pub bent: Option<String>,
}

/// The variables that a register's value may be made from: a bit for each array of the function, and the last bit
/// for all other names.
type Made = u64;

const OTHER: Made = 1 << 63;

/// Not one of these plus a number: it may be an address in any array.
const BENT: Made = 1 << 62;

/// Whether an instruction is a load, a store, an atomic access, weak or strong, or moves granules: no register gets an
/// address from it.
fn is_access(inst: &Inst<'_, '_>) -> bool {
    matches!(inst.ast.form.opcode, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red)
        || granule(inst).is_some()
}

/// The most arrays.
const MOST: usize = 62;

/// The shared variables that a function declares.
pub(crate) fn declared(function: &Function<'_>) -> Vec<Array> {
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

/// The arrays in shared memory that a module declares outside of functions and whose size is known.
pub(crate) fn of_module(module: &Module<'_>) -> Vec<Array> {
    let declared = module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) if variable.space == StateSpace::Shared => of_file(variable),
        _ => None,
    });
    declared.collect()
}

/// The `.extern .shared` array that is all of a kernel's shared memory: nothing else is declared or named by the kernel or
/// a function that it may call, and it calls none whose body is elsewhere.
fn dynamic(module: &Module<'_>, function: &Function<'_>) -> Option<Array> {
    let shared = module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) if variable.space == StateSpace::Shared => Some(variable),
        _ => None,
    });
    let bodies = reached(module, function.name.text);
    let named = |variable: &&Variable<'_>| {
        let names: Vec<&str> = variable.names.iter().map(|one| one.name.text).collect();
        bodies.iter().any(|one| uses_common(one.statements().unwrap_or_default(), &names))
    };
    let named: Vec<&Variable<'_>> = shared.filter(named).collect();
    let ([variable], [_]) = (&named[..], &bodies[..]) else { return None };
    let [declarator] = &variable.names[..] else { return None };
    let body = function.statements()?;
    let is_dynamic = variable.linkage.contains(&".extern")
        && declarator.count.is_none()
        && matches!(declarator.dimensions[..], [None]);
    let alone = function.kind == FunctionKind::Entry && !declares(body) && !calls(body);
    let element = u64::from(variable.ty?.bits()) / 8;
    let align = variable.align.unwrap_or(element).max(1);
    let name = declarator.name.text.to_owned();
    (is_dynamic && alone).then_some(Array { name, bytes: 0, align, is_dynamic: true })
}

/// Whether statements call a function.
fn calls(statements: &[Statement<'_>]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Instruction(instruction) => instruction.form.opcode == Opcode::Call,
        Statement::Block { statements, .. } => calls(statements),
        _ => false,
    })
}

/// The bytes of shared memory that a kernel and the functions that it may call declare: with the padding that
/// alignment needs, in the order of the text, and without any.
fn static_bytes(module: &Module<'_>, function: &Function<'_>) -> (u64, u64) {
    let bodies = reached(module, function.name.text);
    let mut all: Vec<Array> = bodies.iter().flat_map(|one| declared(one)).collect();
    for item in &module.items {
        let Item::Variable(variable) = item else { continue };
        let names: Vec<&str> = variable.names.iter().map(|one| one.name.text).collect();
        let named = |one: &&Function<'_>| uses_common(one.statements().unwrap_or_default(), &names);
        if variable.space == StateSpace::Shared && bodies.iter().any(named) {
            all.extend(of_file(variable));
        }
    }
    let place = |end: u64, one: &Array| end.next_multiple_of(one.align.max(1)) + one.bytes;
    (all.iter().fold(0, place), all.iter().map(|one| one.bytes).sum())
}

/// Why a block may have no room for the rewritten kernel's arrays, in words: they exceed the size that a kernel may
/// declare, and the original's do not.
pub(crate) fn overfull(
    modules: Both<&Module<'_>>,
    functions: Both<&Function<'_>>,
) -> Option<String> {
    let (_, old) = static_bytes(modules.original, functions.original);
    let (new, _) = static_bytes(modules.rewritten, functions.rewritten);
    let limit = MAX_STATIC_SHARED;
    (old <= limit && new > limit).then(|| {
        format!(
            "the rewritten kernel declares {new} bytes of shared memory, and no assembler takes more than {limit} \
             (the original's {old} fit)"
        )
    })
}

/// How a kernel can observe the sizes and places of its variables in shared memory, in words, if it can: both change
/// with the size of one of them.
pub(crate) fn observed(program: &Program<'_, '_>, module: &Module<'_>) -> Option<String> {
    if program.function.kind == FunctionKind::Func {
        return Some("a function that is called declares them".to_owned());
    }
    let arrays = match Arrays::of(program, module) {
        Ok(arrays) => arrays,
        Err(reason) => return Some(reason),
    };
    if let Some(reason) = arrays.told {
        return Some(reason);
    }
    let common = module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) if variable.space == StateSpace::Shared => Some(variable),
        _ => None,
    });
    // Of those that belong to the kernel all accesses are known.
    let is_own = |name: &&str| program.of_module.iter().any(|array| array.name == *name);
    let common = common.flat_map(|variable| &variable.names).map(|one| one.name.text);
    let common: Vec<&str> = common.filter(|name| !is_own(name)).collect();
    let named = |arg: &Arg<'_>| match arg {
        Arg::Symbol { name, local: None, .. } => common.contains(name),
        _ => false,
    };
    // A function that is called may have arrays of its own, or name common ones, which move as well.
    let called = reached(module, program.function.name.text).into_iter();
    let called = called.filter(|one| one.kind == FunctionKind::Func);
    let others = called
        .filter_map(|one| one.statements())
        .any(|all| declares(all) || uses_common(all, &common));
    for (at, inst) in program.flow.insts.iter_enumerated() {
        let inside = |arg: &Arg<'_>| match arg {
            Arg::Symbol { .. } => others,
            Arg::Register(_) => true,
            _ => false,
        };
        if inst.ast.form.opcode == Opcode::Call {
            let line = program.line(at);
            if inst.args.iter().any(inside) {
                return Some(format!(
                    "line {line}: a function is called, which may have arrays, too"
                ));
            }
            if let Some(name) = inst.args.iter().find_map(|arg| outside(module, arg)) {
                return Some(format!(
                    "line {line}: `{name}` is called, whose body is elsewhere: it may read how much shared memory \
                     there is"
                ));
            }
        }
        if inst.args.iter().any(named) {
            let line = program.line(at);
            return Some(format!("line {line}: the address of a variable in shared memory moves"));
        }
    }
    let sized = |function: &Function<'_>| reads_sizes(function.statements().unwrap_or_default());
    let function =
        reached(module, program.function.name.text).into_iter().find(|one| sized(one))?;
    let name = function.name.text;
    Some(format!(
        "`{name}` reads how much shared memory there is, which changes with an array's size"
    ))
}

/// Whether a variable in shared memory is declared.
fn declares(statements: &[Statement<'_>]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Variable(variable) => variable.space == StateSpace::Shared,
        Statement::Block { statements, .. } => declares(statements),
        _ => false,
    })
}

/// The name of a function that an operand of a call names, if its body is in another file.
fn outside<'s>(module: &Module<'_>, arg: &Arg<'s>) -> Option<&'s str> {
    let Arg::Symbol { name, local: None, .. } = arg else { return None };
    let alias = module.aliases.iter().find(|[alias, _]| alias.text == *name);
    let own = alias.map_or(*name, |[_, own]| own.text);
    let inside = module.functions().any(|one| one.name.text == own && one.statements().is_some());
    (!inside).then_some(*name)
}

/// The functions of a name and all functions of the module that these may call: every one of them where a call does not name its
/// callee. (Functions whose bodies are elsewhere are another question, [`observed`].)
pub(crate) fn reached<'m, 's>(module: &'m Module<'s>, name: &str) -> Vec<&'m Function<'s>> {
    let mut found: Vec<_> = module.functions().filter(|one| one.name.text == name).collect();
    let mut next = 0;
    while let Some(caller) = found.get(next).copied() {
        next += 1;
        let mut names = Vec::new();
        callees(caller.statements().unwrap_or_default(), &mut names);
        for name in names {
            let alias =
                name.and_then(|name| module.aliases.iter().find(|[alias, _]| alias.text == name));
            let own = alias.map_or(name, |[_, own]| Some(own.text));
            let mut named = module.functions().filter(|one| Some(one.name.text) == own).peekable();
            let callees: Vec<&Function<'_>> = match named.peek() {
                Some(_) => named.collect(),
                None => module.functions().filter(|one| one.kind == FunctionKind::Func).collect(),
            };
            for callee in callees {
                if !found.iter().any(|known| std::ptr::eq(*known, callee)) {
                    found.push(callee);
                }
            }
        }
    }
    found
}

/// Adds the callees that the calls of some statements name; `None` for a call that names none.
fn callees<'s>(statements: &[Statement<'s>], found: &mut Vec<Option<&'s str>>) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => callees(statements, found),
            Statement::Instruction(call) if call.form.opcode == Opcode::Call => {
                let named = call.operands.iter().find_map(|operand| match operand {
                    Operand::Name(name) => Some(name.text),
                    _ => None,
                });
                found.push(named);
            }
            _ => {}
        }
    }
}

/// Whether statements of a body name one of these variables of the module, which the body's own declarations in
/// front of all instructions hide.
pub(crate) fn uses_common(body: &[Statement<'_>], variables: &[&str]) -> bool {
    let head = body.iter().take_while(|one| matches!(one, Statement::Variable(_)));
    let own: Vec<&str> = head
        .filter_map(|one| match one {
            Statement::Variable(variable) => Some(&variable.names),
            _ => None,
        })
        .flatten()
        .filter(|declared| declared.count.is_none())
        .map(|declared| declared.name.text)
        .collect();
    let left: Vec<&str> =
        variables.iter().copied().filter(|variable| !own.contains(variable)).collect();
    uses(body, &left)
}

/// Whether statements name one of these variables.
fn uses(statements: &[Statement<'_>], variables: &[&str]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Instruction(instruction) => {
            instruction.names().iter().any(|name| variables.contains(&name.text))
        }
        Statement::Block { statements, .. } => uses(statements, variables),
        _ => false,
    })
}

/// Whether a function makes addresses in shared memory that its caller does not show: of anything but a name.
fn has_own_addresses(function: &Function<'_>) -> bool {
    fn within(statements: &[Statement<'_>], registers: &FxHashSet<u32>) -> bool {
        statements.iter().any(|statement| match statement {
            Statement::Block { statements, .. } => within(statements, registers),
            Statement::Instruction(inst) if inst.form.space() == StateSpace::Shared => {
                let is_name = |operand: &Operand<'_>| match operand {
                    Operand::Address(address) => matches!(
                        address.base,
                        AddressBase::Name(name) if !registers.contains(&name.span.start)
                    ),
                    _ => true,
                };
                matches!(inst.form.opcode, Opcode::Mapa | Opcode::Cvta)
                    || !inst.operands.iter().all(is_name)
            }
            _ => false,
        })
    }
    let registers = Resolved::of(function).registers().map(|span| span.start).collect();
    within(function.statements().unwrap_or_default(), &registers)
}

/// Whether statements read the sum of all arrays' sizes (PTX ISA, "%total_smem_size", "%aggr_smem_size").
fn reads_sizes(statements: &[Statement<'_>]) -> bool {
    let sizes = |operand: &Operand<'_>| {
        matches!(operand, Operand::Name(name)
            if matches!(name.text, "%total_smem_size" | "%aggr_smem_size"))
    };
    statements.iter().any(|statement| match statement {
        Statement::Instruction(instruction) => instruction.operands.iter().any(sizes),
        Statement::Block { statements, .. } => reads_sizes(statements),
        _ => false,
    })
}

impl Arrays {
    /// The arrays of a function with all accesses to them.
    ///
    /// # Errors
    /// Why not all accesses are known.
    pub(crate) fn of(program: &Program<'_, '_>, module: &Module<'_>) -> Result<Arrays, String> {
        let mut declared = declared(program.function);
        declared.extend(program.of_module.iter().cloned());
        if declared.is_empty() {
            declared.extend(dynamic(module, program.function));
        }
        if declared.len() > MOST {
            return Err(format!("{} arrays in shared memory", declared.len()));
        }
        let unreached = vec![None; declared.len()];
        let mut arrays =
            Arrays { declared, accesses: Vec::new(), reached: unreached, told: None, bent: None };
        let made = arrays.made(program);
        for (at, inst) in program.flow.insts.iter_enumerated() {
            arrays.look_at(program, &made, at, inst);
        }
        if let Some((at, name)) = stray(&program.flow, &arrays.declared) {
            let line = program.line(at);
            arrays.bent = Some(format!("line {line}: this is outside of `{name}`"));
        }
        let others = reached(module, program.function.name.text).into_iter();
        let mut others = others.filter(|other| other.span != program.function.span);
        if let Some(other) = others.find(|other| has_own_addresses(other)) {
            let name = other.name.text;
            arrays
                .tell(!0, format!("it is not known which array is accessed by function `{name}`"));
        }
        Ok(arrays)
    }

    /// The variable that a name denotes.
    fn named(&self, name: &str, local: Option<u32>) -> Made {
        let full = local.map_or_else(|| name.to_owned(), |scope| format!("{scope}.{name}"));
        match self.declared.iter().position(|array| array.name == full) {
            Some(index) => 1 << index,
            None => OTHER,
        }
    }

    /// The names that an operand's value is made from.
    fn of_operand(&self, arg: &Arg<'_>, made: &TiSlice<RegisterId, Made>) -> Made {
        let of = |register: &RegisterId| made[*register];
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

    fn of_base(&self, base: Base<'_>, made: &TiSlice<RegisterId, Made>) -> Made {
        match base {
            Base::Register(register) => made[register],
            Base::Symbol { name, local } => self.named(name, local),
            Base::Absolute => 0,
        }
    }

    /// For each register, the names from which its values may be computed, over all its definitions. A loaded value is
    /// not computed from any address, since none is ever stored.
    fn made(&self, program: &Program<'_, '_>) -> TiVec<RegisterId, Made> {
        let mut made = ti_vec![0; program.flow.registers.len()];
        loop {
            let mut changed = false;
            for inst in &program.flow.insts {
                if is_access(inst) {
                    continue;
                }
                let from = self.made_of(inst, &made);
                for register in results(inst) {
                    let known = &mut made[register];
                    changed |= *known | from != *known;
                    *known |= from;
                }
            }
            if !changed {
                return made;
            }
        }
    }

    /// The names that a result is made from.
    fn made_of(&self, inst: &Inst<'_, '_>, made: &TiSlice<RegisterId, Made>) -> Made {
        let from = |at: usize| inst.args.get(at).map_or(0, |arg| self.of_operand(arg, made));
        let whole = |at: usize| from(at) != 0 && from(at) & BENT == 0;
        let all = (0..inst.args.len()).fold(0, |all, at| all | from(at));
        // By a number that may consist of bits of the address: gaps and swizzles.
        let moves = match inst.ast.form.opcode {
            Opcode::Add | Opcode::Or | Opcode::Xor => whole(1) || whole(2),
            Opcode::Sub => whole(1) && !whole(2),
            Opcode::Mad | Opcode::Mad24 => !whole(1) && !whole(2) && whole(3),
            Opcode::Mov | Opcode::Selp | Opcode::Cvt | Opcode::Cvta | Opcode::Setp => return all,
            _ => false,
        };
        // A register that is written anew in terms of itself is an address only later, as a rule.
        let written = results(inst);
        let is_own =
            |at: usize| matches!(&inst.args[at], Arg::Register(one) if written.contains(one));
        let anew = (0..inst.args.len()).any(|at| from(at) != 0 && !is_own(at));
        match (moves, anew) {
            (true, _) => all & !BENT,
            (false, true) => all | BENT,
            (false, false) => all,
        }
    }

    /// Notes where the address of an array is a value.
    fn tell(&mut self, arrays: Made, how: String) {
        if arrays & !OTHER != 0 && self.told.is_none() {
            self.told = Some(how.clone());
        }
        self.reach(arrays, how);
    }

    /// Notes how arrays may be reached.
    fn reach(&mut self, arrays: Made, how: String) {
        for (index, reached) in self.reached.iter_mut().enumerate() {
            if arrays & 1 << index != 0 && reached.is_none() {
                *reached = Some(how.clone());
            }
        }
    }

    /// Notes addresses that may be in any array: those that become generic, and those that are made from a name by other
    /// arithmetic than a sum.
    fn look_at_window(
        &mut self,
        made: &TiSlice<RegisterId, Made>,
        inst: &Inst<'_, '_>,
        how: impl Fn(&str) -> String,
    ) {
        let is_bent = |arg: &Arg<'_>| matches!(arg, Arg::Memory { base, .. } if self.of_base(*base, made) & BENT != 0);
        if inst.args.iter().any(is_bent) {
            self.bent.get_or_insert(how("it is not known which array is accessed by"));
        }
        let is_shared = inst.ast.form.space() == StateSpace::Shared;
        if inst.ast.form.opcode == Opcode::Cvta
            && is_shared
            && let Some(from) = inst.args.last().map(|from| self.of_operand(from, made))
        {
            let unknown = how("it is not known in which array is the address of");
            if from == 0 {
                self.tell(!0, unknown);
            } else if from & BENT != 0 {
                self.bent.get_or_insert(unknown);
            }
        }
    }

    /// Notes an instruction's access, and its other effects on arrays.
    fn look_at(
        &mut self,
        program: &Program<'_, '_>,
        made: &TiSlice<RegisterId, Made>,
        at: InstId,
        inst: &Inst<'_, '_>,
    ) {
        let opcode = inst.ast.opcode.text;
        let line = program.line(at);
        let how = |what: &str| format!("line {line}: {what} `{opcode}`");
        let goes_to = "the address of a shared array goes to";
        self.look_at_window(made, inst, how);
        if let Some((register, _)) = inst.guard {
            self.tell(made[register], how("the address of a shared array decides about"));
        }
        let space = inst.ast.form.space();
        let plain = is_access(inst);
        let whole = granule(inst);
        let place = match whole {
            Some(granule) => granule.operand,
            None => usize::from(matches!(inst.ast.form.opcode, Opcode::Ld | Opcode::Atom)),
        };
        for (index, arg) in inst.args.iter().enumerate() {
            // The source of a copy is in global memory.
            let is_read = inst.ast.form.opcode == Opcode::Cp && whole.is_some() && index == 1;
            match arg {
                Arg::Memory { base, rest, .. } if space == StateSpace::Shared && !is_read => {
                    let from = self.of_base(*base, made);
                    if from == 0 {
                        self.tell(!0, how("it is not known which array is accessed by"));
                    }
                    let from = from & !BENT;
                    if plain && index == place && rest.is_empty() {
                        let array = (from.is_power_of_two() && from != OTHER)
                            .then(|| from.trailing_zeros() as usize);
                        let of_type = || {
                            inst.ast.form.last_type().map_or(0, |ty| ty.bits() / 8)
                                * u32::from(inst.ast.form.elements().unwrap_or(1))
                        };
                        let bytes = whole.map_or_else(of_type, |granule| granule.bytes);
                        if array.is_none() || bytes == 0 {
                            self.reach(from, how("it is not known which bytes are accessed by"));
                        }
                        self.accesses.push(SharedAccess { inst: at, array, bytes });
                    } else {
                        self.reach(self.of_operand(arg, made), how(goes_to));
                    }
                }
                // The address of an element by its number is not a sum.
                Arg::Symbol { indexed: true, .. } => {
                    self.tell(self.of_operand(arg, made), how(goes_to));
                }
                // Arithmetic may be made with addresses.
                _ if role(inst) == Role::Pure => {}
                _ => self.tell(self.of_operand(arg, made), how(goes_to)),
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
        if elsewhere && whole.is_none() && !only_waits(inst) {
            self.reach(!0, how("shared memory may be accessed by"));
        }
    }
}
