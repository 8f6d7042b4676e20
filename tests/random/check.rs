//! What every rewrite of every kernel has to pass.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxasw::interp;
use ptxasw::launch::{Launch, Meet};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::planted;
use ptxasw::ptx::{self, Depth, Module};
use ptxasw::report::{Decision, Stores};
use ptxasw::source::SourceFile;
use ptxasw::verify;

use super::emit::Case;
use super::schedules::Pair;

/// What became of one kernel.
#[derive(Debug)]
pub enum Verdict {
    /// The original does not run: not the rewriter's fault, but the generator's.
    Invalid(String),
    /// Nobody complains.
    Fine(Rewrite),
    /// Somebody does.
    Broken(Complaint),
}

/// A rewrite that passed.
#[derive(Debug)]
pub struct Rewrite {
    /// The new text.
    pub text: String,
    /// Global loads.
    pub loads: usize,
    /// Those that were replaced by shuffles.
    pub shuffles: usize,
    /// Those that were replaced, by the kind of replacement.
    pub replaced: BTreeMap<&'static str, usize>,
    /// Those that some rule kept, although an earlier load seemed to fit.
    pub refused: usize,
    /// Judges that could not tell, and why.
    pub unsure: Vec<(&'static str, String)>,
}

/// A mistake in a rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Who says so.
    pub judge: &'static str,
    /// What.
    pub message: String,
}

/// An original, its rewrite, and a launch of both.
pub struct Subject<'a, 'o, 'r> {
    pub original: &'a Module<'o>,
    pub rewritten: &'a Module<'r>,
    pub sources: (&'a SourceFile, &'a SourceFile),
    pub launch: &'a Launch,
}

/// What a judge makes of a rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    Equal,
    Different(String),
    Unknown(String),
    /// There is nothing to compare: the original itself fails.
    Invalid(String),
}

/// Somebody who tells whether a rewrite computes what its original computes.
pub trait Judge: Sync {
    fn name(&self) -> &'static str;
    fn judge(&self, subject: &Subject<'_, '_, '_>) -> Opinion;
}

/// Runs both and compares all buffers.
pub struct Interpreter;

impl Judge for Interpreter {
    fn name(&self) -> &'static str {
        "run"
    }

    fn judge(&self, subject: &Subject<'_, '_, '_>) -> Opinion {
        // Nobody can tell what a kernel should compute that looks at the unpredictable.
        let strict = Launch { uninitialized: true, ..subject.launch.clone() };
        let expected = match interp::run(subject.original, &strict) {
            Ok(outcome) => outcome,
            Err(fault) => return Opinion::Invalid(fault.diagnostic(subject.sources.0).to_string()),
        };
        // The checks and shuffles of a rewrite are instructions, too.
        let limit = subject.launch.limit.saturating_mul(8);
        let longer = Launch { limit, ..subject.launch.clone() };
        let actual = match interp::run(subject.rewritten, &longer) {
            Ok(outcome) => outcome,
            Err(fault) => {
                return Opinion::Different(fault.diagnostic(subject.sources.1).to_string());
            }
        };
        for (name, buffer) in &expected.buffers {
            let other = actual.buffers.get(name).map_or(&[][..], |other| &other.bytes);
            let differ = buffer.bytes.iter().zip(other).position(|(a, b)| a != b);
            if let Some(at) = differ.or((buffer.bytes.len() != other.len()).then_some(other.len()))
            {
                return Opinion::Different(format!("buffer `{name}` differs, first at byte {at}"));
            }
        }
        if expected.printed != actual.printed {
            return Opinion::Different("something else is printed".to_owned());
        }
        Opinion::Equal
    }
}

/// Runs both wherever lanes may meet again, and compares all buffers.
pub struct Schedules {
    /// How many seeds choose where, besides as the assembler does it, and never.
    pub seeds: u64,
}

/// Instructions of a random kernel, original or rewritten, however its lanes have parted.
const LIMIT: u64 = 1 << 24;

impl Judge for Schedules {
    fn name(&self) -> &'static str {
        "meet"
    }

    fn judge(&self, subject: &Subject<'_, '_, '_>) -> Opinion {
        let expected = match interp::run(subject.original, subject.launch) {
            Ok(outcome) => outcome,
            Err(fault) => return Opinion::Invalid(fault.to_string()),
        };
        let (original, rewritten) = (subject.original, subject.rewritten);
        let pair = Pair { original, rewritten, limits: (LIMIT, LIMIT) };
        // Every kernel has its own seeds.
        let text = subject.sources.0.text().bytes();
        let first = text.fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let seeds = (0..self.seeds).map(|number| Meet::Random(first.wrapping_add(number)));
        let choices: Vec<Meet> = [Meet::Never].into_iter().chain(seeds).collect();
        match pair.compare(subject.launch, &expected, &choices).difference {
            Some((meet, difference)) => Opinion::Different(format!("--meet {meet}: {difference}")),
            None => Opinion::Equal,
        }
    }
}

/// Proves both to be the same, for every launch.
pub struct Verifier {
    options: verify::Options,
}

impl Verifier {
    /// With the bounds that everyone gets.
    pub fn patient() -> Verifier {
        Verifier { options: verify::Options::default() }
    }

