//! Statements of a body, one run of them at a time (`grammar/statements.pest`).

use smallvec::SmallVec;

use super::Built;
use super::cursor::Cursor;
use super::run::{Brace, Run};
use crate::isa::Form;
use crate::ptx::ast::{Directive, Guard, Instruction, Location, Name, Operand, Statement};
use crate::ptx::expected::{Entry, Expected};
use crate::ptx::fault::Fault;
use crate::source::Span;

/// The most bytes that are searched for the reason why a body has no end.
const SEARCHED: usize = 1 << 20;

type Operands<'s> = SmallVec<[Operand<'s>; 4]>;

/// Explains why a body has no end: if a statement in it is not finished, that statement is the reason.
pub(in crate::ptx) fn unclosed(file: &str, start: usize) -> Fault {
    let inside = Span::new(start + 1, file.len());
    let brace = Span::new(start, start + 1);
    let fault = Fault::new(brace, "the body that begins here is never closed");
    let read = match inside.range().len() > SEARCHED {
        true => Ok(()),
        false => Cursor::new(file, inside).run().map(|_| ()),
    };
    let Err(inner) = read else { return fault.hint("look for a missing `}`") };
    let rest = file[inner.span.start as usize..].trim_start();
    if rest.starts_with(".entry") || rest.starts_with(".func") {
        return fault.hint("a `}` is missing before the next function begins");
    }
    if rest.is_empty() { fault.hint("look for a missing `}`") } else { inner }
}

