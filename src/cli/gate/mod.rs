//! The gate of a build: which rewritten kernels it uses.
//!
//! In: a call with rewritten texts. Out: the assembled result, in which a kernel is rewritten if it loses no resources,
//! takes fewer cycles by its machine code ([`policy`]), and the judge has proved it. In this order, each step for the
//! kernels that are left:
//!
//! 1. Their work is estimated by the accesses of both texts ([`pipeline::expected`]).
//! 2. Both versions are assembled at the same time: the whole texts, or the rewritten kernels alone where most of a text is
//!    other kernels ([`Versions::to_compare`]).
//! 3. Resources, messages of ptxas, and cycles are compared.
//! 4. The text with the kernels that are left is assembled, unless that is done already, and the judge is asked. A kernel
//!    that is not proved is left out, and the text assembled once more.
//!
//! Kernels that a profile has decided for may take more; nothing is measured where a strategy was asked for by name. With a
//! folder of decisions ([`cache`]) a call whose texts are known does step 4 alone, without the judge.

mod cache;
mod measure;
mod policy;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cache::{Entry, Left};
use policy::{Known, Policy};

use super::large_stack::on_large_stack;
use super::{env, keep};
use crate::kernels::demangled;
use crate::pipeline::{self, Followed, Options, Proof, Rewritten, Versions};
use crate::ptxas::assemble::one_line;
use crate::ptxas::check::{Checked, Comparison, Cubins};
use crate::ptxas::examine::Examined;
use crate::ptxas::invoke::Finished;
use crate::ptxas::losses::{Loss, Resource};
use crate::ptxas::outcome::{Original, Outcome};
use crate::ptxas::rewritten::Call;
use crate::report::{Kept, KernelReport, MeasureReport, ProofReport, StepName, StepReport, Why};
use crate::source::SourceFile;
use crate::timings::Stopwatch;
use crate::verify::Certificate;

/// How often the text is assembled again after kernels were left out. The facts about a kernel do not depend on others,
/// so the first time is nearly always the last.
const MAX_ROUNDS: usize = 3;

/// A kernel whose original is used, why, and for people.
type Refused = (String, Why, String);

/// The facts about the rewritten kernels of a text, by their names.
type Facts = BTreeMap<String, Followed>;

/// A run of ptxas that may be used as it is, and the bytes of its output file.
type Made = (Box<Finished>, Vec<u8>);

/// The gate's knowledge of a kernel.
#[derive(Clone, Debug, Default)]
struct Record {
    measure: Option<MeasureReport>,
    proof: Option<ProofReport>,
    why: Option<Why>,
    steps: Vec<StepReport>,
}

/// The gate of a call.
pub(super) struct Gate<'o> {
    options: &'o Options,
    policy: Policy,
    /// Whether the judge is asked.
    proves: bool,
    /// The folder of earlier decisions, if one is named.
    cache: Option<&'o Path>,
    /// By the names of the file and the kernel.
    records: BTreeMap<(String, String), Record>,
    /// Whether a rewrite was taken back.
    has_taken_back: bool,
}

