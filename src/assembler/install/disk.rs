//! The operations that change a folder.
//!
//! Each operation but [`Disk::copy`] is one system call, which is done wholly or not at all; a copy is
//! only ever made under a temporary name. Tests stand in for the file system, and let one operation
//! fail, or all from some operation on.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The changes that installing makes to a file system.
pub trait Disk {
    /// Copies a file and its permissions to a new name; returns when it is stored for good.
    ///
    /// # Errors
    /// Errors of the system; a part of the file may be there then.
    fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file, or a link, a second name. Replaces nothing.
    ///
    /// # Errors
    /// Errors of the system.
    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a symbolic link. Replaces nothing.
    ///
    /// # Errors
    /// Errors of the system.
    fn symlink(&mut self, target: &Path, link: &Path) -> io::Result<()>;

    /// Gives a file another name; a file that has this name already is replaced in the same instant.
    ///
    /// # Errors
    /// Errors of the system.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Exchanges two names in the same instant.
    ///
    /// # Errors
    /// Errors of the system.
    fn exchange(&mut self, a: &Path, b: &Path) -> io::Result<()>;

    /// Makes a folder.
    ///
    /// # Errors
    /// Errors of the system.
    fn make_folder(&mut self, path: &Path) -> io::Result<()>;

    /// Removes a file or a link.
    ///
    /// # Errors
    /// Errors of the system.
    fn remove(&mut self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a folder are stored for good.
    ///
    /// # Errors
    /// Errors of the system.
    fn sync(&mut self, folder: &Path) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Disk for System {
    fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::copy(from, to)?;
        File::open(to)?.sync_all()
    }

    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn symlink(&mut self, target: &Path, link: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn exchange(&mut self, a: &Path, b: &Path) -> io::Result<()> {
        Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync(&mut self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}