impl<'s> Cursor<'s> {
    /// Reads a run of whole statements up to the end of the piece.
    ///
    /// # Errors
    /// The first mistake.
    pub(in crate::ptx) fn run(&mut self) -> Built<Run<'s>> {
        let mut run = Run::default();
        run.statements.reserve(memchr::memchr_iter(b';', self.rest()).count());
        loop {
            self.skip();
            let start = self.at;
            let opens = self.eat(b'{');
            if opens || self.eat(b'}') {
                let (before, span) = (run.statements.len(), self.since(start));
                run.braces.push(Brace { before, opens, span });
            } else if self.is_at_end() {
                return Ok(run);
            } else {
                match self.statement() {
                    Some(statement) if !self.has_fault() => run.statements.push(statement),
                    other => return self.checked(other, Entry::Statements).map(|_| run),
                }
            }
        }
    }

    /// The rule `statement`, but for braces and lines of a preprocessor.
    fn statement(&mut self) -> Option<Statement<'s>> {
        let start = self.at;
        match self.peek() {
            Some(b'@') => return self.instruction().map(Statement::Instruction),
            Some(b'.') => {
                if let Some(directive) = self.attempt(Self::common_directive) {
                    return Some(Statement::Directive(directive));
                }
                return self.variable().map(|variable| Statement::Variable(Box::new(variable)));
            }
            Some(b'%' | b'$' | b'_' | b'a'..=b'z' | b'A'..=b'Z') => {}
            _ => return self.fail(Expected::Whole),
        }
        let label = self.identifier()?;
        if self.peek() != Some(b'.') && self.eat_next(b':') {
            return self.labelled(label);
        }
        if !label.text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.fail(Expected::Colon);
        }
        self.at = start;
        self.instruction().map(Statement::Instruction)
    }

    /// The rule `instruction`.
    fn instruction(&mut self) -> Option<Instruction<'s>> {
        let start = self.at;
        let mut guard = None;
        if self.eat(b'@') {
            self.gap();
            let negated = self.eat(b'!');
            self.gap();
            guard = Some(Guard { register: self.name()?, negated });
            self.gap();
        }
        let mut operands = Operands::new();
        let call = match self.rest().starts_with(b"call") {
            true => self.attempt(|cursor| cursor.call(&mut operands)),
            false => None,
        };
        let opcode = match call {
            Some(opcode) => opcode,
            None => {
                operands.clear();
                self.plain(&mut operands)?
            }
        };
        self.expect(b';', Expected::Semicolon)?;
        let form = Form::of(opcode.text);
        Some(Instruction { span: self.since(start), guard, opcode, form, operands })
    }

    /// An opcode and operands, with the gap behind them.
    fn plain(&mut self, operands: &mut Operands<'s>) -> Option<Name<'s>> {
        let opcode = self.opcode()?;
        let opcode = self.split_modifiers(opcode);
        if self.peek() != Some(b';') {
            self.operands(|operand| operands.push(operand))?;
            if self.peek() != Some(b';') {
                self.note(Expected::Comma);
            }
        }
        Some(opcode)
    }

    /// An opcode with the modifiers that stand apart from it (the rule `split_modifier`), and the gap behind.
    fn split_modifiers(&mut self, mut opcode: Name<'s>) -> Name<'s> {
        let start = opcode.span.start as usize;
        self.gap();
        while self.peek() == Some(b'.') {
            let dot = self.at;
            self.at += 1;
            self.gap();
            if !self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
                self.at = dot;
                break;
            }
            self.modifiers();
            opcode = self.word_since(start);
            self.gap();
        }
        opcode
    }

    /// The rule `call`.
    fn call(&mut self, operands: &mut Operands<'s>) -> Option<Name<'s>> {
        let opcode = self.call_opcode()?;
        let opcode = self.split_modifiers(opcode);
        let results = self.attempt(|cursor| {
            let list = cursor.list()?;
            cursor.gap();
            cursor.expect(b',', Expected::Comma)?;
            cursor.gap();
            Some(list)
        });
        operands.extend(results);
        operands.push(Operand::Name(self.name()?));
        self.gap();
        let arguments = self.attempt(|cursor| cursor.behind_comma(Self::list));
        operands.extend(arguments);
        let prototype = self.attempt(|cursor| cursor.behind_comma(Self::name));
        operands.extend(prototype.map(Operand::Name));
        Some(opcode)
    }

    /// Something behind a comma, with the gap behind it.
    fn behind_comma<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.eat(b',').then(|| self.gap())?;
        let result = read(self)?;
        self.gap();
        Some(result)
    }

    /// What stands behind `name:`, the rules `targets` and `prototype`.
    fn labelled(&mut self, label: Name<'s>) -> Option<Statement<'s>> {
        let start = label.span.start as usize;
        let end = self.at;
        self.skip();
        for name in ["branchtargets", "calltargets"] {
            if self.eat_directive(name) {
                let mut targets = vec![self.target_name()?];
                while self.eat_next(b',') {
                    targets.push(self.target_name()?);
                }
                self.note(Expected::Comma);
                self.expect_next(b';', Expected::Semicolon)?;
                let span = self.since(start);
                return Some(Statement::Directive(Directive::Targets {
                    label,
                    name,
                    targets,
                    span,
                }));
            }
        }
        if self.eat_text(".callprototype") {
            let (returns, params) = self.prototype()?;
            let span = self.since(start);
            let prototype = Directive::Prototype { label, returns, params, span };
            return Some(Statement::Directive(prototype));
        }
        self.at = end;
        Some(Statement::Label(label))
    }

    /// The rule `target_name`.
    fn target_name(&mut self) -> Option<Name<'s>> {
        self.skip();
        let start = self.at;
        self.identifier()?;
        self.count()?;
        Some(self.word_since(start))
    }

    /// The directives that may stand both in a body and at module level.
    pub(super) fn common_directive(&mut self) -> Option<Directive<'s>> {
        match self.second() {
            Some(b'l') => self.location(),
            Some(b'p') => self.pragma(),
            Some(b'f') => self.file(),
            _ => None,
        }
    }

    /// The rule `location`.
    fn location(&mut self) -> Option<Directive<'s>> {
        let start = self.at;
        if !self.eat_text(".loc") || self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        self.gap();
        let file = self.unsigned32()?;
        self.gap();
        let line = self.unsigned32()?;
        let column = self.attempt(|cursor| {
            cursor.gap();
            cursor.is_at_number().then(|| cursor.unsigned32())?
        });
        self.attempt(|cursor| {
            cursor.inlined("function_name")?;
            cursor.identifier()?;
            _ = cursor.attempt(|cursor| {
                cursor.gap();
                cursor.eat(b'+').then(|| cursor.gap())?;
                cursor.number()
            });
            Some(())
        });
        self.attempt(|cursor| {
            cursor.inlined("inlined_at")?;
            cursor.number()?;
            cursor.gap();
            cursor.number()?;
            cursor.gap();
            cursor.number()
        });
        let (column, span) = (column.unwrap_or(0), self.since(start));
        Some(Directive::Loc(Location { file, line, column, span }))
    }

    /// A word of `location` behind a comma, with the gap behind it.
    fn inlined(&mut self, word: &str) -> Option<()> {
        self.gap();
        self.eat(b',').then(|| self.gap())?;
        if !self.eat_text(word) {
            return self.fail(Expected::Inlined);
        }
        self.gap();
        Some(())
    }

    /// The rule `pragma`.
    pub(super) fn pragma(&mut self) -> Option<Directive<'s>> {
        let start = self.at;
        if !self.eat_text(".pragma") {
            return None;
        }
        let mut strings = SmallVec::new();
        loop {
            self.skip();
            strings.push(self.string()?);
            if !self.eat_next(b',') {
                break;
            }
        }
        self.note(Expected::Comma);
        self.expect_next(b';', Expected::Semicolon)?;
        Some(Directive::Pragma { strings, span: self.since(start) })
    }

    /// The rule `file`.
    fn file(&mut self) -> Option<Directive<'s>> {
        let start = self.at;
        if !self.eat_text(".file") {
            return None;
        }
        self.skip();
        let index = self.unsigned32()?;
        self.skip();
        let name = self.string()?;
        // (A time stamp and a size.)
        for _ in 0..2 {
            let more = self.attempt(|cursor| {
                cursor.eat_next(b',').then(|| cursor.skip())?;
                cursor.number()
            });
            if more.is_none() {
                break;
            }
        }
        Some(Directive::File { index, name, span: self.since(start) })
    }
}
