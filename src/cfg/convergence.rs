//! Where the lanes of a warp may meet again in different iterations of a loop.
//!
//! Lanes that part at a branch meet again where the assembler makes them wait for each other, and
//! where that is, is its choice. What it may not do is to have lanes wait for some that never come,
//! unless those have left the function. So from the branch every way to *some* end that it cares for
//! leads through the meeting place: to one of the function's ends (ptxas ignores early exits, and
//! keeps the last return), or, where ways out of a loop take their lanes off the list (`BREAK`), to the
//! loop's next iteration. Only the first such place on the ways to each end has to be looked at. The
//! assembler may leave it out and let lanes meet at a later one, but if all come to the first one in
//! the same iteration, they go on alike from there, together or not, up to the next branch that they
//! take differently; and that is looked at by itself.
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
//! Two more things bring lanes together. Warp-level synchronisation does it wherever it stands (see
//! [`super::warp`]). And in a function with a cycle of several entries there is no one place where an
//! iteration begins, so nothing is known there.
//!
//! In: blocks, dominators and loops. Out: which loops' iterations are taken apart, by which branch
//! unless all lanes take it the same way. Whether they do is not known here.
//!
//! What this promises is checked from outside: kernels are executed with meeting places chosen at
//! random (`run --meet`), and those of real machine code are compared with [`super::meeting_places`].

use std::collections::{BTreeMap, BTreeSet};

use super::dominators::DominatorTree;
use super::graph::{Block, BlockId, Edge};
use super::loops::{LoopForest, LoopId};
use super::meetings::Meetings;
use super::reach::Reach;
use super::warp::Members;
use crate::planted::{Bug, Planted};
use crate::ptx::FunctionKind;

/// Something that lets lanes meet in different iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Apart {
    /// The loop.
    pub of: LoopId,
    /// The branch at whose end lanes part, unless all lanes of a warp take it the same way; `None`
    /// where nothing helps.
    pub branch: Option<BlockId>,
}

/// Everything that may take lanes into different iterations of a loop, sorted.
pub(super) fn taken_apart(
    kind: FunctionKind,
    blocks: &[Block],
    dominators: &DominatorTree,
    loops: &LoopForest,
    planted: Planted,
) -> Vec<Apart> {
    let ids = || (0..loops.loops.len() as u32).map(LoopId);
    let irreducible =
        (0..blocks.len() as u32).any(|block| loops.is_irreducible_entry(BlockId(block)));
    let irreducible = irreducible && !planted.has(Bug::SeveralEntries);
    let mut found: Vec<Apart> = if irreducible || work(blocks, loops) > MAX_WORK {
        ids().map(|of| Apart { of, branch: None }).collect()
    } else {
        let mut found = by_branches(blocks, dominators, loops, planted);
        if !planted.has(Bug::SynchronisedLanes) {
            let sync = Synchronisation::new(kind, blocks, dominators, loops);
            ids().for_each(|id| sync.take_apart(id, &mut found));
        }
        found
    };
    found.sort_unstable();
    found.dedup();
    found
}

/// More steps than this are not taken; then nothing is known of the function's loops.
const MAX_WORK: usize = 40_000_000;

/// About how many steps it takes: for each branch in loops and each place of synchronisation a walk
/// through all blocks.
fn work(blocks: &[Block], loops: &LoopForest) -> usize {
    let branching = |(_, block): &(usize, &Block)| block.successors.len() > 1;
    let branches: usize = blocks
        .iter()
        .enumerate()
        .filter(branching)
        .map(|(index, _)| 2 * loops.depth(loops.innermost(BlockId(index as u32))))
        .sum();
    let places = blocks.iter().filter(|block| block.synchronises.is_some()).count();
    let synchronised = if places == 0 { 0 } else { (places + 1) * (loops.loops.len() + 1) };
    (branches + synchronised).saturating_mul(blocks.len())
}

