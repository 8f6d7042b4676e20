//! One thread's part of the search: the cells' values under the choices so far, and their consequences for the next
//! choice.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::bits::Bits;
use super::chains::Chains;
use super::level::{DemandId, Level, Sink, SinkId, SlotId, Used};
use super::plan::Plan;
use super::sets::Masks;
use super::supports::Supports;
use crate::synth::program::{CellId, Guard, HoleId, PointId, Program, Slot, Statement, Table};
use crate::synth::term::{Fold, TermId, Terms, UNDEFINED};

/// Why a choice cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The demand of the level with this number has no way.
    Demand(DemandId),
    /// The sink with this number misses this term.
    Sink(SinkId, TermId),
    /// The level is crowded.
    Crowded,
    /// Two values of a scatter go to one cell.
    Overlap,
}

/// The state of one thread.
pub(super) struct Worker<'p> {
    pub(super) program: &'p Program,
    pub(super) plan: &'p Plan,
    terms: Terms,
    /// The value of each cell.
    holds: TiVec<CellId, TermId>,
    /// The table of each hole.
    pub tables: TiVec<HoleId, Table>,
    /// The order in which demands are checked: the one that failed last comes first.
    order: Vec<Vec<DemandId>>,
    /// The cells before a movement by the terms that they hold.
    cells: Chains<CellId>,
    /// The slots of a sink by the product of their known factors.
    slots: Chains<SlotId>,
    /// Counts of terms, all 0 between uses.
    counts: TiVec<TermId, i32>,
}

