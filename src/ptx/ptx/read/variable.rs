//! Declarations of variables and parameters, with their initial values (`grammar/variables.pest`).

use smallvec::SmallVec;

use super::cursor::Cursor;
use crate::isa::{ScalarType, StateSpace};
use crate::ptx::ast::{Declarator, Initializer, Name, PointerAttribute, Variable};
use crate::ptx::expected::Expected;
use crate::ptx::fault::Fault;
use crate::source::Span;

/// Linkage directives and attributes.
pub(super) type Linkage<'s> = SmallVec<[&'s str; 1]>;

impl<'s> Cursor<'s> {
    /// The rule `variable`.
    pub(super) fn variable(&mut self) -> Option<Variable<'s>> {
        let start = self.at;
        let linkage = self.linkage();
        self.variable_behind(start, linkage)
    }

    /// The rule `variable`, whose linkage directives begin at a place and end here.
    pub(super) fn variable_behind(
        &mut self,
        start: usize,
        linkage: Linkage<'s>,
    ) -> Option<Variable<'s>> {
        self.skip();
        let (space, bank) = match self.space() {
            Some(space) => space?,
            None if linkage.is_empty() || self.peek() == Some(b'.') => {
                return self.fail(Expected::Whole);
            }
            None => return self.fail(Expected::Space),
        };
        let mut variable = self.declaration(linkage, space, bank)?;
        while self.eat_next(b',') {
            variable.names.push(self.declarator()?);
        }
        self.note(Expected::Comma);
        self.expect_next(b';', Expected::Semicolon)?;
        variable.span = self.since(start);
        Some(variable)
    }

    /// Parameters in parentheses: the rules `returns` and `parameters`, or nothing.
    pub(super) fn parameter_list(&mut self) -> Option<Vec<Variable<'s>>> {
        let mut parameters = Vec::new();
        if !self.eat_next(b'(') || self.eat_next(b')') {
            return Some(parameters);
        }
        loop {
            self.skip();
            let start = self.at;
            let (space, bank) = match self.space() {
                Some(space) => space?,
                None => return self.fail(Expected::Space),
            };
            let mut parameter = self.declaration(SmallVec::new(), space, bank)?;
            parameter.span = self.since(start);
            parameters.push(parameter);
            if !self.eat_next(b',') {
                self.note(Expected::Comma);
                self.expect_next(b')', Expected::Parenthesis)?;
                return Some(parameters);
            }
        }
    }

    /// The linkage directives and attributes that stand here.
    pub(super) fn linkage(&mut self) -> Linkage<'s> {
        let mut linkage = Linkage::new();
        loop {
            let end = self.at;
            self.skip();
            let start = self.at;
            let word = self.directive_word();
            if let "visible" | "extern" | "weak" | "common" = word {
                self.eat_directive(word);
                linkage.push(self.word_since(start).text);
            } else if let Some(attribute) = self.attempt(Self::attribute) {
                linkage.push(attribute);
            } else {
                self.at = end;
                return linkage;
            }
        }
    }

    /// The rule `attribute`.
    pub(super) fn attribute(&mut self) -> Option<&'s str> {
        let start = self.at;
        self.eat_directive("attribute").then_some(())?;
        self.eat_next(b'(').then_some(())?;
        loop {
            self.skip();
            let word = self.directive_word();
            if word.is_empty() {
                return self.fail(Expected::Attribute);
            }
            self.eat_directive(word);
            if self.eat_next(b'(') {
                self.numbers()?;
                self.expect_next(b')', Expected::Parenthesis)?;
            }
            if !self.eat_next(b',') {
                self.note(Expected::Comma);
                self.expect_next(b')', Expected::Parenthesis)?;
                return Some(self.word_since(start).text);
            }
        }
    }

    /// Numbers with commas between them, whose values do not matter.
    fn numbers(&mut self) -> Option<()> {
        loop {
            self.skip();
            self.number()?;
            if !self.eat_next(b',') {
                self.note(Expected::Comma);
                return Some(());
            }
        }
    }

    /// The rule `space` with the number of a bank, if a state space is named here; `Some(None)` where its bank does not
    /// match.
    fn space(&mut self) -> Option<Option<(StateSpace, Option<u64>)>> {
        let space = self.space_name()?;
        if !self.eat_next(b'[') {
            return Some(Some((space, None)));
        }
        self.skip();
        let bank = self.unsigned();
        let closed = bank.and_then(|_| self.expect_next(b']', Expected::Bracket));
        Some(closed.map(|()| (space, bank)))
    }

    /// A variable or parameter behind its state space, with its first name.
    fn declaration(
        &mut self,
        linkage: Linkage<'s>,
        space: StateSpace,
        bank: Option<u64>,
    ) -> Option<Variable<'s>> {
        let mut variable = Variable {
            span: Span::default(),
            linkage,
            space,
            bank,
            align: None,
            vector: 1,
            ty: None,
            pointer: None,
            names: SmallVec::new(),
        };
        self.qualifiers(&mut variable)?;
        let word = self.directive_word();
        variable.ty = ScalarType::of(word);
        if variable.ty.is_none() && !is_opaque(word) {
            return self.fail(Expected::Type);
        }
        self.eat_directive(word);
        self.qualifiers(&mut variable)?;
        variable.names.push(self.declarator()?);
        Some(variable)
    }

    /// The rules `qualifier` that match here, and the blanks behind them.
    fn qualifiers(&mut self, variable: &mut Variable<'s>) -> Option<()> {
        loop {
            self.skip();
            match self.directive_word() {
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "v8" => variable.vector = 8,
                "ptr" => {
                    variable.pointer = Some(self.pointer()?);
                    continue;
                }
                "attribute" => {
                    variable.linkage.push(self.attribute()?);
                    continue;
                }
                word if word.starts_with("align") => {
                    variable.align = Some(self.alignment()?);
                    continue;
                }
                _ => return Some(()),
            }
            self.at += ".v2".len();
        }
    }

    /// The rule `alignment`.
    fn alignment(&mut self) -> Option<u64> {
        self.eat_text(".align");
        self.skip();
        self.unsigned()
    }

    /// The rule `pointer`.
    fn pointer(&mut self) -> Option<PointerAttribute> {
        let mut pointer = PointerAttribute { space: StateSpace::Generic, align: None };
        self.eat_directive("ptr");
        self.skip();
        let word = self.directive_word();
        if is_opaque(word) {
            self.eat_directive(word);
        } else if let Some(space) = self.space() {
            (pointer.space, _) = space?;
        }
        self.skip();
        if self.directive_word().starts_with("align") {
            pointer.align = Some(self.alignment()?);
        }
        Some(pointer)
    }

    /// The rule `declarator`.
    fn declarator(&mut self) -> Option<Declarator<'s>> {
        self.skip();
        let start = self.at;
        let name = match self.is_at_sink() {
            true => {
                self.at += 1;
                self.word_since(start)
            }
            false => self.identifier()?,
        };
        let count = self.count()?;
        let mut dimensions = SmallVec::new();
        while self.eat_next(b'[') {
            self.skip();
            let size = match self.peek() {
                Some(b']') => None,
                _ => Some(self.dimension()?),
            };
            dimensions.push(size);
            self.expect_next(b']', Expected::Bracket)?;
        }
        let mut initializer = None;
        match self.eat_next(b'=') {
            true => initializer = Some(self.initializer()?),
            false => self.note(Expected::Equals),
        }
        Some(Declarator { name, count, dimensions, initializer })
    }

    fn dimension(&mut self) -> Option<u64> {
        let Some((_, size)) = self.attempt(Self::integer_expression) else {
            return self.fail(Expected::Bracket);
        };
        Some(size as u64)
    }

    /// The rule `count`, if it matches; `None` where it only begins.
    pub(super) fn count(&mut self) -> Option<Option<u32>> {
        if !self.eat_next(b'<') {
            return Some(None);
        }
        self.skip();
        let count = self.unsigned32()?;
        self.expect_next(b'>', Expected::Angle)?;
        Some(Some(count))
    }

    /// The rule `initializer`.
    fn initializer(&mut self) -> Option<Initializer<'s>> {
        self.skip();
        match self.peek() {
            Some(b'{') => self.initializer_list(),
            Some(b'-' | b'+' | b'!' | b'~' | b'(') => self.constant_initializer(),
            _ if self.is_at_number() || self.is_at_warp_size() => self.constant_initializer(),
            Some(b'%' | b'$' | b'_' | b'a'..=b'z' | b'A'..=b'Z') => self.named_initializer(),
            _ => self.fail(Expected::Value),
        }
    }

    /// The rule `initializer_list`.
    fn initializer_list(&mut self) -> Option<Initializer<'s>> {
        self.at += 1;
        let mut list = Vec::new();
        if self.eat_next(b'}') {
            return Some(Initializer::List(list));
        }
        // With the exact capacity of a list without lists: a table can be most of a file.
        let end = memchr::memchr2(b'}', b'{', self.rest()).unwrap_or(0);
        list.reserve_exact(1 + memchr::memchr_iter(b',', &self.rest()[..end]).count());
        loop {
            list.push(self.initializer()?);
            if !self.eat_next(b',') {
                self.note(Expected::Comma);
                self.expect_next(b'}', Expected::Brace)?;
                return Some(Initializer::List(list));
            }
        }
    }

    /// A constant, perhaps with the rule `masked_symbol` behind it.
    fn constant_initializer(&mut self) -> Option<Initializer<'s>> {
        let constant = self.expression()?;
        if !self.eat_next(b'(') {
            return Some(Initializer::Value(constant));
        }
        let bad = || Fault::new(constant.span, "the mask of an address is an integer");
        let mask = self.value(constant.value.as_integer().ok_or_else(bad), 0);
        self.skip();
        let symbol = self.symbol_address(Some(mask as u64))?;
        self.expect_next(b')', Expected::Parenthesis)?;
        Some(symbol)
    }

    /// The rules `symbol_address` and `property`.
    fn named_initializer(&mut self) -> Option<Initializer<'s>> {
        if let Some(symbol) = self.attempt(|cursor| cursor.symbol_address(None)) {
            return Some(symbol);
        }
        let name = self.identifier()?;
        self.expect_next(b'=', Expected::Equals)?;
        self.skip();
        let value = match self.is_at_number() {
            true => self.number()?,
            false => self.identifier()?,
        };
        Some(Initializer::Property { name, value: value.text })
    }

    /// The rule `symbol_address`.
    fn symbol_address(&mut self, mask: Option<u64>) -> Option<Initializer<'s>> {
        let generic_symbol = self.attempt(|cursor| {
            (cursor.eat_text("generic") && cursor.eat_next(b'(')).then(|| cursor.skip())?;
            let name = cursor.identifier()?;
            cursor.expect_next(b')', Expected::Parenthesis)?;
            Some(name)
        });
        let generic = generic_symbol.is_some();
        let name: Name<'s> = match generic_symbol {
            Some(name) => name,
            None => self.identifier()?,
        };
        let mut offset = 0;
        if self.eat_next(b'=') {
            return None;
        }
        for (byte, sign) in [(b'+', "+"), (b'-', "-")] {
            if self.eat_next(byte) {
                self.skip();
                (_, offset) = self.offset(sign)?;
                break;
            }
        }
        Some(Initializer::Symbol { name, offset, generic, mask })
    }
}

/// The rule `opaque_type`, without its dot.
fn is_opaque(word: &str) -> bool {
    matches!(word, "texref" | "samplerref" | "surfref")
}
