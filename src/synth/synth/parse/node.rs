//! Names, expressions, indices and conditions, from the parser's pairs to the tree.

use pest::iterators::Pair;

use crate::source::Span;
use crate::synth::ast::{HoleText, Index, Name, Reference, Spanned, When};
use crate::synth::expr::{Cmp, Expr, Op};

#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/sketch.pest"]
pub(super) struct Grammar;

pub(super) type Node<'s> = Pair<'s, Rule>;

pub(super) fn span(node: &Node<'_>) -> Span {
    let span = node.as_span();
    Span::new(span.start(), span.start() + node.as_str().trim_end().len())
}

pub(super) fn name(node: &Node<'_>) -> Name {
    Name { text: node.as_str().to_owned(), span: span(node) }
}

/// A condition, written out or to be found.
pub(super) fn when(node: Node<'_>) -> Option<When> {
    if node.as_rule() == Rule::hole {
        return Some(When::Hole(hole(node)?));
    }
    let mut inner = node.into_inner();
    let (a, cmp, b) = (inner.next()?, inner.next()?, inner.next()?);
    Some(When::Compare(Cmp::of(cmp.as_str())?, expression(&a), expression(&b)))
}

pub(super) fn reference(node: Node<'_>) -> Option<Reference> {
    let span = span(&node);
    let mut inner = node.into_inner();
    let array = name(&inner.next()?);
    let indices = inner
        .filter_map(|index| {
            let inner = index.into_inner().next()?;
            Some(match inner.as_rule() {
                Rule::hole => Index::Hole(hole(inner)?),
                _ => Index::Plain(expression(&inner)),
            })
        })
        .collect();
    Some(Reference { array, indices, span })
}

pub(super) fn hole(node: Node<'_>) -> Option<HoleText> {
    let span = span(&node);
    let semicolon = node.as_str().find(';').map(|at| node.as_span().start() + at);
    let mut inner = node.into_inner().filter(|inner| inner.as_rule() != Rule::parenthesis);
    let family = name(&inner.next()?);
    let behind = |n: &Node<'_>| semicolon.is_some_and(|at| n.as_span().start() > at);
    let (second, first): (Vec<_>, Vec<_>) = inner.partition(behind);
    let [first, second] = [first, second].map(|list| list.iter().map(expression).collect());
    Some(HoleText { family, first, second, span })
}

pub(super) fn expression(node: &Node<'_>) -> Spanned {
    Spanned { expr: tree(node.clone()), span: span(node) }
}

/// The tree of a row of operands and operators.
fn tree(node: Node<'_>) -> Expr {
    match node.as_rule() {
        Rule::number => Expr::Number(node.as_str().parse().unwrap_or_default()),
        Rule::name => Expr::name(node.as_str()),
        Rule::logarithm => {
            let mut inner = node.into_inner().filter(|n| n.as_rule() != Rule::parenthesis);
            let mut next = || inner.next().map_or(Expr::Number(0), tree);
            Expr::binary(Op::Log, next(), next())
        }
        Rule::negation => {
            let inner = node.into_inner().next().map_or(Expr::Number(0), tree);
            Expr::binary(Op::Sub, Expr::Number(0), inner)
        }
        _ => {
            let mut operands: Vec<Expr> = Vec::new();
            let mut operators: Vec<Op> = Vec::new();
            let reduce = |operands: &mut Vec<Expr>, operators: &mut Vec<Op>, least: u8| {
                while operators.last().is_some_and(|op| op.binds() >= least) {
                    let (Some(op), Some(b), Some(a)) =
                        (operators.pop(), operands.pop(), operands.pop())
                    else {
                        return;
                    };
                    operands.push(Expr::binary(op, a, b));
                }
            };
            let children = node.into_inner();
            for child in children.filter(|child| child.as_rule() != Rule::parenthesis) {
                match Op::of(child.as_str()).filter(|_| child.as_rule() == Rule::operator) {
                    Some(op) => {
                        reduce(&mut operands, &mut operators, op.binds());
                        operators.push(op);
                    }
                    None => operands.push(tree(child)),
                }
            }
            reduce(&mut operands, &mut operators, 0);
            operands.pop().unwrap_or(Expr::Number(0))
        }
    }
}
