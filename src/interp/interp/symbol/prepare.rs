//! The steps before and behind a micro-operation in a frame with symbols.

use typed_index_collections::TiSlice;

use super::Symbols;
use super::lanes::may_round;
use super::value::{Symbol, Value};
use super::world::{State, World};
use crate::algebra::{Element, Format, Predicate, Truth};
use crate::interp::exec::AccessFault;
use crate::interp::poison::{Poison, Source, other_results, results, uses, whole};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Guard, MicroOp, Op, Pc};
use crate::interp::registers::{File, LANES, Mask, Registers, Slots, WarpOp, lanes};

/// How a micro-operation is executed.
pub(crate) enum Step {
    /// These lanes execute it.
    Lanes(Mask),
    /// The active lanes have executed it: their results are all symbols.
    Done,
    /// These lanes part from the others first.
    Part(Mask, Pc),
}

impl Poison {
    /// The value of a lane's register.
    pub(crate) fn value(&self, cell: Cell, lane: usize, registers: &Registers) -> Value {
        self.value_of(cell, lane, registers.get(cell.0, cell.1, lane))
    }

    /// The same, whose known parts are those of `bits`.
    pub(crate) fn value_of(&self, cell: Cell, lane: usize, bits: u64) -> Value {
        let poisoned = self.bits(cell, lane);
        if poisoned == 0 {
            return Value::known(bits);
        }
        let Some(symbols) = &self.symbols else { return Value::lost() };
        let mut value = Value::known(0);
        value.parts = symbols.parts(cell, lane);
        for (at, part) in value.parts.iter_mut().enumerate() {
            let own = 0xffff << (16 * at) & whole(cell.0);
            if poisoned & own == 0 {
                *part = Symbol::NONE;
            } else if poisoned & own != own || !part.is_some() {
                return Value::lost();
            }
        }
        let symbolic = value.symbolic(cell.0);
        value.bits = bits & !symbolic;
        value
    }

    /// The number that fills a lane's register, if it is a symbol, with its format.
    #[inline]
    pub(crate) fn number_in(&self, cell: Cell, lane: usize) -> Option<(Format, Element)> {
        let symbols = self.symbols.as_deref().filter(|_| self.lanes(cell) >> lane & 1 != 0)?;
        symbols.plane(cell)?.number(lane)
    }

    /// Writes a value to a lane's register.
    pub(crate) fn put(&mut self, cell: Cell, lane: usize, value: Value, registers: &mut Registers) {
        self.clear(cell, 1 << lane);
        if value.lost {
            let source = Source::symbol(self.site);
            self.add(cell, lane, whole(cell.0), source);
            return;
        }
        let symbolic = value.symbolic(cell.0);
        let old = registers.get(cell.0, cell.1, lane);
        registers.set(cell.0, cell.1, lane, old & symbolic | value.bits & !symbolic);
        if symbolic != 0 {
            let source = Source::symbol(self.site);
            self.add(cell, lane, symbolic, source);
            if let Some(symbols) = &mut self.symbols {
                symbols.set(cell, lane, &value.parts);
            }
        }
    }

    /// As [`Poison::prepare`], with symbols.
    ///
    /// # Errors
    /// A symbol, or poison, decides where lanes go on, which address they access, or what others see.
    pub(crate) fn prepare_symbols(
        &mut self,
        (code, pc): (&TiSlice<Pc, MicroOp>, Pc),
        registers: &mut Registers,
        (mask, active): (Mask, Mask),
        world: &World,
    ) -> Result<Step, AccessFault> {
        let micro = &code[pc];
        let mut executing = active;
        let guard = match micro.guard {
            Guard::Always => None,
            Guard::If(slot) => Some(((File::Pred, slot), false)),
            Guard::Unless(slot) => Some(((File::Pred, slot), true)),
        };
        let uncertain = guard.map_or(0, |(cell, _)| self.lanes(cell) & mask);
        if let (Some((cell, negated)), true) = (guard, uncertain != 0) {
            let mut predicates = [Predicate::default(); LANES];
            for lane in lanes(uncertain) {
                match self.value(cell, lane, registers).as_truth() {
                    Some(Truth::Open(predicate)) => {
                        let predicate = if negated { predicate.not() } else { predicate };
                        predicates[lane] = predicate;
                    }
                    _ => {
                        let what = "the predicate of this instruction";
                        return Err(AccessFault::poisoned(lane, what, self.source(cell, lane)));
                    }
                }
            }
            match &micro.op {
                Op::Branch { meet, .. } if uncertain != mask => {
                    return Ok(Step::Part(uncertain, *meet));
                }
                Op::Branch { target, meet } => {
                    let branch = ((code, pc), (*target, *meet));
                    if self.fork(branch.0, branch.1, (mask, predicates), registers) {
                        return Ok(Step::Lanes(mask));
                    }
                    let lane = mask.trailing_zeros() as usize;
                    let what = "whether this branch is taken";
                    return Err(AccessFault::poisoned(lane, what, self.source(cell, lane)));
                }
                op if results(op).is_some() || matches!(op, Op::Store(_)) => {
                    executing |= uncertain;
                    self.guard_by((op, uncertain), &predicates, registers);
                }
                _ => {
                    let lane = uncertain.trailing_zeros() as usize;
                    let what = "the predicate of this instruction";
                    return Err(AccessFault::poisoned(lane, what, self.source(cell, lane)));
                }
            }
        }
        let sums = matches!(&micro.op, Op::Atomic(atomic) if atomic.is_sum());
        for operand in uses(&micro.op) {
            let poisoned = self.lanes(operand.cell) & operand.lanes & executing;
            if sums && operand.what == crate::interp::poison::OPERAND {
                continue;
            }
            if let Some(lane) = lanes(poisoned).next() {
                let source = self.source(operand.cell, lane);
                return Err(AccessFault::poisoned(lane, operand.what, source));
            }
        }
        let is_done = self.compute(&micro.op, executing, registers, world);
        Ok(if is_done && executing == active { Step::Done } else { Step::Lanes(executing) })
    }