impl<'p> Worker<'p> {
    /// A thread without choices.
    pub(super) fn new(program: &'p Program, plan: &'p Plan) -> Worker<'p> {
        let mut holds = program.initial.clone();
        holds.resize(program.cells, UNDEFINED);
        let order = plan.levels.iter().map(|level| level.demands.keys().collect());
        Worker {
            program,
            plan,
            terms: program.terms.clone(),
            holds,
            tables: ti_vec![Table::new(); program.holes.len()],
            order: order.collect(),
            cells: Chains::new(),
            slots: Chains::new(),
            counts: TiVec::new(),
        }
    }

    /// Does what needs no choice.
    pub(super) fn begin(&mut self) -> Result<(), Reason> {
        let plan = self.plan;
        self.evaluate(&plan.first_folds, &plan.first_sinks)
    }

    /// Chooses a table for a level and computes the cells that follow from it.
    pub(super) fn choose(
        &mut self,
        level: &'p Level,
        table: &TiSlice<PointId, u8>,
    ) -> Result<(), Reason> {
        let own = &mut self.tables[level.hole];
        own.clear();
        own.extend_from_slice(table);
        if let Statement::Move { scatter, edges, made, .. } =
            &self.program.statements[level.statement]
        {
            let values = self.program.holes[level.hole].values;
            if *scatter {
                made.cells().for_each(|cell| self.holds[cell] = UNDEFINED);
                for supports in edges.chunks(values) {
                    let edge = supports[usize::from(table[supports[0].point])];
                    let value = self.holds[edge.source];
                    let old = &mut self.holds[edge.target];
                    if *old != UNDEFINED {
                        return Err(Reason::Overlap);
                    }
                    *old = value;
                }
            } else {
                for supports in self.plan.incoming[level.statement].chunks(values) {
                    let edge = supports[usize::from(table[supports[0].point])];
                    self.holds[edge.target] = self.holds[edge.source];
                }
            }
        }
        self.evaluate(&level.folds, &level.complete)
    }

    fn evaluate(&mut self, folds: &[usize], sinks: &[SinkId]) -> Result<(), Reason> {
        let (program, plan) = (self.program, self.plan);
        for &fold in folds {
            let Statement::Fold { op, slots, made, .. } = &program.statements[fold] else {
                continue;
            };
            let needed = plan.read[fold]
                || sinks.iter().any(|&sink| {
                    plan.sinks[sink].fold == Some(fold) && self.loose(&plan.sinks[sink])
                });
            for (at, slots) in slots.iter().enumerate().filter(|_| needed) {
                let slots: Vec<&Slot> = self.taking_part(slots).collect();
                let values: Vec<TermId> =
                    slots.into_iter().map(|slot| self.product(slot)).collect();
                self.holds[made.cell(at)] = self.terms.fold(*op, &values);
            }
        }
        for &number in sinks {
            let sink = &plan.sinks[number];
            let goal = &program.goals[sink.goal];
            let right = match sink.fold {
                Some(_) if !self.loose(sink) => self.exactly(sink),
                _ => self.holds[goal.cell] == goal.term,
            };
            if !right {
                return Err(Reason::Sink(number, goal.term));
            }
        }
        Ok(())
    }

    /// Whether a sink cannot be judged value by value.
    pub(super) fn loose(&self, sink: &Sink) -> bool {
        sink.op != Fold::Sum
            || self.program.statements.iter().enumerate().any(|(number, statement)| {
                // A value that is itself a fold may stand for several.
                matches!(statement, Statement::Fold { .. }) && self.plan.read[number]
            })
    }

    /// The slots whose condition holds.
    fn taking_part<'s>(&self, slots: &'s [Slot]) -> impl Iterator<Item = &'s Slot> {
        slots.iter().filter(|slot| match slot.guard {
            Guard::Always => true,
            Guard::Hole(hole, point) => self.tables[hole][point] == 1,
        })
    }

    pub(super) fn product(&mut self, slot: &Slot) -> TermId {
        match *slot.factors {
            [only] => self.holds[only],
            [a, b] => {
                let factors = [self.holds[a], self.holds[b]];
                self.terms.product(&factors)
            }
            _ => {
                let factors: Vec<TermId> =
                    slot.factors.iter().map(|&cell| self.holds[cell]).collect();
                self.terms.product(&factors)
            }
        }
    }

    pub(super) fn count(&mut self, term: TermId) -> &mut i32 {
        if self.counts.next_key() <= term {
            self.counts.resize(self.terms.count().max(usize::from(term) + 1), 0);
        }
        &mut self.counts[term]
    }

    /// Whether a sum holds what its goal wants.
    fn exactly(&mut self, sink: &Sink) -> bool {
        for &(term, count) in &sink.elements {
            *self.count(term) = count as i32;
        }
        let mut touched = Vec::new();
        let mut left: i32 = sink.elements.iter().map(|(_, count)| *count as i32).sum();
        let mut right = true;
        for slot in &sink.slots {
            let part = match slot.guard {
                Guard::Always => true,
                Guard::Hole(hole, point) => self.tables[hole][point] == 1,
            };
            if !part {
                continue;
            }
            let term = self.product(slot);
            touched.push(term);
            let count = self.count(term);
            *count -= 1;
            left -= 1;
            if *count < 0 && !planted!(Bug::CountOnly) {
                right = false;
                break;
            }
        }
        for &(term, _) in &sink.elements {
            *self.count(term) = 0;
        }
        for term in touched {
            *self.count(term) = 0;
        }
        right && left == 0
    }

    /// The possible values of a level's points, given the choices before it.
    pub(super) fn masks(&mut self, level: usize) -> Result<Masks, Reason> {
        let plan = self.plan;
        let own = &plan.levels[level];
        let mut masks = plan.supports[own.hole].clone();
        if own.crowded.is_some() {
            return Err(Reason::Crowded);
        }
        match &self.program.statements[own.statement] {
            Statement::Move { .. } => self.movement(level, own, &mut masks)?,
            Statement::Fold { .. } => self.conditions(own, &mut masks)?,
        }
        Ok(masks)
    }

    fn movement(
        &mut self,
        number: usize,
        level: &Level,
        masks: &mut TiSlice<PointId, u64>,
    ) -> Result<(), Reason> {
        let plan = self.plan;
        self.cells.clear(self.terms.count(), self.program.cells);
        for (cell, &(start, end)) in plan.outgoing[level.statement].iter_enumerated() {
            let term = self.holds[cell];
            if start != end && term != UNDEFINED {
                self.cells.push(term, cell);
            }
        }
        let mut order = std::mem::take(&mut self.order[number]);
        let done = loop {
            let mut changed = false;
            let failed = order.iter().position(|&demand| {
                let demand = &level.demands[demand];
                if demand.around.iter().any(|&cell| self.holds[cell] == demand.term) {
                    return false;
                }
                let mut supports = Supports::new(demand.copies);
                self.supports(
                    level.statement,
                    demand.term,
                    &plan.sets[demand.via],
                    masks,
                    &mut supports,
                );
                supports.several &= !planted!(Bug::FirstWayOnly);
                !supports.apply(masks, &mut changed)
            });
            if let Some(at) = failed {
                let demand = order[at];
                order.copy_within(0..at, 1);
                order[0] = demand;
                break Err(Reason::Demand(demand));
            }
            if !self.restrict(&level.used, masks, &mut changed) {
                break Err(Reason::Crowded);
            }
            if !changed {
                break Ok(());
            }
        };
        self.order[number] = order;
        done?;
        self.dynamic(level, masks)
    }

    /// Adds the supports of a term through a set of cells.
    fn supports(
        &self,
        statement: usize,
        term: TermId,
        via: &Bits<CellId>,
        masks: &TiSlice<PointId, u64>,
        supports: &mut Supports,
    ) {
        let Statement::Move { edges, .. } = &self.program.statements[statement] else { return };
        for cell in self.cells.of(term) {
            let (start, end) = self.plan.outgoing[statement][cell];
            for edge in &edges[start as usize..end as usize] {
                if masks[edge.point] >> edge.value & 1 == 1
                    && via.has(edge.target)
                    && supports.add(edge.point, edge.value, edge.target)
                {
                    return;
                }
            }
        }
    }

    /// Removes values with which a used cell would hold a term it may not; false if a cell has none left.
    fn restrict(
        &self,
        used: &[Used],
        masks: &mut TiSlice<PointId, u64>,
        changed: &mut bool,
    ) -> bool {
        used.iter().all(|Used { edges, allowed }| {
            let allowed = &self.plan.allowed[*allowed];
            let Some(point) = edges.first().map(|edge| edge.point) else { return true };
            let mut possible = 0u64;
            for edge in edges {
                let term = self.holds[edge.source];
                possible |= u64::from(allowed.has(term)) << edge.value;
            }
            let new = masks[point] & possible;
            *changed |= new != masks[point];
            masks[point] = new;
            new != 0
        })
    }

    /// Demands of sinks with exactly one unknown factor in each slot.
    fn dynamic(&mut self, level: &Level, masks: &mut TiSlice<PointId, u64>) -> Result<(), Reason> {
        let (program, plan) = (self.program, self.plan);
        let made = program.statements[level.statement].made();
        let values = program.holes[level.hole].values;
        let incoming = &plan.incoming[level.statement];
        loop {
            let mut changed = false;
            for dynamic in &level.dynamic {
                let sink = &plan.sinks[dynamic.sink];
                let known: TiVec<SlotId, TermId> = dynamic
                    .slots
                    .iter()
                    .map(|(cells, _)| {
                        let known: Vec<TermId> =
                            cells.iter().map(|&cell| self.holds[cell]).collect();
                        self.terms.product(&known)
                    })
                    .collect();
                self.slots.clear(self.terms.count(), known.len());
                for (slot, &term) in known.iter_enumerated().filter(|(_, t)| **t != UNDEFINED) {
                    self.slots.push(term, slot);
                }
                for ((element, _), splits) in sink.elements.iter().zip(&dynamic.splits) {
                    let mut supports = Supports::new(1);
                    'supports: for &(known, rest) in splits {
                        for slot in self.slots.of(known) {
                            let via = &plan.sets[dynamic.slots[slot].1];
                            for target in via.iter() {
                                let at = made.place(target) * values;
                                for edge in &incoming[at..at + values] {
                                    if masks[edge.point] >> edge.value & 1 == 1
                                        && self.holds[edge.source] == rest
                                        && supports.add(edge.point, edge.value, edge.target)
                                    {
                                        break 'supports;
                                    }
                                }
                            }
                            if planted!(Bug::OneKnownSlot) {
                                break;
                            }
                        }
                    }
                    if !supports.apply(masks, &mut changed) {
                        return Err(Reason::Sink(dynamic.sink, *element));
                    }
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }
}
