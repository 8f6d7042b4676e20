//! `ptxasw completions`: completions for a shell, made from the definition of the command line.

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::Failure;
use super::io;

/// `completions`
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the completions of a command line.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn run(&self, mut command: Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "ptxasw", &mut text);
        io::print(&String::from_utf8_lossy(&text))
    }
}
