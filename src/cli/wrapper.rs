//! `ptxasw` called as `ptxas`, or as another assembler of PTX: every argument is that assembler's.
//!
//! In: the name the program was called by and the arguments. Out: the exit status of the real ptxas,
//! its messages, and at most one warning line for each thing that went wrong in ptxasw. No way out of
//! this module leaves a valid input unassembled, unless the real ptxas cannot be found.

use super::env::{self, Linting, Settings};
use super::exit::{Failure, Status};
use super::gate::Gate;
use super::large_stack::on_large_stack;
use super::outcome::{Outcomes, log_unused_rules};
use super::{holes, keep};
use crate::kernels::demangled;
use crate::lint;
use crate::pipeline::{self, Options, Rewritten};
use crate::ptxas::assemble;
use crate::ptxas::check::Cubins;
use crate::ptxas::child;
use crate::ptxas::command_line::CommandLine;
use crate::ptxas::examine::{self, Examined};
use crate::ptxas::invoke::Tool;
use crate::ptxas::locate::{self, Search};
use crate::ptxas::nvptx_as;
use crate::ptxas::rewritten::Call;
use crate::ptxas::role::{Dialect, Role};
use crate::ptxas::signals::{self, Watch};
use crate::rewrite::Mode;
use crate::select;
use crate::source::SourceFile;
use rustix::process::{Resource, getrlimit};
use signal_hook::consts::SIGPIPE;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

pub use super::holes::Rewriter;

/// Stand-ins that call each other in a longer row than this go in a circle. Shorter rows happen while
/// somebody installs and uninstalls: the real ptxas was found under a name that has changed hands since.
const MAX_DEPTH: u32 = 16;

/// Whether a program called by this name stands in for an assembler: see [`Role`].
pub fn is_assembler(called_as: &OsStr) -> bool {
    Role::of(&search(called_as, &Settings::of_process())).is_some()
}

/// Stands in for ptxas. `called_as` is the name the program was called by, `arguments` follow it.
pub fn main(called_as: &OsStr, arguments: &[OsString]) -> ExitCode {
    let rewriter =
        |source: &SourceFile, options: &Options| holes::filled(source, options, &pipeline::rewrite);
    stand_in(called_as, arguments, &rewriter, Settings::of_process())
}

/// [`main`] around another rewriter; `proves`: its results are used only if they are proved.
#[cfg(feature = "internals")]
pub fn main_with(
    called_as: &OsStr,
    arguments: &[OsString],
    rewriter: &Rewriter,
    proves: bool,
) -> ExitCode {
    let settings = Settings { unverified: !proves, ..Settings::of_process() };
    stand_in(called_as, arguments, rewriter, settings)
}

fn stand_in(
    called_as: &OsStr,
    arguments: &[OsString],
    rewriter: &Rewriter,
    settings: Settings,
) -> ExitCode {
    start_log(&settings);
    let search = search(called_as, &settings);
    let role = Role::of(&search).unwrap_or_default();
    match find_tool(&search, &role, &settings) {
        Ok(tool) => {
            // An input that is handed over anyway must not be touched, not even to understand it.
            if let Some(reason) = not_for_us(&settings) {
                return hand_over(&tool, arguments, reason);
            }
            let line = match role.dialect {
                Dialect::Ptxas => CommandLine::parse(arguments, &read_options),
                Dialect::NvptxAs => nvptx_as::parse(arguments),
            };
            let reason = line.hand_over.or_else(too_few_descriptors);
            match reason.or_else(|| examine::only_for_ptxas(&line)) {
                Some(reason) => hand_over(&tool, arguments, reason),
                None => call(&tool, &settings, arguments, &line, rewriter),
            }
        }
        Err(Failure { status, message, .. }) => {
            error(&message);
            status.into()
        }
    }
}

/// The inputs of the search for the real assembler.
pub fn search(called_as: &OsStr, settings: &Settings) -> Search {
    Search {
        explicit: settings.ptxas.clone(),
        called_as: called_as.to_owned(),
        executable: std::env::current_exe().unwrap_or_else(|_| PathBuf::from(called_as)),
        image: Some(PathBuf::from("/proc/self/exe")).filter(|image| image.exists()),
        path: settings.path.clone(),
        directory: std::env::current_dir().unwrap_or_default(),
    }
}

/// The real ptxas, for subcommands that call it themselves.
///
/// # Errors
/// There is no real ptxas, or stand-ins call each other in a circle.
pub fn real_ptxas(settings: &Settings) -> Result<Tool, Failure> {
    let found = find_tool(&search(OsStr::new("ptxasw"), settings), &Role::default(), settings);
    found.map_err(|failure| Failure::about("ptxasw", &failure.message).with_status(failure.status))
}

