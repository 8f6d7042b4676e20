//! `ptxasw launch`: a launch file to start from.

use clap::{Args, ValueEnum};

use super::exit::Failure;
use super::options::{Input, Output};
use crate::draft::{self, Draft};

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
    /// Prints the launch file.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or does not have the kernel; the file cannot be written.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read()?;
        let threads = self.threads.or_else(|| self.purpose.threads());
        let drafted = draft::draft(&source, self.kernel.as_deref(), threads)?;
        let Draft { plan, fault } = drafted.map_err(|why| Failure::about(source.name(), why))?;
        let outcome = match fault {
            None => "Tried in the interpreter: the kernel runs to its end.".to_owned(),
            Some(fault) => {
                let line = match fault.span {
                    Some(span) => format!("line {}: ", source.line(span.start)),
                    None => String::new(),
                };
                format!(
                    "Tried in the interpreter, which stops: {line}{fault}. Edit what was guessed."
                )
            }
        };
        self.output.write(&plan.text(&outcome))
    }
}
