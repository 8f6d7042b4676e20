//! One file's way through the program, as one function; every subcommand is this line stopped
//! earlier or joined later.

mod advice;
mod certificate;
mod decided;
mod describe;
mod measured;
mod options;
mod proved;
mod versions;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use rustc_hash::FxHashMap;

use crate::cfg::{self, Flow, InstId};
use crate::emulate::{self, KernelTrace, TooLarge};
use crate::expr::within;
use crate::kernels::demangled;
use crate::parallel;
use crate::patterns::{self, Places};
use crate::profile;
use crate::ptx::{self, Body, Depth, Function, Module};
use crate::report::{KernelReport, LoadReport, Origins, Report};
use crate::requests::Facts;
use crate::reuse::{self, shared::Surroundings};
use crate::rewrite::{self, Edit, Edits, Names, Planner};
use crate::select::{self, Strategies, StrategyName};
use crate::source::{Diagnostic, LineMap, Replacement, SourceFile};
use crate::timings::Timings;
use crate::traffic::{Assumed, Request, Traffic};
use advice::Advised;
use decided::Decided;
use options::target;

pub use crate::cost::Costs;
pub use crate::patterns::REWRITABLE;
pub use crate::patterns::{Options as SelectOptions, Redux};
pub use crate::reuse::Options as ReuseOptions;
pub use crate::rewrite::Mode;
pub use certificate::certificate;
pub use measured::{Compared, Expected, Followed, expected, followed, is_measurable, measured};
pub use options::{Options, architecture_of};
pub use proved::{Proof, proofs};
pub use versions::Versions;

/// A finished rewrite.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// The new text; equal to the input if nothing was replaced.
    pub text: String,
    /// The decision about each load.
    pub report: Report,
    /// Which line of the input each line of `text` came from.
    pub lines: LineMap,
    /// The edits of each function that is rewritten, by its name.
    pub edits: Vec<(String, Vec<Edit>)>,
    /// In a build, the facts about the accesses that these functions had before, by the functions' names.
    pub facts: BTreeMap<String, Facts>,
}

impl Rewritten {
    /// A text that stays as it is.
    pub fn unchanged(source: &SourceFile, report: Report) -> Rewritten {
        let text = source.text().to_owned();
        Rewritten { text, report, ..Rewritten::default() }
    }

    /// The text with these edits of its functions.
    pub fn edited(
        source: &SourceFile,
        report: Report,
        edits: Vec<(String, Vec<Edit>)>,
    ) -> Rewritten {
        let all = edits.iter().flat_map(|(_, edits)| edits).cloned();
        match Edits::new(all.collect()) {
            Ok(all) if all.is_empty() => Rewritten::unchanged(source, report),
            Ok(all) => {
                let (text, lines) = all.apply(source.text());
                Rewritten { text, report, lines, edits, facts: BTreeMap::new() }
            }
            Err(overlap) => {
                log::error!("{}: {overlap}; the file is left as it is", source.name());
                Rewritten::unchanged(source, report)
            }
        }
    }

    /// This without the rewrites of some functions, each with the reason. (The rewrite of a function does not depend on
    /// those of others.)
    #[must_use]
    pub fn without(self, source: &SourceFile, lost: &[(String, String)]) -> Rewritten {
        if lost.is_empty() {
            return self;
        }
        let reason = |name: &str| lost.iter().find(|(lost, _)| lost == name).map(|(_, why)| why);
        let Rewritten { mut report, mut edits, .. } = self;
        for kernel in &mut report.kernels {
            if let Some(reason) = reason(&kernel.name) {
                *kernel = kernel.unused(reason);
            }
        }
        edits.retain(|(name, _)| reason(name).is_none());
        Rewritten::edited(source, report, edits)
    }
}

/// The report and the edits of a function at the end of its way; the analysis, which may be large, is
/// gone.
struct FunctionRewrite {
    report: KernelReport,
    edits: Vec<Edit>,
    facts: Option<Facts>,
}

