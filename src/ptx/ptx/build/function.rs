//! Heads of kernels and device functions.

use smallvec::SmallVec;

use super::{Built, constant, missing, name, signature, statement, unforeseen, word};
use crate::ptx::ast::{Body, Directive, Function, FunctionKind};
use crate::ptx::grammar::{Fragment, Node, Rule};

/// A function without its body.
pub(super) fn head<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Function<'s>> {
    let span = fragment.span(&node);
    let (mut kind, mut function_name) = (FunctionKind::Func, None);
    let (mut linkage, mut directives) = (SmallVec::new(), Vec::new());
    let (mut returns, mut params) = (Vec::new(), Vec::new());
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::linkage | Rule::attribute => linkage.push(node.as_str()),
            Rule::entry_word => kind = FunctionKind::Entry,
            Rule::func_word => {}
            Rule::returns => returns = signature::parameters(fragment, node)?,
            Rule::parameters => params = signature::parameters(fragment, node)?,
            Rule::identifier => function_name = Some(name(fragment, &node)),
            _ => directives.push(directive(fragment, node)?),
        }
    }
    let name = function_name.ok_or_else(|| missing(span, "the function's name"))?;
    Ok(Function { kind, name, span, linkage, returns, params, directives, body: Body::Absent })
}

fn directive<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Directive<'s>> {
    let span = fragment.span(&node);
    match node.as_rule() {
        Rule::pragma => statement::directive(fragment, node),
        Rule::performance => {
            let mut inner = node.into_inner();
            let name = inner.next().map(|node| word(&node));
            let name = name.ok_or_else(|| missing(span, "a directive"))?;
            let values = inner.map(|node| constant::unsigned(fragment, &node));
            Ok(Directive::Performance { name, values: values.collect::<Built<_>>()?, span })
        }
        _ => Err(unforeseen(fragment, &node)),
    }
}
