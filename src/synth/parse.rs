//! From the text of a sketch to its tree. `grammar/sketch.pest` defines the syntax.

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::ast::{
    Folded, HoleText, Index, LoopStatement, LoopText, Name, Part, Reference, Spanned, SpannedValue,
    Start, Statement, Value, When,
};
use super::expr::{Cmp, Expr, Op};
use crate::source::{Diagnostic, SourceFile, Span};

mod network;
mod place;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/sketch.pest"]
struct Grammar;

type Node<'s> = Pair<'s, Rule>;

/// How deeply parentheses and signs may be nested, and how long a line may be: the parser, and what walks over
/// its trees, descends once for each.
const MOST_NESTED: usize = 64;
const LONGEST_LINE: usize = 2000;

/// Refuses what would take recursions too deep.
fn nesting(source: &SourceFile) -> Result<(), Diagnostic> {
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        let refuse = |at: usize, message: String| {
            Err(source.diagnostic(Span::new(start + at, start + at + 1), message))
        };
        if code.len() > LONGEST_LINE {
            return refuse(0, format!("this line has more than {LONGEST_LINE} bytes"));
        }
        let (mut open, mut signs, mut choices) = (0usize, 0usize, 0usize);
        for (at, byte) in code.bytes().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => open = open.saturating_sub(1),
                b'-' | b'!' => signs += 1,
                b'i' if code[at..].starts_with("if ") => choices += 1,
                b' ' | b'\t' => {}
                _ => signs = 0,
            }
            if open + signs + choices > MOST_NESTED {
                let message =
                    format!("more than {MOST_NESTED} parentheses and signs within each other");
                return refuse(at, message);
            }
        }
        start += line.len();
    }
    Ok(())
}

/// Parses a sketch.
///
/// # Errors
/// The place behind which no statement goes on, and what could have stood there.
pub fn parse(source: &SourceFile) -> Result<Vec<Statement>, Diagnostic> {
    nesting(source)?;
    let mut pairs = Grammar::parse(Rule::sketch, source.text()).map_err(|error| {
        let at = match error.location {
            InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
        };
        let rest = &source.text()[at..];
        let length = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
        let found = match rest.chars().next() {
            None => "the end of the file".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(_) => format!("`{}`", &rest[..length.max(1)]),
        };
        let mut expected: Vec<&str> = match &error.variant {
            ErrorVariant::ParsingError { positives, .. } => positives.iter().map(word).collect(),
            ErrorVariant::CustomError { .. } => Vec::new(),
        };
        expected.sort_unstable();
        expected.dedup();
        let expected = expected.join(" or ");
        source.diagnostic(Span::new(at, at + 1), format!("expected {expected}, found {found}"))
    })?;
    let file = pairs.next().map(Pair::into_inner);
    Ok(file.into_iter().flatten().filter_map(statement).collect())
}

/// What a rule is called in messages.
fn word(rule: &Rule) -> &'static str {
    match rule {
        Rule::EOI | Rule::sketch | Rule::param | Rule::axis | Rule::input | Rule::family => {
            "a statement"
        }
        Rule::load | Rule::step | Rule::fold | Rule::goal | Rule::minimise => "a statement",
        Rule::digits | Rule::decimal => "a number",
        Rule::variable | Rule::start | Rule::declared => "a name",
        Rule::assignment => "an assignment",
        Rule::loop_end => "`}`",
        Rule::infix => "an operator",
        Rule::prefix | Rule::value | Rule::choice | Rule::call | Rule::truth => "a value",
        Rule::extremum => "a value",
        Rule::operator_name => "an operator",
        Rule::word_over | Rule::over => "`over`",
        Rule::word_given | Rule::given => "`given`",
        Rule::word_assuming | Rule::assuming => "`assuming`",
        Rule::word_then => "`then`",
        Rule::word_else => "`else`",
        Rule::word_when => "`when`",
        Rule::word_and => "`and`",
        Rule::number | Rule::negation | Rule::expression | Rule::condition => "an expression",
        Rule::operator => "an operator",
        Rule::comparison => "a comparison",
        Rule::bracket => "`]`",
        Rule::parenthesis => "`)`",
        Rule::hole | Rule::index => "an index",
        Rule::name | Rule::axis_entry => "a name",
        Rule::brace => "`}`",
        Rule::pair | Rule::drawn => "a pair such as `0>1`",
        Rule::guard => "a condition",
        Rule::repeated => "a step",
        Rule::word_in => "`in`",
        Rule::word_of => "`of`",
        Rule::word_at => "`at`",
        Rule::star => "`(*)`",
        Rule::scan => "an array with its indices",
        Rule::reference | Rule::product | Rule::part | Rule::folded => "an array with its indices",
        _ => "a statement",
    }
}

