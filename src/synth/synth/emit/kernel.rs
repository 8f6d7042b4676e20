//! A solved sketch as code of one warp: statements over registers of each lane, in loops that will be unrolled.
//! `build` makes it of a sketch, `ptx` and `cuda` write it.
//!
//! Axes whose names begin with `lane` are the lanes of the warp; every other axis counts registers.

use typed_index_collections::TiVec;

use super::domain::Domain;
use super::rotation::Rotation;
use crate::synth::expr::{Expr, Op};
use crate::synth::term::{Fold, InputId};

/// A kernel of one warp.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name of its function.
    pub name: String,
    /// The axes that are lanes; there are at most 32 places.
    pub lanes: Domain,
    /// The inputs with their numbers of elements.
    pub inputs: TiVec<InputId, (String, usize)>,
    /// The arrays that lanes hold.
    pub arrays: Vec<Registers>,
    /// The statements.
    pub steps: Vec<Step>,
    /// The arrays that goals speak of.
    pub goals: Vec<usize>,
}

/// An array: in each lane a register for each place.
#[derive(Clone, Debug)]
pub struct Registers {
    /// Its name.
    pub name: String,
    /// The extents of the axes that are no lanes.
    pub extents: Vec<usize>,
}

impl Registers {
    /// The number of registers.
    pub fn count(&self) -> usize {
        self.extents.iter().product()
    }
}

/// A statement: `to[place] = what` for each place of the loops.
#[derive(Clone, Debug)]
pub struct Step {
    /// The array that is made.
    pub to: usize,
    /// The loops, the outermost first.
    pub loops: Domain,
    /// Where it is written: expressions over the loops.
    pub place: Vec<Expr>,
    /// The written value.
    pub what: What,
    /// Whether some of its indices were found by the search.
    pub found: bool,
}

impl Step {
    /// Whether the step is a plain load at the sketch's own indices.
    pub fn loads(&self) -> bool {
        !self.found && matches!(self.what, What::Read(Read::Input { .. }))
    }
}

/// The right-hand side of a statement.
#[derive(Clone, Debug)]
pub enum What {
    /// One value.
    Read(Read),
    /// One value, by turning a row of registers first.
    Rotation(Rotation),
    /// Many values.
    Fold(Fold, Vec<Part>),
}

/// Products that take part in a fold.
#[derive(Clone, Debug)]
pub struct Part {
    /// The loops of the fold.
    pub loops: Domain,
    /// The factors.
    pub factors: Vec<Read>,
    /// Where the product takes part; everywhere if there is none.
    pub when: Option<Expr>,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Read {
    /// From memory.
    Input {
        /// The input.
        input: InputId,
        /// The element.
        index: Expr,
        /// Where there is one.
        guard: Option<Expr>,
    },
    /// From a register.
    Register {
        /// The array.
        array: usize,
        /// The place of the register.
        place: Vec<Expr>,
        /// The lane that has it; the own one if there is none.
        lane: Option<Expr>,
    },
}

impl Kernel {
    /// Whether some fold is over products of several factors.
    pub fn multiplies(&self) -> bool {
        let several = |step: &Step| match &step.what {
            What::Fold(_, parts) => parts.iter().any(|part| part.factors.len() > 1),
            What::Read(_) | What::Rotation(_) => false,
        };
        self.steps.iter().any(several)
    }

    /// How many registers of a lane the goals speak of.
    pub fn results(&self) -> usize {
        self.goals.iter().map(|&goal| self.arrays[goal].count()).sum()
    }

    /// The number of the own lane.
    pub fn own_lane(&self) -> Expr {
        self.lanes.axes.iter().fold(Expr::Number(0), |lane, (name, extent)| {
            let times = Expr::binary(Op::Mul, lane, Expr::Number(*extent as i64));
            Expr::binary(Op::Add, times, Expr::name(name))
        })
    }
}
