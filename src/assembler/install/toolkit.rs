//! A folder of links that mirrors a toolkit which one may not change, with ptxasw in front of its
//! assembler.
//!
//! `DEST/bin` is a folder of links to what `SRC/bin` holds, `ptxas` is ptxasw, `ptxas.real` a link to
//! the real one, and everything else in `SRC` is a link. nvcc takes its place from the name it is
//! called by, so `DEST/bin/nvcc` finds its profile, its headers and its assembler in `DEST`.
//!
//! The mirror is built under a temporary name beside `DEST` and then put there as a whole. A folder
//! that this module did not make is never touched; its own ones hold a link named [`SIGN`].

use super::disk::Disk;
use super::place::Place;
use super::place::absolute;
use super::state::{Entry, State, Twins};
use super::{Refusal, StandIn, prepare};
use crate::ptxas::trial;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A link in each mirror, to the toolkit that it mirrors.
pub const SIGN: &str = ".ptxasw-toolkit";

/// Makes the mirror, or makes it anew.
///
/// # Errors
/// The reason why no mirror was made; then `destination` is as it was.
pub fn mirror(
    source: &Path,
    destination: &Path,
    stand_in: StandIn<'_>,
    disk: &mut dyn Disk,
) -> Result<PathBuf, Refusal> {
    let (source, destination) = (absolute(source), absolute(destination));
    let original = Place::find(&source, OsStr::new("ptxas"))?;
    let real = real_ptxas(&original)?;
    let replaces = match occupied(&destination) {
        Occupied::No => false,
        Occupied::Mirror => true,
        Occupied::ByOthers => {
            return Err(Refusal::new(format!(
                "{}: this exists and was not made by `ptxasw toolkit`",
                destination.display()
            ))
            .with_help("name a folder that does not exist yet"));
        }
    };
    let mut partial = destination.clone().into_os_string();
    partial.push(".ptxasw-partial");
    let partial = PathBuf::from(partial);
    match occupied(&partial) {
        Occupied::No => {}
        Occupied::Mirror => remove(&partial)?,
        Occupied::ByOthers => {
            return Err(Refusal::new(format!("{}: this is in the way", partial.display()))
                .with_help("remove it, then try again"));
        }
    }
    let built = build(&source, &original, &real, &partial, stand_in, disk).and_then(|()| {
        let put = if replaces {
            disk.exchange(&partial, &destination)
        } else {
            disk.rename(&partial, &destination)
        };
        put.map_err(|error| Refusal::io(destination.display(), &error))
    });
    // A mirror that was cut off, or that was there before.
    if matches!(occupied(&partial), Occupied::Mirror) {
        remove(&partial)?;
    }
    built?;
    Ok(destination)
}

/// The real ptxas of a toolkit; a stand-in may be in front of it.
fn real_ptxas(place: &Place) -> Result<PathBuf, Refusal> {
    let state = State::of(place, None)?;
    let real = match (state.front, state.real) {
        (Entry::Program, _) if state.twins != Twins::Tangled => place.front(),
        (Entry::Ours { .. }, Entry::Program) => place.real(),
        _ => return Err(state.unsuitable(place)),
    };
    trial::version(&real, place.dialect())
        .map_err(|why| Refusal::new(format!("{}: {why}", real.display())))?;
    Ok(real)
}

enum Occupied {
    /// It does not exist, or is an empty folder.
    No,
    /// The folder is a mirror, whole or cut off.
    Mirror,
    /// The folder holds something else.
    ByOthers,
}

fn occupied(path: &Path) -> Occupied {
    match fs::read_dir(path) {
        Err(_) if path.symlink_metadata().is_err() => Occupied::No,
        Err(_) => Occupied::ByOthers,
        Ok(_) if path.join(SIGN).is_symlink() => Occupied::Mirror,
        Ok(mut entries) => {
            if entries.next().is_none() {
                Occupied::No
            } else {
                Occupied::ByOthers
            }
        }
    }
}

/// Removes a mirror; what its links lead to stays.
fn remove(mirror: &Path) -> Result<(), Refusal> {
    fs::remove_dir_all(mirror).map_err(|error| Refusal::io(mirror.display(), &error))
}

fn build(
    source: &Path,
    original: &Place,
    real: &Path,
    partial: &Path,
    stand_in: StandIn<'_>,
    disk: &mut dyn Disk,
) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::io(partial.display(), &error);
    let bin = original.folder.strip_prefix(source).unwrap_or(Path::new(""));
    let place = Place { folder: partial.join(bin), name: original.name.clone() };
    if partial.symlink_metadata().is_err() {
        disk.make_folder(partial).map_err(failed)?;
    }
    disk.symlink(source, &partial.join(SIGN)).map_err(failed)?;
    if place.folder != partial {
        disk.make_folder(&place.folder).map_err(failed)?;
        // (The source may be a mirror itself.)
        link_entries(source, partial, &[bin, Path::new(SIGN)], disk)?;
    }
    let (front, kept) = (place.front(), place.real());
    let own: Vec<&Path> = [&front, &kept]
        .into_iter()
        .filter_map(|path| Some(Path::new(path.file_name()?)))
        .chain([Path::new(SIGN)])
        .collect();
    link_entries(&original.folder, &place.folder, &own, disk)?;
    disk.symlink(real, &kept).map_err(failed)?;
    prepare(&place, stand_in, disk)?;
    disk.rename(&place.new_front(), &front).map_err(failed)?;
    disk.sync(&place.folder).map_err(failed)
}

/// Links each entry of a folder into another folder, except those of some names.
fn link_entries(
    from: &Path,
    to: &Path,
    without: &[&Path],
    disk: &mut dyn Disk,
) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::io(from.display(), &error);
    for entry in fs::read_dir(from).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !without.contains(&Path::new(&name)) {
            disk.symlink(&from.join(&name), &to.join(&name)).map_err(failed)?;
        }
    }
    Ok(())
}
