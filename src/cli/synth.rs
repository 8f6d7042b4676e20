//! `ptxasw synth`: a sketch of data movement in, the index expressions that complete it out, as they are or as code.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::exit::{Failure, Status};
use super::options::{self, Output};
use super::{io, library};
use crate::holes;
use crate::isa::ScalarType;
use crate::source::{SourceFile, listed};
use crate::synth;
use crate::synth::ast::Statement;
use crate::synth::emit;
use crate::synth::problem::{self, Language, Request, Verdict};
use crate::synth::search::{Mode, Progress};
use crate::timings::Timings;

/// `synth`
#[derive(Debug, Args)]
pub(super) struct Synth {
    /// The sketch; `-` is standard input
    #[arg(required_unless_present_any = ["header", "library", "words"])]
    sketch: Option<PathBuf>,
    /// Write `ptxasw/hole.cuh`, with which a CUDA file has holes of its own, and nothing else
    #[arg(long, conflicts_with_all = ["sketch", "emit"])]
    header: bool,
    /// Derive the library and write its headers into this folder: transpositions of structs, windows, scans and
    /// reductions, each with its formula, proof and test
    #[arg(long, value_name = "DIR", conflicts_with_all = LIBRARY_ALONE)]
    library: Option<PathBuf>,
    /// Solve the built-in sketch that gives each lane its own struct of N words from the consecutive words that a warp
    /// has loaded; `-D S=N` of `structs.sketch`, for every N
    #[arg(long = "struct", value_name = "N", conflicts_with_all = STRUCT_ALONE, value_parser = clap::value_parser!(u32).range(2..=16))]
    words: Option<u32>,
    /// Give a param of the sketch another value; may be given several times
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    define: Vec<(String, i64)>,
    /// Which solutions are looked for.
    #[command(flatten)]
    wanted: Wanted,
    /// What holes range over: 1 for families without groups and conditions without constants, 2 for families without
    /// groups, 3 for everything, and where that has no solution 4, with multiples of coordinates in conditions
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=4))]
    space: u8,
    /// The output
    #[arg(long, value_enum, default_value_t, alias = "format")]
    emit: Emit,
    /// Accepted, and without effect
    #[arg(long, hide = true)]
    states: bool,
    /// The bits of an element in emitted PTX, 32 if nothing else is said; of a loop's numbers in emitted code, as many
    /// as its operator needs
    #[arg(long, value_name = "32|64", value_parser = width)]
    width: Option<ScalarType>,
    /// The architecture whose instructions the PTX of a loop may use, such as `sm_80`: from there on, `redux` combines
    /// integers of 32 bits over a warp [default: sm_70]
    #[arg(long, value_name = "sm_N", value_parser = options::architecture)]
    arch: Option<u32>,
    /// The name of the emitted code; the sketch's own if nothing else is said
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    name: Option<String>,
    /// Execute the emitted code for each written solution in the interpreter, and compare with the goals: movements on
    /// pairwise distinct elements, folds on random numbers of 64 bits, loops on lists of several lengths
    #[arg(long)]
    check: bool,
    /// With `--check`, for a loop: also on this number of random lists of each length from 1 to 2,048, in blocks of 1
    /// to 1,024 threads
    #[arg(long, value_name = "N", requires = "check", value_parser = clap::value_parser!(u32).range(1..))]
    lists: Option<u32>,
    /// Show on standard error how long reading, searching, checking and writing took
    #[arg(long)]
    timings: bool,
    /// End with status 3 once this number of tables has been tried
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    tables: u64,
    /// Where the result goes.
    #[command(flatten)]
    output: Output,
}

/// Which solutions are looked for; the cheapest one if nothing else is said.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Wanted {
    /// The first solution
    #[arg(long)]
    first: bool,
    /// The cheapest solution, by accumulates, shuffles and selects in this order or as the sketch's `minimise`
    /// says; the default
    #[arg(long)]
    cheapest: bool,
    /// All solutions; the first 1000 are written
    #[arg(long)]
    all: bool,
    /// The number of solutions
    #[arg(long)]
    count: bool,
}

/// The options that conflict with `--struct`.
const STRUCT_ALONE: [&str; 4] = ["sketch", "header", "library", "define"];

/// The options that conflict with `--library`.
const LIBRARY_ALONE: [&str; 14] = [
    "words", "sketch", "header", "define", "Wanted", "space", "emit", "states", "width", "arch",
    "name", "check", "tables", "output",
];

/// The output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Emit {
    /// The found expressions and their cost, for people
    #[default]
    Table,
    /// The same with the table of each expression, for programs
    Json,
    /// A header with device functions over the element type
    Cuda,
    /// A function, and an entry that calls it for one warp
    Ptx,
}

/// Reads a width.
fn width(text: &str) -> Result<ScalarType, String> {
    match text {
        "32" => Ok(ScalarType::B32),
        "64" => Ok(ScalarType::B64),
        _ => Err("an element has 32 or 64 bits".to_owned()),
    }
}

/// Reads a name that C and PTX take as it is.
fn identifier(text: &str) -> Result<String, String> {
    match emit::identifier(text) == text {
        true => Ok(text.to_owned()),
        false => Err("a name is a letter with letters, digits and `_` behind it".to_owned()),
    }
}

