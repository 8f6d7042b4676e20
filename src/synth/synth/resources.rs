//! The resources of a solution beside instructions: registers of a lane, and wavefronts of shared memory.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowered;
use super::ast::{Folded, Statement};
use super::lower::is_lane;
use super::program::{self, CellId, Price};
use super::search::Solution;

/// Banks of shared memory, of four bytes each (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u32 = 32;

/// The most values that a lane holds at once if statements run one after the other: of arrays, those that later
/// statements still read.
/// Inputs are in memory.
pub fn registers(tree: &[Statement], sketch: &Lowered) -> u32 {
    let reads = |folded: &Folded| -> Vec<String> {
        let factors = folded.parts.iter().flat_map(|part| &part.factors);
        factors.map(|factor| factor.array.text.clone()).collect()
    };
    // For each statement, the array it writes, if any, and the arrays it reads.
    let steps: Vec<(Option<&str>, Vec<String>)> = tree
        .iter()
        .filter_map(|statement| match statement {
            Statement::Move(to, from) => {
                Some((Some(to.array.text.as_str()), vec![from.array.text.clone()]))
            }
            Statement::Fold(to, folded) => Some((Some(to.array.text.as_str()), reads(folded))),
            // A goal's array is live at the end.
            Statement::Goal(of, _) => Some((None, vec![of.array.text.clone()])),
            _ => None,
        })
        .collect();
    let size = |name: &str| -> u32 {
        let Some(array) = sketch.arrays.get(name).filter(|array| !array.input) else { return 0 };
        let axes = array.shape.iter().zip(&array.axes);
        axes.filter(|(_, axis)| !is_lane(axis)).map(|(extent, _)| *extent as u32).product()
    };
    let mut most = 0;
    for at in 0..steps.len() {
        let made = steps[..=at].iter().filter_map(|(made, _)| *made);
        let held: FxHashSet<&str> = made
            .filter(|name| {
                let read = steps[at..].iter().any(|(_, read)| read.iter().any(|r| r == name));
                read || steps[at].0 == Some(*name)
            })
            .collect();
        most = most.max(held.into_iter().map(size).sum());
    }
    most
}

/// Wavefronts of the loads whose indices were found, of inputs in shared memory with a word for each element:
/// one for each load, and one more for each further word that a load asks of one bank.
pub fn wavefronts(tree: &[Statement], sketch: &Lowered, solution: &Solution) -> u32 {
    let program = &sketch.program;
    let mut from: FxHashMap<CellId, CellId> = FxHashMap::default();
    for statement in &program.statements {
        let program::Statement::Move { hole, edges, .. } = statement else { continue };
        if matches!(program.holes[*hole].price, Price::Loads(_)) {
            let table = &solution.tables[*hole];
            let taken = edges.iter().filter(|edge| table[edge.point] == edge.value);
            from.extend(taken.map(|edge| (edge.target, edge.source)));
        }
    }
    let mut wavefronts = 0;
    for statement in tree {
        let Statement::Move(to, _) = statement else { continue };
        let array = &sketch.arrays[&to.array.text];
        // The words of each load, which is one register of all lanes.
        let mut loads: BTreeMap<usize, BTreeSet<CellId>> = BTreeMap::new();
        for (flat, cell) in array.cells.iter().enumerate() {
            if let Some(&word) = from.get(cell) {
                loads.entry(sketch.place(array, flat).1).or_default().insert(word);
            }
        }
        for words in loads.values() {
            let mut banks = [0; BANKS as usize];
            words.iter().for_each(|word| banks[(word.0 % BANKS) as usize] += 1);
            wavefronts += banks.into_iter().max().unwrap_or(0);
        }
    }
    wavefronts
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::synth::lower::lower;
    use crate::synth::parse;
    use crate::synth::search::{Limits, Mode, search};

    crate::unit_tests!(
        a_step_holds_what_it_reads_and_what_it_makes,
        lanes_that_read_one_bank_wait_for_each_other
    );

    /// The registers and wavefronts of the first solution of a sketch.
    fn of(text: &str) -> (u32, u32) {
        let source = SourceFile::new("test.sketch", text);
        let tree = parse(&source).unwrap();
        let mut sketch = lower(&source, &tree, &[], 3).unwrap();
        let limits =
            Limits { mode: Mode::First, tables: 1 << 16, solutions: 1, stop: None, progress: None };
        let found = search(&mut sketch.program, &limits);
        let chosen = &found.solutions[0];
        (registers(&tree, &sketch), wavefronts(&tree, &sketch, chosen))
    }

    fn a_step_holds_what_it_reads_and_what_it_makes() {
        let text = "axis lane = 32, reg = 4\ninput x[lane * reg]\n\
                    load a[lane, reg] = x[32 * reg + lane]\n\
                    step b[lane, reg] = a[?xform(lane; reg), reg]\n\
                    goal b[lane, reg] = x[32 * reg + (lane + reg) % 32]\n";
        assert_eq!(of(text), (8, 0));
    }

    fn lanes_that_read_one_bank_wait_for_each_other() {
        let neighbours = "axis lane = 32, k = 2\ninput x[32]\n\
                          step s[lane, k] = x[?xform(lane; k)]\n\
                          goal s[lane, k] = x[(lane + k) % 32]\n";
        assert_eq!(of(neighbours), (2, 2));
        // Words 0, 32 and so on are in one bank.
        let column = "axis lane = 32\nfamily by(i) = 32 * i % 64\ninput x[64]\n\
                      step s[lane] = x[?by(lane)]\ngoal s[lane] = x[32 * lane % 64]\n";
        assert_eq!(of(column), (1, 2));
    }
}
