//! The facts about registers and the shape of thread blocks that a branch's predicate implies.
//!
//! A predicate is followed to the comparisons that make it hold, as long as each of them is the only definition that
//! reaches the branch. Registers that are read there must hold the same at the branch: the comparison stands in the branch's own block and they are not
//! written again, or it never changes.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

use super::uniform::{Leaf, each};
use crate::cfg::{Arg, Base, BlockId, Flow, Inst, InstId, RegisterId};
use crate::isa::{Axis, Opcode, Qualifier, Special};
use crate::program::{Belief, Role, belief, results, role};
use crate::ptx::{Function, FunctionKind, ScalarType, StateSpace};

/// The most threads of a block (PTX ISA, "%ntid").
pub(super) const MOST_THREADS: u32 = 1024;

/// Facts at a branch.
pub(super) struct Known {
    /// Registers that hold a constant, by comparison.
    pub constants: FxHashMap<RegisterId, u64>,
    /// The fewest threads of a block.
    pub least: u32,
    /// The most threads of a block.
    pub most: u32,
    /// Whether thread blocks have one row: `%ntid.y` and `%ntid.z` are 1.
    pub one_row: bool,
    /// The shape of thread blocks, if it is known.
    pub shape: Option<[u32; 3]>,
    /// Whether no shape of thread blocks meets the facts, so the predicate never holds.
    pub never: bool,
}

impl Known {
    /// Blocks of one row of some number of threads.
    pub(super) fn of_row((least, most): (u32, u32)) -> Known {
        let shape = (least == most).then_some([least, 1, 1]);
        Known { constants: FxHashMap::default(), least, most, one_row: true, shape, never: false }
    }

    /// Blocks of one shape, without other facts.
    pub(super) fn of_shape(shape: [u32; 3]) -> Option<Known> {
        let threads = shape.iter().try_fold(1_u32, |all, extent| all.checked_mul(*extent))?;
        (1..=MOST_THREADS).contains(&threads).then(|| Known {
            constants: FxHashMap::default(),
            least: threads,
            most: threads,
            one_row: shape[1..] == [1, 1],
            shape: Some(shape),
            never: false,
        })
    }
}

/// The definitions of registers, and which values never change.
pub(super) struct Definitions<'p, 'm, 's> {
    flow: &'p Flow<'m, 's>,
    is_kernel: bool,
    /// By register, the instructions that may write it.
    all: TiVec<RegisterId, Vec<InstId>>,
    block_of: TiVec<InstId, Option<BlockId>>,
    /// By register and block, the definition that reaches the block's start, for registers with several.
    entering: RefCell<FxHashMap<(RegisterId, BlockId), Option<InstId>>>,
}

impl<'p, 'm, 's> Definitions<'p, 'm, 's> {
    /// Collects the definitions of a function.
    pub(super) fn of(flow: &'p Flow<'m, 's>, function: &Function<'_>) -> Self {
        let mut all = ti_vec![Vec::new(); flow.registers.len()];
        let mut block_of = ti_vec![None; flow.insts.len()];
        for block in flow.block_ids() {
            for at in flow.block(block).instructions() {
                block_of[at] = Some(block);
                for register in results(&flow.insts[at]) {
                    all[register].push(at);
                }
            }
        }
        let is_kernel = function.kind == FunctionKind::Entry;
        Definitions { flow, is_kernel, all, block_of, entering: RefCell::default() }
    }

    /// The block of an instruction, if it can be reached.
    pub(super) fn block_of(&self, at: InstId) -> Option<BlockId> {
        self.block_of[at]
    }

    /// The definition of a register that reaches an instruction, if it is known which one does: the last one of the same
    /// block, or the last one on every way there.
    pub(super) fn reaching(&self, register: RegisterId, reader: InstId) -> Option<InstId> {
        let other = self.block_of[reader]?;
        let first = self.flow.block(other).first;
        let mut before = first.to(reader).rev();
        let near = before.find(|at| results(&self.flow.insts[*at]).contains(&register));
        let at = match (near, &self.all[register][..]) {
            (Some(at), _) => at,
            (None, [at]) => {
                let own = self.block_of[*at]?;
                let above = own != other && self.flow.dominators.dominates(own, other);
                above.then_some(*at)?
            }
            (None, []) => return None,
            _ => {
                let known = self.entering.borrow().get(&(register, other)).copied();
                known.unwrap_or_else(|| {
                    let found = self.last_on_every_way(register, other);
                    self.entering.borrow_mut().insert((register, other), found);
                    found
                })?
            }
        };
        self.flow.insts[at].guard.is_none().then_some(at)
    }

