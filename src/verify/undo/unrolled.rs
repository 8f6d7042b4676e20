//! Unrolls loops around shuffles with a constant number of iterations.
//!
//! That is the same program: the number of iterations is computed from constants that reach the loop on the only way there.
//! So a loop that one of two programs has can be compared with straight code in the other.

use super::edits::{Edits, Site};
use super::operation::Thread;
use super::straight::Lane;
use super::values::Values;
use crate::cfg::{BlockId, EdgeCondition, Flow, InstId, InstRange, RegisterId};
use crate::isa::Opcode;

/// The most iterations that are written out.
const MAX_ITERATIONS: u32 = 64;

/// The most blocks in front of a loop that are looked at.
const MAX_BLOCKS: usize = 64;

/// Writes out the iterations of loops around shuffles.
pub(super) fn unrolled(site: &Site<'_, '_, '_>) -> Edits {
    let mut edits = Edits::default();
    let loops = site.flow.loops.loops.iter();
    loops.filter_map(|one| iterations(site, one.header)).for_each(|one| edits.join(one));
    edits
}

/// Puts further iterations in the place of a loop's branch back.
fn iterations(site: &Site<'_, '_, '_>, header: BlockId) -> Option<Edits> {
    let flow = site.flow;
    let Tested { latch, test, predicate, again, is_first } = tested(flow, header)?;
    let insts = flow.block(header).first.to(flow.block(latch).end);
    let is_shuffle = |at: InstId| flow.insts[at].ast.form.opcode == Opcode::Shfl;
    insts.clone().find(|at| is_shuffle(*at))?;
    let parts = [insts.start.to(test.next()), test.next().to(insts.end)];
    let count = executions(flow, (header, latch), &parts, (predicate, again))?;
    let count = if planted!(Bug::UndoneIterationLess) { count.max(3) - 1 } else { count };
    let branch = insts.end.before();
    let copied = |part: InstRange| site.code(part.filter(|at| *at != test && *at != branch));
    let [first, second] = parts.map(copied);
    let (first, second) = (first?, second?);
    let mut edits = Edits::default();
    edits.own(site, &insts)?;
    // Of a loop that tests first, the text has one iteration, and the first part comes once more at the end.
    let further = match is_first {
        true => format!("{first}{second}").repeat(count as usize - 2) + &first,
        false => first.repeat(count as usize - 1),
    };
    edits.replace(site, branch, further);
    if is_first {
        edits.remove(site, [test].into_iter());
    }
    Some(edits)
}

/// A loop of straight code whose blocks stand one behind the other in the text, with one test.
struct Tested {
    /// Its last block.
    latch: BlockId,
    /// The branch of the test.
    test: InstId,
    /// The predicate, and the value with which the loop goes on.
    predicate: RegisterId,
    again: bool,
    /// Whether the test stands in front of other code of the loop, and not at its end.
    is_first: bool,
}

/// The loop with a header.
fn tested(flow: &Flow<'_, '_>, header: BlockId) -> Option<Tested> {
    if let Some(latch) = latch(flow, (header, header)) {
        let back = flow.block(latch).successors.iter().find(|edge| edge.to == header)?;
        let test = flow.block(latch).end.before();
        if let EdgeCondition::Predicate(predicate, again) = back.condition {
            return Some(Tested { latch, test, predicate, again, is_first: false });
        }
    }
    let of_header = flow.block(header);
    let [one, other] = of_header.successors[..] else { return None };
    let (into, exit, latch) =
        [(one, other), (other, one)].into_iter().find_map(|(into, exit)| {
            let latch = latch(flow, (into.to, header))?;
            let is_whole = matches!(flow.block(latch).successors[..], [edge] if edge.to == header);
            let is_only_way = flow.block(into.to).predecessors.len() == 1;
            (is_whole && is_only_way).then_some((into, exit, latch))
        })?;
    let is_adjacent = of_header.end == flow.block(into.to).first
        && flow.block(latch).end == flow.block(exit.to).first;
    let EdgeCondition::Predicate(predicate, again) = into.condition else { return None };
    let leaves = of_header.leaves || flow.block(latch).leaves;
    let test = of_header.end.before();
    (is_adjacent && !leaves).then_some(Tested { latch, test, predicate, again, is_first: true })
}

/// The last block of straight code from a block on that leads to the header of a loop, its blocks one behind the other in
/// the text.
fn latch(flow: &Flow<'_, '_>, (first, header): (BlockId, BlockId)) -> Option<BlockId> {
    let mut last = first;
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

/// How often the first part of a loop is executed, up to its test, if that is a constant.
fn executions(
    flow: &Flow<'_, '_>,
    (header, latch): (BlockId, BlockId),
    [first, second]: &[InstRange; 2],
    (predicate, again): (RegisterId, bool),
) -> Option<u32> {
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
    let mut values = Values::default();
    let mut lane = Lane::new(flow, &mut values);
    for block in before.into_iter().rev() {
        flow.block(block).instructions().for_each(|at| lane.pass(at, true));
    }
    for count in 1..=MAX_ITERATIONS {
        first.clone().for_each(|at| lane.pass(at, true));
        let holds = lane.read(predicate).and_then(|term| lane.values.constant(term))?;
        if (holds != 0) != again {
            // (A loop that tests first and does nothing else stays.)
            let is_empty = count == 1 && second.start < second.end;
            return (!is_empty).then_some(count);
        }
        second.clone().for_each(|at| lane.pass(at, true));
    }
    None
}
