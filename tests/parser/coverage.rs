//! What holds for every tree: spans lie in their parents, in order, and between them there is
//! nothing but blanks, comments and the punctuation that belongs to the parent. So no part of a
//! program can get lost.

use ptxasw::ptx::{Body, Item, Module, Statement};
use ptxasw::source::{SourceFile, Span};

/// What does not hold, in words.
pub fn violations(source: &SourceFile, module: &Module<'_>) -> Vec<String> {
    let mut check = Check { source, found: Vec::new() };
    let mut end = 0;
    for item in &module.items {
        let span = item.span();
        // Only `.version`, `.target` and `.address_size` have no span.
        check.between(end, span.start, &[".version", ".target", ".address_size"]);
        end = span.end;
        if let Item::Function(function) = item {
            match &function.body {
                Body::Parsed { span: body, statements } => {
                    check.scope(*body, statements);
                    check.place(*body, function.span);
                }
                Body::Unparsed { span: body, .. } => check.place(*body, function.span),
                Body::Absent => {}
            }
        }
    }
    check.found
}

struct Check<'a> {
    source: &'a SourceFile,
    found: Vec<String>,
}

impl Check<'_> {
    fn fail(&mut self, at: u32, message: &str) {
        let line = self.source.line(at);
        self.found.push(format!("{}:{line}: {message}", self.source.name()));
    }

    fn place(&mut self, inner: Span, outer: Span) {
        if inner.start < outer.start || inner.end > outer.end {
            self.fail(inner.start, "a span lies outside its parent's");
        }
    }

    /// The statements of a body or block, which `span` holds with its braces.
    fn scope(&mut self, span: Span, statements: &[Statement<'_>]) {
        if !(self.source.slice(span).starts_with('{') && self.source.slice(span).ends_with('}')) {
            self.fail(span.start, "a scope without its braces");
        }
        let mut end = span.start + 1;
        for statement in statements {
            let span = match statement {
                Statement::Label(name) => name.span,
                Statement::Instruction(instruction) => instruction.span,
                Statement::Variable(variable) => variable.span,
                Statement::Block { span, statements } => {
                    self.scope(*span, statements);
                    *span
                }
                Statement::Directive(directive) => directive.span(),
            };
            self.between(end, span.start, &[]);
            let text = self.source.slice(span);
            if text.is_empty() || text.trim() != text {
                self.fail(span.start, "a span that begins or ends with a blank, or is empty");
            }
            if matches!(statement, Statement::Instruction(_)) && !text.ends_with(';') {
                self.fail(span.start, "an instruction without its semicolon");
            }
            end = span.end;
            if matches!(statement, Statement::Label(_)) {
                end += behind_colon(&self.source.text()[end as usize..]) as u32;
            }
        }
        self.between(end, span.end - 1, &[]);
    }

    /// Nothing is lost from `start` to `end`, but for lines that begin with one of some words.
    fn between(&mut self, start: u32, end: u32, words: &[&str]) {
        if start > end {
            self.fail(end, "spans overlap or are out of order");
            return;
        }
        let text = without_gap(&self.source.text()[start as usize..end as usize]);
        if text.lines().any(|line| {
            let line = line.trim();
            !line.is_empty() && !words.iter().any(|word| line.starts_with(word))
        }) {
            self.fail(start, &format!("not in the tree: {:?}", text.trim()));
        }
    }
}

/// The place behind the colon that a text begins with, after blanks and comments.
fn behind_colon(text: &str) -> usize {
    let mut rest = text;
    while let Some(next) = after_comment(rest.trim_start()) {
        rest = next;
    }
    let rest = rest.trim_start();
    text.len() - rest.strip_prefix(':').unwrap_or(rest).len()
}

/// What follows the comment or line marker that a text begins with.
fn after_comment(text: &str) -> Option<&str> {
    if text.starts_with("//") || text.starts_with('#') {
        Some(text.find('\n').map_or("", |end| &text[end..]))
    } else {
        let comment = text.strip_prefix("/*")?;
        Some(comment.find("*/").map_or("", |end| &comment[end + 2..]))
    }
}

/// A text without comments and line markers.
fn without_gap(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(next) = after_comment(rest) {
            rest = next;
        } else {
            kept.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    kept
}
