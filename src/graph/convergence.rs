//! Where the lanes of a warp may reconverge in different iterations of a loop.
//!
//! Lanes that diverge at a branch reconverge where the assembler makes them wait for each other, and the place is the
//! assembler's choice. But it must not let lanes wait for others that never come, unless those have left the function.
//! So from the branch every way to *some* end that the assembler cares for leads through the meeting place: to one of
//! the function's ends (ptxas ignores early exits, and keeps the last return), or, where ways out of a loop take their
//! lanes off the list (`BREAK`), to the loop's next iteration. Only the first such place on the ways to each end has to
//! be looked at. The assembler may leave it out and let lanes meet at a later one, but if all come to the first one in
//! the same iteration, they go on alike from there, together or not, up to the next branch that they take differently;
//! and that branch is looked at by itself.
//!
//! If some of the ways from the branch to the place take a back edge of a loop and others do not, or
//! more often, the lanes that meet are in different iterations of that loop:
//!
//! ```text
//! L: i += 1; @p(lane, i) bra L;   // "continue"
//!    use of i                     // all lanes wait here for the last one, each with its own i
//!    @q bra L;
//! ```
//!
//! Two more things bring lanes together. Warp-level synchronisation does, wherever it stands (see
//! [`super::warp`]). And in a function with a cycle of several entries there is no one place where an
//! iteration begins, so nothing is known of the iterations there.
//!
//! In: blocks, dominators and loops. Out: which loops are temporally divergent, and by which branch; a loop
//! with such a branch is temporally divergent unless all lanes take the branch the same way, and whether they
//! do is not known here.
//!
//! The results are checked from outside: kernels are executed with meeting places chosen at
//! random (`run --meet`), and the meeting places of real machine code are compared with
//! [`super::meeting_places`].

use std::collections::{BTreeMap, BTreeSet};

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId, Edge};
use super::dominators::DominatorTree;
use super::loops::{LoopForest, LoopId};
use super::reach::Reach;
use super::reconvergence_points::ReconvergencePoints;
use super::warp::Members;
use crate::ptx::FunctionKind;

/// A reason why lanes may meet in different iterations of a loop: the loop is *temporally divergent*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Divergence {
    /// The loop.
    pub of: LoopId,
    /// The branch at whose end lanes part, unless all lanes of a warp take it the same way; `None` if
    /// the loop is temporally divergent whichever way lanes take its branches.
    pub branch: Option<BlockId>,
}

/// All reasons why lanes may meet in different iterations of a loop, for all loops of a function,
/// sorted. Uniformity of a value within a loop (`emulate::uniform`, `verify::proof::lanes`) holds only where
/// none of them applies.
pub(super) fn temporal_divergence(
    kind: FunctionKind,
    blocks: &TiSlice<BlockId, Block>,
    dominators: &DominatorTree,
    loops: &LoopForest,
) -> Vec<Divergence> {
    let ids = || loops.loops.keys();
    let irreducible = blocks.keys().any(|block| loops.is_irreducible_entry(block));
    let irreducible = irreducible && !planted!(Bug::SeveralEntries);
    let known = || {
        if irreducible || work(blocks, loops) > MAX_WORK {
            return None;
        }
        let mut found = by_branches(blocks, dominators, loops)?;
        if planted!(Bug::SynchronisedLanes) {
            return Some(found);
        }
        let sync = Synchronisation::new(kind, blocks, dominators, loops);
        for id in ids() {
            sync.take_apart(id, &mut found);
            if found.len() > MAX_FOUND {
                return None;
            }
        }
        Some(found)
    };
    let mut found =
        known().unwrap_or_else(|| ids().map(|of| Divergence { of, branch: None }).collect());
    found.sort_unstable();
    found.dedup();
    found
}

/// More steps than this are not taken; then nothing is known of the function's loops.
const MAX_WORK: usize = 40_000_000;

/// More reasons than this are not kept; then nothing is known of the function's loops, either.
const MAX_FOUND: usize = 2_000_000;

