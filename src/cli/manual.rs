//! Manual pages and shell completions, made from the definition of the command line.

use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;

/// The completions for a shell.
pub fn completions(mut command: Command, shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "ptxasw", &mut text);
    text
}

/// Writes a page for the program and one for each subcommand into a folder.
///
/// # Errors
/// A page cannot be written.
pub fn pages(command: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)
}
