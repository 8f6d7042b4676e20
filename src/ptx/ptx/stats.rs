//! Counts over a module, without keeping its tree: a body is parsed run by run and each run dropped at
//! once, so that the size of a body does not show in memory.

use std::iter::Sum;

use super::ast::{Body, Function, FunctionKind, Statement};

/// The numbers of functions, bodies, instructions and bytes of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Kernels and device functions, declarations included.
    pub functions: usize,
    /// Kernels among them.
    pub kernels: usize,
    /// Bodies that were parsed in full.
    pub parsed_bodies: usize,
    /// Bodies that were only delimited, since nothing in them can be rewritten.
    pub skipped_bodies: usize,
    /// Instructions in the bodies that were parsed.
    pub instructions: usize,
    /// Size of the text.
    pub bytes: usize,
}

impl Sum for Stats {
    fn sum<I: Iterator<Item = Stats>>(parts: I) -> Stats {
        parts.fold(Stats::default(), |a, b| Stats {
            functions: a.functions + b.functions,
            kernels: a.kernels + b.kernels,
            parsed_bodies: a.parsed_bodies + b.parsed_bodies,
            skipped_bodies: a.skipped_bodies + b.skipped_bodies,
            instructions: a.instructions + b.instructions,
            bytes: a.bytes + b.bytes,
        })
    }
}

impl Stats {
    /// The counts of a function, except for its instructions.
    pub(super) fn of_function(function: &Function<'_>) -> Stats {
        Stats {
            functions: 1,
            kernels: usize::from(function.kind == FunctionKind::Entry),
            parsed_bodies: usize::from(matches!(function.body, Body::Parsed { .. })),
            skipped_bodies: usize::from(matches!(function.body, Body::Unparsed { .. })),
            ..Stats::default()
        }
    }
}

/// The number of instructions in a run of statements that has no blocks.
pub(super) fn instructions(run: &[Statement<'_>]) -> usize {
    run.iter().filter(|statement| matches!(statement, Statement::Instruction(_))).count()
}
