//! Operands: names, vectors, addresses, and the two-destination form `a|b`.

use smallvec::SmallVec;

use super::{Built, constant, missing, name, unforeseen};
use crate::ptx::ast::{Address, AddressBase, Operand};
use crate::ptx::fault::Fault;
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// Operands under construction. The grammar hands them over flat: an offset, an index or a second
/// destination follows the operand that it belongs to.
#[derive(Default)]
pub(super) struct Operands<'s> {
    done: SmallVec<[Operand<'s>; 4]>,
}

impl<'s> Operands<'s> {
    /// Takes the next match.
    pub(super) fn take(&mut self, fragment: Fragment<'s>, node: Node<'s>) -> Built<()> {
        let operand = match node.as_rule() {
            Rule::added | Rule::subtracted | Rule::index => {
                let span = fragment.span(&node);
                let Some(Operand::Name(name)) = self.done.pop() else {
                    return Err(Fault::new(span, "only a name can have an offset")
                        .hint("write one constant expression, or compute the address first"));
                };
                let indexed = node.as_rule() == Rule::index;
                let offset = match indexed {
                    true => constant::integer_expression(fragment, only(span, node)?)?,
                    false => constant::offset(fragment, node)?,
                };
                Operand::Offset { name, offset, indexed }
            }
            Rule::second => {
                let span = fragment.span(&node);
                let first = self.done.pop().ok_or_else(|| missing(span, "a destination"))?;
                let second = operand(fragment, only(span, node)?)?;
                Operand::Pair(Box::new([first, second]))
            }
            _ => operand(fragment, node)?,
        };
        self.done.push(operand);
        Ok(())
    }

    /// The operands.
    pub(super) fn finish(self) -> SmallVec<[Operand<'s>; 4]> {
        self.done
    }
}

fn operand<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Operand<'s>> {
    let span = fragment.span(&node);
    Ok(match node.as_rule() {
        Rule::name => Operand::Name(name(fragment, &node)),
        Rule::sink => Operand::Sink(span),
        Rule::expression => Operand::Immediate(constant::expression(fragment, node)?),
        Rule::address => Operand::Address(Box::new(address(fragment, node)?)),
        Rule::vector => Operand::Vector(operands(fragment, node)?, span),
        Rule::list => Operand::List(operands(fragment, node)?, span),
        Rule::complement => Operand::Not(name(fragment, &only(span, node)?)),
        Rule::negation => Operand::Negated(name(fragment, &only(span, node)?)),
        _ => return Err(unforeseen(fragment, &node)),
    })
}

fn only<'s>(span: Span, node: Node<'s>) -> Built<Node<'s>> {
    node.into_inner().next().ok_or_else(|| missing(span, "a name"))
}

fn operands<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Vec<Operand<'s>>> {
    let mut operands = Operands::default();
    node.into_inner().try_for_each(|node| operands.take(fragment, node))?;
    Ok(operands.finish().into_vec())
}

fn address<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Address<'s>> {
    let span = fragment.span(&node);
    let mut operands = Operands::default();
    node.into_inner().try_for_each(|node| operands.take(fragment, node))?;
    let mut operands = operands.finish().into_iter();
    let (base, offset) = match operands.next() {
        Some(Operand::Name(name)) => (AddressBase::Name(name), 0),
        Some(Operand::Offset { name, offset, indexed: false }) => (AddressBase::Name(name), offset),
        Some(Operand::Offset { name, .. }) => {
            return Err(Fault::new(name.span, "an address is not indexed")
                .hint("write the offset in bytes, `[name+8]`"));
        }
        Some(Operand::Immediate(immediate)) => match immediate.value.as_integer() {
            Some(offset) => (AddressBase::Absolute, offset),
            None => return Err(Fault::new(immediate.span, "an address is an integer")),
        },
        _ => return Err(missing(span, "an address")),
    };
    Ok(Address { span, base, offset, rest: operands.collect() })
}
