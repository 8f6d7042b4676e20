//! The command line: the only stage that prints or reads the environment.

pub mod ab;
pub mod ab_args;
pub mod args;
mod commands;
mod doctor;
pub mod env;
mod install;
pub mod keep;
mod manual;
mod profile;
pub mod report;
pub mod run;
mod values;
mod verify;
mod version;
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
            let mut command = args::Cli::command();
            // Asking for it runs ptxas and loads z3.
            if words.iter().any(|word| word == "--version") {
                command = command.long_version(version::long(&called_as));
            }
            let words = std::iter::once(&called_as).chain(words);
            let parsed = command
                .try_get_matches_from_mut(words)
                .and_then(|mut matches| args::Cli::from_arg_matches_mut(&mut matches));
            wrapper::start_log(&env::Settings::of_process());
            match parsed {
                Ok(parsed) => commands::dispatch(parsed.command, &called_as),
                Err(error) => error.exit(),
            }
        }
    }
}
