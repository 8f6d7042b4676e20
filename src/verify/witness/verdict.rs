//! The outcome of a validation, for people and programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The answer for a function or a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Both programs do the same; this is proved.
    Equal,
    /// Neither equality nor a difference was shown.
    Unknown,
    /// The programs do not do the same: there is a counterexample.
    Different,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Equal => "equal",
            Verdict::Unknown => "unknown",
            Verdict::Different => "different",
        })
    }
}

/// The outcome for two files.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// The worst of all functions' verdicts.
    pub verdict: Verdict,
    /// Kernels of the original, each with the rewritten file's kernel that it is compared with, if that has another name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub against: BTreeMap<String, String>,
    /// The assumptions on which the proofs rest.
    pub assumptions: Vec<String>,
    /// Those that the user has added.
    #[serde(skip)]
    pub assumed: Vec<String>,
    /// Functions of both files, in the order of the original.
    pub functions: Vec<FunctionReport>,
    /// The differences outside of functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// The outcome for one function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// The answer.
    pub verdict: Verdict,
    /// Stores, atomics, calls, barriers, exits and other events that were compared.
    pub events: usize,
    /// Whether accesses are taken to stay within the array in shared memory that their address is made from.
    #[serde(skip)]
    pub within_arrays: bool,
    /// Shuffles of the rewritten function that the original has not, and whose results are known.
    pub shuffles: u32,
    /// All shuffles of the rewritten function that the original has not.
    pub own_shuffles: u32,
    /// Claims that went to the solver.
    pub queries: u32,
    /// Work with terms, in the steps of [`crate::expr::Arena::charge`], of the attempt that gave the answer.
    #[serde(skip)]
    pub steps: u64,
    /// The outcome of the function's certificate, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateOutcome>,
    /// The arrays in shared memory that are laid out anew, each with its layout: the new address of the byte at address
    /// `a` of an array that begins at `A`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<String>,
    /// The passes that have undone versions of code before both functions were compared, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<&'static str>,
    /// The claims that were not shown to hold; a difference comes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl FunctionReport {
    /// A function whose text is the same in both files.
    pub(crate) fn same(name: String) -> FunctionReport {
        let verdict = Verdict::Equal;
        FunctionReport {
            name,
            verdict,
            events: 0,
            shuffles: 0,
            own_shuffles: 0,
            queries: 0,
            steps: 0,
            within_arrays: false,
            certificate: None,
            layouts: Vec::new(),
            undone: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// A function that could not be compared.
    pub(crate) fn unknown(name: String, reason: String) -> FunctionReport {
        let verdict = Verdict::Unknown;
        let problems = vec![Problem { reason, ..Problem::default() }];
        FunctionReport { verdict, problems, ..FunctionReport::same(name) }
    }
}

/// The use of a function's certificate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CertificateOutcome {
    /// The function is proved with it.
    Proved,
    /// It is not one of these two functions, for this reason.
    Wrong(String),
    /// The function is not proved with it, for this reason.
    Unproved(String),
}

/// A claim that was not shown to hold.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Problem {
    /// The claim, and why it was not shown.
    pub reason: String,
    /// 1-based line of the rewritten file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based line of the original.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_line: Option<u32>,
    /// A state in which the two programs differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
}

/// A state in which the two programs differ. Loops are in their first iteration.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// The lane of the warp.
    pub lane: u64,
    /// The thread's index in its block.
    pub thread: [u64; 3],
    /// The block's shape.
    pub block: [u64; 3],
    /// The active lanes at the shuffles, if they matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// Parameters and other values that are the same for the warp, in hexadecimal.
    pub values: BTreeMap<String, String>,
    /// The original's value.
    pub original: String,
    /// The rewritten program's value.
    pub rewritten: String,
}

impl Counterexample {
    /// Marks the two values as addresses that a load reads from.
    pub(super) fn of_addresses(mut self, addresses: bool) -> Counterexample {
        if addresses {
            self.original = format!("the value loaded from {}", self.original);
            self.rewritten = format!("the value loaded from {}", self.rewritten);
        }
        self
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.thread;
        let [dx, dy, dz] = self.block;
        write!(
            f,
            "in lane {}, thread ({x}, {y}, {z}) of a block of {dx} x {dy} x {dz}",
            self.lane
        )?;
        if let Some(active) = &self.active {
            write!(f, ", active lanes {active}")?;
        }
        for (name, value) in &self.values {
            write!(f, ", {name} = {value}")?;
        }
        write!(f, "\n    original:  {}\n    rewritten: {}", self.original, self.rewritten)
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (original, rewritten) in &self.against {
            writeln!(f, "`{original}` against `{rewritten}`")?;
        }
        self.assumed.iter().try_for_each(|one| writeln!(f, "assuming that {one}"))?;
        for function in &self.functions {
            write!(f, "{}: {}", function.name, function.verdict)?;
            if function.events > 0 {
                let FunctionReport { events, shuffles, own_shuffles, queries, .. } = function;
                let shuffles = match shuffles == own_shuffles {
                    true => format!("{shuffles} shuffles"),
                    false => format!("{shuffles} of {own_shuffles} shuffles understood"),
                };
                write!(f, " ({events} events, {shuffles}, {queries} solver queries)")?;
            }
            if !function.undone.is_empty() {
                write!(f, ", undone: {}", function.undone.join(", "))?;
            }
            match &function.certificate {
                None => writeln!(f)?,
                Some(CertificateOutcome::Proved) => writeln!(f, ", by its certificate")?,
                Some(CertificateOutcome::Wrong(why)) => {
                    writeln!(f, "\n  its certificate is wrong: {why}")?;
                }
                Some(CertificateOutcome::Unproved(why)) => {
                    writeln!(f, "\n  not proved with its certificate: {why}")?;
                }
            }
            function
                .layouts
                .iter()
                .try_for_each(|layout| writeln!(f, "  laid out anew: {layout}"))?;
            function.problems.iter().try_for_each(|problem| write_problem(f, problem))?;
        }
        self.problems.iter().try_for_each(|problem| write_problem(f, problem))?;
        writeln!(f, "{}", self.verdict)
    }
}

fn write_problem(f: &mut fmt::Formatter<'_>, problem: &Problem) -> fmt::Result {
    write!(f, "  {}", problem.reason)?;
    match (problem.line, problem.original_line) {
        (Some(line), Some(original)) => write!(f, " (line {line}, original line {original})")?,
        (Some(line), None) => write!(f, " (line {line})")?,
        (None, Some(original)) => write!(f, " (original line {original})")?,
        (None, None) => {}
    }
    writeln!(f)?;
    if let Some(counterexample) = &problem.counterexample {
        writeln!(f, "    {counterexample}")?;
    }
    Ok(())
}
