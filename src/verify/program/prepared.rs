//! One of the two functions, prepared for evaluation: its graph, which registers change, and where.
//!
//! In: a parsed function. Out: a [`Program`], with the registers that are carried from block to block,
//! the names by which registers of the two functions are paired, and the registers and memory that each loop changes.

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::array::Array;
use super::instructions::{Role, changed, results, role};
use super::window::Window;
use crate::Options;
use crate::cfg::{self, Arg, Base, BlockId, EdgeCondition, Flow, Inst, InstId, LoopId, RegisterId};
use crate::expr::Arena;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::{Function, FunctionKind, StateSpace, Statement};
use crate::source::SourceFile;

/// Where a register's value is kept while blocks are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Written once, unguarded, before all its uses: one value for the function.
    Single,
    /// Carried from block to block: index into the state.
    LoopCarried(u32),
}

/// A function, prepared.
pub(crate) struct Program<'m, 's> {
    pub source: &'m SourceFile,
    pub function: &'m Function<'s>,
    pub flow: Flow<'m, 's>,
    pub slots: TiVec<RegisterId, Slot>,
    pub carried: Vec<RegisterId>,
    /// For each register its name with the width, and its number among the registers of that name:
    /// registers of the two programs are paired by these.
    pub keys: TiVec<RegisterId, (String, u32)>,
    pub by_key: FxHashMap<(String, u32), RegisterId>,
    /// For each loop, the carried registers and the windows of memory that it changes.
    pub loops: TiVec<LoopId, Changes>,
    /// For each block the loops whose last latch it is.
    pub closed: FxHashMap<BlockId, Vec<LoopId>>,
    /// Whether some cycle has several entries.
    pub irreducible: bool,
    /// The extents of a block in threads, if they are known: those that `.reqntid` demands, or that are taken for
    /// granted of a kernel (PTX ISA, "Performance-Tuning Directives: .reqntid").
    pub block: Option<[u64; 3]>,
    /// Parameters that are known to be multiples of a power of two, each with that number: pointers for which the
    /// function says so, and those that are taken to be.
    pub aligned: Vec<(String, u64)>,
    /// The names of the function's variables in shared memory, with the number of the scope in front.
    pub shared: FxHashSet<String>,
    /// The arrays in shared memory that the module declares for this function alone.
    pub of_module: Vec<Array>,
    /// `bar.warp.sync` instructions that are taken to change no memory.
    own_barriers: FxHashSet<InstId>,
}

/// Adds the variables in shared memory that some statements declare, each with the number of its scope.
fn in_shared(statements: &[Statement<'_>], scopes: &mut u32, found: &mut FxHashSet<String>) {
    *scopes += 1;
    let scope = *scopes;
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => in_shared(statements, scopes, found),
            Statement::Variable(variable) if variable.space == StateSpace::Shared => {
                let names = variable.names.iter().map(|one| one.name.text);
                found.extend(names.map(|name| format!("{scope}.{name}")));
            }
            _ => {}
        }
    }
}

/// The carried registers and the windows of memory that some blocks change.
#[derive(Default, Debug)]
pub(crate) struct Changes {
    pub registers: Vec<RegisterId>,
    pub windows: Vec<Window>,
}

