//! A sketch as a straight-line program over cells, the input of the search.
//!
//! A *cell* is one place of one array. CellId 0 is undefined. An array that a statement without hole makes
//! has no cells of its own: it names those of the array that it reads.

use typed_index_collections::TiVec;

use super::family::Family;
use super::term::{Fold, InputId, TermId, Terms};
use crate::source::Span;

/// The number of a cell: inputs come first, then the cells of each statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

impl CellId {
    /// The cell that holds nothing.
    pub const UNDEFINED: CellId = CellId(0);
}

/// One hole of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HoleId(pub u32);

/// The number of a point in the table of a hole: that of `(i, k)` is `k * extents[0] + i`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PointId(pub u32);

table_ids!(CellId, HoleId, PointId);

/// A value for each point of a hole.
pub type Table = TiVec<PointId, u8>;

/// Something to be found: a function of at most two coordinates.
#[derive(Clone, Debug)]
pub struct Hole {
    /// Its place in the text.
    pub span: Span,
    /// Its search space.
    pub family: Family,
    /// The names of its coordinates.
    pub coordinates: Vec<String>,
    /// The extents of its coordinates; 1 for one that is not there. The point of `(i, k)` is `k * extents[0] + i`.
    pub extents: [usize; 2],
    /// Values are below this number.
    pub values: usize,
    /// The price of a solution at this hole.
    pub price: Price,
}

impl Hole {
    /// How many points its table has.
    pub fn points(&self) -> usize {
        self.extents[0] * self.extents[1]
    }
}

/// The price of the choice for a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Price {
    /// A shuffle for each value of the second coordinate for which the table is not the identity, times this.
    Shuffles(u32),
    /// A load of an input for each value of the second coordinate, times this.
    Loads(u32),
    /// The selects that pick a register by a value that differs between lanes, times this.
    Selects(u32),
    /// An accumulate for each value of the second coordinate for which the condition holds anywhere, times this.
    Accumulates(u32),
}

/// One way of a value: from `source` to `target`, if the hole's table has `value` at `point`.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Where the value comes from.
    pub source: CellId,
    /// Where it goes.
    pub target: CellId,
    /// The point of the table.
    pub point: PointId,
    /// The table's value there.
    pub value: u8,
}

/// A condition of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The slot always takes part.
    Always,
    /// The slot takes part where the hole's table has 1 at the point.
    Hole(HoleId, PointId),
}

/// One product that takes part in a fold.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The cells that are multiplied.
    pub factors: Vec<CellId>,
    /// Whether it takes part.
    pub guard: Guard,
}

/// A statement that makes cells `first..first + count`.
#[derive(Clone, Debug)]
pub struct Made {
    /// The first cell.
    pub first: CellId,
    /// How many.
    pub count: u32,
}

impl Made {
    /// Whether the statement makes a cell.
    pub fn has(&self, cell: CellId) -> bool {
        cell >= self.first && cell.0 - self.first.0 < self.count
    }

    /// The cells.
    pub fn cells(&self) -> impl Iterator<Item = CellId> + use<> {
        (self.first.0..self.first.0 + self.count).map(CellId)
    }

    /// The cell at a place among them.
    pub fn cell(&self, place: usize) -> CellId {
        CellId(self.first.0 + place as u32)
    }

    /// The place of a cell among them. It must be one of them.
    pub fn place(&self, cell: CellId) -> usize {
        (cell.0 - self.first.0) as usize
    }
}

/// A statement that makes new cells.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A gather or scatter with a hole.
    Move {
        /// The hole.
        hole: HoleId,
        /// Whether the hole says where values go, not where they come from.
        scatter: bool,
        /// The edges, sorted by source.
        edges: Vec<Edge>,
        /// The cells.
        made: Made,
    },
    /// A fold; one cell for each list of slots.
    Fold {
        /// The operator.
        op: Fold,
        /// The holes of its conditions.
        holes: Vec<HoleId>,
        /// The slots of each cell.
        slots: Vec<Vec<Slot>>,
        /// The cells.
        made: Made,
    },
}

impl Statement {
    /// The cells that the statement makes.
    pub fn made(&self) -> &Made {
        match self {
            Statement::Move { made, .. } | Statement::Fold { made, .. } => made,
        }
    }
}

/// Objectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Accumulates that are not statically false.
    Accumulates,
    /// Shuffles.
    Shuffles,
    /// Loads whose index was found.
    Loads,
    /// Selects.
    Selects,
    /// All of them together.
    Instructions,
}

impl Measure {
    /// Each with its name.
    pub const ALL: [(&'static str, Measure); 5] = [
        ("accumulates", Measure::Accumulates),
        ("shuffles", Measure::Shuffles),
        ("loads", Measure::Loads),
        ("selects", Measure::Selects),
        ("instructions", Measure::Instructions),
    ];
}

/// The required final value of a cell.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The cell.
    pub cell: CellId,
    /// The term.
    pub term: TermId,
    /// How the cell is called.
    pub name: String,
    /// The line that asks for it.
    pub span: Span,
}

/// The whole sketch.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The holes in the order of the text.
    pub holes: TiVec<HoleId, Hole>,
    /// The statements with cells of their own.
    pub statements: Vec<Statement>,
    /// The value of each input cell; the cells of statements follow.
    pub initial: TiVec<CellId, TermId>,
    /// How many cells there are.
    pub cells: usize,
    /// The goals.
    pub goals: Vec<Goal>,
    /// The measures of a solution's cost, the most important first.
    pub order: Vec<Measure>,
    /// The terms of inputs and goals.
    pub terms: Terms,
    /// The names of the inputs, and their shapes.
    pub inputs: TiVec<InputId, (String, Vec<usize>)>,
    /// Accumulates of folds that no hole decides about.
    pub accumulates: u32,
}

impl Program {
    /// How a term is written in messages.
    pub fn show(&self, terms: &Terms, term: TermId) -> String {
        use super::term::Node;
        match terms.node(term) {
            Node::Undefined => "undefined".to_owned(),
            Node::Atom(input, index) => {
                let (name, shape) = &self.inputs[*input];
                let mut rest = *index as usize;
                let mut place: Vec<String> = Vec::new();
                for extent in shape.iter().rev() {
                    place.push((rest % extent).to_string());
                    rest /= extent;
                }
                place.reverse();
                format!("{name}[{}]", place.join(", "))
            }
            Node::Product(factors) => {
                let factors: Vec<String> = factors.iter().map(|&t| self.show(terms, t)).collect();
                factors.join(" * ")
            }
            Node::Fold(op, values) => format!("{op:?} of {} values", values.len()).to_lowercase(),
        }
    }
}
