//! Two loops that one branch in front of them leads to, whose predicate would be the same in each iteration.
//!
//! Both have the same blocks, but for accesses and arithmetic within a block. The instructions that compute the predicate may
//! then stand at the head of the first loop, with a branch on it around what differs in a block: to the code of the second
//! loop, and back. (An optimiser that does the opposite calls it loop unswitching.)

use rustc_hash::FxHashSet;

use super::body::Body;
use super::edits::{Edits, Site, fresh};
use super::iterations::is_invariant;
use super::twins::{is_branch, is_equal};
use super::uniform::named;
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, Inst, InstId, InstRange, RegisterId};
use crate::program::{Role, depends_on_convergence, results, role};

/// Two loops with a branch in front of them.
struct Unswitched {
    /// The branch; where it is taken, it leads to the second loop.
    branch: InstId,
    /// The instructions that compute its predicate. Nothing else reads or writes their results.
    code: Vec<InstId>,
    /// The first instruction of the first loop.
    first: InstId,
    /// What differs: the code of a block of the first loop, and that of the second.
    differing: Vec<[InstRange; 2]>,
    /// The second loop.
    second: InstRange,
}

/// Makes one loop of two, with a test in each iteration in the place of the one in front of both.
pub(super) fn unswitched(site: &Site<'_, '_, '_>) -> Edits {
    let (flow, mut edits) = (site.flow, Edits::default());
    // A branch more may change which lanes are together.
    if flow.insts.iter().any(depends_on_convergence) {
        return edits;
    }
    let stem = fresh("$switched", &[site.source]);
    for (number, entry) in flow.block_ids().enumerate() {
        let found = behind(flow, entry);
        let found = found.and_then(|found| found.in_one(site, &format!("{stem}{number}_")));
        found.into_iter().for_each(|one| edits.join(one));
    }
    edits
}

impl Unswitched {
    /// Puts the test at the head of the first loop, with branches to what differs in the second one, and leaves out the rest
    /// of that one.
    fn in_one(&self, site: &Site<'_, '_, '_>, stem: &str) -> Option<Edits> {
        let mut edits = Edits::default();
        let is_one_scope = site.is_one_scope(self.code.iter().copied().chain([self.branch]));
        edits.own(site, &self.branch.to(self.second.end)).filter(|()| is_one_scope)?;
        let start = |at: InstId| site.span(at).start;
        let opcode = site.flow.insts[self.branch].ast.opcode.span.start as usize;
        let guard = &site.source.text()[start(self.branch)..opcode];
        (!guard.contains('/')).then_some(())?;
        let guard = if planted!(Bug::UndoneUntested) { "" } else { guard };
        edits.remove_bytes(site.span(self.branch));
        edits.insert(start(self.first), site.code(self.code.iter().copied())?);
        let mut rest = start(self.second.start);
        for (number, [first, second]) in self.differing.iter().enumerate() {
            let [to, back] = ["to", "back"].map(|word| format!("{stem}{word}{number}"));
            edits.insert(start(first.start), format!("{guard}bra {to}; "));
            edits.insert(start(first.end), format!("{back}: "));
            let (from, end) = (start(second.start), start(second.end));
            let end = if second.start == second.end { from } else { end };
            edits.remove_bytes(rest..from);
            edits.insert(from, format!("{to}: "));
            edits.insert(end, format!("bra {back}; "));
            rest = end;
        }
        edits.remove_bytes(rest..site.span(self.second.end.before()).end);
        Some(edits)
    }
}

/// The loops that the branch at the end of a block leads to.
fn behind(flow: &Flow<'_, '_>, entry: BlockId) -> Option<Unswitched> {
    let branch = flow.block(entry).instructions().next_back()?;
    let (predicate, _) = flow.insts[branch].guard.filter(|_| is_branch(&flow.insts[branch]))?;
    let [taken] = flow.insts[branch].targets[..] else { return None };
    let block = |first: InstId| {
        let mut next = flow.block(entry).successors.iter().map(|edge| edge.to);
        next.find(|to| flow.block(*to).first == first)
    };
    let (first, second) = (Body::of(flow, block(branch.next())?)?, Body::of(flow, block(taken)?)?);
    let only_from = |body: &Body, from: BlockId| {
        let mut edges = flow.block(body.header).predecessors.iter().map(|edge| edge.from);
        edges.all(|one| one == from || body.range.contains(&flow.block(one).first))
    };
    let exit = flow.block(first.exit);
    let is_shaped = only_from(&first, entry)
        && only_from(&second, entry)
        && exit.predecessors.len() == 1
        && exit.instructions().len() == 1
        && exit.end == second.range.start
        && matches!(exit.successors[..], [edge] if edge.to == second.exit && edge.condition == EdgeCondition::Always)
        && is_branch(&flow.insts[exit.first]);
    if !is_shaped {
        return None;
    }
    let differing = differing(flow, [&first, &second])?;
    let code = computing(flow, entry, (branch, predicate));
    let is_same = [&first, &second].iter().all(|body| is_invariant(flow, (&code, predicate), body));
    let first = first.range.start;
    is_same.then_some(Unswitched { branch, code, first, differing, second: second.range })
}

