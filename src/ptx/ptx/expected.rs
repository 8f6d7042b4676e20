//! From text that does not match to a message in words of PTX: where the text stopped making sense, which token
//! stands there, which could have stood there instead, and the likely mistake.

use super::fault::Fault;
use crate::isa::Opcode;
use crate::source::{Span, comments};

/// The kinds of pieces, each with the rule of the grammar that all of it matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// `item`
    Item,
    /// `definition`
    Definition,
    /// `statements`
    Statements,
    /// `section_body`
    Section,
}

/// Tokens that could have stood at a place. Of several the first one here is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    /// The beginning of a statement, an item or a line of data.
    Whole,
    Operand,
    /// An initial value.
    Value,
    Type,
    Space,
    Colon,
    Equals,
    Parenthesis,
    Bracket,
    Brace,
    Angle,
    Comma,
    Semicolon,
    Constant,
    Name,
    Opcode,
    String,
    Number,
    Attribute,
    /// A word of `.loc` about inlined code.
    Inlined,
    /// The rest of a number that ends too early: the number itself is wrong.
    LongerNumber,
}

/// The punctuation marks that could have stood at a place; all of them are named.
const MARKS: [(Expected, &str); 8] = [
    (Expected::Colon, "`:`"),
    (Expected::Equals, "`=`"),
    (Expected::Parenthesis, "`)`"),
    (Expected::Bracket, "`]`"),
    (Expected::Brace, "`}`"),
    (Expected::Angle, "`>`"),
    (Expected::Comma, "`,`"),
    (Expected::Semicolon, "`;`"),
];

/// A piece that does not match.
pub(super) struct Failure<'s> {
    file: &'s str,
    piece: Span,
    entry: Entry,
    /// Where the token that nothing fits begins, in the file.
    at: usize,
    /// What could have stood there, a bit for each [`Expected`].
    tried: u32,
}

