//! Heads of kernels and device functions, and prototypes of calls (`grammar/functions.pest`).

use super::cursor::Cursor;
use super::variable::Linkage;
use crate::ptx::ast::{Body, Directive, Function, FunctionKind, Variable};
use crate::ptx::expected::Expected;

/// The rule `item_word`, without its dot.
const ITEM_WORDS: [&str; 21] = [
    "entry",
    "func",
    "visible",
    "extern",
    "weak",
    "common",
    "global",
    "const",
    "shared",
    "file",
    "section",
    "alias",
    "version",
    "target",
    "address_size",
    "loc",
    "tex",
    "local",
    "param",
    "reg",
    "sreg",
];

impl<'s> Cursor<'s> {
    /// The rules `kernel` and `device_function` behind `.entry` and `.func`. The linkage directives began at a place.
    pub(super) fn function_head(
        &mut self,
        start: usize,
        kind: FunctionKind,
        mut linkage: Linkage<'s>,
    ) -> Option<Function<'s>> {
        let mut directives = Vec::new();
        self.function_directives(&mut linkage, &mut directives)?;
        let returns = self.parameter_list()?;
        self.skip();
        let name = self.identifier()?;
        let params = self.parameter_list()?;
        self.function_directives(&mut linkage, &mut directives)?;
        let span = self.since(start);
        let body = Body::Absent;
        Some(Function { kind, name, span, linkage, returns, params, directives, body })
    }

    /// The attributes and the rules `function_directive` that match here.
    fn function_directives(
        &mut self,
        linkage: &mut Linkage<'s>,
        directives: &mut Vec<Directive<'s>>,
    ) -> Option<()> {
        loop {
            let end = self.at;
            self.skip();
            if let Some(attribute) = self.attempt(Self::attribute) {
                linkage.push(attribute);
            } else if let Some(directive) = self.function_directive() {
                directives.push(directive?);
            } else {
                self.at = end;
                return Some(());
            }
        }
    }

    /// The rule `function_directive`, if it matches; `Some(None)` where it only begins.
    fn function_directive(&mut self) -> Option<Option<Directive<'s>>> {
        let start = self.at;
        if let Some(pragma) = self.attempt(Self::pragma) {
            return Some(Some(pragma));
        }
        let name = self.directive_word();
        if name.is_empty() || ITEM_WORDS.contains(&name) {
            return None;
        }
        self.eat_directive(name);
        Some(self.performance(start, name))
    }

    /// The rule `performance` behind its name.
    fn performance(&mut self, start: usize, name: &'s str) -> Option<Directive<'s>> {
        let mut values = smallvec::SmallVec::new();
        let end = self.at;
        self.skip();
        if !self.is_at_number() {
            self.at = end;
            return Some(Directive::Performance { name, values, span: self.since(start) });
        }
        loop {
            values.push(self.unsigned()?);
            if !self.eat_next(b',') {
                return Some(Directive::Performance { name, values, span: self.since(start) });
            }
            self.skip();
        }
    }

    /// The rule `prototype` behind its first word: results and parameters.
    pub(super) fn prototype(&mut self) -> Option<(Vec<Variable<'s>>, Vec<Variable<'s>>)> {
        let returns = self.parameter_list()?;
        self.skip();
        if !self.is_at_sink() {
            return self.fail(Expected::Name);
        }
        self.at += 1;
        let params = self.parameter_list()?;
        loop {
            self.skip();
            match self.function_directive() {
                Some(directive) => _ = directive?,
                None => break,
            }
        }
        self.expect(b';', Expected::Semicolon)?;
        Some((returns, params))
    }

    /// Notes what may stand behind a function's head that is at its end.
    pub(super) fn note_end_of_head(&mut self, kind: FunctionKind) {
        let start = self.at;
        self.skip();
        let ends = self.is_at_end() || ITEM_WORDS.contains(&self.directive_word());
        self.at = start;
        self.note(match kind == FunctionKind::Entry && ends {
            true => Expected::Semicolon,
            false => Expected::Whole,
        });
    }
}
