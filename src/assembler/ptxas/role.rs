//! Which assembler the program stands in for, from the name it was called by.
//!
//! In: facts about the process ([`Search`]). Out: a [`Role`], or `None` if the program is to
//! be `ptxasw` itself. Under a name whose stem is `ptxas` it is ptxas. Another name counts if a file
//! `NAME.real` lies beside it, which is what [`crate::install`] makes, and on the way through links
//! each name counts: GCC calls `.../accel/nvptx-none/as`, a link to `/usr/bin/nvptx-none-as`.

use crate::ptxas::search::{Search, chain};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command line and messages of an assembler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// NVIDIA's ptxas.
    Ptxas,
    /// `nvptx-none-as` of GCC's nvptx-tools, which checks and passes on PTX text.
    NvptxAs,
}

impl Dialect {
    /// The dialect of an assembler of this name: `ptxas`, `ptxas-blackwell`, ... are NVIDIA's.
    pub fn of(name: &OsStr) -> Dialect {
        let is_ptxas = memchr::memmem::find(name.as_encoded_bytes(), b"ptxas").is_some();
        if is_ptxas { Dialect::Ptxas } else { Dialect::NvptxAs }
    }
}

/// An assembler to stand in for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// The name it is called by; the real one is `NAME.real`.
    pub name: OsString,
    /// The assembler's command line and messages.
    pub dialect: Dialect,
}

impl Default for Role {
    fn default() -> Role {
        Role { name: "ptxas".into(), dialect: Dialect::Ptxas }
    }
}

/// Names that are assemblers' even if no `NAME.real` lies beside them, so that the message is about
/// the missing assembler and not about arguments.
const KNOWN: [&str; 2] = ["nvptx-none-as", "nvptx-as"];

/// The name of the program's own file.
const OWN_NAME: &str = "ptxasw";

impl Role {
    /// The role in which the program was called, if any.
    pub fn of(search: &Search) -> Option<Role> {
        let called = Path::new(&search.called_as);
        if called.file_stem().is_some_and(|stem| stem == "ptxas") {
            return Some(Role::default());
        }
        let files = chain(search);
        let names = || files.iter().filter_map(|file| Some((file, file.file_name()?)));
        names()
            .filter(|(_, name)| *name != OWN_NAME)
            .find(|(file, name)| file.with_file_name(real_name(name)).exists())
            .or_else(|| names().find(|(_, name)| KNOWN.iter().any(|known| name == known)))
            .map(|(_, name)| Role { name: name.to_owned(), dialect: Dialect::of(name) })
    }
}

/// The name under which the real assembler is kept.
pub fn real_name(name: &OsStr) -> OsString {
    let mut real = name.to_owned();
    real.push(".real");
    real
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    crate::unit_tests!(a_name_counts_with_the_real_one_beside_it, dialects_go_by_the_name);

    fn of(called_as: &Path, executable: &Path) -> Option<String> {
        let search = Search {
            called_as: called_as.as_os_str().to_owned(),
            executable: executable.to_owned(),
            ..Search::default()
        };
        Role::of(&search).map(|role| role.name.to_string_lossy().into_owned())
    }

    fn a_name_counts_with_the_real_one_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["ptxasw", "ptxasw.real", "nvptx-none-as.real", "ptxas-blackwell.real", "tool"]
        {
            std::fs::write(path(name), "").unwrap();
        }
        for (link, target) in [
            ("nvptx-none-as", "ptxasw"),
            ("as", "nvptx-none-as"),
            ("ptxas-blackwell", "ptxasw"),
            ("other", "ptxasw"),
        ] {
            symlink(target, path(link)).unwrap();
        }
        let role = |name: &str| of(&path(name), &path("ptxasw"));
        assert_eq!(role("nvptx-none-as").as_deref(), Some("nvptx-none-as"));
        assert_eq!(role("as").as_deref(), Some("nvptx-none-as"), "through a link");
        assert_eq!(role("ptxas-blackwell").as_deref(), Some("ptxas-blackwell"));
        assert_eq!(role("ptxas").as_deref(), Some("ptxas"), "whatever there is");
        assert_eq!(role("ptxasw"), None, "ourselves");
        assert_eq!(role("other"), None);
        // A copy, called by a link to it.
        std::fs::copy(path("tool"), path("copy-as")).unwrap();
        std::fs::write(path("copy-as.real"), "").unwrap();
        assert_eq!(of(&path("x"), &path("copy-as")).as_deref(), Some("copy-as"));
    }

    fn dialects_go_by_the_name() {
        assert_eq!(Dialect::of(OsStr::new("ptxas-blackwell")), Dialect::Ptxas);
        assert_eq!(Dialect::of(OsStr::new("nvptx-none-as")), Dialect::NvptxAs);
    }
}
