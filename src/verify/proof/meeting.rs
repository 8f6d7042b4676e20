//! Whether lanes of a warp may be at two warp instructions at the same time.
//!
//! In: the events of the original. Out: those warp instructions at which all lanes of a warp are together, if all are
//! named: no lane can be at another one meanwhile. Of two instructions, lanes at the second have passed the first
//! together if whatever leads to the first leads to the second as well, but for conditions that have one value for
//! the warp; or they have passed a barrier of the block in between, for which lanes at the first are still missing. In a
//! loop the same has to hold from the second to the first of the next iteration.

use rustc_hash::FxHashSet;

use crate::cfg::{Inst, InstId, LoopId};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::FunctionKind;
use crate::verify::program::Program;
use crate::verify::record::{Event, Execution};
use crate::verify::terms::{Terms, conditions, hardware};

/// The most warp instructions of a function that are compared with each other.
const MAX_COMPARED: usize = 512;

/// An event at which lanes wait for each other.
struct Wait {
    inst: InstId,
    around: Option<LoopId>,
    /// What leads to it, but for conditions that have one value for the warp.
    literals: Vec<TermId>,
}

/// The warp instructions of the original at which lanes of a warp are nowhere else.
pub(super) fn alone(
    program: &Program<'_, '_>,
    execution: &Execution,
    terms: &Terms,
) -> FxHashSet<InstId> {
    // A function may be called by some lanes of a warp.
    let is_kernel = program.function.kind == FunctionKind::Entry;
    if !is_kernel {
        return FxHashSet::default();
    }
    let waits = |wanted: &dyn Fn(&Inst<'_, '_>) -> bool| -> Vec<Wait> {
        let events = execution.events.iter();
        let events = events.filter(|event| wanted(&program.flow.insts[event.inst]));
        let wait = |event: &Event| {
            let literals = conditions::conjuncts(&terms.arena, event.condition);
            let differs = |one: &TermId| !hardware::is_uniform(terms, *one, None, is_kernel);
            Wait {
                inst: event.inst,
                around: program.loop_of(event.block),
                literals: literals.into_iter().filter(differs).collect(),
            }
        };
        events.map(wait).collect()
    };
    let is_barrier = |inst: &Inst<'_, '_>| {
        let form = &inst.ast.form;
        matches!(form.opcode, Opcode::Bar | Opcode::Barrier) && !form.has(Qualifier::Warp)
    };
    // A barrier of the whole block names no number of threads.
    let is_of_block = |inst: &Inst<'_, '_>| {
        let form = &inst.ast.form;
        let is_plain = !form.has_any(&[Qualifier::Arrive, Qualifier::Red]);
        is_barrier(inst) && is_plain && inst.args.len() <= 1
    };
    let of_warp = waits(&|inst| {
        let form = &inst.ast.form;
        form.has(Qualifier::Sync) && !is_barrier(inst) || form.opcode == Opcode::Call
    });
    let of_block = waits(&is_of_block);
    if of_warp.len() > MAX_COMPARED {
        return FxHashSet::default();
    }
    let loops = &program.flow.loops;
    let shared_loop = |a: &Wait, b: &Wait| -> Option<LoopId> {
        loops.around(a.around).find(|id| loops.nested(b.around, *id))
    };
    let within = |one: &Wait, other: &Wait| {
        one.literals.iter().all(|literal| other.literals.contains(literal))
    };
    // Whether lanes at `second` know that no lane of their warp is at `first`, which is in front of it.
    let passed = |first: &Wait, second: &Wait| {
        let mut between =
            of_block.iter().filter(|wait| first.inst < wait.inst && wait.inst < second.inst);
        within(first, second)
            || between.any(|wait| within(wait, second) && wait.around == second.around)
    };
    let comes_round = |first: &Wait, second: &Wait, id: LoopId| {
        let mut outside = of_block.iter().filter(|wait| {
            loops.nested(wait.around, id) && (wait.inst < first.inst || second.inst < wait.inst)
        });
        within(second, first)
            || outside.any(|wait| within(wait, first) && wait.around == first.around)
    };
    let are_apart = |a: &Wait, b: &Wait| {
        let (first, second) = if a.inst < b.inst { (a, b) } else { (b, a) };
        passed(first, second)
            && shared_loop(first, second).is_none_or(|id| comes_round(first, second, id))
    };
    let is_alone = |wait: &&Wait| {
        of_warp.iter().all(|other| other.inst == wait.inst || are_apart(wait, other))
    };
    of_warp.iter().filter(is_alone).map(|wait| wait.inst).collect()
}
