//! Options that several subcommands share: each is declared here once and taken over by `flatten`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use strum::IntoEnumIterator;

use super::exit::Failure;
use super::values::{self, Words};
use super::{env, io, objects};
use crate::cost::Costs;
use crate::kernels::{self, Rules};
use crate::pipeline::{self, Options, REWRITABLE};
use crate::profile::Consulted;
use crate::ptx;
use crate::reuse;
use crate::rewrite::Mode;
use crate::select::{self, Strategies};
use crate::source::SourceFile;
use crate::strategies::StrategyName;

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// The file that a subcommand is about.
#[derive(Debug, Args)]
pub struct Input {
    /// PTX file, or an object, a library or an executable with PTX inside; `-` for standard input
    pub input: PathBuf,
}

impl Input {
    /// The text of the input, which with a kernel may be one of several in the file.
    ///
    /// # Errors
    /// The file cannot be read, or has no such text, or more than one.
    pub fn read(&self, kernel: Option<&str>) -> Result<SourceFile, Failure> {
        match kernel {
            Some(_) => objects::text_with(&self.input, kernel),
            None => objects::text(&self.input),
        }
    }
}

/// Where the result goes.
#[derive(Debug, Args)]
pub struct Output {
    /// Where to write; standard output if not given
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

impl Output {
    /// Writes the result.
    ///
    /// # Errors
    /// The result cannot be written.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        match &self.output {
            Some(path) => io::write(path, text),
            None => io::print(text),
        }
    }
}

/// In what form the result is shown.
#[derive(Debug, Args)]
pub struct Shown {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// One kernel instead of all.
#[derive(Debug, Args)]
pub struct OnlyKernel {
    /// Look at this kernel alone; its name in the PTX or in the source
    #[arg(long)]
    pub kernel: Option<String>,
}

impl OnlyKernel {
    /// The name in the PTX of the kernel that is asked for, if one is.
    ///
    /// # Errors
    /// The input does not have it, has several of that name, or cannot be parsed.
    pub fn find(&self, source: &SourceFile) -> Result<Option<String>, Failure> {
        let Some(name) = &self.kernel else { return Ok(None) };
        let module = ptx::parse(source, REWRITABLE)?;
        let names: Vec<&str> = module.functions().map(|function| function.name.text).collect();
        let found = kernels::find(&names, name);
        found.map(|name| Some(name.to_owned())).map_err(|why| Failure::about(source.name(), why))
    }
}

/// The launch.
#[derive(Debug, Args)]
pub struct Launched {
    /// The launch file: grid, block, buffers and arguments, as JSON
    #[arg(long, value_name = "L.json")]
    pub launch: PathBuf,
    /// The kernel, instead of the one that the launch file names
    #[arg(long)]
    pub kernel: Option<String>,
}

/// Where the solver's queries go.
#[derive(Debug, Args)]
pub struct Queries {
    /// Write each solver query to this folder as SMT-LIB
    #[arg(long, value_name = "DIR")]
    pub dump_queries: Option<PathBuf>,
}

/// In what form ptxasw is put in front of an assembler.
#[derive(Debug, Args)]
pub struct Linked {
    /// Put a link to this executable there instead of a copy
    #[arg(long)]
    pub link: bool,
}

/// Which loads are covered, and by which code.
#[derive(Debug, Args)]
pub struct Covering {
    /// The largest distance between two lanes, up or down, over which a value is shuffled
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(0..=31))]
    pub max_delta: u32,
    /// Accepted, and without effect
    #[arg(long, hide = true)]
    pub select: Option<String>,
    /// Which strategies may be used; [`strategies_help`] lists them.
    #[arg(long, value_name = "NAME,...", default_value_t, help = strategies_help())]
    pub strategy: Strategies,
    /// The architecture by whose costs it is decided what pays, such as `sm_90` [default: the file's,
    /// for `ab` the device's]
    #[arg(long, value_name = "sm_N", value_parser = architecture)]
    pub arch: Option<u32>,
    /// The shape of blocks where the text has no .reqntid, for which `bank` chooses layouts
    #[arg(long, value_name = "16x16", value_parser = values::block)]
    pub block: Option<[u64; 3]>,
    /// A file with costs to take instead of the architecture's
    #[arg(long, value_name = "FILE.toml", value_parser = env::read_costs)]
    pub costs: Option<Costs>,
}