    /// Notes the guards of an operation that are symbols, and what its results overwrite.
    fn guard_by(
        &mut self,
        (op, uncertain): (&Op, Mask),
        predicates: &[Predicate; LANES],
        registers: &Registers,
    ) {
        for cell in results(op).unwrap_or_default() {
            for lane in lanes(uncertain) {
                let old = self.value(cell, lane, registers);
                if let Some(symbols) = &mut self.symbols {
                    symbols.guarded.push((cell, lane, predicates[lane], old));
                }
            }
        }
        if let Some(symbols) = &mut self.symbols {
            lanes(uncertain).for_each(|lane| symbols.guards[lane] = Some(predicates[lane]));
        }
    }

    /// Computes the results of a pure operation, or clears those of another one. Returns whether they are written, in all lanes.
    fn compute(&mut self, op: &Op, mask: Mask, registers: &mut Registers, world: &World) -> bool {
        match op {
            Op::Lanes(op, slots) => {
                let sources = op.s.iter().zip(slots.s);
                let sources = sources.filter_map(|(file, slot)| Some(((*file)?, slot)));
                let poisoned = sources.fold(0, |all, cell| all | self.lanes(cell)) & mask;
                if poisoned == 0 && !may_round(&op.meaning) {
                    self.clear_results((op, slots), mask);
                    return false;
                }
                let mut state = world.state();
                let done = self.numbers_of_lanes((op, slots), poisoned, &mut state);
                if done == mask {
                    return true;
                }
                let mask = mask & !done;
                let lost = self.symbols_of_lanes((op, slots), mask, registers, &mut state);
                let lost = if planted!(Bug::UnknownIsKnown) { 0 } else { lost };
                if lost != 0 {
                    self.lanes_op((op, slots), lost, registers);
                }
                self.clear_results((op, slots), mask & !lost);
            }
            Op::Scalar(scalar) => {
                let lost = self.symbols_of_scalar(scalar, mask, registers, &mut world.state());
                self.clear(scalar.d, mask);
                for lane in lanes(lost) {
                    let source = Source::symbol(self.site);
                    self.add(scalar.d, lane, whole(scalar.d.0), source);
                }
            }
            Op::CrossLane(cross_lane) if mask != 0 => {
                if !self.symbols_of_product(cross_lane, registers, &mut world.state()) {
                    self.cross_lane(cross_lane, registers);
                }
            }
            Op::IsSpace(p, a, _) => {
                let poisoned = self.lanes((File::W64, *a)) & mask;
                self.clear((File::Pred, *p), mask);
                self.fill((File::Pred, *p), poisoned, (File::W64, *a));
            }
            op => {
                let cells = results(op).unwrap_or_else(|| other_results(op));
                cells.iter().for_each(|&cell| self.clear(cell, mask));
            }
        }
        false
    }

    fn clear_results(&mut self, (op, slots): (&WarpOp, &Slots), mask: Mask) {
        for (file, &slot) in op.d.iter().zip(&slots.d) {
            if let Some(file) = *file {
                self.clear((file, slot), mask);
            }
        }
    }