impl<'m, 's> Program<'m, 's> {
    /// # Errors
    /// A register that is not declared, a label that does not exist; more than the options allow.
    pub(crate) fn new(
        source: &'m SourceFile,
        function: &'m Function<'s>,
        options: &Options,
    ) -> Result<Self, String> {
        let flow = cfg::build(source, function).map_err(|error| error.to_string())?;
        for (what, size, limit) in [
            ("instructions", flow.insts.len(), options.instructions),
            ("instructions times loops around them", flow.nesting(), options.nesting),
        ] {
            if size > limit {
                return Err(format!("budget: {size} {what}, the limit is {limit}"));
            }
        }
        let slots = slots(&flow);
        let carried: Vec<RegisterId> =
            slots.keys().filter(|register| slots[*register] != Slot::Single).collect();
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        let keys: TiVec<RegisterId, (String, u32)> = flow
            .registers
            .iter()
            .map(|register| {
                let name = format!("{register}:{}", register.ty.bits());
                let number = seen.entry(name.clone()).or_insert(0);
                *number += 1;
                (name, *number)
            })
            .collect();
        let by_key =
            keys.iter_enumerated().map(|(register, key)| (key.clone(), register)).collect();
        let loops = changes(&flow, &slots, &FxHashSet::default());
        let irreducible = flow.block_ids().any(|block| flow.loops.is_irreducible_entry(block));
        let mut closed: FxHashMap<BlockId, Vec<LoopId>> = FxHashMap::default();
        for (id, one) in flow.loops.loops.iter_enumerated() {
            if let Some(last) = one.latches.iter().map(|edge| edge.from).max() {
                closed.entry(last).or_default().push(id);
            }
        }
        let required = function.extents("reqntid");
        let assumed = options.block.filter(|_| function.kind == FunctionKind::Entry);
        let pointers = function.aligned_pointers();
        let pointers = pointers.map(|(name, align)| (name.to_owned(), align));
        let by_user = options.aligned.iter().filter(|_| function.kind == FunctionKind::Entry);
        let aligned = pointers.chain(by_user.cloned()).collect();
        let mut shared = FxHashSet::default();
        in_shared(function.statements().unwrap_or_default(), &mut 0, &mut shared);
        Ok(Program {
            aligned,
            shared,
            of_module: Vec::new(),
            irreducible,
            block: required.or_else(|| assumed.map(|block| block.map(u64::from))),
            source,
            function,
            flow,
            slots,
            carried,
            keys,
            by_key,
            loops,
            closed,
            own_barriers: FxHashSet::default(),
        })
    }

    /// The same with the arrays in shared memory that the module declares for this function alone.
    pub(crate) fn with_arrays(self, of_module: Vec<Array>) -> Self {
        let mut shared = self.shared;
        shared.extend(of_module.iter().map(|array| array.name.clone()));
        Program { of_module, shared, ..self }
    }

    /// Pairs registers by position instead of by name, if both programs are the same instructions with the
    /// registers renamed one to one; whether they are, and under other names. Like every pairing this is a guess:
    /// the values of the paired registers are proved equal, iteration by iteration.
    pub(crate) fn pair_by_place(&mut self, original: &Program<'_, '_>) -> bool {
        let mut pairs = Pairs::default();
        let same = self.flow.insts.len() == original.flow.insts.len()
            && original.flow.insts.iter().zip(&self.flow.insts).all(|(old, new)| {
                let guards = match (old.guard, new.guard) {
                    (None, None) => true,
                    (Some((x, old)), Some((y, new))) => old == new && pairs.pair(x, y),
                    _ => false,
                };
                guards
                    && old.ast.form == new.ast.form
                    && old.args.len() == new.args.len()
                    && old.args.iter().zip(&new.args).all(|(x, y)| pairs.pair_operands(x, y))
            });
        let key = |register: RegisterId| original.keys[register].clone();
        let alike = pairs.new.iter().all(|(new, old)| {
            let (x, y) = (&original.flow.registers[*old], &self.flow.registers[*new]);
            x.ty.bits() == y.ty.bits()
        });
        let renamed = pairs.new.iter().any(|(&new, &old)| self.keys[new] != key(old));
        if !same || !alike || !renamed {
            return false;
        }
        for (register, own) in self.keys.iter_mut_enumerated() {
            match pairs.new.get(&register) {
                Some(&old) => *own = key(old),
                // It corresponds to no register of the original.
                None => own.0.push('\''),
            }
        }
        self.by_key = self.keys.iter().cloned().zip(self.keys.keys()).collect();
        true
    }

    /// Takes the `bar.warp.sync` instructions that only this program has, which `matched` says, to change no memory:
    /// those that turn out to do more than to order it are events without a partner in the end.
    pub(crate) fn leave_out_own_barriers(&mut self, matched: &TiSlice<InstId, Option<InstId>>) {
        let own = |at: &InstId| {
            let inst = &self.flow.insts[*at];
            let form = &inst.ast.form;
            let barrier = form.opcode == Opcode::Bar && form.has(Qualifier::Warp);
            barrier && inst.guard.is_none() && matched[*at].is_none()
        };
        let found = matched.keys().filter(own).collect();
        let before = std::mem::replace(&mut self.own_barriers, found);
        if self.own_barriers != before {
            self.loops = changes(&self.flow, &self.slots, &self.own_barriers);
        }
    }

