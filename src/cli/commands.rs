//! The subcommands: each reads one file, runs the pipeline up to its point and prints.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use super::ab::{self, Request, World};
use super::ab_args::Ab;
use super::args::{
    Candidates, Cfg, Cli, Command, Format, Parse, Processor, ReportArgs, Rewrite, Run, Trace,
    Verify,
};
use super::{doctor, env, install, manual, report, run, wrapper};
use crate::ab::cuda::Cuda;
use crate::ab::device::Device;
use clap::CommandFactory;

use crate::cfg;
use crate::install::Refusal;
use crate::pipeline::{self, Options};
use crate::ptx::{self, Depth};
use crate::ptxas::signals::Watch;
use crate::remarks;
use crate::report::{Decision, KernelReport, Report};
use crate::rewrite::Mode;
use crate::source::SourceFile;
use crate::tracing::{self, TraceFile, TraceReport};

/// Exit status for input that cannot be read or parsed.
const BAD_INPUT: u8 = 2;

/// A message that ends the program.
struct Failure {
    status: u8,
    message: String,
}

/// A failure to read, parse or write.
fn bad_input(message: String) -> Failure {
    Failure { status: BAD_INPUT, message }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        bad_input(error.to_string())
    }
}

/// Runs a subcommand. `called_as` is the name the program was called by.
pub fn dispatch(command: Command, called_as: &OsStr) -> ExitCode {
    let done = match command {
        Command::Rewrite(args) => rewrite(&args),
        Command::Parse(args) => parse(&args),
        Command::Candidates(args) => candidates(&args),
        Command::Trace(args) => trace(&args),
        Command::Cfg(args) => graph(&args),
        Command::Run(args) => execute(&args),
        Command::Verify(args) => match verification(&args) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Command::Ab(args) => match compare(&args) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Command::Report(args) => page(&args),
        Command::Ptxas { arguments } => {
            return wrapper::main(called_as, &arguments);
        }
        Command::Install(args) => executable().and_then(|executable| {
            done(install::install(&args.directory, &args.name, &executable, args.link))
        }),
        Command::Uninstall(args) => done(install::uninstall(&args.directory, &args.name)),
        Command::Toolkit(args) => executable().and_then(|executable| {
            done(install::toolkit(&args.source, &args.destination, &executable, args.link))
        }),
        Command::Doctor(args) => {
            let (text, status) = doctor::doctor(args.directory.as_deref(), called_as);
            match print(&text) {
                Ok(()) => return ExitCode::from(status),
                Err(failure) => Err(failure),
            }
        }
        Command::Completions { shell } => {
            print(&String::from_utf8_lossy(&manual::completions(Cli::command(), shell)))
        }
        Command::Man { folder } => manual::pages(Cli::command(), &folder).map_err(|error| {
            bad_input(format!("{}: error: cannot write: {error}", folder.display()))
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { status, message }) => {
            eprintln!("{message}");
            ExitCode::from(status)
        }
    }
}

/// Prints what was done, or fails with the reason why nothing was.
fn done(result: Result<String, Refusal>) -> Result<(), Failure> {
    match result {
        Ok(text) => print(&text),
        Err(refusal) => Err(bad_input(format!("ptxasw: error: {refusal}"))),
    }
}

/// The file of this program.
fn executable() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| bad_input(format!("cannot find the file of ptxasw itself: {error}")))
}

/// `verify`: the verdict is the exit status.
fn verification(args: &Verify) -> Result<ExitCode, Failure> {
    let (original, rewritten) = (read(&args.original)?, read(&args.rewritten)?);
    let mut launches = Vec::new();
    for path in &args.launch {
        let launch = read(path)?;
        launches.push((launch.name().to_owned(), launch.text().to_owned()));
    }
    let options = crate::verify::Options {
        kernel: args.kernel.clone(),
        solver_limit: args.solver_limit,
        dump_queries: args.dump_queries.clone(),
        ..crate::verify::Options::default()
    };
    let (text, status) =
        super::verify::verify(&original, &rewritten, &launches, &options, args.format)
            .map_err(bad_input)?;
    print(&text)?;
    Ok(ExitCode::from(status))
}

fn read(path: &Path) -> Result<SourceFile, Failure> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = if name == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|found| bytes = found)
    };
    read.map_err(|error| bad_input(format!("{name}: error: cannot read the file: {error}")))?;
    Ok(SourceFile::from_bytes(name, bytes)?)
}

