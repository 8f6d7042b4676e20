//! A place in a piece of a text, the lexemes that can stand there (`grammar/lexical.pest`), and how far the text made
//! sense.

use super::Built;
use crate::isa::StateSpace;
use crate::ptx::ast::Name;
use crate::ptx::expected::{Entry, Expected, Failure, gap_length};
use crate::ptx::fault::Fault;
use crate::source::Span;
use crate::source::comments::{Comment, line_length};

/// Reads a piece of a text from its beginning to its end.
pub(in crate::ptx) struct Cursor<'s> {
    /// The text of the whole file.
    file: &'s str,
    /// The same, up to the end of the piece.
    text: &'s str,
    piece: Span,
    pub(super) at: usize,
    /// The farthest place at which the text did not match, with what could have stood there.
    farthest: usize,
    tried: u32,
    fault: Option<Fault>,
}

impl<'s> Cursor<'s> {
    /// The beginning of a piece of a file's text.
    pub(in crate::ptx) fn new(file: &'s str, piece: Span) -> Cursor<'s> {
        let (text, at) = (&file[..piece.end as usize], piece.start as usize);
        Cursor { file, text, piece, at, farthest: at, tried: 0, fault: None }
    }

    /// Whether the piece ends here.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte behind the next one.
    pub(super) fn second(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at + 1).copied()
    }

