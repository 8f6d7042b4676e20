//! `ptxasw synth --library DIR`: the folder in, the headers of the library in it out.
//!
//! If the folder has a file that is not of the library, nothing is written. Each file is replaced as a whole, so that a
//! concurrent reader sees the old text or the new one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::exit::{Failure, Status};
use super::io;
use crate::synth::library::{self, MARK};
use crate::timings::Timings;

/// Derives the library and writes it into a folder, which is made if it is not there.
///
/// # Errors
/// The folder holds something else, it cannot be read or written, or something of the library has no solution.
pub(super) fn write(folder: &Path, timings: Option<&Timings>) -> Result<Status, Failure> {
    is_free(folder)?;
    let library =
        Timings::measure(timings, "derive", library::derive).map_err(Failure::unusable)?;
    fs::create_dir_all(folder).map_err(|error| io::cannot_write(folder, &error))?;
    // The file that includes the others comes last.
    for header in &library.headers {
        let path = folder.join(header.file);
        // (An unchanged file keeps its time, so that its dependents are not rebuilt.)
        if !fs::read(&path).is_ok_and(|old| old == header.text.as_bytes()) {
            io::replace(&path, &header.text)?;
        }
    }
    let functions: usize = library.headers.iter().map(|header| header.functions).sum();
    let mut text = format!("{}: {functions} functions\n", folder.display());
    for header in library.headers {
        let lines = header.text.lines().count();
        text.push_str(&format!(
            "  {:13}  {:3} functions  {lines:5} lines\n",
            header.file, header.functions
        ));
    }
    io::print(&text)?;
    Ok(Status::SUCCESS)
}

/// Whether a folder is not there, or is empty, or holds nothing but a library.
fn is_free(folder: &Path) -> Result<(), Failure> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let why = format!("the library needs a folder: {error}");
            return Err(Failure::about(folder.display(), why));
        }
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let names: Result<Vec<OsString>, _> = names.collect();
    let mut names = names.map_err(|error| Failure::about(folder.display(), error))?;
    names.sort();
    match names.iter().find(|name| !is_of_library(&folder.join(name))) {
        None => Ok(()),
        Some(name) => {
            let why = format!(
                "`{}` is not of the library, and nothing was written; name a folder that is empty or not there yet, for \
                 example `{}`",
                name.to_string_lossy(),
                folder.join("ptxasw").display()
            );
            Err(Failure::about(folder.display(), why))
        }
    }
}

/// Whether a file begins as those of the library do.
fn is_of_library(path: &Path) -> bool {
    // (Opening a pipe would wait for its writer.)
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut start));
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.is_ok() && String::from_utf8_lossy(line).contains(MARK)
}
