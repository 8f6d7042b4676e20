//! Visits the blocks: joins states, emulates instructions, records accesses and conditions.
//!
//! In: a function and its control flow. Out: the [`KernelTrace`]. What single instructions do stands in
//! the other files of this folder, each of which has its own `impl Machine`.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::barriers::Behind;
use super::effects::{Effect, definitions, effect};
use super::loops::{LoopEffects, LoopValue};
use super::prune::MAX_BRANCHES;
use super::state::{Definition, Exit, Memory, Slot, Writes};
use super::symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
use super::trace::{Access, KernelTrace, Widened};
use super::window::Window;
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, Inst, LoopId, RegisterId};
use crate::expr::{Arena, Facts, Range, SymbolId, TermId, within};
use crate::planted::Bug;
use crate::ptx::{Function, FunctionKind, ScalarType};
use crate::solver::{Solver, budget_for};

/// Bounds on the work for one kernel, by count, so that giving up is reproducible.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions of a body.
    pub instructions: usize,
    /// Work with terms, in steps of about ten nanoseconds and 16 bytes ([`Arena::charge`]): those of
    /// the emulation and of the decisions about its loads together.
    pub steps: u64,
    /// Values merged: mutable registers times blocks.
    pub merges: usize,
    /// Instructions times the loops around them.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { instructions: 100_000, steps: 20_000_000, merges: 20_000_000, nesting: 4_000_000 }
    }
}

/// Steps for a symbol that did not exist: what is known of it takes memory.
const NEW_SYMBOL: u64 = 12;

/// z3's resource limit for deciding one branch.
const SOLVER_LIMIT: u32 = 10_000;

/// How far up the dominator tree conditions are looked for that decide a branch.
const MAX_PATH: usize = 32;

/// A kernel that exceeds its [`Limits`]: which, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge(pub String);

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

impl TooLarge {
    /// The steps for one function are used up.
    pub fn steps(limits: &Limits) -> TooLarge {
        TooLarge(format!("budget: the terms take more than {} steps", limits.steps))
    }
}

/// The state of one function's symbolic execution, at some instruction of some block.
pub(super) struct Machine<'a, 'm, 's> {
    pub function: &'a Function<'s>,
    pub flow: &'a Flow<'m, 's>,
    pub arena: Arena,
    pub symbols: Symbols,
    pub writes: Writes,
    /// The values of the registers that are written once, by register.
    single: Vec<Option<Definition>>,
    /// The values of the mutable registers at the current instruction.
    pub state: Vec<TermId>,
    /// The versions of memory at the current instruction.
    pub memory: Memory,
    /// The states at the ends of the blocks that have been visited.
    pub exits: Vec<Option<Exit>>,
    /// The block that is being visited.
    pub block: BlockId,
    /// The carry flag, where it is known.
    pub carry: Option<TermId>,
    pub loop_effects: Vec<LoopEffects>,
    pub loop_values: Vec<LoopValue>,
    /// Versions of memory between which nothing has synchronised share an epoch: what lanes read at
    /// them is the same whichever of them each lane has come by, the program being free of races.
    pub epochs: FxHashMap<TermId, u32>,
    /// Memory at the headers of loops that change it, and when the loop is entered.
    pub loop_memories: Vec<(LoopId, Window, TermId, TermId)>,
    /// Joins whose feeds are completed once the conditions around them are known.
    pub joins: Vec<(SymbolId, BlockId)>,
    pub accesses: Vec<Access>,
    pub assumptions: Vec<Option<TermId>>,
    pub branches: Vec<Option<TermId>>,
    pub reachable: Vec<bool>,
    /// Whether some cycle has several entries.
    irreducible: bool,
    pub widened: Vec<Widened>,
    pub approximations: Vec<(u32, String)>,
    /// Decides branches that facts alone do not.
    pub solver: Solver,
    /// Index of the instruction being emulated.
    pub at: u32,
}