/// Prints to standard output; a reader that went away is no error of ours.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(bad_input(format!("standard output: error: {error}"))),
        Ok(()) => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| bad_input(format!("{}: error: cannot write: {error}", path.display())))
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn rewrite(args: &Rewrite) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let all_bodies = args.report.is_some() || args.remarks.is_some();
    let options = Options { all_bodies, ..args.decisions.options() };
    if options.mode.is_wrong() {
        let mode = if options.mode == Mode::NoLoad { "no-load" } else { "no-corner" };
        eprintln!("ptxasw: warning: --mode {mode} is for measuring and computes wrong results");
    }
    let rewritten = wrapper::summarised(&source, || pipeline::rewrite(&source, &options))?;
    show_timings(&options);
    if let Some(path) = &args.remarks {
        write(path, &remarks::yaml(&source, &rewritten.report))?;
    }
    if let Some(path) = &args.report {
        write(path, &json(&rewritten.report)?)?;
    }
    match &args.output {
        Some(path) => write(path, &rewritten.text),
        None => print(&rewritten.text),
    }
}

fn show_timings(options: &Options) {
    if let Some(timings) = &options.timings {
        eprint!("{timings}");
    }
}

fn parse(args: &Parse) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let stats = ptx::stats(&source, if args.all { Depth::All } else { Depth::Rewritable })?;
    print(&format!(
        "{} functions, {} of them kernels\n{} bodies parsed, {} skipped\n{} instructions\n{} bytes\n",
        stats.functions,
        stats.kernels,
        stats.parsed_bodies,
        stats.skipped_bodies,
        stats.instructions,
        stats.bytes
    ))
}

fn candidates(args: &Candidates) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let options = Options { mode: Mode::Original, all_bodies: true, ..args.decisions.options() };
    let report = pipeline::rewrite(&source, &options)?.report;
    show_timings(&options);
    print(&match args.format {
        Format::Json => json(&report)?,
        Format::Text => render(&report),
    })
}

fn render(report: &Report) -> String {
    report.kernels.iter().map(render_kernel).collect()
}

fn render_kernel(kernel: &KernelReport) -> String {
    let mut out = format!(
        "{}: {} of {} global loads covered",
        kernel.name, kernel.shuffles, kernel.global_loads
    );
    match (kernel.average_delta, &kernel.skipped) {
        (_, Some(reason)) => out += &format!("; left as it is: {reason}"),
        (Some(average), _) => out += &format!(", average delta {average:.2}"),
        _ => {}
    }
    out.push('\n');
    for load in &kernel.loads {
        out += &format!("  line {:>5}  {:<10}", load.line, load.register);
        match load.decision {
            Decision::Shuffle => {
                let (delta, line) = (load.delta.unwrap_or(0), load.source_line.unwrap_or(0));
                out += &format!("shuffle {delta:+} from line {line}");
                if let Some(guards) = load.guards.as_ref().filter(|guards| !guards.is_empty()) {
                    out += &format!(" [{}]", guards.join(", "));
                }
            }
            // An error in the body is the reason for all its loads: the first line names it.
            Decision::Keep => {
                let reason = load.reason.as_deref().and_then(|reason| reason.lines().next());
                out += &format!("keep: {}", reason.unwrap_or(""));
            }
        }
        out.push('\n');
    }
    out
}

fn trace(args: &Trace) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let options = Options { kernel: args.kernel.clone(), ..Options::default() };
    let mut kernels = Vec::new();
    let mut dots = String::new();
    pipeline::for_each_trace(&source, &options, &mut |function, traced| match traced {
        Ok((flow, trace)) => {
            let report = tracing::describe(&source, function, flow, trace);
            if args.dot {
                let lines = tracing::lines_by_block(&report, flow, trace);
                dots += &cfg::dot(&source, function.name.text, flow, &|block| lines[block].clone());
            }
            kernels.push(report);
        }
        Err(reason) => kernels.push(TraceReport {
            name: function.name.text.to_owned(),
            skipped: Some(reason),
            names: Vec::new(),
            accesses: Vec::new(),
            approximations: Vec::new(),
        }),
    })?;
    found(&args.kernel, kernels.len(), &source)?;
    print(&match args.format {
        _ if args.dot => dots,
        Format::Json => json(&TraceFile {
            version: tracing::FORMAT_VERSION,
            file: source.name().to_owned(),
            kernels,
        })?,
        Format::Text => kernels.iter().map(ToString::to_string).collect(),
    })
}

