//! Straight lines of code, evaluated lane by lane.
//!
//! In: the control flow of a function. Out: for each [`Chain`] of blocks that are executed one behind the other without
//! a branch, the table of each result, and the instruction that each operand comes from. Values computed in front of the chain are followed where they are a function of the lane's number alone.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::evaluate::{Operands, Results, Sources};
use super::value::{LANES, Table, ValueId, Values};
use crate::cfg::{BlockId, EdgeCondition, Flow, Inst, InstId, RegisterId};
use crate::emulate::{definitions, reads};
use crate::isa::Opcode;

/// How deep operands in front of a chain are followed.
const MAX_DEPTH: u32 = 16;

/// The most values of one function.
const MAX_VALUES: usize = 1 << 17;

/// An instruction of a chain that was evaluated.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The registers read, each with the instruction of the chain that has written it.
    pub reads: SmallVec<[(RegisterId, Option<InstId>); 4]>,
    /// The tables of the results, the guard respected.
    pub results: Vec<(RegisterId, Rc<Table>)>,
    /// Whether a value that is followed may have come from another lane.
    pub crosses: bool,
}

/// A straight line of code.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Its blocks in order.
    pub blocks: Vec<BlockId>,
    /// Its instructions in order.
    pub insts: Vec<InstId>,
    /// The operands and results of each instruction.
    pub steps: FxHashMap<InstId, Step>,
    /// The last instruction of the chain that writes a register, and the register's table then.
    pub written: FxHashMap<RegisterId, (InstId, Rc<Table>)>,
    /// The tables of registers that were written in front of the chain.
    pub before: FxHashMap<RegisterId, Rc<Table>>,
    /// Its shuffles as often as they are executed, where known with the lane that each lane has its value from.
    pub shuffles: Vec<(InstId, Sources)>,
    /// The instructions whose results are found to depend on more than a network has.
    pub large: RefCell<FxHashSet<InstId>>,
}

impl Chain {
    /// The table of a register as an instruction of the chain, or none of them, has written it.
    pub(super) fn table(&self, register: RegisterId, from: Option<InstId>) -> Option<&Rc<Table>> {
        let Some(from) = from else { return self.before.get(&register) };
        let results = &self.steps.get(&from)?.results;
        results.iter().find(|(result, _)| *result == register).map(|(_, table)| table)
    }

    /// The last instruction in front of another one that writes a register.
    pub(super) fn written_before(&self, at: InstId, register: RegisterId) -> Option<InstId> {
        let before = self.insts.iter().rev().filter(|inst| **inst < at);
        before
            .copied()
            .find(|inst| self.steps[inst].results.iter().any(|(one, _)| *one == register))
    }
}

/// Evaluates the chains of one function.
pub(super) struct Chains<'f, 'm, 's> {
    /// The function.
    pub flow: &'f Flow<'m, 's>,
    /// All values.
    pub values: Values,
    /// The base of `%tid.x`, if lanes are taken to be consecutive in it.
    thread: Option<ValueId>,
    /// Whether `%tid.x` was asked for.
    pub asked_for_thread: bool,
    /// The only instruction that writes a register.
    single: FxHashMap<RegisterId, InstId>,
    /// Facts about registers wherever they are read.
    invariants: FxHashMap<RegisterId, Option<Table>>,
}

impl<'f, 'm, 's> Chains<'f, 'm, 's> {
    /// For a function; `consecutive` says that lanes are taken to be consecutive in `%tid.x`.
    pub(super) fn new(flow: &'f Flow<'m, 's>, consecutive: bool) -> Self {
        let mut single = FxHashMap::default();
        let mut several = FxHashSet::default();
        for (index, inst) in flow.insts.iter_enumerated() {
            for register in definitions(inst) {
                if single.insert(register, index).is_some() {
                    several.insert(register);
                }
            }
        }
        single.retain(|register, _| !several.contains(register));
        let mut values = Values::default();
        let thread = consecutive.then(|| values.fresh_uniform());
        Chains {
            flow,
            values,
            thread,
            asked_for_thread: false,
            single,
            invariants: FxHashMap::default(),
        }
    }

    /// The only instruction that writes a register.
    pub(super) fn single(&self, register: RegisterId) -> Option<InstId> {
        self.single.get(&register).copied()
    }

