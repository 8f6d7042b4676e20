//! `ptxasw verify`: the proof, and on request a run of both programs.
//!
//! [`verify`] takes texts and returns a text and an exit status; reading and printing is left to
//! [`Verify::run`].

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::io;
use super::options::{Format, OnlyKernel, Queries, Shown};
use crate::interp::{self, Fault, Outcome};
use crate::launch::{Launch, show};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;
use crate::verify::{self, Options, Verdict, Verification};

/// `verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// The original PTX file
    original: PathBuf,
    /// The rewritten PTX file, whether ptxasw or somebody else has made it
    rewritten: PathBuf,
    /// Also run both programs with this launch on the CPU and compare their buffers bit by bit; may be
    /// given several times
    #[arg(long, value_name = "L.json")]
    launch: Vec<PathBuf>,
    /// Which kernels.
    #[command(flatten)]
    kernel: OnlyKernel,
    /// How to show the outcome.
    #[command(flatten)]
    shown: Shown,
    /// z3's resource limit for one query
    #[arg(long, value_name = "N", default_value_t = Options::default().solver_limit)]
    solver_limit: u32,
    /// Where the solver's queries go.
    #[command(flatten)]
    queries: Queries,
}

impl Verify {
    /// Prints what was proved; the verdict is the exit status.
    ///
    /// # Errors
    /// An input cannot be read or parsed, or the original cannot be run with a launch.
    pub fn run(&self) -> Result<Status, Failure> {
        let (original, rewritten) = (io::read(&self.original)?, io::read(&self.rewritten)?);
        self.kernel.check(&original)?;
        let launches =
            self.launch.iter().map(|path| io::read(path)).collect::<Result<Vec<_>, _>>()?;
        let options = Options {
            kernel: self.kernel.kernel.clone(),
            solver_limit: self.solver_limit,
            dump_queries: self.queries.dump_queries.clone(),
            ..Options::default()
        };
        let (text, status) = verify(&original, &rewritten, &launches, &options, self.shown.format)?;
        io::print(&text)?;
        Ok(status)
    }
}

/// The most differing elements of a run that are shown.
const MAX_SHOWN: usize = 4;

/// What a run of both programs with one launch showed.
#[derive(Debug, Serialize)]
struct Replay {
    launch: String,
    /// Whether all buffers are the same to the bit.
    equal: bool,
    /// The first differences, or why there was no run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

#[derive(Serialize)]
struct Report<'v> {
    #[serde(flatten)]
    verification: &'v Verification,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: &'v Vec<Replay>,
}

/// Proves that the programs are equal, if it can, and runs them with each launch. The status is the
/// verdict.
///
/// # Errors
/// Input cannot be parsed, or the original cannot be run.
fn verify(
    original: &SourceFile,
    rewritten: &SourceFile,
    launches: &[SourceFile],
    options: &Options,
    format: Format,
) -> Result<(String, Status), Failure> {
    let mut verification = verify::verify(original, rewritten, options)?;
    let mut runs = Vec::new();
    for launch in launches {
        let name = launch.name();
        let launch =
            Launch::from_json(launch.text()).map_err(|error| Failure::about(name, error))?;
        runs.push(replay(original, rewritten, name, launch, options)?);
    }
    // A difference that was seen counts, whatever was proved.
    if runs.iter().any(|run| !run.equal) {
        verification.verdict = Verdict::Different;
    }
    let status = match verification.verdict {
        Verdict::Equal => Status::SUCCESS,
        Verdict::Different => Status::DIFFERENT,
        Verdict::Unknown => Status::UNKNOWN,
    };
    let text = match format {
        Format::Json => io::json(&Report { verification: &verification, runs: &runs })?,
        Format::Text => {
            let mut text = String::new();
            for run in &runs {
                let outcome = if run.equal { "the same bits" } else { "different" };
                let _ = writeln!(text, "{}: {outcome}", run.launch);
                for detail in &run.details {
                    let _ = writeln!(text, "  {detail}");
                }
            }
            format!("{text}{verification}")
        }
    };
    Ok((text, status))
}

fn replay(
    original: &SourceFile,
    rewritten: &SourceFile,
    name: &str,
    mut launch: Launch,
    options: &Options,
) -> Result<Replay, Failure> {
    if options.kernel.is_some() {
        launch.kernel.clone_from(&options.kernel);
    }
    let run = |source: &SourceFile| -> Result<Result<Outcome, Fault>, Failure> {
        let module = ptx::parse(source, Depth::All)?;
        Ok(interp::run(&module, &launch))
    };
    let mut details = Vec::new();
    match (run(original)?, run(rewritten)?) {
        (Ok(before), Ok(after)) => {
            for (buffer, expected) in &before.buffers {
                let Some(found) = after.buffers.get(buffer) else { continue };
                let pairs = expected.elements().zip(found.elements()).enumerate();
                for (index, (a, b)) in pairs.filter(|(_, (a, b))| a != b).take(MAX_SHOWN) {
                    let (a, b) = (show(expected.ty, a), show(expected.ty, b));
                    details.push(format!("{buffer}[{index}]: {a}, rewritten {b}"));
                }
            }
            if before.printed != after.printed {
                details.push("the two print different texts".to_owned());
            }
        }
        // The original is no valid program for this launch: there is nothing to compare with.
        (Err(fault), _) => {
            return Err(match fault.span {
                Some(_) => fault.diagnostic(original).into(),
                None => Failure::about(name, fault),
            });
        }
        (Ok(_), Err(fault)) => details.push(match fault.span {
            Some(_) => format!("the rewritten kernel faults: {}", fault.diagnostic(rewritten)),
            None => format!("the rewritten kernel faults: {fault}"),
        }),
    }
    Ok(Replay { launch: name.to_owned(), equal: details.is_empty(), details })
}
