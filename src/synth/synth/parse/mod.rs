//! From the text of a sketch to its tree. `grammar/sketch.pest` defines the syntax.

mod network;
mod node;
mod place;
mod serial;

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::ast::{Folded, LoopStatement, Part, Reference, Statement};
use crate::source::{Diagnostic, SourceFile, Span};
use node::{Grammar, Node, Rule, expression, name, reference, span, when};
use serial::{serial, value};

/// How deeply parentheses and signs may be nested, and how long a line may be: the parser, and what walks over
/// its trees, descends once for each.
const MOST_NESTED: usize = 64;
const LONGEST_LINE: usize = 2000;

/// Refuses nesting that would make recursions too deep.
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

/// The name of a rule in messages.
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
        Rule::scan | Rule::reference | Rule::product | Rule::part | Rule::folded => {
            "an array with its indices"
        }
        _ => "a statement",
    }
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

fn product(node: Node<'_>) -> Vec<Reference> {
    node.into_inner().filter_map(reference).collect()
}
