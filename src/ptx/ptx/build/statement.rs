//! Statements of a body, one run of them at a time.

use smallvec::SmallVec;

use super::operand::Operands;
use super::plain::Reader;
use super::run::{Brace, Run};
use super::{Built, constant, missing, name, signature, unforeseen, unquoted, variable, word};
use crate::isa::Form;
use crate::ptx::ast::{Directive, Guard, Instruction, Location, Name, Statement};
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// Parses a run of whole statements.
///
/// # Errors
/// The first syntax error.
pub(in crate::ptx) fn run<'s>(fragment: Fragment<'s>) -> Built<Run<'s>> {
    let mut run = Run::default();
    let text = fragment.slice(fragment.span);
    run.statements.reserve(memchr::memchr_iter(b';', text.as_bytes()).count());
    let mut reader = Reader::new(fragment.file, fragment.span);
    loop {
        reader.statements(&mut run);
        if reader.is_at_end() {
            return Ok(run);
        }
        let other = Fragment::new(fragment.file, reader.skip());
        if by_grammar(other, &mut run).is_err() {
            // (The message says what stands around the mistake.)
            run = Run::default();
            return by_grammar(fragment, &mut run).map(|()| run);
        }
    }
}

/// Appends the statements of a piece, as the grammar matches them.
pub(super) fn by_grammar<'s>(fragment: Fragment<'s>, run: &mut Run<'s>) -> Built<()> {
    for node in fragment.parse(Rule::statements)? {
        let statement = match node.as_rule() {
            Rule::instruction => Statement::Instruction(instruction(fragment, node)?),
            Rule::scope_open | Rule::scope_close => {
                let opens = node.as_rule() == Rule::scope_open;
                let (before, span) = (run.statements.len(), fragment.span(&node));
                run.braces.push(Brace { before, opens, span });
                continue;
            }
            Rule::label => label(fragment, node)?,
            Rule::variable => Statement::Variable(Box::new(variable::variable(fragment, node)?)),
            Rule::EOI => continue,
            _ => Statement::Directive(directive(fragment, node)?),
        };
        run.statements.push(statement);
    }
    Ok(())
}

fn instruction<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Instruction<'s>> {
    let span = fragment.span(&node);
    let (mut guard, mut opcode, mut operands) = (None, None, Operands::default());
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::guard => guard = Some(self::guard(fragment, node)?),
            Rule::opcode | Rule::call_opcode => opcode = Some(name(fragment, &node)),
            Rule::split_modifier => {
                let more = fragment.span(&node);
                opcode = opcode.map(|Name { span, .. }| {
                    let span = span.to(more);
                    Name { text: fragment.slice(span), span }
                });
            }
            _ => operands.take(fragment, node)?,
        }
    }
    let opcode = opcode.ok_or_else(|| missing(span, "an opcode"))?;
    Ok(Instruction {
        span,
        guard,
        opcode,
        form: Form::of(opcode.text),
        operands: operands.finish(),
    })
}

fn guard<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Guard<'s>> {
    let span = fragment.span(&node);
    let mut negated = false;
    for node in node.into_inner() {
        match node.as_rule() {
            Rule::not => negated = true,
            _ => return Ok(Guard { register: name(fragment, &node), negated }),
        }
    }
    Err(missing(span, "a predicate"))
}

fn label<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Statement<'s>> {
    let span = fragment.span(&node);
    let mut inner = node.into_inner();
    let label = inner.next().map(|node| name(fragment, &node));
    let label = label.ok_or_else(|| missing(span, "a label"))?;
    Ok(match inner.next() {
        None => Statement::Label(label),
        Some(node) if node.as_rule() == Rule::targets => {
            Statement::Directive(targets(fragment, label, span, node)?)
        }
        Some(node) => {
            let (returns, params) = signature::signature(fragment, node)?;
            Statement::Directive(Directive::Prototype { label, returns, params, span })
        }
    })
}

fn targets<'s>(
    fragment: Fragment<'s>,
    label: Name<'s>,
    span: Span,
    node: Node<'s>,
) -> Built<Directive<'s>> {
    let mut inner = node.into_inner();
    let name = inner.next().map(|node| word(&node)).ok_or_else(|| missing(span, "a directive"))?;
    // The optional text behind a name may have been tried, so blanks behind the name may belong to the
    // match.
    let target = |node: Node<'s>| {
        let span = fragment.span(&node);
        Name { text: fragment.slice(span), span }
    };
    let targets = inner.map(target).collect();
    Ok(Directive::Targets { label, name, targets, span })
}

