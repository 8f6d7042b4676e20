//! Where the real ptxas is.
//!
//! In: the caller's knowledge of the process (see [`Search`]). Out: a path that is executable and is
//! not this program, or a list of all paths that were looked at. "Not this program" means another
//! device and inode, and other bytes. A stand-in built from other sources is not recognised here; the
//! count that [`crate::ptxas::invoke::Tool`] hands down stops calls in a circle.

use crate::ptxas::role::{Dialect, Role, real_name};
use crate::ptxas::search::{Own, called_file, chain, in_path, links};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use crate::ptxas::search::{Search, same_bytes, same_inode};

/// No real ptxas: each examined place and its fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound {
    /// The name of the assembler that was looked for.
    pub name: OsString,
    /// The paths in the order of the search, each with its fault.
    pub looked: Vec<(PathBuf, &'static str)>,
    /// Whether the explicit name alone counted.
    pub explicit: bool,
}

impl NotFound {
    /// The name that was searched for and the fault of each path, a line for each.
    pub fn reason(&self) -> String {
        let mut reason = if self.explicit {
            "PTXASW_PTXAS does not name a real ptxas".to_owned()
        } else {
            format!("cannot find the real {}", self.name.display())
        };
        for (path, why) in &self.looked {
            reason += &format!("\n  {}: {why}", path.display());
        }
        reason
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match Dialect::of(&self.name) {
            Dialect::Ptxas => "set PTXASW_PTXAS to the path of NVIDIA's ptxas".to_owned(),
            Dialect::NvptxAs => {
                format!("install the package that {} comes from again", self.name.display())
            }
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.reason(), self.help())
    }
}

impl std::error::Error for NotFound {}

const ITSELF: &str = "this is ptxasw itself";
const MISSING: &str = "there is no such file";

/// Finds the real ptxas: by the explicit name, then as `ptxas.real` beside the program as it was
/// called, beside each link on the way and beside its file, each followed where it is a link itself, then as the file that now has the name
/// this program was called by, then as `ptxas` in `PATH`, each with the `ptxas.real` beside it. An assembler of another name is first looked
/// for as `NAME.real`; the explicit name counts only if it is NVIDIA's.
///
/// # Errors
/// No suitable file was found. An explicit name that does not exist or cannot be executed ends the
/// search, lest another version be used unnoticed; an explicit name of this program does not.
pub fn find(search: &Search, role: &Role) -> Result<PathBuf, NotFound> {
    /// More often than somebody installs and uninstalls while one search runs.
    const MAX_SEARCHES: usize = 8;
    // Uninstalling may take `ptxas.real` away before it is looked at, and installing may put this
    // program under the name before that is: only a search between the two says that there is none.
    let mut found = search_once(search, role);
    for _ in 1..MAX_SEARCHES {
        if !found
            .as_ref()
            .is_err_and(|missing| missing.looked.iter().any(|(_, why)| *why == ITSELF))
        {
            break;
        }
        found = search_once(search, role);
    }
    found
}

/// Looks at each place once.
fn search_once(search: &Search, role: &Role) -> Result<PathBuf, NotFound> {
    let own = Own::new(search);
    let mut looked = Vec::new();
    let real = real_name(&role.name);
    let mut beside: Vec<PathBuf> =
        chain(search).iter().map(|file| file.with_file_name(&real)).flat_map(kept).collect();
    beside.dedup();
    if role.name != Role::default().name
        && let Some(path) = first(&beside, &own, &mut looked)
    {
        return Ok(path);
    }
    let explicit = search.explicit.as_ref().filter(|name| !name.is_empty());
    if let Some(name) = explicit.filter(|_| role.dialect == Dialect::Ptxas) {
        let is_path = Path::new(name).components().count() > 1;
        let candidates =
            if is_path { vec![PathBuf::from(name)] } else { in_path(name.clone(), search) };
        if let Some(path) = first(&candidates, &own, &mut looked) {
            return Ok(path);
        }
        if !looked.iter().any(|(_, why)| *why == ITSELF) {
            if looked.is_empty() {
                looked.push((name.into(), "no such program in PATH"));
            }
            return Err(NotFound { name: role.name.clone(), looked, explicit: true });
        }
    }
    // Uninstalling may just have given the real one the name by which this program was called.
    beside.extend(called_file(search));
    if let Some(path) = first(&beside, &own, &mut looked) {
        return Ok(path);
    }
    // (A stand-in in `PATH` has the real one beside it, also if this program was called by another name.)
    let with_kept = |file: PathBuf| {
        let kept = kept(file.with_file_name(&real));
        std::iter::once(file).chain(kept)
    };
    let in_path: Vec<PathBuf> =
        in_path(role.name.clone(), search).into_iter().flat_map(with_kept).collect();
    match first(&in_path, &own, &mut looked) {
        Some(path) => Ok(path),
        None => {
            let folders = search.path.iter().flat_map(std::env::split_paths);
            looked.extend(folders.filter_map(|folder| {
                let file = folder.join(&role.name);
                (!file.exists()).then_some((file, MISSING))
            }));
            Err(NotFound { name: role.name.clone(), looked, explicit: false })
        }
    }
}

