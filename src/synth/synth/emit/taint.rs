//! Taint analysis: which registers of emitted code depend on loaded data.
//!
//! In: a module and the name of an entry. Promised: if [`check`] finds nothing in it and its callees, no address, no
//! branch and no source lane of a shuffle depends on loaded data. For a movement, only moves, selects by the lane,
//! shuffles and stores touch loaded values, so that one run on pairwise distinct inputs determines the results for all
//! inputs.
//!
//! The order of instructions does not matter here: a register that is written from loaded data anywhere counts as
//! loaded everywhere.

use rustc_hash::FxHashSet;

use crate::ptx::{AddressBase, Function, FunctionKind, Instruction, Module, Operand, Statement};

/// Instructions that may move loaded values without depending on them, with the number of their value operands.
const MOVES: [(&str, usize); 5] = [("mov", 2), ("selp", 3), ("shfl", 2), ("st", 2), ("cvta", 0)];

/// Finds dependences on loaded data that are not allowed.
///
/// # Errors
/// The first instruction that is wrong.
pub fn check(module: &Module<'_>, entry: &str, movement: bool) -> Result<(), String> {
    let own = |function: &&Function<'_>| {
        function.kind == FunctionKind::Func || function.name.text == entry
    };
    module.functions().filter(own).try_for_each(|function| {
        let mut code = Vec::new();
        gather(function.statements().unwrap_or_default(), &mut code);
        let loaded = loaded(&code);
        code.iter().try_for_each(|instruction| one(function, instruction, &loaded, movement))
    })
}

fn gather<'m, 's>(statements: &'m [Statement<'s>], code: &mut Vec<&'m Instruction<'s>>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => code.push(instruction),
            Statement::Block { statements, .. } => gather(statements, code),
            _ => {}
        }
    }
}

/// The names in an operand.
fn names<'s>(operand: &Operand<'s>, see: &mut dyn FnMut(&'s str)) {
    match operand {
        Operand::Name(name) | Operand::Not(name) | Operand::Negated(name) => see(name.text),
        Operand::Immediate(_) | Operand::Sink(_) => {}
        Operand::Pair(pair) => pair.iter().for_each(|operand| names(operand, see)),
        Operand::Vector(list, _) | Operand::List(list, _) => {
            list.iter().for_each(|operand| names(operand, see));
        }
        Operand::Offset { name, .. } => see(name.text),
        Operand::Address(address) => {
            if let AddressBase::Name(name) = &address.base {
                see(name.text);
            }
            address.rest.iter().for_each(|operand| names(operand, see));
        }
    }
}

fn any(operands: &[Operand<'_>], set: &FxHashSet<&str>) -> bool {
    let mut found = false;
    operands.iter().for_each(|operand| names(operand, &mut |name| found |= set.contains(name)));
    found
}

fn base<'s>(instruction: &Instruction<'s>) -> &'s str {
    instruction.opcode.text.split('.').next().unwrap_or_default()
}

/// Whether an instruction reads memory that is not a parameter.
fn loads(instruction: &Instruction<'_>) -> bool {
    matches!(base(instruction), "ld" | "ldu" | "atom" | "tex" | "call") && !parameter(instruction)
}

/// Whether an instruction reads or writes a parameter.
fn parameter(instruction: &Instruction<'_>) -> bool {
    instruction.opcode.text.split('.').any(|part| part == "param")
}

/// The registers and variables that hold loaded values.
fn loaded<'s>(code: &[&Instruction<'s>]) -> FxHashSet<&'s str> {
    let mut found = FxHashSet::default();
    loop {
        let before = found.len();
        for instruction in code {
            let Some((to, from)) = instruction.operands.split_first() else { continue };
            // Taint is not tracked through memory: every load gives loaded data.
            if base(instruction) == "st" && !parameter(instruction) {
                continue;
            }
            if loads(instruction) || any(from, &found) {
                names(to, &mut |name| {
                    found.insert(name);
                });
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn one(
    function: &Function<'_>,
    instruction: &Instruction<'_>,
    loaded: &FxHashSet<&str>,
    movement: bool,
) -> Result<(), String> {
    let (name, opcode) = (function.name.text, instruction.opcode.text);
    let wrong = |what: &str| Err(format!("{name}: {what} of `{opcode}` depends on loaded data"));
    if instruction.guard.as_ref().is_some_and(|guard| loaded.contains(guard.register.text)) {
        return wrong("the guard");
    }
    let addresses = instruction.operands.iter().filter(|o| matches!(o, Operand::Address(_)));
    if !parameter(instruction)
        && addresses.into_iter().any(|o| any(std::slice::from_ref(o), loaded))
    {
        return wrong("the address");
    }
    let operands = instruction.operands.as_slice();
    let base = base(instruction);
    if base == "shfl" && any(operands.get(2..).unwrap_or_default(), loaded) {
        return wrong("the source lane");
    }
    if base == "call" && any(operands.get(1..).unwrap_or_default(), loaded) {
        return wrong("an argument");
    }
    if !movement || matches!(base, "ld" | "call") {
        return Ok(());
    }
    let moves = MOVES.iter().find(|(known, _)| *known == base);
    let own = operands.get(moves.map_or(1, |(_, values)| *values)..).unwrap_or_default();
    if any(own, loaded) { wrong("an operand") } else { Ok(()) }
}