/// What differs in the blocks of two loops, in the order of the text, if that is accesses and arithmetic, and all else is the
/// same.
fn differing(flow: &Flow<'_, '_>, loops: [&Body; 2]) -> Option<Vec<[InstRange; 2]>> {
    let [first, second] = loops;
    if first.blocks.len() != second.blocks.len() {
        return None;
    }
    let mut found = Vec::new();
    for (of_first, of_second) in first.blocks.iter().zip(&second.blocks) {
        // (Behind the first loop stands a jump to the code behind the second one.)
        let behind = |to: BlockId| if to == first.exit { second.exit } else { to };
        let ways_of_first = ways(flow, first, *of_first, behind);
        if ways_of_first != ways(flow, second, *of_second, |to| to) {
            return None;
        }
        let blocks = [of_first, of_second].map(|block| flow.block(*block).instructions());
        let fixed = blocks.clone().map(|block| block.filter(|at| !moves(&flow.insts[*at])));
        let [of_first, of_second] = fixed.map(|fixed| fixed.collect::<Vec<_>>());
        if of_first.len() != of_second.len() {
            return None;
        }
        let mut starts = blocks.clone().map(|block| block.start);
        for (a, b) in of_first.into_iter().zip(of_second) {
            let [one, other] = [a, b].map(|at| &flow.insts[at]);
            // (Where branches lead has been compared.)
            let is_same = is_branch(one) && is_branch(other) || is_equal(one, other);
            if !is_same || one.guard != other.guard {
                return None;
            }
            found.extend(unless_same(flow, [starts[0].to(a), starts[1].to(b)]));
            starts = [a.next(), b.next()];
        }
        found.extend(unless_same(flow, [starts[0].to(blocks[0].end), starts[1].to(blocks[1].end)]));
    }
    found.sort_by_key(|[of_first, _]| of_first.start);
    Some(found)
}

/// Where a block of a loop leads to, under which conditions: to one of the loop's blocks, by number, or to the code for which
/// `outside` gives a block.
fn ways(
    flow: &Flow<'_, '_>,
    body: &Body,
    block: BlockId,
    outside: impl Fn(BlockId) -> BlockId,
) -> Vec<(EdgeCondition, Way)> {
    let way = |edge: &Edge| {
        let number = body.blocks.iter().position(|one| *one == edge.to);
        (edge.condition, number.map_or_else(|| Way::Out(outside(edge.to)), Way::Within))
    };
    flow.block(block).successors.iter().map(way).collect()
}

/// A way out of a block.
#[derive(PartialEq, Eq)]
enum Way {
    Within(usize),
    Out(BlockId),
}

/// Whether an instruction may stand elsewhere in the other loop, or not at all.
fn moves(inst: &Inst<'_, '_>) -> bool {
    matches!(role(inst), Role::Pure | Role::Load | Role::Store) && !inst.pragma
}

/// Two pieces of code, unless they are the same.
fn unless_same(flow: &Flow<'_, '_>, code: [InstRange; 2]) -> Option<[InstRange; 2]> {
    let [one, other] = code.clone().map(|code| code.map(|at| &flow.insts[at]));
    let is_same = one.len() == other.len()
        && one.zip(other).all(|(a, b)| is_equal(a, b) && a.guard == b.guard);
    (!is_same).then_some(code)
}

/// The instructions of a block that compute the predicate of its branch, with results that nothing else reads or writes.
/// The other registers that they read have the same values where the branch stands. Without such instructions, none: the
/// predicate is read where it is.
fn computing(
    flow: &Flow<'_, '_>,
    entry: BlockId,
    (branch, predicate): (InstId, RegisterId),
) -> Vec<InstId> {
    let insts = flow.block(entry).instructions();
    let mut code: Vec<InstId> = Vec::new();
    let mut own = FxHashSet::from_iter([predicate]);
    for at in insts.start.to(branch).rev() {
        let inst = &flow.insts[at];
        let written = results(inst);
        if !written.iter().any(|register| own.contains(register)) {
            continue;
        }
        if role(inst) != Role::Pure || inst.guard.is_some() || inst.pragma {
            return Vec::new();
        }
        own.extend(written);
        code.push(at);
        // What other code uses as well is read where it is.
        let only_here = |register: &RegisterId| {
            let mut users = flow.insts.iter_enumerated().filter(|(_, one)| uses(one, *register));
            users.all(|(at, _)| insts.contains(&at)) && !is_input(flow, *register)
        };
        own.extend(inst.args.iter().flat_map(named).filter(only_here));
    }
    code.reverse();
    let is_own = |at: InstId| at == branch || code.contains(&at);
    let outside = flow.insts.iter_enumerated().filter(|(at, _)| !is_own(*at));
    let mut used = outside.filter(|(_, inst)| own.iter().any(|register| uses(inst, *register)));
    let is_stable = |at: &InstId| {
        let read = flow.insts[*at].args.iter().flat_map(named);
        read.filter(|register| !own.contains(register)).all(|register| {
            at.to(branch).all(|later| !results(&flow.insts[later]).contains(&register))
        })
    };
    let mut written = FxHashSet::default();
    let is_defined = |at: &InstId| {
        let inst = &flow.insts[*at];
        let mut read = inst.args.iter().skip(1).flat_map(named);
        let defined = read.all(|register| !own.contains(&register) || written.contains(&register));
        written.extend(results(inst));
        defined
    };
    let is_whole = code.iter().all(is_stable) && code.iter().all(is_defined);
    if used.next().is_none() && is_whole { code } else { Vec::new() }
}

/// Whether a register is written by something else than arithmetic.
fn is_input(flow: &Flow<'_, '_>, register: RegisterId) -> bool {
    let mut writers = flow.insts.iter().filter(|inst| results(inst).contains(&register));
    writers.any(|inst| role(inst) != Role::Pure)
}

fn uses(inst: &Inst<'_, '_>, register: RegisterId) -> bool {
    results(inst).contains(&register)
        || inst.guard.is_some_and(|guard| guard.0 == register)
        || inst.args.iter().flat_map(named).any(|one| one == register)
}
