//! From a failed match to a message in words of PTX: where the text stopped making sense, which token
//! stands there, which could have stood there instead, and the likely mistake.
//!
//! Pest knows which characters it tried at the farthest place it came to. They distinguish the few
//! situations that matter to people: something is not finished, or something does not begin.

use std::sync::{Mutex, PoisonError};

use pest::iterators::Pairs;

use super::fault::Fault;
use super::grammar::{Fragment, Rule};
use crate::isa::Opcode;
use crate::source::Span;

/// Pest has one switch for the whole process that makes it record the rules it tries.
static RECORDING: Mutex<()> = Mutex::new(());

/// The most bytes that are searched for the reason why a body has no end.
const SEARCHED: usize = 1 << 20;

impl<'s> Fragment<'s> {
    /// Matches the whole piece against an entry rule and returns pest's pairs.
    ///
    /// # Errors
    /// The place behind which no rule goes on, and what could have stood there.
    pub(super) fn parse(self, entry: Rule) -> Result<Pairs<'s, Rule>, Fault> {
        match self.attempt(entry) {
            Ok(mut pairs) => Ok(pairs.next().map_or(pairs, |entry| entry.into_inner())),
            Err(_) => Err(explain(self, entry)),
        }
    }
}

/// Explains why an entry rule did not match a piece.
fn explain(fragment: Fragment<'_>, entry: Rule) -> Fault {
    let failure = Failure::of(fragment, entry);
    if let Some((name, dot)) = failure.dotted() {
        let message = format!("`{name}` is not a name: names have no dot");
        return Fault::new(Span::new(dot, dot + 1), message)
            .hint("names are made of letters, digits, `_`, `$` and `%`; replace the dot");
    }
    let expected = failure.expected();
    let (found, span) = failure.found();
    let fault = Fault::new(span, format!("expected {expected}, found {found}"));
    match failure.advice(&expected) {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// Explains why a body has no end: if a statement in it is not finished, that statement is the reason.
pub(super) fn unclosed(file: &str, start: usize) -> Fault {
    let mut inside = Span::new(start + 1, file.len());
    if inside.range().len() > SEARCHED {
        inside.end = inside.start;
    }
    let failure = Failure::of(Fragment::new(file, inside), Rule::statements);
    let rest = &file[failure.at..];
    let begins_function = [".entry", ".func"].iter().any(|word| rest.starts_with(word));
    if rest.is_empty() || inside.range().is_empty() || begins_function {
        let message = "the body that begins here is never closed";
        let fault = Fault::new(Span::new(start, start + 1), message);
        return if begins_function {
            fault.hint("a `}` is missing before the next function begins")
        } else {
            fault.hint("look for a missing `}`")
        };
    }
    explain(Fragment::new(file, inside), Rule::statements)
}

/// What pest knows about a failed match.
struct Failure<'s> {
    fragment: Fragment<'s>,
    entry: Rule,
    /// Where the token that nothing fits begins, in the file.
    at: usize,
    /// The strings and ranges of characters (`a..z`) that were tried there.
    tried: Vec<String>,
}

impl<'s> Failure<'s> {
    fn of(fragment: Fragment<'s>, entry: Rule) -> Failure<'s> {
        let recorded = {
            let _guard = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
            pest::set_error_detail(true);
            let error = fragment.attempt(entry).err();
            pest::set_error_detail(false);
            error.and_then(|error| error.parse_attempts())
        };
        let (farthest, mut tried) = match recorded {
            Some(attempts) => {
                let tokens = attempts.expected_tokens();
                (attempts.max_position, tokens.iter().map(ToString::to_string).collect())
            }
            None => (fragment.span.range().len(), Vec::new()),
        };
        // Blanks and comments can stand everywhere.
        tried.retain(|token: &String| !token.starts_with([' ', '\t', '/', '#']));
        let file = fragment.file;
        let farthest = fragment.span.start as usize + farthest;
        let before = file[..farthest].chars().next_back();
        let after = file[farthest..].chars().next();
        let mut at = farthest + super::grammar::gap_length(&file[farthest..]);
        if before.is_some_and(is_word) && !after.is_some_and(is_word) {
            if tried.iter().any(|token| token == "a..f") {
                // A literal has too few hexadecimal digits.
                at = farthest - trailing_word(&file[..farthest]);
            }
            // Some of the tokens that were tried would only have made the word before longer.
            let longer = |token: &String| token.chars().all(is_word) || token.contains("..");
            if !tried.iter().all(longer) {
                tried.retain(|token| !longer(token));
            }
        }
        if after.is_some_and(is_word) {
            at = farthest - trailing_word(&file[..farthest]);
        }
        Failure { fragment, entry, at, tried }
    }

    /// A word with a dot where a name stands, and the place of the dot: the token at which the match stopped or that ends
    /// there, or the label in front of the statement. Opcodes, special registers and elements of vectors have dots.
    fn dotted(&self) -> Option<(&'s str, usize)> {
        const ELEMENTS: [&str; 8] = ["x", "y", "z", "w", "r", "g", "b", "a"];
        let file = self.fragment.file;
        let first = file.len() - self.rest_of_statement().len();
        let in_body = self.entry == Rule::statements;
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
        &self.fragment.file[self.at - length..]
    }

    fn has_tried(&self, token: &str) -> bool {
        self.tried.iter().any(|tried| tried == token)
    }

    /// The kind of token that could have stood there.
    fn expected(&self) -> String {
        let operand = ["{", "a..z", "%"].iter().all(|token| self.has_tried(token));
        let closers: Vec<_> = [":", "=", ")", "]", "}", ",", ";"]
            .iter()
            .filter(|token| self.has_tried(token))
            .map(|token| format!("`{token}`"))
            .collect();
        let phrase = if self.at_whole() {
            match self.entry {
                Rule::statements => "an instruction, a label or a directive",
                Rule::section_body => "a label or a line of data",
                _ => "a directive",
            }
        } else if operand {
            if self.entry == Rule::statements { "an operand" } else { "a value" }
        } else if self.has_tried("b32") || self.has_tried(".texref") {
            "a type such as `.u32`"
        } else if self.has_tried(".reg") || self.has_tried("reg") {
            "a state space such as `.param`"
        } else if let Some((last, others)) = closers.split_last() {
            let others = others.join(", ");
            let or = if others.is_empty() { "" } else { " or " };
            return format!("{others}{or}{last}");
        } else if self.has_tried("WARP_SZ") {
            "a constant"
        } else if self.has_tried("%") {
            "a name"
        } else if self.has_tried("a..z") {
            "an opcode"
        } else if self.has_tried("\"") {
            "a string in quotes"
        } else if self.has_tried("0..9") || self.has_tried("0") {
            "a number"
        } else if self.has_tried(".") {
            "a state space such as `.param`"
        } else {
            "something else"
        };
        phrase.to_owned()
    }

    /// Whether a statement or item could have begun here, or begins here with a directive that is not
    /// known.
    fn at_whole(&self) -> bool {
        let words = [".version", ".loc", ".file", ".b32", ".pragma"];
        let before = self.fragment.file[..self.at].trim_end();
        let directive = self.fragment.file[self.at..].starts_with('.')
            && self.has_tried("const")
            && !before.ends_with(['(', ',']);
        directive || words.iter().any(|token| self.has_tried(token))
    }

    /// The token that stands there, in quotes, and its place.
    fn found(&self) -> (String, Span) {
        let rest = &self.fragment.file[self.at..];
        let length = match rest.chars().next() {
            None => {
                let end = self.fragment.file.trim_end().len();
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
        let file = self.fragment.file;
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
        let text = &self.fragment.file[self.fragment.span.start as usize..self.at];
        let start = text.rfind([';', '{', '}']).map_or(0, |end| end + 1);
        let text = &text[start..];
        text[super::grammar::gap_length(text)..].trim_start()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// The length of the word that a text ends with.
fn trailing_word(text: &str) -> usize {
    text.len() - text.trim_end_matches(is_word).len()
}
