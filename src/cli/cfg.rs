//! `ptxasw cfg`: the control-flow graph of a function, in Graphviz's language.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Input;
use crate::cfg;
use crate::ptx::{self, Depth};

/// `cfg`
#[derive(Debug, Args)]
pub struct Cfg {
    /// Where the kernel is.
    #[command(flatten)]
    input: Input,
    /// The kernel; may be left out where the file has only one
    #[arg(long)]
    kernel: Option<String>,
}

impl Cfg {
    /// Prints the graph.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or it is not clear which function is meant.
    pub fn run(&self) -> Result<(), Failure> {
        let source = self.input.read()?;
        let module = ptx::parse(&source, Depth::All)?;
        let mut candidates = module.functions().filter(|function| {
            function.statements().is_some()
                && self.kernel.as_deref().is_none_or(|name| function.name.text == name)
        });
        let Some(function) = candidates.next() else {
            let what = match &self.kernel {
                Some(name) => format!("there is no function `{name}` with a body"),
                None => "there is no function with a body".to_owned(),
            };
            return Err(Failure::about(source.name(), what));
        };
        if self.kernel.is_none() && candidates.next().is_some() {
            let message = "the file has several functions; choose one with --kernel";
            return Err(Failure::about(source.name(), message));
        }
        let flow = cfg::build(&source, function)?;
        io::print(&cfg::dot(&source, function.name.text, &flow, &|_| Vec::new()))
    }
}
