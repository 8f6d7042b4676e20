//! `ptxasw synth`: a sketch of data movement in, the index expressions that complete it out.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::exit::{Failure, Status};
use super::io;
use super::options::Output;
use crate::source::listed;
use crate::synth::search::{Limits, Mode, search};
use crate::synth::{self, report};

/// `synth`
#[derive(Debug, Args)]
pub struct Synth {
    /// The sketch; `-` is standard input
    sketch: PathBuf,
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
    #[arg(long, value_enum, default_value_t)]
    emit: Emit,
    /// End with status 3 once so many tables have been tried
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
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

/// The most solutions that `--all` writes.
const MOST_WRITTEN: usize = 1000;

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Emit {
    /// The found expressions and what they cost, for people
    #[default]
    Table,
    /// The same with the table of each expression, for programs
    Json,
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
    /// found, or the result cannot be written.
    pub fn run(&self) -> Result<Status, Failure> {
        let source = io::read(&self.sketch)?;
        let tree = synth::parse(&source)?;
        let unknown =
            self.define.iter().find(|(name, _)| synth::params(&tree).all(|own| own != name));
        if let Some((name, _)) = unknown {
            let why = match listed(synth::params(&tree)) {
                params if params.is_empty() => format!("there is no param `{name}`"),
                params => format!("there is no param `{name}` among {params}"),
            };
            return Err(Failure::about(source.name(), why));
        }
        let mut sketch = synth::lower::lower(&source, &tree, &self.define, self.space)?;
        // An interrupted search ends with what it has; a second signal ends the program.
        let stop = Arc::new(AtomicBool::new(false));
        let handlers = flag::register_conditional_default(SIGINT, Arc::clone(&stop))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)));
        if let Err(error) = handlers {
            log::warn!("an interrupted search ends without a result: {error}");
        }
        let mode = self.wanted.mode();
        let limits =
            Limits { mode, tables: self.tables, solutions: MOST_WRITTEN, stop: Some(&stop) };
        let found = search(&mut sketch.program, &limits);
        let text = match self.emit {
            Emit::Table => report::table(&source, &sketch, &found, mode),
            Emit::Json => io::json(&report::report(&source, &sketch, &found))?,
        };
        if let Some(dead) = &found.dead {
            if self.emit == Emit::Json || mode == Mode::Count {
                self.output.write(&text)?;
            }
            let why = report::empty(&source, &sketch, dead);
            return Err(Failure::from(why).with_status(Status::EMPTY));
        }
        self.output.write(&text)?;
        if found.exhausted_budget {
            let why = match stop.load(Ordering::Relaxed) {
                true => "interrupted".to_owned(),
                false => format!("it has tried as many tables as --tables {} allows", self.tables),
            };
            eprintln!("{}: the search has not ended: {why}", source.name());
            return Ok(Status::BUDGET);
        }
        Ok(Status::SUCCESS)
    }
}
