//! Subcommands and their options, for clap.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::launch::Meet;
use crate::pipeline::Options;
use crate::reuse;
use crate::rewrite::{Mode, StrategyName};
use crate::select::{self, Selection};

/// Replaces redundant global loads in PTX by warp shuffles. Called by the name `ptxas` it stands in
/// for NVIDIA's assembler.
#[derive(Debug, Parser)]
#[command(name = "ptxasw", version = super::version::SHORT, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the rewritten PTX
    Rewrite(Rewrite),
    /// Parse, and print counts of functions, instructions and bytes
    Parse(Parse),
    /// Show every global load, what was decided, and why
    Candidates(Candidates),
    /// Show the symbolic memory trace of each kernel
    Trace(Trace),
    /// Print a kernel's control-flow graph in Graphviz's language
    Cfg(Cfg),
    /// Execute a kernel on the CPU, warp by warp, and print its buffers
    Run(Run),
    /// Prove that a rewritten file does what the original does
    Verify(Verify),
    /// Time a kernel and its rewritten versions on a GPU, one against the other
    Ab(Box<super::ab_args::Ab>),
    /// Make one HTML page of the JSON files in a folder
    Report(ReportArgs),
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
    /// Check an installation and say what is wrong
    Doctor(Doctor),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man {
        /// The folder
        folder: PathBuf,
    },
}

/// `install`
#[derive(Debug, Args)]
pub struct Install {
    /// The toolkit's folder; its `bin/ptxas`, or `ptxas` in it, becomes `ptxas.real`
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Stand in for an assembler of another name, such as `nvptx-none-as`
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    pub name: OsString,
    /// Put a link to this executable there instead of a copy
    #[arg(long)]
    pub link: bool,
}

/// `uninstall`
#[derive(Debug, Args)]
pub struct Uninstall {
    /// The toolkit's folder
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The assembler's name
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    pub name: OsString,
}

