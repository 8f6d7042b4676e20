//! Symbolic evaluation of one program: each block once, in reverse postorder. At a join, values
//! are selected by `if then else` over the conditions of the edges; only loop headers get symbols.
//!
//! In: a [`Program`] and, for the rewritten one, the original's outcome and the matching of
//! instructions. Out: an [`Execution`]: every event with the condition under which it happens and its
//! operands, every load, and for each loop the loop-carried values.
//!
//! Conditions are relative to the header of the innermost loop around them: "given that this
//! iteration is executed".

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::ti_vec;

use super::state::{Evaluation, Exit, Oracle};
use crate::cfg::{Arg, BlockId, Edge, EdgeCondition, Inst, InstId};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::program::{
    Program, Role, Window, changed, granule, may_wait, placed_results, results, role,
};
use crate::record::layouts::Layouts;
use crate::record::{Event, Execution, Reference};
use crate::terms::{Kind, Origin, Terms};

/// Evaluates a program. `reference`, `layouts` and `oracle` are `None` for the original.
pub(crate) fn evaluate<'a, 's>(
    program: &'a Program<'a, 's>,
    terms: &'a mut Terms,
    reference: Option<&'a Reference<'a, 's>>,
    layouts: Option<&'a Layouts>,
    oracle: Option<&'a mut (dyn Oracle<'s> + 'a)>,
) -> Execution {
    let blocks = program.flow.blocks.len();
    let memory = Window::ALL.map(|w| terms.symbol(Kind::Memory(w, Origin::Entry), 32, None));
    let mut evaluation = Evaluation {
        program,
        terms,
        reference,
        layouts,
        oracle,
        carry: None,
        memory,
        block: BlockId(0),
        at: InstId(0),
        out: Execution {
            path: ti_vec![None; blocks],
            branches: ti_vec![None; blocks],
            loops: ti_vec![None; program.flow.loops.loops.len()],
            root: ti_vec![BlockId(0); blocks],
            ..Execution::default()
        },
        state: Vec::new(),
        single: ti_vec![None; program.slots.len()],
        exits: ti_vec![None; blocks],
        entered: FxHashMap::default(),
    };
    for block in program.flow.block_ids() {
        evaluation.visit(block);
    }
    evaluation.close_cutpoints();
    evaluation.out
}

