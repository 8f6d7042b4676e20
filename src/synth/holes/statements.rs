//! Cells as the statements of a [`Program`]: one for all cells that a hole chooses, or a hole of conditions decides about.

use super::cells::{Refused, Slot, Virtual, refused};
use super::hole::{Holes, Kind, Use};
use super::staged::{self, Staged};
use crate::source::Span;
use crate::synth::family::{Family, Request};
use crate::synth::program::{
    self, CellId, Edge, Goal, Guard, HoleId, Made, Measure, Price, Program, Statement,
};
use crate::synth::term::{Fold, TermId};

/// The most ways of values through all statements.
const MOST_EDGES: usize = 1 << 21;

/// The problem to solve.
#[derive(Debug)]
pub(super) enum Problem {
    /// Statement by statement.
    Program(Program),
    /// All steps at once.
    Staged(Staged),
}

/// The group of cells that one statement makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Group {
    Move(usize),
    /// A fold with conditions: the least of its holes.
    Guarded(usize),
    /// A fold without conditions, by its depth and its operator.
    Plain(usize, u8),
}

/// Cells, each behind those that it is made of.
pub(super) struct Lowered<'l> {
    /// The holes.
    pub holes: &'l Holes,
    /// The terms and the inputs; the rest is made here.
    pub program: Program,
    /// The cells.
    pub cells: Vec<Virtual>,
}

