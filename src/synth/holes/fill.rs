//! Instructions in the place of calls.
//!
//! In: a kernel, its calls and the formula of each hole. Out: edits of the text: the call, the parameters that it is
//! handed and their declarations go; where the result was read it is computed. Nothing else changes.

use super::hole::{self, Hole, Holes, Site};
use crate::cfg::Flow;
use crate::isa::ScalarType::B32;
use crate::isa::{Opcode, StateSpace};
use crate::ptx::write::{Block, Fresh, Reg, Value};
use crate::ptx::{AddressBase, Function, Instruction, Operand, Statement, Variable};
use crate::rewrite::Edit;
use crate::source::{Diagnostic, SourceFile, Span};
use crate::synth::emit::domain::{Domain, at};
use crate::synth::emit::index::{self, Scope};
use crate::synth::expr::Expr;

/// A prefix for our registers that does not occur in the text.
pub(super) fn stem(text: &str) -> String {
    let mut stem = "%ptxasw_hole_".to_owned();
    while text.contains(stem.trim_start_matches('%')) {
        stem.push('_');
    }
    stem
}

/// The edits that fill the holes of a kernel; `formulas` has one for each hole, over its coordinates' names.
///
/// # Errors
/// A call is not of the form that compilers write.
pub(super) fn edits<'s>(
    source: &SourceFile,
    function: &Function<'s>,
    flow: &Flow<'_, 's>,
    holes: &Holes,
    formulas: &[Expr],
    (stem, first): (&str, usize),
) -> Result<Vec<Edit>, Diagnostic> {
    let mut edits = Vec::new();
    for (number, site) in holes.sites.values().enumerate() {
        let call = flow.insts[site.inst].ast;
        let stem = format!("{stem}{}_", first + number);
        let Some(formula) = formulas.get(site.hole) else {
            let message = "nothing that the kernel stores depends on this hole";
            return Err(source.diagnostic(call.span, message));
        };
        let filled = one(source, function, call, holes, site, formula, &stem);
        match filled {
            Some(own) => edits.extend(own?),
            None => {
                let message = "the arguments of a hole must be registers, numbers, or parameters stored one by one";
                return Err(source.diagnostic(call.span, message));
            }
        }
    }
    Ok(edits)
}

/// The statements of the innermost scope that an instruction stands in.
fn scope<'m, 's>(statements: &'m [Statement<'s>], span: Span) -> Option<&'m [Statement<'s>]> {
    statements.iter().find_map(|statement| match statement {
        Statement::Instruction(own) if own.span == span => Some(statements),
        Statement::Block { statements, span: block }
            if block.start < span.start && span.end <= block.end =>
        {
            scope(statements, span)
        }
        _ => None,
    })
}

/// The parameter that an instruction of some opcode accesses.
fn parameter<'s>(instruction: &Instruction<'s>, opcode: Opcode) -> Option<&'s str> {
    let form = &instruction.form;
    if form.opcode != opcode || form.space() != StateSpace::Param {
        return None;
    }
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => match address.base {
            AddressBase::Name(name) if address.offset == 0 => Some(name.text),
            _ => None,
        },
        _ => None,
    })
}

fn declares(variable: &Variable<'_>, names: &[&str]) -> bool {
    variable.space == StateSpace::Param
        && variable.names.iter().all(|declarator| names.contains(&declarator.name.text))
}

/// The instructions of a scope.
fn instructions<'m, 's>(
    statements: &'m [Statement<'s>],
) -> impl DoubleEndedIterator<Item = &'m Instruction<'s>> {
    statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    })
}

/// The arguments of a call of a hole.
struct Passed<'m, 's> {
    /// For each argument an operand of the call, or the operand that is stored to a parameter before it.
    operands: Vec<&'m Operand<'s>>,
    /// The parameters.
    names: Vec<&'s str>,
    /// The stores to them.
    gone: Vec<Span>,
}

