//! The state of an evaluation: the values of registers and memory at an instruction of a block, with
//! the questions that can be asked and the changes that can be made there.
//!
//! An evaluation knows one lane of one program. Questions about other lanes and about the original go
//! to an [`Oracle`], which the layers above provide.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::TiVec;

use crate::cfg::{Arg, BlockId, Inst, InstId, LoopId, RegisterId};
use crate::expr::TermId;
use crate::program::{Program, Slot, Window};
use crate::record::layouts::Layouts;
use crate::record::{Execution, HeaderRegister, LoopValue, Memory, Reference};
use crate::terms::{Kind, Origin, Side, Terms, conditions};

/// The results of an instruction: the destination and the value of each.
pub(crate) type Results<'i, 's> = SmallVec<[(&'i Arg<'s>, TermId); 2]>;

/// The questions that an evaluation of the rewritten program has for the layers above, which know the
/// other lanes of the warp and can prove claims: the evaluation itself knows one lane of one program.
pub(crate) trait Oracle<'s> {
    /// The value that a register gets here: `term`, or a term of the original that is equal to it.
    fn unify(&mut self, at: &mut Evaluation<'_, 's>, register: RegisterId, term: TermId) -> TermId;

    /// The same for a value that several edges into a block bring.
    fn unify_joined(&mut self, at: &mut Evaluation<'_, 's>, term: TermId) -> TermId;

    /// The results of a warp instruction that the original does not have, if they are known; otherwise
    /// it is an event like any other.
    fn rewritten_only<'i>(
        &mut self,
        at: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
        guard: Option<TermId>,
    ) -> Option<Results<'i, 's>>;

    /// Whether two terms are shown to be equal here, if something else is known.
    fn is_equal(
        &mut self,
        at: &mut Evaluation<'_, 's>,
        claim: (TermId, TermId),
        known: &[TermId],
    ) -> bool;

    /// Notes that a lane may wait here for an action of another one.
    fn may_wait(&mut self);
}

/// The values of the carried registers and the versions of memory at the end of a block.
#[derive(Clone)]
pub(crate) struct Exit {
    pub state: Box<[TermId]>,
    pub memory: Memory,
}

/// The state of an evaluation, at some instruction of some block.
pub(crate) struct Evaluation<'a, 's> {
    pub program: &'a Program<'a, 's>,
    pub terms: &'a mut Terms,
    /// The original, if the rewritten program is evaluated.
    pub reference: Option<&'a Reference<'a, 's>>,
    /// How arrays in shared memory are laid out, if the rewritten program is evaluated and one is laid out anew.
    pub layouts: Option<&'a Layouts>,
    pub oracle: Option<&'a mut (dyn Oracle<'s> + 'a)>,
    /// The condition code register, as the last instruction with `.cc` left it.
    pub carry: Option<TermId>,
    pub memory: Memory,
    pub block: BlockId,
    /// Index of the current instruction.
    pub at: InstId,
    pub out: Execution,
    /// The values of the carried registers at the current instruction.
    pub state: Vec<TermId>,
    /// The values of the registers that are written once, by register.
    pub single: TiVec<RegisterId, Option<TermId>>,
    /// The states at the ends of the blocks that have been visited.
    pub exits: TiVec<BlockId, Option<Exit>>,
    /// The values of the header's symbols before the loop, until the latches are known.
    pub entered: FxHashMap<LoopId, (TermId, Vec<LoopValue>)>,
}

