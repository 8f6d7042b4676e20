//! The parser that pest makes of `grammar/*.pest`, and the one way to call it. The grammar files
//! are the definition of the syntax; nothing on this side accepts or refuses text.

use pest::Parser as _;
use pest::iterators::{Pair, Pairs};

use super::expected;
use super::fault::Fault;
use crate::source::Span;

/// The generated parser. pest concatenates the files; [`Rule`] has one variant for each rule.
#[derive(pest_derive::Parser)]
#[grammar = "../grammar/lexical.pest"]
#[grammar = "../grammar/constants.pest"]
#[grammar = "../grammar/operands.pest"]
#[grammar = "../grammar/statements.pest"]
#[grammar = "../grammar/variables.pest"]
#[grammar = "../grammar/functions.pest"]
#[grammar = "../grammar/module.pest"]
struct Grammar;

/// One match of a rule.
pub(super) type Node<'s> = Pair<'s, Rule>;

/// A piece of the input that is parsed on its own, and where in the file it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'s> {
    /// The text.
    pub text: &'s str,
    /// The offset of its first byte in the file.
    pub start: u32,
}

impl<'s> Fragment<'s> {
    /// The piece of a file's text under a span.
    pub fn new(text: &'s str, span: Span) -> Fragment<'s> {
        Fragment { text: &text[span.range()], start: span.start }
    }

    /// Where a match lies in the file. A rule that ends with something optional also matches the
    /// blanks and comments in front of what is not there; they are left out.
    pub fn span(self, node: &Node<'_>) -> Span {
        let span = node.as_span();
        let end = match self.text.as_bytes()[span.start()..span.end()].last() {
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'/') => {
                let after = node.clone().into_inner().last();
                let after = after.map_or(span.start(), |child| child.as_span().end());
                after + length_without_gap(&self.text[after..span.end()])
            }
            _ => span.end(),
        };
        Span { start: self.start + span.start() as u32, end: self.start + end as u32 }
    }

    /// The text under a span that lies in the piece.
    pub fn slice(self, span: Span) -> &'s str {
        &self.text[(span.start - self.start) as usize..(span.end - self.start) as usize]
    }

    /// Matches the whole piece against an entry rule and hands back what stands in it.
    ///
    /// # Errors
    /// The place where no rule goes on, and what could have stood there.
    pub fn parse(self, entry: Rule) -> Result<Pairs<'s, Rule>, Fault> {
        match Grammar::parse(entry, self.text) {
            Ok(mut pairs) => Ok(pairs.next().map_or(pairs, |entry| entry.into_inner())),
            Err(_) => Err(expected::explain(self, entry)),
        }
    }

    /// Matches the piece once more, this time with a record of every token that was tried.
    pub fn attempts(self, entry: Rule) -> Option<pest::error::Error<Rule>> {
        Grammar::parse(entry, self.text).err()
    }
}

/// How long a text is without the blanks and comments at its end. There are no strings in it.
fn length_without_gap(text: &str) -> usize {
    let (mut at, mut length) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if rest.starts_with("//") || rest.starts_with('#') {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            at += c.len_utf8();
            if !c.is_whitespace() {
                length = at;
            }
        }
    }
    length
}
