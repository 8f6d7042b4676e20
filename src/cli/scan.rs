//! `ptxasw synth` on a sketch with a `loop`: the loop in, an associative operator with its proof out, or its code.

use super::exit::{Failure, Status};
use super::io;
use super::options::Output;
use crate::source::SourceFile;
use crate::synth::Defines;
use crate::synth::ast::Statement;
use crate::synth::scan::emit::{Code, Networks, check, cuda, ptx, sweep};
use crate::synth::scan::{self, Found, Outcome, report};
use crate::timings::Timings;

/// The output for an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// What was found, for people.
    Table,
    /// The same for programs.
    Json,
    /// A CUDA header.
    Cuda,
    /// PTX kernels.
    Ptx,
}

/// A request about a loop.
#[derive(Debug)]
pub(super) struct Scan<'s> {
    /// The sketch.
    pub source: &'s SourceFile,
    /// Its tree.
    pub tree: &'s [Statement],
    /// Values of its params.
    pub defines: &'s Defines,
    /// The output.
    pub written: Written,
    /// The name of the code.
    pub name: String,
    /// Whether the code is executed.
    pub check: bool,
    /// On how many lists of each length besides.
    pub lists: Option<u32>,
    /// The bits of numbers in the code, if not as many as the operator needs.
    pub bits: Option<u32>,
    /// Where the result goes.
    pub output: &'s Output,
    /// How long it takes.
    pub timings: Option<&'s Timings>,
}

impl Scan<'_> {
    /// Solves the sketch and writes what was found, for programs or for people.
    ///
    /// # Errors
    /// The loop cannot be read, there is no operator, its code is wrong, or the result cannot be written.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let source = self.source;
        let subject = Timings::measure(self.timings, "lower", || {
            scan::read(source, self.tree, self.defines)
        })?;
        let outcome = Timings::measure(self.timings, "search", || {
            crate::solver::session(|| scan::solve(&subject))
        });
        log::info!(
            "{}: {} sets of auxiliary accumulators, {} candidates refuted, {} claims",
            source.name(),
            outcome.sets,
            outcome.refuted,
            outcome.claims
        );
        if self.written == Written::Json {
            self.output.write(&io::json(&report::report(source, &outcome))?)?;
        }
        match &outcome.found {
            Some(found) => {
                self.found(&outcome, found)?;
                if found.unproved.is_empty() { Ok(Status::SUCCESS) } else { Ok(Status::BUDGET) }
            }
            None if outcome.exhausted => {
                io::complain(&format!(
                    "{}: the search has not ended: it reached the limit of operators to try",
                    source.name()
                ));
                Ok(Status::BUDGET)
            }
            None => {
                let why = report::none(source, &subject, &outcome);
                Err(Failure::from(why).with_status(Status::EMPTY))
            }
        }
    }

    /// Executes the code of an operator if that is asked for, and writes the output.
    fn found(&self, outcome: &Outcome, found: &Found) -> Result<(), Failure> {
        let failure = |why: String| Failure::about(self.source.name(), why);
        let name = self.name.clone();
        let code = Code::new(found, &name, self.bits);
        let made = matches!(self.written, Written::Cuda | Written::Ptx);
        let networks = match made || self.check {
            true => Some(Networks::solve().map_err(failure)?),
            false => None,
        };
        let comment = format!("{name} by ptxasw synth\n{}", report::table(outcome));
        if let (true, Some(networks)) = (self.check, &networks) {
            Timings::measure(self.timings, "check", || {
                let text = ptx(&code, networks, "")?;
                check::check(&code, &text, &check::few())?;
                self.lists.map(|lists| self.sweep(&code, &text, lists)).transpose()
            })
            .map_err(|why| failure(format!("the emitted code is wrong: {why}")))?;
        }
        let text = match (self.written, &networks) {
            (Written::Json, _) => return Ok(()),
            (Written::Cuda, Some(networks)) => cuda(&code, networks, &comment).map_err(failure)?,
            (Written::Ptx, Some(networks)) => ptx(&code, networks, &comment).map_err(failure)?,
            _ => report::table(outcome),
        };
        self.output.write(&text)
    }

    /// Executes the code on lists of each length, and says how many there were.
    fn sweep(&self, code: &Code, text: &str, lists: u32) -> Result<(), String> {
        let swept = sweep::sweep(code, text, lists as usize, sweep::LONGEST)?;
        io::complain(&format!(
            "{}: {} lists of 1 to {} elements scanned and reduced, {} results as the loop's",
            self.source.name(),
            swept.lists,
            sweep::LONGEST,
            swept.results
        ));
        Ok(())
    }
}