impl Lowered<'_> {
    /// Groups the cells into statements, orders these, and numbers the cells.
    pub(super) fn finish(
        mut self,
        goals: Vec<(u32, TermId, String)>,
        space: u8,
        spec: Span,
    ) -> Result<Problem, Refused> {
        let together = self.together();
        let (group, before) = self.groups(&together);
        let order = match order(&group, &before) {
            Ok(order) => order,
            Err(left) => {
                if let Some((index, condition)) = staged::shape(self.holes) {
                    self.holes_of(space)?;
                    let Lowered { program, cells, .. } = self;
                    let goals = goals.into_iter().map(|(cell, term, _)| (cell, term)).collect();
                    let staged = Staged { program, cells, goals, index, condition };
                    return Ok(Problem::Staged(staged));
                }
                let hole = left.iter().find_map(|group| match group {
                    Group::Move(hole) | Group::Guarded(hole) => Some(*hole),
                    Group::Plain(..) => None,
                });
                let message = "this hole chooses among values that it has chosen itself, and there are other holes; \
                               give the hole of each step a number of its own";
                return refused(hole, message);
            }
        };
        self.holes_of(space)?;
        // Inputs first, then statement by statement.
        let mut number: Vec<CellId> = vec![CellId::UNDEFINED; self.cells.len()];
        for (at, cell) in self.cells.iter().enumerate() {
            if let Virtual::Initial(term) = cell {
                number[at] = self.program.initial.push_and_get_key(*term);
            }
        }
        let mut cells = self.program.initial.len();
        let mut edges_left = MOST_EDGES;
        for own in order {
            let members: Vec<usize> =
                (0..self.cells.len()).filter(|&at| group[at] == Some(own)).collect();
            let made = Made { first: cells.into(), count: members.len() as u32 };
            for &at in &members {
                number[at] = cells.into();
                cells += 1;
            }
            let statement = self.statement(own, &members, &number, made, &mut edges_left)?;
            self.program.statements.push(statement);
        }
        self.program.cells = cells;
        for (cell, term, name) in goals {
            let cell = number[cell as usize];
            self.program.goals.push(Goal { cell, term, name, span: spec });
        }
        Ok(Problem::Program(self.program))
    }

    /// For each hole the least of those whose conditions belong together: those of one fold do.
    fn together(&self) -> Vec<usize> {
        let mut root: Vec<usize> = (0..self.holes.holes.len()).collect();
        let find = |root: &[usize], mut at: usize| {
            while root[at] != at {
                at = root[at];
            }
            at
        };
        for cell in &self.cells {
            if let Virtual::Fold(_, slots) = cell {
                for pair in self.guards(slots).windows(2) {
                    let [a, b] = [find(&root, pair[0]), find(&root, pair[1])];
                    root[a.max(b)] = a.min(b);
                }
            }
        }
        (0..root.len()).map(|hole| find(&root, hole)).collect()
    }

    /// The holes of a fold's conditions.
    fn guards(&self, slots: &[Slot]) -> Vec<usize> {
        let guards = slots.iter().filter_map(|slot| slot.guard);
        guards.map(|point| self.holes.place(point).0).collect()
    }

    /// The group of each cell, and the pairs of a group and another one that is made of it.
    fn groups(&self, together: &[usize]) -> (Vec<Option<Group>>, Vec<(Group, Group)>) {
        let mut depth = vec![0usize; self.cells.len()];
        let mut group: Vec<Option<Group>> = vec![None; self.cells.len()];
        let mut before: Vec<(Group, Group)> = Vec::new();
        for at in 0..self.cells.len() {
            let (sources, own): (Vec<u32>, Option<Group>) = match &self.cells[at] {
                Virtual::Initial(_) => (Vec::new(), None),
                Virtual::Move(point, sources) => {
                    (sources.clone(), Some(Group::Move(self.holes.place(*point).0)))
                }
                Virtual::Fold(op, slots) => {
                    let sources: Vec<u32> =
                        slots.iter().flat_map(|slot| slot.factors.clone()).collect();
                    let deep = sources.iter().map(|&s| depth[s as usize] + 1).max().unwrap_or(0);
                    let own = match self.guards(slots).first() {
                        Some(&hole) => Group::Guarded(together[hole]),
                        None => Group::Plain(deep, *op as u8),
                    };
                    (sources, Some(own))
                }
            };
            depth[at] = sources.iter().map(|&s| depth[s as usize] + 1).max().unwrap_or(0);
            group[at] = own;
            if let Some(own) = own {
                before.extend(sources.iter().filter_map(|&s| Some((group[s as usize]?, own))));
            }
        }
        before.sort_unstable();
        before.dedup();
        (group, before)
    }

    fn statement(
        &self,
        own: Group,
        members: &[usize],
        number: &[CellId],
        made: Made,
        edges_left: &mut usize,
    ) -> Result<Statement, Refused> {
        if let Group::Move(hole) = own {
            let mut edges = Vec::new();
            for &at in members {
                let Virtual::Move(point, sources) = &self.cells[at] else { continue };
                let (_, point) = self.holes.place(*point);
                for (value, &source) in sources.iter().enumerate() {
                    let (source, target) = (number[source as usize], number[at]);
                    edges.push(Edge { source, target, point, value: value as u8 });
                }
            }
            *edges_left = match edges_left.checked_sub(edges.len()) {
                Some(left) => left,
                None => return refused(Some(hole), "too many values could come through this hole"),
            };
            edges.sort_by_key(|edge| edge.source);
            return Ok(Statement::Move { hole: hole.into(), scatter: false, edges, made });
        }
        let mut holes: Vec<HoleId> = Vec::new();
        let mut lists = Vec::new();
        let mut operator = None;
        for &at in members {
            let Virtual::Fold(op, slots) = &self.cells[at] else { continue };
            if *operator.get_or_insert(*op) != *op {
                let Group::Guarded(hole) = own else { continue };
                return refused(Some(hole), "this hole decides about operations of two kinds");
            }
            let mut list = Vec::new();
            for slot in slots {
                let guard = match slot.guard {
                    None => Guard::Always,
                    Some(point) => {
                        let (hole, point) = self.holes.place(point);
                        let hole = HoleId::from(hole);
                        if !holes.contains(&hole) {
                            holes.push(hole);
                        }
                        Guard::Hole(hole, point)
                    }
                };
                let factors = slot.factors.iter().map(|&f| number[f as usize]).collect();
                list.push(program::Slot { factors, guard });
            }
            lists.push(list);
        }
        holes.sort_unstable();
        Ok(Statement::Fold { op: operator.unwrap_or(Fold::Sum), holes, slots: lists, made })
    }

    /// The holes of the program.
    fn holes_of(&mut self, space: u8) -> Result<(), Refused> {
        let mut cells: Vec<usize> = vec![0; self.holes.holes.len()];
        for cell in &self.cells {
            if let Virtual::Move(point, _) = cell {
                cells[self.holes.place(*point).0] += 1;
            }
        }
        for (number, hole) in self.holes.holes.iter().enumerate() {
            let coordinates = hole.coordinates();
            let points = hole.extents[0] * hole.extents[1];
            let times = (cells[number] / points.max(1)).max(1) as u32;
            let price = match (hole.kind, hole.used) {
                (Kind::Condition, _) => Price::Accumulates(1),
                (_, Some(Use::Shuffle)) => Price::Shuffles(times),
                (_, Some(Use::Address)) => Price::Loads(times),
                _ => Price::Selects(times),
            };
            let (extents, values) = (hole.extents, hole.values);
            let request = Request { extents, values, space, names: &coordinates };
            let family =
                Family::named(hole.family, &request, &[]).expect("each function has a family");
            let span = hole.span;
            self.program.holes.push(program::Hole {
                span,
                family,
                coordinates,
                extents,
                values,
                price,
            });
        }
        self.program.order = Measure::ALL.map(|(_, measure)| measure)[..4].to_vec();
        Ok(())
    }
}

/// The groups, each behind its parts; `Err` has the groups that are parts of each other.
fn order(group: &[Option<Group>], before: &[(Group, Group)]) -> Result<Vec<Group>, Vec<Group>> {
    let mut left: Vec<Group> = Vec::new();
    for own in group.iter().flatten() {
        if !left.contains(own) {
            left.push(*own);
        }
    }
    let mut order: Vec<Group> = Vec::new();
    while !left.is_empty() {
        let ready = left.iter().position(|own| {
            before.iter().all(|(first, then)| then != own || order.contains(first))
        });
        let Some(at) = ready else { return Err(left) };
        order.push(left.remove(at));
    }
    Ok(order)
}