/// The directives that may stand both in a body and at module level.
pub(super) fn directive<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Directive<'s>> {
    let span = fragment.span(&node);
    let rule = node.as_rule();
    let mut inner = node.clone().into_inner();
    match rule {
        Rule::pragma => {
            Ok(Directive::Pragma { strings: inner.map(|node| unquoted(&node)).collect(), span })
        }
        Rule::location => {
            let mut numbers = SmallVec::<[u32; 3]>::new();
            for node in inner.take_while(|node| node.as_rule() == Rule::number) {
                numbers.push(constant::unsigned32(fragment, &node)?);
            }
            let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
            Ok(Directive::Loc(Location { file: at(0), line: at(1), column: at(2), span }))
        }
        Rule::file => match (inner.next(), inner.next()) {
            (Some(index), Some(name)) => {
                let index = constant::unsigned32(fragment, &index)?;
                Ok(Directive::File { index, name: unquoted(&name), span })
            }
            _ => Err(missing(span, "a file name")),
        },
        _ => Err(unforeseen(fragment, &node)),
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(the_grammar_reads_the_same, most_statements_are_plain);

    /// The texts of the samples and of the test cases.
    fn texts() -> Vec<String> {
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut open = vec![root.join("ptx-samples"), root.join("tests")];
        let mut texts = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "ptx") {
                    texts.extend(std::fs::read_to_string(path));
                }
            }
        }
        texts.sort_unstable();
        assert!(texts.len() > 100, "{} texts", texts.len());
        texts
    }

    /// The pieces of a text's bodies.
    fn pieces(text: &str) -> Vec<Span> {
        let (pieces, _) = crate::ptx::scan::pieces(text);
        pieces
            .iter()
            .filter_map(|piece| piece.body.as_ref())
            .flat_map(|body| body.chunks())
            .collect()
    }

    fn compare(text: &str, piece: Span) {
        let fragment = Fragment::new(text, piece);
        let mut expected = Run::default();
        let expected = by_grammar(fragment, &mut expected).map(|()| expected);
        let read = run(fragment);
        let (expected, read) = (format!("{expected:?}"), format!("{read:?}"));
        assert!(expected == read, "{}\n{expected}\n{read}", fragment.slice(piece));
    }

    fn the_grammar_reads_the_same() {
        // These are put into a text, or take the place of something in it.
        let bytes = b";,.:{}[]()@!%_$|+-#/\"\n\t 0179xfUaz";
        let words =
            ["//", "/*", "*/", "WARP_SZ", "call", ".loc 1 2 3", "0f3F800000", "[2]", ".x", "_"];
        let mut state = 1u64;
        let mut number = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for text in texts() {
            for piece in pieces(&text) {
                compare(&text, piece);
                let inside = &text[piece.range()];
                for _ in 0..if inside.is_ascii() { 12 } else { 0 } {
                    // (A short part, so that not all texts end at a mistake far in front.)
                    let statements: Vec<&str> = inside.split_inclusive(';').collect();
                    let first = number(statements.len());
                    let mut changed =
                        statements[first..].iter().take(1 + number(4)).copied().collect::<String>();
                    for _ in 0..=number(2) {
                        let at = number(changed.len() + 1);
                        let until = (at + number(3)).min(changed.len());
                        let byte = char::from(bytes[number(bytes.len())]).to_string();
                        let word = if number(3) > 0 { &byte } else { words[number(words.len())] };
                        changed.replace_range(at..until, word);
                    }
                    compare(&changed, Span::new(0, changed.len()));
                }
            }
        }
    }

    fn most_statements_are_plain() {
        let (mut plain, mut all) = (0, 0);
        for text in texts() {
            for piece in pieces(&text) {
                let mut expected = Run::default();
                if by_grammar(Fragment::new(&text, piece), &mut expected).is_err() {
                    continue;
                }
                all += expected.statements.len();
                let (mut read, mut reader) = (Run::default(), Reader::new(&text, piece));
                while !reader.is_at_end() {
                    reader.statements(&mut read);
                    reader.skip();
                }
                plain += read.statements.len();
            }
        }
        assert!(plain * 10 > all * 8, "{plain} of {all}");
    }
}