    /// The span from a place to here.
    pub(super) fn since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// The text from a place to here.
    pub(super) fn word_since(&self, start: usize) -> Name<'s> {
        Name { text: &self.text[start..self.at], span: self.since(start) }
    }

    /// Notes that something could have stood here.
    #[cold]
    pub(super) fn note(&mut self, expected: Expected) {
        // (Behind the blanks, so that it does not matter who goes past them.)
        self.note_at(self.at + gap_length(&self.text[self.at..]), expected);
    }

    fn note_at(&mut self, place: usize, expected: Expected) {
        if place > self.farthest {
            (self.farthest, self.tried) = (place, 0);
        }
        if place == self.farthest {
            self.tried |= 1 << expected as u32;
        }
    }

    /// Nothing matches here: something else should have stood here.
    #[cold]
    pub(super) fn fail<T>(&mut self, expected: Expected) -> Option<T> {
        self.note(expected);
        None
    }

    /// The farthest place at which the text did not match.
    pub(in crate::ptx) fn failure(&self, entry: Entry) -> Failure<'s> {
        Failure::new(self.file, self.piece, entry, self.farthest, self.tried)
    }

    /// The value of something that matches. If it has none, the fault is kept for [`Cursor::checked`].
    pub(super) fn value<T>(&mut self, built: Built<T>, otherwise: T) -> T {
        built.unwrap_or_else(|fault| {
            self.fault.get_or_insert(fault);
            otherwise
        })
    }

    /// Whether a value that was read is wrong.
    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// The result of an entry: what was read, unless it did not match or a value in it was wrong.
    pub(super) fn checked<T>(&mut self, read: Option<T>, entry: Entry) -> Built<T> {
        match (read, self.fault.take()) {
            (Some(read), None) => Ok(read),
            (Some(_), Some(fault)) => Err(fault),
            (None, _) => Err(self.failure(entry).explain()),
        }
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let eats = self.peek() == Some(byte);
        self.at += usize::from(eats);
        eats
    }

    /// A punctuation mark that must stand here.
    pub(super) fn expect(&mut self, byte: u8, expected: Expected) -> Option<()> {
        if self.eat(byte) { Some(()) } else { self.fail(expected) }
    }

    /// Goes past a punctuation mark behind blanks, lines of a preprocessor among them, if one stands there.
    pub(super) fn eat_next(&mut self, byte: u8) -> bool {
        let start = self.at;
        self.skip();
        let eats = self.eat(byte);
        if !eats {
            self.at = start;
        }
        eats
    }

    /// A punctuation mark that must stand behind blanks.
    pub(super) fn expect_next(&mut self, byte: u8, expected: Expected) -> Option<()> {
        self.skip();
        self.expect(byte, expected)
    }

    /// Goes past a text, if it stands here; a word may go on behind it.
    pub(super) fn eat_text(&mut self, text: &str) -> bool {
        let eats = self.rest().starts_with(text.as_bytes());
        self.at += if eats { text.len() } else { 0 };
        eats
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.at += rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
    }

    /// The result of a function; where the text does not match, the place stays.
    pub(super) fn attempt<T>(
        &mut self,
        function: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let start = self.at;
        let result = function(self);
        if result.is_none() {
            self.at = start;
        }
        result
    }

    /// The rule `gap`: blanks and comments.
    pub(super) fn gap(&mut self) {
        loop {
            self.take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r'));
            if self.peek() != Some(b'/') {
                return;
            }
            match Comment::at_start(self.rest()) {
                Some(comment) if comment.closed => self.at += comment.length,
                _ => return,
            }
        }
    }

    /// What may stand between tokens outside of instructions: blanks, comments, and lines of a preprocessor.
    pub(super) fn skip(&mut self) {
        self.gap();
        while self.peek() == Some(b'#') {
            self.at += line_length(self.rest());
            self.gap();
        }
    }

    /// The rule `identifier`.
    pub(super) fn identifier(&mut self) -> Option<Name<'s>> {
        let start = self.at;
        match self.peek() {
            Some(b'%' | b'$' | b'_') if self.second().is_some_and(is_in_identifier) => self.at += 1,
            Some(byte) if byte.is_ascii_alphabetic() => {}
            _ => return self.fail(Expected::Name),
        }
        self.take_while(is_in_identifier);
        Some(self.word_since(start))
    }

    /// The rule `name`.
    pub(super) fn name(&mut self) -> Option<Name<'s>> {
        let start = self.at;
        match self.peek() {
            Some(b'%' | b'$' | b'_') if self.second().is_some_and(is_in_name) => {}
            Some(byte) if byte.is_ascii_alphabetic() && !self.is_at_warp_size() => {}
            _ => return self.fail(Expected::Name),
        }
        self.at += 1;
        self.take_while(is_in_name);
        Some(self.word_since(start))
    }

    /// Whether the rule `sink` matches.
    pub(super) fn is_at_sink(&self) -> bool {
        self.peek() == Some(b'_') && !self.second().is_some_and(is_in_identifier)
    }

    /// Whether the rule `warp_size` matches.
    pub(super) fn is_at_warp_size(&self) -> bool {
        self.rest()
            .strip_prefix(b"WARP_SZ")
            .is_some_and(|behind| !behind.first().is_some_and(|byte| is_in_identifier(*byte)))
    }

    /// The rule `string`, without its quotes.
    pub(super) fn string(&mut self) -> Option<&'s str> {
        self.expect(b'"', Expected::String)?;
        let start = self.at;
        self.at += memchr::memchr(b'"', self.rest())?;
        let inside = self.word_since(start).text;
        self.at += 1;
        Some(inside)
    }

    /// The word behind the dot that stands here: the rule `directive_name`; nothing where there is none.
    pub(super) fn directive_word(&self) -> &'s str {
        let start = self.at + 1;
        match (self.peek(), self.second()) {
            (Some(b'.'), Some(byte)) if byte.is_ascii_alphabetic() => {
                let rest = &self.text[start..];
                &rest[..rest.bytes().position(|b| !is_in_identifier(b)).unwrap_or(rest.len())]
            }
            _ => "",
        }
    }

    /// Goes past the word behind the dot, if it is this one.
    pub(super) fn eat_directive(&mut self, word: &str) -> bool {
        let eats = self.directive_word() == word;
        self.at += if eats { 1 + word.len() } else { 0 };
        eats
    }

    /// The rule `space_name`.
    pub(super) fn space_name(&mut self) -> Option<StateSpace> {
        let word = self.directive_word();
        let space = StateSpace::of(word)?;
        self.at += 1 + word.len();
        if let [b':', b':', byte, ..] = self.rest()
            && is_in_identifier(*byte)
        {
            self.at += 2;
            self.take_while(is_in_identifier);
        }
        Some(space)
    }

    /// The rule `opcode`.
    pub(super) fn opcode(&mut self) -> Option<Name<'s>> {
        let start = self.at;
        if !self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            return self.fail(Expected::Opcode);
        }
        self.take_while(is_in_identifier);
        if self.eat(b'.') {
            self.modifiers();
        }
        Some(self.word_since(start))
    }

    /// What can follow the first dot of an opcode; in old modules the number of a constant bank, `[2]`, is part of it.
    pub(super) fn modifiers(&mut self) {
        loop {
            self.take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':')
            });
            let start = self.at;
            if !self.eat(b'[') {
                return;
            }
            self.take_while(|byte| byte.is_ascii_digit());
            if self.at == start + 1 || !self.eat(b']') {
                self.at = start;
                return;
            }
        }
    }

    /// The rule `call_opcode`.
    pub(super) fn call_opcode(&mut self) -> Option<Name<'s>> {
        let start = self.at;
        let goes_on = self.rest().get(4).is_some_and(|byte| is_in_identifier(*byte));
        if goes_on || !self.eat_text("call") {
            return None;
        }
        loop {
            match self.directive_word() {
                "" => return Some(self.word_since(start)),
                word => self.at += 1 + word.len(),
            }
        }
    }

    /// The rule `section_name`.
    pub(super) fn section_name(&mut self) -> Option<()> {
        let start = self.at;
        self.eat(b'.');
        let word = self.at;
        self.take_while(is_in_identifier);
        if self.at == word {
            self.at = start;
            return self.fail(Expected::Name);
        }
        Some(())
    }

    /// The rule `version_number`: the parts around the dot.
    pub(super) fn version_number(&mut self) -> Option<[&'s str; 2]> {
        let major = self.digits()?;
        self.expect(b'.', Expected::Number)?;
        Some([major, self.digits()?])
    }

    fn digits(&mut self) -> Option<&'s str> {
        let start = self.at;
        self.take_while(|byte| byte.is_ascii_digit());
        if self.at == start {
            return self.fail(Expected::Number);
        }
        Some(self.word_since(start).text)
    }

    /// The rule `number`.
    pub(super) fn number(&mut self) -> Option<Name<'s>> {
        let start = self.at;
        match number_length(self.rest()) {
            Ok(length) => {
                self.at += length;
                Some(self.word_since(start))
            }
            Err(length) => {
                if length > 0 {
                    self.note_at(start + length, Expected::LongerNumber);
                }
                self.note_at(start + length, Expected::Number);
                None
            }
        }
    }

    /// Whether a number may begin here.
    pub(super) fn is_at_number(&self) -> bool {
        match self.peek() {
            Some(b'.') => self.second().is_some_and(|byte| byte.is_ascii_digit()),
            byte => byte.is_some_and(|byte| byte.is_ascii_digit()),
        }
    }
}