    /// The line of an instruction in its file.
    pub(crate) fn line(&self, inst: InstId) -> u32 {
        self.source.line(self.flow.insts[inst].ast.span.start)
    }

    /// The opcode and the line of each instruction, for messages.
    pub(crate) fn named_insts(&self) -> TiVec<InstId, (String, u32)> {
        let opcode = |inst: &Inst<'_, '_>| inst.ast.opcode.text.split_whitespace().collect();
        let insts = self.flow.insts.iter_enumerated();
        insts.map(|(at, inst)| (opcode(inst), self.line(at))).collect()
    }

    /// An instruction's text with every run of blanks as one, without its guard predicate.
    pub(crate) fn text(&self, inst: &Inst<'m, 's>) -> String {
        let ast = inst.ast;
        let text = self.source.slice(ast.span);
        let from = (ast.opcode.span.start - ast.span.start) as usize;
        text[from..].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The registers and windows that may be changed on the paths from a block's immediate dominator to
    /// the block; all that are carried, if it has no dominator. The instructions looked at are charged
    /// to the arena.
    pub(crate) fn between(&self, arena: &Arena, block: BlockId) -> Changes {
        let above = self.flow.dominators.immediate(block);
        let mut seen = ti_vec![false; self.flow.blocks.len()];
        let mut work: Vec<BlockId> =
            self.flow.block(block).predecessors.iter().map(|edge| edge.from).collect();
        let mut changes = Changes::default();
        while let Some(next) = work.pop() {
            if Some(next) == above || std::mem::replace(&mut seen[next], true) {
                continue;
            }
            let instructions = self.flow.block(next).instructions();
            arena.charge(4 + 24 * instructions.len() as u64);
            for index in instructions {
                let inst = &self.flow.insts[index];
                let carried = |r: &RegisterId| self.slots[*r] != Slot::Single;
                changes.registers.extend(results(inst).into_iter().filter(carried));
                if !self.own_barriers.contains(&index) {
                    changes.windows.extend(changed(inst));
                }
            }
            work.extend(self.flow.block(next).predecessors.iter().map(|edge| edge.from));
        }
        changes.registers.sort_unstable();
        changes.registers.dedup();
        changes.windows.sort_unstable();
        changes.windows.dedup();
        changes
    }

    /// The innermost loop around a block.
    pub(crate) fn loop_of(&self, block: BlockId) -> Option<LoopId> {
        // In a function with a cycle of several entries loops play no part: see `Cut`.
        self.flow.loops.innermost(block).filter(|_| !self.irreducible)
    }
}

/// Registers of two programs, one to one.
#[derive(Default)]
struct Pairs {
    old: FxHashMap<RegisterId, RegisterId>,
    new: FxHashMap<RegisterId, RegisterId>,
}

impl Pairs {
    /// Pairs two registers, unless one of them has another partner.
    fn pair(&mut self, old: RegisterId, new: RegisterId) -> bool {
        *self.old.entry(old).or_insert(new) == new && *self.new.entry(new).or_insert(old) == old
    }

