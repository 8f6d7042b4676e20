//! The parser that pest makes of `grammar/*.pest`, and the one way to call it. The grammar files
//! define the syntax; no code here accepts or refuses text.

use pest::Parser as _;
use pest::iterators::{Pair, Pairs};

use crate::source::{Span, comments};

/// The generated parser. pest concatenates the files; [`Rule`] has one variant for each rule.
#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/lexical.pest"]
#[grammar = "../../grammar/constants.pest"]
#[grammar = "../../grammar/operands.pest"]
#[grammar = "../../grammar/statements.pest"]
#[grammar = "../../grammar/variables.pest"]
#[grammar = "../../grammar/functions.pest"]
#[grammar = "../../grammar/module.pest"]
struct Grammar;

/// One match of a rule.
pub(super) type Node<'s> = Pair<'s, Rule>;

/// A piece of the input that is parsed on its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'s> {
    /// The text of the whole file.
    pub file: &'s str,
    /// Where the piece lies in it.
    pub span: Span,
}

impl<'s> Fragment<'s> {
    /// The piece of a file's text under a span.
    pub(super) fn new(file: &'s str, span: Span) -> Fragment<'s> {
        Fragment { file, span }
    }

    fn text(self) -> &'s str {
        self.slice(self.span)
    }

    /// Where a match lies in the file. If a rule ends with something optional that is absent, the
    /// match also contains the blanks and comments before it; these are left out.
    pub(super) fn span(self, node: &Node<'_>) -> Span {
        let span = node.as_span();
        let text = node.as_str();
        let end = match text.as_bytes().last() {
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'/') => {
                let after = node.clone().into_inner().last();
                let after = after.map_or(span.start(), |child| child.as_span().end());
                after + length_without_gap(&text[after - span.start()..])
            }
            _ => span.end(),
        };
        let base = self.span.start;
        Span { start: base + span.start() as u32, end: base + end as u32 }
    }

    /// The text under a span.
    pub(super) fn slice(self, span: Span) -> &'s str {
        &self.file[span.range()]
    }

    /// Matches the whole piece against an entry rule.
    ///
    /// # Errors
    /// What pest knows of the mismatch; [`Fragment::parse`] says it in words of PTX.
    pub(super) fn attempt(
        self,
        entry: Rule,
    ) -> Result<Pairs<'s, Rule>, Box<pest::error::Error<Rule>>> {
        Grammar::parse(entry, self.text()).map_err(Box::new)
    }
}

/// How long the blanks and comments at the beginning of a text are, lines of a preprocessor (`# 1
/// "a.cu"`) included.
pub(super) fn gap_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = comments::gap_length(bytes);
    while bytes.get(at) == Some(&b'#') {
        at += comments::line_length(&bytes[at..]);
        at += comments::gap_length(&bytes[at..]);
    }
    at
}

/// How long a text is without the blanks and comments at its end. The text must hold no strings.
fn length_without_gap(text: &str) -> usize {
    let mut end = 0;
    loop {
        let token = end + gap_length(&text[end..]);
        match text[token..].chars().next() {
            Some(c) => end = token + c.len_utf8(),
            None => return end,
        }
    }
}
