//! A comparison of two functions that have both been evaluated: the facts at a block, claims that are
//! proved there, and the problems found so far.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::{BlockId, InstId, LoopId};
use crate::expr::TermId;
use crate::oracle::Warp;
use crate::program::split::Split;
use crate::program::{Alignment, Both, Program};
use crate::proof::{Proof, Question};
use crate::record::{Execution, Known, Place};
use crate::terms::{Terms, conditions};
use crate::witness::{Problem, Seen, counterexample::Found};

/// The comparison of two functions that have both been evaluated: `before` is the outcome of the original,
/// `after` that of the rewritten function.
pub(super) struct Comparison<'c, 's> {
    pub original: &'c Program<'c, 's>,
    pub rewritten: &'c Program<'c, 's>,
    pub before: &'c Execution,
    pub after: &'c Execution,
    pub alignment: &'c Alignment,
    /// Vector stores that replace several stores.
    pub splits: &'c [Split],
    pub terms: &'c mut Terms,
    pub warp: Warp<'c, 's>,
    /// For each event of the rewritten program, the original's event that it is matched with.
    pub partners: Vec<Option<usize>>,
    /// For each event of the original, whether it is matched with none.
    pub missing: Vec<bool>,
    /// The number of each cutpoint's block, in the original and in the rewritten function.
    pub roots: (FxHashMap<BlockId, usize>, FxHashMap<BlockId, usize>),
    /// Whether the events of the two programs are matched one to one. If not, a difference says
    /// little: another event may make up for it.
    pub pairs_up: bool,
    /// Whether one problem is enough: nobody reads others.
    pub is_brief: bool,
    pub problems: Vec<Problem>,
    /// Whether an array in shared memory may have a layout that was not found: then a difference of addresses or of the
    /// values there counts only if an execution shows it.
    pub doubtful: bool,
    /// Whether the address of a store differs in a program whose lanes exchange values: another lane may store
    /// there. Then a difference counts only if an execution shows it.
    pub exchanging: bool,
    /// For each problem with a counterexample, by its number, the state in which it was seen.
    pub seen: Vec<(usize, Seen)>,
    /// Loads of the rewritten program whose bytes are all read in the original, and whose address is not shown to be
    /// aligned.
    pub misaligned: FxHashSet<InstId>,
    /// Stores of the original whose words nobody reads in the rewritten program.
    pub unread: FxHashSet<InstId>,
    /// Shown to hold at a loop's header, in each iteration.
    pub at_header: BTreeMap<LoopId, Vec<TermId>>,
}

impl<'c, 's> Comparison<'c, 's> {
    /// A comparison in which nothing has been compared yet.
    pub(super) fn new(
        Both { original, rewritten }: Both<&'c Program<'c, 's>>,
        executions: Both<&'c Execution>,
        alignment: &'c Alignment,
        splits: &'c [Split],
        terms: &'c mut Terms,
        warp: Warp<'c, 's>,
    ) -> Self {
        Comparison {
            original,
            rewritten,
            before: executions.original,
            after: executions.rewritten,
            alignment,
            splits,
            terms,
            warp,
            partners: Vec::new(),
            missing: Vec::new(),
            roots: Default::default(),
            pairs_up: true,
            is_brief: false,
            problems: Vec::new(),
            doubtful: false,
            exchanging: false,
            seen: Vec::new(),
            misaligned: FxHashSet::default(),
            unread: FxHashSet::default(),
            at_header: BTreeMap::new(),
        }
    }

    /// A block of the rewritten program with all facts that hold there.
    pub(super) fn place(&mut self, block: BlockId) -> Place {
        let entries = |id: LoopId| self.after.loops[id].as_ref().map(|record| record.entry);
        let global: &[_] = match self.before.generic || self.after.generic {
            true => &self.before.global,
            false => &[],
        };
        let known = Known { reaches: &self.warp.reaches, votes: &self.warp.votes, global };
        let mut place = Place::new(self.terms, self.rewritten, self.after, &entries, block, &known);
        let facts = self.at_headers(place.around);
        place.path.extend(facts);
        place
    }

    /// What holds at the headers of the loops around a place, and, of a loop that it is not in, in its last iteration if
    /// there was one.
    fn at_headers(&mut self, around: Option<LoopId>) -> Vec<TermId> {
        let loops = &self.rewritten.flow.loops;
        let arena = &mut self.terms.arena;
        let mut all = Vec::new();
        for (&id, facts) in &self.at_header {
            if loops.nested(around, id) {
                all.extend(facts);
                continue;
            }
            let mut absent = arena.boolean(false);
            for outer in loops.around(Some(id)) {
                let Some(record) = &self.after.loops[outer] else { continue };
                let skipped = arena.not(record.entry);
                absent = arena.or(absent, skipped);
            }
            all.extend(facts.iter().map(|&fact| arena.or(absent, fact)));
        }
        all
    }

    /// The header of a loop with all facts that hold in an iteration that both programs have reached.
    pub(super) fn iteration(&mut self, around: Option<LoopId>) -> Place {
        let path = self.at_headers(around);
        let mut place = Place { around, path, ..Place::default() };
        for around in self.rewritten.flow.loops.around(around) {
            if let Some(record) = &self.after.loops[around] {
                place.path.extend(conditions::literals(&mut self.terms.arena, record.entry));
            }
        }
        place
    }

    pub(super) fn prove(
        &mut self,
        place: &Place,
        original: TermId,
        rewritten: TermId,
        known: &[TermId],
    ) -> Proof {
        if self.terms.arena.width(original) != self.terms.arena.width(rewritten) {
            return Proof::Unknown;
        }
        let Warp { prover, lanes, .. } = &mut self.warp;
        let mut at = Question { terms: self.terms, lanes, place, known };
        prover.equal(&mut at, (original, rewritten))
    }

    /// A term in the lane of a number; `lane` is the symbol of the lane's number.
    pub(super) fn in_lane(&mut self, (lane, number): (TermId, u32), term: TermId) -> TermId {
        let by_lane = &mut self.warp.prover.by_lane;
        by_lane.terms.of(&mut self.terms.arena, lane, number, term)
    }

    pub(super) fn unknown(&mut self, inst: InstId, original: Option<InstId>, reason: String) {
        self.problem(reason, Both { original, rewritten: Some(inst) }, None);
    }

    pub(super) fn problem(
        &mut self,
        reason: String,
        insts: Both<Option<InstId>>,
        found: Option<Found>,
    ) {
        let (counterexample, seen) = found.map(|found| (found.counterexample, found.seen)).unzip();
        self.seen.extend(seen.map(|seen| (self.problems.len(), seen)));
        self.problems.push(Problem {
            reason,
            line: insts.rewritten.map(|inst| self.rewritten.line(inst)),
            original_line: insts.original.map(|inst| self.original.line(inst)),
            counterexample,
        });
    }
}