/// Rewrites one module.
///
/// # Errors
/// A syntax error. Any other failure inside a function leaves that function as it was, and the report
/// says so.
pub fn rewrite(source: &SourceFile, options: &Options) -> Result<Rewritten, Diagnostic> {
    // Stores of structs are rewritten by name or profile only, so that no other run parses for them.
    let strategies = options.select.strategies;
    let stores = strategies.allow(StrategyName::Aos) && !strategies.are_weighed();
    let all = options.all_bodies || stores || options.profile.is_some();
    let depth = if all { Depth::All } else { REWRITABLE };
    let timings = options.timings.as_deref();
    let module = Timings::measure(timings, "parse", || ptx::parse(source, depth))?;
    let options = &options.for_module(&module);
    let functions: Vec<&Function<'_>> =
        module.functions().filter(|function| wanted(function, options)).collect();
    let unsupported = unsupported(&module);
    // How far an array may grow depends on the functions that its kernel calls.
    let around = Surroundings::new(source, &module);
    let whole = around.need_bodies().then(|| ptx::parse(source, Depth::All)).and_then(Result::ok);
    let around = whole.as_ref().map_or(around, |whole| Surroundings::new(source, whole));
    let around = around.in_blocks(options.select.block);
    let job = Job {
        source,
        module: &module,
        around,
        origins: Origins::of(source, &module),
        options,
        advised: match unsupported {
            None => Advised::new(source, &module, &functions, options),
            Some(_) => Advised::default(),
        },
        unsupported,
        names: Names::for_text(source.text()),
    };
    let rewritten = job.rewrite_all(&functions);
    let strategy = options.select.strategies.to_string();
    let warnings = job.advised.warnings;
    let file = source.name().to_owned();
    let mut facts = BTreeMap::new();
    let (kernels, edits): (Vec<_>, Vec<_>) = rewritten
        .into_iter()
        .map(|FunctionRewrite { report, edits, facts: own }| {
            let name = report.name.clone();
            facts.extend(own.map(|own| (name.clone(), own)));
            (report, (name, edits))
        })
        .unzip();
    let report = Report { file, strategy, kernels, warnings, ..Report::default() };
    let edits = edits.into_iter().filter(|(_, edits): &(_, Vec<_>)| !edits.is_empty()).collect();
    Ok(Rewritten { facts, ..Rewritten::edited(source, report, edits) })
}

/// The data that all functions of a module share.
struct Job<'a, 's> {
    source: &'a SourceFile,
    module: &'a Module<'s>,
    /// Its variables in shared memory, and who uses them.
    around: Surroundings<'a, 's>,
    /// Where its instructions were compiled from.
    origins: Origins<'a, 's>,
    options: &'a Options,
    /// Why no function of this module can be rewritten, if so.
    unsupported: Option<String>,
    /// The profile's advice on kernels.
    advised: Advised,
    names: Names,
}