fn span(node: &Node<'_>) -> Span {
    let span = node.as_span();
    Span::new(span.start(), span.start() + node.as_str().trim_end().len())
}

fn name(node: &Node<'_>) -> Name {
    Name { text: node.as_str().to_owned(), span: span(node) }
}

fn statement(node: Node<'_>) -> Option<Statement> {
    let rule = node.as_rule();
    if let Some(item) = network::item(&node) {
        return Some(Statement::Network(item));
    }
    if let Some(item) = place::item(&node) {
        return Some(Statement::Place(item));
    }
    let place = span(&node);
    // The first child is the statement's word.
    let inner = node.into_inner().skip(1);
    let mut inner = inner.filter(|inner| inner.as_rule() != Rule::parenthesis);
    Some(match rule {
        Rule::param => Statement::Param(name(&inner.next()?), expression(&inner.next()?)),
        Rule::axis => Statement::Axis(
            inner
                .filter_map(|entry| {
                    let mut entry = entry.into_inner();
                    Some((name(&entry.next()?), expression(&entry.next()?)))
                })
                .collect(),
        ),
        Rule::input => Statement::Input(inner.filter_map(reference).collect()),
        Rule::family => {
            let family = name(&inner.next()?);
            let (names, members): (Vec<_>, Vec<_>) = inner.partition(|n| n.as_rule() == Rule::name);
            let members = members.iter().map(expression).collect();
            Statement::Family(family, names.iter().map(name).collect(), members)
        }
        Rule::load | Rule::step => {
            Statement::Move(reference(inner.next()?)?, reference(inner.next()?)?)
        }
        Rule::fold => Statement::Fold(reference(inner.next()?)?, folded(inner.next()?)),
        Rule::goal => Statement::Goal(reference(inner.next()?)?, folded(inner.next()?)),
        Rule::minimise => Statement::Minimise(inner.map(|n| name(&n)).collect()),
        Rule::r#loop => Statement::Loop(LoopStatement::Loop(serial(inner, place)?)),
        Rule::result => Statement::Loop(LoopStatement::Result(inner.map(value).collect())),
        Rule::operators => {
            Statement::Loop(LoopStatement::Operators(inner.map(|n| name(&n)).collect()))
        }
        Rule::aux => Statement::Loop(LoopStatement::Aux(name(&inner.next()?))),
        _ => return None,
    })
}

fn folded(node: Node<'_>) -> Folded {
    if node.as_rule() == Rule::product {
        let parts = vec![Part { factors: product(node), when: Vec::new() }];
        return Folded { operator: None, axes: Vec::new(), parts };
    }
    let (names, parts): (Vec<_>, Vec<_>) =
        node.into_inner().partition(|n| n.as_rule() == Rule::name);
    Folded {
        operator: names.first().map(name),
        axes: names.iter().skip(1).map(name).collect(),
        parts: parts.into_iter().filter_map(part).collect(),
    }
}

fn part(node: Node<'_>) -> Option<Part> {
    let mut inner = node.into_inner();
    let factors = product(inner.next()?);
    let tests = inner.filter(|node| matches!(node.as_rule(), Rule::hole | Rule::condition));
    Some(Part { factors, when: tests.filter_map(when).collect() })
}

/// A condition, written out or to be found.
fn when(node: Node<'_>) -> Option<When> {
    if node.as_rule() == Rule::hole {
        return Some(When::Hole(hole(node)?));
    }
    let mut inner = node.into_inner();
    let (a, cmp, b) = (inner.next()?, inner.next()?, inner.next()?);
    Some(When::Compare(Cmp::of(cmp.as_str())?, expression(&a), expression(&b)))
}

fn product(node: Node<'_>) -> Vec<Reference> {
    node.into_inner().filter_map(reference).collect()
}

fn reference(node: Node<'_>) -> Option<Reference> {
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

fn hole(node: Node<'_>) -> Option<HoleText> {
    let span = span(&node);
    let semicolon = node.as_str().find(';').map(|at| node.as_span().start() + at);
    let mut inner = node.into_inner().filter(|inner| inner.as_rule() != Rule::parenthesis);
    let family = name(&inner.next()?);
    let behind = |n: &Node<'_>| semicolon.is_some_and(|at| n.as_span().start() > at);
    let (second, first): (Vec<_>, Vec<_>) = inner.partition(behind);
    let [first, second] = [first, second].map(|list| list.iter().map(expression).collect());
    Some(HoleText { family, first, second, span })
}

fn expression(node: &Node<'_>) -> Spanned {
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

/// A serial loop, from what stands behind its word.
fn serial<'s>(inner: impl Iterator<Item = Node<'s>>, span: Span) -> Option<LoopText> {
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
fn value(node: Node<'_>) -> SpannedValue {
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