/// The help for `--strategy`, with every strategy's name.
fn strategies_help() -> String {
    let names: Vec<String> =
        StrategyName::iter().map(|name| format!("`{}`", name.facts().word)).collect();
    format!(
        "Which strategies may be used: `auto` (those that pay), `none`, or some of {}, joined by commas \
         (those that are proved, whether they pay or not)",
        names.join(", ")
    )
}

/// An architecture's number: `sm_90a` is 90.
pub(super) fn architecture(text: &str) -> Result<u32, String> {
    pipeline::architecture_of(text)
        .ok_or_else(|| "an architecture such as sm_80 is expected".to_owned())
}

impl Covering {
    /// The options in the form that the pipeline takes.
    pub fn options(&self) -> Options {
        Options {
            architecture: self.arch,
            costs: self.costs.clone(),
            select: select::Options {
                max_delta: self.max_delta,
                strategies: self.strategy,
                block: self.block,
                ..select::Options::default()
            },
            ..Options::default()
        }
    }
}

/// Options that decide about loads and about the code that replaces them.
#[derive(Debug, Args)]
pub struct Decisions {
    /// Which version of the code to write: `no-load` and `no-corner` are for measuring and compute
    /// wrong results
    #[arg(long, value_parser = Mode::parser(), default_value = "full")]
    pub mode: Mode,
    /// Which loads are covered.
    #[command(flatten)]
    pub covering: Covering,
    /// A profile of `ptxasw tune`, instead of that of PTXASW_PROFILE: it decides for the kernels in it where --strategy
    /// is `auto`
    #[arg(long, value_name = "PROFILE.json", value_parser = env::read_profile)]
    pub profile: Option<Arc<Consulted>>,
    /// Which kernels.
    #[command(flatten)]
    pub kernel: OnlyKernel,
    /// Kernels to switch off or on by name, `*` for any text: `-march7,+jacobi*`. The last match decides; a list that
    /// begins with `+` switches off all other kernels
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with = "kernel")]
    pub kernels: Option<Rules>,
    /// Number of the first accepted candidate to replace, from 1 in source order
    #[arg(long, value_name = "N")]
    pub first_shuffle: Option<usize>,
    /// Number of the last accepted candidate to replace
    #[arg(long, value_name = "M")]
    pub last_shuffle: Option<usize>,
    /// Take it for granted that 32-bit indices do not wrap around within a warp
    #[arg(long)]
    pub assume_no_wrap: bool,
    /// Only replace read-only loads, and loads in kernels that write no global memory
    #[arg(long)]
    pub strict: bool,
    /// Show on standard error how long each stage took
    #[arg(long)]
    pub timings: bool,
    /// Where the solver's queries go.
    #[command(flatten)]
    pub queries: Queries,
}

impl Decisions {
    /// As the pipeline takes them. A profile of the environment that cannot be used is a warning.
    ///
    /// # Errors
    /// As [`OnlyKernel::find`].
    pub fn options(&self, source: &SourceFile) -> Result<Options, Failure> {
        let of_environment = || {
            env::profile(&env::Settings::of_process()).unwrap_or_else(|warning| {
                warn(&warning);
                None
            })
        };
        if let Some(rules) = &self.kernels {
            let module = ptx::parse(source, REWRITABLE)?;
            let names: Vec<&str> = module.functions().map(|function| function.name.text).collect();
            for rule in rules.unused(&names) {
                warn(&format!("--kernels: `{rule}` matches no function of {}", source.name()));
            }
        }
        Ok(Options {
            profile: self.profile.clone().or_else(of_environment),
            mode: self.mode,
            reuse: reuse::Options {
                assume_no_wrap: self.assume_no_wrap,
                strict: self.strict,
                dump_queries: self.queries.dump_queries.clone(),
                ..reuse::Options::default()
            },
            kernel: self.kernel.find(source)?,
            kernels: self.kernels.clone().unwrap_or_default(),
            timings: self.timings.then(Default::default),
            first_shuffle: self.first_shuffle,
            last_shuffle: self.last_shuffle,
            ..self.covering.options()
        })
    }
}

/// Shows a warning.
pub fn warn(message: &str) {
    io::complain(&format!("ptxasw: warning: {message}"));
}

/// Shows where the time went, if that was asked for.
pub fn show_timings(options: &Options) {
    if let Some(timings) = &options.timings {
        io::complain(&timings.to_string());
    }
}
