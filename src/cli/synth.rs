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
use super::options::Output;
use super::scan::{Scan, Written};
use super::{io, library};
use crate::holes;
use crate::isa::ScalarType;
use crate::source::{SourceFile, listed};
use crate::synth::ast::Statement;
use crate::synth::emit;
use crate::synth::emit::build;
use crate::synth::emit::kernel::Kernel;
use crate::synth::search::{Limits, MOST_PLANNED, Mode, Progress, Solution, search};
use crate::synth::{self, Lowered, network, place, report, scan, states};
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
    /// Solve the built-in sketch that gives each lane its own struct of N words from what a warp has loaded as consecutive
    /// words; `-D S=N` of `structs.sketch`, for every N
    #[arg(long = "struct", value_name = "N", conflicts_with_all = STRUCT_ALONE, value_parser = clap::value_parser!(u32).range(2..=16))]
    words: Option<u32>,
    /// Give a param of the sketch another value; may be given several times
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    define: Vec<(String, i64)>,
    /// Which solutions are looked for.
    #[command(flatten)]
    wanted: Wanted,
    /// What holes range over: 1 for families without groups and conditions without constants, 2 for families
    /// without groups, 3 for everything
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    space: u8,
    /// What is written
    #[arg(long, value_enum, default_value_t, alias = "format")]
    emit: Emit,
    /// Put into the JSON what lanes hold after each step, which `report` draws
    #[arg(long)]
    states: bool,
    /// The bits of an element in emitted PTX, 32 if nothing else is said; of a loop's numbers in emitted code, as many
    /// as its operator needs
    #[arg(long, value_name = "32|64", value_parser = width)]
    width: Option<ScalarType>,
    /// The name of the emitted code; the sketch's own if nothing else is said
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    name: Option<String>,
    /// Execute the emitted code for each written solution in the interpreter, and compare with the goals: movements
    /// on elements of which no two are equal, folds on random numbers of 64 bits, loops on lists of several lengths
    #[arg(long)]
    check: bool,
    /// With `--check`, for a loop: also on so many random lists of each length from 1 to 2,048, in blocks of 1 to 1,024
    /// threads
    #[arg(long, value_name = "N", requires = "check", value_parser = clap::value_parser!(u32).range(1..))]
    lists: Option<u32>,
    /// Show on standard error how long reading, searching, checking and writing took
    #[arg(long)]
    timings: bool,
    /// End with status 3 once so many tables have been tried
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

/// What has no meaning beside `--struct`.
const STRUCT_ALONE: [&str; 4] = ["sketch", "header", "library", "define"];

/// What has no meaning beside `--library`.
const LIBRARY_ALONE: [&str; 13] = [
    "words", "sketch", "header", "define", "Wanted", "space", "emit", "states", "width", "name",
    "check", "tables", "output",
];

/// How many tables are tried to name a family that would do.
const TRIED_FOR_HINT: u64 = 20_000;