    /// Within narrow bounds, for many large kernels.
    pub fn hurried() -> Verifier {
        let options =
            verify::Options { solver_limit: 50_000, queries: 16, ..verify::Options::default() };
        Verifier { options }
    }
}

impl Judge for Verifier {
    fn name(&self) -> &'static str {
        "verify"
    }

    fn judge(&self, subject: &Subject<'_, '_, '_>) -> Opinion {
        let (original, rewritten) = subject.sources;
        let found = match verify::verify(original, rewritten, &self.options) {
            Ok(found) => found,
            Err(error) => return Opinion::Different(error.to_string()),
        };
        let of_functions = found.functions.iter().flat_map(|function| &function.problems);
        let problems: Vec<String> = of_functions
            .chain(&found.problems)
            .map(|problem| format!("{} (line {:?})", problem.reason, problem.line))
            .collect();
        match found.verdict {
            verify::Verdict::Equal => Opinion::Equal,
            verify::Verdict::Different => Opinion::Different(problems.join("; ")),
            verify::Verdict::Unknown => Opinion::Unknown(problems.join("; ")),
        }
    }
}

/// Who is asked about a rewrite.
pub struct Panel {
    pub judges: Vec<Box<dyn Judge>>,
    /// Whether the original is rewritten a second time, to see the same result.
    pub repeat: bool,
}

impl Panel {
    /// For every kernel: only the interpreter.
    pub fn quick() -> Panel {
        Panel {
            judges: vec![Box::new(Interpreter), Box::new(Schedules { seeds: 2 })],
            repeat: false,
        }
    }

    /// Everyone. Proofs take many times as long as runs.
    pub fn full() -> Panel {
        let mut panel = Panel::quick();
        panel.judges.push(Box::new(Verifier::hurried()));
        Panel { repeat: true, ..panel }
    }
}

/// Rewrites a kernel, with the mistake that the caller has planted, and judges the result without the mistake.
pub fn check(case: &Case, options: &Options, panel: &Panel) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| attempt(case, options, panel))).unwrap_or_else(|_| {
        let message = "see its output".to_owned();
        Verdict::Broken(Complaint { judge: "panic", message })
    })
}

fn attempt(case: &Case, options: &Options, panel: &Panel) -> Verdict {
    let launch = match Launch::from_json(&case.launch) {
        Ok(launch) => launch,
        Err(message) => return Verdict::Invalid(message),
    };
    let source = SourceFile::new("random.ptx", case.ptx.as_str());
    let original = match ptx::parse(&source, Depth::All) {
        Ok(module) => module,
        Err(error) => return Verdict::Invalid(error.to_string()),
    };
    let broken = |judge, message| Verdict::Broken(Complaint { judge, message });
    let result = match rewrite(&source, options) {
        Ok(result) => result,
        Err(error) => return broken("rewrite", error.to_string()),
    };
    for kernel in &result.report.kernels {
        // Too few loads to look at, or what the program says about itself.
        if let Some(reason) = kernel.skipped.as_ref().filter(|r| !r.contains("nothing to exchange"))
        {
            return broken("rewrite", format!("{} is left as it is: {reason}", kernel.name));
        }
    }
    if panel.repeat && !rewrite(&source, options).is_ok_and(|again| again.text == result.text) {
        return broken("again", "a second rewrite of the original is another".to_owned());
    }
    let output = SourceFile::new("rewritten.ptx", result.text.as_str());
    let rewritten = match ptx::parse(&output, Depth::All) {
        Ok(module) => module,
        Err(error) => return broken("parse", error.to_string()),
    };
    let subject = Subject {
        original: &original,
        rewritten: &rewritten,
        sources: (&source, &output),
        launch: &launch,
    };
    let mut unsure = Vec::new();
    for judge in &panel.judges {
        match planted::with(None, || judge.judge(&subject)) {
            Opinion::Equal => {}
            Opinion::Different(message) => return broken(judge.name(), message),
            Opinion::Unknown(reason) => unsure.push((judge.name(), reason)),
            Opinion::Invalid(message) => return Verdict::Invalid(message),
        }
    }
    let kernels = &result.report.kernels;
    let refused = kernels.iter().flat_map(|kernel| &kernel.loads).filter(|load| {
        let alone = |reason: &String| reason.contains("no earlier load");
        load.decision == Decision::Keep && !load.reason.as_ref().is_some_and(alone)
    });
    let mut replaced = BTreeMap::new();
    for load in kernels.iter().flat_map(|kernel| &kernel.loads) {
        if load.decision != Decision::Keep {
            *replaced.entry(load.decision.word()).or_default() += 1;
        }
    }
    let stores = kernels.iter().map(|kernel| kernel.replaced_stores());
    let stores = stores.fold(Stores::default(), Stores::and);
    for (word, number) in [
        ("stored", stores.elsewhere),
        ("joined", stores.joined),
        ("overwritten", stores.overwritten),
    ] {
        if number > 0 {
            replaced.insert(word, number);
        }
    }
    Verdict::Fine(Rewrite {
        replaced,
        loads: kernels.iter().map(|kernel| kernel.global_loads).sum(),
        shuffles: kernels.iter().map(|kernel| kernel.shuffles).sum(),
        refused: refused.count(),
        unsure,
        text: result.text,
    })
}
