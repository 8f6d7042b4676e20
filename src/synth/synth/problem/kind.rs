//! What problems have in common.

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::source::{Diagnostic, SourceFile};
use crate::synth::ast::Statement;
use crate::synth::emit;
use crate::synth::lower::Defines;
use crate::synth::search::{Mode, Progress};

/// A call's sketch and options.
#[derive(Clone, Debug)]
pub struct Request<'r> {
    /// The sketch.
    pub source: &'r SourceFile,
    /// Its tree.
    pub tree: &'r [Statement],
    /// Values of its params.
    pub defines: &'r Defines,
    /// What holes of a movement range over, 1 to 3.
    pub space: u8,
    /// Which solutions.
    pub mode: Mode,
    /// How many tables are tried at most.
    pub tables: u64,
    /// The name of the code; that of the sketch if there is none.
    pub name: Option<String>,
    /// The bits of elements, or of a loop's numbers, if they are given.
    pub bits: Option<u32>,
    /// The architecture whose instructions the code of a loop may use, if one is given.
    pub architecture: Option<u32>,
    /// The number of random lists of each length on which the code of a loop is also executed.
    pub lists: Option<u32>,
    /// Becomes true when the search shall end with the solutions so far.
    pub stop: &'r AtomicBool,
    /// Receives the progress of the search.
    pub progress: &'r Progress,
}

impl Request<'_> {
    pub(super) fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| emit::identifier(self.source.name()))
    }
}

/// The outcome of a search.
#[derive(Debug)]
pub enum Verdict {
    /// The search has found everything that was asked for.
    Solved,
    /// A bound or a signal ended the search; a message, if there is one for it.
    Unfinished(Option<String>),
    /// The reason why a sketch has no solution; with `true`, why a bound ended the search before it found one.
    Unsat(Box<Diagnostic>, bool),
}

/// A problem. Before [`Problem::solve`] nothing has been found.
pub trait Problem {
    /// Whether a signal ends the search with the solutions so far, and the search tells its progress.
    fn is_interruptible(&self) -> bool {
        false
    }

    /// Whether the JSON is written although the code is wrong.
    fn is_proved(&self) -> bool {
        false
    }

    /// Searches; whether there is a solution.
    fn solve(&mut self) -> bool;

    /// The outcome of [`Problem::solve`].
    fn verdict(&self) -> Verdict;

    /// The result for people; none if the verdict says everything.
    fn table(&self) -> Option<String>;

    /// The result for programs; none if the verdict says everything.
    fn json(&self) -> serde_json::Result<Option<String>>;

    /// The first solution as code.
    fn code(&self, language: Language) -> Result<String, String>;

    /// Executes the code of every solution; gives a message, if there is one.
    fn check(&self) -> Result<Option<String>, String>;
}

/// A language of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// A CUDA header.
    Cuda,
    /// Functions or kernels.
    Ptx,
}

/// A value as JSON, with the end of its last line.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<Option<String>> {
    Ok(Some(serde_json::to_string_pretty(value)? + "\n"))
}

/// A solution, or the message that a search found none.
pub(super) fn unsolved<T>(found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| "there is no solution".to_owned())
}

/// The message for code that does something else.
pub(super) fn wrong(why: String) -> String {
    format!("the emitted code is wrong: {why}")
}
