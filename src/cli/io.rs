//! Files and standard streams of the subcommands; an error of theirs is a [`Failure`].

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::exit::Failure;
use crate::source::SourceFile;

/// Reads a text; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or is no text.
pub fn read(path: &Path) -> Result<SourceFile, Failure> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = if name == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|found| bytes = found)
    };
    read.map_err(|error| Failure::about(&name, format!("cannot read the file: {error}")))?;
    Ok(SourceFile::from_bytes(name, bytes)?)
}

/// Prints to standard output; a reader that went away is no error of ours.
///
/// Standard output cannot be written.
/// It cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::about("standard output", error)),
        Ok(()) => Ok(()),
    }
}

/// Writes a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

/// The failure for a file or folder that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::about(path.display(), format!("cannot write: {error}"))
}

/// A value as JSON for people and programs, with the end of its last line.
///
/// # Errors
/// The value has no form in JSON.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// The path of this program's own file.
///
/// # Errors
/// The system does not tell it.
pub fn executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::unusable(format!("cannot find the file of ptxasw itself: {error}"))
    })
}
