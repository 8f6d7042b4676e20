//! Facts about the process when an assembler is looked for, and the files on the way to the program itself.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The inputs of the search.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The path or name that the user gives for the real ptxas, if any.
    pub explicit: Option<OsString>,
    /// The name by which the program was called.
    pub called_as: OsString,
    /// The program's own file, links resolved.
    pub executable: PathBuf,
    /// Where the file that is being executed can be opened, if `executable` may be another one's name by
    /// now: uninstalling gives the real assembler the name that this program was started by.
    pub image: Option<PathBuf>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// The working directory, for names in `path` that are relative.
    pub directory: PathBuf,
}

/// The program as it was called, each link on the way to its file, and its file.
pub fn chain(search: &Search) -> Vec<PathBuf> {
    let mut files = called_file(search).map(links).unwrap_or_default();
    files.push(search.executable.clone());
    files
}

/// The path by which the program was called, before links are resolved.
pub fn called_file(search: &Search) -> Option<PathBuf> {
    let called = Path::new(&search.called_as);
    if called.components().count() > 1 {
        return Some(search.directory.join(called));
    }
    let own = Own::new(search);
    in_path(search.called_as.clone(), search).into_iter().find(|file| own.is_same_file(file))
}

/// A file and each link on the way to it.
pub fn links(file: PathBuf) -> Vec<PathBuf> {
    /// As many links as the system follows.
    const MAX_LINKS: usize = 40;
    let mut files = Vec::new();
    let mut next = Some(file);
    while let Some(file) = next.take().filter(|_| files.len() < MAX_LINKS) {
        next = fs::read_link(&file).ok().map(|target| file.with_file_name("").join(target));
        files.push(file);
    }
    files
}

/// The executables of that name in `PATH`, in order.
pub fn in_path(name: OsString, search: &Search) -> Vec<PathBuf> {
    which::which_in_all(name, search.path.as_ref(), &search.directory)
        .map(Iterator::collect)
        .unwrap_or_default()
}

/// The program's own file, for comparison.
#[derive(Debug)]
pub struct Own {
    file: PathBuf,
    metadata: Option<Metadata>,
}

impl Own {
    /// The file of the process that a search starts from.
    pub fn new(search: &Search) -> Own {
        let file = search.image.as_ref().unwrap_or(&search.executable);
        Own { file: file.clone(), metadata: fs::metadata(file).ok() }
    }

    /// Whether `path` is this file, by whatever links.
    pub fn is_same_file(&self, path: &Path) -> bool {
        let other = fs::metadata(path).ok();
        self.metadata.as_ref().zip(other.as_ref()).is_some_and(|(a, b)| same_inode(a, b))
    }

    /// Whether `path` is this file, by whatever links, or a copy of it.
    pub fn is(&self, path: &Path, metadata: &Metadata) -> bool {
        self.metadata.as_ref().is_some_and(|own| {
            same_inode(own, metadata)
                || own.len() == metadata.len() && same_bytes(&self.file, path).unwrap_or(false)
        })
    }
}

/// Whether two files are one.
pub fn same_inode(a: &Metadata, b: &Metadata) -> bool {
    a.dev() == b.dev() && a.ino() == b.ino()
}

/// Whether two files hold the same bytes.
///
/// # Errors
/// One of them cannot be read.
pub fn same_bytes(a: &Path, b: &Path) -> std::io::Result<bool> {
    let (mut a, mut b) = (fs::File::open(a)?, fs::File::open(b)?);
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let count = a.read(&mut left)?;
        if count == 0 {
            return Ok(b.read(&mut right[..1])? == 0);
        }
        if b.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return Ok(false);
        }
    }
}
