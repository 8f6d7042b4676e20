//! Whether lanes of a warp may be at two warp instructions at the same time.
//!
//! In: the events of the original. Out: those warp instructions at which all lanes of a warp are together, if all are
//! named: no lane can be at another one meanwhile. Of two instructions, lanes at the second have passed the first
//! together if whatever leads to the first leads to the second as well, but for conditions that have one value for
//! the warp, and if all lanes leave the loops around the first together; or they have passed a barrier of the block in
//! between, where lanes at the first are still missing. In a loop the same has to hold from the second to the first
//! of the next iteration.

use rustc_hash::FxHashSet;
use typed_index_collections::TiVec;

use super::lanes::Lanes;
use super::uniform::Uniform;
use crate::cfg::{BlockId, Inst, InstId, LoopForest, LoopId};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::program::Program;
use crate::ptx::FunctionKind;
use crate::record::{Execution, LoopRecord};
use crate::terms::{Terms, conditions};

/// The most runs of warp instructions of a function that are compared with each other.
const MAX_COMPARED: usize = 512;

/// A place of a program, in the order of execution within an iteration.
pub(crate) type Position = (BlockId, InstId);

/// A place at which all lanes of a warp are together.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Meeting {
    pub at: Position,
    /// What leads there.
    pub condition: TermId,
    pub around: Option<LoopId>,
}

/// An event at which lanes wait for each other.
struct Wait {
    place: Position,
    around: Option<LoopId>,
    /// What leads to it.
    all: Vec<TermId>,
    /// The same, but for conditions that have one value for the warp.
    differing: Vec<TermId>,
}

/// The warp instructions of the original at which lanes of a warp are nowhere else.
pub(super) fn alone(
    program: &Program<'_, '_>,
    execution: &Execution,
    terms: &mut Terms,
    (uniform, lanes): (&Uniform<'_>, &mut Lanes<'_, '_>),
) -> FxHashSet<InstId> {
    // A function may be called by some lanes of a warp.
    if program.function.kind != FunctionKind::Entry {
        return FxHashSet::default();
    }
    let (mut of_warp, mut of_block) = (Vec::new(), Vec::new());
    for event in &execution.events {
        let inst = &program.flow.insts[event.inst];
        let list = match inst {
            _ if is_of_block(inst) => &mut of_block,
            _ if is_of_warp(inst) => &mut of_warp,
            _ => continue,
        };
        let around = program.loop_of(event.block);
        let mut all = conditions::conjuncts(&terms.arena, event.condition);
        all.retain(|one| terms.arena.constant_value(*one) != Some(1));
        let mut differing = all.clone();
        differing.retain(|one| !uniform.holds(terms, lanes, *one, around));
        list.push(Wait { place: (event.block, event.inst), around, all, differing });
    }
    // Lanes come from one instruction of a run to the next together, and all of them lie alike to any other place.
    let runs: Vec<&[Wait]> = of_warp.chunk_by(|a, b| is_run(a, b, &of_block)).collect();
    if runs.len() > MAX_COMPARED {
        return FxHashSet::default();
    }
    let loops = &program.flow.loops;
    let around = of_warp.iter().flat_map(|wait: &Wait| loops.around(wait.around));
    let mut left_together: Vec<LoopId> = around.collect();
    left_together.sort_unstable();
    left_together.dedup();
    left_together.retain(|id| uniform.leave_together(terms, lanes, *id));
    let again = |record: &LoopRecord| conditions::conjuncts(&terms.arena, record.again);
    let again = execution.loops.iter().map(|record| record.as_ref().map(again)).collect();
    let order = Order { loops, left_together, again, of_block };
    let is_alone = |run: &&&[Wait]| {
        runs.iter()
            .all(|other| other[0].place == run[0].place || order.are_apart(&run[0], &other[0]))
    };
    runs.iter().filter(is_alone).flat_map(|run| run.iter()).map(|wait| wait.place.1).collect()
}

/// Whether two warp instructions that follow each other among those of a function are executed one after the other, with
/// no wait for the block in between.
fn is_run(a: &Wait, b: &Wait, of_block: &[Wait]) -> bool {
    let is_between = |wait: &Wait| a.place < wait.place && wait.place < b.place;
    a.place.0 == b.place.0
        && a.place < b.place
        && a.all == b.all
        && !of_block.iter().any(is_between)
}

/// Whether the lanes of a warp, named by a mask, execute an instruction together, or some of them may in a function.
fn is_of_warp(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_barrier = matches!(form.opcode, Opcode::Bar | Opcode::Barrier);
    form.has(Qualifier::Sync) && (!is_barrier || form.has(Qualifier::Warp))
        || form.opcode == Opcode::Call
}

/// Whether all threads of the block wait for each other at an instruction: the barrier names no number of threads, and all
/// lanes of a warp execute the same one (PTX ISA, "barrier.sync": `.aligned`, as `bar.sync` is).
fn is_of_block(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_aligned = form.opcode == Opcode::Bar
        || form.opcode == Opcode::Barrier && form.has(Qualifier::Aligned);
    is_aligned
        && !form.has_any(&[Qualifier::Warp, Qualifier::Arrive, Qualifier::Red])
        && inst.args.len() <= 1
}

/// The order in which lanes come to places.
struct Order<'r> {
    loops: &'r LoopForest,
    /// The loops around warp instructions that all lanes leave in the same iteration.
    left_together: Vec<LoopId>,
    /// For each loop what leads to another iteration.
    again: TiVec<LoopId, Option<Vec<TermId>>>,
    /// The barriers of the block.
    of_block: Vec<Wait>,
}

