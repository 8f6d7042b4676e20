//! `ptxasw verify`: the proof, and on request a run of both programs.
//!
//! [`verify`] takes texts and returns a text and an exit status; reading and printing is left to
//! [`Verify::run`].

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::options::{Format, OnlyKernel, Queries, Shown};
use super::{io, values};
use crate::draft::{self, Wishes};
use crate::interp::{self, Fault, FaultKind, Outcome};
use crate::launch::{Launch, show};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;
use crate::verify::{self, Options, Precondition, Verdict, Verification};

/// `verify`
#[derive(Debug, Args)]
pub(super) struct Verify {
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
    /// The rewritten file's kernel to compare that of `--kernel` with, if it has another name: parameters stand
    /// for those in the same place
    #[arg(long, value_name = "KERNEL", requires = "kernel")]
    against: Option<String>,
    /// Assume that blocks have this shape, in threads: `128`, `32,4,1` or `32x4x1`
    #[arg(long, value_name = "X,Y,Z", value_parser = values::block)]
    block: Option<[u64; 3]>,
    /// Assume that this parameter of the original is a multiple of a power of two, in bytes, as a vector needs it:
    /// `x:16`; may be given several times
    #[arg(long, value_name = "PARAM:BYTES", value_parser = aligned)]
    assume_aligned: Vec<(String, u64)>,
    /// Assume a condition on parameters of the original, as signed numbers: `n % 16 == 0 && n < 4096`; may be given several
    /// times
    #[arg(long, value_name = "EXPR")]
    assume: Vec<Precondition>,
    /// Assume that the bytes behind these pointer parameters of the original do not overlap: `x,y`
    #[arg(long, value_name = "PARAM,PARAM", value_delimiter = ',')]
    assume_no_alias: Vec<String>,
    /// Take it for granted that sums and products of 32 bits do not wrap around where they are widened to an address
    #[arg(long)]
    assume_no_wrap: bool,
    /// Do not run both programs with a drafted launch where nothing is proved
    #[arg(long)]
    no_run: bool,
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
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let (original, mut rewritten) = (io::read(&self.original)?, io::read(&self.rewritten)?);
        let mut kernel = self.kernel.find(&original)?;
        self.check_parameters(&original)?;
        let mut against = self.against.clone();
        if kernel.is_none()
            && let Some([one, other]) = verify::only_kernels(&original, &rewritten)
        {
            (kernel, against) = (Some(one), Some(other));
        }
        if let (Some(kernel), Some(against)) = (&kernel, &against) {
            let renamed = verify::under_names(&original, kernel, &rewritten, against);
            rewritten = renamed.map_err(|why| Failure::about(rewritten.name(), why))?;
        }
        let launches =
            self.launch.iter().map(|path| io::read(path)).collect::<Result<Vec<_>, _>>()?;
        let options = Options {
            kernel,
            against,
            block: self.block.map(|extents| extents.map(|extent| extent as u32)),
            aligned: self.assume_aligned.clone(),
            preconditions: self.assume.clone(),
            no_alias: self.assume_no_alias.clone(),
            assume_no_wrap: self.assume_no_wrap,
            solver_limit: self.solver_limit,
            dump_queries: self.queries.dump_queries.clone(),
            ..Options::default()
        };
        let (text, status) = {
            let drafting = !self.no_run;
            verify(&original, &rewritten, (&launches, drafting), &options, self.shown.format)?
        };
        io::print(&text)?;
        Ok(status)
    }
}

impl Verify {
    /// # Errors
    /// An assumption names a parameter that no function of the original has.
    fn check_parameters(&self, original: &SourceFile) -> Result<(), Failure> {
        let module = ptx::parse(original, Depth::Rewritable)?;
        let parameters = module.functions().flat_map(|function| &function.params);
        let names: Vec<&str> = parameters
            .flat_map(|parameter| &parameter.names)
            .map(|declared| declared.name.text)
            .collect();
        let aligned = self.assume_aligned.iter().map(|(name, _)| name.as_str());
        let compared = self.assume.iter().flat_map(Precondition::parameters);
        let apart = self.assume_no_alias.iter().map(String::as_str);
        match aligned.chain(compared).chain(apart).find(|name| !names.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let own: Vec<String> = names.iter().map(|own| format!("`{own}`")).collect();
                let why = match own.is_empty() {
                    true => format!("there is no parameter `{name}`, nor any other"),
                    false => {
                        format!(
                            "there is no parameter `{name}`; its parameters are {}",
                            own.join(", ")
                        )
                    }
                };
                Err(Failure::about(original.name(), why))
            }
        }
    }
}

/// The most differing elements of a run that are shown.
const MAX_SHOWN: usize = 4;

/// The outcome of executing both programs with one launch.
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
    (launches, drafting): (&[SourceFile], bool),
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
    if drafting {
        for function in &mut verification.functions {
            if function.verdict != Verdict::Unknown {
                continue;
            }
            if let Some(run) = drafted(original, rewritten, &function.name, options) {
                if !run.equal {
                    function.verdict = Verdict::Different;
                }
                runs.push(run);
            }
        }
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

/// The most warp-wide instructions of a run with a drafted launch.
const MAX_DRAFTED: u64 = 10_000_000;

/// The outcome of executing both programs with a drafted launch of a kernel; `None` if the original does not run to its
/// end with any, or the function is not a kernel.
fn drafted(
    original: &SourceFile,
    rewritten: &SourceFile,
    kernel: &str,
    options: &Options,
) -> Option<Replay> {
    let threads = options.block.map(|block| block.map(u64::from).iter().product::<u64>() * 2);
    let wishes = Wishes {
        kernel: Some(kernel),
        threads,
        block: options.block,
        whole_blocks: false,
        avoids_races: true,
    };
    let draft = draft::draft(original, &wishes).ok()?.ok()?;
    if draft.fault.is_some() {
        return None;
    }
    let mut launch = Launch::from_json(&draft.plan.text("")).ok()?;
    launch.limit = launch.limit.min(MAX_DRAFTED);
    let name = format!("a drafted launch of `{kernel}`");
    let module = ptx::parse(rewritten, Depth::All).ok()?;
    launch.kernel = Some(kernel.to_owned());
    let options = Options { kernel: launch.kernel.clone(), ..options.clone() };
    match interp::run(&module, &launch) {
        Ok(_) => replay(original, rewritten, &name, launch, &options).ok(),
        Err(fault) => match fault.kind {
            // A launch that the interpreter cannot run to its end proves nothing.
            FaultKind::Launch | FaultKind::Unsupported | FaultKind::Limit => None,
            // An undetermined value may still be the original's: only other bits are a difference.
            FaultKind::Uninitialized | FaultKind::Unpredictable => {
                launch.uninitialized = false;
                let run = replay(original, rewritten, &name, launch, &options).ok();
                run.filter(|run| !run.equal)
            }
            _ => replay(original, rewritten, &name, launch, &options).ok(),
        },
    }
}

/// A parameter and its alignment in bytes.
fn aligned(text: &str) -> Result<(String, u64), String> {
    let (name, bytes) = text
        .rsplit_once(':')
        .ok_or("a parameter and a number with a colon between them: `x:16`")?;
    let bytes: u64 = bytes.trim().parse().map_err(|error| format!("`{bytes}`: {error}"))?;
    match bytes.is_power_of_two() {
        true => Ok((name.trim().to_owned(), bytes)),
        false => Err(format!("{bytes} is not a power of two")),
    }
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
        // The original is not a valid program for this launch: there is nothing to compare with.
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