impl<'o> Gate<'o> {
    /// `proves`: a rewrite is used only if it is proved. `settings`: whether launches fill the machine, and the folder of earlier decisions.
    pub(super) fn new(options: &'o Options, proves: bool, settings: &'o env::Settings) -> Gate<'o> {
        let policy = Policy { is_full: settings.fills_machine(), ..Policy::default() };
        let (cache, records) = (settings.cache.as_deref(), BTreeMap::new());
        Gate { options, policy, proves, cache, records, has_taken_back: false }
    }

    /// Whether a rewrite was taken back.
    pub(super) fn has_taken_back(&self) -> bool {
        self.has_taken_back
    }

    /// Assembles a call's texts; `examined` then has those that are used.
    ///
    /// # Errors
    /// The texts cannot be handed to ptxas.
    pub(super) fn assemble(
        &mut self,
        call: Call<'_>,
        examined: &mut [Examined<Rewritten>],
    ) -> io::Result<Checked> {
        let comparison = match Comparison::new(call)? {
            Ok(comparison) => comparison,
            Err(why) => return Ok(Checked::unused(why)),
        };
        let Some(entry) = self.entry(&call, examined) else {
            return self.decide(call, &comparison, examined);
        };
        // (A report has measures and proofs, which nobody has noted.)
        if let Some(left) = entry.read().filter(|_| !call.reports) {
            return self.as_before(&comparison, examined, left);
        }
        let changed = examined.iter().filter_map(Examined::changed);
        let changed: Vec<(String, String)> = changed
            .flat_map(|(source, new)| new.edits.iter().map(|(name, _)| key(source, name)))
            .collect();
        let checked = self.decide(call, &comparison, examined)?;
        let is_decided = match &checked.finished {
            Some(finished) => finished.status.success(),
            None => checked.unused.is_none(),
        };
        if is_decided && checked.refused.is_none() {
            let why = |of: &(String, String)| {
                let unusable = checked.unused.is_some().then_some(Why::Unusable);
                self.records.get(of).and_then(|record| record.why).or(unusable)
            };
            let left =
                changed.iter().filter_map(|of| Some(Left { kernel: of.1.clone(), why: why(of)? }));
            if let Err(error) = entry.write(&left.collect::<Vec<_>>()) {
                log::info!("{}: the decision cannot be noted here: {error}", env::CACHE);
            }
        }
        Ok(checked)
    }

    /// The place of the decision about a call, if decisions are noted.
    fn entry(&self, call: &Call<'_>, examined: &[Examined<Rewritten>]) -> Option<Entry> {
        let decides = format!("{:?} {} {}", self.policy, self.proves, self.is_weighed());
        Entry::of(self.cache?, call, examined, &decides)
    }

    /// Assembles a call's texts as an earlier call has decided.
    fn as_before(
        &mut self,
        comparison: &Comparison<'_>,
        examined: &mut [Examined<Rewritten>],
        left: Vec<Left>,
    ) -> io::Result<Checked> {
        let refused = left.into_iter().map(|Left { kernel, why }| {
            (kernel, why, format!("an earlier call of the same texts found that {why}"))
        });
        let refused: Vec<Refused> = refused.collect();
        if !refused.is_empty() {
            self.take_back(examined, &refused);
        }
        if examined.iter().all(|one| one.changed().is_none()) {
            return Ok(Checked::default());
        }
        log::info!(
            "kernels are used as an earlier call of the same texts has decided ({})",
            env::CACHE
        );
        comparison.only(examined)
    }

    /// Compares, measures and proves, and assembles the text with the kernels that remain.
    fn decide(
        &mut self,
        call: Call<'_>,
        comparison: &Comparison<'_>,
        examined: &mut [Examined<Rewritten>],
    ) -> io::Result<Checked> {
        let facts = self.facts(examined);
        let unpromising = self.unpromising(examined, &facts.0);
        if !unpromising.is_empty()
            && self.take_back(examined, &unpromising)
            && examined.iter().all(|one| one.changed().is_none())
        {
            return Ok(Checked::default());
        }
        let alone = match &*examined {
            [one] => one.changed().and_then(|(source, new)| Versions::to_compare(source, new)),
            _ => None,
        };
        let is_whole = alone.is_none();
        let watch = Stopwatch::start();
        let both = match (&*examined, &alone) {
            ([one], Some(alone)) => {
                let texts = [&alone.original, &alone.rewritten];
                let [old, new] = texts.map(|text| [one.with(bare(text))]);
                comparison.both(Some(&old), &new)
            }
            _ => comparison.both(None, examined),
        };
        let (Some(original), finished) = both? else {
            let why = "the original cannot be assembled beside the rewritten text";
            return Ok(Checked::unused(why));
        };
        self.step(examined, StepName::Tried, &watch);
        if call.watch.passed_on().is_some() && original.finished.interrupted().is_some() {
            return Ok(Checked { finished: Some(original.finished), ..Checked::default() });
        }
        if !original.finished.status.success() {
            return Ok(Checked::unused("the assembler refuses the original, too"));
        }
        let (finished, bytes, lost) = match comparison.outcome(&original, finished, true) {
            Outcome::Interrupted(finished) => {
                return Ok(Checked { finished: Some(*finished), ..Checked::default() });
            }
            Outcome::Bad { unused, refused } => {
                let used = self.original(comparison, original, is_whole, Some(unused));
                return Ok(Checked { refused, ..used });
            }
            Outcome::Made { finished, bytes, lost } => (finished, bytes, lost),
        };
        let mut refused = by_losses(examined, lost);
        self.measure(examined, [&original.bytes, &bytes], &facts, &mut refused);
        let made = (is_whole && refused.is_empty()).then_some((finished, bytes));
        self.finish(comparison, examined, (original, is_whole), (made, refused))
    }

    /// Asks the judge, and assembles the text with the kernels that are not refused.
    fn finish(
        &mut self,
        comparison: &Comparison<'_>,
        examined: &mut [Examined<Rewritten>],
        (original, is_whole): (Original, bool),
        (mut made, mut refused): (Option<Made>, Vec<Refused>),
    ) -> io::Result<Checked> {
        let mut all: Vec<Refused> = Vec::new();
        for _ in 0..=MAX_ROUNDS {
            let is_less = refused.is_empty() || self.take_back(examined, &refused);
            all.append(&mut refused);
            if !is_less || examined.iter().all(|one| one.changed().is_none()) {
                break;
            }
            let (outcome, judged) = std::thread::scope(|scope| {
                let work = || self.answers(examined);
                let judge = std::thread::Builder::new().spawn_scoped(scope, work);
                let outcome = match made.take() {
                    Some((finished, bytes)) => {
                        Ok(Outcome::Made { finished, bytes, lost: Vec::new() })
                    }
                    None => comparison
                        .again(examined, is_whole)
                        .map(|finished| comparison.outcome(&original, finished, is_whole)),
                };
                (outcome, judge.ok().and_then(|judge| judge.join().ok()))
            });
            refused = self.record(examined, judged.unwrap_or_default());
            if !refused.is_empty() {
                continue;
            }
            match outcome? {
                Outcome::Made { finished, bytes, lost } => {
                    refused = by_losses(examined, lost);
                    if refused.is_empty() {
                        let delivered = comparison.deliver(*finished, &bytes, None);
                        let cubins = Cubins { original: original.bytes, rewritten: bytes };
                        return Ok(Checked { cubins, ..delivered });
                    }
                }
                Outcome::Bad { unused, refused } => {
                    let used = self.original(comparison, original, is_whole, Some(unused));
                    return Ok(Checked { refused, ..used });
                }
                Outcome::Interrupted(finished) => {
                    return Ok(Checked { finished: Some(*finished), ..Checked::default() });
                }
            }
        }
        all.append(&mut refused);
        let unused = examined.iter().any(|one| one.changed().is_some()).then(|| {
            let each = all.iter().map(|(name, _, what)| format!("{name}: {what}"));
            format!("taken back: {}", each.collect::<Vec<_>>().join("; "))
        });
        Ok(self.original(comparison, original, is_whole, unused))
    }

    /// Uses the original: it is there, or the call is to be made as it came.
    fn original(
        &mut self,
        comparison: &Comparison<'_>,
        original: Original,
        is_whole: bool,
        unused: Option<String>,
    ) -> Checked {
        self.has_taken_back = true;
        match is_whole {
            true => {
                comparison.deliver(original.finished, &original.bytes, unused).of(original.bytes)
            }
            false => Checked { unused, ..Checked::default() },
        }
    }

    /// The facts about the kernels of each text, and how many seconds that took; none where nothing is measured.
    fn facts(&self, examined: &[Examined<Rewritten>]) -> (Vec<Facts>, f64) {
        let watch = Stopwatch::start();
        let facts = examined.iter().map(|one| {
            let names = to_measure(one);
            match one.changed().filter(|_| self.is_weighed() && !names.is_empty()) {
                Some((source, rewritten)) => {
                    measure::followed(source, rewritten, &names, self.options)
                }
                None => Facts::new(),
            }
        });
        (facts.collect(), watch.milliseconds() / 1000.0)
    }

    /// The kernels that are not worth assembling twice.
    fn unpromising(&self, examined: &[Examined<Rewritten>], facts: &[Facts]) -> Vec<Refused> {
        let changed =
            examined.iter().zip(facts).filter_map(|(one, facts)| Some((one.changed()?, facts)));
        let each = changed.flat_map(|((_, rewritten), facts)| {
            let work = pipeline::expected(facts);
            let kernels = rewritten.report.kernels.iter().filter(|kernel| kernel.is_rewritten());
            let refused = kernels.filter_map(|kernel| {
                let expected = *work.get(&kernel.name)?;
                let name = demangled(&kernel.name);
                log::debug!("{name} is expected to have {:.3} times the work", expected.work);
                let (why, what) = self.policy.not_tried(kernel, expected)?;
                Some((kernel.name.clone(), why, what))
            });
            refused.collect::<Vec<Refused>>()
        });
        each.collect()
    }

    fn is_weighed(&self) -> bool {
        self.options.select.strategies.are_weighed()
    }

    /// Compares the cycles of the kernels that are not refused so far, and adds those that gain too little.
    fn measure(
        &mut self,
        examined: &[Examined<Rewritten>],
        cubins: [&[u8]; 2],
        (facts, seconds): &(Vec<Facts>, f64),
        refused: &mut Vec<Refused>,
    ) {
        if !self.is_weighed() {
            return;
        }
        let resources = cubins.map(keep::resources);
        for (one, facts) in examined.iter().zip(facts) {
            let Some((source, rewritten)) = one.changed() else { continue };
            let watch = Stopwatch::start();
            let of = |name: &str| resources.each_ref().map(|of| of.get(name).copied());
            let is_same = |name: &str| match of(name) {
                [Some(old), Some(new)] => old.is_same_code(&new) == Some(true),
                _ => false,
            };
            let open = to_measure(one).into_iter();
            let open = open.filter(|name| refused.iter().all(|(known, ..)| known != name));
            let (same, open): (Vec<&str>, Vec<&str>) = open.partition(|name| is_same(name));
            let what = "ptxas makes the same machine code of both";
            refused
                .extend(same.iter().map(|&name| (name.to_owned(), Why::Measure, what.to_owned())));
            if open.is_empty() {
                continue;
            }
            let compared = measure::compared(facts, cubins, &open);
            let unmeasured =
                compared.as_ref().err().map_or("its path cannot be followed", String::as_str);
            let nothing = BTreeMap::new();
            let compared = compared.as_ref().unwrap_or(&nothing);
            let seconds = seconds + watch.milliseconds() / 1000.0;
            for kernel in &rewritten.report.kernels {
                let name = kernel.name.as_str();
                if !open.contains(&name) {
                    continue;
                }
                let compared = compared.get(name);
                let record = self.records.entry(key(source, name)).or_default();
                record.measure = compared.map(|compared| compared.report.clone());
                record.steps.push(StepReport { step: StepName::Measured, seconds });
                let known = Known { kernel, compared, unmeasured, resources: of(name) };
                match self.policy.refusal(&known) {
                    Some((why, what)) => refused.push((name.to_owned(), why, what)),
                    None => log_kept(source, name, compared.map(|one| &one.report)),
                }
            }
        }
    }

    /// The functions of a text that are rewritten and about which the judge has not been asked.
    fn unasked<'e>(&self, one: &'e Examined<Rewritten>) -> Vec<&'e str> {
        let Some((source, rewritten)) = one.changed().filter(|_| self.proves) else {
            return Vec::new();
        };
        let is_known = |name: &str| {
            self.records.get(&key(source, name)).is_some_and(|record| record.proof.is_some())
        };
        let names = rewritten.edits.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !is_known(name)).collect()
    }

    /// The judge's answers about these functions of each text, and how many seconds they took.
    fn answers(&self, examined: &[Examined<Rewritten>]) -> (Vec<BTreeMap<String, Proof>>, f64) {
        let watch = Stopwatch::start();
        let answers = examined.iter().map(|one| {
            let names = self.unasked(one);
            let Some((source, rewritten)) = one.changed().filter(|_| !names.is_empty()) else {
                return BTreeMap::new();
            };
            let alone = Versions::alone(source, rewritten);
            let versions = alone.unwrap_or_else(|| Versions::whole(source, rewritten));
            let certificate = on_large_stack(|| pipeline::certificate(source, rewritten));
            let certificate = certificate.ok().and_then(Result::ok).and_then(Result::ok);
            prove(source, &versions, &certificate.map(Arc::new), &names)
        });
        (answers.collect(), watch.milliseconds() / 1000.0)
    }

    /// Notes the judge's answers; the functions that are not proved. One without an answer is not.
    fn record(
        &mut self,
        examined: &[Examined<Rewritten>],
        (mut answers, seconds): (Vec<BTreeMap<String, Proof>>, f64),
    ) -> Vec<Refused> {
        let mut refused = Vec::new();
        answers.resize_with(examined.len(), BTreeMap::new);
        for (one, mut answers) in examined.iter().zip(answers) {
            let Some((source, _)) = one.changed() else { continue };
            for name in self.unasked(one) {
                let none = || Proof::none("the judge gave no answer".to_owned());
                let proof = answers.remove(name).unwrap_or_else(none);
                let record = self.records.entry(key(source, name)).or_default();
                record.proof = Some(proof.report);
                record.steps.push(StepReport { step: StepName::Proved, seconds });
                if let Some(why) = proof.why {
                    refused.push((name.to_owned(), Why::Unproved, why));
                }
            }
        }
        refused
    }

    /// Notes a step of all kernels that are rewritten.
    fn step(&mut self, examined: &[Examined<Rewritten>], step: StepName, watch: &Stopwatch) {
        let seconds = watch.milliseconds() / 1000.0;
        for (source, rewritten) in examined.iter().filter_map(Examined::changed) {
            for (name, _) in &rewritten.edits {
                let record = self.records.entry(key(source, name)).or_default();
                record.steps.push(StepReport { step, seconds });
            }
        }
    }

    /// Takes rewrites back; whether that changes any text.
    fn take_back(&mut self, examined: &mut [Examined<Rewritten>], refused: &[Refused]) -> bool {
        self.has_taken_back = true;
        let mut any = false;
        for one in examined {
            let Some((source, rewritten)) = one.changed() else { continue };
            let is_here =
                |name: &str| rewritten.report.kernels.iter().any(|kernel| kernel.name == name);
            let mut reasons: Vec<(String, String)> = Vec::new();
            for (name, why, what) in refused.iter().filter(|(name, ..)| is_here(name)) {
                let what = match why {
                    Why::Unproved => format!("the rewrite was not proved: {what}"),
                    Why::NotTried => what.clone(),
                    _ => format!("taken back: {what}"),
                };
                let switch = if *why == Why::Unproved { env::VERIFY } else { env::CHECK };
                let (file, shown) = (source.name(), demangled(name));
                log::info!("{file}: {shown} {what} [{switch}=0 uses it all the same]");
                self.records.entry(key(source, name)).or_default().why = Some(*why);
                reasons.push((name.clone(), what));
            }
            if reasons.is_empty() {
                continue;
            }
            let less = rewritten.clone().without(source, &reasons);
            // Where the function's own text is not rewritten any more, one that it calls made it lose.
            any |= less.text != rewritten.text;
            one.outcome = one.outcome.take().map(|(source, _)| (source, Ok(less)));
        }
        any
    }

    /// Proves the texts of a call whose machine code is not compared; a rewrite without a proof is not used.
    pub(super) fn prove_alone(&mut self, examined: &mut [Examined<Rewritten>]) {
        let answers = self.answers(examined);
        let refused = self.record(examined, answers);
        if !refused.is_empty() {
            self.take_back(examined, &refused);
        }
    }

    /// Puts the decisions into the reports of the texts. `considered`: how long each text was analysed, in seconds; `is_used`: whether
    /// the texts are used at all.
    pub(super) fn report(
        &self,
        examined: &mut [Examined<Rewritten>],
        considered: &dyn Fn(&SourceFile) -> f64,
        is_used: bool,
    ) {
        for one in examined {
            let Some((source, Ok(rewritten))) = &mut one.outcome else { continue };
            let seconds = considered(source);
            for kernel in &mut rewritten.report.kernels {
                let record =
                    self.records.get(&key(source, &kernel.name)).cloned().unwrap_or_default();
                let is_rewritten = is_used && kernel.is_rewritten();
                kernel.proved = is_rewritten
                    && record.proof.as_ref().is_some_and(|proof| proof.verdict == "equal");
                kernel.decision =
                    Some(if is_rewritten { Kept::Rewritten } else { Kept::KeptOriginal });
                kernel.why = (!is_rewritten).then(|| {
                    let unused = kernel.is_rewritten().then_some(Why::Unusable);
                    record.why.or(unused).unwrap_or(Why::NothingToDo)
                });
                kernel.measure = record.measure;
                kernel.proof = record.proof;
                let considered = StepReport { step: StepName::Considered, seconds };
                kernel.trace = [considered].into_iter().chain(record.steps).collect();
            }
        }
    }
}

