//! Sketches of data movement and folds for the library: solved, executed, and with their solution put into them.
//!
//! In: a sketch with values of its params. Out: the cheapest solution of the whole space with its functions, which
//! was executed in the interpreter; none if the space is empty; an error if a bound ended the search.

use super::notes::Notes;
use crate::isa::ScalarType;
use crate::source::SourceFile;
use crate::synth::ast::Statement;
use crate::synth::emit::build::kernel;
use crate::synth::emit::check::{check, is_movement};
use crate::synth::emit::kernel::Kernel;
use crate::synth::emit::{self, Parts};
use crate::synth::program::{HoleId, PointId};
use crate::synth::search::{Limits, Mode, Solution, search};
use crate::synth::{Defines, Lowered, lower::lower, parse, report};

/// The most tables that are tried. The sketches of the library need some hundreds.
const TABLES: u64 = 1 << 20;

/// A solved sketch.
pub(super) struct Solved {
    source: SourceFile,
    tree: Vec<Statement>,
    sketch: Lowered,
    /// The solution.
    pub solution: Solution,
    kernel: Kernel,
}

/// The cheapest solution of a sketch, whose code gets a name.
///
/// # Errors
/// The sketch cannot be read, a bound ended the search, or the code of the solution is wrong.
pub(super) fn solve(
    file: &str,
    text: &str,
    defines: &Defines,
    name: &str,
) -> Result<Option<Solved>, String> {
    let source = SourceFile::new(file, text);
    let tree = parse(&source).map_err(|error| error.to_string())?;
    let mut sketch = lower(&source, &tree, defines, 3).map_err(|error| error.to_string())?;
    let limits =
        Limits { mode: Mode::Cheapest, tables: TABLES, solutions: 1, stop: None, progress: None };
    let found = search(&mut sketch.program, &limits);
    if found.exhausted_budget {
        return Err(format!("{file}: the search has not ended"));
    }
    let Some(solution) = found.solutions.into_iter().next() else { return Ok(None) };
    let kernel = kernel(name, &tree, &sketch, &solution)?;
    let solved = Solved { source, tree, sketch, solution, kernel };
    for width in [ScalarType::B32, ScalarType::B64] {
        let code = emit::ptx(&solved.kernel, "", width)?;
        let entry = format!("{name}_kernel");
        check(&solved.kernel, &solved.sketch, &code, &entry, width)
            .map_err(|why| format!("{file}: the emitted code is wrong: {why}"))?;
    }
    Ok(Some(solved))
}

impl Solved {
    /// The functions of the code, with notes; `about` describes the function from loaded arrays to the goals' arrays.
    ///
    /// # Errors
    /// The solution has no code.
    pub(super) fn functions(
        &self,
        parts: Parts,
        about: &str,
        notes: &Notes,
    ) -> Result<(String, usize), String> {
        let text = emit::cuda_functions(&self.kernel, parts)?;
        let text = text.replace("From what was loaded to what the goals ask for", about);
        let own = &self.kernel.name;
        super::notes::annotated(&text, &|name| {
            let is_step = |line: &str| !line.starts_with("load ") && !line.starts_with("with ");
            let kept = |line: &String| line.starts_with("with ") || is_step(line) == (name == own);
            let formula = match name.strip_prefix(&format!("{own}_store_")) {
                None => notes.formula.iter().filter(|line| kept(line)).cloned().collect(),
                Some(array) => vec![format!("element 32 * r + l is {array}[r] of lane l")],
            };
            Some(Notes { formula, ..notes.clone() })
        })
    }

    /// The notes on the solution: its statements with the found expressions, their proof and their test.
    pub(super) fn notes(&self, more: &str, test: &'static str) -> Notes {
        let executed = match is_movement(&self.sketch) {
            true => {
                "executed in the interpreter, as PTX of 32 and 64 bits, on pairwise distinct elements; nothing \
                 that was loaded takes part in an address, a predicate or a source lane, so that this holds for all values"
            }
            false => {
                "executed in the interpreter, as PTX of 32 and 64 bits, on random integers; the terms are equal whatever \
                 the order of the fold, and the code folds in the order of k, so that floating-point numbers are rounded \
                 as in that serial loop"
            }
        };
        let proof = format!(
            "by search: in all {} lanes the goal holds as an equality of terms, and no member of the families is cheaper \
             ({}); {executed}{more}",
            self.sketch.lanes().map(|(_, extent)| *extent).product::<usize>(),
            report::words(self.solution.cost),
        );
        Notes { formula: self.statements(), proof, test }
    }

    /// The loads, steps and folds of the sketch, with the found expressions in the place of holes.
    fn statements(&self) -> Vec<String> {
        let mut text = self.source.text().to_owned();
        let found = report::expressions(&self.sketch, &self.solution);
        for (hole, expression) in self.sketch.program.holes.iter().zip(found).rev() {
            text.replace_range(hole.span.start as usize..hole.span.end as usize, &expression);
        }
        let kept = |line: &&str| ["load ", "step ", "fold "].iter().any(|w| line.starts_with(w));
        let params = crate::synth::params(&self.tree).filter_map(|name| {
            self.sketch.params.get(name).map(|value| format!("{name} = {value}"))
        });
        let params: Vec<String> = params.collect();
        let with = format!("with {}:", params.join(", "));
        std::iter::once(with).chain(text.lines().filter(kept).map(str::to_owned)).collect()
    }

    /// The entry of a hole's table at `first` and `second`, its two coordinates; the first one has `values` values.
    pub(super) fn table(&self, hole: HoleId, (first, values): (u32, u32), second: u32) -> u32 {
        u32::from(self.solution.tables[hole][PointId(second * values + first)])
    }
}
