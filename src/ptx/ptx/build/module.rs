//! Pieces of the module level: directives, variables, and heads of functions and sections.

use super::{Built, constant, function, missing, name, statement, variable, word};
use crate::ptx::ast::{Directive, Item, Module};
use crate::ptx::fault::Fault;
use crate::ptx::grammar::{Fragment, Node, Rule};

/// The contribution of one piece of the module level to the module.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Contribution<'s> {
    /// `.version`, `.target`, `.address_size` where they are set, and the items in order.
    pub module: Module<'s>,
    /// Whether the last item is a section whose data follow in braces.
    pub section: bool,
}

/// Parses a piece from an entry rule, `item` or `definition`.
///
/// # Errors
/// The first syntax error.
pub(in crate::ptx) fn contribution<'s>(
    fragment: Fragment<'s>,
    entry: Rule,
) -> Built<Contribution<'s>> {
    let mut contribution = Contribution::default();
    for node in fragment.parse(entry)? {
        add(fragment, &mut contribution, node)?;
    }
    Ok(contribution)
}

fn add<'s>(fragment: Fragment<'s>, to: &mut Contribution<'s>, node: Node<'s>) -> Built<()> {
    let span = fragment.span(&node);
    let module = &mut to.module;
    let item = match node.as_rule() {
        Rule::EOI => return Ok(()),
        Rule::version => {
            let text = node.into_inner().as_str();
            let bad = || Fault::new(span, "this version number is out of range");
            let (major, minor) = text.split_once('.').ok_or_else(bad)?;
            let parse = |number: &str| number.parse().map_err(|_| bad());
            module.version = Some((parse(major)?, parse(minor)?));
            return Ok(());
        }
        Rule::target => {
            module.target = node.into_inner().map(|word| word.as_str()).collect();
            return Ok(());
        }
        Rule::address_size => {
            let number = node.into_inner().next().ok_or_else(|| missing(span, "a number"))?;
            module.address_size = Some(constant::unsigned32(fragment, &number)?);
            return Ok(());
        }
        Rule::kernel | Rule::device_function => Item::Function(function::head(fragment, node)?),
        Rule::variable => Item::Variable(variable::variable(fragment, node)?),
        Rule::dwarf => Item::Directive(Directive::Other { name: "@@dwarf", span }),
        Rule::alias => {
            let mut names = node.into_inner().map(|node| name(fragment, &node));
            let (Some(new), Some(old)) = (names.next(), names.next()) else {
                return Err(missing(span, "a function"));
            };
            module.aliases.push([new, old]);
            Item::Directive(Directive::Other { name: "alias", span })
        }
        Rule::section => {
            to.section = true;
            Item::Directive(Directive::Other { name: word_before_blank(&node), span })
        }
        _ => Item::Directive(statement::directive(fragment, node)?),
    };
    module.items.push(item);
    Ok(())
}

/// The first word of a directive without its dot.
fn word_before_blank<'s>(node: &Node<'s>) -> &'s str {
    word(node).split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("")
}
