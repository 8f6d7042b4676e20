//! Which rewritten kernels take more cycles than before, by the measure of their machine code.
//!
//! In: a text, its rewriting, and the bytes that the assembler made of both. Out: the kernels that are to be taken back,
//! with the cycles of both versions, which also go into the report. The texts are looked at while they are assembled
//! ([`Judge::new`]).

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::large_stack::on_large_stack;
use crate::kernels::demangled;
use crate::pipeline::{self, Built, Compared, Options, Rewritten};
use crate::ptx::Depth;
use crate::ptxas::examine::Examined;
use crate::ptxas::losses::Loss;
use crate::report::{Decision, KernelReport, LoadReport, MeasureReport};
use crate::requests::Facts;
use crate::source::SourceFile;
use crate::strategies::StrategyName;

/// The measures of kernels, by the names of their files and their own.
pub(super) type Measures = BTreeMap<(String, String), MeasureReport>;

/// Puts the measures of kernels into their reports.
pub(super) fn report_measures(examined: &mut [Examined<Rewritten>], measures: &Measures) {
    for one in examined {
        if let Some((source, Ok(rewritten))) = &mut one.outcome {
            for kernel in &mut rewritten.report.kernels {
                let key = (source.name().to_owned(), kernel.name.clone());
                kernel.measure = measures.get(&key).cloned();
            }
        }
    }
}

/// A rewritten kernel that takes this many times the cycles of the original, or more, is taken back: with the same number
/// of cycles nothing is gained.
const MOST_CYCLES: f64 = 1.0;

/// So is one that takes more than this many times the cycles with some number of resident warps, whatever it gains with
/// others.
const MOST_CYCLES_ANYWHERE: f64 = 1.02;

/// The same for kernels whose arrays have new layouts. The model knows less about these.
const MOST_CYCLES_OF_LAYOUTS: f64 = 1.005;

/// The same for kernels whose vector loads need a test of alignment.
const MOST_CYCLES_OF_TESTED: f64 = 1.0;

/// By how much the bytes may differ that two versions load which perform the same loads: means over warps.
const SAME_BYTES: f64 = 0.01;

/// Bytes of the longest vector (PTX ISA, "ld").
const LONGEST_VECTOR: u32 = 32;

/// The share of its cycles that a kernel takes at least in which loads are joined to vectors and nothing else is done: a
/// vector takes as long as the shortest of its loads.
fn least_share(kernel: &KernelReport) -> Option<f64> {
    let joined = kernel.loads.iter().filter(|load| load.decision != Decision::Keep);
    let is_vector = |load: &LoadReport| load.decision == Decision::By(StrategyName::Wide);
    let is_alone = kernel.stores.iter().all(|store| store.decision == Decision::Keep)
        && joined.clone().all(is_vector)
        && kernel.laid_out() + kernel.replaced_collectives() == 0;
    let narrowest = joined.map(|load| load.bytes).min().filter(|_| is_alone)?;
    Some(f64::from(narrowest) / f64::from(LONGEST_VECTOR))
}

/// The rewrite that a kernel keeps only where it is known to be faster, for people, and how many times
/// the cycles it may take with some number of resident warps.
fn needs_measure(kernel: &KernelReport) -> Option<(&'static str, f64)> {
    let layout = (kernel.laid_out() > 0).then_some(("the new layout", MOST_CYCLES_OF_LAYOUTS));
    let tested = || ("vector loads behind a test of alignment", MOST_CYCLES_OF_TESTED);
    layout.or_else(|| kernel.tests_alignment().then(tested))
}

/// The facts about the kernels of a text: in the original, and in the rewritten one.
type Versions = [BTreeMap<String, Facts>; 2];

/// A rewritten text whose kernels will be measured.
struct Job {
    versions: [SourceFile; 2],
    /// The names of these kernels.
    kernels: Vec<String>,
}

