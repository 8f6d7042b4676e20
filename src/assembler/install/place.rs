//! The folder of an assembler, and the names of the files in it.

use super::refusal::Refusal;
use crate::ptxas::role::{Dialect, real_name};
use rustix::fs::{FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The place of an assembler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its folder.
    pub folder: PathBuf,
    /// Its file name.
    pub name: OsString,
}

impl Place {
    /// The place of `name` in a toolkit: `DIR/bin`, or `DIR` itself.
    ///
    /// # Errors
    /// No folder has such an assembler, or `name` cannot be the name of a stand-in.
    pub fn find(directory: &Path, name: &OsStr) -> Result<Place, Refusal> {
        let shown = name.display();
        let harmless = Path::new(name).file_name() == Some(name)
            && Path::new(name).extension().is_none_or(|extension| extension != "real")
            && name != "ptxasw";
        if !harmless {
            return Err(Refusal::new(format!("`{shown}` is not the name of an assembler")));
        }
        let directory = absolute(directory);
        if !directory.is_dir() {
            let what =
                if directory.exists() { "this is not a folder" } else { "there is no such folder" };
            return Err(Refusal::new(format!("{}: {what}", directory.display())));
        }
        let there = |path: PathBuf| path.symlink_metadata().is_ok();
        [directory.join("bin"), directory.clone()]
            .into_iter()
            .find(|folder| there(folder.join(name)) || there(folder.join(real_name(name))))
            .map(|folder| Place { folder, name: name.to_owned() })
            .ok_or_else(|| {
                Refusal::new(format!("there is no {shown} in {0}/bin or {0}", directory.display()))
                    .with_help("name the folder of a toolkit, such as /usr/local/cuda")
            })
    }

    /// The name that compilers call.
    pub fn front(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The name under which the real assembler is kept.
    pub fn real(&self) -> PathBuf {
        self.folder.join(real_name(&self.name))
    }

    /// The temporary name of a new front.
    pub fn new_front(&self) -> PathBuf {
        self.temporary(".ptxasw-new")
    }

    /// The temporary name of a copy of the real assembler.
    pub fn new_real(&self) -> PathBuf {
        self.temporary(".ptxasw-real")
    }

    fn temporary(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(suffix);
        self.folder.join(name)
    }

    /// Which options and messages the assembler has.
    pub fn dialect(&self) -> Dialect {
        Dialect::of(&self.name)
    }

    /// Keeps other installations out of the folder for as long as the result lives, if the folder's
    /// file system can do so.
    pub(super) fn lock(&self) -> Option<File> {
        let folder = File::open(&self.folder).ok()?;
        match flock(&folder, FlockOperation::LockExclusive) {
            Ok(()) => Some(folder),
            Err(error) => {
                log::info!("{} cannot be locked: {error}", self.folder.display());
                None
            }
        }
    }
}

/// An absolute form of a path, for links and messages.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
