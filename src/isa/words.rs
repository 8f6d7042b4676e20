//! An opcode's text taken apart.

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
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | ':');
        loop {
            let text = self.0.trim_start_matches(|c: char| !is_word(c) && c != '/');
            if text.is_empty() {
                return None;
            }
            if text.starts_with('/') {
                let end = if text.starts_with("//") { "\n" } else { "*/" };
                let inside = text.get(2..).unwrap_or("");
                self.0 = inside.split_once(end).map_or("", |(_, rest)| rest);
                continue;
            }
            let (word, rest) = text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()));
            self.0 = rest;
            return Some(word);
        }
    }
}
