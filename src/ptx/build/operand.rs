//! Operands: names, vectors, addresses, and the two-destination form `a|b`.

use smallvec::SmallVec;

use super::{Built, constant, missing, name, unforeseen};
use crate::ptx::ast::{Address, AddressBase, Operand};
use crate::ptx::fault::Fault;
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// Operands under construction. The grammar hands them over flat: an `index`, an `offset` and a
/// `bar` follow the operand that they belong to.
#[derive(Default)]
pub(super) struct Operands<'s> {
    done: SmallVec<[Operand<'s>; 4]>,
    /// A bar stood in front of the operand that comes next.
    barred: bool,
}

impl<'s> Operands<'s> {
    /// Takes the next match.
    pub fn take(&mut self, fragment: Fragment<'s>, node: Node<'s>) -> Built<()> {
        match node.as_rule() {
            Rule::bar => {
                self.barred = true;
                return Ok(());
            }
            Rule::offset | Rule::index => return self.add_offset(fragment, node),
            _ => {}
        }
        let operand = operand(fragment, node)?;
        if std::mem::take(&mut self.barred)
            && let Some(first) = self.done.pop()
        {
            self.done.push(Operand::Pair(Box::new([first, operand])));
        } else {
            self.done.push(operand);
        }
        Ok(())
    }

    /// Adds an offset to the operand before it.
    fn add_offset(&mut self, fragment: Fragment<'s>, node: Node<'s>) -> Built<()> {
        let offset = match node.as_rule() {
            Rule::offset => constant::offset(fragment, node.clone())?,
            _ => inner_integer(fragment, node.clone())?,
        };
        let last = match self.done.last_mut() {
            Some(Operand::Pair(pair)) => Some(&mut pair[1]),
            last => last,
        };
        match last {
            Some(operand) => {
                if let Operand::Name(name) = *operand {
                    *operand = Operand::Offset { name, offset };
                    return Ok(());
                }
                Err(unforeseen(fragment, &node))
            }
            None => Err(unforeseen(fragment, &node)),
        }
    }

    /// The operands.
    pub fn finish(self) -> SmallVec<[Operand<'s>; 4]> {
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

fn inner_integer<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<i64> {
    let span = fragment.span(&node);
    let inner = node.into_inner().next().ok_or_else(|| missing(span, "a number"))?;
    constant::integer_expression(fragment, inner)
}

fn address<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Address<'s>> {
    let span = fragment.span(&node);
    let mut operands = Operands::default();
    node.into_inner().try_for_each(|node| operands.take(fragment, node))?;
    let mut operands = operands.finish().into_iter();
    let (base, offset) = match operands.next() {
        Some(Operand::Name(name)) => (AddressBase::Name(name), 0),
        Some(Operand::Offset { name, offset }) => (AddressBase::Name(name), offset),
        Some(Operand::Immediate(immediate)) => match immediate.value.as_integer() {
            Some(offset) => (AddressBase::Absolute, offset),
            None => return Err(Fault::new(immediate.span, "an address is an integer")),
        },
        _ => return Err(missing(span, "an address")),
    };
    Ok(Address { span, base, offset, rest: operands.collect() })
}
