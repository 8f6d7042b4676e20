//! The text of the rewritten file without loops that keep in registers what another loop beside them keeps in memory.

use super::twins::{Promotion, promotion};
use crate::cfg::{self, Flow};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

/// The most loops of a file that are left out.
const MAX_PROMOTIONS: usize = 256;

/// The rewritten file without loops that the one beside them is shown to be equivalent to; `None` if there are none.
/// Lines stay where they are. A file that has no more branches than the original is left as it is.
pub(in crate::verify) fn without_promotions(
    original: &SourceFile,
    rewritten: &SourceFile,
) -> Option<SourceFile> {
    let branches = |source: &SourceFile| source.text().matches("bra").count();
    if branches(rewritten) <= branches(original) {
        return None;
    }
    let mut text: Option<SourceFile> = None;
    for _ in 0..MAX_PROMOTIONS {
        let source = text.as_ref().unwrap_or(rewritten);
        let Some(next) = without_one(source) else { break };
        text = Some(SourceFile::new(rewritten.name(), next));
    }
    text
}

/// The text without the first such loop.
fn without_one(source: &SourceFile) -> Option<String> {
    let module = ptx::parse(source, Depth::All).ok()?;
    module.functions().filter(|one| one.statements().is_some()).find_map(|function| {
        let flow = cfg::build(source, function).ok()?;
        let found = promotion(&flow)?;
        left_out(source, &flow, &found)
    })
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
