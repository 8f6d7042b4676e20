//! What `--version` says: which build the program is, and which z3 and ptxas it works with.

use std::ffi::OsStr;

use super::env::Settings;
use super::wrapper;
use crate::ptxas::locate;
use crate::ptxas::role::{Dialect, Role};
use crate::ptxas::trial;
use crate::solver;

/// The version and the source's revision, from the build script, `0.1.0 (1a2b3c4d5e6f)`.
pub(super) const SHORT: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("PTXASW_REVISION"), ")");

/// [`SHORT`], z3's version, and the real ptxas that a call would use.
pub(super) fn long(called_as: &OsStr) -> String {
    let search = wrapper::search(called_as, &Settings::of_process());
    let ptxas = match locate::find(&search, &Role::default()) {
        Ok(path) => match trial::version(&path, Dialect::Ptxas) {
            Ok(version) => format!("{} ({version})", path.display()),
            Err(why) => format!("{}: {why}", path.display()),
        },
        Err(_) => "none found; set PTXASW_PTXAS to its path".to_owned(),
    };
    format!("{SHORT}\n{}\nptxas: {ptxas}", solver::version())
}
