//! One thread's part of the search: what cells hold under the choices made so far, and what that means for the
//! next choice.

use typed_index_collections::{TiVec, ti_vec};

use super::level::{Level, Sink, Used};
use super::plan::Plan;
use super::sets;
use super::ways::Ways;
use crate::synth::program::{Guard, HoleId, Program, Slot, Statement};
use crate::synth::term::{Fold, Term, Terms, UNDEFINED};

/// No entry of a list.
const NONE: u32 = u32::MAX;

/// Why a choice cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The demand of the level with this number has no way.
    Demand(usize),
    /// The sink with this number misses this term.
    Sink(usize, Term),
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
    /// What each cell holds.
    holds: Vec<Term>,
    /// The table of each hole.
    pub tables: TiVec<HoleId, Vec<u8>>,
    /// The order in which demands are looked at: what failed last comes first.
    order: Vec<Vec<u32>>,
    /// For each term the first entry of a list of places, valid while its stamp is the current one.
    heads: Vec<(u32, u32)>,
    stamp: u32,
    /// The next entry of each list.
    next: Vec<u32>,
    /// Counts of terms, all 0 between uses.
    counts: Vec<i32>,
}

impl<'p> Worker<'p> {
    /// A thread without choices.
    pub(super) fn new(program: &'p Program, plan: &'p Plan) -> Worker<'p> {
        let mut holds = program.initial.clone();
        holds.resize(program.cells, UNDEFINED);
        let order = plan.levels.iter().map(|level| (0..level.demands.len() as u32).collect());
        Worker {
            program,
            plan,
            terms: program.terms.clone(),
            holds,
            tables: ti_vec![Vec::new(); program.holes.len()],
            order: order.collect(),
            heads: Vec::new(),
            stamp: 0,
            next: vec![NONE; program.cells],
            counts: Vec::new(),
        }
    }

    /// Does what needs no choice.
    pub(super) fn begin(&mut self) -> Result<(), Reason> {
        let plan = self.plan;
        self.evaluate(&plan.first_folds, &plan.first_sinks)
    }

    /// The table that was chosen for a level: computes what follows from it.
    pub(super) fn choose(&mut self, level: &'p Level, table: &[u8]) -> Result<(), Reason> {
        let own = &mut self.tables[level.hole];
        own.clear();
        own.extend_from_slice(table);
        if let Statement::Move { scatter, edges, made, .. } =
            &self.program.statements[level.statement]
        {
            let values = self.program.holes[level.hole].values;
            if *scatter {
                let range = made.first as usize..(made.first + made.count) as usize;
                self.holds[range].fill(UNDEFINED);
                for ways in edges.chunks(values) {
                    let edge = ways[usize::from(table[ways[0].point as usize])];
                    let value = self.holds[edge.source as usize];
                    let old = &mut self.holds[edge.target as usize];
                    if *old != UNDEFINED {
                        return Err(Reason::Overlap);
                    }
                    *old = value;
                }
            } else {
                for ways in self.plan.incoming[level.statement].chunks(values) {
                    let edge = ways[usize::from(table[ways[0].point as usize])];
                    self.holds[edge.target as usize] = self.holds[edge.source as usize];
                }
            }
        }
        self.evaluate(&level.folds, &level.complete)
    }

    fn evaluate(&mut self, folds: &[usize], sinks: &[usize]) -> Result<(), Reason> {
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
                let values: Vec<Term> = self.taking_part(slots).collect();
                let values: Vec<Term> =
                    values.into_iter().map(|at| self.product(&slots[at as usize])).collect();
                self.holds[made.first as usize + at] = self.terms.fold(*op, &values);
            }
        }
        for &number in sinks {
            let sink = &plan.sinks[number];
            let goal = &program.goals[sink.goal];
            let right = match sink.fold {
                Some(_) if !self.loose(sink) => self.exactly(sink),
                _ => self.holds[goal.cell as usize] == goal.term,
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
    fn taking_part<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = u32> + 'a {
        (0..slots.len() as u32).filter(|&at| match slots[at as usize].guard {
            Guard::Always => true,
            Guard::Hole(hole, point) => self.tables[hole][point as usize] == 1,
        })
    }

    pub(super) fn product(&mut self, slot: &Slot) -> Term {
        match *slot.factors {
            [only] => self.holds[only as usize],
            [a, b] => {
                let factors = [self.holds[a as usize], self.holds[b as usize]];
                self.terms.product(&factors)
            }
            _ => {
                let factors: Vec<Term> =
                    slot.factors.iter().map(|&cell| self.holds[cell as usize]).collect();
                self.terms.product(&factors)
            }
        }
    }

    pub(super) fn count(&mut self, term: Term) -> &mut i32 {
        if self.counts.len() <= term as usize {
            self.counts.resize(self.terms.count().max(term as usize + 1), 0);
        }
        &mut self.counts[term as usize]
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
                Guard::Hole(hole, point) => self.tables[hole][point as usize] == 1,
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

    /// What a level's points may be, given the choices before it.
    pub(super) fn masks(&mut self, level: usize) -> Result<Vec<u64>, Reason> {
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

    fn clear_heads(&mut self) {
        self.heads.resize(self.terms.count(), (0, NONE));
        self.stamp += 1;
    }

    fn head(&self, term: Term) -> u32 {
        match self.heads.get(term as usize) {
            Some(&(stamp, head)) if stamp == self.stamp => head,
            _ => NONE,
        }
    }

    fn push(&mut self, term: Term, at: u32) {
        self.next[at as usize] = self.head(term);
        self.heads[term as usize] = (self.stamp, at);
    }

    fn movement(&mut self, number: usize, level: &Level, masks: &mut [u64]) -> Result<(), Reason> {
        let plan = self.plan;
        self.clear_heads();
        for (cell, &(start, end)) in (0..).zip(&plan.outgoing[level.statement]) {
            let term = self.holds[cell as usize];
            if start != end && term != UNDEFINED {
                self.push(term, cell);
            }
        }
        let mut order = std::mem::take(&mut self.order[number]);
        let done = loop {
            let mut changed = false;
            let failed = order.iter().position(|&demand| {
                let demand = &level.demands[demand as usize];
                if demand.around.iter().any(|&cell| self.holds[cell as usize] == demand.term) {
                    return false;
                }
                let mut ways = Ways::new(demand.copies);
                self.ways(
                    level.statement,
                    demand.term,
                    &plan.sets[demand.via as usize],
                    masks,
                    &mut ways,
                );
                ways.several &= !planted!(Bug::FirstWayOnly);
                !ways.apply(masks, &mut changed)
            });
            if let Some(at) = failed {
                let demand = order[at];
                order.copy_within(0..at, 1);
                order[0] = demand;
                break Err(Reason::Demand(demand as usize));
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

    /// Adds the ways of a term through a set of cells.
    fn ways(&self, statement: usize, term: Term, via: &[u64], masks: &[u64], ways: &mut Ways) {
        let Statement::Move { edges, .. } = &self.program.statements[statement] else { return };
        let mut cell = self.head(term);
        while cell != NONE {
            let (start, end) = self.plan.outgoing[statement][cell as usize];
            for edge in &edges[start as usize..end as usize] {
                if masks[edge.point as usize] >> edge.value & 1 == 1
                    && sets::has(via, edge.target)
                    && ways.add(edge.point, edge.value, edge.target)
                {
                    return;
                }
            }
            cell = self.next[cell as usize];
        }
    }

    /// Used cells hold nothing but what they may; false if one can hold nothing.
    fn restrict(&self, used: &[Used], masks: &mut [u64], changed: &mut bool) -> bool {
        used.iter().all(|Used { edges, allowed }| {
            let allowed = &self.plan.allowed[*allowed];
            let Some(point) = edges.first().map(|edge| edge.point as usize) else { return true };
            let mut possible = 0u64;
            for edge in edges {
                let term = self.holds[edge.source as usize];
                let known = (term as usize) < allowed.len() * 64 && sets::has(allowed, term);
                possible |= u64::from(known) << edge.value;
            }
            let new = masks[point] & possible;
            *changed |= new != masks[point];
            masks[point] = new;
            new != 0
        })
    }

    /// Demands of sinks of which all factors but one are known.
    fn dynamic(&mut self, level: &Level, masks: &mut [u64]) -> Result<(), Reason> {
        let (program, plan) = (self.program, self.plan);
        let first = program.statements[level.statement].made().first;
        let values = program.holes[level.hole].values;
        let incoming = &plan.incoming[level.statement];
        loop {
            let mut changed = false;
            for dynamic in &level.dynamic {
                let sink = &plan.sinks[dynamic.sink as usize];
                let known: Vec<Term> = dynamic
                    .slots
                    .iter()
                    .map(|(cells, _)| {
                        let known: Vec<Term> =
                            cells.iter().map(|&cell| self.holds[cell as usize]).collect();
                        self.terms.product(&known)
                    })
                    .collect();
                self.clear_heads();
                if self.next.len() < known.len() {
                    self.next.resize(known.len(), NONE);
                }
                for (slot, &term) in known.iter().enumerate().filter(|(_, t)| **t != UNDEFINED) {
                    self.push(term, slot as u32);
                }
                for ((element, _), splits) in sink.elements.iter().zip(&dynamic.splits) {
                    let mut ways = Ways::new(1);
                    'ways: for &(known, rest) in splits {
                        let mut slot = self.head(known);
                        while slot != NONE {
                            let via = &plan.sets[dynamic.slots[slot as usize].1 as usize];
                            for target in sets::cells(via) {
                                let at = (target - first) as usize * values;
                                for edge in &incoming[at..at + values] {
                                    if masks[edge.point as usize] >> edge.value & 1 == 1
                                        && self.holds[edge.source as usize] == rest
                                        && ways.add(edge.point, edge.value, edge.target)
                                    {
                                        break 'ways;
                                    }
                                }
                            }
                            slot = self.next[slot as usize];
                            if planted!(Bug::OneKnownSlot) {
                                break;
                            }
                        }
                    }
                    if !ways.apply(masks, &mut changed) {
                        return Err(Reason::Sink(dynamic.sink as usize, *element));
                    }
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }
}