impl<'j> Job<'_, 'j> {
    /// Analyses and rewrites all functions, in parallel.
    fn rewrite_all<'m, 's>(&'m self, functions: &[&'m Function<'s>]) -> Vec<FunctionRewrite> {
        let Options { first_shuffle: None, last_shuffle: None, .. } = self.options else {
            return self.rewrite_numbered(functions);
        };
        let bytes = self.source.text().len();
        parallel::map_text(bytes, functions, |function| {
            self.rewrite_one(function, self.analyse(function))
        })
    }

    /// The same if accepted candidates are chosen by their numbers: a function's candidates have
    /// numbers only once all functions before it are analysed, so all analyses are kept until the last
    /// one is done.
    fn rewrite_numbered<'m, 's>(&'m self, functions: &[&'m Function<'s>]) -> Vec<FunctionRewrite> {
        let mut analyses = parallel::map(functions, |function| self.analyse(function));
        number(analyses.iter_mut().flatten(), self.options);
        functions
            .iter()
            .zip(analyses)
            .map(|(function, analysis)| self.rewrite_one(function, analysis))
            .collect()
    }

    /// Everything found out about one function, or the reason why it is left as it is.
    fn analyse<'m, 's>(&'m self, function: &'m Function<'s>) -> Result<Decided<'m, 's>, String> {
        match (&self.unsupported, self.options.reason_to_leave_out(function)) {
            (Some(reason), _) => Err(reason.clone()),
            (None, Some(reason)) => {
                let (file, name) = (self.source.name(), demangled(function.name.text));
                log::info!("{file}: {name} is left as it is: {reason}");
                Err(reason)
            }
            (None, None) => match self.advised.of(function) {
                None => analyse(self.of_file(), function, self.options, &self.options.select),
                Some(advice) if advice.strategies == Strategies::NONE => Err(advice.reason.clone()),
                Some(advice) => {
                    let select = select::Options {
                        strategies: advice.strategies,
                        ..self.options.select.clone()
                    };
                    analyse(self.of_file(), function, self.options, &select)
                }
            },
        }
    }

    fn of_file(&self) -> (&SourceFile, &Surroundings<'_, 'j>) {
        (self.source, &self.around)
    }

    /// Turns the analysis of one function into its report and edits.
    fn rewrite_one(
        &self,
        function: &Function<'_>,
        analysis: Result<Decided<'_, '_>, String>,
    ) -> FunctionRewrite {
        let places = (self.source, &self.origins);
        let left = |reason: String| (describe::left(places, function, &reason), Vec::new(), None);
        let (report, edits, facts) = match analysis {
            Ok(decided) => match self.edits(function, &decided) {
                Ok(edits) => {
                    let requests = self.requests(function, &decided);
                    let report = describe::decided(places, function, &decided, &requests);
                    let is_measured = !edits.is_empty() && self.options.select.is_checked;
                    let facts = is_measured.then(|| self.facts(function, &decided)).flatten();
                    (report, edits, facts)
                }
                Err(reason) => left(reason),
            },
            Err(reason) => left(reason),
        };
        let advice = self.advised.of(function);
        let strategy = advice.map(|advice| profile::word_for(advice.strategies));
        let reason = advice.map(|advice| advice.reason.clone());
        FunctionRewrite { report: KernelReport { strategy, reason, ..report }, edits, facts }
    }

    /// The facts about a function's accesses as they are; `None` if its strategies are not weighed, or it is too large.
    fn facts(
        &self,
        function: &Function<'_>,
        Decided { flow, trace, .. }: &Decided<'_, '_>,
    ) -> Option<Facts> {
        let options = self.options;
        options.select.strategies.are_weighed().then_some(())?;
        let architecture = options.select.costs.architecture;
        let facts = || within(|| Facts::new(self.module, function, flow, trace, architecture));
        std::panic::catch_unwind(AssertUnwindSafe(facts)).ok()?.ok()
    }

    /// The lane strides of a function's accesses and the costs of their requests, by their instructions; empty if they
    /// are not needed.
    fn requests(
        &self,
        function: &Function<'_>,
        Decided { flow, trace, .. }: &Decided<'_, '_>,
    ) -> FxHashMap<InstId, (Option<i64>, Request)> {
        let assumed = Assumed::default();
        let counted = self
            .options
            .count_sectors
            .then(|| within(|| Traffic::of(self.module, function, flow, trace, &assumed)).ok());
        let accesses = counted.flatten().map_or_else(Vec::new, |traffic| traffic.accesses);
        let request = |one| Request::of(function, flow, trace, one);
        accesses.iter().map(|one| (one.inst, (one.lane_stride(), request(one)))).collect()
    }

    /// The edits of a function; each name in their code has the meaning that the plan gives it.
    fn edits(
        &self,
        function: &Function<'_>,
        decided: &Decided<'_, '_>,
    ) -> Result<Vec<Edit>, String> {
        let Body::Parsed { span, .. } = &function.body else { return Ok(Vec::new()) };
        let body = span.start as usize + 1;
        let Decided { flow, trace, choice } = decided;
        let mut planner = Planner::new(self.source, flow, trace, body, &self.names);
        planner.plan.has_nanosleep = self.options.select.has_nanosleep;
        // The modes that leave code out measure loads alone.
        patterns::plan(&choice.chosen(self.options.mode.is_wrong()), &mut planner);
        let plan = planner.plan;
        if plan.is_empty() {
            return Ok(Vec::new());
        }
        let edits = Timings::measure(self.options.timings.as_deref(), "rewrite", || {
            plan.placed(&rewrite::drafts(&plan, self.options.mode))
        });
        edits.map_err(|misplaced| misplaced.to_string())
    }
}

/// Facts about the accesses of functions, by the functions' names: of all that have parsed bodies at this depth, and can be
/// analysed.
///
/// # Errors
/// A syntax error.
pub fn facts(
    source: &SourceFile,
    options: &Options,
    depth: Depth<'_>,
) -> Result<BTreeMap<String, Facts>, Diagnostic> {
    let module = ptx::parse(source, depth)?;
    let options = &options.for_module(&module);
    let architecture = options.select.costs.architecture;
    let functions: Vec<&Function<'_>> = module
        .functions()
        .filter(|function| matches!(function.body, Body::Parsed { .. }))
        .collect();
    let found = parallel::map_text(source.text().len(), &functions, |function| {
        let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let (flow, trace) = emulated(source, function, options).ok()?;
            within(|| Facts::new(&module, function, &flow, &trace, architecture)).ok()
        }));
        Some((function.name.text.to_owned(), attempt.ok()??))
    });
    Ok(found.into_iter().flatten().collect())
}

/// The legal replacements of the global loads of a function, by the load's instruction, profitable or not: a value of
/// the same lane (`reuse`) or of another one (`paper`).
pub fn reusable(
    (source, origins): (&SourceFile, &Origins<'_, '_>),
    around: &Surroundings<'_, '_>,
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
) -> Vec<(InstId, LoadReport)> {
    let strategies = Strategies::of(&[StrategyName::Reuse, StrategyName::Paper]);
    let select =
        select::Options { strategies, lists_collectives: false, ..select::Options::default() };
    let legal = reuse::Options::default();
    let choice =
        within(|| select::decide((source, around), function, flow, trace, &legal, &select));
    let Ok(choice) = choice else { return Vec::new() };
    let places = Places { source, origins, flow };
    let each = choice.decisions.iter();
    each.map(|decision| (decision.inst, describe::load_report(&places, &choice, decision)))
        .collect()
}