impl<'s> Evaluation<'_, 's> {
    fn visit(&mut self, block: BlockId) {
        self.block = block;
        self.carry = None;
        let flow = &self.program.flow;
        let forward: SmallVec<[Edge; 4]> = flow
            .block(block)
            .predecessors
            .iter()
            .copied()
            .filter(|edge| edge.from < block && self.exits[edge.from].is_some())
            .collect();
        let meets = self.program.irreducible
            && flow.block(block).predecessors.len() + usize::from(block.0 == 0) > 1;
        if meets {
            self.cutpoint(block);
        } else if block.0 == 0 {
            let registers = self.program.carried.clone();
            self.state = registers.into_iter().map(|r| self.unwritten(r)).collect();
            self.out.path[block] = Some(self.terms.arena.boolean(true));
        } else if forward.is_empty() {
            return;
        } else {
            self.join(block, &forward);
        }
        if let (Some(id), false) =
            (self.program.flow.loops.headed_by(block), self.program.irreducible)
        {
            self.enter(id);
        }
        for index in self.program.flow.block(block).instructions() {
            self.terms.arena.charge(1);
            self.at = index;
            let inst = &self.program.flow.insts[index];
            self.execute(inst);
        }
        let register = self.program.flow.block(block).successors.iter().find_map(|edge| match edge
            .condition
        {
            EdgeCondition::Predicate(register, _) => Some(register),
            _ => None,
        });
        self.out.branches[block] = register.map(|register| self.read(register));
        self.exits[block] = Some(Exit { state: self.state.clone().into(), memory: self.memory });
        if !self.program.irreducible {
            self.close_loops(block);
        }
    }

    fn execute(&mut self, inst: &Inst<'_, 's>) {
        let guard = inst.guard.map(|(register, negated)| {
            let value = self.read(register);
            if negated { self.terms.arena.not(value) } else { value }
        });
        if guard.and_then(|guard| self.terms.arena.constant_value(guard)) == Some(0) {
            return;
        }
        let guard = guard.filter(|&guard| self.terms.arena.constant_value(guard).is_none());
        match role(inst) {
            Role::Branch => {}
            Role::Pure => self.compute(inst, guard),
            Role::Load => self.load(inst, guard),
            role => {
                if self.matched().is_none() && self.rewritten_only(inst, guard) {
                    return;
                }
                if may_wait(inst) {
                    self.ask_oracle(|oracle, _| oracle.may_wait());
                }
                self.event(inst, role, guard);
            }
        }
    }

    /// Evaluates an instruction that the original does not have. True if its results are known.
    fn rewritten_only(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        let results =
            self.ask_oracle(|oracle, here| oracle.rewritten_only(here, inst, guard)).flatten();
        let understood = results.is_some();
        for (to, value) in results.into_iter().flatten() {
            self.set(to, value, false, None);
        }
        understood
    }

    /// Records an event with its operands. Its results are symbols, which an event of the original and
    /// the one that is matched with it share.
    fn event(&mut self, inst: &Inst<'_, 's>, role: Role, guard: Option<TermId>) {
        let condition = self.condition(guard);
        let operands = self.event_operands(inst, role);
        if role == Role::Store {
            self.store(inst, guard);
        } else {
            for (register, places) in placed_results(inst) {
                let width = self.width(register);
                let own = Kind::RewrittenOnly(self.at, places.clone());
                let kind = match self.matched() {
                    Some(original) => Kind::Event(original, places),
                    None => own.clone(),
                };
                let mut value = self.terms.symbol(kind, width, self.here());
                if self.terms.arena.width(value) != width {
                    // The original's register has another width than this one.
                    value = self.terms.symbol(own, width, self.here());
                }
                self.write(register, value, guard);
            }
            for &window in changed(inst) {
                self.change(window, guard);
            }
            // Only an instruction that is not known may write the condition code.
            if role == Role::Effect
                && !matches!(
                    inst.ast.form.opcode,
                    Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
                )
            {
                self.carry = None;
            }
        }
        let (at, block) = (self.at, self.block);
        self.out.events.push(Event { inst: at, block, role, condition, operands });
    }

    /// The operands of an event, which must be the same in both programs.
    fn event_operands(&mut self, inst: &Inst<'_, 's>, role: Role) -> Vec<TermId> {
        let mut operands = SmallVec::new();
        if role == Role::Store {
            if let Some(Arg::Memory { base, offset, .. }) = inst.args.first() {
                operands.push(self.accessed(inst.ast.form.space(), *base, *offset));
            }
            let width = inst.ast.form.types().last().map_or(64, |ty| ty.bits().min(64)) as u8;
            for arg in inst.args.iter().skip(1) {
                let values: &[Arg<'s>] = match arg {
                    Arg::Vector(elements) => elements,
                    single => std::slice::from_ref(single),
                };
                for value in values {
                    match self.operand(value, width) {
                        Some(term) => operands.push(term),
                        None => self.natural(value, &mut operands),
                    }
                }
            }
            return operands.to_vec();
        }
        let is_access =
            matches!(inst.ast.form.opcode, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red);
        let whole = granule(inst).map(|granule| granule.operand);
        // If it is not known which operands are results, all of them are compared: the value that a
        // register had before is the same in both programs, or the comparison fails.
        let results = usize::from(!results(inst).is_empty());
        for (index, arg) in inst.args.iter().enumerate().skip(match role {
            Role::Observe | Role::Collective => results,
            _ if inst.ast.form.opcode == Opcode::Atom || inst.ast.form.opcode == Opcode::Ld => {
                results
            }
            _ => 0,
        }) {
            match arg {
                // Its bytes may be elsewhere in the rewritten program.
                Arg::Memory { base, offset, rest }
                    if (is_access || whole == Some(index)) && rest.is_empty() =>
                {
                    operands.push(self.accessed(inst.ast.form.space(), *base, *offset));
                }
                _ => self.natural(arg, &mut operands),
            }
        }
        operands.to_vec()
    }
}