fn find_tool(search: &Search, role: &Role, settings: &Settings) -> Result<Tool, Failure> {
    if settings.depth >= MAX_DEPTH {
        return Err(Failure::unusable(format!(
            "stand-ins for ptxas call each other in a circle\n  help: set {} to the path of NVIDIA's \
             ptxas",
            env::PTXAS
        )));
    }
    let path = locate::find(search, role)?;
    log::info!("the real {} is {}", role.name.display(), path.display());
    Ok(Tool { path, depth: settings.depth + 1, huge_pages: !settings.tunables })
}

/// Why no call of this process is looked at, if none is.
fn not_for_us(settings: &Settings) -> Option<&'static str> {
    let below = settings.depth > 0;
    settings.off.then_some("switched off").or(below.then_some("called by another stand-in"))
}

/// Why there is no room for two runs, if there is none.
fn too_few_descriptors() -> Option<&'static str> {
    /// Beside those of the caller: pipes of two runs, their inputs and outputs, folders, signals.
    const ENOUGH: u64 = 32;
    let most = getrlimit(Resource::Nofile).current;
    most.is_some_and(|most| most < ENOUGH).then_some("few files may be open at a time")
}

fn hand_over(tool: &Tool, arguments: &[OsString], reason: &str) -> ExitCode {
    log::info!("handed over untouched: {reason}");
    exec(tool, arguments)
}

/// The bytes of an options file; nothing of one that can be read only once, which is for ptxas to read.
fn read_options(path: &Path) -> Option<Vec<u8>> {
    /// Longer command lines are not understood.
    const LONGEST: u64 = 16 << 20;
    let length = std::fs::metadata(path).ok().filter(Metadata::is_file)?.len();
    (length <= LONGEST).then(|| std::fs::read(path).ok()).flatten()
}

fn call(
    tool: &Tool,
    settings: &Settings,
    arguments: &[OsString],
    line: &CommandLine,
    rewriter: &Rewriter,
) -> ExitCode {
    let mut warnings = env::warnings(settings);
    let outcomes = Outcomes::default();
    let (options, mut examined) = examine(settings, line, (rewriter, &outcomes), &mut warnings);
    let reports =
        || examined.iter().filter_map(|one| Some(&one.outcome.as_ref()?.1.as_ref().ok()?.report));
    let errors: Vec<&String> = reports().flat_map(|report| &report.errors).collect();
    if !errors.is_empty() {
        errors.iter().for_each(|message| error(message));
        return Status::REFUSED.into();
    }
    if lint_fails(settings, &examined, &mut warnings) {
        return Status::REFUSED.into();
    }
    let has_holes = reports().any(|report| !report.holes.is_empty());
    // A text with holes is nothing that ptxas could assemble for a comparison, or that a judge could read.
    let is_checked = is_checked(settings, &options) && !has_holes && !line.foreign_lines;
    let proves = !settings.unverified && options.mode == Mode::Full && !has_holes;
    let mut gate = Gate::new(&options, proves, settings);
    if !is_checked {
        gate.prove_alone(&mut examined);
    }
    keep_texts(settings, &examined, &mut warnings);
    let reports = settings.report.is_some();
    if assemble::is_untouched(&examined) && warnings.is_empty() && !reports {
        gate.report(&mut examined, &|source| outcomes.seconds(source), true);
        keep_reports(settings, &examined, (None, &Cubins::default()), &mut warnings);
        if warnings.is_empty() {
            log_outcomes(&outcomes, &examined, None);
            return exec(tool, arguments);
        }
    }
    let watch = Watch::start();
    let call = Call { tool, arguments, line, watch: &watch, reports };
    let mut through =
        |call: Call<'_>, texts: &mut [Examined<Rewritten>]| gate.assemble(call, texts);
    let through = is_checked.then_some(&mut through as &mut assemble::Gate<'_, Rewritten>);
    let mut assembled = match assemble::assemble(call, &mut examined, through, warnings) {
        Ok(assembled) => assembled,
        // There may be no process, pipe or descriptor to be had; becoming ptxas takes none.
        Err(message) if assemble::unread(&examined).is_ok() => {
            return hand_over(tool, arguments, &format!("ptxas cannot be started: {message}"));
        }
        Err(message) => {
            error(&format!("cannot run {}: {message}", tool.path.display()));
            return Status::UNUSABLE.into();
        }
    };
    let status = assembled.finished.status;
    if status.success() {
        if gate.has_taken_back() {
            keep_texts(settings, &examined, &mut assembled.warnings);
        }
        let unused = assembled.unused.as_deref();
        gate.report(&mut examined, &|source| outcomes.seconds(source), unused.is_none());
        log_outcomes(&outcomes, &examined, unused);
        let made = (unused, &assembled.cubins);
        keep_reports(settings, &examined, made, &mut assembled.warnings);
    }
    write(&mut io::stdout(), &assembled.finished.stdout);
    write(&mut io::stderr(), &assembled.finished.stderr);
    for warning in &assembled.warnings {
        warn(warning);
    }
    end_like(status)
}

/// Whether a rewritten kernel is compared with the original. The other modes are for measuring the cost of a rewrite.
fn is_checked(settings: &Settings, options: &Options) -> bool {
    !settings.unchecked && options.mode == Mode::Full
}

/// Shows the inputs of a call to the rewriter; none of them if the settings cannot be used, which is a
/// warning.
fn examine(
    settings: &Settings,
    line: &CommandLine,
    (rewriter, outcomes): (&Rewriter, &Outcomes),
    warnings: &mut Vec<String>,
) -> (Options, Vec<Examined<Rewritten>>) {
    let chosen = match env::options(settings) {
        Ok(chosen) => chosen,
        Err(message) => {
            warnings.push(format!("{message}; nothing is rewritten"));
            return (Options::default(), Vec::new());
        }
    };
    let architecture = line.architecture.as_deref().and_then(pipeline::architecture_of);
    let is_checked = is_checked(settings, &chosen) && !line.foreign_lines;
    let select = select::Options { is_checked, ..chosen.select.clone() };
    let options = Options { architecture, select, ..chosen };
    let stdin = io::stdin().lock();
    let examined = examine::examine(line, stdin, &|source| {
        log_unused_rules(source, &options.kernels);
        outcomes.timed(source, || rewrite(source, &options, rewriter))
    });
    for (_, rewritten) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
        let said = rewritten.iter().flat_map(|rewritten| &rewritten.report.warnings);
        let new: Vec<String> = said.filter(|line| !warnings.contains(line)).cloned().collect();
        warnings.extend(new);
    }
    (options, examined)
}