/// The argument for the visitor of [`for_each_trace`]: a function's control flow and trace, or why there is none.
pub type Traced<'a, 'm, 's> = Result<(&'a Flow<'m, 's>, &'a mut KernelTrace), String>;

/// Parses a module and emulates the functions wanted, one after the other.
///
/// # Errors
/// A syntax error.
pub fn for_each_trace(
    source: &SourceFile,
    options: &Options,
    visit: &mut dyn FnMut(&Function<'_>, Traced<'_, '_, '_>),
) -> Result<(), Diagnostic> {
    let module = ptx::parse(source, Depth::All)?;
    for function in module.functions().filter(|function| wanted(function, options)) {
        match emulated(source, function, options) {
            Ok((flow, mut trace)) => visit(function, Ok((&flow, &mut trace))),
            Err(reason) => visit(function, Err(reason)),
        }
    }
    Ok(())
}

fn wanted(function: &Function<'_>, options: &Options) -> bool {
    !matches!(function.body, Body::Absent)
        && options.kernel.as_deref().is_none_or(|name| function.name.text == name)
}

/// Why the module's version and target do not allow the instructions that a rewrite contains, if so
/// (PTX ISA, "shfl.sync", "activemask"): ISA 6.2 and sm_30 do.
fn unsupported(module: &Module<'_>) -> Option<String> {
    if module.version.is_none_or(|version| version < (6, 2)) {
        let (major, minor) = module.version.unwrap_or_default();
        return Some(format!("PTX ISA {major}.{minor}: `activemask` needs 6.2"));
    }
    match target(module) {
        Some(number) if number >= 30 => None,
        _ => Some("the target has no `shfl.sync`, which needs sm_30".to_owned()),
    }
}

/// The control flow and the trace of one function.
///
/// # Errors
/// Why there is none.
pub fn emulated<'m, 's>(
    source: &'m SourceFile,
    function: &'m Function<'s>,
    options: &Options,
) -> Result<(Flow<'m, 's>, KernelTrace), String> {
    crate::solver::forget();
    let timings = options.timings.as_deref();
    let flow = Timings::measure(timings, "flow", || cfg::build(source, function))
        .map_err(|error| error.to_string())?;
    let trace =
        Timings::measure(timings, "emulate", || emulate::run(function, &flow, &options.limits))
            .map_err(|large| large.0)?;
    Ok((flow, trace))
}

fn analyse<'m, 's>(
    (source, around): (&'m SourceFile, &Surroundings<'_, '_>),
    function: &'m Function<'s>,
    options: &Options,
    select: &select::Options,
) -> Result<Decided<'m, 's>, String> {
    if let Body::Unparsed { .. } = function.body {
        return Err("nothing to exchange".to_owned());
    }
    // A panic in the analysis is a bug of ours; the function is left as it is and the build goes on.
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let (flow, mut trace) = emulated(source, function, options)?;
        let choice = Timings::measure(options.timings.as_deref(), "decide", || {
            within(|| {
                select::decide(
                    (source, around),
                    function,
                    &flow,
                    &mut trace,
                    &options.reuse,
                    select,
                )
            })
        });
        let choice = choice.map_err(|_| TooLarge::steps(&options.limits).0)?;
        Ok(Decided { flow, trace, choice })
    }));
    let result =
        attempt.unwrap_or_else(|_| Err("internal error: the analysis panicked".to_owned()));
    if let Err(reason) = &result {
        let name = demangled(function.name.text);
        log::info!("{}: {name} is left as it is: {reason}", source.name());
    }
    result
}

/// Numbers the accepted candidates in source order and drops those outside the chosen range.
fn number<'d, 'm: 'd, 's: 'm>(
    analyses: impl Iterator<Item = &'d mut Decided<'m, 's>>,
    options: &Options,
) {
    let first = options.first_shuffle.unwrap_or(1);
    let last = options.last_shuffle.unwrap_or(usize::MAX);
    let mut number = 0;
    for decided in analyses {
        decided.choice.retain(|| {
            number += 1;
            (first..=last).contains(&number)
        });
    }
}

impl Replacement for Rewritten {
    fn text(&self) -> &str {
        &self.text
    }

    fn lines(&self) -> &LineMap {
        &self.lines
    }

    fn knows(&self, function: &str) -> bool {
        self.report.kernels.iter().any(|report| report.name == function)
    }

    fn changes(&self, function: &str) -> bool {
        let mut kernels = self.report.kernels.iter();
        kernels.any(|report| report.name == function && report.is_rewritten())
    }

    fn is_measured(&self, kernel: &str) -> bool {
        let mut kernels = self.report.kernels.iter();
        kernels.find(|report| report.name == kernel).is_some_and(|one| one.strategy.is_some())
    }
}
