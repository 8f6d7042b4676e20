//! `ptxasw verify`: the proof, and on request a run of both programs.
//!
//! [`verify`] takes texts and returns a text and an exit status; reading and printing is left to
//! [`Verify::run`].

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::options::{Format, OnlyKernel, Queries, Shown};
use super::over::Over;
use super::replay::{By, Pair, Replay};
use super::{io, objects, values};
use crate::kernels;
use crate::launch::Launch;
use crate::lint::Sources;
use crate::pipeline::REWRITABLE;
use crate::ptx::{self, Directive, Function, Item, Module, ScalarType};
use crate::source::{SourceFile, Span};
use crate::verify::{self, Certificate, Options, Precondition, Verdict, Verification};

/// `verify`
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The original PTX file
    original: PathBuf,
    /// The rewritten PTX file, whether ptxasw or somebody else has made it
    rewritten: PathBuf,
    /// Also run both programs with this launch on the CPU and compare their buffers bit by bit; may be
    /// given several times. No launch is drafted then
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
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    assume: Vec<Precondition>,
    /// Assume that the bytes behind these pointer parameters of the original do not overlap: `x,y`
    #[arg(long, value_name = "PARAM,PARAM", value_delimiter = ',')]
    assume_no_alias: Vec<String>,
    /// Take it for granted that sums and products of 32 bits do not wrap around where they are widened to an address
    #[arg(long)]
    assume_no_wrap: bool,
    /// Read the lines that the rewriter has changed: the proof looks there first. Nothing is believed
    #[arg(long, value_name = "FILE.json")]
    certificate: Option<PathBuf>,
    /// Do not run both programs with drafted launches where nothing is proved
    #[arg(long)]
    no_run: bool,
    /// Do not count a difference between executed floating-point results up to this relative size, such as `1e-6`
    #[arg(long, value_name = "R", value_parser = values::tolerance)]
    tolerance: Option<f64>,
    /// Whether algorithms are compared.
    #[command(flatten)]
    over: Over,
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
        let launches =
            self.launch.iter().map(|path| io::read(path)).collect::<Result<Vec<_>, _>>()?;
        let (original, mut rewritten) = self.texts(launches.first())?;
        let mut kernel = self.kernel.find(&original)?;
        if let Some(field) = self.over.over {
            let [launch] = &launches[..] else {
                return Err(Failure::unusable("error: `--over` takes one `--launch`"));
            };
            let kernels = [kernel.as_deref(), self.against.as_deref()];
            let shown = (self.tolerance, self.shown.format);
            return self.over.run(field, [&original, &rewritten], launch, kernels, shown);
        }
        let assumed = Assumptions {
            aligned: self.assume_aligned.clone(),
            preconditions: self.assume.clone(),
            no_alias: self.assume_no_alias.clone(),
        };
        let assumed = assumed.of(&original, kernel.as_deref())?;
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
        let options = Options {
            kernel,
            against,
            block: self.block.map(|extents| extents.map(|extent| extent as u32)),
            aligned: assumed.aligned,
            preconditions: assumed.preconditions,
            no_alias: assumed.no_alias,
            assume_no_wrap: self.assume_no_wrap,
            solver_limit: self.solver_limit,
            certificate: self.certificate()?.map(Arc::new),
            dump_queries: self.queries.dump_queries.clone(),
            ..Options::default()
        };
        let (text, status) = {
            let executions = Executions {
                launches: &launches,
                drafting: !self.no_run,
                tolerance: self.tolerance,
            };
            verify(&original, &rewritten, executions, &options, self.shown.format)?
        };
        io::print(&text)?;
        Ok(status)
    }

    /// The two programs; of files with several texts those that have the kernels, which a launch may name.
    fn texts(&self, launch: Option<&SourceFile>) -> Result<(SourceFile, SourceFile), Failure> {
        let kernel = self.kernel.kernel.as_deref();
        let text = |path, kernel: Option<&str>| match (launch, kernel) {
            (Some(launch), _) => objects::text_for(path, kernel, launch),
            (None, Some(_)) => objects::text_with(path, kernel),
            (None, None) => objects::text(path),
        };
        Ok((
            text(&self.original, kernel)?,
            text(&self.rewritten, self.against.as_deref().or(kernel))?,
        ))
    }

    /// The certificate, if one is given.
    ///
    /// # Errors
    /// It cannot be read, or has another version.
    fn certificate(&self) -> Result<Option<Certificate>, Failure> {
        let Some(path) = &self.certificate else { return Ok(None) };
        let source = io::read(path)?;
        let read = serde_json::from_str(source.text());
        let certificate: Certificate = read.map_err(|error| {
            let said = error.to_string();
            let what = said.split(" at line ").next().unwrap_or_default();
            let lines = source.text().split_inclusive('\n').take(error.line().saturating_sub(1));
            let start = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let at = start.min(source.text().len()) as u32;
            let why =
                format!("this is not a certificate of `ptxasw rewrite --certificate`: {what}");
            source.diagnostic(Span { start: at, end: at }, why)
        })?;
        certificate.check().map_err(|why| Failure::about(source.name(), why))?;
        Ok(Some(certificate))
    }
}