impl<'a, 'm, 's> Machine<'a, 'm, 's> {
    fn new(
        function: &'a Function<'s>,
        flow: &'a Flow<'m, 's>,
        writes: Writes,
        limits: &Limits,
    ) -> Self {
        let mut machine = Machine {
            function,
            flow,
            arena: Arena::with_limit(limits.steps),
            symbols: Symbols::default(),
            single: vec![None; flow.registers.len()],
            state: Vec::new(),
            memory: [Arena::new().constant(0, 1); Window::ALL.len()],
            exits: flow.blocks.iter().map(|_| None).collect(),
            block: BlockId(0),
            carry: None,
            loop_effects: LoopEffects::all(flow, &writes),
            loop_values: Vec::new(),
            epochs: FxHashMap::default(),
            loop_memories: Vec::new(),
            joins: Vec::new(),
            accesses: Vec::new(),
            assumptions: vec![None; flow.blocks.len()],
            branches: vec![None; flow.blocks.len()],
            reachable: vec![false; flow.blocks.len()],
            irreducible: !flow.planted.has(Bug::SeveralEntries)
                && flow.block_ids().any(|block| flow.loops.is_irreducible_entry(block)),
            widened: Vec::new(),
            approximations: Vec::new(),
            // (Less than what is kept for decisions: a branch rarely matters to one.)
            solver: Solver::new(SOLVER_LIMIT, None)
                .with_queries(MAX_BRANCHES)
                .with_budget(budget_for(flow.insts.len() / 2))
                .sized(flow.insts.len()),
            at: 0,
            writes,
        };
        // The callers of a device function may have synchronised lane by lane.
        let seen = machine.parameter_dependence();
        machine.change_memory(&Window::ALL, |_| seen.clone());
        machine
    }

    /// The loop that gives values made now a new meaning in each iteration.
    pub fn here(&self) -> Option<LoopId> {
        self.flow.loops.innermost(self.block)
    }

    pub fn register_width(&self, register: RegisterId) -> u8 {
        width_of(self.flow.registers[register.0 as usize].ty)
    }

    /// A symbol that stands for something unknown, another value in every lane.
    pub fn unknown(&mut self, width: u8) -> TermId {
        let number = self.symbols.next_fresh();
        self.make(SymbolKind::Unknown(number), width, LaneDependence::Varying)
    }

    pub fn make(&mut self, kind: SymbolKind, width: u8, dependence: LaneDependence) -> TermId {
        let created_in = self.here();
        // Where cycles have several entries there is no header at which iterations could be told
        // apart, so nothing is known to be the same in lanes that went round them.
        let dependence = if self.irreducible { LaneDependence::Varying } else { dependence };
        let feeds = if let LaneDependence::Fed(feeds) = &dependence { feeds.len() } else { 0 };
        self.arena.charge(NEW_SYMBOL + feeds as u64);
        let info = SymbolInfo { kind, width, dependence, created_in };
        self.symbols.term(&mut self.arena, info, Range::full(width))
    }

    /// New versions of some windows behind something that synchronises; `seen` tells from a window's
    /// version before how the new one differs between lanes.
    pub fn change_memory(&mut self, windows: &[Window], seen: impl Fn(TermId) -> LaneDependence) {
        for &window in windows {
            let before = self.memory[window as usize];
            self.memory[window as usize] = self.fresh_memory(None, seen(before));
        }
    }

    /// New versions of some windows behind a weak store.
    pub fn store_memory(&mut self, windows: &[Window]) {
        for &window in windows {
            let before = self.memory[window as usize];
            let epoch = self.epoch(before);
            self.memory[window as usize] =
                self.fresh_memory(epoch, LaneDependence::Fed(vec![before]));
        }
    }

    /// A version of memory that nothing has read yet; of an epoch of its own if none is given.
    pub fn fresh_memory(&mut self, epoch: Option<u32>, dependence: LaneDependence) -> TermId {
        let number = self.symbols.next_fresh();
        let version = self.make(SymbolKind::Memory(number), 32, dependence);
        self.epochs.insert(version, epoch.unwrap_or(number));
        version
    }