/// The most solutions that `--all` writes.
const MOST_WRITTEN: usize = 1000;

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
    /// The name of the code.
    fn named(&self, source: &SourceFile) -> String {
        self.name.clone().unwrap_or_else(|| emit::identifier(source.name()))
    }

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
        if self.lists.is_some() && !scan::is_loop(&tree) {
            let why = "--lists is for sketches with a loop";
            return Err(Failure::about(source.name(), why));
        }
        if network::is_network(&tree) || place::is_placement(&tree) {
            self.one_answer(&source)?;
        }
        if network::is_network(&tree) {
            return self.network(&source, &tree, timings);
        }
        if place::is_placement(&tree) {
            return self.placement(&source, &tree, timings);
        }
        if scan::is_loop(&tree) {
            return self.serial_loop(&source, &tree, timings);
        }
        self.movement(&source, &tree, timings)
    }

    /// Solves the sketch of a data movement.
    fn movement(
        &self,
        source: &SourceFile,
        tree: &[Statement],
        timings: Option<&Timings>,
    ) -> Result<Status, Failure> {
        let mut sketch = Timings::measure(timings, "lower", || {
            synth::lower::lower(source, tree, &self.define, self.space)
        })?;
        // An interrupted search ends with its results so far; a second signal ends the program.
        let stop = Arc::new(AtomicBool::new(false));
        let handlers = flag::register_conditional_default(SIGINT, Arc::clone(&stop))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)));
        if let Err(error) = handlers {
            log::warn!("an interrupted search ends without a result: {error}");
        }
        let mode = self.wanted.mode();
        let progress = Progress::default();
        let limits = Limits {
            mode,
            tables: self.tables,
            solutions: MOST_WRITTEN,
            stop: Some(&stop),
            progress: Some(&progress),
        };
        let found = Timings::measure(timings, "search", || {
            shown(&progress, || search(&mut sketch.program, &limits))
        });
        let code = Code { command: self, source, tree, sketch: &sketch };
        if let Some(dead) = &found.dead {
            if self.emit == Emit::Json {
                self.output.write(&io::json(&report::report(source, tree, &sketch, &found))?)?;
            } else if mode == Mode::Count {
                self.output.write(&report::table(source, &sketch, &found, mode))?;
            }
            let why = report::empty(source, &sketch, dead);
            let wider = report::with_table(source, &sketch, dead);
            let solved = wider.filter(|wider| self.has_solution(wider));
            let hint = "with family `table` in this place there is a solution: any function of the coordinates";
            let why = if solved.is_some() { why.with_hint(hint) } else { why };
            return Err(Failure::from(why).with_status(Status::EMPTY));
        }
        if self.check {
            for solution in &found.solutions {
                Timings::measure(timings, "check", || code.check(solution))?;
            }
        }
        let text =
            Timings::measure(timings, "write", || match (self.emit, found.solutions.first()) {
                (Emit::Json, chosen) => {
                    let mut report = report::report(source, tree, &sketch, &found);
                    if let Some(chosen) = chosen.filter(|_| self.states) {
                        report.states = states::states(source, tree, &sketch, chosen);
                    }
                    io::json(&report)
                }
                (Emit::Table, _) | (_, None) => Ok(report::table(source, &sketch, &found, mode)),
                (Emit::Cuda, Some(solution)) => code.cuda(solution),
                (Emit::Ptx, Some(solution)) => {
                    code.ptx(solution, self.width.unwrap_or(ScalarType::B32))
                }
            })?;
        self.output.write(&text)?;
        if found.exhausted_budget {
            let why = match stop.load(Ordering::Relaxed) {
                true => "interrupted".to_owned(),
                false if found.too_large => {
                    format!("its plan would take more than {} MiB", MOST_PLANNED >> 20)
                }
                false => format!("it has tried as many tables as --tables {} allows", self.tables),
            };
            io::complain(&format!("{}: the search has not ended: {why}", source.name()));
            return Ok(Status::BUDGET);
        }
        Ok(Status::SUCCESS)
    }

    /// Whether a sketch of data movement has a solution that a few tables lead to.
    fn has_solution(&self, source: &SourceFile) -> bool {
        let Ok(tree) = synth::parse(source) else { return false };
        let lowered = synth::lower::lower(source, &tree, &self.define, self.space);
        let Ok(mut sketch) = lowered else { return false };
        let mode = Mode::First;
        let limits =
            Limits { mode, tables: TRIED_FOR_HINT, solutions: 1, stop: None, progress: None };
        !search(&mut sketch.program, &limits).solutions.is_empty()
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

    /// Refuses options that ask for several solutions where there is one answer.
    fn one_answer(&self, source: &SourceFile) -> Result<(), Failure> {
        let asked = [(self.wanted.all, "--all"), (self.wanted.count, "--count")];
        match asked.into_iter().find(|(asked, _)| *asked) {
            None => Ok(()),
            Some((_, option)) => {
                let why = format!("{option} is for sketches of steps, folds and goals");
                Err(Failure::about(source.name(), why))
            }
        }
    }

    /// Solves the sketch of a loop.
    fn serial_loop(
        &self,
        source: &SourceFile,
        tree: &[Statement],
        timings: Option<&Timings>,
    ) -> Result<Status, Failure> {
        let asked =
            [(self.states, "--states"), (self.wanted.all, "--all"), (self.wanted.count, "--count")];
        if let Some((_, option)) = asked.into_iter().find(|(asked, _)| *asked) {
            let why = format!("{option} is for sketches of data movement; a loop has one operator");
            return Err(Failure::about(source.name(), why));
        }
        let written = match self.emit {
            Emit::Table => Written::Table,
            Emit::Json => Written::Json,
            Emit::Cuda => Written::Cuda,
            Emit::Ptx => Written::Ptx,
        };
        let bits = self.width.map(|width| width.bits());
        let (defines, output) = (&self.define, &self.output);
        let (name, check, lists) = (self.named(source), self.check, self.lists);
        Scan { source, tree, defines, written, name, check, lists, bits, output, timings }.run()
    }

    /// Solves the sketch of a network.
    fn network(
        &self,
        source: &SourceFile,
        tree: &[Statement],
        timings: Option<&Timings>,
    ) -> Result<Status, Failure> {
        let problem = network::problem(source, tree, &self.define)?;
        let outcome = Timings::measure(timings, "search", || network::search(&problem));
        if let Some(dead) = &outcome.dead {
            let status = if outcome.over { Status::BUDGET } else { Status::EMPTY };
            let why = network::empty(source, &problem, dead, outcome.over);
            return Err(Failure::from(why).with_status(status));
        }
        if let Some(solution) = &outcome.solution {
            let name = self.named(source);
            let failure = |why| Failure::about(source.name(), why);
            if self.check {
                Timings::measure(timings, "check", || {
                    network::check(&problem, solution, &name)
                        .map_err(|why| failure(format!("the emitted code is wrong: {why}")))
                })?;
            }
            let table = || network::table(source, &problem, solution);
            let text = Timings::measure(timings, "write", || match self.emit {
                Emit::Json => io::json(&network::json(source, &problem, solution)),
                Emit::Table => Ok(table()),
                Emit::Cuda => network::cuda(&problem, solution, &name, &table()).map_err(failure),
                Emit::Ptx => {
                    let sum = network::Operator::Sum;
                    network::ptx(&problem, solution, &name, sum, &table()).map_err(failure)
                }
            })?;
            self.output.write(&text)?;
        }
        Ok(Status::SUCCESS)
    }
}