/// What the user takes for granted, by names of parameters.
#[derive(Clone, Debug, Default)]
struct Assumptions {
    aligned: Vec<(String, u64)>,
    preconditions: Vec<Precondition>,
    no_alias: Vec<String>,
}

impl Assumptions {
    /// The same by names in the PTX: a name that only the source has stands for that parameter of each kernel that has it.
    ///
    /// # Errors
    /// No function of the original has all the parameters, or one is of another type.
    fn of(self, original: &SourceFile, kernel: Option<&str>) -> Result<Assumptions, Failure> {
        let module = ptx::parse(original, REWRITABLE)?;
        let names: Vec<&str> = module.functions().flat_map(parameters_of).collect();
        let Some(unknown) = self.names().find(|name| !names.contains(name)) else {
            self.check_types(original.name(), &module)?;
            return Ok(self);
        };
        let mut all = None;
        for function in module.functions() {
            let own = names_in_source(original.name(), &module, function);
            let own = |name: &str| own.get(name).map_or(name, String::as_str).to_owned();
            let is_asked = kernel.is_none_or(|kernel| kernel == function.name.text);
            let is_own = |name: &str| parameters_of(function).any(|one| one == own(name));
            if is_asked && self.names().all(is_own) {
                let own = self.clone().renamed(own);
                own.check_types(original.name(), &module)?;
                let Assumptions { aligned, preconditions, no_alias } = all.get_or_insert_default();
                aligned.extend(own.aligned);
                preconditions.extend(own.preconditions);
                no_alias.extend(own.no_alias);
            }
        }
        all.ok_or_else(|| {
            let own: Vec<String> = names.iter().map(|own| format!("`{own}`")).collect();
            let why = match own.is_empty() {
                true => format!("there is no parameter `{unknown}`, nor any other"),
                false => {
                    let own = own.join(", ");
                    format!("there is no parameter `{unknown}`; its parameters are {own}")
                }
            };
            Failure::about(original.name(), why)
        })
    }

    /// The parameters that are named.
    fn names(&self) -> impl Iterator<Item = &str> {
        let aligned = self.aligned.iter().map(|(name, _)| name.as_str());
        let compared = self.preconditions.iter().flat_map(Precondition::parameters);
        aligned.chain(compared).chain(self.no_alias.iter().map(String::as_str))
    }

    fn renamed(self, name: impl Fn(&str) -> String) -> Assumptions {
        let aligned = self.aligned.into_iter().map(|(own, bytes)| (name(&own), bytes)).collect();
        let own = self.preconditions.into_iter();
        let preconditions = own.map(|precondition| precondition.renamed(&name)).collect();
        let no_alias = self.no_alias.iter().map(|own| name(own)).collect();
        Assumptions { aligned, preconditions, no_alias }
    }

    /// # Errors
    /// A condition compares a parameter that is not an integer, or parameters that do not overlap are no pointers, or one of
    /// them twice.
    fn check_types(&self, file: &str, module: &Module<'_>) -> Result<(), Failure> {
        let is = |name: &str, fits: fn(ScalarType) -> bool| {
            let all = module.functions().flat_map(|function| &function.params);
            let own = all.filter(|one| one.names.iter().any(|own| own.name.text == name));
            own.into_iter().all(|one| {
                let is_one = one.vector <= 1 && one.names[0].dimensions.is_empty();
                is_one && one.ty.is_some_and(fits)
            })
        };
        let mut compared = self.preconditions.iter().flat_map(Precondition::parameters);
        if let Some(name) = compared.find(|name| !is(name, |ty| !ty.is_float())) {
            let why =
                format!("`{name}` is not an integer; `--assume` compares integers and pointers");
            return Err(Failure::about(file, why));
        }
        let apart = &self.no_alias;
        let is_twice = |(at, name): (usize, &String)| apart[..at].contains(name);
        let pointer = |ty: ScalarType| !ty.is_float() && ty.bits() == 64;
        let twice = apart.iter().enumerate().any(is_twice);
        if twice || apart.len() == 1 || apart.iter().any(|name| !is(name, pointer)) {
            let why =
                "`--assume-no-alias` takes several parameters, each another pointer of 64 bits";
            return Err(Failure::about(file, why));
        }
        Ok(())
    }
}

/// The names of a function's parameters in the PTX.
fn parameters_of<'s>(function: &Function<'s>) -> impl Iterator<Item = &'s str> {
    let all = function.params.iter().flat_map(|parameter| &parameter.names);
    all.map(|declared| declared.name.text).collect::<Vec<_>>().into_iter()
}

