//! An opcode's text taken apart.

use crate::source::comments::Comment;

/// The words of an opcode, without the dots, blanks and comments between them.
#[derive(Clone, Debug)]
pub struct Words<'s>(&'s str);

impl<'s> Words<'s> {
    /// The words of a text such as `ld.global.nc.f32`.
    pub fn of(text: &'s str) -> Words<'s> {
        Words(text)
    }
}

impl<'s> Iterator for Words<'s> {
    type Item = &'s str;

    fn next(&mut self) -> Option<&'s str> {
        // All bytes that end a word or begin one are characters of their own.
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b':');
        loop {
            let bytes = self.0.as_bytes();
            let from = bytes.iter().position(|b| is_word(b) || *b == b'/')?;
            if bytes[from] == b'/' {
                let length = Comment::at_start(&bytes[from..]).map_or(1, |comment| comment.length);
                self.0 = &self.0[from + length..];
                continue;
            }
            let length = bytes[from..].iter().position(|b| !is_word(b));
            let (word, rest) = self.0[from..].split_at(length.unwrap_or(bytes.len() - from));
            self.0 = rest;
            return Some(word);
        }
    }
}
