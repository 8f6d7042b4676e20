//! Serial loops, from the parser's pairs to the tree.

use super::node::{Node, Rule, name, span};
use crate::source::Span;
use crate::synth::ast::{LoopText, Name, SpannedValue, Start, Value};

/// A serial loop, from the tokens behind its keyword.
pub(super) fn serial<'s>(inner: impl Iterator<Item = Node<'s>>, span: Span) -> Option<LoopText> {
    let mut text = LoopText {
        start: Vec::new(),
        over: Vec::new(),
        given: Vec::new(),
        assuming: None,
        body: Vec::new(),
        span: Span::new(span.start as usize, span.start as usize + "loop".len()),
    };
    let declared = |node: Node<'s>| -> Vec<(Name, Name)> {
        let entries = node.into_inner().filter(|entry| entry.as_rule() == Rule::declared);
        let pairs = entries.map(|entry| {
            let mut entry = entry.into_inner();
            Some((name(&entry.next()?), name(&entry.next()?)))
        });
        pairs.flatten().collect()
    };
    for node in inner {
        match node.as_rule() {
            Rule::start => {
                let mut inner: Vec<Node<'s>> = node.into_inner().collect();
                let value = value(inner.pop()?);
                let mut names = inner.iter().map(name);
                text.start.push(Start { name: names.next()?, kind: names.next(), value });
            }
            Rule::assignment => {
                let mut inner = node.into_inner();
                text.body.push((name(&inner.next()?), value(inner.next()?)));
            }
            Rule::over => text.over = declared(node),
            Rule::given => text.given = declared(node),
            Rule::assuming => text.assuming = node.into_inner().nth(1).map(|n| name(&n)),
            _ => {}
        }
    }
    Some(text)
}

/// How tightly an operator of a loop binds.
fn binds(operator: &str) -> u8 {
    match operator {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" => 3,
        "<" | "<=" | ">" | ">=" => 4,
        "+" | "-" => 5,
        _ => 6,
    }
}

/// A value of a loop.
pub(super) fn value(node: Node<'_>) -> SpannedValue {
    let place = span(&node);
    let at = |value: Value| SpannedValue { value, span: place };
    match node.as_rule() {
        Rule::digits => at(Value::Number(node.as_str().parse().unwrap_or_default())),
        Rule::decimal => {
            let (whole, fraction) = node.as_str().split_once('.').unwrap_or_default();
            match fraction.bytes().all(|digit| digit == b'0') {
                true => at(Value::Number(whole.parse().unwrap_or_default())),
                // No name of a program is written so: the reader of the tree refuses it.
                false => at(Value::Name(node.as_str().to_owned())),
            }
        }
        Rule::truth => at(Value::Truth(node.as_str() == "true")),
        Rule::variable => at(Value::Name(node.as_str().to_owned())),
        Rule::choice => {
            let values = node.into_inner().filter(|inner| inner.as_rule() == Rule::value);
            let mut values = values.map(value);
            match (values.next(), values.next(), values.next()) {
                (Some(c), Some(a), Some(b)) => at(Value::If(Box::new([c, a, b]))),
                _ => at(Value::Number(0)),
            }
        }
        Rule::call => {
            let mut inner = node.into_inner();
            let of = inner.next().map_or(String::new(), |n| n.as_str().to_owned());
            let values = inner.filter(|inner| inner.as_rule() == Rule::value).map(value);
            let all = values.reduce(|a, b| at(Value::Infix(of.clone(), Box::new(a), Box::new(b))));
            all.unwrap_or_else(|| at(Value::Number(0)))
        }
        _ => row(node.into_inner().collect()),
    }
}

/// A row of operands, signs and operators as a tree.
fn row(nodes: Vec<Node<'_>>) -> SpannedValue {
    let mut operands: Vec<SpannedValue> = Vec::new();
    let mut operators: Vec<String> = Vec::new();
    let mut signs: Vec<(char, Span)> = Vec::new();
    let reduce = |operands: &mut Vec<SpannedValue>, operators: &mut Vec<String>, least: u8| {
        while operators.last().is_some_and(|op| binds(op) >= least) {
            let (Some(op), Some(b), Some(a)) = (operators.pop(), operands.pop(), operands.pop())
            else {
                return;
            };
            let span = a.span.to(b.span);
            operands.push(SpannedValue { value: Value::Infix(op, Box::new(a), Box::new(b)), span });
        }
    };
    for node in nodes {
        match node.as_rule() {
            Rule::parenthesis => {}
            Rule::prefix => {
                signs.push((node.as_str().chars().next().unwrap_or('-'), span(&node)));
            }
            Rule::infix => {
                reduce(&mut operands, &mut operators, binds(node.as_str()));
                operators.push(node.as_str().to_owned());
            }
            _ => {
                let mut operand = value(node);
                while let Some((sign, place)) = signs.pop() {
                    let span = place.to(operand.span);
                    operand = SpannedValue { value: Value::Prefix(sign, Box::new(operand)), span };
                }
                operands.push(operand);
            }
        }
    }
    reduce(&mut operands, &mut operators, 0);
    let nothing = SpannedValue { value: Value::Number(0), span: Span::new(0, 0) };
    operands.pop().unwrap_or(nothing)
}
