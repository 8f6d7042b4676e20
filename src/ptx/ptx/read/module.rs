//! Pieces of the module level: directives, variables, and heads of functions and sections (`grammar/module.pest`).

use smallvec::SmallVec;

use super::Built;
use super::cursor::Cursor;
use crate::ptx::ast::{Directive, FunctionKind, Item, Module};
use crate::ptx::expected::{Entry, Expected};
use crate::ptx::fault::Fault;
use crate::source::Span;

/// The contribution of one piece of the module level to the module.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Contribution<'s> {
    /// `.version`, `.target`, `.address_size` where they are set, and the items in order.
    pub module: Module<'s>,
    /// Whether the last item is a section whose data follow in braces.
    pub section: bool,
}

/// Parses a piece from an entry rule, `item` or `definition`.
///
/// # Errors
/// The first mistake.
pub(in crate::ptx) fn contribution(
    file: &str,
    piece: Span,
    entry: Entry,
) -> Built<Contribution<'_>> {
    let mut cursor = Cursor::new(file, piece);
    let mut contribution = Contribution::default();
    let mut is_last = false;
    loop {
        cursor.skip();
        if cursor.is_at_end() {
            return Ok(contribution);
        }
        let read = match is_last {
            true => None,
            false => cursor.part(&mut contribution, entry),
        };
        is_last = cursor.checked(read, entry)?;
    }
}

/// Parses the data of a section and keeps nothing of it.
///
/// # Errors
/// The first mistake.
pub(in crate::ptx) fn section_body(file: &str, piece: Span) -> Built<()> {
    let mut cursor = Cursor::new(file, piece);
    let read = cursor.section_body();
    cursor.checked(read, Entry::Section)
}

impl<'s> Cursor<'s> {
    /// One directive, variable or function, and whether it must be the last of its piece.
    fn part(&mut self, to: &mut Contribution<'s>, entry: Entry) -> Option<bool> {
        let start = self.at;
        if self.open_directive(&mut to.module)?.is_some() {
            return Some(false);
        }
        let is_item = entry == Entry::Item;
        let (item, is_last) = match self.directive_word() {
            word if word.starts_with("section") && !is_item => {
                self.eat_text(".section");
                self.skip();
                self.section_name()?;
                to.section = true;
                self.note(Expected::Whole);
                let text = self.word_since(start + 1).text;
                let name = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
                (Item::Directive(Directive::Other { name, span: self.since(start) }), true)
            }
            word if word.starts_with("pragma") && is_item => {
                (Item::Directive(self.pragma()?), true)
            }
            word if word.starts_with("alias") && is_item => (self.alias(&mut to.module)?, true),
            _ => {
                let linkage = self.linkage();
                self.skip();
                let kind = match self.directive_word() {
                    "entry" => FunctionKind::Entry,
                    "func" => FunctionKind::Func,
                    _ if is_item => {
                        let variable = self.variable_behind(start, linkage)?;
                        to.module.items.push(Item::Variable(variable));
                        return Some(true);
                    }
                    _ => return self.fail(Expected::Whole),
                };
                self.eat_directive(self.directive_word());
                let function = self.function_head(start, kind, linkage)?;
                self.note_end_of_head(kind);
                let is_kernel = kind == FunctionKind::Entry;
                if is_item && !self.eat_next(b';') && is_kernel {
                    return self.fail(Expected::Semicolon);
                }
                (Item::Function(function), is_kernel)
            }
        };
        to.module.items.push(item);
        Some(is_last)
    }

    /// The rule `open_directive`; `Some(None)` where no such directive begins.
    fn open_directive(&mut self, module: &mut Module<'s>) -> Option<Option<()>> {
        let start = self.at;
        if self.eat_text(".version") {
            self.skip();
            let parts = self.version_number()?;
            let span = self.since(start);
            let bad = |_| Fault::new(span, "this version number is out of range");
            let [major, minor] = parts.map(|part| part.parse().map_err(bad));
            let version = major.and_then(|major| Ok((major, minor?)));
            module.version = Some(self.value(version, (0, 0)));
        } else if self.eat_text(".target") {
            let mut words = SmallVec::new();
            loop {
                self.skip();
                words.push(self.identifier()?.text);
                if !self.eat_next(b',') {
                    break;
                }
            }
            module.target = words;
        } else if self.eat_text(".address_size") {
            self.skip();
            module.address_size = Some(self.unsigned32()?);
        } else if self.dwarf() {
            let span = self.since(start);
            module.items.push(Item::Directive(Directive::Other { name: "@@dwarf", span }));
        } else if self.peek() == Some(b'.') && self.second() != Some(b'p') {
            let Some(directive) = self.attempt(Self::common_directive) else {
                return Some(None);
            };
            module.items.push(Item::Directive(directive));
        } else {
            return Some(None);
        }
        Some(Some(()))
    }

    /// The rule `dwarf`, if it matches.
    fn dwarf(&mut self) -> bool {
        let rest = self.rest();
        let begins = rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"@@dwarf"));
        if begins {
            self.at += crate::source::comments::line_length(rest);
        }
        begins
    }

    /// The rule `alias`.
    fn alias(&mut self, module: &mut Module<'s>) -> Option<Item<'s>> {
        let start = self.at;
        self.eat_text(".alias");
        self.skip();
        let new = self.identifier()?;
        self.expect_next(b',', Expected::Comma)?;
        self.skip();
        let old = self.identifier()?;
        self.expect_next(b';', Expected::Semicolon)?;
        module.aliases.push([new, old]);
        Some(Item::Directive(Directive::Other { name: "alias", span: self.since(start) }))
    }

    /// The rule `section_body`.
    fn section_body(&mut self) -> Option<()> {
        self.skip();
        self.expect(b'{', Expected::Brace)?;
        loop {
            self.skip();
            match self.peek() {
                Some(b'}') => break,
                Some(b'.') if self.directive_word().starts_with('b') => self.data()?,
                Some(b'.') if self.attempt(Self::line_information).is_some() => {}
                Some(b'%' | b'$' | b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                    self.identifier()?;
                    self.expect_next(b':', Expected::Colon)?;
                }
                _ => return self.fail(Expected::Whole),
            }
        }
        self.at += 1;
        self.skip();
        if self.is_at_end() { Some(()) } else { self.fail(Expected::Whole) }
    }

    /// A `.loc` or `.file`.
    fn line_information(&mut self) -> Option<()> {
        (self.second() != Some(b'p')).then_some(())?;
        self.common_directive().map(|_| ())
    }

    /// A line of data: the rules `section_type` and `section_datum`.
    fn data(&mut self) -> Option<()> {
        if ![".b8", ".b16", ".b32", ".b64"].iter().any(|ty| self.eat_text(ty)) {
            return self.fail(Expected::Whole);
        }
        loop {
            self.skip();
            match self.eat(b'-') {
                true => {
                    self.skip();
                    _ = self.number()?;
                }
                false => self.datum()?,
            }
            while self.eat_next(b'+') || self.eat_next(b'-') {
                self.skip();
                self.datum()?;
            }
            if !self.eat_next(b',') {
                self.note(Expected::Comma);
                return Some(());
            }
        }
    }

    /// A number, or a label or section.
    fn datum(&mut self) -> Option<()> {
        match self.attempt(Self::number) {
            Some(_) => Some(()),
            None => self.section_name(),
        }
    }
}