impl<'s> Failure<'s> {
    /// A piece that made sense up to a place, and the bits of the tokens that could have stood there.
    pub(super) fn new(
        file: &'s str,
        piece: Span,
        entry: Entry,
        farthest: usize,
        tried: u32,
    ) -> Failure<'s> {
        let mut failure = Failure { file, piece, entry, at: farthest, tried };
        let inside_word = file[farthest..].starts_with(is_word);
        if inside_word || failure.has_tried(Expected::LongerNumber) {
            failure.at -= trailing_word(&file[..farthest]);
        }
        failure
    }

    /// The message.
    pub(super) fn explain(&self) -> Fault {
        if let Some((name, dot)) = self.dotted() {
            let message = format!("`{name}` is not a name: names have no dot");
            return Fault::new(Span::new(dot, dot + 1), message)
                .hint("names are made of letters, digits, `_`, `$` and `%`; replace the dot");
        }
        let expected = self.expected();
        let (found, span) = self.found();
        let fault = Fault::new(span, format!("expected {expected}, found {found}"));
        match self.advice(&expected) {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }

    /// A word with a dot where a name stands, and the place of the dot: the token at which the match stopped or that ends
    /// there, or the label in front of the statement. Opcodes, special registers and elements of vectors have dots.
    fn dotted(&self) -> Option<(&'s str, usize)> {
        const ELEMENTS: [&str; 8] = ["x", "y", "z", "w", "r", "g", "b", "a"];
        let file = self.file;
        let first = file.len() - self.rest_of_statement().len();
        let in_body = self.entry == Entry::Statements;
        let word = |start: usize| {
            let rest = &file[start..];
            &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())]
        };
        let start = self.at - trailing_word(&file[..self.at]);
        [start, first].into_iter().find_map(|start| {
            let name = word(start);
            let label = file[start + name.len()..].starts_with(':')
                && !file[start + name.len()..].starts_with("::");
            // (An opcode, if nothing but a guard predicate is in front of it.)
            let before = file.get(first..start).unwrap_or_default();
            let opcode = in_body && !label && (before.is_empty() || before.starts_with('@'));
            let (root, behind) = name.split_once('.')?;
            let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_$%".contains(c));
            let opcode = opcode || Opcode::of(root) != Opcode::Unknown;
            let legal = opcode || ELEMENTS.contains(&behind);
            let dot = start + name.find('.')?;
            (named && !legal).then_some((name, dot))
        })
    }

    /// The text from the beginning of the statement on.
    fn rest_of_statement(&self) -> &'s str {
        let length = self.statement().len();
        &self.file[self.at - length..]
    }

    fn has_tried(&self, expected: Expected) -> bool {
        self.tried & 1 << expected as u32 != 0
    }

    /// The kind of token that could have stood there.
    fn expected(&self) -> String {
        use Expected::*;
        let whole = match self.entry {
            Entry::Statements => "an instruction, a label or a directive",
            Entry::Section => "a label or a line of data",
            Entry::Item | Entry::Definition => "a directive",
        };
        let first = [
            (Whole, whole),
            (Operand, "an operand"),
            (Value, "a value"),
            (Type, "a type such as `.u32`"),
            (Space, "a state space such as `.param`"),
        ];
        let last = [
            (Constant, "a constant"),
            (Name, "a name"),
            (Opcode, "an opcode"),
            (String, "a string in quotes"),
            (Number, "a number"),
            (Attribute, "an attribute such as `.managed`"),
            (Inlined, "`function_name` or `inlined_at`"),
        ];
        let has_tried = |expected: &Expected| self.has_tried(*expected);
        let phrase = |(expected, phrase)| has_tried(&expected).then_some(phrase);
        if let Some(phrase) = first.into_iter().find_map(phrase) {
            return phrase.to_owned();
        }
        let marks: Vec<&str> =
            MARKS.iter().filter(|(mark, _)| has_tried(mark)).map(|(_, text)| *text).collect();
        match marks.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => last.into_iter().find_map(phrase).unwrap_or("something else").to_owned(),
        }
    }

    /// The token that stands there, in quotes, and its place.
    fn found(&self) -> (String, Span) {
        let rest = &self.file[self.at..];
        let length = match rest.chars().next() {
            None => {
                let end = self.file.trim_end().len();
                return ("the end of the file".to_owned(), Span::new(end, end));
            }
            Some(first) if is_word(first) => {
                rest.find(|c: char| !is_word(c) && c != ':').unwrap_or(rest.len())
            }
            Some('\0') => return ("a zero byte".to_owned(), Span::new(self.at, self.at + 1)),
            Some('`') => return ("a backquote".to_owned(), Span::new(self.at, self.at + 1)),
            Some(first) => first.len_utf8(),
        };
        let found = rest[..length].trim_end_matches(':');
        let length = found.len().max(1);
        (format!("`{}`", &rest[..length]), Span::new(self.at, self.at + length))
    }

    /// The likely mistake, and what to do about it.
    fn advice(&self, expected: &str) -> Option<String> {
        let file = self.file;
        let (found, _) = self.found();
        let before = file[..self.at].trim_end();
        let line_above = file[before.len()..self.at].contains('\n');
        if !found.is_ascii() {
            return Some("names are made of ASCII letters, digits, `_`, `$` and `%`".to_owned());
        }
        if expected.contains("`;`")
            && let Some((word, _)) = self.statement().split_once('\n')
            && word.trim_end().chars().all(|c| is_word(c) && c != '.')
        {
            let word = word.trim_end();
            return Some(format!("if `{word}` is a label, there is a `:` missing behind it"));
        }
        if expected.contains("`;`") && line_above {
            return Some("the statement before does not end with `;`".to_owned());
        }
        if expected.contains("`;`") && self.statement().starts_with("call") {
            let form = "call (results), function, (arguments), prototype;";
            return Some(format!("all but the function may be left out of `{form}`"));
        }
        for (open, close) in [('(', "`)`"), ('[', "`]`"), ('{', "`}`")] {
            if expected.contains(close) && !expected.contains("`;`") {
                return Some(format!("a `{open}` before it is still open"));
            }
        }
        let advice = match (expected, found.as_str()) {
            (
                "an operand" | "a value" | "a name" | "a constant",
                "`,`" | "`;`" | "`]`" | "`)`" | "`}`",
            ) => "something is missing before it, or there is a `,` too many",
            ("an opcode", "`{`") => {
                "a guard predicate is for one instruction; branch around a block"
            }
            ("a number", digits) if digits.starts_with("`0f") || digits.starts_with("`0d") => {
                "`0f` stands before 8 hexadecimal digits, `0d` before 16"
            }
            ("a constant", _) => "the offset behind a register must be a constant",
            ("an instruction, a label or a directive", "`;`") => "there is a `;` too many",
            ("a directive", "`;`") => "there is a `;` too many",
            ("a directive", name) if !name.starts_with("`.") => {
                "only directives, which begin with a dot, stand outside of functions"
            }
            (_, name) if name.starts_with("`.") => {
                "is it spelled right? It may also be newer than this program"
            }
            _ => return None,
        };
        Some(advice.to_owned())
    }

    /// The text of the statement up to the token.
    fn statement(&self) -> &'s str {
        let text = &self.file[self.piece.start as usize..self.at];
        let start = text.rfind([';', '{', '}']).map_or(0, |end| end + 1);
        let text = &text[start..];
        text[gap_length(text)..].trim_start()
    }
}

/// How long the blanks, comments and lines of a preprocessor (`# 1 "a.cu"`) at the beginning of a text are.
pub(super) fn gap_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = comments::gap_length(bytes);
    while bytes.get(at) == Some(&b'#') {
        at += comments::line_length(&bytes[at..]);
        at += comments::gap_length(&bytes[at..]);
    }
    at
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// The length of the word that a text ends with.
fn trailing_word(text: &str) -> usize {
    text.len() - text.trim_end_matches(is_word).len()
}
