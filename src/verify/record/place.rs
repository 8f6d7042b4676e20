//! A place: a block of the rewritten program with everything that is known to hold there.
//!
//! In: a program that was evaluated (or is being evaluated), and the facts about other lanes from its warp
//! instructions. Out: the conditions that hold for every lane at the place.

use super::execution::{Execution, GlobalFact};
use crate::cfg::{BlockId, LoopId};
use crate::expr::TermId;
use crate::program::Program;
use crate::terms::{Terms, conditions};

/// A place in the rewritten program, and the facts known there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub around: Option<LoopId>,
    /// Conditions that hold for every lane at this place.
    pub path: Vec<TermId>,
    pub reaches: Vec<Reach>,
    pub votes: Vec<Vote>,
}

/// Facts about other lanes and about addresses, anywhere in a program.
pub(crate) struct Known<'k> {
    pub reaches: &'k [Reach],
    pub votes: &'k [Vote],
    pub global: &'k [GlobalFact],
}

impl Place {
    /// The place of a block, in a program that was evaluated (or is being evaluated).
    pub(crate) fn new(
        terms: &mut Terms,
        program: &Program<'_, '_>,
        execution: &Execution,
        entries: &dyn Fn(LoopId) -> Option<TermId>,
        block: BlockId,
        known: &Known<'_>,
    ) -> Place {
        let around = program.loop_of(block);
        let mut path = Vec::new();
        if let Some(own) = execution.path[block] {
            path.extend(conditions::literals(&mut terms.arena, own));
        }
        for id in program.flow.loops.around(around) {
            if let Some(entry) = entries(id) {
                path.extend(conditions::literals(&mut terms.arena, entry));
            }
        }
        // Facts about the original that hold wherever this place is reached.
        for &GlobalFact { condition, around: place, is_global: fact } in known.global {
            terms.arena.charge(1);
            let always = place == around && {
                let needed = conditions::literals(&mut terms.arena, condition);
                conditions::hold(&terms.arena, &needed, &path)
            };
            if always && !conditions::hold(&terms.arena, &[fact], &path) {
                path.push(fact);
            }
        }
        Place {
            around,
            path,
            reaches: known.reaches.iter().filter(|reach| reach.block == block).copied().collect(),
            votes: known.votes.iter().filter(|vote| vote.block == block).copied().collect(),
        }
    }
}

/// A fact about another lane: under `condition`, lane `L + n` is in `block` too. (No relation to
/// reachability in the graph, which is `cfg::reach`.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub block: BlockId,
    pub condition: TermId,
    pub n: i32,
}

/// A block in which all lanes of the warp are together under the condition `together`, consecutive in
/// `tid.x`; and the lane's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reconverged {
    pub block: BlockId,
    pub together: TermId,
    pub lane: TermId,
}

/// A `vote.sync.all`: if `result` is true and the warp is whole, `predicate` is true in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub block: BlockId,
    /// The result of the instruction: true only if the lane's own predicate is.
    pub result: TermId,
    /// The same for all lanes: whether the predicate is true in each.
    pub outcome: TermId,
    pub whole: TermId,
    pub predicate: TermId,
}