    /// The epoch of a version.
    pub fn epoch(&self, version: TermId) -> Option<u32> {
        self.epochs.get(&version).copied()
    }

    /// A register's value here.
    pub fn read(&mut self, register: RegisterId) -> TermId {
        match self.writes.slots[register.0 as usize] {
            Slot::Mutable(index) => self.state[index as usize],
            Slot::Single => match self.single[register.0 as usize] {
                Some(Definition { term, .. }) if self.is_settled(register) => term,
                // Not written on some way here, or only in an earlier iteration.
                _ => self.unknown(self.register_width(register)),
            },
        }
    }

    /// Whether a register has one definition only, on every way here.
    pub fn is_settled(&self, register: RegisterId) -> bool {
        self.writes.slots[register.0 as usize] == Slot::Single
            && self.single[register.0 as usize]
                .is_some_and(|d| self.flow.dominators.dominates(d.block, self.block))
    }

    /// Gives a register a value, under the instruction's guard predicate.
    pub fn write(&mut self, register: RegisterId, term: TermId, guard: Option<TermId>) {
        debug_assert_eq!(self.arena.width(term), self.register_width(register));
        match self.writes.slots[register.0 as usize] {
            Slot::Single => {
                let block = self.block;
                self.single[register.0 as usize] = Some(Definition { term, block });
            }
            Slot::Mutable(index) => {
                let old = self.state[index as usize];
                self.state[index as usize] = match guard {
                    None => term,
                    Some(guard) => self.arena.if_then_else(guard, term, old),
                };
            }
        }
    }

    fn visit(&mut self, block: BlockId) {
        self.block = block;
        self.carry = None;
        let incoming: SmallVec<[Edge; 4]> = self
            .flow
            .block(block)
            .predecessors
            .iter()
            .copied()
            .filter(|edge| edge.from < block && self.edge_is_alive(edge))
            .collect();
        if block.0 == 0 {
            let registers = self.writes.mutable.clone();
            self.state = registers.iter().map(|&r| self.unknown(self.register_width(r))).collect();
        } else if !incoming.is_empty() {
            self.join(&incoming);
        } else if !self.flow.loops.is_irreducible_entry(block)
            || self.flow.planted.has(Bug::EnteredBackwards)
        {
            return;
        }
        // (A cycle of several entries may be entered by another one, and come here by an edge from a
        // block that is visited later.)
        self.reachable[block.index()] = true;
        if self.flow.loops.is_irreducible_entry(block) {
            self.forget_everything();
        } else if let Some(id) = self.flow.loops.headed_by(block) {
            self.enter_loop(id);
        }
        self.assume(block, &incoming);
        for at in self.flow.block(block).instructions() {
            self.arena.charge(1);
            self.at = at as u32;
            let inst = &self.flow.insts[at];
            self.execute(inst);
        }
        self.branch(block);
        let exit = Exit { mutable: self.state.clone().into(), memory: self.memory };
        self.exits[block.index()] = Some(exit);
    }

    fn edge_is_alive(&self, edge: &Edge) -> bool {
        if !self.reachable[edge.from.index()] {
            return false;
        }
        let condition = self.branches[edge.from.index()];
        match (edge.condition, condition.and_then(|c| self.arena.constant_value(c))) {
            (EdgeCondition::Predicate(_, taken), Some(value)) => taken == (value != 0),
            _ => true,
        }
    }

    /// Several entries that do not dominate the cycle: nothing carried in a register is known.
    fn forget_everything(&mut self) {
        let registers = self.writes.mutable.clone();
        self.state = registers.iter().map(|&r| self.unknown(self.register_width(r))).collect();
        self.change_memory(&Window::ALL, |_| LaneDependence::Varying);
        self.approximations.push((
            self.flow.block(self.block).first,
            "cycle with several entries: all registers that change are unknown".to_owned(),
        ));
    }