/// Rewrites one input. Whatever goes wrong, a panic included, is a message of one line.
fn rewrite(
    source: &SourceFile,
    options: &Options,
    rewriter: &Rewriter,
) -> Result<Rewritten, String> {
    match on_large_stack(|| rewriter(source, options)) {
        Ok(Ok(Ok(rewritten))) => Ok(rewritten),
        Ok(Ok(Err(diagnostic))) => Err(assemble::one_line(&diagnostic)),
        Ok(Err(panic)) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .and_then(|message| message.lines().next())
                .unwrap_or("no message");
            Err(format!("{}: internal error: {message}", source.name()))
        }
        Err(error) => Err(format!("{}: cannot start a thread: {error}", source.name())),
    }
}

/// Logs the outcome for each text of a call; `unused` is the reason why the originals were assembled, if they were.
fn log_outcomes(outcomes: &Outcomes, examined: &[Examined<Rewritten>], unused: Option<&str>) {
    for (source, result) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
        match (result, unused) {
            (Err(_), _) => {}
            (Ok(result), None) => outcomes.log(source, &result.report),
            (Ok(result), Some(reason)) => {
                outcomes.log(source, &keep::unused(&result.report, reason));
            }
        }
    }
}

/// Shows the warnings of `lint` for the texts of a call, if that is asked for; true if the call is to fail for them.
fn lint_fails(
    settings: &Settings,
    examined: &[Examined<Rewritten>],
    warnings: &mut Vec<String>,
) -> bool {
    let linting = match settings.linting() {
        Ok(Some(linting)) => linting,
        Ok(None) => return false,
        Err(message) => {
            warnings.push(message);
            return false;
        }
    };
    let word = if linting == Linting::Error { "error" } else { "warning" };
    let options = settings.lint_options();
    let mut found = false;
    for (source, _) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
        // (ptxas itself reports text that cannot be parsed.)
        let linted = on_large_stack(|| lint::lint(source, &options));
        let Ok(Ok(Ok(file))) = linted else { continue };
        let mut lines = String::new();
        for (kernel, finding) in file.findings() {
            let place = match &finding.source {
                Some(origin) => format!("{}({})", origin.file, origin.line),
                None => format!("{}({})", file.file, finding.line),
            };
            lines += &format!(
                "{place}: {word}: {} [{}, in {}]\n{place}: note: {}\n",
                finding.message, finding.rule, kernel.demangled, finding.help
            );
        }
        found |= !lines.is_empty();
        write(&mut io::stderr(), lines.as_bytes());
    }
    found && linting == Linting::Error
}

/// Replaces this process by the real ptxas, with the call as it came.
fn exec(tool: &Tool, arguments: &[OsString]) -> ExitCode {
    let reason = tool.exec(arguments);
    error(&format!("cannot run {}: {reason}", tool.path.display()));
    Status::UNUSABLE.into()
}

