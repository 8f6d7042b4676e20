//! `ptxasw parse`: what a module consists of.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Input;
use crate::ptx::{self, Depth};

/// `parse`
#[derive(Debug, Args)]
pub struct Parse {
    /// What to parse.
    #[command(flatten)]
    input: Input,
    /// Parse every body in full, not only those that may be rewritten
    #[arg(long)]
    all: bool,
}

impl Parse {
    /// Prints counts of functions, instructions and bytes.
    ///
    /// # Errors
    /// The input cannot be read or parsed.
    pub fn run(&self) -> Result<(), Failure> {
        let source = self.input.read()?;
        let stats = ptx::stats(&source, if self.all { Depth::All } else { Depth::Rewritable })?;
        io::print(&format!(
            "{} functions, {} of them kernels\n{} bodies parsed, {} skipped\n{} instructions\n{} bytes\n",
            stats.functions,
            stats.kernels,
            stats.parsed_bodies,
            stats.skipped_bodies,
            stats.instructions,
            stats.bytes
        ))
    }
}