    /// Writes the results that are symbols, behind a micro-operation.
    pub(crate) fn finish(&mut self, registers: &mut Registers, world: &World) {
        let Some(symbols) = &mut self.symbols else { return };
        if !symbols.numbers.is_empty() {
            let mut numbers = std::mem::take(&mut symbols.numbers);
            for (cell, lane, number) in numbers.drain(..) {
                self.put_number(cell, lane, number);
            }
            if let Some(symbols) = &mut self.symbols {
                symbols.numbers = numbers;
            }
        }
        let Some(symbols) = &mut self.symbols else { return };
        if symbols.results.is_empty() && symbols.guarded.is_empty() {
            symbols.guards = [None; LANES];
            return;
        }
        let mut results = std::mem::take(&mut symbols.results);
        let guarded = std::mem::take(&mut symbols.guarded);
        symbols.guards = [None; LANES];
        for &(cell, lane, value) in &results {
            self.put(cell, lane, value, registers);
        }
        results.clear();
        if let Some(symbols) = &mut self.symbols {
            symbols.results = results;
        }
        for (cell, lane, predicate, old) in guarded {
            let new = self.value(cell, lane, registers);
            let chosen = world.state().choice_of(cell.0, predicate, [new, old]);
            self.put(cell, lane, chosen, registers);
        }
    }

    /// Goes on where a branch on symbols meets, if it does here. Returns where the lanes go on instead.
    ///
    /// # Errors
    /// Only some of its lanes have come.
    #[inline]
    pub(crate) fn reach_symbols(
        &mut self,
        pc: Pc,
        mask: Mask,
        registers: &mut Registers,
        world: Option<&World>,
    ) -> Result<Option<Pc>, AccessFault> {
        match (&self.symbols, world) {
            (Some(symbols), Some(world)) if !symbols.forks.is_empty() => {
                self.join(pc, mask, registers, &mut world.state())
            }
            _ => Ok(None),
        }
    }

    /// Adds symbols that a load has brought to some parts of a lane's value; its other parts stay as they are.
    pub(crate) fn add_parts(
        &mut self,
        cell: Cell,
        lane: usize,
        (bits, source): (u64, Source),
        (first, parts): (usize, &[Symbol]),
    ) {
        if bits == 0 {
            return;
        }
        let old = self.bits(cell, lane);
        if let Some(symbols) = &mut self.symbols {
            if old == 0 {
                symbols.forget(cell, lane);
            }
            symbols.plane_mut(cell).set(lane, first, parts);
        }
        self.mark(cell, lane, old | bits & whole(cell.0), source);
    }

    /// Writes a number that fills a lane's register.
    #[inline]
    fn put_number(&mut self, cell: Cell, lane: usize, (format, element): (Format, Element)) {
        if let Some(symbols) = &mut self.symbols {
            symbols.plane_mut(cell).set_number(lane, format, element);
        }
        self.mark(cell, lane, whole(cell.0), Source::symbol(self.site));
    }

    /// Sets the symbols of a lane's value, whose poisoned bits are there already.
    pub(crate) fn set_parts(&mut self, cell: Cell, lane: usize, parts: &[Symbol]) {
        if let Some(symbols) = &mut self.symbols {
            symbols.set(cell, lane, parts);
        }
    }

    /// The condition under which a lane executes the present operation: none if always, and whether it can hold at all.
    pub(crate) fn condition(&self, state: &mut State, lane: usize) -> (Option<Predicate>, bool) {
        match self.symbols.as_deref().map(|symbols| symbols.condition(state, lane)) {
            Some(Condition::If(predicate)) => (Some(predicate), true),
            Some(Condition::Never) => (None, false),
            Some(Condition::Always) | None => (None, true),
        }
    }

    /// The lanes that execute the present operation under a condition.
    pub(crate) fn conditional(&self) -> Mask {
        self.symbols.as_deref().map_or(0, Symbols::conditional)
    }
}

/// When a lane executes an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    Always,
    If(Predicate),
    Never,
}

impl Symbols {
    /// The condition under which a lane executes the present operation.
    fn condition(&self, state: &mut State, lane: usize) -> Condition {
        let mut condition = Condition::Always;
        let forks = self.forks.iter().filter(|fork| fork.mask >> lane & 1 != 0);
        for predicate in forks.map(|fork| fork.predicate(lane)).chain(self.guards[lane]) {
            condition = match condition {
                Condition::Always => Condition::If(predicate),
                Condition::If(other) => match state.algebra.both(other, predicate) {
                    Truth::Known(true) => Condition::Always,
                    Truth::Known(false) => Condition::Never,
                    Truth::Open(both) => Condition::If(both),
                },
                Condition::Never => Condition::Never,
            };
        }
        condition
    }
}
