//! The text of a file with counted loops around shuffles unrolled.

use super::constants::Constants;
use crate::cfg::{self, BlockId, EdgeCondition, Flow, InstId, InstRange};
use crate::isa::Opcode;
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

/// The most iterations that are written out.
const MAX_ITERATIONS: u32 = 64;

/// The most blocks in front of a loop that are looked at.
const MAX_BLOCKS: usize = 64;

/// A file with the loops of some functions unrolled, by the functions' names; `None` if they have none. Lines stay where
/// they are.
pub(in crate::verify) fn unrolled(
    source: &SourceFile,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<SourceFile> {
    let module = ptx::parse(source, Depth::All).ok()?;
    let mut text = source.text().to_owned();
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let bodies = module.functions().filter(|one| one.statements().is_some());
    for function in bodies.filter(|one| is_wanted(one.name.text)) {
        let Ok(flow) = cfg::build(source, function) else { continue };
        let headers = flow.loops.loops.iter().map(|one| one.header);
        edits.extend(headers.filter_map(|header| iterations(source, &flow, header)));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_unstable();
    for (from, to, code) in edits.into_iter().rev() {
        text.replace_range(from..to, &code);
    }
    Some(SourceFile::new(source.name(), text))
}

/// The place of a loop's branch in the text, and the further iterations that take its place.
fn iterations(
    source: &SourceFile,
    flow: &Flow<'_, '_>,
    header: BlockId,
) -> Option<(usize, usize, String)> {
    let latch = latch(flow, header)?;
    let insts = flow.block(header).first.to(flow.block(latch).end);
    let is_shuffle = |at: InstId| flow.insts[at].ast.form.opcode == Opcode::Shfl;
    insts.clone().find(|at| is_shuffle(*at))?;
    let count = executions(flow, (header, latch), &insts)?;
    let branch = insts.end.before();
    let mut copy = String::new();
    for at in insts.start.to(branch) {
        let text = source.slice(flow.insts[at].ast.span);
        if text.contains(['\n', '/']) {
            return None;
        }
        copy += text;
        copy.push(' ');
    }
    let span = flow.insts[branch].ast.span;
    let whole = flow.insts[insts.start].ast.span.start as usize..span.end as usize;
    // (A name may mean another register where the copies stand.)
    let scope = |at: InstId| flow.scopes.scope_at(flow.insts[at].ast.span.start as usize);
    let is_renamed = source.text()[whole].contains(".reg");
    if is_renamed || insts.clone().any(|at| scope(at) != scope(branch)) {
        return None;
    }
    let lines = source.slice(span).matches('\n').count();
    let code = copy.repeat(count as usize - 1) + &"\n".repeat(lines);
    Some((span.start as usize, span.end as usize, code))
}

/// The last block of a loop of straight code whose blocks stand one behind the other in the text.
fn latch(flow: &Flow<'_, '_>, header: BlockId) -> Option<BlockId> {
    let mut last = header;
    while !flow.block(last).successors.iter().any(|edge| edge.to == header) {
        let [next] = flow.block(last).successors[..] else { return None };
        let [_] = flow.block(next.to).predecessors[..] else { return None };
        let is_adjacent = flow.block(last).end == flow.block(next.to).first;
        if next.condition != EdgeCondition::Always || flow.block(last).leaves || !is_adjacent {
            return None;
        }
        last = next.to;
    }
    Some(last)
}

/// How often a loop is executed, if that is a constant.
fn executions(
    flow: &Flow<'_, '_>,
    (header, latch): (BlockId, BlockId),
    insts: &InstRange,
) -> Option<u32> {
    let back = flow.block(latch).successors.iter().find(|edge| edge.to == header)?;
    let EdgeCondition::Predicate(predicate, again) = back.condition else { return None };
    let mut before = Vec::new();
    let predecessors = &flow.block(header).predecessors;
    let mut entries = predecessors.iter().filter(|edge| edge.from != latch);
    let (mut entry, None) = (entries.next()?.from, entries.next()) else { return None };
    while before.len() < MAX_BLOCKS {
        before.push(entry);
        match flow.block(entry).predecessors[..] {
            [edge] if !before.contains(&edge.from) && edge.from != latch => entry = edge.from,
            _ => break,
        }
    }
    let mut constants = Constants::new(flow);
    for block in before.into_iter().rev() {
        flow.block(block).instructions().for_each(|at| constants.pass(at));
    }
    for count in 1..=MAX_ITERATIONS {
        insts.clone().for_each(|at| constants.pass(at));
        if (constants.of(predicate)? != 0) != again {
            return Some(count);
        }
    }
    None
}