    /// The definitions of a register that may reach an instruction, sorted.
    pub(super) fn may_reach(&self, register: RegisterId, reader: InstId) -> Vec<InstId> {
        let Some(block) = self.block_of[reader] else { return Vec::new() };
        let mut before = self.flow.block(block).first.to(reader).rev();
        match before.find(|at| results(&self.flow.insts[*at]).contains(&register)) {
            Some(at) => vec![at],
            None => self.last_on_ways(register, block).unwrap_or_default(),
        }
    }

    /// The definition of a register that is the last one on every way to the start of a block.
    fn last_on_every_way(&self, register: RegisterId, block: BlockId) -> Option<InstId> {
        match self.last_on_ways(register, block)?[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The last definitions of a register on the ways to the start of a block, sorted; `None` if there is a way without.
    fn last_on_ways(&self, register: RegisterId, block: BlockId) -> Option<Vec<InstId>> {
        let mut found = Vec::new();
        let mut seen = ti_vec![false; self.flow.blocks.len()];
        let mut work = vec![block];
        while let Some(next) = work.pop() {
            // (The function may be entered there.)
            if next == BlockId(0) {
                return None;
            }
            for from in self.flow.block(next).predecessors.iter().map(|edge| edge.from) {
                let own = self.all[register].iter().rev();
                match own.copied().find(|at| self.block_of[*at] == Some(from)) {
                    Some(at) => found.push(at),
                    None if std::mem::replace(&mut seen[from], true) => {}
                    None => work.push(from),
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// The instruction that computes the value of a register in front of an instruction, if it never changes within a
    /// thread: made of the thread's number, parameters and constants.
    pub(super) fn invariant(&self, register: RegisterId, reader: InstId) -> Option<InstId> {
        let at = self.reaching(register, reader)?;
        self.is_invariant(at, &mut FxHashSet::default()).then_some(at)
    }

    fn is_invariant(&self, at: InstId, open: &mut FxHashSet<InstId>) -> bool {
        let inst = &self.flow.insts[at];
        match role(inst) {
            Role::Pure => {}
            Role::Load => return self.is_parameter(inst),
            _ => return false,
        }
        if open.len() > 64 || !open.insert(at) {
            return false;
        }
        let mut all = true;
        inst.args.iter().skip(1).for_each(|arg| {
            each(arg, &mut |leaf| match leaf {
                Leaf::Register(read) => {
                    all = all
                        && self
                            .reaching(read, at)
                            .is_some_and(|made| self.is_invariant(made, open));
                }
                Leaf::Special(read) => all &= !matches!(belief(read), Belief::Volatile(_)),
            });
        });
        open.remove(&at);
        all
    }

    /// Whether an instruction reads a parameter of the kernel, which never changes.
    pub(super) fn is_parameter(&self, inst: &Inst<'_, '_>) -> bool {
        let named = |arg: &Arg<'_>| matches!(arg, Arg::Memory { base: Base::Symbol { local: None, .. }, rest, .. } if rest.is_empty());
        self.is_kernel
            && inst.ast.form.opcode == Opcode::Ld
            && inst.ast.form.space() == StateSpace::Param
            && inst.args.get(1).is_some_and(named)
    }

    /// The facts from an instruction of a block to the block's end if a predicate register holds at the end.
    pub(super) fn known(
        &self,
        function: &Function<'_>,
        (block, start): (BlockId, InstId),
        predicate: RegisterId,
    ) -> Known {
        let extents = [(1, u64::from(MOST_THREADS)); 3];
        let mut found = Facts { start, extents, constants: Vec::new() };
        if let Some(exact) = function.extents("reqntid") {
            found.extents = exact.map(|extent| (extent, extent));
        } else if let Some(most) = function.most_threads() {
            found.extents.iter_mut().for_each(|extent| extent.1 = extent.1.min(most));
        }
        let last = self.flow.block(block).end.before();
        self.follow(block, (predicate, last, true), 0, &mut found);
        let [x, y, z] = found.extents;
        Known {
            constants: found.constants.into_iter().collect(),
            least: x.0.min(u64::from(MOST_THREADS)) as u32,
            most: x.1.min(u64::from(MOST_THREADS)) as u32,
            one_row: y.1 == 1 && z.1 == 1,
            shape: (x.0 == x.1 && y.1 == 1 && z.1 == 1).then_some([x.0 as u32, 1, 1]),
            never: found.extents.iter().any(|(least, most)| least > most),
        }
    }

    /// Adds the facts that follow if a predicate register holds in front of an instruction; `here`: whether it is
    /// computed in the branch's block, anew for each execution of the branch.
    fn follow(
        &self,
        block: BlockId,
        (predicate, reader, here): (RegisterId, InstId, bool),
        depth: u32,
        found: &mut Facts,
    ) {
        let Some(at) = self.reaching(predicate, reader).filter(|_| depth < 16) else { return };
        let here = here && self.block_of[at] == Some(block);
        let inst = &self.flow.insts[at];
        let deeper = |arg: &Arg<'_>, found: &mut Facts| {
            if let Arg::Register(register) = arg {
                self.follow(block, (*register, at, here), depth + 1, found);
            }
        };
        match (inst.ast.form.opcode, &inst.args[..]) {
            (Opcode::And, [_, a, b]) if inst.ast.form.first_type() == Some(ScalarType::Pred) => {
                deeper(a, found);
                deeper(b, found);
            }
            (Opcode::Setp, [Arg::Register(_), a, b, rest @ ..]) => {
                let Some(name) = inst.ast.form.qualifiers().next() else { return };
                match (rest, inst.ast.form.has(Qualifier::And)) {
                    ([], _) if inst.ast.form.qualifiers().count() == 1 => {}
                    ([other], true) if inst.ast.form.qualifiers().count() == 2 => {
                        deeper(other, found);
                    }
                    _ => return,
                }
                self.compared(block, (at, here), (name, a, b), found);
            }
            _ => {}
        }
    }

    /// Adds the facts of a comparison that holds.
    fn compared(
        &self,
        block: BlockId,
        (at, here): (InstId, bool),
        (name, a, b): (Qualifier, &Arg<'_>, &Arg<'_>),
        found: &mut Facts,
    ) {
        let form = &self.flow.insts[at].ast.form;
        let (Some(ty), Arg::Constant(value)) = (form.first_type(), b) else { return };
        let Some(value) = value.as_integer().and_then(|value| u64::try_from(value).ok()) else {
            return;
        };
        let wide = ty.bits() == 32 && value < 1 << 31 && !ty.is_float();
        match a {
            _ if !wide => {}
            Arg::Special(Special::Ntid(axis)) => found.extent(*axis, name, value),
            Arg::Register(register) => {
                if let Some(axis) = self.extent(*register, at) {
                    found.extent(axis, name, value);
                }
                let mut behind = found.start.min(at).to(self.flow.block(block).end);
                let written = behind.any(|at| results(&self.flow.insts[at]).contains(register));
                let is_whole = self.flow.registers[*register].ty.bits() == 32;
                if name == Qualifier::Eq && here && !written && is_whole {
                    found.constants.push((*register, value));
                }
            }
            _ => {}
        }
    }

    /// The dimension whose number of threads a register holds in front of an instruction.
    fn extent(&self, register: RegisterId, reader: InstId) -> Option<Axis> {
        let at = self.reaching(register, reader)?;
        let inst = &self.flow.insts[at];
        let is_word = inst.ast.form.first_type().is_some_and(|ty| ty.bits() == 32)
            && self.flow.registers[register].ty.bits() == 32;
        match (inst.ast.form.opcode, &inst.args[..]) {
            (Opcode::Mov, [_, Arg::Special(Special::Ntid(axis))]) if is_word => Some(*axis),
            (Opcode::Mov, [_, Arg::Register(other)]) if is_word => self.extent(*other, at),
            _ => None,
        }
    }
}

/// The facts found so far.
struct Facts {
    /// The facts about registers hold from this instruction on.
    start: InstId,
    /// The least and the largest extent of a thread block in each dimension.
    extents: [(u64, u64); 3],
    constants: Vec<(RegisterId, u64)>,
}

impl Facts {
    fn extent(&mut self, axis: Axis, name: Qualifier, value: u64) {
        let (least, most) = &mut self.extents[axis.index()];
        match name {
            Qualifier::Eq => (*least, *most) = ((*least).max(value), (*most).min(value)),
            Qualifier::Ge | Qualifier::Hs => *least = (*least).max(value),
            Qualifier::Gt | Qualifier::Hi => *least = (*least).max(value + 1),
            Qualifier::Le | Qualifier::Ls => *most = (*most).min(value),
            Qualifier::Lt | Qualifier::Lo => *most = (*most).min(value.saturating_sub(1)),
            _ => {}
        }
    }
}