impl Job {
    fn facts(&self, options: &Options) -> Versions {
        let names: Vec<&str> = self.kernels.iter().map(String::as_str).collect();
        let facts = |text: &SourceFile| {
            let found = on_large_stack(|| pipeline::facts(text, options, Depth::Named(&names)));
            found.ok().and_then(Result::ok).and_then(Result::ok).unwrap_or_default()
        };
        self.versions.each_ref().map(facts)
    }
}

/// The name of a kernel among all texts of a call.
fn key(source: &SourceFile, kernel: &str) -> (String, String) {
    (source.name().to_owned(), kernel.to_owned())
}

/// Decides which kernels of a call's texts are slower. Costs have chosen their rewrites.
pub(super) struct Judge {
    /// Finds out the facts about each text, by its name, while the texts are assembled.
    worker: RefCell<Option<JoinHandle<BTreeMap<String, Versions>>>>,
    facts: OnceCell<BTreeMap<String, Versions>>,
    /// The measurements.
    pub(super) measures: RefCell<Measures>,
    /// Kernels that another judge has decided about.
    decided: RefCell<BTreeSet<(String, String)>>,
}

impl Judge {
    /// Begins to look at the texts.
    pub(super) fn new<'t>(
        changed: impl IntoIterator<Item = (&'t SourceFile, &'t Rewritten)>,
        options: &Options,
    ) -> Judge {
        let jobs: Arc<Vec<Job>> = Arc::new(changed.into_iter().filter_map(job).collect());
        let all = {
            let (jobs, options) = (Arc::clone(&jobs), options.clone());
            move || {
                let each =
                    jobs.iter().map(|job| (job.versions[0].name().to_owned(), job.facts(&options)));
                each.collect::<BTreeMap<_, _>>()
            }
        };
        let judge = Judge {
            worker: RefCell::default(),
            facts: OnceCell::new(),
            measures: RefCell::default(),
            decided: RefCell::default(),
        };
        if jobs.is_empty() {
            return judge;
        }
        match std::thread::Builder::new().spawn(all.clone()) {
            Ok(worker) => *judge.worker.borrow_mut() = Some(worker),
            Err(error) => {
                log::info!("{error}: the rewritten kernels are looked at first");
                judge.facts.get_or_init(all);
            }
        }
        judge
    }

    /// How many times the cycles a kernel takes by its measure, if there is one.
    pub(super) fn ratio(&self, source: &SourceFile, kernel: &str) -> Option<f64> {
        self.measures.borrow().get(&key(source, kernel))?.ratio()
    }

    /// Leaves a kernel to the decision of another judge, and takes over its measure, if there is one.
    pub(super) fn leave_to(&self, other: &Judge, source: &SourceFile, kernel: &str) {
        let key = key(source, kernel);
        let mut measures = self.measures.borrow_mut();
        match other.measures.borrow().get(&key) {
            Some(measure) => _ = measures.insert(key.clone(), measure.clone()),
            None => _ = measures.remove(&key),
        }
        self.decided.borrow_mut().insert(key);
    }

    /// The facts about the kernels of a text.
    fn facts(&self, file: &str) -> Option<&Versions> {
        let worker =
            || self.worker.take().and_then(|worker| worker.join().ok()).unwrap_or_default();
        self.facts.get_or_init(worker).get(file)
    }

    /// The kernels of a text that take more cycles than before. Also notes the measurements. The
    /// rewrites of kernels that have `lost` something are undone anyway.
    pub(super) fn slower(
        &self,
        source: &SourceFile,
        rewritten: &Rewritten,
        [original, cubin]: [&[u8]; 2],
        lost: &[Loss],
    ) -> Vec<Loss> {
        let open: Vec<&str> = to_measure(rewritten)
            .filter(|kernel| !self.measures.borrow().contains_key(&key(source, kernel)))
            .filter(|kernel| !self.decided.borrow().contains(&key(source, kernel)))
            .filter(|kernel| lost.iter().all(|(known, _)| known != kernel))
            .collect();
        if open.is_empty() {
            return Vec::new();
        }
        let none = Versions::default();
        let [before, after] = self.facts(source.name()).unwrap_or(&none);
        let before = Built { facts: before, cubin: original };
        let after = Built { facts: after, cubin };
        let found = pipeline::measured(before, after, &open).unwrap_or_else(|reason| {
            log::info!("{}: not measured: {reason}", source.name());
            BTreeMap::new()
        });
        let is_measurable = pipeline::is_measurable(original);
        let lost = judged(source, rewritten, &open, (&found, is_measurable));
        let found = found.into_iter().map(|(name, measured)| (key(source, &name), measured.report));
        self.measures.borrow_mut().extend(found);
        lost
    }
}