/// `toolkit`
#[derive(Debug, Args)]
pub struct Toolkit {
    /// The toolkit, which stays as it is
    #[arg(value_name = "SRC")]
    pub source: PathBuf,
    /// The folder to make
    #[arg(value_name = "DEST")]
    pub destination: PathBuf,
    /// Put a link to this executable there instead of a copy
    #[arg(long)]
    pub link: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// A toolkit's folder; without it, what `PATH` leads to is checked
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// `rewrite`
#[derive(Debug, Args)]
pub struct Rewrite {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// Where to write; standard output if not given
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Write the JSON of `candidates` to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write what was replaced and what was not to this file, as LLVM's optimisation remarks
    #[arg(long, value_name = "FILE.yaml")]
    pub remarks: Option<PathBuf>,
    /// How decisions are made
    #[command(flatten)]
    pub decisions: Decisions,
}

/// `parse`
#[derive(Debug, Args)]
pub struct Parse {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// Parse every body in full, not only those that may be rewritten
    #[arg(long)]
    pub all: bool,
}

/// `candidates`
#[derive(Debug, Args)]
pub struct Candidates {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// How decisions are made
    #[command(flatten)]
    pub decisions: Decisions,
}

/// `trace`
#[derive(Debug, Args)]
pub struct Trace {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// Only this kernel
    #[arg(long)]
    pub kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Print the control-flow graph with the trace in its blocks, in Graphviz's language
    #[arg(long, conflicts_with = "format")]
    pub dot: bool,
}

/// `cfg`
#[derive(Debug, Args)]
pub struct Cfg {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// The kernel; may be left out where the file has only one
    #[arg(long)]
    pub kernel: Option<String>,
}

/// `run`
#[derive(Debug, Args)]
pub struct Run {
    /// PTX file, `-` for standard input
    pub input: PathBuf,
    /// The launch: grid, block, buffers and arguments, as JSON
    #[arg(long, value_name = "L.json")]
    pub launch: PathBuf,
    /// The kernel, instead of the launch file's
    #[arg(long)]
    pub kernel: Option<String>,
    /// Count the events of each line: requests, wavefronts, shuffles, divergent branches
    #[arg(long)]
    pub profile: bool,
    /// Report races even where the launch file says `"races": false`
    #[arg(long, overrides_with = "no_races")]
    pub races: bool,
    /// Do not look for races, whatever the launch file says; faster
    #[arg(long)]
    pub no_races: bool,
    /// Report shuffles that read the register of a lane that takes no part: what it delivers is
    /// unpredictable
    #[arg(long)]
    pub strict_shuffles: bool,
    /// Where lanes that parted meet again: where ptxas makes them (`assembler`), only where the PTX ISA
    /// makes them wait for each other (`never`), or at points chosen by a seed
    #[arg(long, value_name = "assembler|never|SEED")]
    pub meet: Option<Meet>,
    /// Where to execute it
    #[arg(long, value_enum, default_value_t)]
    pub on: Processor,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What executes a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Processor {
    /// The interpreter.
    #[default]
    Cpu,
    /// The first GPU, for a comparison; without counters.
    Gpu,
}

/// `report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder with JSON of `candidates`, `trace`, `run --profile` and `ab`, and with the PTX files
    pub folder: PathBuf,
    /// Where to write; standard output if not given
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// `verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// The original PTX file
    pub original: PathBuf,
    /// The rewritten PTX file, by ptxasw or by hand
    pub rewritten: PathBuf,
    /// Also run both on the CPU and compare their buffers bit by bit; may be given several times
    #[arg(long, value_name = "L.json")]
    pub launch: Vec<PathBuf>,
    /// Only this kernel
    #[arg(long)]
    pub kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// z3's resource limit for one query
    #[arg(long, value_name = "N", default_value_t = crate::verify::Options::default().solver_limit)]
    pub solver_limit: u32,
    /// Write each solver query to this folder as SMT-LIB
    #[arg(long, value_name = "DIR")]
    pub dump_queries: Option<PathBuf>,
}

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Options of decisions and code.
#[derive(Debug, Args)]
pub struct Decisions {
    /// Which version of the code: `no-load` and `no-corner` compute wrong results, for measuring
    #[arg(long, value_enum, default_value_t)]
    pub mode: Mode,
    /// Largest |delta|
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(0..=31))]
    pub max_delta: u32,
    /// How sources are chosen
    #[arg(long, value_enum, default_value_t)]
    pub select: Selection,
    /// Which code stands for a decision
    #[arg(long, value_enum, default_value_t)]
    pub strategy: StrategyName,
    /// Only this kernel
    #[arg(long)]
    pub kernel: Option<String>,
    /// Number of the first accepted candidate to replace, from 1 in source order
    #[arg(long, value_name = "N")]
    pub first_shuffle: Option<usize>,
    /// Number of the last accepted candidate to replace
    #[arg(long, value_name = "M")]
    pub last_shuffle: Option<usize>,
    /// Take it for granted that 32-bit indices do not wrap around
    #[arg(long)]
    pub assume_no_wrap: bool,
    /// Only replace read-only loads, and loads in kernels that write no global memory
    #[arg(long)]
    pub strict: bool,
    /// Show on standard error where the time went
    #[arg(long)]
    pub timings: bool,
    /// Write each solver query to this folder as SMT-LIB
    #[arg(long, value_name = "DIR")]
    pub dump_queries: Option<PathBuf>,
}

impl Decisions {
    /// As the pipeline takes them.
    pub fn options(&self) -> Options {
        Options {
            mode: self.mode,
            strategy: self.strategy,
            select: select::Options {
                max_delta: self.max_delta,
                selection: self.select,
                ..select::Options::default()
            },
            reuse: reuse::Options {
                assume_no_wrap: self.assume_no_wrap,
                strict: self.strict,
                dump_queries: self.dump_queries.clone(),
                ..reuse::Options::default()
            },
            kernel: self.kernel.clone(),
            timings: self.timings.then(Default::default),
            first_shuffle: self.first_shuffle,
            last_shuffle: self.last_shuffle,
            ..Options::default()
        }
    }
}
