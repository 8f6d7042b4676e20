//! `ptxasw install`, `uninstall`, `toolkit`, `doctor` and what comes with a package: on made-up
//! toolkits with a ptxas that is a script, and on the real one.

#![allow(unreachable_pub, reason = "nobody uses a test binary")]
#![expect(clippy::disallowed_methods, reason = "these tests are about processes")]

#[expect(dead_code, reason = "only what the build script finds out is of interest")]
#[path = "../../src/build.rs"]
mod build;
mod debian;
mod doctor;
mod faults;
mod folder;
mod gcc;
mod library;
mod module;
mod package;
mod python;
mod refusals;
mod solver;
mod toolkit;
mod uses;
mod version;