    /// A block with one way in is reached only under that way's condition.
    fn assume(&mut self, block: BlockId, incoming: &[Edge]) {
        let all = &self.flow.block(block).predecessors;
        if let ([edge], [_]) = (incoming, &all[..])
            && let EdgeCondition::Predicate(_, taken) = edge.condition
            && let Some(condition) = self.branches[edge.from.index()]
        {
            let holds = if taken { condition } else { self.arena.not(condition) };
            self.assumptions[block.index()] = Some(holds);
        }
    }

    /// Reads the predicate that the block branches on, at its end.
    fn branch(&mut self, block: BlockId) {
        let register =
            self.flow.block(block).successors.iter().find_map(|edge| match edge.condition {
                EdgeCondition::Predicate(register, _) => Some(register),
                _ => None,
            });
        self.branches[block.index()] = match register {
            Some(register) => {
                let condition = self.read(register);
                Some(self.decided(block, condition))
            }
            // An indexed branch goes its own way in every lane, as far as is known.
            None if self.flow.block(block).successors.len() > 1 => Some(self.unknown(1)),
            None => None,
        };
    }

    /// A condition that the path to the block decides, as a constant: the way it does not take is
    /// no way at all.
    fn decided(&mut self, block: BlockId, condition: TermId) -> TermId {
        let mut facts = Facts::default();
        for at in self.flow.dominators.chain(block).take(MAX_PATH) {
            self.arena.charge(1);
            if let Some(known) = self.assumptions[at.index()] {
                facts.add(&self.arena, known);
            }
        }
        let negated = self.arena.not(condition);
        match () {
            () if facts.contain(&self.arena, condition) => self.arena.boolean(true),
            () if facts.contain(&self.arena, negated) => self.arena.boolean(false),
            () => self.prune(&facts, condition),
        }
    }

    fn execute(&mut self, inst: &'a Inst<'m, 's>) {
        let guard = inst.guard.map(|(register, negated)| {
            let value = self.read(register);
            if negated { self.arena.not(value) } else { value }
        });
        if guard.and_then(|g| self.arena.constant_value(g)) == Some(0) {
            return;
        }
        let guard = guard.filter(|&g| self.arena.constant_value(g).is_none());
        match effect(inst) {
            Effect::Pure => self.compute(inst, guard),
            Effect::Load | Effect::Store | Effect::Atomic => self.access(inst, guard),
            Effect::Control => {}
            Effect::Observe | Effect::Hint => self.havoc(inst, guard),
            effect @ (Effect::Barrier | Effect::Call | Effect::Opaque) => {
                self.havoc(inst, guard);
                self.carry = None;
                self.record(inst, effect, guard);
                let Behind { waits, seen } = self.behind(inst, effect, guard);
                self.change_memory(&Window::MEMORY, seen);
                if let Some(waits) = waits {
                    self.change_memory(&[Window::Waits], |_| waits.clone());
                }
                if effect == Effect::Opaque {
                    let what = format!("`{}` is not modelled", inst.ast.opcode.text);
                    self.approximations.push((self.at, what));
                }
            }
        }
    }

    /// Gives every register that an instruction may write an unknown value.
    pub fn havoc(&mut self, inst: &Inst<'_, '_>, guard: Option<TermId>) {
        for register in definitions(inst) {
            let unknown = self.unknown(self.register_width(register));
            self.write(register, unknown, guard);
        }
    }

    fn finish(mut self) -> KernelTrace {
        let resolved = self.resolve_loops();
        self.complete_joins();
        self.complete_memories();
        self.resolve_everything(resolved)
    }

    /// Parameters of kernels are the same for all threads; those of device functions are not.
    pub fn parameter_dependence(&self) -> LaneDependence {
        match self.function.kind {
            FunctionKind::Entry => LaneDependence::Uniform,
            FunctionKind::Func => LaneDependence::Varying,
        }
    }
}

/// The width in which a register's value is kept: 128-bit registers are opaque and kept as 64.
pub(super) fn width_of(ty: ScalarType) -> u8 {
    ty.bits().min(64) as u8
}
