//! The command line: the only stage that prints or reads the environment.
//!
//! - `command`: the list of subcommands; each stands in the file of its name, with its options and its code. `options`:
//!   options that several share.
//! - [`exit`]: every exit status, and the one error type of all subcommands.
//! - [`wrapper`]: called as ptxas. [`mod@env`]: the variables that it reads. [`keep`]: the files that it stores.
//! - [`holes`]: holes in kernels are filled before anything else looks at a text.
//! - `io`: files and standard streams; [`gpu`]: access to a GPU; [`variants`], `timing`: the kernels to time there, and
//!   the options of timing.

pub mod ab;
mod alike;
mod asm;
mod by_source;
mod candidates;
mod cfg;
mod command;
mod compare;
mod completions;
mod doctor;
mod dumped;
pub mod env;
pub mod exit;
mod explain;
mod fidelity;
mod fingerprint;
mod gate;
pub mod gpu;
pub mod holes;
mod install;
mod io;
pub mod keep;
mod large_stack;
mod launch;
mod library;
mod lint;
mod man;
mod objects;
pub mod options;
mod outcome;
mod over;
mod parse;
mod profile;
mod python;
mod replay;
pub mod report;
mod rewrite;
pub mod run;
mod smallest;
mod synth;
mod timing;
mod toolkit;
mod trace;
pub mod tune;
mod uninstall;
mod values;
pub mod variants;
mod verify;
mod version;
mod witness;
pub mod wrapper;

use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program: ptxas where it is called by that name, one of our subcommands otherwise.
pub fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let called_as = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    match words.as_slice() {
        words if wrapper::is_assembler(&called_as) => wrapper::main(&called_as, words),
        [command, dashes, rest @ ..] if command == "ptxas" && dashes == "--" => {
            wrapper::main(&called_as, rest)
        }
        words => {
            let mut command = command::Cli::command();
            // Asking for it runs ptxas and loads z3.
            if words.iter().any(|word| word == "--version") {
                command = command.long_version(version::long(&called_as));
            }
            let words = std::iter::once(&called_as).chain(words);
            let parsed = command
                .try_get_matches_from_mut(words)
                .and_then(|mut matches| command::Cli::from_arg_matches_mut(&mut matches));
            wrapper::start_log(&env::Settings::of_process());
            match parsed {
                Ok(parsed) => parsed.command.run(&called_as),
                Err(error) => error.exit(),
            }
        }
    }
}