/// Branches from which some way to a meeting place goes round a loop and another does not.
fn by_branches(
    blocks: &[Block],
    dominators: &DominatorTree,
    loops: &LoopForest,
    planted: Planted,
) -> Vec<Apart> {
    let branches: Vec<BlockId> = (0..blocks.len() as u32)
        .map(BlockId)
        .filter(|branch| blocks[branch.index()].successors.len() > 1)
        .filter(|&branch| loops.innermost(branch).is_some())
        .collect();
    if branches.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let meetings = Meetings::new(blocks, dominators, loops, planted);
    // By meeting place, and the loop by whose ways lanes come there: the branches at which they part.
    let mut meeting: BTreeMap<(BlockId, Option<LoopId>), BTreeSet<BlockId>> = BTreeMap::new();
    for &branch in &branches {
        match meetings.as_ref().and_then(|meetings| meetings.of(branch)) {
            Some(places) => {
                for found in places {
                    if let Some(&at) = found.places.first() {
                        meeting.entry((at, found.within)).or_default().insert(branch);
                    }
                }
            }
            None => {
                let around = loops.around(loops.innermost(branch));
                found.extend(around.map(|of| Apart { of, branch: Some(branch) }));
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
            let round = Reach::within(blocks, header, |block| block != at && inside(block));
            let direct = Reach::within(blocks, at, |block| block != header && inside(block));
            let goes_round = |edge: &Edge| edge.to != at && round.from(edge.to);
            // How often lanes go round may differ, or whether.
            let often = blocks[header.index()].successors.iter().any(goes_round);
            for branch in branches.iter().copied().filter(|&branch| loops.contains(of, branch)) {
                let ways = &blocks[branch.index()].successors;
                if ways.iter().any(goes_round)
                    && (often || ways.iter().any(|edge| direct.from(edge.to)))
                {
                    found.push(Apart { of, branch: Some(branch) });
                }
            }
        }
    }
    found
}

/// The places of warp-level synchronisation.
struct Synchronisation<'a> {
    kind: FunctionKind,
    blocks: &'a [Block],
    dominators: &'a DominatorTree,
    loops: &'a LoopForest,
    /// Where, who, and from where that is reached.
    places: Vec<(BlockId, Members, Reach)>,
}

impl<'a> Synchronisation<'a> {
    fn new(
        kind: FunctionKind,
        blocks: &'a [Block],
        dominators: &'a DominatorTree,
        loops: &'a LoopForest,
    ) -> Self {
        let mut places = Vec::new();
        if !loops.loops.is_empty() {
            for (index, block) in blocks.iter().enumerate() {
                if let Some(members) = block.synchronises {
                    let at = BlockId(index as u32);
                    places.push((at, members, Reach::new(blocks, at)));
                }
            }
        }
        Synchronisation { kind, blocks, dominators, loops, places }
    }

    /// Lanes meet in a loop by synchronisation if each of their arrivals at some place is the other
    /// ones' arrival of the same number. That they are in the same iteration then is certain if all
    /// arrive equally often: once in every iteration, or wherever the branches that decide about it
    /// go the same way in all lanes.
    fn take_apart(&self, id: LoopId, found: &mut Vec<Apart>) {
        let Synchronisation { kind, blocks, dominators, loops, places } = self;
        if !places.iter().any(|&(at, ..)| loops.contains(id, at)) {
            return;
        }
        let one = loops.get(id);
        let comes_here = Reach::new(blocks, one.header);
        let before = || places.iter().filter(|&&(at, ..)| comes_here.from(at));
        // Lanes may have called a device function at different times.
        if *kind == FunctionKind::Func || before().any(|place| place.1 == Members::Unknown) {
            found.push(Apart { of: id, branch: None });
            return;
        }
        for (at, _, leads_there) in before() {
            let once = loops.innermost(*at).is_none() && dominators.dominates(*at, one.header);
            let once_each = loops.innermost(*at) == Some(id)
                && one.latches.iter().all(|latch| dominators.dominates(*at, latch.from));
            if once || once_each {
                continue;
            }
            for (index, block) in blocks.iter().enumerate() {
                let stay = block.successors.iter().filter(|edge| comes_here.from(edge.to)).count();
                if stay > 1 && leads_there.from(BlockId(index as u32)) {
                    found.push(Apart { of: id, branch: Some(BlockId(index as u32)) });
                }
            }
        }
    }
}