impl<'s> Evaluation<'_, 's> {
    /// The oracle's answer, if there is an oracle.
    pub(crate) fn ask_oracle<T>(
        &mut self,
        ask: impl FnOnce(&mut dyn Oracle<'s>, &mut Self) -> T,
    ) -> Option<T> {
        let oracle = self.oracle.take()?;
        let answer = ask(oracle, self);
        self.oracle = Some(oracle);
        Some(answer)
    }

    /// The innermost loop around the block that is being visited.
    pub(crate) fn here(&self) -> Option<LoopId> {
        self.program.loop_of(self.block).filter(|_| !self.program.irreducible)
    }

    pub(crate) fn width(&self, register: RegisterId) -> u8 {
        self.program.flow.registers[register].ty.bits().min(64) as u8
    }

    /// The condition under which the block that is being visited is reached.
    pub(crate) fn path(&self) -> Option<TermId> {
        self.out.path[self.block]
    }

    /// The condition under which the instruction being evaluated is executed.
    pub(crate) fn condition(&mut self, guard: Option<TermId>) -> TermId {
        let path = self.path().unwrap_or_else(|| self.terms.arena.boolean(true));
        match guard {
            None => path,
            Some(guard) => self.terms.arena.and(path, guard),
        }
    }

    /// The instruction of the original that the current one is matched with; in the original the
    /// current one itself.
    pub(crate) fn matched(&self) -> Option<InstId> {
        match self.reference {
            None => Some(self.at),
            Some(reference) => reference.matched[self.at],
        }
    }

    /// A register's value at the current instruction.
    pub(crate) fn read(&mut self, register: RegisterId) -> TermId {
        match self.program.slots[register] {
            Slot::LoopCarried(index) => self.state[index as usize],
            Slot::Single => match self.single[register] {
                Some(term) => term,
                None => self.unwritten(register),
            },
        }
    }

    pub(crate) fn unwritten(&mut self, register: RegisterId) -> TermId {
        let key = self.program.keys[register].clone();
        let known = self.reference.is_none_or(|r| r.program.by_key.contains_key(&key));
        let side = if known { Side::Original } else { Side::Rewritten };
        let width = self.width(register);
        self.terms.symbol(Kind::Unwritten(side, key.0, key.1), width, None)
    }

    /// `if condition then a else b`, where `a` is simplified by the condition and `b` by its negation.
    pub(crate) fn select(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        let arena = &mut self.terms.arena;
        let a = conditions::under(arena, a, condition, true);
        let b = conditions::under(arena, b, condition, false);
        arena.if_then_else(condition, a, b)
    }

    /// Gives a register a value, under the instruction's guard predicate.
    pub(crate) fn write(&mut self, register: RegisterId, term: TermId, guard: Option<TermId>) {
        let term = match guard {
            None => term,
            Some(guard) => {
                let old = self.read(register);
                self.select(guard, term, old)
            }
        };
        let term =
            self.ask_oracle(|oracle, here| oracle.unify(here, register, term)).unwrap_or(term);
        match self.program.slots[register] {
            Slot::Single => self.single[register] = Some(term),
            Slot::LoopCarried(index) => self.state[index as usize] = term,
        }
        self.out.definitions.insert((self.at, register), term);
    }

    /// Makes a new version of a window, under a guard predicate; returns the version before and the new one.
    pub(crate) fn change(&mut self, window: Window, guard: Option<TermId>) -> (TermId, TermId) {
        let splits = self.reference.map_or(&[][..], |reference| reference.splits);
        let mut ends = splits.iter().filter_map(|split| split.ends());
        let last = ends.find(|(end, _)| *end == self.at).map(|(_, original)| original);
        let origin = match self.matched().or(last) {
            Some(original) => Origin::Event(original),
            None => Origin::RewrittenOnly(self.at),
        };
        let version = self.terms.symbol(Kind::Memory(window, origin), 32, self.here());
        let before = self.memory[window as usize];
        self.memory[window as usize] = match guard {
            None => version,
            Some(guard) => self.select(guard, version, before),
        };
        (before, version)
    }

    /// The symbol of a register at a loop's header: that of the original's register that it is paired with,
    /// unless the two are known to differ.
    pub(crate) fn phi(&self, id: LoopId, register: RegisterId) -> Kind {
        let Some(reference) = self.reference else {
            return Kind::Phi(Side::Original, id, register.0);
        };
        let named = match reference.paired {
            Some(paired) => paired.get(&HeaderRegister { id, register }).copied(),
            None => {
                let key = &self.program.keys[register];
                reference.program.by_key.get(key).copied()
            }
        };
        let counterpart = named.filter(|other| {
            let changed = match reference.program.loops.get(id) {
                Some(changes) => changes.registers.binary_search(other).is_ok(),
                None => reference.program.carried.contains(other),
            };
            changed && !reference.split.contains(&HeaderRegister { id, register })
        });
        match counterpart {
            Some(other) => Kind::Phi(Side::Original, id, other.0),
            None => Kind::Phi(Side::Rewritten, id, register.0),
        }
    }
}