impl Order<'_> {
    /// Whether no lane is at one of two places while another lane of its warp is at the other.
    fn are_apart(&self, a: &Wait, b: &Wait) -> bool {
        let (first, second) = if a.place < b.place { (a, b) } else { (b, a) };
        let mut around = self.loops.around(first.around);
        let shared = around.find(|id| self.loops.nested(second.around, *id));
        self.have_passed(first, second)
            && shared.is_none_or(|id| self.have_come_round(first, second, id))
    }

    /// Whether lanes at `second` know that no lane of their warp is at `first`, in the same iteration.
    fn have_passed(&self, first: &Wait, second: &Wait) -> bool {
        let is_between = |wait: &Wait| first.place < wait.place && wait.place < second.place;
        let is_passed = |wait: &Wait| is_between(wait) && is_surely_passed(wait, second);
        self.follows(first, second) || self.of_block.iter().any(is_passed)
    }

    /// Whether lanes at `first` in the next iteration of a loop know that no lane of their warp is at `second` in this
    /// one.
    fn have_come_round(&self, first: &Wait, second: &Wait, id: LoopId) -> bool {
        let again = self.again[id].as_ref();
        let is_passed = |wait: &Wait| {
            let before_next = || again.is_some_and(|again| is_subset(&wait.all, again));
            self.loops.nested(wait.around, id)
                && (wait.place < first.place && is_surely_passed(wait, first)
                    || second.place < wait.place && wait.around == Some(id) && before_next())
        };
        self.follows(second, first) || self.of_block.iter().any(is_passed)
    }

    /// Whether all lanes of a warp that come to one place in an iteration come to the other, as often as it is executed.
    fn follows(&self, one: &Wait, other: &Wait) -> bool {
        let mut around = self.loops.around(one.around);
        is_subset(&one.differing, &other.differing)
            && around
                .all(|id| self.loops.nested(other.around, id) || self.left_together.contains(&id))
    }
}

/// Whether lanes at a place have executed a barrier in front of it in the same iteration.
fn is_surely_passed(barrier: &Wait, other: &Wait) -> bool {
    barrier.around == other.around && is_subset(&barrier.all, &other.all)
}

/// Whether all of some literals are among others.
fn is_subset(literals: &[TermId], others: &[TermId]) -> bool {
    literals.iter().all(|literal| others.contains(literal))
}
