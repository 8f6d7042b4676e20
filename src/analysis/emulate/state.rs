//! The state at one instruction: registers, versions of memory, the carry flag, and the records so far.
//!
//! The machine moves a [`State`] through the blocks; the files on operands, memory accesses, barriers
//! and joins read and change it.

use rustc_hash::FxHashMap;

use super::registers::{Registers, Writes};
use super::semantics::width_of;
use super::symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
use super::trace::{Access, Held, Widened};
use super::window::Window;
use crate::cfg::{BlockId, Flow, InstId, LoopId, RegisterId};
use crate::expr::{Arena, BinaryOp, Node, Range, SymbolId, TermId};
use crate::ptx::{Function, FunctionKind};

/// Steps charged for a new symbol: the knowledge that is kept about it takes memory.
const NEW_SYMBOL: u64 = 12;

/// Of a function with more such registers the first ones are remembered.
const MAX_HELD: usize = 4096;

/// The version of each window.
pub(super) type Memory = [TermId; Window::ALL.len()];

/// The state of one function's symbolic execution, at some instruction of some block.
pub(super) struct State<'a, 'm, 's> {
    pub function: &'a Function<'s>,
    pub flow: &'a Flow<'m, 's>,
    pub arena: Arena,
    pub symbols: Symbols,
    pub registers: Registers,
    /// The versions of memory at the current instruction.
    pub memory: Memory,
    /// The carry flag, where it is known: from one instruction of a block to the next.
    pub carry: Option<TermId>,
    /// The block that is being visited.
    pub block: BlockId,
    /// The instruction being emulated.
    pub at: InstId,
    pub accesses: Vec<Access>,
    /// The accesses of instructions that are not modelled.
    pub moved: Vec<Access>,
    pub widened: Vec<Widened>,
    pub held: Vec<Held>,
    pub approximations: Vec<(InstId, String)>,
    /// Results of instructions that all lanes of a warp execute together and that give each the same.
    pub warp_wide: Vec<SymbolId>,
    /// For each version of memory its epoch. Versions between which nothing has synchronised share
    /// one: since the program is free of races, lanes read the same whichever of these versions they
    /// have come by.
    epochs: FxHashMap<TermId, u32>,
    /// Whether some cycle has several entries.
    irreducible: bool,
}

impl<'a, 'm, 's> State<'a, 'm, 's> {
    /// The state before the first instruction, at which the registers have no values yet.
    pub(super) fn new(
        function: &'a Function<'s>,
        flow: &'a Flow<'m, 's>,
        writes: Writes,
        steps: u64,
    ) -> Self {
        let mut state = State {
            function,
            flow,
            arena: Arena::with_limit(steps),
            symbols: Symbols::default(),
            registers: Registers::new(writes),
            memory: [Arena::new().constant(0, 1); Window::ALL.len()],
            carry: None,
            block: BlockId(0),
            at: InstId(0),
            accesses: Vec::new(),
            moved: Vec::new(),
            widened: Vec::new(),
            held: Vec::new(),
            approximations: Vec::new(),
            warp_wide: Vec::new(),
            epochs: FxHashMap::default(),
            irreducible: !planted!(Bug::SeveralEntries)
                && flow.block_ids().any(|block| flow.loops.is_irreducible_entry(block)),
        };
        // The callers of a device function may have synchronised lane by lane.
        let seen = state.parameter_dependence();
        state.change_memory(&Window::ALL, |_| seen.clone());
        state
    }

    /// The innermost loop around the current block: a value made in it differs between its iterations.
    pub(super) fn here(&self) -> Option<LoopId> {
        self.flow.loops.innermost(self.block)
    }

    #[inline]
    pub(super) fn register_width(&self, register: RegisterId) -> u8 {
        width_of(self.flow.registers[register].ty)
    }

    /// A symbol that stands for something unknown, another value in every lane.
    pub(super) fn unknown(&mut self, width: u8) -> TermId {
        let number = self.symbols.next_fresh();
        self.make(SymbolKind::Unknown(number), width, LaneDependence::Varying)
    }

    /// The symbol of a kind, made when it is first used.
    pub(super) fn make(
        &mut self,
        kind: SymbolKind,
        width: u8,
        dependence: LaneDependence,
    ) -> TermId {
        let created_in = self.here();
        // Where cycles have several entries there is no header at which iterations could be told
        // apart, so nothing is known to be the same in lanes that went round them.
        let dependence = if self.irreducible { LaneDependence::Varying } else { dependence };
        let feeds =
            if let LaneDependence::DependsOn(feeds) = &dependence { feeds.len() } else { 0 };
        self.arena.charge(NEW_SYMBOL + feeds as u64);
        let info = SymbolInfo { kind, width, dependence, created_in };
        self.symbols.term(&mut self.arena, info, Range::full(width))
    }

    /// Gives some windows new versions behind something that synchronises; `seen` says, given a
    /// window's version before, how the new version differs between lanes.
    pub(super) fn change_memory(
        &mut self,
        windows: &[Window],
        seen: impl Fn(TermId) -> LaneDependence,
    ) {
        for &window in windows {
            let before = self.memory[window as usize];
            self.memory[window as usize] = self.fresh_memory(None, seen(before));
        }
    }