/// Where the assembler is that was kept as `file`: there, or where the link of a mirror leads. Since the
/// mirror was made, ptxasw may have been installed there, which gave the real one the name `NAME.real`, or
/// uninstalled, which gave it its own name back.
fn kept(file: PathBuf) -> Vec<PathBuf> {
    let mut places = vec![file.clone()];
    for target in links(file).into_iter().skip(1) {
        let name = target.file_name().unwrap_or_default();
        let other = match target.extension().is_some_and(|extension| extension == "real") {
            true => target.with_extension(""),
            false => target.with_file_name(real_name(name)),
        };
        places.extend([target, other]);
    }
    places
}

/// The first candidate that can be executed and is not this program; notes why others are not.
fn first(
    candidates: &[PathBuf],
    own: &Own,
    looked: &mut Vec<(PathBuf, &'static str)>,
) -> Option<PathBuf> {
    for path in candidates {
        let why = match fs::metadata(path) {
            Err(_) => MISSING,
            Ok(metadata) if !metadata.is_file() => "this is not a file",
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => "this is not executable",
            Ok(metadata) if own.is(path, &metadata) => ITSELF,
            Ok(_) => return Some(path.clone()),
        };
        if !looked.iter().any(|(seen, _)| seen == path) {
            looked.push((path.clone(), why));
        }
    }
    None
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        the_real_one_may_have_the_name_by_which_the_program_was_started,
        the_real_one_is_found_beside_a_stand_in_in_path
    );

    fn the_real_one_is_found_beside_a_stand_in_in_path() {
        let folder = tempfile::tempdir().unwrap();
        let [stand_in, real, own] =
            ["ptxas", "ptxas.real", "ptxasw"].map(|name| folder.path().join(name));
        for (file, content) in [(&stand_in, "ptxasw"), (&real, "real"), (&own, "ptxasw")] {
            fs::write(file, content).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let executable = elsewhere.path().join("ptxasw");
        fs::copy(&own, &executable).unwrap();
        let search = Search {
            called_as: executable.clone().into(),
            executable,
            path: Some(folder.path().into()),
            ..Search::default()
        };
        assert_eq!(find(&search, &Role::default()).unwrap(), real);
    }

    fn the_real_one_may_have_the_name_by_which_the_program_was_started() {
        let folder = tempfile::tempdir().unwrap();
        let [name, image] = ["ptxas", "deleted"].map(|name| folder.path().join(name));
        for (file, content) in [(&name, "real"), (&image, "ptxasw")] {
            fs::write(file, content).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut search = Search {
            called_as: name.clone().into(),
            executable: name.clone(),
            image: Some(image.clone()),
            ..Search::default()
        };
        assert_eq!(find(&search, &Role::default()).unwrap(), name);
        fs::copy(&image, &name).unwrap();
        let missing = find(&search, &Role::default()).unwrap_err();
        assert!(missing.looked.contains(&(name.clone(), ITSELF)), "{missing}");
        search.image = None;
        assert!(find(&search, &Role::default()).is_err());
    }
}
