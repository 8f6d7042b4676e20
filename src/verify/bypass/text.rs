//! The text of the rewritten file without branches that may be left out.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::sides::{Bypass, bypass};
use super::threads::is_shuffle;
use super::uniform::reads;
use crate::cfg::{self, Flow, Inst, RegisterId};
use crate::isa::Opcode;
use crate::program::{Role, results, role};
use crate::ptx::family;
use crate::ptx::resolved::Resolved;
use crate::ptx::{self, Body, Depth, Function, Operand, StateSpace, Statement};
use crate::source::SourceFile;

/// The most branches of a file that are left out.
const MAX_BYPASSES: usize = 256;

/// The rewritten file without branches whose sides are shown to do the same; `None` if there are none.
/// Lines stay where they are. A function that has no more shuffles than the original's is left as it is.
pub(crate) fn without_bypasses(
    original: &SourceFile,
    rewritten: &SourceFile,
) -> Option<SourceFile> {
    if !rewritten.text().contains("shfl") {
        return None;
    }
    let before = ptx::parse(original, Depth::All).ok()?;
    let counts: BTreeMap<&str, usize> = before
        .functions()
        .filter_map(|function| Some((function.name.text, shuffles(original, function)?)))
        .collect();
    let (mut text, mut names): (Option<SourceFile>, Vec<String>) = (None, Vec::new());
    for _ in 0..MAX_BYPASSES {
        let source = text.as_ref().unwrap_or(rewritten);
        let Some((name, next)) = without_one(source, &counts) else { break };
        names.push(name);
        text = Some(SourceFile::new(rewritten.name(), next));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut known: FxHashSet<String> = FxHashSet::default();
    for function in before.functions() {
        let entities = Resolved::of(function).entities.into_iter();
        known.extend(entities.map(|entity| entity.name.to_owned()));
    }
    while let Some(source) = &text
        && let Some(next) = without_remains(source, &known, &names)
    {
        text = Some(SourceFile::new(rewritten.name(), next));
    }
    text
}

/// The name of a function and the text without one branch of it.
fn without_one(source: &SourceFile, counts: &BTreeMap<&str, usize>) -> Option<(String, String)> {
    let module = ptx::parse(source, Depth::All).ok()?;
    module.functions().find_map(|function| {
        let known = counts.get(function.name.text)?;
        if shuffles(source, function)? <= *known {
            return None;
        }
        let flow = cfg::build(source, function).ok()?;
        let found = bypass(&module, function, &flow)?;
        Some((function.name.text.to_owned(), left_out(source, &flow, &found)))
    })
}

/// How many shuffles a function has whose body was parsed.
fn shuffles(source: &SourceFile, function: &Function<'_>) -> Option<usize> {
    let Body::Parsed { span, .. } = &function.body else { return None };
    if !source.slice(*span).contains("shfl") {
        return Some(0);
    }
    let flow = cfg::build(source, function).ok()?;
    Some(flow.insts.iter().filter(|inst| is_shuffle(inst)).count())
}

/// The text with a branch that always goes the one way, and blanks for what only the other way leads to.
fn left_out(source: &SourceFile, flow: &Flow<'_, '_>, bypass: &Bypass) -> String {
    let mut text = Blanked::new(source);
    let branch = flow.insts[bypass.branch].ast;
    let end = if bypass.jumps { branch.opcode.span.start } else { branch.span.end };
    text.blank(branch.span.start, end);
    for block in &bypass.unused {
        for at in flow.block(*block).instructions() {
            let span = flow.insts[at].ast.span;
            text.blank(span.start, span.end);
        }
    }
    text.finish()
}

/// A text in which some statements become blanks; lines stay where they are.
pub(super) struct Blanked(Vec<u8>);

impl Blanked {
    pub(super) fn new(source: &SourceFile) -> Blanked {
        Blanked(source.text().as_bytes().to_vec())
    }

    pub(super) fn blank(&mut self, from: u32, to: u32) {
        let bytes = self.0[from as usize..to as usize].iter_mut();
        bytes.filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }

    /// The text: only whole statements are blanked, so no character is cut.
    pub(super) fn finish(self) -> String {
        String::from_utf8(self.0).unwrap_or_default()
    }
}

/// The text without dead code whose names the original does not declare (`known`, of families the prefix): instructions
/// with unused results, branches to the next instruction, labels, declarations of registers. `None` if there is none of
/// these.
fn without_remains(
    source: &SourceFile,
    known: &FxHashSet<String>,
    names: &[&str],
) -> Option<String> {
    let module = ptx::parse(source, Depth::All).ok()?;
    let mut text = Blanked::new(source);
    let mut any = false;
    for function in module.functions().filter(|one| names.contains(&one.name.text)) {
        let flow = cfg::build(source, function).ok()?;
        let read: FxHashSet<RegisterId> = flow.insts.iter().flat_map(reads).collect();
        let is_new = |name: &str| {
            let mut families = family::memberships(name);
            !known.contains(name) && !families.any(|(prefix, _)| known.contains(prefix))
        };
        let mut kept: Vec<&Inst<'_, '_>> = Vec::new();
        for (at, inst) in flow.insts.iter_enumerated() {
            let written = results(inst);
            let is_unread = role(inst) == Role::Pure
                && !written.is_empty()
                && written.iter().all(|register| {
                    !read.contains(register) && is_new(flow.registers[*register].name)
                });
            let is_next = inst.ast.form.opcode == Opcode::Bra
                && inst.guard.is_none()
                && inst.targets[..] == [at.next()]
                && matches!(inst.ast.operands.first(), Some(Operand::Name(label)) if is_new(label.text));
            if is_unread || is_next {
                text.blank(inst.ast.span.start, inst.ast.span.end);
                any = true;
            } else {
                kept.push(inst);
            }
        }
        for statement in function.statements().unwrap_or_default() {
            match statement {
                Statement::Label(label) if is_new(label.text) => {
                    let names = |inst: &&Inst<'_, '_>| {
                        inst.ast.names().iter().any(|name| name.text == label.text)
                    };
                    let rest = &source.text()[label.span.end as usize..];
                    if let (false, Some(colon)) = (kept.iter().any(names), rest.find(':')) {
                        text.blank(label.span.start, label.span.end + colon as u32 + 1);
                        any = true;
                    }
                }
                Statement::Variable(variable) if variable.space == StateSpace::Reg => {
                    let is_unused = variable.names.iter().all(|declared| {
                        let name = declared.name.text;
                        let names = |inst: &&Inst<'_, '_>| {
                            inst.ast.names().iter().any(|one| one.text.starts_with(name))
                        };
                        is_new(name) && !kept.iter().any(names)
                    });
                    if is_unused {
                        text.blank(variable.span.start, variable.span.end);
                        any = true;
                    }
                }
                _ => {}
            }
        }
    }
    any.then(|| text.finish())
}
