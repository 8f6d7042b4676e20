//! The values of the lanes after each step of a solution, for drawings: which element of an input, and its source.

use rustc_hash::FxHashMap;
use serde::Serialize;
use typed_index_collections::TiVec;

use super::Lowered;
use super::ast;
use super::program::{CellId, Statement};
use super::search::Solution;
use super::term::{InputId, Node, TermId, UNDEFINED};
use crate::source::SourceFile;

/// The most cells of an array that is shown.
const MOST_CELLS: usize = 1 << 11;

/// An array after the step that makes it. Rows are registers, their entries lanes.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// The array.
    pub array: String,
    /// The line of the step.
    pub line: u32,
    /// The array that the step reads.
    pub from: String,
    /// The element in each cell, all inputs numbered together; none if it is undefined or no element.
    pub values: Vec<Vec<Option<u32>>>,
    /// The lane and register that each came from; none if that was an input.
    pub sources: Vec<Vec<Option<[u32; 2]>>>,
}

/// The arrays of loads and steps that are not too large, in the order of the text.
pub fn states(
    source: &SourceFile,
    tree: &[ast::Statement],
    sketch: &Lowered,
    solution: &Solution,
) -> Vec<State> {
    let program = &sketch.program;
    let mut holds: TiVec<CellId, TermId> = program.initial.clone();
    holds.resize(program.cells, UNDEFINED);
    let mut origins: TiVec<CellId, CellId> = (0..program.cells).map(CellId::from).collect();
    for statement in &program.statements {
        let Statement::Move { hole, edges, .. } = statement else { continue };
        let table = &solution.tables[*hole];
        for edge in edges.iter().filter(|edge| table[edge.point] == edge.value) {
            holds[edge.target] = holds[edge.source];
            origins[edge.target] = edge.source;
        }
    }
    let mut first = 0;
    let offsets: TiVec<InputId, u32> = program
        .inputs
        .iter()
        .map(|(_, shape)| {
            let offset = first;
            first += shape.iter().product::<usize>() as u32;
            offset
        })
        .collect();
    let element = |cell: CellId| match program.terms.node(holds[cell]) {
        Node::Atom(input, index) => Some(offsets[*input] + index),
        _ => None,
    };
    let moves = tree.iter().filter_map(|statement| match statement {
        ast::Statement::Move(to, from) => Some((to, from)),
        _ => None,
    });
    let mut states = Vec::new();
    for (to, from) in moves {
        let (array, origin) = (&sketch.arrays[&to.array.text], &sketch.arrays[&from.array.text]);
        if array.cells.len() > MOST_CELLS || array.cells.is_empty() {
            continue;
        }
        let mut known: FxHashMap<CellId, usize> = FxHashMap::default();
        for (flat, &cell) in origin.cells.iter().enumerate().filter(|_| !origin.input) {
            known.entry(cell).or_insert(flat);
        }
        let (mut values, mut sources) = (Vec::new(), Vec::new());
        for (flat, &cell) in array.cells.iter().enumerate() {
            let (lane, register) = sketch.place(array, flat);
            if values.len() <= register {
                values.resize(register + 1, Vec::new());
                sources.resize(register + 1, Vec::new());
            }
            let (values, sources) = (&mut values[register], &mut sources[register]);
            if values.len() <= lane {
                values.resize(lane + 1, None);
                sources.resize(lane + 1, None);
            }
            values[lane] = element(cell);
            // A step without a hole names the cells that it reads.
            let came = known.get(&cell).or_else(|| known.get(&origins[cell]));
            sources[lane] = came.filter(|_| values[lane].is_some()).map(|&flat| {
                let (lane, register) = sketch.place(origin, flat);
                [lane as u32, register as u32]
            });
        }
        let (array, from) = (to.array.text.clone(), from.array.text.clone());
        states.push(State { array, line: source.line(to.span.start), from, values, sources });
    }
    states
}