/// The length of the number that a text begins with, or of the beginning of one.
fn number_length(text: &[u8]) -> Result<usize, usize> {
    let count = |from: usize, belongs: fn(&u8) -> bool| {
        text[from..].iter().take_while(|byte| belongs(byte)).count()
    };
    let byte = |at: usize| text.get(at).copied().unwrap_or(0);
    let whole = count(0, u8::is_ascii_digit);
    if whole > 0 && byte(whole) != b'.' && !is_in_identifier(byte(whole)) {
        return Ok(whole);
    }
    let is_binary = |byte: &u8| matches!(byte, b'0' | b'1');
    let prefixed = match [byte(0), byte(1).to_ascii_lowercase()] {
        [b'0', b'x'] => Some((count(2, u8::is_ascii_hexdigit), None)),
        [b'0', b'b'] => Some((count(2, is_binary), None)),
        [b'0', b'f'] => Some((count(2, u8::is_ascii_hexdigit), Some(8))),
        [b'0', b'd'] => Some((count(2, u8::is_ascii_hexdigit), Some(16))),
        _ => None,
    };
    let mut end = whole;
    match prefixed {
        Some((digits, Some(bits))) if digits != bits => return Err(2 + digits),
        Some((0, _)) => return Err(1),
        Some((digits, bits)) => {
            end = 2 + digits;
            end += usize::from(bits.is_none() && byte(end) == b'U');
        }
        None => {
            if byte(end) == b'.' {
                end += 1 + count(end + 1, u8::is_ascii_digit);
            }
            if end < 1 + usize::from(whole == 0) {
                return Err(0);
            }
            if byte(end).eq_ignore_ascii_case(&b'e') {
                let sign = usize::from(matches!(byte(end + 1), b'+' | b'-'));
                match count((end + 1 + sign).min(text.len()), u8::is_ascii_digit) {
                    0 => return Err(end),
                    digits => end += 1 + sign + digits,
                }
            } else if end == whole && byte(end) == b'U' {
                end += 1;
            }
        }
    }
    if is_in_identifier(byte(end)) { Err(end) } else { Ok(end) }
}

/// The rule `id_char`.
fn is_in_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// What the rule `name` allows behind the first character.
fn is_in_name(byte: u8) -> bool {
    is_in_identifier(byte) || byte == b'.'
}