    /// Gives some windows new versions behind a weak store.
    pub(super) fn store_memory(&mut self, windows: &[Window]) {
        for &window in windows {
            let before = self.memory[window as usize];
            let epoch = self.epoch(before);
            self.memory[window as usize] =
                self.fresh_memory(epoch, LaneDependence::DependsOn(vec![before]));
        }
    }

    /// A version of memory that nothing has read yet, in `epoch` or, without one, in an epoch of its
    /// own.
    pub(super) fn fresh_memory(
        &mut self,
        epoch: Option<u32>,
        dependence: LaneDependence,
    ) -> TermId {
        let number = self.symbols.next_fresh();
        let version = self.make(SymbolKind::Memory(number), 32, dependence);
        self.epochs.insert(version, epoch.unwrap_or(number));
        version
    }

    /// The epoch of a version.
    pub(super) fn epoch(&self, version: TermId) -> Option<u32> {
        self.epochs.get(&version).copied()
    }

    /// A register's value here.
    #[inline]
    pub(super) fn read(&mut self, register: RegisterId) -> TermId {
        match self.registers.get(register, self.flow, self.block) {
            Some(term) => term,
            None => self.unknown(self.register_width(register)),
        }
    }

    /// Whether a register has one definition only, on every way here.
    pub(super) fn is_settled(&self, register: RegisterId) -> bool {
        self.registers.is_settled(register, self.flow, self.block)
    }

    /// Gives a register a value, under the instruction's guard predicate.
    #[inline]
    pub(super) fn write(&mut self, register: RegisterId, term: TermId, guard: Option<TermId>) {
        debug_assert_eq!(self.arena.width(term), self.register_width(register));
        let arena = &mut self.arena;
        self.registers.set(register, term, self.block, |old| match guard {
            None => term,
            Some(guard) => arena.if_then_else(guard, term, old),
        });
    }

    /// Gives a register an unknown value, under the instruction's guard predicate.
    pub(super) fn forget(&mut self, register: RegisterId, guard: Option<TermId>) {
        let unknown = self.unknown(self.register_width(register));
        self.write(register, unknown, guard);
    }

    /// Gives all mutable registers unknown values.
    pub(super) fn forget_registers(&mut self) {
        let registers = self.registers.mutable().to_vec();
        let values = registers.iter().map(|&r| self.unknown(self.register_width(r))).collect();
        self.registers.set_values(values);
    }

    /// Remembers a register that has got a value which is not a sum, in the instruction `inst` or where
    /// several ways meet.
    pub(super) fn hold(&mut self, register: RegisterId, value: TermId, inst: Option<InstId>) {
        if !matches!(self.register_width(register), 32 | 64)
            || self.held.len() >= MAX_HELD
            || !is_held(&self.arena, value)
        {
            return;
        }
        self.arena.charge(1);
        let settled = inst.is_some() && self.is_settled(register);
        self.held.push(Held { register, value, block: self.block, inst, settled });
    }

    /// Notes, for people, how an instruction's result is approximated.
    pub(super) fn approximate(&mut self, what: String) {
        self.approximations.push((self.at, what));
    }

    /// The kernel's parameter that an address in the parameter space points into, and the bytes from its
    /// start: the address of a parameter may have been moved to a register.
    pub(super) fn parameter_at(&self, address: TermId) -> Option<(String, i64)> {
        let (offset, addends) = self.arena.linear_parts(address);
        let [(start, 1)] = addends[..] else { return None };
        let Node::Symbol(symbol) = *self.arena.node(start) else { return None };
        let SymbolKind::Address(name) = &self.symbols.info(symbol).kind else { return None };
        let (name, _) = name.rsplit_once(':')?;
        let declared =
            self.function.params.iter().flat_map(|p| &p.names).any(|known| known.name.text == name);
        (declared && self.function.kind == FunctionKind::Entry)
            .then(|| (name.to_owned(), offset as i64))
    }

    /// Parameters of kernels are the same for all threads; those of device functions are not.
    pub(super) fn parameter_dependence(&self) -> LaneDependence {
        match self.function.kind {
            FunctionKind::Entry => LaneDependence::Uniform,
            FunctionKind::Func => LaneDependence::Varying,
        }
    }
}

/// Whether a value is one that an address may depend on in a way that lanes can be asked about.
fn is_held(arena: &Arena, value: TermId) -> bool {
    match arena.node(value) {
        Node::Binary(op, ..) => !matches!(op, BinaryOp::Add | BinaryOp::Multiply),
        Node::IfThenElse(..) | Node::Extract(..) | Node::Symbol(_) => true,
        Node::ZeroExtend(inner) | Node::SignExtend(inner) => {
            // (An index that was widened is a sum, too; one that was masked is none.)
            arena.width(*inner) < 32
                || matches!(arena.node(*inner), Node::Extract(..) | Node::Binary(..))
        }
        _ => false,
    }
}
