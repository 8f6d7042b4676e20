//! One step of a tree: `if (t < s) a[t] = f(a[t], a[t + s])`, for one array or several.
//!
//! The step is a branch around one block. Its addresses are known as terms: the start of an array plus the
//! thread's number times the size of an element, and the same with the stride added.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::{Arg, Base, BlockId, EdgeCondition, Flow, Inst, InstId, RegisterId};
use crate::collective::Obstacle;
use crate::emulate::{Access, Effect, KernelTrace, SymbolKind, definitions, effect, reads};
use crate::expr::{Evaluator, Node, SymbolId, TermId};
use crate::isa::{Axis, Opcode, Qualifier, Special};
use crate::ptx::StateSpace;

/// The most threads of a block.
const MOST_THREADS: u64 = 1024;

/// How far an element is from the one that it is combined with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stride {
    /// In elements.
    Constant(u64),
    /// A value of a loop, in elements.
    Term(TermId),
}

/// The accesses of a step to one array.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The address of the thread's own element.
    pub own: TermId,
    /// The size of an element in bytes, 4 or 8.
    pub bytes: u64,
    /// The load of the own element; without one, `carried` holds it.
    pub load: Option<InstId>,
    /// The load of the other element.
    pub other: InstId,
    /// The store.
    pub store: InstId,
    /// The register that is stored.
    pub stored: RegisterId,
    /// Whether that register is read before it is written: it holds the own element from step to step.
    pub carried: bool,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The block that the branch ends.
    pub guard: BlockId,
    /// The block that the threads below the stride execute.
    pub body: BlockId,
    /// Where all threads meet.
    pub join: BlockId,
    /// The stride.
    pub stride: Stride,
    /// The arrays, in the order of the stores.
    pub parts: Vec<Part>,
    /// The instructions that compute the stored values, in order.
    pub operations: Vec<InstId>,
    /// The instructions that compute addresses, in order.
    pub addresses: Vec<InstId>,
    /// The condition of the branch for the threads that execute the body.
    pub condition: (TermId, bool),
}

/// The accesses to shared memory in a function's trace.
pub(super) struct Traced<'t, 'm, 's> {
    pub flow: &'t Flow<'m, 's>,
    pub trace: &'t mut KernelTrace,
    /// By instruction, the access.
    accesses: FxHashMap<InstId, usize>,
    /// The symbol of `%tid.x`.
    thread: Option<SymbolId>,
}

impl<'t, 'm, 's> Traced<'t, 'm, 's> {
    /// Prepares the search.
    pub(super) fn new(flow: &'t Flow<'m, 's>, trace: &'t mut KernelTrace) -> Self {
        let each = trace.accesses.iter().enumerate();
        let accesses = each.map(|(at, access)| (access.inst, at)).collect();
        let is_thread = |kind: &SymbolKind| matches!(kind, SymbolKind::Tid(Axis::X));
        let thread = trace.symbols.iter().find(|(_, info)| is_thread(&info.kind)).map(|one| one.0);
        Traced { flow, trace, accesses, thread }
    }

    /// Blocks that look like steps: a branch around one block that loads and stores elements of 32 or 64 bits in
    /// shared memory, two loads at different distances or one, and nothing outside of it.
    pub(super) fn candidates(&self) -> Vec<(BlockId, BlockId, BlockId)> {
        self.flow.block_ids().filter_map(|guard| self.candidate(guard)).collect()
    }

    fn candidate(&self, guard: BlockId) -> Option<(BlockId, BlockId, BlockId)> {
        let flow = self.flow;
        let [one, other] = flow.block(guard).successors[..] else { return None };
        let (body, join) = [(one.to, other.to), (other.to, one.to)].into_iter().find(|sides| {
            let body = flow.block(sides.0);
            let leads = matches!(body.successors[..], [edge] if edge.to == sides.1);
            leads && body.predecessors.len() == 1 && !body.leaves
        })?;
        let (mut loads, mut stores) = (0, 0);
        for at in flow.block(body).instructions() {
            let form = &flow.insts[at].ast.form;
            match effect(&flow.insts[at]) {
                Effect::Load if form.space() == StateSpace::Shared => loads += 1,
                Effect::Store if form.space() == StateSpace::Shared => stores += 1,
                _ => {}
            }
        }
        (stores > 0 && loads >= stores).then_some((guard, body, join))
    }

