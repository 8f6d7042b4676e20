//! The build script: tells the crate the file name of the libz3 that the linker finds, which is loaded at run time.
//!
//! Out: `PTXASW_Z3`.

#![allow(clippy::disallowed_methods, reason = "a build script speaks with cargo and the compiler")]

use std::path::PathBuf;
use std::process::Command;

/// The name of libz3 in Debian and Ubuntu.
const DEBIANS_Z3: &str = "libz3.so.4";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PTXASW_Z3={}", z3().unwrap_or_else(|| DEBIANS_Z3.to_owned()));
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