    /// Pairs the registers of two operands, unless these are of different kinds.
    fn pair_operands(&mut self, old: &Arg<'_>, new: &Arg<'_>) -> bool {
        let mut all = |x: &[Arg<'_>], y: &[Arg<'_>]| {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.pair_operands(x, y))
        };
        match (old, new) {
            (Arg::Register(x), Arg::Register(y))
            | (Arg::Not(x), Arg::Not(y))
            | (Arg::Modified(x), Arg::Modified(y))
            | (Arg::Sum(x, _), Arg::Sum(y, _)) => self.pair(*x, *y),
            (Arg::Vector(x), Arg::Vector(y)) => all(x, y),
            (Arg::Pair(x), Arg::Pair(y)) => all(&x[..], &y[..]),
            (Arg::Memory { base: x, rest, .. }, Arg::Memory { base: y, rest: other, .. }) => {
                all(rest, other)
                    && match (x, y) {
                        (Base::Register(x), Base::Register(y)) => self.pair(*x, *y),
                        (Base::Symbol { .. }, Base::Symbol { .. })
                        | (Base::Absolute, Base::Absolute) => true,
                        _ => false,
                    }
            }
            (Arg::Special(_), Arg::Special(_))
            | (Arg::Constant(_), Arg::Constant(_))
            | (Arg::Symbol { .. }, Arg::Symbol { .. })
            | (Arg::Sink, Arg::Sink) => true,
            _ => false,
        }
    }
}

/// The registers that an instruction reads, its guard predicate included.
fn uses(inst: &Inst<'_, '_>) -> smallvec::SmallVec<[RegisterId; 2]> {
    let mut found = smallvec::SmallVec::new();
    let own = results(inst);
    let first = usize::from(!own.is_empty() && role(inst) != Role::Effect);
    for arg in inst.args.iter().skip(first) {
        super::instructions::registers(arg, &mut found);
    }
    for arg in &inst.args {
        if let Arg::Memory { base: Base::Register(register), .. } = arg {
            found.push(*register);
        }
        // The destination's bits outside of the named part stay as they are, so they are read.
        if let Arg::Modified(register) = arg {
            found.push(*register);
        }
    }
    found.extend(inst.guard.map(|(register, _)| register));
    found
}

fn slots(flow: &Flow<'_, '_>) -> TiVec<RegisterId, Slot> {
    let count = flow.registers.len();
    let mut written = ti_vec![0u32; count];
    let mut simple = ti_vec![true; count];
    // Block and instruction of the definition.
    let mut at: TiVec<RegisterId, Option<(BlockId, InstId)>> = ti_vec![None; count];
    for block in flow.block_ids() {
        for index in flow.block(block).instructions() {
            let inst = &flow.insts[index];
            for register in results(inst) {
                written[register] += 1;
                simple[register] &= inst.guard.is_none();
                at[register] = Some((block, index));
            }
        }
    }
    let mut use_one = |register: RegisterId, block: BlockId, index: InstId| {
        let early = match at[register] {
            None => true,
            Some((defined, first)) if defined == block => first >= index,
            Some((defined, _)) => !flow.dominators.dominates(defined, block),
        };
        simple[register] &= !early;
    };
    for block in flow.block_ids() {
        let range = flow.block(block).instructions();
        let end = range.end;
        for index in range {
            for register in uses(&flow.insts[index]) {
                use_one(register, block, index);
            }
        }
        for edge in &flow.block(block).successors {
            if let EdgeCondition::Predicate(register, _) = edge.condition {
                use_one(register, block, end);
            }
        }
    }
    let mut next = 0;
    flow.registers
        .keys()
        .map(|register| {
            if written[register] == 1 && simple[register] {
                return Slot::Single;
            }
            next += 1;
            Slot::LoopCarried(next - 1)
        })
        .collect()
}

fn changes(
    flow: &Flow<'_, '_>,
    slots: &TiSlice<RegisterId, Slot>,
    own_barriers: &FxHashSet<InstId>,
) -> TiVec<LoopId, Changes> {
    let mut all: TiVec<LoopId, Changes> =
        flow.loops.loops.iter().map(|_| Changes::default()).collect();
    for block in flow.block_ids() {
        for id in flow.loops.around(flow.loops.innermost(block)) {
            let changes = &mut all[id];
            for index in flow.block(block).instructions() {
                let inst = &flow.insts[index];
                let carried = |register: &RegisterId| slots[*register] != Slot::Single;
                changes.registers.extend(results(inst).into_iter().filter(carried));
                if !own_barriers.contains(&index) {
                    changes.windows.extend(changed(inst));
                }
            }
        }
    }
    for changes in &mut all {
        changes.registers.sort_unstable();
        changes.registers.dedup();
        changes.windows.sort_unstable();
        changes.windows.dedup();
    }
    all
}
