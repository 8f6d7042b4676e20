//! Changes of a function's text, by its instructions. Lines stay where they are.

use std::ops::Range;

use crate::cfg::{Flow, InstId, InstRange};
use crate::isa::Opcode;
use crate::ptx::{Function, Module, Statement};
use crate::source::SourceFile;

/// A function of one text with its graph.
pub(super) struct Site<'u, 'm, 's> {
    pub source: &'u SourceFile,
    pub module: &'u Module<'s>,
    pub function: &'u Function<'s>,
    pub flow: &'u Flow<'m, 's>,
}

impl Site<'_, '_, '_> {
    /// The bytes of an instruction.
    pub(super) fn span(&self, at: InstId) -> Range<usize> {
        self.flow.insts[at].ast.span.range()
    }

    /// Whether names mean the same registers at all of some instructions.
    pub(super) fn is_one_scope(&self, mut insts: impl Iterator<Item = InstId>) -> bool {
        let scope = |at: InstId| self.flow.scopes.scope_at(self.span(at).start);
        let first = insts.next().map(scope);
        insts.all(|at| Some(scope(at)) == first)
    }

    /// Instructions as text of one line; `None` if a comment would hide what follows.
    pub(super) fn code(&self, insts: impl Iterator<Item = InstId>) -> Option<String> {
        let one = |at: InstId| self.source.text()[self.span(at)].replace('\n', " ") + " ";
        Some(insts.map(one).collect()).filter(|code: &String| !code.contains("//"))
    }
}

/// How many instructions of a function have an opcode.
pub(super) fn count(function: &Function<'_>, opcode: Opcode) -> usize {
    fn within(statements: &[Statement<'_>], opcode: Opcode) -> usize {
        let count = |statement: &Statement<'_>| match statement {
            Statement::Instruction(inst) => usize::from(inst.form.opcode == opcode),
            Statement::Block { statements, .. } => within(statements, opcode),
            _ => 0,
        };
        statements.iter().map(count).sum()
    }
    within(function.statements().unwrap_or_default(), opcode)
}

/// The beginning of names that a text does not contain.
pub(super) fn fresh(word: &str, texts: &[&SourceFile]) -> String {
    let is_new = |stem: &String| texts.iter().all(|one| !one.text().contains(stem.as_str()));
    let mut stems = (0_u32..).map(|number| format!("{word}{number}_"));
    stems.find(is_new).unwrap_or_default()
}

/// Changes of a text: bytes and what stands in their place.
#[derive(Default)]
pub(super) struct Edits {
    changes: Vec<(Range<usize>, String)>,
    /// The bytes that other changes may not touch.
    owned: Vec<Range<usize>>,
}

impl Edits {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn change(&mut self, bytes: Range<usize>, code: impl Into<String>) {
        self.owned.push(bytes.clone());
        self.changes.push((bytes, code.into()));
    }

    /// Leaves instructions out.
    pub(super) fn remove(&mut self, site: &Site<'_, '_, '_>, insts: impl Iterator<Item = InstId>) {
        insts.for_each(|at| self.change(site.span(at), ""));
    }

    /// Leaves instructions out, and all that stands between them. `None` where that would take a declaration along, or an end
    /// of its scope.
    pub(super) fn remove_row(&mut self, site: &Site<'_, '_, '_>, row: &InstRange) -> Option<()> {
        self.own(site, row)?;
        let bytes = site.span(row.start).start..site.span(row.end.before()).end;
        self.changes.push((bytes, String::new()));
        Some(())
    }

    /// Keeps other changes away from instructions. `None` if they are of different scopes, or declarations stand between them.
    pub(super) fn own(&mut self, site: &Site<'_, '_, '_>, row: &InstRange) -> Option<()> {
        let bytes = site.span(row.start).start..site.span(row.end.before()).end;
        let declares = site.source.text()[bytes.clone()].contains(".reg");
        (!declares && site.is_one_scope(row.clone())).then_some(())?;
        self.owned.push(bytes);
        Some(())
    }

    /// Leaves bytes out.
    pub(super) fn remove_bytes(&mut self, bytes: Range<usize>) {
        self.changes.push((bytes, String::new()));
    }

    /// Puts code in front of a byte.
    pub(super) fn insert(&mut self, at: usize, code: impl Into<String>) {
        self.changes.push((at..at, code.into()));
    }

    /// Puts code in the place of an instruction.
    pub(super) fn replace(&mut self, site: &Site<'_, '_, '_>, at: InstId, code: impl Into<String>) {
        self.change(site.span(at), code);
    }

    /// Lets a branch jump always.
    pub(super) fn jump(&mut self, site: &Site<'_, '_, '_>, branch: InstId) {
        let ast = site.flow.insts[branch].ast;
        self.change(ast.span.start as usize..ast.opcode.span.start as usize, "");
    }

    /// Adds other changes, unless they touch the same code.
    pub(super) fn join(&mut self, other: Edits) {
        let touches = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        let is_free = |one: &Range<usize>| !self.owned.iter().any(|own| touches(own, one));
        if other.owned.iter().all(is_free) {
            self.changes.extend(other.changes);
            self.owned.extend(other.owned);
        }
    }

    /// The changed text; `None` if changes overlap.
    pub(super) fn applied(mut self, source: &SourceFile) -> Option<SourceFile> {
        let old = source.text();
        self.changes.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        let (mut text, mut at) = (String::with_capacity(old.len() + 256), 0);
        for (bytes, code) in self.changes {
            text.push_str(old.get(at..bytes.start)?);
            text.push_str(&code);
            text.extend(old[bytes.clone()].matches('\n'));
            at = bytes.end;
        }
        text.push_str(&old[at..]);
        Some(SourceFile::new(source.name(), text))
    }
}