impl Synth {
    /// Solves the sketch of a placement.
    fn placement(
        &self,
        source: &SourceFile,
        tree: &[Statement],
        timings: Option<&Timings>,
    ) -> Result<Status, Failure> {
        let problem = place::problem(source, tree, &self.define)?;
        let outcome = Timings::measure(timings, "search", || place::search(&problem));
        let Some(outcome) = outcome else {
            let why = place::empty(source, &problem);
            return Err(Failure::from(why).with_status(Status::EMPTY));
        };
        let name = self.named(source);
        let code = || {
            let mut comment = format!("{name} by ptxasw synth\n");
            comment.push_str(&place::table(source, &problem, &outcome));
            place::ptx(&name, &problem, &outcome, &comment)
                .map_err(|why| Failure::about(source.name(), why))
        };
        if self.check {
            Timings::measure(timings, "check", || {
                let wrong = |why| format!("the emitted code is wrong: {why}");
                place::check(&name, &problem, &outcome, &code()?)
                    .map_err(|why| Failure::about(source.name(), wrong(why)))
            })?;
        }
        let text = Timings::measure(timings, "write", || match self.emit {
            Emit::Table => Ok(place::table(source, &problem, &outcome)),
            Emit::Json => io::json(&place::json(source, &problem, &outcome)),
            Emit::Ptx => code(),
            Emit::Cuda => {
                Err(Failure::about(source.name(), "a placement is written as PTX, not as CUDA"))
            }
        })?;
        self.output.write(&text)?;
        Ok(Status::SUCCESS)
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

/// What the code of a solution is made from.
struct Code<'c> {
    command: &'c Synth,
    source: &'c SourceFile,
    tree: &'c [Statement],
    sketch: &'c Lowered,
}

impl Code<'_> {
    fn kernel(&self, solution: &Solution) -> Result<Kernel, Failure> {
        let name = self.command.named(self.source);
        build::kernel(&name, self.tree, self.sketch, solution).map_err(|why| self.failure(why))
    }

    fn failure(&self, why: impl std::fmt::Display) -> Failure {
        Failure::about(self.source.name(), why)
    }

    /// What stands at the beginning of the code: where it comes from, and what was found.
    fn comment(&self, solution: &Solution) -> String {
        let mut comment = format!("{} by ptxasw synth", emit::identifier(self.source.name()));
        let params = synth::params(self.tree).filter_map(|name| {
            self.sketch.params.get(name).map(|value| format!("{name} = {value}"))
        });
        let params: Vec<String> = params.collect();
        if !params.is_empty() {
            comment.push_str(&format!(", {}", params.join(", ")));
        }
        comment.push('\n');
        comment.push_str(&report::lines(self.source, self.sketch, solution));
        comment
    }

    fn cuda(&self, solution: &Solution) -> Result<String, Failure> {
        let kernel = self.kernel(solution)?;
        emit::cuda(&kernel, &self.comment(solution)).map_err(|why| self.failure(why))
    }

    fn ptx(&self, solution: &Solution, width: ScalarType) -> Result<String, Failure> {
        let kernel = self.kernel(solution)?;
        emit::ptx(&kernel, &self.comment(solution), width).map_err(|why| self.failure(why))
    }

    /// Executes the code of a solution, in the width that is written and in 64 bits.
    fn check(&self, solution: &Solution) -> Result<(), Failure> {
        let kernel = self.kernel(solution)?;
        let entry = format!("{}_kernel", kernel.name);
        for width in [ScalarType::B64, self.command.width.unwrap_or(ScalarType::B32)] {
            let code = self.ptx(solution, width)?;
            let checked = emit::check::check(&kernel, self.sketch, &code, &entry, width);
            checked.map_err(|why| self.failure(format!("the emitted code is wrong: {why}")))?;
        }
        Ok(())
    }
}
