//! `ptxasw cfg`: the control-flow graph of a function, in Graphviz's language.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Input;
use crate::cfg;
use crate::kernels;
use crate::ptx::{self, Depth, Function};
use crate::source::listed;

/// `cfg`
#[derive(Debug, Args)]
pub(super) struct Cfg {
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
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read(self.kernel.as_deref())?;
        let module = ptx::parse(&source, Depth::All)?;
        let all: Vec<&Function<'_>> =
            module.functions().filter(|function| function.statements().is_some()).collect();
        let names = || listed(all.iter().map(|function| function.name.text));
        let chosen = match (&self.kernel, &all[..]) {
            (_, []) => Err("there is no function with a body".to_owned()),
            (Some(name), _) => {
                let names: Vec<&str> = all.iter().map(|function| function.name.text).collect();
                let found = kernels::find(&names, name);
                let at = found.map(|found| names.iter().position(|name| *name == found));
                at.map(|at| &all[at.unwrap_or_default()])
            }
            (None, [only]) => Ok(only),
            (None, _) => {
                Err(format!("there are several functions; choose one with --kernel: {}", names()))
            }
        };
        let function = chosen.map_err(|message| Failure::about(source.name(), message))?;
        let flow = cfg::build(&source, function)?;
        io::print(&cfg::dot(&source, function.name.text, &flow, &|_| Vec::new()))
    }
}
