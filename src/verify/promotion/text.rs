//! The text of the rewritten file without loops that keep in registers what another loop beside them keeps in memory, and
//! with one loop in the place of two others.

use super::twins::{Promotion, promotion};
use super::unswitched::{Unswitched, unswitched};
use crate::cfg::{self, Flow};
use crate::isa::Opcode;
use crate::ptx::{self, Depth, Statement};
use crate::source::SourceFile;

/// The most loops of a file that are left out.
const MAX_PROMOTIONS: usize = 256;

/// The rewritten file without loops that the one beside them is shown to be equivalent to; `None` if there are none.
/// Lines stay where they are. A file that has no more branches than the original is left as it is.
pub(crate) fn without_promotions(
    original: &SourceFile,
    rewritten: &SourceFile,
) -> Option<SourceFile> {
    changed(original, rewritten, |source, flow| left_out(source, flow, &promotion(flow)?))
}

/// The rewritten file with one loop, which has a test in each iteration, in the place of two loops with the test in front of
/// them; `None` if there are none. Lines stay where they are. A file that has no more branches than the original is left
/// as it is.
pub(crate) fn switched(original: &SourceFile, rewritten: &SourceFile) -> Option<SourceFile> {
    changed(original, rewritten, |source, flow| in_one(source, flow, &unswitched(flow)?))
}

/// The rewritten file after all changes of its functions.
fn changed(
    original: &SourceFile,
    rewritten: &SourceFile,
    change: impl Fn(&SourceFile, &Flow<'_, '_>) -> Option<String>,
) -> Option<SourceFile> {
    if branches(rewritten)? <= branches(original)? {
        return None;
    }
    let mut text: Option<SourceFile> = None;
    for _ in 0..MAX_PROMOTIONS {
        let source = text.as_ref().unwrap_or(rewritten);
        let Some(next) = changed_once(source, &change) else { break };
        text = Some(SourceFile::new(rewritten.name(), next));
    }
    text
}

/// How many branches the functions of a file have.
fn branches(source: &SourceFile) -> Option<usize> {
    fn within(statements: &[Statement<'_>]) -> usize {
        let count = |statement: &Statement<'_>| match statement {
            Statement::Instruction(inst) => usize::from(inst.form.opcode == Opcode::Bra),
            Statement::Block { statements, .. } => within(statements),
            _ => 0,
        };
        statements.iter().map(count).sum()
    }
    let module = ptx::parse(source, Depth::All).ok()?;
    Some(module.functions().filter_map(|one| one.statements()).map(within).sum())
}

/// The text after the first change.
fn changed_once(
    source: &SourceFile,
    change: impl Fn(&SourceFile, &Flow<'_, '_>) -> Option<String>,
) -> Option<String> {
    let module = ptx::parse(source, Depth::All).ok()?;
    module.functions().filter(|one| one.statements().is_some()).find_map(|function| {
        let flow = cfg::build(source, function).ok()?;
        change(source, &flow)
    })
}

/// The text with the test of two loops at the head of the first one, branches to what differs in the second one, and blanks
/// in the place of its other code.
fn in_one(source: &SourceFile, flow: &Flow<'_, '_>, found: &Unswitched) -> Option<String> {
    let span = |at: cfg::InstId| flow.insts[at].ast.span.range();
    let scope = |at: cfg::InstId| flow.scopes.scope_at(span(at).start);
    let mut insts = found.branch.to(found.second.end).chain(found.code.iter().copied());
    let all = span(found.branch).start..span(found.second.end.before()).end;
    if source.text()[all].contains(".reg") || !insts.all(|at| scope(at) == scope(found.branch)) {
        return None;
    }
    let branch = &flow.insts[found.branch];
    let guard = &source.text()[span(found.branch).start..branch.ast.opcode.span.start as usize];
    let code = |at: &cfg::InstId| source.text()[span(*at)].replace('\n', " ") + " ";
    let test: String = found.code.iter().map(code).collect();
    if test.contains("//") || guard.contains('/') {
        return None;
    }
    let mut edits = vec![(span(found.branch), String::new())];
    let insert = |at: usize, text: String| (at..at, text);
    edits.push(insert(span(found.first).start, test));
    let stem = (0..).map(|number| format!("$switched{number}_"));
    let stem = stem.into_iter().find(|stem| !source.text().contains(stem.as_str()))?;
    let mut kept = Vec::new();
    for (number, [first, second]) in found.differing.iter().enumerate() {
        let [to, back] = ["to", "back"].map(|word| format!("{stem}{word}{number}"));
        edits.push(insert(span(first.start).start, format!("{guard}bra {to}; ")));
        edits.push(insert(span(first.end).start, format!("{back}: ")));
        let (start, end) = (span(second.start).start, span(second.end).start);
        let end = if second.start == second.end { start } else { end };
        kept.push((insert(start, format!("{to}: ")), insert(end, format!("bra {back}; "))));
    }
    let last = span(found.second.end.before()).end;
    let mut at = span(found.second.start).start;
    for (to, back) in kept {
        edits.push((at..to.0.start, String::new()));
        at = back.0.start;
        edits.extend([to, back]);
    }
    edits.push((at..last, String::new()));
    let (mut text, mut at) = (String::with_capacity(source.text().len() + 256), 0);
    for (range, new) in edits {
        text.push_str(source.text().get(at..range.start)?);
        text.push_str(&new);
        text.extend(source.text()[range.clone()].matches('\n'));
        at = range.end;
    }
    Some(text + &source.text()[at..])
}

/// The text with blanks in the place of some instructions and what stands between them.
fn left_out(source: &SourceFile, flow: &Flow<'_, '_>, found: &Promotion) -> Option<String> {
    let last = found.insts.end.before();
    let start = flow.insts[found.insts.start].ast.span.start as usize;
    let end = flow.insts[last].ast.span.end as usize;
    let scope = flow.scopes.scope_at(start);
    let is_one_scope =
        |at: cfg::InstId| flow.scopes.scope_at(flow.insts[at].ast.span.start as usize) == scope;
    // Declarations that others may need stay.
    if source.text()[start..end].contains(".reg") || !found.insts.clone().all(is_one_scope) {
        return None;
    }
    let mut bytes = source.text().as_bytes().to_vec();
    let blanked = bytes[start..end].iter_mut().filter(|byte| **byte != b'\n');
    blanked.for_each(|byte| *byte = b' ');
    String::from_utf8(bytes).ok()
}