    /// The chains in which lanes exchange values.
    pub(super) fn with_exchanges(&mut self) -> Vec<Chain> {
        let mut found = Vec::new();
        for block in self.flow.block_ids() {
            if self.continues(block) || self.is_full() {
                continue;
            }
            let blocks = self.blocks(block);
            let insts = || blocks.iter().flat_map(|block| self.flow.block(*block).instructions());
            if insts().any(|inst| is_exchange(&self.flow.insts[inst])) {
                let insts: Vec<InstId> = insts().collect();
                found.push(self.evaluate(blocks, insts));
            }
        }
        found
    }

    /// Whether the function has as many values as are followed.
    pub(super) fn is_full(&self) -> bool {
        self.values.len() > MAX_VALUES
    }

    /// Whether a block is always executed behind another one that leads nowhere else.
    fn continues(&self, block: BlockId) -> bool {
        let [edge] = self.flow.block(block).predecessors[..] else { return false };
        edge.condition == EdgeCondition::Always
            && edge.from != block
            && block.0 != 0
            && self.flow.block(edge.from).successors.len() == 1
            && !self.flow.block(edge.from).leaves
    }

    /// The blocks that are executed one behind the other from a block on.
    pub(super) fn blocks(&self, first: BlockId) -> Vec<BlockId> {
        let mut blocks = vec![first];
        loop {
            let last = self.flow.block(blocks[blocks.len() - 1]);
            match last.successors[..] {
                [edge] if edge.to > edge.from && self.continues(edge.to) => blocks.push(edge.to),
                _ => return blocks,
            }
        }
    }

    /// Evaluates blocks that are executed one behind the other.
    pub(super) fn evaluate(&mut self, blocks: Vec<BlockId>, insts: Vec<InstId>) -> Chain {
        let mut chain = Chain { blocks, ..Chain::default() };
        for &at in &insts {
            if self.is_full() {
                break;
            }
            self.push(&mut chain, at);
        }
        chain
    }

    /// Adds an instruction to the end of a chain.
    pub(super) fn push(&mut self, chain: &mut Chain, at: InstId) {
        let (step, sources) = self.step(chain, at);
        chain.shuffles.extend(sources.map(|sources| (at, sources)));
        for (register, table) in &step.results {
            chain.written.insert(*register, (at, Rc::clone(table)));
        }
        chain.steps.insert(at, step);
        chain.insts.push(at);
    }

    /// The step of an instruction; of a shuffle, where its lanes have their values from.
    fn step(&mut self, chain: &mut Chain, at: InstId) -> (Step, Option<Sources>) {
        let inst = &self.flow.insts[at];
        let reads = reads(inst);
        let from = |register: &RegisterId| chain.written.get(register).map(|(from, _)| *from);
        let reads: SmallVec<[_; 4]> =
            reads.iter().map(|register| (*register, from(register))).collect();
        let mut tables = FxHashMap::default();
        for &(register, _) in &reads {
            let table = self.of(chain, register);
            tables.insert(register, table);
        }
        let guard = inst.guard.map(|(register, negated)| (*tables[&register], negated));
        let crossed = |from: &Option<InstId>| from.is_some_and(|from| chain.steps[&from].crosses);
        let is_own = !is_exchange(inst) && !reads.iter().any(|(_, from)| crossed(from));
        let (found, sources) = self.results(at, &tables, is_own);
        let crosses = is_exchange(inst) || !found.is_empty() && !is_own;
        let mut results = Vec::new();
        for register in definitions(inst) {
            let known = found.iter().find(|(known, _)| *known == register).map(|(_, table)| *table);
            let mut table = known.unwrap_or_else(|| self.values.fresh());
            if let Some((predicate, negated)) = &guard {
                let old = self.of(chain, register);
                self.guard(&mut table, &old, (predicate, *negated));
            }
            results.push((register, Rc::new(table)));
        }
        (Step { reads, results, crosses }, sources)
    }

    /// The results of an instruction whose operands have given tables; `is_own` says that none has come from another
    /// lane. Of a shuffle, where its lanes have their values from.
    fn results(
        &mut self,
        at: InstId,
        tables: &FxHashMap<RegisterId, Rc<Table>>,
        is_own: bool,
    ) -> (Results, Option<Sources>) {
        let mut operands = Operands {
            values: &mut self.values,
            thread: self.thread,
            is_own,
            asked_for_thread: &mut self.asked_for_thread,
            register: &mut |values, register| match tables.get(&register) {
                Some(table) => **table,
                None => values.fresh(),
            },
        };
        let inst = &self.flow.insts[at];
        let sources = operands.exchange(inst).map(|exchange| exchange.sources);
        (operands.results(inst).unwrap_or_default(), sources)
    }