fn keep_texts(settings: &Settings, examined: &[Examined<Rewritten>], warnings: &mut Vec<String>) {
    let Some(folder) = &settings.keep else { return };
    for (source, result) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
        if let Err(error) = keep::store_texts(folder, source, result.as_ref().ok()) {
            warnings.push(format!("{}: cannot keep a copy here: {error}", folder.display()));
        }
    }
}

fn keep_reports(
    settings: &Settings,
    examined: &[Examined<Rewritten>],
    (unused, cubins): (Option<&str>, &Cubins),
    warnings: &mut Vec<String>,
) {
    let made = [&cubins.original, &cubins.rewritten].map(|bytes| keep::resources(bytes));
    for (source, result) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
        let Ok(result) = result else { continue };
        let untouched = (result.text == source.text()).then_some("the text is left as it is");
        let report = match unused.or(untouched) {
            None => Cow::Borrowed(&result.report),
            Some(reason) => Cow::Owned(keep::unused(&result.report, reason)),
        };
        let report = keep::with_resources(report.into_owned(), &made);
        for kernel in &report.kernels {
            if let Some(change) = kernel.machine_code() {
                let proved = if kernel.proved { ", proved" } else { "" };
                log::info!("{}: {}: {change}{proved}", source.name(), demangled(&kernel.name));
            }
        }
        let mut note = |folder: &PathBuf, what: &str, stored: io::Result<()>| {
            if let Err(error) = stored {
                let warning = format!("{}: cannot write {what} here: {error}", folder.display());
                // A call that is not rewritten after all writes them twice.
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        };
        if let Some(folder) = &settings.report {
            note(folder, "a report", keep::store_report(folder, source, &report));
        }
        if let Some(folder) = &settings.remarks {
            note(folder, "remarks", keep::store_remarks(folder, source, &report));
        }
    }
}

/// Ends as the real ptxas did, by the same signal if it was one.
fn end_like(status: ExitStatus) -> ExitCode {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::of_process(code).into(),
        (None, Some(signal)) => signals::end_by(signal),
        (None, None) => ExitCode::FAILURE,
    }
}

/// A log in which the modules of all crates are those of one program: `ptxasw::ptxas` for `ptxasw_assembler::ptxas`. That
/// is how filters name them.
struct OneName(env_logger::Logger);

/// The module as the log names it.
fn in_one_program(target: &str) -> String {
    let module = target.strip_prefix("ptxasw_").and_then(|rest| rest.split_once("::"));
    module.map_or_else(|| target.to_owned(), |(_, module)| format!("ptxasw::{module}"))
}

impl log::Log for OneName {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        let target = in_one_program(metadata.target());
        self.0.enabled(&log::Metadata::builder().level(metadata.level()).target(&target).build())
    }

    fn log(&self, record: &log::Record<'_>) {
        let target = in_one_program(record.target());
        let mut renamed = log::Record::builder();
        renamed.level(record.level()).target(&target).args(*record.args());
        self.0.log(&renamed.build());
    }

    fn flush(&self) {
        self.0.flush();
    }
}

/// Starts the log with the filter of the settings; silent by default.
pub fn start_log(settings: &Settings) {
    let Some(filters) = &settings.log else { return };
    match env_filter::Builder::new().try_parse(filters) {
        Ok(_) => {
            let mut logger = env_logger::Builder::new();
            // (z3 logs each term; who wants that names it.)
            logger.filter_module("z3", log::LevelFilter::Off);
            let logger = logger.parse_filters(filters).build();
            let most = logger.filter();
            // (Nobody else starts a log.)
            if log::set_boxed_logger(Box::new(OneName(logger))).is_ok() {
                log::set_max_level(most);
            }
        }
        Err(error) => warn(&format!("{}={filters}: {error}; nothing is logged", env::LOG)),
    }
}

fn error(message: &str) {
    write(&mut io::stderr(), format!("ptxasw: error: {message}\n").as_bytes());
}

fn warn(message: &str) {
    let line = message.replace(['\n', '\r'], " ");
    write(&mut io::stderr(), format!("ptxasw: warning: {line}\n").as_bytes());
}

/// Writes to a standard stream. If that fails, nobody is left to tell.
fn write(stream: &mut dyn Write, bytes: &[u8]) {
    if let Err(error) = stream.write_all(bytes).and_then(|()| stream.flush()) {
        // ptxas would have ended so.
        if error.kind() == io::ErrorKind::BrokenPipe && !child::pipe_was_ignored() {
            signals::end_by(SIGPIPE);
        }
        log::debug!("cannot write to a standard stream: {error}");
    }
}