/// About how many steps [`temporal_divergence`] takes: for each branch in loops and each place of
/// synchronisation a walk through all blocks.
fn work(blocks: &TiSlice<BlockId, Block>, loops: &LoopForest) -> usize {
    let branches: usize = blocks
        .iter_enumerated()
        .filter(|(_, block)| block.successors.len() > 1)
        .map(|(id, _)| 2 * loops.depth(loops.innermost(id)))
        .sum();
    let places = blocks.iter().filter(|block| block.synchronises.is_some()).count();
    let synchronised = if places == 0 { 0 } else { (places + 1) * (loops.loops.len() + 1) };
    (branches + synchronised).saturating_mul(blocks.len())
}

/// Branches from which some way to a meeting place passes a loop and another does not; `None` if
/// there are too many ways to look at.
fn by_branches(
    blocks: &TiSlice<BlockId, Block>,
    dominators: &DominatorTree,
    loops: &LoopForest,
) -> Option<Vec<Divergence>> {
    let branches: Vec<BlockId> = blocks
        .keys()
        .filter(|branch| blocks[*branch].successors.len() > 1)
        .filter(|&branch| loops.innermost(branch).is_some())
        .collect();
    if branches.is_empty() {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    let mut steps = 0;
    let reconvergence_points = ReconvergencePoints::new(blocks, dominators, loops);
    // By meeting place, and the loop by whose ways lanes come there: the branches at which they part.
    let mut meeting: BTreeMap<(BlockId, Option<LoopId>), BTreeSet<BlockId>> = BTreeMap::new();
    for &branch in &branches {
        match reconvergence_points
            .as_ref()
            .and_then(|reconvergence_points| reconvergence_points.of(branch))
        {
            Some(all) => {
                for ways in all {
                    if let Some(at) = ways.places(loops, branch).next() {
                        meeting.entry((at, ways.within())).or_default().insert(branch);
                    }
                }
            }
            None => {
                let around = loops.around(loops.innermost(branch));
                found.extend(around.map(|of| Divergence { of, branch: Some(branch) }));
            }
        }
    }
    for ((at, within), branches) in meeting {
        let inside = |block: BlockId| within.is_none_or(|within| loops.contains(within, block));
        for of in loops.around(loops.innermost(at)) {
            let header = loops.get(of).header;
            // Whoever waits at the header has taken one back edge.
            if header == at || !inside(header) {
                continue;
            }
            steps += 2 * blocks.len() + branches.len();
            if steps > MAX_WORK || found.len() > MAX_FOUND {
                return None;
            }
            // (In a cycle of several entries ways round a loop may lead out of it.)
            let strays = |block| !planted!(Bug::SeveralEntries) || loops.contains(of, block);
            let round = Reach::within(blocks, header, |block| {
                block != at && inside(block) && strays(block)
            });
            let direct = Reach::within(blocks, at, |block| block != header && inside(block));
            let goes_round = |edge: &Edge| edge.to != at && round.from(edge.to);
            // Lanes may iterate a different number of times, or some of them not at all.
            let often = blocks[header].successors.iter().any(goes_round);
            for branch in branches.iter().copied().filter(|&branch| loops.contains(of, branch)) {
                let ways = &blocks[branch].successors;
                if ways.iter().any(goes_round)
                    && (often || ways.iter().any(|edge| direct.from(edge.to)))
                {
                    found.push(Divergence { of, branch: Some(branch) });
                }
            }
        }
    }
    Some(found)
}

/// The places of warp-level synchronisation.
struct Synchronisation<'a> {
    kind: FunctionKind,
    blocks: &'a TiSlice<BlockId, Block>,
    dominators: &'a DominatorTree,
    loops: &'a LoopForest,
    /// Each place: its block, who takes part, and the blocks that lead to it.
    places: Vec<(BlockId, Members, Reach)>,
}