    /// The stride of a possible step, and the step or its obstacle. `None` where nothing looks like a step.
    pub(super) fn step(
        &mut self,
        (guard, body, join): (BlockId, BlockId, BlockId),
        line: &dyn Fn(InstId) -> u32,
    ) -> Option<(Stride, Result<Step, Obstacle>)> {
        let stride = self.stride(body)?;
        Some((stride, self.made((guard, body, join), stride, line)))
    }

    /// The stride of the first store and a load of the same array, if there is one.
    fn stride(&mut self, body: BlockId) -> Option<Stride> {
        let insts = self.flow.block(body).instructions();
        let of = |effect: Effect| {
            let found = insts.clone().filter_map(|at| self.accesses.get(&at));
            let shared = found
                .map(|at| &self.trace.accesses[*at])
                .filter(|access| access.effect == effect && access.space == StateSpace::Shared);
            shared.cloned().collect::<Vec<Access>>()
        };
        let (loads, stores) = (of(Effect::Load), of(Effect::Store));
        let store = stores.first()?;
        let bytes = u64::from(store.bytes());
        loads.iter().find_map(|load| {
            let ahead = self.ahead(store.address?, load.address?)?;
            self.distance(ahead, bytes)
        })
    }

    /// A distance in bytes as a stride.
    fn distance(&self, ahead: TermId, bytes: u64) -> Option<Stride> {
        let arena = &self.trace.arena;
        let (constant, addends) = arena.linear_parts(ahead);
        match addends[..] {
            [] if constant > 0 && constant % bytes == 0 => Some(Stride::Constant(constant / bytes)),
            [(term, size)] if constant == 0 && size == bytes => Some(Stride::Term(term)),
            _ => None,
        }
    }

    /// How far one address is behind another one.
    fn ahead(&mut self, from: TermId, to: TermId) -> Option<TermId> {
        let (from, to) = (self.trace.plain(from), self.trace.plain(to));
        let arena = &mut self.trace.arena;
        (arena.width(from) == arena.width(to)).then(|| arena.sub(to, from))
    }

    /// Whether an address is that of the element of an array that has the thread's number.
    fn is_own(&self, address: TermId, bytes: u64) -> bool {
        let arena = &self.trace.arena;
        let (_, addends) = arena.linear_parts(self.trace.plain(address));
        let is_thread = |term: TermId| matches!(arena.node(self.trace.plain(term)), Node::Symbol(symbol) if Some(*symbol) == self.thread);
        let threads: Vec<u64> =
            addends.iter().filter(|one| is_thread(one.0)).map(|one| one.1).collect();
        let rest = addends.iter().filter(|one| !is_thread(one.0));
        threads[..] == [bytes] && rest.map(|one| one.0).all(|term| self.is_of_block(term))
    }

