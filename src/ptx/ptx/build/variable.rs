//! Declarations of variables and parameters, with their initial values.

use smallvec::SmallVec;

use super::{Built, constant, missing, name, unforeseen};
use crate::isa::{ScalarType, StateSpace};
use crate::ptx::ast::{Declarator, Initializer, Name, PointerAttribute, Variable};
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// A `variable` or a `parameter`.
pub(super) fn variable<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Variable<'s>> {
    let mut variable = Variable {
        span: fragment.span(&node),
        linkage: SmallVec::new(),
        space: StateSpace::Generic,
        bank: None,
        align: None,
        vector: 1,
        ty: None,
        pointer: None,
        names: SmallVec::new(),
    };
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::linkage | Rule::attribute => variable.linkage.push(node.as_str()),
            Rule::space => (variable.space, variable.bank) = space(fragment, node)?,
            Rule::scalar_type => variable.ty = ScalarType::of(node.as_str()),
            Rule::alignment => variable.align = Some(number_in(fragment, node)?),
            Rule::vector_size => variable.vector = vector_size(node.as_str()),
            Rule::pointer => variable.pointer = Some(pointer(fragment, node)?),
            Rule::opaque_type => {}
            Rule::declarator => variable.names.push(declarator(fragment, node)?),
            _ => return Err(unforeseen(fragment, &node)),
        }
    }
    Ok(variable)
}

fn space<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<(StateSpace, Option<u64>)> {
    let span = fragment.span(&node);
    let mut inner = node.into_inner();
    let space = inner.next().and_then(|node| StateSpace::of(node.as_str()));
    let bank = inner.next().map(|node| constant::unsigned(fragment, &node)).transpose()?;
    Ok((space.ok_or_else(|| missing(span, "a state space"))?, bank))
}

fn number_in<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<u64> {
    let span = fragment.span(&node);
    let number = node.into_inner().next().ok_or_else(|| missing(span, "a number"))?;
    constant::unsigned(fragment, &number)
}

fn vector_size(text: &str) -> u8 {
    match text {
        ".v2" => 2,
        ".v4" => 4,
        _ => 8,
    }
}

fn pointer<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<PointerAttribute> {
    let mut pointer = PointerAttribute { space: StateSpace::Generic, align: None };
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::pointer_word | Rule::opaque_type => {}
            Rule::space => pointer.space = space(fragment, node)?.0,
            _ => pointer.align = Some(number_in(fragment, node)?),
        }
    }
    Ok(pointer)
}

fn declarator<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Declarator<'s>> {
    let mut inner = node.clone().into_inner();
    let first = inner.next().ok_or_else(|| unforeseen(fragment, &node))?;
    let mut declarator = Declarator {
        name: name(fragment, &first),
        count: None,
        dimensions: SmallVec::new(),
        initializer: None,
    };
    let mut values = Vec::new();
    for node in inner {
        match node.as_rule() {
            Rule::count => {
                let number = node.clone().into_inner().next();
                let number = number.ok_or_else(|| unforeseen(fragment, &node))?;
                declarator.count = Some(constant::unsigned32(fragment, &number)?);
            }
            Rule::dimension => {
                let size = node.into_inner().next();
                let size = size.map(|node| constant::integer_expression(fragment, node));
                declarator.dimensions.push(size.transpose()?.map(|size| size as u64));
            }
            _ => add_initializer(fragment, &mut values, node)?,
        }
    }
    declarator.initializer = values.pop();
    Ok(declarator)
}

/// Appends an initial value, or joins a `masked_symbol` to the mask before it.
fn add_initializer<'s>(
    fragment: Fragment<'s>,
    values: &mut Vec<Initializer<'s>>,
    node: Node<'s>,
) -> Built<()> {
    let value = match node.as_rule() {
        Rule::number_row => return add_row(fragment, values, node),
        Rule::expression => Initializer::Value(constant::expression(fragment, node)?),
        Rule::initializer_list => {
            let mut list = Vec::new();
            for node in node.into_inner() {
                add_initializer(fragment, &mut list, node)?;
            }
            Initializer::List(list)
        }
        Rule::symbol_address => symbol_address(fragment, node, None)?,
        Rule::masked_symbol => {
            let mask = match values.pop() {
                Some(Initializer::Value(mask)) => mask.value.as_integer(),
                _ => None,
            };
            let mask = mask.ok_or_else(|| unforeseen(fragment, &node))?;
            let span = fragment.span(&node);
            let inner = node.into_inner().next().ok_or_else(|| missing(span, "a name"))?;
            symbol_address(fragment, inner, Some(mask as u64))?
        }
        Rule::property => property(fragment, node)?,
        _ => return Err(unforeseen(fragment, &node)),
    };
    values.push(value);
    Ok(())
}

/// Appends the numbers of a row. The grammar accepts nothing but numbers in it.
fn add_row<'s>(
    fragment: Fragment<'s>,
    values: &mut Vec<Initializer<'s>>,
    node: Node<'s>,
) -> Built<()> {
    let row = node.as_str();
    // With the exact capacity: a table can be most of a file.
    values.reserve_exact(1 + memchr::memchr_iter(b',', row.as_bytes()).count());
    let mut at = fragment.span(&node).start as usize;
    for field in row.split(',') {
        let start = at + field.len() - field.trim_ascii_start().len();
        at += field.len() + 1;
        let number = field.trim_ascii();
        let span = Span::new(start, start + number.len());
        values.push(Initializer::Value(constant::literal(number, span)?));
    }
    Ok(())
}

fn symbol_address<'s>(
    fragment: Fragment<'s>,
    node: Node<'s>,
    mask: Option<u64>,
) -> Built<Initializer<'s>> {
    let span = fragment.span(&node);
    let (mut symbol, mut generic, mut offset) = (None, false, 0);
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::generic_symbol => {
                generic = true;
                symbol = node.into_inner().next().map(|node| name(fragment, &node));
            }
            Rule::added | Rule::subtracted => offset = constant::offset(fragment, node)?,
            _ => symbol = Some(name(fragment, &node)),
        }
    }
    let name = symbol.ok_or_else(|| missing(span, "a name"))?;
    Ok(Initializer::Symbol { name, offset, generic, mask })
}

fn property<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Initializer<'s>> {
    let span: Span = fragment.span(&node);
    let mut inner = node.into_inner();
    match (inner.next(), inner.next()) {
        (Some(field), Some(value)) => {
            let name: Name<'s> = name(fragment, &field);
            Ok(Initializer::Property { name, value: value.as_str() })
        }
        _ => Err(missing(span, "a value")),
    }
}
