//! `ptxasw launch`: a launch file to start from.

use clap::{Args, ValueEnum};

use super::exit::Failure;
use super::options::{Input, Output, warn};
use super::{objects, values};
use crate::draft::{self, Draft, Wishes};
use crate::interp::Fault;
use crate::source::SourceFile;

/// `launch`
#[derive(Debug, Args)]
pub(super) struct Launch {
    /// Where the kernel is.
    #[command(flatten)]
    input: Input,
    /// The kernel; may be left out where the file has one
    #[arg(long)]
    kernel: Option<String>,
    /// The purpose of the launch: `run` executes few threads, `ab` and `tune` need enough to fill a GPU
    #[arg(long = "for", value_enum, default_value_t)]
    purpose: Purpose,
    /// About how many threads the launch has in all [default: a few warps along each axis; for `ab` and `tune` 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    threads: Option<u64>,
    /// The threads of a block along x, y and z: `256`, `16,16`, `8x8x4` [default: .reqntid, .maxntid, or a guess]
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = values::block)]
    block: Option<[u64; 3]>,
    /// Where the launch file goes.
    #[command(flatten)]
    output: Output,
}

/// The purpose of a drafted launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Purpose {
    /// To be executed on the CPU.
    #[default]
    Run,
    /// To be timed on a GPU.
    Ab,
    /// To be timed on a GPU.
    Tune,
}

impl Purpose {
    /// Threads of a launch that nobody has given a number.
    fn threads(self) -> Option<u64> {
        /// Several times as many as a GPU of today holds at once: 132 multiprocessors of 2,048 threads each.
        const MANY: u64 = 1 << 20;
        match self {
            Purpose::Run => None,
            Purpose::Ab | Purpose::Tune => Some(MANY),
        }
    }
}

impl Launch {
    /// Prints the launch file. A draft that stops, or that runs only with other sizes than those tried first, is a warning.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or does not have the kernel; the file cannot be written.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = objects::text_with(&self.input.input, self.kernel.as_deref())?;
        let wishes = Wishes {
            kernel: self.kernel.as_deref(),
            threads: self.threads.or_else(|| self.purpose.threads()),
            block: self.block.map(|extents| extents.map(|extent| extent as u32)),
            blocks: None,
            repeats: false,
            whole_blocks: self.purpose != Purpose::Run,
            avoids_races: self.purpose != Purpose::Run,
        };
        let drafted = draft::draft(&source, &wishes)?;
        let draft = drafted.map_err(|why| Failure::about(source.name(), why))?;
        let outcome = outcome(&source, &draft);
        self.output.write(&draft.plan.text(&outcome))?;
        // Findings of a draft go to standard error, too: nobody may read a comment.
        if draft.fault.is_some() || draft.first_fault.is_some() {
            warn(&format!("{}: `{}`: {outcome}", source.name(), draft.plan.kernel()));
        }
        Ok(())
    }
}

/// What came of trying a draft, for its comment.
fn outcome(source: &SourceFile, draft: &Draft) -> String {
    let described = |fault: &Fault| match fault.span {
        Some(span) => format!("line {}: {fault}", source.line(span.start)),
        None => fault.to_string(),
    };
    match (&draft.fault, &draft.first_fault) {
        (None, None) => "Tried in the interpreter: the kernel runs to its end.".to_owned(),
        (None, Some(first)) => format!(
            "Tried in the interpreter: the kernel runs to its end with this block and these sizes. With the block and the sizes that were tried first it stops: {}.",
            described(first)
        ),
        (Some(fault), _) => format!(
            "Tried in the interpreter, which stops: {}. Edit what was guessed, unless the kernel is wrong.",
            described(fault)
        ),
    }
}
