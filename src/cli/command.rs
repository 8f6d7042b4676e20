//! The subcommands, for clap. The options of each and its function stand in the file of its name.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use super::ab::Ab;
use super::asm::Asm;
use super::candidates::Candidates;
use super::cfg::Cfg;
use super::compare::Compare;
use super::completions::Completions;
use super::doctor::Doctor;
use super::exit::{Failure, Status};
use super::explain::Explain;
use super::fingerprint::Fingerprint;
use super::install::Install;
use super::io;
use super::launch::Launch;
use super::lint::Lint;
use super::man::Man;
use super::parse::Parse;
use super::report::Report;
use super::rewrite::Rewrite;
use super::run::Run;
use super::synth::Synth;
use super::toolkit::Toolkit;
use super::trace::Trace;
use super::tune::Tune;
use super::uninstall::Uninstall;
use super::verify::Verify;
use super::wrapper;

/// Stands in for NVIDIA's assembler ptxas, under that name, and makes kernels faster: vectors of loads and stores, loads in
/// batches, sums kept in registers, fewer bank conflicts, shuffles for trees in shared memory. Also finds wasted memory traffic,
/// proves rewrites and executes kernels on the CPU.
#[derive(Debug, Parser)]
#[command(name = "ptxasw", version = super::version::SHORT, propagate_version = true)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the rewritten PTX
    Rewrite(Rewrite),
    /// Parse, and print counts of functions, instructions and bytes
    Parse(Parse),
    /// Show every global load, what was decided, and why
    Candidates(Candidates),
    /// Say what every memory access costs, by source line, and what to do about those that waste
    Lint(Lint),
    /// Say what a reason for keeping a load, or a finding of `lint`, means
    Explain(Explain),
    /// Show the symbolic memory trace of each kernel
    Trace(Trace),
    /// Print a kernel's control-flow graph in Graphviz's language
    Cfg(Cfg),
    /// Draft a launch file for a kernel: `run`, `verify`, `ab` and `tune` take it
    Launch(Launch),
    /// Execute a kernel on the CPU, warp by warp, and print its buffers
    Run(Run),
    /// Prove that a rewritten file is equivalent to the original
    Verify(Verify),
    /// Hash the operations that lead to each buffer: kernels with the same hash compute the same bits
    Fingerprint(Fingerprint),
    /// Time a kernel and its rewritten versions on a GPU, one against the other
    Ab(Box<Ab>),
    /// Time the strategies on a GPU and write the fastest into a profile that builds obey
    Tune(Box<Tune>),
    /// Show the resources and the static schedule of machine code, of PTX or of a cubin
    Asm(Asm),
    /// Compare the registers, spills, stack, shared memory, code and warps of the kernels of two builds
    Compare(Compare),
    /// Complete a sketch of data movement: find its index expressions, or prove that there are none
    Synth(Synth),
    /// Make one HTML page of the JSON files in a folder
    Report(Report),
    /// Be ptxas: `ptxasw ptxas -- ARGS...`, every argument is ptxas's
    Ptxas {
        /// ptxas's arguments, behind `--`
        #[arg(last = true)]
        arguments: Vec<OsString>,
    },
    /// Put ptxasw in front of the ptxas of a toolkit
    Install(Install),
    /// Take ptxasw away from the ptxas of a toolkit
    Uninstall(Uninstall),
    /// Make a folder of links that mirrors a toolkit, with ptxasw as its ptxas
    Toolkit(Toolkit),
    /// Check an installation and name its faults
    Doctor(Doctor),
    /// Print completions for a shell
    Completions(Completions),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(Man),
}

impl Command {
    /// Runs the subcommand. `called_as` is the name the program was called by.
    pub(super) fn run(self, called_as: &OsStr) -> ExitCode {
        let done = match self {
            Command::Ptxas { arguments } => return wrapper::main(called_as, &arguments),
            Command::Rewrite(args) => args.run(),
            Command::Parse(args) => args.run(),
            Command::Candidates(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Trace(args) => args.run(),
            Command::Cfg(args) => args.run(),
            Command::Launch(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Tune(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Install(args) => args.run(),
            Command::Uninstall(args) => args.run(),
            Command::Toolkit(args) => args.run(),
            Command::Completions(args) => args.run(Cli::command()),
            Command::Man(args) => args.run(Cli::command()),
            Command::Lint(args) => return end(args.run()),
            Command::Asm(args) => return end(args.run()),
            Command::Compare(args) => return end(args.run()),
            Command::Verify(args) => return end(args.run()),
            Command::Fingerprint(args) => return end(args.run()),
            Command::Synth(args) => return end(args.run()),
            Command::Ab(args) => return end(args.run()),
            Command::Doctor(args) => return end(args.run(called_as)),
        };
        end(done.map(|()| Status::SUCCESS))
    }
}

/// Prints the failure of a subcommand, if any, and returns the exit status.
fn end(done: Result<Status, Failure>) -> ExitCode {
    done.unwrap_or_else(|Failure { status, message, .. }| {
        io::complain(&message);
        status
    })
    .into()
}
