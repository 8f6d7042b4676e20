//! `ptxasw launch`: a launch file to start from.

use clap::Args;

use super::exit::Failure;
use super::options::{Input, Output};
use crate::draft::{self, Draft};

/// `launch`
#[derive(Debug, Args)]
pub struct Launch {
    /// Where the kernel is.
    #[command(flatten)]
    input: Input,
    /// The kernel; may be left out where the file has one
    #[arg(long)]
    kernel: Option<String>,
    /// About how many threads the launch has [default: a few warps along each axis]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    threads: Option<u64>,
    /// Where the launch file goes.
    #[command(flatten)]
    output: Output,
}

impl Launch {
    /// Prints the launch file.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or does not have the kernel; the file cannot be written.
    pub fn run(&self) -> Result<(), Failure> {
        let source = self.input.read()?;
        let drafted = draft::draft(&source, self.kernel.as_deref(), self.threads)?;
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