/// Reads `NAME=VALUE`.
fn define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.parse().map_err(|error| format!("the value of {name}: {error}"))?;
    Ok((name.to_owned(), value))
}

impl Wanted {
    fn mode(&self) -> Mode {
        match self {
            Wanted { first: true, .. } => Mode::First,
            Wanted { all: true, .. } => Mode::All,
            Wanted { count: true, .. } => Mode::Count,
            _ => Mode::Cheapest,
        }
    }
}

impl Synth {
    /// Solves the sketch and writes what was found.
    ///
    /// # Errors
    /// The sketch cannot be read, its space is empty, a bound or a signal ended the search before a solution was
    /// found, the code of a solution is wrong, or the result cannot be written.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let timings = self.timings.then(Timings::default);
        let status = self.solve(timings.as_ref());
        if let Some(timings) = timings {
            io::complain(&timings.to_string());
        }
        status
    }

    fn solve(&self, timings: Option<&Timings>) -> Result<Status, Failure> {
        if let Some(folder) = &self.library {
            return library::write(folder, timings);
        }
        let source = match (&self.sketch, self.words) {
            (_, Some(words)) => {
                SourceFile::new(format!("struct{words}"), synth::library::struct_sketch(words))
            }
            (Some(sketch), None) if !self.header => io::read(sketch)?,
            _ => {
                self.output.write(holes::HEADER)?;
                return Ok(Status::SUCCESS);
            }
        };
        let tree = Timings::measure(timings, "parse", || self.tree(&source))?;
        let (stop, progress) = (Arc::new(AtomicBool::new(false)), Progress::default());
        let request = Request {
            source: &source,
            tree: &tree,
            defines: &self.define,
            space: self.space,
            mode: self.wanted.mode(),
            tables: self.tables,
            name: self.name.clone(),
            bits: self.width.map(|width| width.bits()),
            architecture: self.arch,
            lists: self.lists,
            stop: &stop,
            progress: &progress,
        };
        let failure = |why: String| Failure::about(source.name(), why);
        if let Some(why) = problem::unfit(&request) {
            return Err(failure(why));
        }
        let mut problem = Timings::measure(timings, "lower", || problem::read(&request))?;
        if problem.is_interruptible() {
            // An interrupted search ends with its results so far; a second signal ends the program.
            let handlers = flag::register_conditional_default(SIGINT, Arc::clone(&stop))
                .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)));
            if let Err(error) = handlers {
                log::warn!("an interrupted search ends without a result: {error}");
            }
        }
        let shows = problem.is_interruptible();
        let solved = Timings::measure(timings, "search", || match shows {
            true => shown(&progress, || problem.solve()),
            false => problem.solve(),
        });
        if self.check && solved {
            let note = Timings::measure(timings, "check", || problem.check()).map_err(failure);
            if note.is_err() && self.emit == Emit::Json && problem.is_proved() {
                self.output.write(&problem.json()?.unwrap_or_default())?;
            }
            let note = note?;
            note.iter().for_each(|note| io::complain(note));
        }
        let text = Timings::measure(timings, "write", || match self.emit {
            Emit::Json => Ok(problem.json()?),
            Emit::Cuda if solved => problem.code(Language::Cuda).map(Some).map_err(failure),
            Emit::Ptx if solved => problem.code(Language::Ptx).map(Some).map_err(failure),
            _ => Ok(problem.table()),
        })?;
        text.map_or(Ok(()), |text| self.output.write(&text))?;
        match problem.verdict() {
            Verdict::Solved => Ok(Status::SUCCESS),
            Verdict::Unfinished(why) => {
                why.iter().for_each(|why| io::complain(&format!("{}: {why}", source.name())));
                Ok(Status::BUDGET)
            }
            Verdict::Unsat(why, over) => {
                let status = if over { Status::BUDGET } else { Status::EMPTY };
                Err(Failure::from(*why).with_status(status))
            }
        }
    }

    /// The sketch as a tree; whatever `-D` names has to be a param of it.
    fn tree(&self, source: &SourceFile) -> Result<Vec<Statement>, Failure> {
        let tree = synth::parse(source)?;
        let unknown =
            self.define.iter().find(|(name, _)| synth::params(&tree).all(|own| own != name));
        if let Some((name, _)) = unknown {
            let why = match listed(synth::params(&tree)) {
                params if params.is_empty() => format!("there is no param `{name}`"),
                params => format!("there is no param `{name}` among {params}"),
            };
            return Err(Failure::about(source.name(), why));
        }
        Ok(tree)
    }
}

/// Runs a search; after a second it is shown on a terminal how far it is.
fn shown<T>(progress: &Progress, run: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return run();
    }
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut bar = None;
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let bar = bar.get_or_insert_with(ProgressBar::new_spinner);
                let (tried, found) = (&progress.tried, &progress.found);
                let (tried, found) = (tried.load(Ordering::Relaxed), found.load(Ordering::Relaxed));
                bar.set_message(format!("{tried} tables tried, {found} solutions; Ctrl-C ends"));
                bar.tick();
            }
            bar.iter().for_each(ProgressBar::finish_and_clear);
        });
        let result = run();
        drop(done);
        result
    })
}