/// A ratio of cycles in words: `takes 0.41 times the cycles of the original, which is faster`.
fn compared(ratio: f64) -> String {
    let verdict = match ratio {
        _ if ratio < MOST_CYCLES => "which is faster",
        _ if ratio > MOST_CYCLES => "which is slower",
        _ => "which is the same",
    };
    format!("takes {ratio:.2} times the cycles of the original, {verdict}")
}

/// The kernels of a rewritten text that are to be measured: no profile has decided for them.
fn to_measure(rewritten: &Rewritten) -> impl Iterator<Item = &str> {
    let kernels = rewritten.report.kernels.iter();
    let open = kernels.filter(|kernel| kernel.is_rewritten() && kernel.strategy.is_none());
    open.map(|kernel| kernel.name.as_str())
}

fn job((source, rewritten): (&SourceFile, &Rewritten)) -> Option<Job> {
    let kernels: Vec<String> = to_measure(rewritten).map(str::to_owned).collect();
    let text = SourceFile::new(source.name(), rewritten.text.as_str());
    let original = SourceFile::new(source.name(), source.text());
    (!kernels.is_empty()).then_some(Job { versions: [original, text], kernels })
}

/// The kernels that are slower, of those that are `open`, with their cycles.
fn judged(
    source: &SourceFile,
    rewritten: &Rewritten,
    open: &[&str],
    (found, is_measurable): (&BTreeMap<String, Compared>, bool),
) -> Vec<Loss> {
    let unknown = |kernel: &KernelReport| {
        let (what, _) = needs_measure(kernel).filter(|_| is_measurable || kernel.laid_out() > 0)?;
        let is_unknown = open.contains(&kernel.name.as_str()) && !found.contains_key(&kernel.name);
        is_unknown.then(|| (kernel.name.clone(), format!("the cycles of {what} are not known")))
    };
    let mut lost: Vec<Loss> = rewritten.report.kernels.iter().filter_map(unknown).collect();
    for (name, Compared { report: measure, most_when_full, loaded }) in found {
        let kernel = rewritten.report.kernels.iter().find(|kernel| kernel.name == *name);
        let has_layout = kernel.is_some_and(|kernel| kernel.laid_out() > 0);
        let most_anywhere = kernel.and_then(needs_measure).map(|(_, most)| most);
        let (Some(ratio), Some(worst)) = (measure.ratio(), measure.worst()) else { continue };
        let other_bytes = (loaded - 1.0).abs() > SAME_BYTES;
        let too_few = kernel.and_then(least_share).is_some_and(|least| ratio < least);
        if too_few || other_bytes && kernel.is_some_and(KernelReport::keeps_loads) {
            let what = "its two versions cannot be followed on the same way";
            lost.push((name.clone(), what.to_owned()));
            continue;
        }
        let most_anywhere = most_anywhere.unwrap_or(MOST_CYCLES_ANYWHERE);
        let too_many_when_full = |most| measure.with_most().is_none_or(|full| full > most);
        let is_slower = ratio >= MOST_CYCLES
            || worst > most_anywhere
            || !has_layout && most_when_full.is_some_and(too_many_when_full);
        if is_slower {
            lost.push((name.clone(), measure.to_string()));
        }
        // (That a kernel is taken back, and for which cycles, is said by itself.)
        let level = if is_slower { log::Level::Debug } else { log::Level::Info };
        let shown = demangled(name);
        log::log!(
            target: "ptxasw::cli::measure",
            level,
            "{}: {shown} {}: {measure}",
            source.name(),
            compared(ratio)
        );
    }
    lost
}