    /// The table of a register after some instructions of a chain, if an operand (a register as one instruction has
    /// written it) has another table.
    pub(super) fn evaluate_with(
        &mut self,
        chain: &Chain,
        insts: &[InstId],
        (operand, other): ((RegisterId, Option<InstId>), &Rc<Table>),
        result: RegisterId,
    ) -> Option<Rc<Table>> {
        let mut written: FxHashMap<(RegisterId, Option<InstId>), Rc<Table>> = FxHashMap::default();
        written.insert(operand, Rc::clone(other));
        for &at in insts {
            let known =
                |register: RegisterId, from: Option<InstId>| match written.get(&(register, from)) {
                    None if from.is_none_or(|from| !insts.contains(&from)) => {
                        chain.table(register, from).cloned()
                    }
                    known => known.cloned(),
                };
            let mut tables = FxHashMap::default();
            for &(register, from) in &chain.steps[&at].reads {
                tables.insert(register, known(register, from)?);
            }
            let guard = self.flow.insts[at].guard;
            let mut results = Vec::new();
            for (register, mut table) in self.results(at, &tables, false).0 {
                if let Some((predicate, negated)) = guard {
                    let old = known(register, chain.written_before(at, register))?;
                    self.guard(&mut table, &old, (&tables[&predicate], negated));
                }
                results.push((register, table));
            }
            for (register, table) in results {
                written.insert((register, Some(at)), Rc::new(table));
            }
        }
        written.remove(&(result, insts.last().copied()))
    }

    /// Leaves the old value in the lanes whose predicate, negated or not, does not hold.
    fn guard(&mut self, table: &mut Table, old: &Table, (predicate, negated): (&Table, bool)) {
        for lane in 0..LANES {
            let (a, b) = if negated { (old[lane], table[lane]) } else { (table[lane], old[lane]) };
            table[lane] = self.values.choice(predicate[lane], a, b);
        }
    }

    /// The table of a register at the end of what of the chain has been evaluated.
    pub(super) fn of(&mut self, chain: &mut Chain, register: RegisterId) -> Rc<Table> {
        if let Some((_, table)) = chain.written.get(&register) {
            return Rc::clone(table);
        }
        if let Some(table) = chain.before.get(&register) {
            return Rc::clone(table);
        }
        let table = self.invariant(register).unwrap_or_else(|| self.values.fresh());
        let table = Rc::new(table);
        chain.before.insert(register, Rc::clone(&table));
        table
    }

    /// The table of a register that is the same wherever the register is read: it is a function of the lane's number.
    pub(super) fn invariant(&mut self, register: RegisterId) -> Option<Table> {
        self.invariant_within(register, MAX_DEPTH)
    }

    fn invariant_within(&mut self, register: RegisterId, depth: u32) -> Option<Table> {
        if let Some(known) = self.invariants.get(&register) {
            return *known;
        }
        let found = self.computed(register, depth);
        self.invariants.insert(register, found);
        found
    }

    fn computed(&mut self, register: RegisterId, depth: u32) -> Option<Table> {
        let inst = &self.flow.insts[self.single(register)?];
        if depth == 0 || inst.guard.is_some() || inst.ast.form.opcode == Opcode::Shfl {
            return None;
        }
        let mut tables = FxHashMap::default();
        for read in reads(inst) {
            let table = self.invariant_within(read, depth - 1);
            let table = table.unwrap_or_else(|| self.values.fresh());
            tables.insert(read, Rc::new(table));
        }
        let (results, _) = self.results(self.single(register)?, &tables, true);
        let (_, table) = results.into_iter().find(|(result, _)| *result == register)?;
        let of_lane = |value: &ValueId| {
            self.values.constant_of(*value).is_some()
                || self.thread.is_some_and(|base| self.is_beside(*value, base))
        };
        // (Of a comparison each lane counts that is decided.)
        let decided = table.iter().filter(|value| of_lane(value)).count();
        let is_predicate = inst.ast.form.opcode == Opcode::Setp;
        (decided == LANES || is_predicate && decided > 0).then_some(table)
    }

    fn is_beside(&self, value: ValueId, base: ValueId) -> bool {
        use super::value::{Operator, Value};
        match self.values.get(value) {
            _ if value == base => true,
            Value::Fold(Operator::Sum, parts) => parts
                .iter()
                .all(|&(part, _)| part == base || self.values.constant_of(part).is_some()),
            _ => false,
        }
    }
}

/// Whether lanes exchange or combine values at an instruction.
pub fn is_exchange(inst: &Inst<'_, '_>) -> bool {
    matches!(inst.ast.form.opcode, Opcode::Shfl | Opcode::Redux)
}
