//! The command line: the only stage that prints or reads the environment.

pub mod ab;
pub mod ab_args;
pub mod args;
mod commands;
pub mod env;
pub mod keep;
mod profile;
pub mod report;
pub mod run;
mod verify;
pub mod wrapper;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program: ptxas where it is called by that name, one of our subcommands otherwise.
pub fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let called_as = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    match words.as_slice() {
        words if wrapper::is_ptxas(&called_as) => wrapper::main(&called_as, words),
        [command, dashes, rest @ ..] if command == "ptxas" && dashes == "--" => {
            wrapper::main(&called_as, rest)
        }
        words => {
            let parsed = args::Cli::parse_from(std::iter::once(&called_as).chain(words));
            wrapper::start_log(&env::Settings::of_process());
            commands::dispatch(parsed.command)
        }
    }
}
