//! Statements of a body, one run of them at a time.

use smallvec::SmallVec;

use super::operand::Operands;
use super::{Built, constant, missing, name, signature, unforeseen, unquoted, variable, word};
use crate::isa::Form;
use crate::ptx::ast::{Directive, Guard, Instruction, Location, Name, Statement};
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// A run of statements. Scopes may begin in one run and end in another, so their braces stand
/// beside the statements.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Run<'s> {
    /// The statements of all scopes in order, without blocks.
    pub statements: Vec<Statement<'s>>,
    /// The braces in order.
    pub braces: Vec<Brace>,
}

/// A brace between two statements.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Brace {
    /// How many statements of the run stand before it.
    pub before: usize,
    /// Whether it opens a scope.
    pub opens: bool,
    /// Where it stands.
    pub span: Span,
}

/// Parses a run of whole statements.
///
/// # Errors
/// The first syntax error.
pub(in crate::ptx) fn run<'s>(fragment: Fragment<'s>) -> Built<Run<'s>> {
    let mut run = Run::default();
    for node in fragment.parse(Rule::statements)? {
        let statement = match node.as_rule() {
            Rule::instruction => Statement::Instruction(instruction(fragment, node)?),
            Rule::scope_open | Rule::scope_close => {
                let opens = node.as_rule() == Rule::scope_open;
                let (before, span) = (run.statements.len(), fragment.span(&node));
                run.braces.push(Brace { before, opens, span });
                continue;
            }
            Rule::label => label(fragment, node)?,
            Rule::variable => Statement::Variable(Box::new(variable::variable(fragment, node)?)),
            Rule::EOI => continue,
            _ => Statement::Directive(directive(fragment, node)?),
        };
        run.statements.push(statement);
    }
    Ok(run)
}

fn instruction<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Instruction<'s>> {
    let span = fragment.span(&node);
    let (mut guard, mut opcode, mut operands) = (None, None, Operands::default());
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::guard => guard = Some(self::guard(fragment, node)?),
            Rule::opcode | Rule::call_opcode => opcode = Some(name(fragment, &node)),
            Rule::split_modifier => {
                let more = fragment.span(&node);
                opcode = opcode.map(|Name { span, .. }| {
                    let span = span.to(more);
                    Name { text: fragment.slice(span), span }
                });
            }
            _ => operands.take(fragment, node)?,
        }
    }
    let opcode = opcode.ok_or_else(|| missing(span, "an opcode"))?;
    Ok(Instruction {
        span,
        guard,
        opcode,
        form: Form::of(opcode.text),
        operands: operands.finish(),
    })
}

fn guard<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Guard<'s>> {
    let span = fragment.span(&node);
    let mut negated = false;
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::not => negated = true,
            _ => return Ok(Guard { register: name(fragment, &node), negated }),
        }
    }
    Err(missing(span, "a predicate"))
}

fn label<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Statement<'s>> {
    let span = fragment.span(&node);
    let mut inner = node.into_inner();
    let label = inner.next().map(|node| name(fragment, &node));
    let label = label.ok_or_else(|| missing(span, "a label"))?;
    Ok(match inner.next() {
        None => Statement::Label(label),
        Some(node) if node.as_rule() == Rule::targets => {
            Statement::Directive(targets(fragment, label, span, node)?)
        }
        Some(node) => {
            let (returns, params) = signature::signature(fragment, node)?;
            Statement::Directive(Directive::Prototype { label, returns, params, span })
        }
    })
}

fn targets<'s>(
    fragment: Fragment<'s>,
    label: Name<'s>,
    span: Span,
    node: Node<'s>,
) -> Built<Directive<'s>> {
    let mut inner = node.into_inner();
    let name = inner.next().map(|node| word(&node)).ok_or_else(|| missing(span, "a directive"))?;
    // The optional text behind a name may have been tried, so blanks behind the name may belong to the
    // match.
    let target = |node: Node<'s>| {
        let span = fragment.span(&node);
        Name { text: fragment.slice(span), span }
    };
    let targets = inner.map(target).collect();
    Ok(Directive::Targets { label, name, targets, span })
}

/// The directives that may stand both in a body and at module level.
pub(super) fn directive<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Directive<'s>> {
    let span = fragment.span(&node);
    let rule = node.as_rule();
    let mut inner = node.clone().into_inner();
    match rule {
        Rule::pragma => {
            Ok(Directive::Pragma { strings: inner.map(|node| unquoted(&node)).collect(), span })
        }
        Rule::location => {
            let mut numbers = SmallVec::<[u32; 3]>::new();
            for node in inner.take_while(|node| node.as_rule() == Rule::number) {
                numbers.push(constant::unsigned32(fragment, &node)?);
            }
            let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
            Ok(Directive::Loc(Location { file: at(0), line: at(1), column: at(2), span }))
        }
        Rule::file => match (inner.next(), inner.next()) {
            (Some(index), Some(name)) => {
                let index = constant::unsigned32(fragment, &index)?;
                Ok(Directive::File { index, name: unquoted(&name), span })
            }
            _ => Err(missing(span, "a file name")),
        },
        _ => Err(unforeseen(fragment, &node)),
    }
}