/// The name of a kernel among all texts of a call.
fn key(source: &SourceFile, kernel: &str) -> (String, String) {
    (source.name().to_owned(), kernel.to_owned())
}

/// A text that is only assembled.
fn bare(text: &SourceFile) -> Rewritten {
    Rewritten { text: text.text().to_owned(), ..Rewritten::default() }
}

/// The kernels of a text that are to be measured: no profile has decided for them.
fn to_measure(one: &Examined<Rewritten>) -> Vec<&str> {
    let kernels = one.changed().into_iter().flat_map(|(_, rewritten)| &rewritten.report.kernels);
    let open = kernels.filter(|kernel| kernel.is_rewritten() && kernel.strategy.is_none());
    open.map(|kernel| kernel.name.as_str()).collect()
}

/// The functions that lost something, but for those that a profile has decided for.
fn by_losses(examined: &[Examined<Rewritten>], lost: Vec<Loss>) -> Vec<Refused> {
    let kernels =
        || examined.iter().filter_map(Examined::changed).flat_map(|(_, of)| &of.report.kernels);
    let is_measured =
        |kernel: &KernelReport, name: &str| kernel.name == name && kernel.strategy.is_some();
    let left =
        lost.into_iter().filter(|loss| !kernels().any(|one| is_measured(one, &loss.function)));
    let why = |of: Resource| match of {
        Resource::Warps => Why::Registers,
        Resource::Stack => Why::Stack,
        Resource::Warnings => Why::Warnings,
        Resource::Function => Why::Unusable,
    };
    left.map(|loss| (loss.function, why(loss.of), loss.what)).collect()
}

/// The judge's answers about some functions of a text. A failure of the judge proves nothing.
fn prove(
    source: &SourceFile,
    versions: &Versions,
    certificate: &Option<Arc<Certificate>>,
    names: &[&str],
) -> BTreeMap<String, Proof> {
    let failed = match on_large_stack(|| pipeline::proofs(versions, certificate.clone(), names)) {
        Ok(Ok(Ok(proofs))) => return proofs,
        Ok(Ok(Err(diagnostic))) => one_line(&diagnostic),
        Ok(Err(_)) => "internal error: the judge panicked".to_owned(),
        Err(error) => format!("cannot start a thread: {error}"),
    };
    log::info!("{}: not proved: {failed}", source.name());
    names.iter().map(|name| ((*name).to_owned(), Proof::none(failed.clone()))).collect()
}

/// Logs the number that keeps a kernel.
fn log_kept(source: &SourceFile, name: &str, measure: Option<&MeasureReport>) {
    let Some((measure, ratio)) = measure.and_then(|one| Some((one, one.ratio()?))) else { return };
    log::info!(
        target: "ptxasw::cli::measure",
        "{}: {} takes {ratio:.2} times the cycles of the original: {measure}",
        source.name(),
        demangled(name)
    );
}