    /// Whether a term has one value for the block, at all times.
    fn is_of_block(&self, term: TermId) -> bool {
        let arena = &self.trace.arena;
        if let Node::Symbol(symbol) = arena.node(term) {
            return match &self.trace.symbols.info(*symbol).kind {
                SymbolKind::Address(_) | SymbolKind::Parameter { .. } => true,
                SymbolKind::WarpUniform(special) => {
                    matches!(special, Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_))
                }
                _ => false,
            };
        }
        matches!(
            arena.node(term),
            Node::ZeroExtend(_) | Node::SignExtend(_) | Node::Extract(..) | Node::Product(_)
        ) && arena.operands(term).into_iter().all(|one| self.is_of_block(one))
    }

    fn made(
        &mut self,
        (guard, body, join): (BlockId, BlockId, BlockId),
        stride: Stride,
        line: &dyn Fn(InstId) -> u32,
    ) -> Result<Step, Obstacle> {
        let flow = self.flow;
        let branch = flow.block(guard).end.before();
        let last = &flow.insts[branch];
        let edge = flow.block(guard).successors.iter().find(|edge| edge.to == body);
        let Some(EdgeCondition::Predicate(_, wanted)) = edge.map(|edge| edge.condition) else {
            return Err(Obstacle::TreeGuard(line(branch)));
        };
        let jumps = last.targets.first() == Some(&flow.block(join).first);
        let condition = self.trace.branches[guard].map(|term| (term, wanted));
        let Some(condition) = condition.filter(|_| jumps && last.ast.form.opcode == Opcode::Bra)
        else {
            return Err(Obstacle::TreeGuard(line(branch)));
        };
        let arrives = &flow.block(join).predecessors;
        if arrives.len() != 2 {
            return Err(Obstacle::TreeOfSomeThreads);
        }
        let (mut shared, mut pure) = (Vec::new(), Vec::new());
        for at in flow.block(body).instructions() {
            let inst = &flow.insts[at];
            match effect(inst) {
                _ if inst.guard.is_some() || inst.ast.form.has(Qualifier::Cc) => {
                    return Err(Obstacle::TreeBetween(line(at)));
                }
                Effect::Pure => pure.push(at),
                Effect::Load | Effect::Store => shared.push(self.plain_access(at, line)?),
                Effect::Control if inst.ast.form.opcode == Opcode::Bra => {}
                _ => return Err(Obstacle::TreeBetween(line(at))),
            }
        }
        let parts = self.parts(&shared, stride, &pure, line)?;
        let mut step = Step {
            guard,
            body,
            join,
            stride,
            parts,
            operations: Vec::new(),
            addresses: Vec::new(),
            condition,
        };
        self.split(&mut step, &pure, line)?;
        Ok(step)
    }

    /// A weak access to one element in shared memory.
    fn plain_access(&self, at: InstId, line: &dyn Fn(InstId) -> u32) -> Result<Access, Obstacle> {
        let known = self.accesses.get(&at).map(|index| &self.trace.accesses[*index]);
        let is_plain = |access: &&Access| {
            access.space == StateSpace::Shared && access.strong.is_none() && access.elements == 1
        };
        known.filter(is_plain).cloned().ok_or_else(|| Obstacle::TreeBetween(line(at)))
    }

    /// Which loads belong to which store.
    fn parts(
        &mut self,
        accesses: &[Access],
        stride: Stride,
        pure: &[InstId],
        line: &dyn Fn(InstId) -> u32,
    ) -> Result<Vec<Part>, Obstacle> {
        let mut parts: Vec<Part> = Vec::new();
        let mut loads: Vec<&Access> =
            accesses.iter().filter(|access| access.effect == Effect::Load).collect();
        for store in accesses.iter().filter(|access| access.effect == Effect::Store) {
            let bytes = u64::from(store.bytes());
            let inst = &self.flow.insts[store.inst];
            let (Some(own), Some(Arg::Register(stored))) = (store.address, inst.args.get(1)) else {
                return Err(Obstacle::TreeElement(line(store.inst)));
            };
            let stored = *stored;
            let whole = |register: RegisterId| {
                u64::from(self.flow.registers[register].ty.bits()) == 8 * bytes
            };
            if !matches!(bytes, 4 | 8) || !whole(stored) {
                return Err(Obstacle::TreeElement(line(store.inst)));
            }
            if !self.is_own(own, bytes) {
                return Err(Obstacle::TreeAddress(line(store.inst)));
            }
            let (mut load, mut other) = (None, None);
            let mut rest = Vec::new();
            for access in std::mem::take(&mut loads) {
                let ahead = access.address.and_then(|to| self.ahead(own, to));
                let is_same =
                    ahead.is_some_and(|ahead| self.trace.arena.constant_value(ahead) == Some(0));
                let is_other = ahead.and_then(|ahead| self.distance(ahead, bytes)) == Some(stride);
                let fits = u64::from(access.bytes()) == bytes
                    && matches!(access.registers[..], [Some(register)] if whole(register));
                match (is_same, is_other) {
                    (true, _) if fits && load.is_none() => load = Some(access.inst),
                    (_, true) if fits && other.is_none() => other = Some(access.inst),
                    _ => rest.push(access),
                }
            }
            loads = rest;
            let Some(other) = other else { return Err(Obstacle::TreeElement(line(store.inst))) };
            let carried = load.is_none();
            let reads_first = self.reads_first(stored, pure);
            if carried != reads_first || parts.iter().any(|part| part.stored == stored) {
                return Err(Obstacle::TreeElement(line(store.inst)));
            }
            let own = self.trace.plain(own);
            parts.push(Part { own, bytes, load, other, store: store.inst, stored, carried });
        }
        match loads.first() {
            Some(access) => Err(Obstacle::TreeAddress(line(access.inst))),
            None => Ok(parts),
        }
    }

    /// Whether a register is read by one of some instructions, all others that write it coming later.
    fn reads_first(&self, register: RegisterId, insts: &[InstId]) -> bool {
        for at in insts {
            let inst = &self.flow.insts[*at];
            if reads(inst).contains(&register) {
                return true;
            }
            if definitions(inst).contains(&register) {
                return false;
            }
        }
        false
    }

    /// Splits the computing instructions into those for values and those for addresses.
    fn split(
        &self,
        step: &mut Step,
        pure: &[InstId],
        line: &dyn Fn(InstId) -> u32,
    ) -> Result<(), Obstacle> {
        let flow = self.flow;
        let inst = |at: InstId| &flow.insts[at];
        let mut written: FxHashMap<RegisterId, InstId> = FxHashMap::default();
        for at in pure {
            for register in definitions(inst(*at)) {
                if written.insert(register, *at).is_some() {
                    return Err(Obstacle::TreeElement(line(*at)));
                }
            }
        }
        let loads: FxHashSet<RegisterId> = step
            .parts
            .iter()
            .flat_map(|part| part.load.into_iter().chain([part.other]))
            .flat_map(|at| definitions(inst(at)))
            .collect();
        let (mut values, mut addresses) = (FxHashSet::default(), FxHashSet::default());
        for part in &step.parts {
            needed(flow, &written, &[part.stored], &mut values);
            for at in part.load.into_iter().chain([part.other, part.store]) {
                needed(flow, &written, &bases(inst(at)), &mut addresses);
            }
            // The last instruction that reads or writes the own element is the one that computes the new one.
            let Some(made) = written.get(&part.stored).copied() else {
                return Err(Obstacle::TreeElement(line(part.store)));
            };
            let own = part.load.map(|at| definitions(inst(at))[0]);
            let later = pure.iter().filter(|at| **at > made).any(|at| {
                let read = reads(inst(*at));
                read.contains(&part.stored) || own.is_some_and(|own| read.contains(&own))
            });
            let simple = definitions(inst(made)).len() == 1 && part.store > made;
            let later = later || pure.contains(&part.store);
            let early = part.load.into_iter().chain([part.other]).any(|at| at > part.store);
            if later || early || !simple {
                return Err(Obstacle::TreeElement(line(part.store)));
            }
        }
        // Addresses are computed once, so none may depend on an element.
        let depends = |at: &InstId| reads(inst(*at)).iter().any(|one| loads.contains(one));
        if let Some(at) = addresses.iter().find(|at| values.contains(*at) || depends(at)) {
            return Err(Obstacle::TreeAddress(line(*at)));
        }
        step.operations = pure.iter().copied().filter(|at| values.contains(at)).collect();
        step.addresses = pure.iter().copied().filter(|at| addresses.contains(at)).collect();
        Ok(())
    }

    /// The variable of the function that an address starts from, if it is that plus multiples of the thread's number.
    pub(super) fn start(&self, address: TermId) -> Option<SymbolId> {
        let arena = &self.trace.arena;
        let (0, addends) = arena.linear_parts(address) else { return None };
        let symbol = |term: TermId| match arena.node(self.trace.plain(term)) {
            Node::Symbol(symbol) => Some(*symbol),
            _ => None,
        };
        let mut others = addends.iter().filter(|one| symbol(one.0) != self.thread);
        let (Some(first), None) = (others.next(), others.next()) else { return None };
        let found = symbol(first.0).filter(|_| first.1 == 1)?;
        // A number stands in front of the names of variables that a function declares: each has a size.
        let is_declared = match &self.trace.symbols.info(found).kind {
            SymbolKind::Address(name) => name.starts_with(|first: char| first.is_ascii_digit()),
            _ => false,
        };
        is_declared.then_some(found)
    }

    /// Whether the threads that execute a step are those below its stride, where a loop's value is a number.
    pub(super) fn is_below(&self, step: &Step, value: Option<(SymbolId, u64)>) -> Option<u64> {
        let stride = match step.stride {
            Stride::Constant(stride) => stride,
            Stride::Term(term) => self.number(term, value, 0)?,
        };
        let (condition, wanted) = step.condition;
        let all = (0..MOST_THREADS).all(|thread| {
            let holds = self.number(condition, value, thread);
            holds.is_some_and(|holds| (holds != 0) == wanted) == (thread < stride)
        });
        all.then_some(stride)
    }

    /// The value of a term that depends on the thread's number and one value of a loop.
    fn number(&self, term: TermId, value: Option<(SymbolId, u64)>, thread: u64) -> Option<u64> {
        let mut unknown = false;
        let mut evaluator = Evaluator::new(&self.trace.arena, |symbol, _| {
            let known = value.filter(|(of, _)| *of == symbol).map(|(_, value)| value);
            match known {
                Some(value) => value,
                None if Some(symbol) == self.thread => thread,
                None => {
                    unknown = true;
                    0
                }
            }
        });
        let found = evaluator.value(term);
        (!unknown && !self.has_functions(term)).then_some(found)
    }

    fn has_functions(&self, term: TermId) -> bool {
        let arena = &self.trace.arena;
        matches!(arena.node(term), Node::Apply(..))
            || arena.operands(term).into_iter().any(|one| self.has_functions(one))
    }

    /// The one value of a loop that a stride depends on: its symbol and register.
    pub(super) fn loop_value(&self, term: TermId) -> Option<(SymbolId, RegisterId)> {
        let arena = &self.trace.arena;
        if let Node::Symbol(symbol) = arena.node(term) {
            return match self.trace.symbols.info(*symbol).kind {
                SymbolKind::LoopValue(register, _) => Some((*symbol, register)),
                _ => None,
            };
        }
        let mut found = arena.operands(term).into_iter().filter_map(|one| self.loop_value(one));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }
}

/// The registers that an access's address starts from.
fn bases(inst: &Inst<'_, '_>) -> Vec<RegisterId> {
    let base = |arg: &Arg<'_>| match arg {
        Arg::Memory { base: Base::Register(register), .. } => Some(*register),
        _ => None,
    };
    inst.args.iter().filter_map(base).collect()
}

/// Adds the instructions of a block that some registers' values depend on.
fn needed(
    flow: &Flow<'_, '_>,
    written: &FxHashMap<RegisterId, InstId>,
    registers: &[RegisterId],
    found: &mut FxHashSet<InstId>,
) {
    for register in registers {
        if let Some(at) = written.get(register)
            && found.insert(*at)
        {
            needed(flow, written, &reads(&flow.insts[*at]), found);
        }
    }
}