/// A kernel that was asked for by name must be there.
fn found(kernel: &Option<String>, count: usize, source: &SourceFile) -> Result<(), Failure> {
    match kernel {
        Some(name) if count == 0 => {
            Err(bad_input(format!("{}: error: there is no function `{name}`", source.name())))
        }
        _ => Ok(()),
    }
}

fn graph(args: &Cfg) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let module = ptx::parse(&source, Depth::All)?;
    let mut candidates = module.functions().filter(|function| {
        function.statements().is_some()
            && args.kernel.as_deref().is_none_or(|name| function.name.text == name)
    });
    let Some(function) = candidates.next() else {
        let what = match &args.kernel {
            Some(name) => format!("there is no function `{name}` with a body"),
            None => "there is no function with a body".to_owned(),
        };
        return Err(bad_input(format!("{}: error: {what}", source.name())));
    };
    if args.kernel.is_none() && candidates.next().is_some() {
        let message = "the file has several functions; choose one with --kernel";
        return Err(bad_input(format!("{}: error: {message}", source.name())));
    }
    let flow = cfg::build(&source, function)?;
    print(&cfg::dot(&source, function.name.text, &flow, &|_| Vec::new()))
}

fn execute(args: &Run) -> Result<(), Failure> {
    let source = read(&args.input)?;
    let launch = read(&args.launch)?;
    if args.on == Processor::Gpu {
        let request = Request {
            original: &source,
            launch: &launch,
            kernel: args.kernel.as_deref(),
            modes: &[],
            against: &[],
            options: &Options::default(),
            device: 0,
            format: args.format,
        };
        return print(&on_device(|world| ab::run_on_device(&request, world))?);
    }
    let format = match args.format {
        Format::Text => run::Format::Text,
        Format::Json => run::Format::Json,
    };
    let races = match (args.races, args.no_races) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let request = run::Request {
        kernel: args.kernel.as_deref(),
        profile: args.profile,
        races,
        strict_shuffles: args.strict_shuffles,
        meet: args.meet,
        format,
    };
    let shown = run::run(&source, launch.name(), launch.text(), &request)
        .map_err(|(status, message)| Failure { status, message })?;
    print(&shown)
}

/// Calls a function with what it needs to use a GPU.
fn on_device<T>(work: impl FnOnce(&World<'_>) -> Result<T, (u8, String)>) -> Result<T, Failure> {
    let watch = Watch::start();
    let world = World {
        open: &|ordinal| Ok(Box::new(Cuda::open(ordinal)?) as Box<dyn Device>),
        tool: &|| wrapper::real_ptxas(&env::Settings::of_process()),
        watch: &watch,
    };
    work(&world).map_err(|(status, message)| Failure { status, message })
}

/// `ab`: times, or with `--check` a comparison whose outcome is the exit status.
fn compare(args: &Ab) -> Result<ExitCode, Failure> {
    let (original, launch) = (read(&args.original)?, read(&args.launch)?);
    let against = args.against.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let (modes, options, settings) = (args.modes(), args.options(), args.settings());
    let request = Request {
        original: &original,
        launch: &launch,
        kernel: args.kernel.as_deref(),
        modes: &modes,
        against: &against,
        options: &options,
        device: args.device,
        format: args.format,
    };
    let (text, status) = on_device(|world| {
        if args.check {
            return ab::ab_check(&request, world);
        }
        // Draws on a terminal only.
        let bar = indicatif::ProgressBar::new(settings.samples as u64);
        let mut show = |done, _| bar.set_position(done as u64);
        let text = ab::ab(&request, &settings, world, &mut show);
        bar.finish_and_clear();
        Ok((text?, 0))
    })?;
    print(&text)?;
    Ok(ExitCode::from(status))
}

fn page(args: &ReportArgs) -> Result<(), Failure> {
    let made = report::report(&args.folder).map_err(bad_input)?;
    for warning in &made.warnings {
        eprintln!("ptxasw: warning: {warning}");
    }
    match &args.output {
        Some(path) => write(path, &made.html),
        None => print(&made.html),
    }
}
