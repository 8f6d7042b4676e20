//! The build script: tells the program which revision of its source it is made from, and where it may
//! bring a libz3 along.
//!
//! In: the folder of the package. Out: a place of libraries beside the executable that comes before
//! the system's, by `PTXASW_LIBRARIES`; the file name of the libz3 that the program is linked with, which is loaded at
//! run time, by `PTXASW_Z3`; and `PTXASW_REVISION`, twelve digits of git's, with `-modified`
//! where files differ from it; `no revision` for a source without git (a tar file); `debug build`
//! for builds without optimisation, which come and go too fast to be named, and would all be made
//! anew after each commit.

#![allow(clippy::disallowed_methods, reason = "a build script speaks with cargo and git")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of libraries, from that of the executable.
const LIBRARIES: &str = "../lib/ptxasw";

/// The name of libz3 in Debian and Ubuntu.
const DEBIANS_Z3: &str = "libz3.so.4";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let value = |name: &str| std::env::var(name).unwrap_or_default();
    let root = PathBuf::from(value("CARGO_MANIFEST_DIR"));
    let revision = if value("PROFILE") == "debug" {
        "debug build".to_owned()
    } else {
        for path in ["Cargo.toml", "Cargo.lock", "grammar", "src"] {
            println!("cargo::rerun-if-changed={path}");
        }
        for path in heads(&root) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        revision(&root).unwrap_or_else(|| "no revision".to_owned())
    };
    println!("cargo::rustc-env=PTXASW_REVISION={revision}");
    println!("cargo::rustc-env=PTXASW_LIBRARIES={LIBRARIES}");
    println!("cargo::rustc-env=PTXASW_Z3={}", z3().unwrap_or_else(|| DEBIANS_Z3.to_owned()));
    if value("CARGO_CFG_TARGET_OS") == "linux" {
        // By DT_RPATH, so that LD_LIBRARY_PATH, which toolchains like to set, leads to no other one.
        println!("cargo::rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN/{LIBRARIES}");
        // At a fixed address nothing has to be relocated at the start: 3 to 7 % of the time that a call takes beside ptxas.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// The file name of the libz3 that the linker finds: `libz3.so` is a link to it.
fn z3() -> Option<String> {
    let overriding = std::env::var("Z3_LIBRARY_PATH_OVERRIDE").ok().map(PathBuf::from);
    println!("cargo::rerun-if-env-changed=Z3_LIBRARY_PATH_OVERRIDE");
    let output = Command::new("cc").arg("-print-file-name=libz3.so").output().ok()?;
    let found = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let mut places = overriding.map(|folder| folder.join("libz3.so")).into_iter().chain([found]);
    let library = places.find_map(|place| place.canonicalize().ok())?;
    Some(library.file_name()?.to_str()?.to_owned())
}

/// What git says in a folder, if it says anything.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The files that change with each commit.
fn heads(root: &Path) -> Vec<PathBuf> {
    ["HEAD", "logs/HEAD"]
        .iter()
        .filter_map(|name| git(root, &["rev-parse", "--git-path", name]))
        .map(|path| root.join(path))
        .filter(|path| path.exists())
        .collect()
}

/// The revision of the source in a folder, which must be a repository's top.
pub fn revision(root: &Path) -> Option<String> {
    // A source unpacked inside somebody else's repository is not that repository's.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if root.canonicalize().ok()? != PathBuf::from(top).canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-modified") })
}
