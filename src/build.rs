//! The build script: tells the program which revision of its source it is made from, and where it may
//! bring a libz3 along.
//!
//! In: the folder of the package. Out: a place of libraries beside the executable that comes before
//! the system's, for the linker; and `PTXASW_REVISION`, twelve digits of git's, with `-modified`
//! where files differ from it; `no revision` for a source without git (a tar file); `debug build`
//! for builds without optimisation, which come and go too fast to be named, and would all be made
//! anew after each commit.

#![allow(clippy::disallowed_methods, reason = "a build script speaks with cargo and git")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of libraries, from that of the executable.
const LIBRARIES: &str = include_str!("assembler/install/libraries.txt");

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
    if value("CARGO_CFG_TARGET_OS") == "linux" {
        // By DT_RPATH, so that LD_LIBRARY_PATH, which toolchains like to set, leads to no other one.
        println!("cargo::rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN/{LIBRARIES}");
        // At a fixed address nothing has to be relocated at the start: 3 to 7 % of the time that a call takes beside ptxas.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
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