impl<'a> Synchronisation<'a> {
    fn new(
        kind: FunctionKind,
        blocks: &'a TiSlice<BlockId, Block>,
        dominators: &'a DominatorTree,
        loops: &'a LoopForest,
    ) -> Self {
        let mut places = Vec::new();
        if !loops.loops.is_empty() {
            for (at, block) in blocks.iter_enumerated() {
                if let Some(members) = block.synchronises {
                    places.push((at, members, Reach::new(blocks, at)));
                }
            }
        }
        Synchronisation { kind, blocks, dominators, loops, places }
    }

    /// Lanes meet in a loop by synchronisation if each of their arrivals at some place is the other
    /// ones' arrival of the same number. That they are in the same iteration then is certain if all
    /// arrive equally often: once in every iteration, or wherever the branches that decide about it
    /// go the same way in all lanes. A branch decides nothing if all paths from it lead to the same next stop.
    fn take_apart(&self, id: LoopId, found: &mut Vec<Divergence>) {
        let Synchronisation { kind, blocks, dominators, loops, places } = self;
        if !places.iter().any(|&(at, ..)| loops.contains(id, at)) {
            return;
        }
        let one = loops.get(id);
        let comes_here = Reach::new(blocks, one.header);
        let before = || places.iter().filter(|&&(at, ..)| comes_here.from(at));
        // Lanes may have called a device function at different times.
        if *kind == FunctionKind::Func || before().any(|place| place.1 == Members::Unknown) {
            found.push(Divergence { of: id, branch: None });
            return;
        }
        let latches = dominators.outermost(one.latches.iter().map(|latch| latch.from));
        let in_all = |at| latches.iter().flatten().all(|&latch| dominators.dominates(at, latch));
        let often: Vec<&Reach> = before()
            .filter(|(at, ..)| {
                let once = loops.innermost(*at).is_none() && dominators.dominates(*at, one.header);
                let once_each = loops.innermost(*at) == Some(id) && in_all(*at);
                !once && !once_each
            })
            .map(|(_, _, leads_there)| leads_there)
            .collect();
        if often.is_empty() {
            return;
        }
        let next = self.next_stops(id, &comes_here);
        for (at, block) in blocks.iter_enumerated() {
            let stay = || block.successors.iter().filter(|edge| comes_here.from(edge.to));
            let decides = stay().fold(NextStop::None, |all, edge| all.join(next[edge.to]));
            if stay().count() > 1
                && decides == NextStop::Several
                && often.iter().any(|leads_there| leads_there.from(at))
            {
                found.push(Divergence { of: id, branch: Some(at) });
            }
        }
    }

    /// For each block the next stop of lanes that will come to a loop's header: a place of synchronisation, or the
    /// header of the loop or of one around it.
    fn next_stops(&self, id: LoopId, comes_here: &Reach) -> TiVec<BlockId, NextStop> {
        let Synchronisation { blocks, loops, places, .. } = self;
        let mut next = ti_vec![NextStop::None; blocks.len()];
        let headers = loops.around(Some(id)).map(|around| loops.get(around).header);
        let stops = places.iter().map(|&(at, ..)| at).chain(headers);
        let mut open: Vec<BlockId> = stops.filter(|&stop| comes_here.from(stop)).collect();
        let mut is_stop = ti_vec![false; blocks.len()];
        for &stop in &open {
            is_stop[stop] = true;
            next[stop] = NextStop::One(stop);
        }
        while let Some(at) = open.pop() {
            for edge in blocks[at].predecessors.iter().filter(|edge| !is_stop[edge.from]) {
                let joined = next[edge.from].join(next[at]);
                if std::mem::replace(&mut next[edge.from], joined) != joined {
                    open.push(edge.from);
                }
            }
        }
        next
    }
}

/// The stop that paths from a block come to first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NextStop {
    /// None is known yet.
    None,
    /// All paths lead to this one.
    One(BlockId),
    /// Paths lead to different ones.
    Several,
}

impl NextStop {
    fn join(self, other: NextStop) -> NextStop {
        match (self, other) {
            (NextStop::None, one) | (one, NextStop::None) => one,
            (one, other) if one == other => one,
            _ => NextStop::Several,
        }
    }
}
