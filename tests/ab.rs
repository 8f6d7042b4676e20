//! `ptxasw ab`: the judgements from synthetic times, the whole path on a device that is none, the
//! real driver module on a library that is none, profiles from there, and the micro-benchmark's texts.

#![expect(clippy::disallowed_methods, reason = "ptxas, a C compiler and ptxasw are processes")]

mod driver;
mod fake;
mod judgements;
mod microbench;
mod path;
mod scripts;
mod tune;
