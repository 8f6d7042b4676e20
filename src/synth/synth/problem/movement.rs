//! Movements of data: index expressions for each hole.

use std::sync::atomic::Ordering;

use super::kind::{Language, Problem, Request, Verdict, json, unsolved, wrong};
use crate::isa::ScalarType;
use crate::source::{Diagnostic, SourceFile};
use crate::synth::emit::kernel::Kernel;
use crate::synth::emit::{self, build};
use crate::synth::family::WITH_MULTIPLES;
use crate::synth::lower::{Lowered, lower};
use crate::synth::search::{Found, Limits, MOST_PLANNED, Mode, Solution, Unsat, search};
use crate::synth::{params, parse, report};

/// How many tables are tried to name a family that would do.
const TRIED_FOR_HINT: u64 = 20_000;

/// The most solutions that are kept of all.
const MOST_WRITTEN: usize = 1000;

/// A movement with holes.
pub(super) struct Movement<'r> {
    pub request: &'r Request<'r>,
    pub sketch: Lowered,
    pub found: Found,
}

impl Movement<'_> {
    /// Why there is none, with the family that would do, if there is one.
    fn empty(&self, unsat: &Unsat) -> Diagnostic {
        let source = self.request.source;
        let why = report::empty(source, &self.sketch, unsat);
        let wider = report::with_table(source, &self.sketch, unsat);
        let hint = "with family `table` in this place there is a solution: any function of the coordinates";
        match wider.is_some_and(|wider| self.has_solution(&wider)) {
            true => why.with_hint(hint),
            false => why,
        }
    }

    /// Whether a sketch has a solution that a few tables lead to.
    fn has_solution(&self, source: &SourceFile) -> bool {
        let Ok(tree) = parse(source) else { return false };
        let lowered = lower(source, &tree, self.request.defines, self.request.space);
        let Ok(mut sketch) = lowered else { return false };
        let (mode, tables) = (Mode::First, TRIED_FOR_HINT);
        let limits = Limits { mode, tables, solutions: 1, stop: None, progress: None };
        !search(&mut sketch.program, &limits).solutions.is_empty()
    }

    fn kernel(&self, solution: &Solution) -> Result<Kernel, String> {
        build::kernel(&self.request.name(), self.request.tree, &self.sketch, solution)
    }

    /// The comment at the head of the code: its source, and the solution.
    fn comment(&self, solution: &Solution) -> String {
        let source = self.request.source;
        let params = params(self.request.tree).filter_map(|name| {
            self.sketch.params.get(name).map(|value| format!(", {name} = {value}"))
        });
        let params: String = params.collect();
        let lines = report::lines(source, &self.sketch, solution);
        format!("{} by ptxasw synth{params}\n{lines}", emit::identifier(source.name()))
    }

    fn width(&self) -> ScalarType {
        if self.request.bits == Some(64) { ScalarType::B64 } else { ScalarType::B32 }
    }
}

impl Problem for Movement<'_> {
    fn is_interruptible(&self) -> bool {
        true
    }

    fn solve(&mut self) -> bool {
        let Request { mode, tables, stop, progress, .. } = *self.request;
        let (stop, progress) = (Some(stop), Some(progress));
        let limits = Limits { mode, tables, solutions: MOST_WRITTEN, stop, progress };
        self.found = search(&mut self.sketch.program, &limits);
        if self.found.unsat.is_some()
            && self.request.space + 1 == WITH_MULTIPLES
            && let Ok(mut larger) = {
                let Request { source, tree, defines, .. } = *self.request;
                lower(source, tree, defines, WITH_MULTIPLES)
            }
        {
            let found = search(&mut larger.program, &limits);
            if !found.solutions.is_empty() || found.unsat.is_none() {
                (self.sketch, self.found) = (larger, found);
            }
        }
        !self.found.solutions.is_empty()
    }

    fn verdict(&self) -> Verdict {
        if let Some(unsat) = &self.found.unsat {
            return Verdict::Unsat(self.empty(unsat).into(), false);
        }
        if !self.found.exhausted_budget {
            return Verdict::Solved;
        }
        let why = match self.request.stop.load(Ordering::Relaxed) {
            true => "interrupted".to_owned(),
            false if self.found.too_large => {
                format!("its plan would take more than {} MiB", MOST_PLANNED >> 20)
            }
            false => {
                format!("it has tried as many tables as --tables {} allows", self.request.tables)
            }
        };
        Verdict::Unfinished(Some(format!("the search has not ended: {why}")))
    }

    fn table(&self) -> Option<String> {
        let mode = self.request.mode;
        let says = self.found.unsat.is_none() || mode == Mode::Count;
        says.then(|| report::table(self.request.source, &self.sketch, &self.found, mode))
    }

    fn json(&self) -> serde_json::Result<Option<String>> {
        let Request { source, tree, .. } = *self.request;
        json(&report::report(source, tree, &self.sketch, &self.found))
    }

    fn code(&self, language: Language) -> Result<String, String> {
        let solution = unsolved(self.found.solutions.first())?;
        let (kernel, comment) = (self.kernel(solution)?, self.comment(solution));
        match language {
            Language::Cuda => emit::cuda(&kernel, &comment),
            Language::Ptx => emit::ptx(&kernel, &comment, self.width()),
        }
    }

    /// Executes the code in the width that is written and in 64 bits.
    fn check(&self) -> Result<Option<String>, String> {
        for solution in &self.found.solutions {
            let kernel = self.kernel(solution)?;
            let entry = format!("{}_kernel", kernel.name);
            for width in [ScalarType::B64, self.width()] {
                let code = emit::ptx(&kernel, &self.comment(solution), width)?;
                emit::check::check(&kernel, &self.sketch, &code, &entry, width).map_err(wrong)?;
            }
        }
        Ok(None)
    }
}
