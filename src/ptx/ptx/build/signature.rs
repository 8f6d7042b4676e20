//! Parameters of functions and of call prototypes.

use super::{Built, variable};
use crate::ptx::ast::Variable;
use crate::ptx::grammar::{Fragment, Node, Rule};

/// The return parameters and parameters of a `prototype`.
pub(super) fn signature<'s>(
    fragment: Fragment<'s>,
    node: Node<'s>,
) -> Built<(Vec<Variable<'s>>, Vec<Variable<'s>>)> {
    let (mut returns, mut params) = (Vec::new(), Vec::new());
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::returns => returns = parameters(fragment, node)?,
            Rule::parameters => params = parameters(fragment, node)?,
            _ => {}
        }
    }
    Ok((returns, params))
}

/// The variables of a list of parameters.
pub(super) fn parameters<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Vec<Variable<'s>>> {
    node.into_inner().map(|node| variable::variable(fragment, node)).collect()
}
