//! The statements of networks, from the parser's pairs to the tree.

use super::node::{Node, Rule, expression, name, reference, span, when};
use crate::synth::network::ast::{Example, Item, Repeat, Scan, Step};

/// The statement, if it is one of networks.
pub(super) fn item(node: &Node<'_>) -> Option<Item> {
    let whole = span(node);
    let mut inner = node.clone().into_inner();
    match node.as_rule() {
        Rule::law => {
            let names = inner.filter(|inner| inner.as_rule() == Rule::name);
            Some(Item::Laws(names.map(|inner| name(&inner)).collect()))
        }
        Rule::state => {
            inner.next();
            Some(Item::State(reference(inner.next()?)?, reference(inner.next()?)?))
        }
        Rule::goal => {
            inner.next();
            let of = reference(inner.next()?)?;
            let scan = inner.next().filter(|inner| inner.as_rule() == Rule::scan)?;
            let mut inner = scan.into_inner().skip(1);
            let input = reference(inner.next()?)?;
            let words: Vec<Rule> = inner.map(|word| word.as_rule()).collect();
            let has = |rule| words.contains(&rule);
            let (backward, segmented) = (has(Rule::word_backward), has(Rule::word_segmented));
            Some(Item::Goal(Scan { of, input, backward, segmented, span: whole }))
        }
        Rule::repeat => {
            let relax = inner.peek()?.as_rule() == Rule::word_relax;
            if relax {
                inner.next();
            }
            inner.next();
            let variable = name(&inner.next()?);
            inner.next();
            let (from, to) = (expression(&inner.next()?), expression(&inner.next()?));
            let steps = inner.filter(|inner| inner.as_rule() == Rule::repeated);
            let steps = steps.filter_map(step).collect();
            Some(Item::Repeat(Repeat { relax, variable, from, to, steps, span: whole }))
        }
        Rule::example => {
            inner.next();
            let named = inner.next()?;
            let lanes = expression(&inner.next()?);
            let drawn = inner.filter(|inner| inner.as_rule() == Rule::drawn);
            let pairs = |drawn: Node<'_>| {
                let pair = |pair: Node<'_>| {
                    let place = span(&pair);
                    let mut numbers = pair.into_inner();
                    let mut number = || numbers.next()?.as_str().parse().ok();
                    Some((number()?, number()?, place))
                };
                drawn.into_inner().filter_map(pair).collect()
            };
            Some(Item::Example(Example {
                lanes,
                steps: drawn.map(pairs).collect(),
                span: span(&named),
            }))
        }
        _ => None,
    }
}

fn step(node: Node<'_>) -> Option<Step> {
    let span = span(&node);
    let mut inner = node.into_inner().skip(1).peekable();
    let (target, from) = (reference(inner.next()?)?, reference(inner.next()?)?);
    let with = inner.next_if(|inner| inner.as_rule() == Rule::reference).and_then(reference);
    let guards = inner.filter(|inner| inner.as_rule() == Rule::guard);
    let when = guards.filter_map(|guard| when(guard.into_inner().next()?)).collect();
    Some(Step { target, from, with, when, span })
}