/// The parameters of a kernel by other names: without the kernel's name in front, as in `param_0`, and as in the source, if
/// a `.file` names one that can be read.
fn names_in_source(
    file: &str,
    module: &Module<'_>,
    function: &Function<'_>,
) -> BTreeMap<String, String> {
    let kernel = function.name.text;
    let own: Vec<&str> = parameters_of(function).collect();
    let shortened = |name: &&str| {
        let short = name.strip_prefix(kernel)?.strip_prefix('_')?;
        Some((short.to_owned(), (*name).to_owned()))
    };
    let mut found: BTreeMap<String, String> = own.iter().filter_map(shortened).collect();
    let mut sources = Sources::beside(file);
    for item in &module.items {
        let Item::Directive(Directive::File { name, .. }) = item else { continue };
        let text = sources.lines(name).map(|lines| lines.join("\n"));
        let names = text.and_then(|text| kernels::parameters(&text, kernel, own.len()));
        if let Some(names) = names {
            found.extend(names.into_iter().zip(own.iter().map(|own| (*own).to_owned())));
            break;
        }
    }
    found
}

#[derive(Serialize)]
struct Report<'v> {
    #[serde(flatten)]
    verification: &'v Verification,
    /// What has decided; nothing has if the verdict is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Decider>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: &'v Vec<Replay>,
}

/// The kind of evidence for a verdict.
#[derive(Serialize)]
struct Decider {
    kind: DeciderKind,
    /// The index of the execution in `runs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum DeciderKind {
    /// The proof, or its counterexample.
    Proof,
    /// An execution with the user's launch.
    Launch,
    /// An execution with a draft.
    Draft,
}

impl Decider {
    fn of(verdict: Verdict, runs: &[Replay]) -> Option<Decider> {
        let decides = |run: &usize| verdict == Verdict::Different && runs[*run].differs();
        match (0..runs.len()).find(decides) {
            Some(run) => {
                let kind = match runs[run].by {
                    By::Launch => DeciderKind::Launch,
                    By::Draft => DeciderKind::Draft,
                };
                Some(Decider { kind, run: Some(run) })
            }
            None if verdict == Verdict::Unknown => None,
            None => Some(Decider { kind: DeciderKind::Proof, run: None }),
        }
    }
}

/// How both programs are executed.
#[derive(Clone, Copy)]
struct Executions<'a> {
    /// The user's launches.
    launches: &'a [SourceFile],
    /// Whether launches are drafted where nothing is proved. With launches of the user none is.
    drafting: bool,
    /// The relative difference of floating-point elements that is not counted.
    tolerance: Option<f64>,
}

/// Proves that the programs are equal, if it can, and runs them with each launch. The status is the
/// verdict.
///
/// # Errors
/// Input cannot be parsed, or the original cannot be run.
fn verify(
    original: &SourceFile,
    rewritten: &SourceFile,
    executions: Executions<'_>,
    options: &Options,
    format: Format,
) -> Result<(String, Status), Failure> {
    let Executions { launches, drafting, tolerance } = executions;
    let mut verification = verify::verify(original, rewritten, options)?;
    let pair = Pair { original, rewritten, tolerance, options };
    let mut runs = Vec::new();
    for launch in launches {
        let name = launch.name();
        let launch =
            Launch::from_json(launch.text()).map_err(|error| Failure::about(name, error))?;
        let run = pair.launched(name, launch)?;
        let is_single = verification.functions.len() == 1;
        let functions = verification.functions.iter_mut().filter(|function| {
            run.kernel.as_ref().map_or(is_single, |kernel| *kernel == function.name)
        });
        if run.differs() {
            functions.for_each(|function| function.verdict = Verdict::Different);
        }
        runs.push(run);
    }
    if drafting && launches.is_empty() {
        for function in &mut verification.functions {
            if function.verdict == Verdict::Unknown {
                let drafted = pair.drafted(&function.name);
                if drafted.iter().any(Replay::differs) {
                    function.verdict = Verdict::Different;
                }
                runs.extend(drafted);
            }
        }
    }
    // A difference that was seen counts, whatever was proved.
    if runs.iter().any(Replay::differs) {
        verification.verdict = Verdict::Different;
    }
    let status = match verification.verdict {
        Verdict::Equal => Status::SUCCESS,
        Verdict::Different => Status::DIFFERENT,
        Verdict::Unknown => Status::UNKNOWN,
    };
    let by = Decider::of(verification.verdict, &runs);
    let text = match format {
        Format::Json => io::json(&Report { verification: &verification, by, runs: &runs })?,
        Format::Text => text(&verification, by.as_ref(), &runs),
    };
    Ok((text, status))
}

/// The outcome for people. The last line is the verdict, the one before says what has decided.
fn text(verification: &Verification, by: Option<&Decider>, runs: &[Replay]) -> String {
    let mut text: String = runs.iter().map(Replay::to_string).collect();
    let proved = verification.to_string();
    let verdict = verification.verdict.to_string();
    let details = proved.strip_suffix(&format!("{verdict}\n")).unwrap_or(&proved);
    text += details;
    let decided = match by {
        Some(Decider { run: Some(run), .. }) => Some(runs[*run].name()),
        Some(Decider { kind: DeciderKind::Proof, .. }) => Some("the proof".to_owned()),
        _ => None,
    };
    if let Some(decided) = decided {
        let _ = writeln!(text, "decided by {decided}");
    }
    let _ = writeln!(text, "{verdict}");
    text
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
