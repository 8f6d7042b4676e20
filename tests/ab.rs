//! `ptxasw ab`: the judgements from synthetic times, the whole path on a device that is none, the
//! real driver module on a library that is none, profiles from there, and the micro-benchmark's texts.

#![expect(clippy::disallowed_methods, reason = "ptxas, a C compiler and ptxasw are processes")]

#[expect(dead_code, reason = "only the assembler is needed")]
mod common;

#[path = "ab/driver.rs"]
mod driver;
#[path = "ab/fake.rs"]
mod fake;
#[path = "ab/judgements.rs"]
mod judgements;
#[path = "ab/microbench.rs"]
mod microbench;
#[path = "ab/path.rs"]
mod path;
#[path = "ab/scripts.rs"]
mod scripts;
#[path = "ab/tune.rs"]
mod tune;
