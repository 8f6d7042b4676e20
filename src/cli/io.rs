//! Files and standard streams of the subcommands; an error of theirs is a [`Failure`].

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::exit::Failure;
use crate::ptxas::embedded;
use crate::ptxas::examine::LARGEST_INPUT;
use crate::source::SourceFile;

/// The largest object, library or executable that is read, in bytes.
const LARGEST_OBJECT: u64 = 2 << 30;

/// The largest table of costs or profile that is read, in bytes.
pub(super) const LARGEST_TABLE: u64 = 16 << 20;

/// Reads a text; `-` is standard input.
///
/// # Errors
/// The file cannot be read, is too large, or is not text.
pub(super) fn read(path: &Path) -> Result<SourceFile, Failure> {
    let (name, bytes) = read_bytes(path)?;
    Ok(SourceFile::from_bytes(name, bytes)?)
}

/// Reads at most `limit` bytes of a file.
///
/// # Errors
/// The file cannot be read, or has more bytes.
pub(super) fn read_within(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    take(&mut std::fs::File::open(path)?, &mut bytes, limit)?;
    Ok(bytes)
}

/// The same, as text.
///
/// # Errors
/// As [`read_within`]; the file is not UTF-8.
pub(super) fn read_text_within(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read_within(path, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads until the bytes are more than `limit`.
fn take(from: &mut dyn Read, bytes: &mut Vec<u8>, limit: u64) -> io::Result<()> {
    from.take((limit + 1).saturating_sub(bytes.len() as u64)).read_to_end(bytes)?;
    if bytes.len() as u64 > limit {
        let size = format!(
            "it has more than {} MiB, the most that is read; name another file",
            limit >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, size));
    }
    Ok(())
}

/// Reads a file, and says how it is called in messages; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or is too large: objects, and launch files with the contents of buffers, may be larger
/// than other texts.
pub(super) fn read_bytes(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn Read| match take(from, &mut bytes, LARGEST_INPUT) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge && may_be_large(&bytes) => {
            take(from, &mut bytes, LARGEST_OBJECT)
        }
        done => done,
    };
    let read = match &name[..] {
        "-" => read(&mut io::stdin().lock()),
        _ => std::fs::File::open(path).and_then(|mut file| read(&mut file)),
    };
    read.map_err(|error| Failure::about(&name, format!("cannot read the file: {error}")))?;
    Ok((name, bytes))
}

/// Whether the first bytes are those of an object or of a launch file.
fn may_be_large(bytes: &[u8]) -> bool {
    embedded::may_hold_code(bytes) || bytes.trim_ascii_start().starts_with(b"{")
}

/// Prints to standard output; a reader that went away is not an error of ours.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::about("standard output", error)),
        Ok(()) => Ok(()),
    }
}

/// Prints lines to standard error. If that fails, nobody is left to tell, and the exit status says what happened.
pub(super) fn complain(text: &str) {
    let line = format!("{}\n", text.trim_end_matches('\n'));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Writes a file.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

/// Writes a file that others may read at any time: they see the old text, or all of the new one.
///
/// # Errors
/// The file cannot be written.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    // A pipe or a link stays a pipe or a link.
    let is_special = std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    if is_special {
        return write(path, text);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let put = || {
        let mut file = tempfile::Builder::new().permissions(usual()).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    };
    put().map(|_| ()).map_err(|error| cannot_write(path, &error))
}

/// The permissions of a file that a program makes, from which the user's mask is taken.
fn usual() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}

/// The failure for a file or folder that cannot be written.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::about(path.display(), format!("cannot write: {error}"))
}

/// A value as JSON for people and programs, with the end of its last line.
///
/// # Errors
/// The value has no form in JSON.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// The path of this program's own file.
///
/// # Errors
/// The system does not tell it.
pub(super) fn executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::unusable(format!("cannot find the file of ptxasw itself: {error}"))
    })
}
