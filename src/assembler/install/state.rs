//! The state of a place.
//!
//! A file counts as ptxasw if its bytes contain a mark, whatever its version, so that nothing has to
//! be run to find out; links are followed.

use super::place::Place;
use super::refusal::Refusal;
use crate::ptxas::locate::{same_bytes, same_inode};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The mark: these bytes are in every ptxasw and in no other file.
#[used]
pub static MARK: &[u8] = b"ptxasw stand-in 6f1d4c0e-8b7a-4e53-9a55-2f3f1c9d70be";

/// The kind of file under a name in a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nothing.
    Missing,
    /// A link to nothing.
    Dangling,
    /// A ptxasw.
    Ours {
        /// Whether it has the very bytes of the ptxasw to be installed.
        current: bool,
        /// Whether it is a symbolic link.
        link: bool,
    },
    /// Another program.
    Program,
    /// A file that cannot be executed.
    NotExecutable,
    /// A folder, or something else that is not a file.
    NoFile,
}

/// The kinds of the files at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// The file under the assembler's name.
    pub front: Entry,
    /// The file under `NAME.real`.
    pub real: Entry,
    /// How the two are related, where both are programs.
    pub twins: Twins,
}

/// How two programs of equal content are related.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Twins {
    /// They are different.
    Different,
    /// Either can go and the other stays: hard links, copies, links to a third file.
    Separate,
    /// The front is a link to the real one.
    FrontIsLink,
    /// The real one is a link to the front, or it cannot be told.
    Tangled,
}

impl State {
    /// Looks at a place. `executable` is the ptxasw to compare with.
    ///
    /// # Errors
    /// A file or link cannot be read.
    pub fn of(place: &Place, executable: Option<&Path>) -> Result<State, Refusal> {
        let (front, real) = (place.front(), place.real());
        let entry = |path: &Path| {
            entry(path, executable).map_err(|error| Refusal::io(path.display(), &error))
        };
        let mut state =
            State { front: entry(&front)?, real: entry(&real)?, twins: Twins::Different };
        if (state.front, state.real) == (Entry::Program, Entry::Program) {
            state.twins =
                twins(&front, &real).map_err(|error| Refusal::io(real.display(), &error))?;
        }
        Ok(state)
    }

    /// Why nothing can be done with a place in this state.
    pub(super) fn unsuitable(&self, place: &Place) -> Refusal {
        let (front, real) = (place.front(), place.real());
        let (path, what) = match (self.front, self.real) {
            (Entry::NotExecutable, _) => (&front, "this is not executable"),
            (Entry::NoFile, _) => (&front, "this is not a file"),
            (Entry::Dangling, _) => (&front, "this is a link to nothing"),
            (Entry::Missing, Entry::Missing) => (&front, "there is no such file"),
            (_, Entry::Ours { .. }) => (&real, "this is ptxasw as well, not the real one"),
            (_, Entry::NotExecutable) => (&real, "this is not executable"),
            (_, Entry::Dangling) => (&real, "this is a link to nothing"),
            (_, Entry::NoFile) => (&real, "this is not a file"),
            (Entry::Program, Entry::Program) => {
                (&real, "this is a link to the program that it should replace")
            }
            (_, Entry::Missing | Entry::Program) => {
                (&real, "this is missing, and only ptxasw is left under its name")
            }
        };
        Refusal::new(format!("{}: {what}", path.display())).with_help(format!(
            "put the real {} back from its package as {}, then try again",
            place.name.display(),
            front.display()
        ))
    }
}

/// The kind of the file at a path; `executable` is the ptxasw to compare with.
fn entry(path: &Path, executable: Option<&Path>) -> io::Result<Entry> {
    let link = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Missing),
        found => found?.is_symlink(),
    };
    let metadata = match fs::metadata(path) {
        Err(error) if link && error.kind() == io::ErrorKind::NotFound => {
            return Ok(Entry::Dangling);
        }
        found => found?,
    };
    if !metadata.is_file() {
        return Ok(Entry::NoFile);
    }
    if is_ours(path)? {
        let current = executable.is_some_and(|own| same_bytes(own, path).unwrap_or(false));
        return Ok(Entry::Ours { current, link });
    }
    let executable = metadata.permissions().mode() & 0o111 != 0;
    Ok(if executable { Entry::Program } else { Entry::NotExecutable })
}

/// Whether a file is a ptxasw.
///
/// # Errors
/// The file cannot be read.
pub fn is_ours(path: &Path) -> io::Result<bool> {
    Ok(memchr::memmem::find(&fs::read(path)?, MARK).is_some())
}

/// How two programs are related.
fn twins(front: &Path, real: &Path) -> io::Result<Twins> {
    let (a, b) = (fs::metadata(front)?, fs::metadata(real)?);
    let one_file = same_inode(&a, &b);
    if !one_file && (a.len() != b.len() || !same_bytes(front, real)?) {
        return Ok(Twins::Different);
    }
    let (a, b) = (front.symlink_metadata()?, real.symlink_metadata()?);
    if !one_file || same_inode(&a, &b) {
        return Ok(Twins::Separate);
    }
    // They are one file, by way of a link. If only the front is a link, the real one is the file.
    Ok(match (front.read_link().ok(), real.read_link().ok()) {
        (Some(_), None) => Twins::FrontIsLink,
        (Some(a), Some(b)) if a == b => Twins::Separate,
        _ => Twins::Tangled,
    })
}
