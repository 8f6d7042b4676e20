//! Loads of words in shared memory that lanes of the warp have stored in front of a barrier.
//!
//! In: the original, evaluated. Out: for each such load and each lane the lane that has stored the word, and the stored
//! value; and the barriers. The addresses are compared thread by thread (`words`).
//!
//! All lanes of a warp, or none, execute the stores and then the barrier: nothing that differs between lanes leads there.
//! A load behind the barrier reads the last of these stores to its word. A store of another thread to it would have to
//! be ordered with both; but lanes synchronise with others at nothing but this barrier in between, and each other thread
//! is on one side of it. (The original is free of data races.) Stores to one word by two lanes are a race.

use rustc_hash::FxHashSet;

use super::lanes::Lanes;
use super::meeting::{self, Meeting};
use super::uniform::Uniform;
use super::words::{Store, Words};
use crate::cfg::{Arg, Inst, InstId, LoopId};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::program::Program;
use crate::ptx::{FunctionKind, StateSpace};
use crate::record::{Event, Execution};
use crate::terms::{Terms, conditions};

/// The most stores in front of a barrier that are looked at for one load.
const MAX_STORES: usize = 16;

/// The most loads.
const MAX_LOADS: usize = 256;

/// A loaded word: in each lane the stored value and the lane that has stored it, where that is known.
pub(super) type Word = Vec<Option<(TermId, u32)>>;

/// All such loads.
#[derive(Default)]
pub(super) struct StoredWords {
    /// Each with the term of its value.
    pub loads: Vec<(TermId, Word)>,
    /// The barriers.
    pub waits: Vec<Meeting>,
}

/// The loads in blocks that are known to be of whole warps with consecutive lanes.
pub(super) fn stored_words(
    program: &Program<'_, '_>,
    execution: &Execution,
    terms: &mut Terms,
    (uniform, lanes): (&Uniform<'_>, &mut Lanes<'_, '_>),
) -> StoredWords {
    let mut found = StoredWords::default();
    let is_kernel = program.function.kind == FunctionKind::Entry && !program.irreducible;
    let is_candidate = is_kernel && !execution.waits.is_empty() && !has_calls(program);
    let words = program.block.filter(|_| is_candidate);
    let Some(mut words) = words.and_then(Words::of) else { return found };
    let mut loads: Vec<(InstId, TermId)> =
        execution.definitions.iter().map(|((inst, _), value)| (*inst, *value)).collect();
    loads.sort_unstable();
    let mut alone = None;
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    for (inst, value) in loads {
        let Some((load, operands)) = terms.loaded(value) else { continue };
        let &[version, address] = operands else { continue };
        let (is_shared, bits) = (load.space == StateSpace::Shared, u32::from(load.bits));
        let Some(wait) = execution.waits.get(&version).filter(|_| is_shared) else { continue };
        let of_inst = |event: &&Event| event.inst == wait.inst;
        let Some(barrier) = execution.events.iter().find(of_inst) else { continue };
        let around = program.loop_of(barrier.block);
        let block = execution.loads.iter().find(|load| load.inst == inst).map(|load| load.block);
        let is_beside = block.is_some_and(|block| program.loop_of(block) == around);
        if found.loads.len() >= MAX_LOADS || !is_beside || !seen.insert(value) {
            continue;
        }
        let alone = alone
            .get_or_insert_with(|| meeting::alone(program, execution, terms, (uniform, lanes)));
        let waits = waits_for_warp(&program.flow.insts[wait.inst], wait.inst, alone);
        if !waits || !are_all(terms, (uniform, lanes), barrier.condition, around) {
            continue;
        }
        let stores = stores(program, execution, (terms, uniform, lanes), (wait.before, around));
        let sources = words.sources(terms, (address, bits / 8), &stores);
        if sources.iter().all(Option::is_none) {
            continue;
        }
        let at = (barrier.block, barrier.inst);
        let place = Meeting { at, condition: barrier.condition, around };
        if !found.waits.contains(&place) {
            found.waits.push(place);
        }
        found.loads.push((value, sources));
    }
    found
}

/// Whether a program calls functions, which some lanes might not come back from.
pub(super) fn has_calls(program: &Program<'_, '_>) -> bool {
    program.flow.insts.iter().any(|inst| inst.ast.form.opcode == Opcode::Call)
}

/// Whether all lanes of a warp wait at a barrier together. (All threads of a warp execute the same `bar.sync`: PTX ISA,
/// "bar".)
fn waits_for_warp(inst: &Inst<'_, '_>, at: InstId, alone: &FxHashSet<InstId>) -> bool {
    let form = &inst.ast.form;
    let [Arg::Constant(value)] = inst.args[..] else { return false };
    let is_plain = form.opcode == Opcode::Bar
        && inst.guard.is_none()
        && form.has(Qualifier::Sync)
        && !form.has_any(&[Qualifier::Arrive, Qualifier::Red]);
    let is_full = value.as_integer().is_some_and(|mask| mask as u32 == u32::MAX);
    is_plain && (!form.has(Qualifier::Warp) || is_full && alone.contains(&at))
}

/// Whether a condition holds for all lanes of a warp or for none, in iterations that all of them do.
pub(super) fn are_all(
    terms: &mut Terms,
    (uniform, lanes): (&Uniform<'_>, &mut Lanes<'_, '_>),
    condition: TermId,
    around: Option<LoopId>,
) -> bool {
    let literals = conditions::conjuncts(&terms.arena, condition);
    literals.iter().all(|one| uniform.holds(terms, lanes, *one, around))
        && lanes.go_together(terms, around)
}

/// The stores of one element that make a version of shared memory, the last one first.
fn stores(
    program: &Program<'_, '_>,
    execution: &Execution,
    (terms, uniform, lanes): (&mut Terms, &Uniform<'_>, &mut Lanes<'_, '_>),
    (version, around): (TermId, Option<LoopId>),
) -> Vec<Store> {
    let (mut found, mut version) = (Vec::new(), version);
    while let Some(record) = execution.stores.get(&version) {
        let event = execution.events.iter().find(|event| event.inst == record.inst);
        let Some(event) = event.filter(|event| program.loop_of(event.block) == around) else {
            break;
        };
        let literals = conditions::conjuncts(&terms.arena, event.condition);
        let of_all = literals.iter().all(|one| uniform.holds(terms, lanes, *one, around));
        let &[address, value] = &event.operands[..] else { break };
        let is_word = u32::from(terms.arena.width(value)) == 8 * record.bytes;
        let is_shared = program.flow.insts[record.inst].ast.form.space() == StateSpace::Shared;
        if !of_all || !is_word || !is_shared || found.len() >= MAX_STORES {
            break;
        }
        found.push(Store { address, value, bytes: record.bytes });
        version = record.before;
    }
    found
}
