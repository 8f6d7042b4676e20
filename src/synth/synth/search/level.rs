//! Facts about choices and goals that are computed before the search begins.
//!
//! A *sink* is a goal cell with its required contents: a single value for a movement, a multiset for a fold. A *demand*
//! is one value that a statement has to put into a set of cells, because each of its paths to its sink leads through
//! that set.

use typed_index_collections::TiVec;

use super::sets::SetId;
use crate::synth::program::{CellId, Edge, Guard, HoleId, Program, Slot, Statement};
use crate::synth::term::{Fold, TermId};

/// The number of a demand of one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DemandId(u32);

/// The number of a sink.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SinkId(u32);

/// The number of a slot of one sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotId(u32);

table_ids!(DemandId, SinkId, SlotId);

/// One choice.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// The statement.
    pub statement: usize,
    /// The hole.
    pub hole: HoleId,
    /// Demands that do not depend on earlier choices.
    pub demands: TiVec<DemandId, Demand>,
    /// Sinks whose demands depend on earlier choices.
    pub dynamic: Vec<Dynamic>,
    /// Cells that every solution uses, with the terms they may hold.
    pub used: Vec<Used>,
    /// See [`crate::synth::family::Wanted`].
    pub first_differ: bool,
    /// The same for the second coordinate.
    pub second_differ: bool,
    /// Folds that are complete after this choice.
    pub folds: Vec<usize>,
    /// Sinks whose values are complete after this choice.
    pub complete: Vec<SinkId>,
    /// More values than there are cells for them: (values, cells), and a sink that wants one of them.
    pub crowded: Option<(usize, usize, SinkId)>,
}

/// A value that has to come into a set.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// The value.
    pub term: TermId,
    /// Cells of the statement.
    pub via: SetId,
    /// Cells from which it can come to the sink without this statement.
    pub around: Vec<CellId>,
    /// In how many cells it has to be.
    pub copies: u32,
    /// The sink that wants it.
    pub sink: SinkId,
}

/// A sink with some factors that are known when a choice is made, and exactly one unknown factor in each slot.
#[derive(Clone, Debug)]
pub(super) struct Dynamic {
    /// The sink.
    pub sink: SinkId,
    /// For each slot: known factors, and the set of cells of the statement through which the other can come.
    pub slots: TiVec<SlotId, (Vec<CellId>, SetId)>,
    /// Each element split into one factor (second) and the product of the others (first).
    pub splits: Vec<Vec<(TermId, TermId)>>,
}

/// A cell that is surely used, with the terms that it may hold, sorted.
#[derive(Clone, Debug)]
pub(super) struct Used {
    /// The edges into the cell.
    pub edges: Vec<Edge>,
    /// The terms it may hold: an index into [`Plan::allowed`].
    pub allowed: usize,
}

/// A goal cell and its required contents.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    /// The number of the goal.
    pub goal: usize,
    /// The operator; a movement is a sum of one value.
    pub op: Fold,
    /// The slots that values come in by.
    pub slots: Vec<Slot>,
    /// The required values, each with its multiplicity.
    pub elements: Vec<(TermId, u32)>,
    /// Whether values of other folds come in, so that nothing is known about elements.
    pub opaque: bool,
    /// The fold, if it is one.
    pub fold: Option<usize>,
}

impl Level {
    /// A choice without any facts.
    pub(super) fn new(statement: usize, hole: HoleId) -> Level {
        Level {
            statement,
            hole,
            demands: TiVec::new(),
            dynamic: Vec::new(),
            used: Vec::new(),
            first_differ: false,
            second_differ: false,
            folds: Vec::new(),
            complete: Vec::new(),
            crowded: None,
        }
    }
}

/// The goals as sinks.
pub(super) fn sinks(program: &Program) -> TiVec<SinkId, Sink> {
    let fold_of = |cell: CellId| {
        program.statements.iter().position(|statement| {
            matches!(statement, Statement::Fold { .. }) && statement.made().has(cell)
        })
    };
    program
        .goals
        .iter()
        .enumerate()
        .map(|(number, goal)| {
            let fold = fold_of(goal.cell);
            let (op, slots) = match fold.map(|fold| &program.statements[fold]) {
                Some(Statement::Fold { op, slots, made, .. }) => {
                    (*op, slots[made.place(goal.cell)].clone())
                }
                _ => (Fold::Sum, vec![Slot { factors: vec![goal.cell], guard: Guard::Always }]),
            };
            let mut elements: Vec<(TermId, u32)> = Vec::new();
            let values = match fold {
                Some(_) => program.terms.values(op, goal.term),
                None => vec![goal.term],
            };
            for value in values {
                match elements.last_mut() {
                    Some((term, count)) if *term == value => *count += 1,
                    _ => elements.push((value, 1)),
                }
            }
            let mixed = fold.is_none()
                && matches!(program.terms.node(goal.term), crate::synth::term::Node::Fold(..));
            Sink { goal: number, op, slots, elements, opaque: mixed, fold }
        })
        .collect()
}
