//! Visits the blocks and steps through their instructions.
//!
//! In: a function and its control flow. Out: the [`KernelTrace`]. [`super::semantics`] has the results of instructions,
//! [`super::joins`] and [`super::loops`] merge states; this file hands each instruction to the one that emulates it.

use smallvec::SmallVec;

use super::barriers::{self, Behind};
use super::branches::Branches;
use super::compute::compute;
use super::effects::{Effect, effect};
use super::joins::Joins;
use super::limits::{Limits, TooLarge};
use super::loops::Loops;
use super::memory;
use super::operands;
use super::registers::Writes;
use super::resolve;
use super::state::State;
use super::symbols::LaneDependence;
use super::trace::KernelTrace;
use super::window::Window;
use crate::cfg::{BlockId, Edge, Flow, Inst};
use crate::expr::{TermId, within};
use crate::ptx::Function;

/// Emulates a function.
///
/// # Errors
/// The kernel is larger than the limits allow.
pub fn run<'s>(
    function: &Function<'s>,
    flow: &Flow<'_, 's>,
    limits: &Limits,
) -> Result<KernelTrace, TooLarge> {
    if flow.insts.len() > limits.instructions {
        return Err(TooLarge(format!(
            "{} instructions, the limit is {}",
            flow.insts.len(),
            limits.instructions
        )));
    }
    let writes = Writes::new(flow);
    let merges = writes.mutable.len() * flow.blocks.len();
    if merges > limits.merges {
        return Err(TooLarge(format!("{merges} values to merge, the limit is {}", limits.merges)));
    }
    let nesting = flow.nesting();
    if nesting > limits.nesting {
        return Err(TooLarge(format!(
            "{nesting} instructions times loops around them, the limit is {}",
            limits.nesting
        )));
    }
    let emulated = within(|| {
        let mut machine = Machine::new(function, flow, writes, limits);
        for block in flow.block_ids() {
            machine.visit(block);
        }
        machine.finish()
    });
    emulated.map_err(|_| TooLarge::steps(limits))
}

/// The symbolic execution of one function.
struct Machine<'a, 'm, 's> {
    state: State<'a, 'm, 's>,
    joins: Joins,
    loops: Loops,
    branches: Branches,
}

impl<'a, 'm, 's> Machine<'a, 'm, 's> {
    fn new(
        function: &'a Function<'s>,
        flow: &'a Flow<'m, 's>,
        writes: Writes,
        limits: &Limits,
    ) -> Self {
        Machine {
            joins: Joins::new(flow),
            loops: Loops::new(flow, &writes),
            branches: Branches::new(flow),
            state: State::new(function, flow, writes, limits.steps),
        }
    }

    fn visit(&mut self, block: BlockId) {
        let flow = self.state.flow;
        self.state.block = block;
        self.state.carry = None;
        let predecessors = flow.block(block).predecessors.iter().copied();
        let incoming: SmallVec<[Edge; 4]> = predecessors
            .filter(|edge| edge.from < block && self.branches.is_alive(&self.state, edge))
            .collect();
        if block.0 == 0 {
            self.state.forget_registers();
        } else if !incoming.is_empty() {
            self.joins.enter(&mut self.state, &self.branches.conditions, &incoming);
        } else if !flow.loops.is_irreducible_entry(block) || planted!(Bug::EnteredBackwards) {
            return;
        }
        // (A cycle of several entries may be entered by another one, and come here by an edge from a
        // block that is visited later.)
        self.branches.reachable[block] = true;
        if flow.loops.is_irreducible_entry(block) {
            self.forget_everything();
        } else if let Some(id) = flow.loops.headed_by(block) {
            self.loops.enter(&mut self.state, id);
        }
        self.branches.assume(&mut self.state, &incoming);
        for at in flow.block(block).instructions() {
            self.state.arena.charge(1);
            self.state.at = at;
            execute(&mut self.state, &flow.insts[at]);
        }
        self.branches.branch(&mut self.state);
        self.joins.leave(&self.state);
    }

    /// A cycle has several entries and none dominates it (irreducible): nothing is known of registers and memory in it.
    fn forget_everything(&mut self) {
        self.state.forget_registers();
        self.state.change_memory(&Window::ALL, |_| LaneDependence::Varying);
        self.state.approximations.push((
            self.state.flow.block(self.state.block).first,
            "cycle with several entries: all registers that change are unknown".to_owned(),
        ));
    }

    fn finish(mut self) -> KernelTrace {
        let (state, conditions) = (&mut self.state, &self.branches.conditions);
        let resolved = self.loops.resolve(state, &self.joins, conditions);
        self.joins.complete(state, conditions);
        self.loops.complete_memories(state, &self.joins, conditions);
        resolve::trace(self.state, self.branches, resolved)
    }
}

/// Emulates one instruction.
fn execute<'s>(state: &mut State<'_, '_, 's>, inst: &Inst<'_, 's>) {
    let guard = inst.guard.map(|(register, negated)| {
        let value = state.read(register);
        if negated { state.arena.not(value) } else { value }
    });
    if guard.and_then(|g| state.arena.constant_value(g)) == Some(0) {
        return;
    }
    let guard = guard.filter(|&g| state.arena.constant_value(g).is_none());
    memory::moved(state, inst, guard);
    match effect(inst) {
        Effect::Pure => compute(state, inst, guard),
        Effect::Load | Effect::Store | Effect::Atomic => memory::access(state, inst, guard),
        Effect::Control => {}
        Effect::Observe | Effect::Hint => operands::forget(state, inst, guard),
        effect @ (Effect::Barrier | Effect::Call | Effect::Opaque) => {
            synchronise(state, inst, effect, guard);
        }
    }
}

/// Emulates an instruction behind which lanes may read other values from memory.
fn synchronise<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    effect: Effect,
    guard: Option<TermId>,
) {
    operands::forget(state, inst, guard);
    state.carry = None;
    memory::record(state, inst, effect, guard);
    let Behind { waits, seen } = barriers::behind(state, inst, effect, guard);
    state.change_memory(&Window::MEMORY, seen);
    if let Some(waits) = waits {
        state.change_memory(&[Window::Waits], |_| waits.clone());
    }
    if effect == Effect::Opaque {
        state.approximate(format!("`{}` is not modelled", inst.ast.opcode.text));
    }
}
