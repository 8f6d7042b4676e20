//! The tables of all holes of a kernel: the search of [`crate::synth`], in ever larger spaces.

use super::cells::Refused;
use super::lower;
use super::node::Nodes;
use super::staged::Found;
use super::statements::Problem;
use super::warp::Outcome;
use crate::source::Span;
use crate::synth::expr::Expr;
use crate::synth::family::WITH_MULTIPLES;
use crate::synth::program::Program;
use crate::synth::search::{self, Limits, Mode, Unsat};

/// Tables that are tried at most in each space: few in all of them, then more. A solution found with few is not always
/// known to be the cheapest, and a build does not wait for that proof.
const TABLES: [u64; 2] = [1 << 11, 1 << 17];

/// A solution.
#[derive(Debug)]
pub(super) struct Solved {
    /// The formula of each hole.
    pub formulas: Vec<Expr>,
    /// How many solutions were seen in the space that it was found in.
    pub solutions: u64,
    /// Whether the space has no cheaper one.
    pub cheapest: bool,
    /// Its cost.
    pub cost: search::Cost,
    /// How many tables were tried.
    pub tried: u64,
}

/// Why nothing was found.
#[derive(Debug)]
pub(super) enum Unsolved {
    /// There is no program for the search.
    Unsupported(Refused),
    /// The space is empty: why, where, and the place that misses something.
    Unsat(String, Option<usize>),
    /// The bound was reached.
    Bound(u64),
}

/// Finds the cheapest solution of the smallest space that has one.
///
/// # Errors
/// There is none.
pub(super) fn solve(
    nodes: &Nodes,
    kernel: &Outcome,
    wanted: &Outcome,
    spec: Span,
) -> Result<Solved, Unsolved> {
    let mut tried = 0;
    let mut last = None;
    let mut empty_spaces = [false; WITH_MULTIPLES as usize];
    for tables in TABLES {
        for space in 1..=WITH_MULTIPLES {
            if empty_spaces[usize::from(space) - 1] {
                continue;
            }
            let problem = lower::lower(nodes, kernel, wanted, space, spec);
            let mut program = match problem.map_err(Unsolved::Unsupported)? {
                Problem::Program(program) => program,
                Problem::Staged(staged) => {
                    let index = staged.index;
                    let (more, found) = staged.solve(&kernel.holes);
                    tried += more;
                    if let Some(Found { formulas, cost }) = found {
                        let (solutions, cheapest) = (1, false);
                        return Ok(Solved { formulas, solutions, cheapest, cost, tried });
                    }
                    empty_spaces[usize::from(space) - 1] = true;
                    let message = "no expression of this hole's family was found with which all steps together do \
                                   what the specification asks for";
                    last = Some(Unsolved::Unsat(message.to_owned(), Some(index)));
                    continue;
                }
            };
            let limits =
                Limits { mode: Mode::Cheapest, tables, solutions: 1, stop: None, progress: None };
            let found = search::search(&mut program, &limits);
            tried += found.tried;
            if let Some(solution) = found.solutions.first() {
                return Ok(Solved {
                    formulas: formulas(&program, solution),
                    solutions: found.count,
                    cheapest: found.exhaustive,
                    cost: solution.cost,
                    tried,
                });
            }
            last = Some(match &found.unsat {
                Some(unsat) => {
                    empty_spaces[usize::from(space) - 1] = true;
                    let (message, hole) = empty(&program, unsat);
                    Unsolved::Unsat(message, hole)
                }
                None => Unsolved::Bound(tried),
            });
        }
    }
    Err(last.unwrap_or(Unsolved::Bound(tried)))
}

fn formulas(program: &Program, solution: &search::Solution) -> Vec<Expr> {
    let choices = solution.tables.iter().zip(&solution.recipes);
    let holes = program.holes.iter().zip(choices);
    holes.map(|(hole, (table, recipe))| hole.family.expression(&table.raw, recipe)).collect()
}

/// The demand that no choice meets.
fn empty(program: &Program, unsat: &Unsat) -> (String, Option<usize>) {
    let goal = |number: usize| &program.goals[number];
    match *unsat {
        Unsat::Demand { hole, term, goal: wanting } => {
            let term = program.show(&program.terms, term);
            let name = &goal(wanting).name;
            let message =
                format!("{term} cannot come through this hole, and {name} has to hold it");
            (message, Some(hole.into()))
        }
        Unsat::Crowded { hole, values, cells, goal: wanting } => {
            let name = &goal(wanting).name;
            let message = format!(
                "{values} values have to come through this hole, one of them for {name}: they need as many registers, \
                 and it has {cells}"
            );
            (message, Some(hole.into()))
        }
        Unsat::NoMember { hole, .. } => {
            let message =
                "no expression of this hole's family does what the specification asks for";
            (message.to_owned(), Some(hole.into()))
        }
        Unsat::Goal { goal: number } => {
            let term = program.show(&program.terms, goal(number).term);
            (format!("{} never holds {term}", goal(number).name), None)
        }
    }
}
