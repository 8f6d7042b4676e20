//! Statements as compilers write them, read byte by byte.
//!
//! The grammar files define the syntax. Nearly all statements of a module have one of a few plain shapes, and matching
//! the grammar's rules takes a quarter of the analysis. This file reads those shapes; the grammar reads everything else,
//! and every statement with a mistake. Nothing is accepted here that the grammar refuses, and the tree is the same (a test
//! of [`super::statement`] compares both on all samples, and on samples with mistakes).

use smallvec::{SmallVec, smallvec};

use super::constant::literal;
use super::run::{Brace, Run};
use crate::isa::Form;
use crate::ptx::ast::{
    Address, AddressBase, Directive, Guard, Immediate, Instruction, Location, Name, Operand,
    Statement,
};
use crate::source::Span;

/// A place in a piece of a text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'s> {
    /// The text of the whole file, up to the end of the piece.
    text: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    /// The beginning of a piece of a file's text.
    pub(super) fn new(file: &'s str, piece: Span) -> Reader<'s> {
        Reader { text: &file[..piece.end as usize], at: piece.start as usize }
    }

    /// Appends the plain statements that stand here, and stops in front of the first other one.
    pub(super) fn statements(&mut self, run: &mut Run<'s>) {
        loop {
            self.gap();
            let mut behind = *self;
            if let Some(opens) = behind.brace() {
                let (before, span) = (run.statements.len(), self.to(&behind));
                run.braces.push(Brace { before, opens, span });
            } else if let Some(statement) = behind.statement() {
                run.statements.push(statement);
            } else {
                return;
            }
            *self = behind;
        }
    }

    /// Whether the piece ends here.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Goes to the next semicolon behind which a plain statement, or the end, follows; to the end if it cannot be seen
    /// whether a semicolon ends a statement. Returns what lies between.
    pub(super) fn skip(&mut self) -> Span {
        let from = *self;
        loop {
            if self.semicolon().is_none() {
                self.at = self.text.len();
                return from.to(self);
            }
            let mut next = *self;
            next.gap();
            if next.is_at_end() || next.brace().is_some() || next.statement().is_some() {
                return from.to(self);
            }
        }
    }

    /// Goes behind the next semicolon that stands in no string or comment, or to the end.
    fn semicolon(&mut self) -> Option<()> {
        loop {
            self.take_while(|byte| !matches!(byte, b';' | b'"' | b'/' | b'#'));
            match self.peek() {
                None => return Some(()),
                Some(b';') => return self.take(b';'),
                Some(b'"') => {
                    self.at += 1;
                    self.take_while(|byte| byte != b'"');
                    self.take(b'"')?;
                }
                Some(_) => {
                    self.word("//")?;
                    self.take_while(|byte| byte != b'\n');
                }
            }
        }
    }

    fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The span from here to another place.
    fn to(self, end: &Reader<'_>) -> Span {
        Span::new(self.at, end.at)
    }

    fn name_to(self, end: &Reader<'_>) -> Name<'s> {
        Name { text: &self.text[self.at..end.at], span: self.to(end) }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r'));
    }

    /// Blanks, and comments up to the end of the line.
    fn gap(&mut self) {
        self.blanks();
        while self.rest().starts_with(b"//") {
            self.at += memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
            self.blanks();
        }
    }

    /// A brace of a scope, and whether it opens one.
    fn brace(&mut self) -> Option<bool> {
        let opens = self.take(b'{').is_some();
        (opens || self.take(b'}').is_some()).then_some(opens)
    }

    fn statement(&mut self) -> Option<Statement<'s>> {
        let start = *self;
        if self.rest().starts_with(b".pragma") {
            return self.pragma().map(Statement::Directive);
        }
        if self.peek() == Some(b'.') {
            return self.location().map(Statement::Directive);
        }
        if let Some(label) = self.label() {
            return Some(Statement::Label(label));
        }
        *self = start;
        self.instruction().map(Statement::Instruction)
    }

    /// `$L__BB0_1:`
    fn label(&mut self) -> Option<Name<'s>> {
        let label = self.identifier()?;
        self.take(b':')?;
        // (A directive behind it may belong to it.)
        let mut behind = *self;
        behind.gap();
        let belongs = [".branchtargets", ".call", "/", "#"];
        let goes_on = belongs.iter().any(|word| behind.rest().starts_with(word.as_bytes()));
        (!goes_on).then_some(label)
    }

    /// `.loc 1 12 3`, perhaps with `, function_name $L__info_string0, inlined_at 1 20 5`.
    fn location(&mut self) -> Option<Directive<'s>> {
        let start = *self;
        self.word(".loc")?;
        let [file, line, column] = self.numbers()?;
        let mut inlined = *self;
        if inlined.inlined().is_some() {
            *self = inlined;
        }
        let span = start.to(self);
        let mut behind = *self;
        behind.gap();
        let goes_on = behind.at == self.at || matches!(behind.peek(), Some(b',' | b'/' | b'#'));
        (!goes_on).then_some(Directive::Loc(Location { file, line, column, span }))
    }

    fn inlined(&mut self) -> Option<()> {
        self.word(",")?;
        self.blanks();
        self.word("function_name")?;
        matches!(self.peek()?, b' ' | b'\t').then_some(())?;
        self.blanks();
        self.identifier()?;
        self.word(",")?;
        self.blanks();
        self.word("inlined_at")?;
        self.numbers().map(|_| ())
    }

    /// Three numbers, each with blanks in front.
    fn numbers(&mut self) -> Option<[u32; 3]> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            matches!(self.peek()?, b' ' | b'\t').then_some(())?;
            self.blanks();
            let start = *self;
            self.take_while(|byte| byte.is_ascii_digit());
            *number = start.decimal(self)?.parse().ok()?;
        }
        Some(numbers)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn identifier(&mut self) -> Option<Name<'s>> {
        let start = *self;
        match self.peek()? {
            b'%' | b'$' | b'_' => {
                self.at += 1;
                self.peek().filter(|byte| is_in_identifier(*byte))?;
            }
            byte if byte.is_ascii_alphabetic() => {}
            _ => return None,
        }
        self.take_while(is_in_identifier);
        Some(start.name_to(self))
    }

    /// `.pragma "nounroll";`
    fn pragma(&mut self) -> Option<Directive<'s>> {
        let start = *self;
        self.at += ".pragma".len();
        self.blanks();
        self.take(b'"')?;
        let inside = *self;
        self.take_while(|byte| byte != b'"');
        let string = inside.name_to(self).text;
        self.take(b'"')?;
        self.take(b';')?;
        Some(Directive::Pragma { strings: [string].into_iter().collect(), span: start.to(self) })
    }

    /// `@%p1 ld.global.f32 %f1, [%rd1+4];`
    fn instruction(&mut self) -> Option<Instruction<'s>> {
        let start = *self;
        let mut guard = None;
        if self.take(b'@').is_some() {
            let negated = self.take(b'!').is_some();
            guard = Some(Guard { register: self.name()?, negated });
            self.blanks();
        }
        let opcode = self.opcode()?;
        self.blanks();
        let mut operands: SmallVec<[Operand<'s>; 4]> = smallvec![];
        if self.peek()? != b';' {
            self.operands(|operand| operands.push(operand))?;
        }
        self.take(b';')?;
        let span = start.to(self);
        Some(Instruction { span, guard, opcode, form: Form::of(opcode.text), operands })
    }

    /// An opcode other than `call` and with all of its modifiers.
    fn opcode(&mut self) -> Option<Name<'s>> {
        let start = *self;
        self.peek()?.is_ascii_alphabetic().then_some(())?;
        self.take_while(is_in_identifier);
        if self.peek() == Some(b'.') {
            self.take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':')
            });
        }
        let opcode = start.name_to(self);
        // (The number of a constant bank may follow, and modifiers that stand apart.)
        let mut behind = *self;
        behind.blanks();
        let goes_on = self.peek() == Some(b'[') || behind.peek() == Some(b'.');
        (!goes_on && !opcode.text.starts_with("call")).then_some(opcode)
    }

    /// Operands with commas between them, and the blanks behind the last one.
    fn operands(&mut self, mut each: impl FnMut(Operand<'s>)) -> Option<()> {
        loop {
            let mut operand = self.value()?;
            if self.take(b'|').is_some() {
                operand = Operand::Pair(Box::new([operand, self.value()?]));
            }
            each(operand);
            self.blanks();
            if self.take(b',').is_none() {
                return Some(());
            }
            self.blanks();
        }
    }

    fn value(&mut self) -> Option<Operand<'s>> {
        let start = *self;
        Some(match self.peek()? {
            b'[' => self.address()?,
            b'{' => {
                self.at += 1;
                self.blanks();
                let mut words = Vec::new();
                self.operands(|operand| words.push(operand))?;
                self.take(b'}')?;
                Operand::Vector(words, start.to(self))
            }
            b'!' => {
                self.at += 1;
                Operand::Not(self.name()?)
            }
            b'-' | b'0'..=b'9' => Operand::Immediate(self.number()?),
            b'_' if !self.rest().get(1).is_some_and(|byte| is_in_name(*byte)) => {
                self.at += 1;
                Operand::Sink(start.to(self))
            }
            _ => Operand::Name(self.name()?),
        })
    }

    /// `[%rd1+4]`, `[%rd1+-4]`
    fn address(&mut self) -> Option<Operand<'s>> {
        let start = *self;
        self.take(b'[')?;
        let base = AddressBase::Name(self.name()?);
        let mut offset = 0;
        if self.take(b'+').is_some() {
            offset = self.number()?.value.as_integer()?;
        }
        self.take(b']')?;
        let rest = Default::default();
        Some(Operand::Address(Box::new(Address { span: start.to(self), base, offset, rest })))
    }

    /// The name of anything, but for `WARP_SZ`.
    fn name(&mut self) -> Option<Name<'s>> {
        let start = *self;
        let marked = matches!(self.peek()?, b'%' | b'$' | b'_');
        (marked || self.peek()?.is_ascii_alphabetic()).then(|| self.at += 1)?;
        self.take_while(is_in_name);
        let name = start.name_to(self);
        let is_word = !marked || name.text.len() > 1;
        (is_word && !name.text.starts_with("WARP_SZ")).then_some(name)
    }

    /// A decimal number, perhaps with a minus, or the bits of a floating-point number.
    fn number(&mut self) -> Option<Immediate> {
        let start = *self;
        let negated = self.take(b'-').is_some();
        let digits = *self;
        self.take_while(|byte| byte.is_ascii_alphanumeric());
        let text = &self.text[digits.at..self.at];
        let bits =
            |length| text.len() == length && text.bytes().skip(2).all(|b| b.is_ascii_hexdigit());
        match text.as_bytes() {
            [b'0', b'f' | b'F', ..] if !negated && bits(10) => {}
            [b'0', b'd' | b'D', ..] if !negated && bits(18) => {}
            _ => {
                digits.decimal(self)?;
            }
        }
        // (An identifier cannot follow, nor a fraction.)
        matches!(self.peek()?, b',' | b';' | b']' | b'}' | b' ').then_some(())?;
        literal(&self.text[start.at..self.at], start.to(self)).ok()
    }

    /// The text from here to another place, if it is a decimal number that nobody takes for an octal one.
    fn decimal(&self, end: &Reader<'_>) -> Option<&'s str> {
        let digits = &self.text[self.at..end.at];
        let plain = matches!(digits.as_bytes(), [b'0'] | [b'1'..=b'9', ..]);
        (plain && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
    }
}

/// The rule `id_char`.
fn is_in_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// What the rule `name` allows behind the first character.
fn is_in_name(byte: u8) -> bool {
    is_in_identifier(byte) || byte == b'.'
}