fn passed<'m, 's>(
    statements: &'m [Statement<'s>],
    call: &Instruction<'_>,
    arguments: &'m [Operand<'s>],
) -> Option<Passed<'m, 's>> {
    let mut gone: Vec<Span> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let mut operands: Vec<&Operand<'s>> = Vec::new();
    for argument in arguments {
        let stored = match argument {
            Operand::Name(name) => instructions(statements).rfind(|one| {
                let before = one.span.start < call.span.start && one.guard.is_none();
                before && parameter(one, Opcode::St) == Some(name.text)
            }),
            _ => None,
        };
        match (stored, argument) {
            (Some(store), Operand::Name(name)) => {
                names.push(name.text);
                gone.push(store.span);
                operands.push(store.operands.get(1)?);
            }
            _ => operands.push(argument),
        }
    }
    Some(Passed { operands, names, gone })
}

/// The register or number that a hole's formula has as its value; `block` gets the instructions that compute it.
fn value(
    hole: &Hole,
    operands: &[&Operand<'_>],
    formula: &Expr,
    block: &mut Block,
) -> Option<Result<Value, String>> {
    let coordinates = hole.coordinates();
    let own = match hole.kind {
        hole::Kind::Index => [1, 3],
        _ => [1, 2],
    };
    let mut domain = Domain::default();
    let mut known = Vec::new();
    let mut registers: Vec<(&str, Reg)> = Vec::new();
    for ((name, place), extent) in coordinates.iter().zip(own).zip(hole.extents) {
        match operands.get(place)? {
            Operand::Immediate(immediate) => {
                known.push((name.clone(), immediate.value.as_integer()?))
            }
            Operand::Name(register) => {
                registers.push((name, Reg::named(B32, register.text)));
                domain.axes.push((name.clone(), extent));
            }
            _ => return None,
        }
    }
    let expr = domain.simplified(at(formula, &known));
    let scope = Scope::of(&registers);
    Some(domain.machine(&expr).and_then(|expr| index::value(block, &expr, scope)))
}

fn one<'s>(
    source: &SourceFile,
    function: &Function<'s>,
    call: &Instruction<'s>,
    holes: &Holes,
    site: &Site,
    formula: &Expr,
    stem: &str,
) -> Option<Result<Vec<Edit>, Diagnostic>> {
    let [Operand::List(results, _), Operand::Name(_), Operand::List(arguments, _), ..] =
        &call.operands[..]
    else {
        return None;
    };
    let [Operand::Name(result)] = &results[..] else { return None };
    let statements = scope(function.statements()?, call.span)?;
    let Passed { operands, mut names, mut gone } = passed(statements, call, arguments)?;
    let reads: Vec<&Instruction<'_>> = instructions(statements)
        .filter(|one| one.span.start > call.span.start)
        .filter(|one| parameter(one, Opcode::Ld) == Some(result.text))
        .collect();
    if !reads.is_empty() {
        names.push(result.text);
    }
    let declared = statements.iter().filter_map(|statement| match statement {
        Statement::Variable(variable) if declares(variable, &names) => Some(variable.span),
        _ => None,
    });
    gone.extend(declared);
    let mut block = Block::new(Fresh::new(stem), "    ");
    let value = match value(&holes.holes[site.hole], &operands, formula, &mut block)? {
        Ok(value) => value,
        Err(why) => return Some(Err(source.diagnostic(call.span, why))),
    };
    let mut text = block.text().trim().replace("\n    ", "\n\t");
    if reads.is_empty() {
        let guard = match &call.guard {
            Some(guard) => {
                let not = if guard.negated { "!" } else { "" };
                format!("@{not}{} ", guard.register.text)
            }
            None => String::new(),
        };
        text.push_str(&format!("\n\t{guard}mov.b32 {}, {value};", result.text));
    }
    let mut edits = vec![Edit::new(call.span.range(), text)];
    for read in reads {
        let to = source.slice(read.operands.first()?.span());
        edits.push(Edit::new(read.span.range(), format!("mov.b32 \t{to}, {value};")));
    }
    edits.extend(gone.into_iter().map(|span| Edit::new(span.range(), String::new())));
    Some(Ok(edits))
}
