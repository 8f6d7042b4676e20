//! Comments of a text: `//` up to the end of its line, `/*` up to the next `*/` (PTX ISA, "Comments").
//!
//! This is the one place that knows where a comment ends; other modules ask here to skip comments.

use std::borrow::Cow;

/// A comment at the beginning of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    /// Its length in bytes, with the `*/`, without the end of the line behind a `//`.
    pub length: usize,
    /// Whether it is closed: a `/*` without `*/` reaches to the end of the text.
    pub closed: bool,
}

impl Comment {
    /// The comment that a text begins with, if it begins with one.
    pub fn at_start(text: &[u8]) -> Option<Comment> {
        match text {
            [b'/', b'/', ..] => Some(Comment { length: line_length(text), closed: true }),
            [b'/', b'*', inside @ ..] => Some(match memchr::memmem::find(inside, b"*/") {
                Some(end) => Comment { length: end + 4, closed: true },
                None => Comment { length: text.len(), closed: false },
            }),
            _ => None,
        }
    }
}

/// How many bytes there are up to the end of the line, not counting the line end.
pub fn line_length(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// How many bytes of blanks and comments a text begins with.
pub fn gap_length(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += match rest.first() {
            Some(b' ' | b'\t'..=b'\r') => 1,
            _ => match Comment::at_start(rest) {
                Some(comment) => comment.length,
                None => return at,
            },
        };
    }
}

/// The text with a blank for each byte in comments, strings and lines of a preprocessor (`# 1
/// "a.cu"`), so that a word found in it is code, and stands at the same place in the text.
pub fn code(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut kept: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(next) = memchr::memchr3(b'/', b'"', b'#', &bytes[at..]) {
        at += next;
        let length = match Comment::at_start(&bytes[at..]) {
            Some(comment) => comment.length,
            None if bytes[at] == b'"' => {
                let inside = &bytes[at + 1..];
                memchr::memchr2(b'"', b'\n', inside).map_or(inside.len() + 1, |end| end + 2)
            }
            None if bytes[at] == b'#' => line_length(&bytes[at..]),
            None => {
                at += 1;
                continue;
            }
        };
        kept.get_or_insert_with(|| bytes.to_vec())[at..at + length].fill(b' ');
        at += length;
    }
    // Whole characters were replaced by blanks, so this is text.
    match kept.map(String::from_utf8) {
        Some(Ok(kept)) => Cow::Owned(kept),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        comments_end_where_they_end,
        gaps_are_blanks_and_comments,
        code_is_what_is_no_comment_and_no_string
    );

    fn comments_end_where_they_end() {
        let length = |text: &str| Comment::at_start(text.as_bytes()).map(|comment| comment.length);
        assert_eq!(length("// a\nb"), Some(4));
        assert_eq!(length("// a"), Some(4));
        assert_eq!(length("/* a */b"), Some(7));
        assert_eq!(length("/*/ a */b"), Some(8));
        assert_eq!(length("/ a"), None);
        assert_eq!(length(""), None);
        let open = Comment::at_start(b"/* a");
        assert_eq!(open, Some(Comment { length: 4, closed: false }));
    }

    fn gaps_are_blanks_and_comments() {
        assert_eq!(gap_length(b" \t// a\n/* b */\r\n\x0b\x0cc"), 18);
        assert_eq!(gap_length(b"a "), 0);
        assert_eq!(gap_length(b" /* open"), 8);
    }

    fn code_is_what_is_no_comment_and_no_string() {
        let blank = |bytes: usize| " ".repeat(bytes);
        let [d, f] = [" /* d */ ", " \"f//\" "].map(|text| blank(text.len()));
        assert_eq!(code("a // b\nc /* d */ e \"f//\" g"), format!("a     \nc{d}e{f}g"));
        // Each byte of a character is a blank.
        assert_eq!(code("a/* \u{e4} */b"), format!("a{}b", blank("/* \u{e4} */".len())));
        assert_eq!(code("a / b /* open"), "a / b        ");
        assert_eq!(code("plain"), Cow::Borrowed("plain"));
    }
}
