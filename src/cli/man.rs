//! `ptxasw man`: manual pages, made from the definition of the command line.

use std::path::PathBuf;

use clap::{Args, Command};

use super::exit::Failure;
use super::io;

/// `man`
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder
    folder: PathBuf,
}

impl Man {
    /// Writes a page for the program and one for each subcommand into the folder.
    ///
    /// # Errors
    /// A page cannot be written.
    pub(super) fn run(&self, command: Command) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(command, &self.folder))
            .map_err(|error| io::cannot_write(&self.folder, &error))
    }
}
