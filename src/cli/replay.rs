//! `ptxasw verify` by execution: both programs run with a launch, the user's or a drafted one.
//!
//! In: two programs and a launch, or two programs and a kernel to draft launches for. Out: a [`Replay`], which names the
//! launch by its grid, its block and its sizes, and says whether the buffers differ, are the same, or whether the launch
//! tests nothing at all.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::exit::Failure;
use crate::draft::{self, Draft, Wishes};
use crate::interp::{self, Fault, FaultKind, InstructionProfile, Outcome};
use crate::launch::{Argument, Buffer, Launch, show};
use crate::ptx::{self, Depth, FunctionKind, Module};
use crate::source::SourceFile;
use crate::verify::Options;

/// The most differing elements of a run that are shown.
const MAX_SHOWN: usize = 4;

/// The most warp-wide instructions of a run with a drafted launch.
const MAX_DRAFTED: u64 = 10_000_000;

/// Blocks along each axis of the second draft; the first one has those of `ptxasw launch`.
const BLOCKS: u32 = 3;

/// Who has chosen a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// The user, by `--launch`.
    Launch,
    /// A draft.
    Draft,
}

/// The outcome of executing both programs with one launch.
#[derive(Debug, Serialize)]
pub(super) struct Replay {
    /// The launch file, or words for a draft.
    launch: String,
    /// Who has chosen the launch.
    pub by: By,
    /// The kernel; `None` if neither the launch nor the user names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Blocks in each dimension.
    grid: [u32; 3],
    /// Threads of a block in each dimension.
    block: [u32; 3],
    /// The integers that a draft has chosen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sizes: BTreeMap<String, u64>,
    /// Whether the launch tests anything.
    tried: bool,
    /// Whether all buffers are the same: to the bit, or within the tolerance. `None` if nothing was tried.
    pub equal: Option<bool>,
    /// Whether all buffers are the same to the bit. `None` if nothing was tried.
    same_bits: Option<bool>,
    /// The largest relative difference of two floating-point elements, if some differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_relative_difference: Option<f64>,
    /// The relative difference of floating-point elements that is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    /// The first differences, or why nothing was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

impl Replay {
    /// The launch in words.
    pub(super) fn name(&self) -> String {
        let mut shape =
            vec![format!("grid {}", extents(self.grid)), format!("block {}", extents(self.block))];
        shape.extend(self.sizes.iter().map(|(name, value)| format!("{name} = {value}")));
        format!("{} ({})", self.launch, shape.join(", "))
    }

    /// Whether the two programs differ with the launch.
    pub(super) fn differs(&self) -> bool {
        self.equal == Some(false)
    }

    /// Nothing was tried, and why.
    fn untried(self, why: String) -> Replay {
        Replay { tried: false, equal: None, same_bits: None, details: vec![why], ..self }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, largest) = (self.name(), self.largest_relative_difference);
        match (self.equal, self.tolerance, largest) {
            (None, ..) => writeln!(f, "{name}: nothing was tried")?,
            (Some(true), Some(tolerance), Some(largest)) => writeln!(
                f,
                "{name}: the same within a relative difference of {tolerance:e}; the largest is {largest:.1e}"
            )?,
            (Some(true), ..) => writeln!(f, "{name}: the same bits")?,
            (Some(false), ..) => writeln!(f, "{name}: different")?,
        }
        self.details.iter().try_for_each(|detail| writeln!(f, "  {detail}"))?;
        match (self.equal, largest) {
            (Some(false), Some(largest)) => {
                writeln!(f, "  largest relative difference {largest:.1e}")
            }
            _ => Ok(()),
        }
    }
}

/// Extents with an `x` in between, without ones at the end.
fn extents(extents: [u32; 3]) -> String {
    let used = extents.iter().rposition(|&extent| extent > 1).unwrap_or(0);
    let words: Vec<String> = extents[..=used].iter().map(u32::to_string).collect();
    words.join("x")
}

/// Two programs that are executed.
pub(super) struct Pair<'a> {
    /// The original.
    pub original: &'a SourceFile,
    /// The rewritten program.
    pub rewritten: &'a SourceFile,
    /// The relative difference of floating-point elements that is not counted.
    pub tolerance: Option<f64>,
    /// Which kernels, and the shape of their blocks.
    pub options: &'a Options,
}

impl Pair<'_> {
    /// Runs both programs with the user's launch; `name` is that of its file.
    ///
    /// # Errors
    /// A program cannot be parsed, or the original does not run to its end.
    pub(super) fn launched(&self, name: &str, mut launch: Launch) -> Result<Replay, Failure> {
        if let Some(kernel) = &self.options.kernel {
            launch.kernel = Some(kernel.clone());
        }
        self.replay(self.begun(name.to_owned(), By::Launch, &launch), &launch)
    }

    fn begun(&self, name: String, by: By, launch: &Launch) -> Replay {
        Replay {
            launch: name,
            by,
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            sizes: BTreeMap::new(),
            tried: true,
            equal: Some(true),
            same_bits: Some(true),
            largest_relative_difference: None,
            tolerance: self.tolerance,
            details: Vec::new(),
        }
    }

    /// The precondition that the arguments of a launch do not meet.
    fn unmet(&self, module: &Module<'_>, launch: &Launch) -> Option<String> {
        let kernel = launch.kernel.as_deref();
        let mut kernels = module.functions().filter(|one| one.kind == FunctionKind::Entry);
        let function = kernels.find(|one| kernel.is_none_or(|name| one.name.text == name))?;
        let names = function.params.iter().flat_map(|parameter| &parameter.names);
        let names: Vec<&str> = names.map(|declared| declared.name.text).collect();
        let value = |name: &str| {
            let at = names.iter().position(|own| *own == name)?;
            let Some(Argument::Value(bytes)) = launch.args.get(at) else { return None };
            let (mut own, sign) = ([0; 8], bytes.last()? >> 7);
            own.fill(if sign == 1 { 0xff } else { 0 });
            own.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(i64::from_le_bytes(own))
        };
        let mut unmet = self.options.preconditions.iter();
        let unmet = unmet.find(|one| one.holds(value) == Some(false))?;
        Some(format!("the launch does not meet `{unmet}`"))
    }

    fn replay(&self, begun: Replay, launch: &Launch) -> Result<Replay, Failure> {
        let module = ptx::parse(self.original, Depth::All)?;
        if let Some(unmet) = self.unmet(&module, launch) {
            return Ok(begun.untried(unmet));
        }
        // The original may not be a valid program for this launch: there is nothing to compare with.
        let (before, profile) =
            interp::profile(&module, launch).map_err(|fault| match fault.span {
                Some(_) => fault.diagnostic(self.original).into(),
                None => Failure::about(&begun.launch, fault),
            })?;
        let module = ptx::parse(self.rewritten, Depth::All)?;
        let mut found = Differences::default();
        match interp::run(&module, launch) {
            Ok(after) => found.compare(&before, &after, self.tolerance),
            Err(fault) => found.add(match fault.span {
                Some(_) => {
                    format!("the rewritten kernel faults: {}", fault.diagnostic(self.rewritten))
                }
                None => format!("the rewritten kernel faults: {fault}"),
            }),
        }
        let replay = Replay {
            equal: Some(found.details.is_empty()),
            same_bits: Some(found.details.is_empty() && !found.any_bits),
            largest_relative_difference: found.largest,
            details: found.details,
            ..begun
        };
        Ok(match untested(launch, &before, &profile) {
            Some(why) if !replay.differs() => replay.untried(why),
            _ => replay,
        })
    }

    /// Runs both programs with drafted launches of a kernel, of two sizes at least: as `ptxasw launch` drafts it, with a
    /// partial last block, and with more blocks, all of them whole, and indices that repeat.
    pub(super) fn drafted(&self, kernel: &str) -> Vec<Replay> {
        let block = self.options.block;
        let first = Wishes { kernel: Some(kernel), block, ..Wishes::default() };
        let second = Wishes { blocks: Some(BLOCKS), whole_blocks: true, ..first };
        let repeated = Wishes { repeats: true, ..second };
        let mut runs: Vec<Replay> = self.draft(&first).into_iter().collect();
        // Indices that repeat are a race to some kernels, a scatter by a permutation for instance.
        let repeated = self.draft(&repeated);
        if repeated.as_ref().is_none_or(|run| !run.tried) {
            runs.extend(self.draft(&second));
        }
        runs.extend(repeated);
        // A kernel without sizes and indices gets one launch several times.
        runs.dedup_by(|a, b| a.name() == b.name() && a.details == b.details);
        runs
    }

    /// Runs both programs with a drafted launch; `None` if the function is not a kernel.
    fn draft(&self, wishes: &Wishes<'_>) -> Option<Replay> {
        let drafted = draft::draft(self.original, wishes).ok()?.ok()?;
        let Some(fault) = drafted.fault.clone() else { return self.with_draft(wishes, &drafted) };
        // With other sizes the kernel may run; these are too small to support a verdict, but a difference is one.
        let avoiding = Wishes { avoids_races: true, ..*wishes };
        let avoiding = draft::draft(self.original, &avoiding).ok()?.ok()?;
        let why = format!("the original stops: {}", at_line(self.original, &fault));
        match avoiding.fault {
            None => {
                let run = self.with_draft(wishes, &avoiding)?;
                Some(if run.differs() {
                    run
                } else {
                    run.untried(format!("with larger sizes {why}"))
                })
            }
            Some(_) => {
                let launch = Launch::from_json(&drafted.plan.text("")).ok()?;
                Some(self.begun_draft(wishes, &drafted, &launch).untried(why))
            }
        }
    }

    fn begun_draft(&self, wishes: &Wishes<'_>, draft: &Draft, launch: &Launch) -> Replay {
        let kernel = wishes.kernel.unwrap_or_default();
        let sizes = draft.plan.integers().into_iter().collect();
        let repeats = wishes.repeats && draft.plan.buffers.iter().any(|buffer| buffer.indexes);
        let with = if repeats { " with repeated indices" } else { "" };
        let begun = self.begun(format!("a drafted launch of `{kernel}`{with}"), By::Draft, launch);
        Replay { sizes, kernel: Some(kernel.to_owned()), ..begun }
    }

    fn with_draft(&self, wishes: &Wishes<'_>, draft: &Draft) -> Option<Replay> {
        let mut launch = Launch::from_json(&draft.plan.text("")).ok()?;
        launch.limit = launch.limit.min(MAX_DRAFTED);
        launch.kernel = wishes.kernel.map(str::to_owned);
        let begun = self.begun_draft(wishes, draft, &launch);
        let original = ptx::parse(self.original, Depth::All).ok()?;
        if let Some(unmet) = self.unmet(&original, &launch) {
            return Some(begun.untried(unmet));
        }
        let module = ptx::parse(self.rewritten, Depth::All).ok()?;
        let why = match interp::run(&module, &launch) {
            Ok(_) => None,
            Err(fault) => match fault.kind {
                // A launch that the interpreter cannot run to its end shows nothing.
                FaultKind::Launch | FaultKind::Unsupported | FaultKind::Limit => {
                    let why = at_line(self.rewritten, &fault);
                    return Some(begun.untried(format!("the rewritten kernel stops: {why}")));
                }
                // An undetermined value may still be the original's: only other bits are a difference.
                FaultKind::Uninitialized | FaultKind::Unpredictable => {
                    launch.uninitialized = false;
                    Some(format!("the rewritten kernel stops: {}", at_line(self.rewritten, &fault)))
                }
                _ => None,
            },
        };
        let run = self.replay(begun, &launch).ok()?;
        let small = draft.plan.is_small().then(|| {
            let first = draft.first_fault.as_ref();
            let first = first.map(|fault| at_line(self.original, fault)).unwrap_or_default();
            format!("the sizes are small, since with larger ones the original stops: {first}")
        });
        Some(match why.or(small) {
            Some(why) if !run.differs() => run.untried(why),
            _ => run,
        })
    }
}

/// A fault with its line.
fn at_line(source: &SourceFile, fault: &Fault) -> String {
    match fault.span {
        Some(span) => format!("line {}: {fault}", source.line(span.start)),
        None => fault.to_string(),
    }
}

/// Why equal buffers say nothing about a launch, if they do not.
fn untested(launch: &Launch, before: &Outcome, profile: &[InstructionProfile]) -> Option<String> {
    if !before.printed.is_empty() {
        return None;
    }
    let changed = |(name, buffer): (&String, &Buffer)| {
        let first = launch.buffers.get(name).into_iter().flat_map(Buffer::elements);
        buffer.elements().zip(first).filter(|(after, before)| after != before).count()
    };
    let changed: usize = before.buffers.iter().map(changed).sum();
    let together = |one: &InstructionProfile| {
        let stores = one.counters.global_store_requests;
        stores > 0 && one.counters.lane_instructions > stores
    };
    match changed {
        0 => Some("the original changes no element of a buffer".to_owned()),
        1 if profile.iter().any(together) => {
            Some("all threads of the original that store write one element".to_owned())
        }
        _ => None,
    }
}

/// The differences between the outcomes of two programs.
#[derive(Default)]
struct Differences {
    details: Vec<String>,
    /// Whether any bit differs, the tolerated ones included.
    any_bits: bool,
    largest: Option<f64>,
}

impl Differences {
    fn add(&mut self, detail: String) {
        self.details.push(detail);
    }

    fn compare(&mut self, before: &Outcome, after: &Outcome, tolerance: Option<f64>) {
        for (name, expected) in &before.buffers {
            let Some(found) = after.buffers.get(name) else { continue };
            let ty = expected.ty;
            let pairs = expected.elements().zip(found.elements()).enumerate();
            let mut shown = 0;
            for (index, (a, b)) in pairs.filter(|(_, (a, b))| a != b) {
                self.any_bits = true;
                if ty.is_float() {
                    let relative = relative(ty.widen(a), ty.widen(b));
                    self.largest = Some(self.largest.unwrap_or(0.0).max(relative));
                    if tolerance.is_some_and(|tolerance| relative <= tolerance) {
                        continue;
                    }
                }
                if shown < MAX_SHOWN {
                    let (a, b) = (show(ty, a), show(ty, b));
                    self.add(format!("{name}[{index}]: {a}, rewritten {b}"));
                    shown += 1;
                }
            }
        }
        if before.printed != after.printed {
            self.add("the two print different texts".to_owned());
        }
    }
}

/// The difference of two numbers, relative to the larger one. Two NaNs are the same, and so are the two zeros; a number
/// that is not finite differs from every other one by more than any tolerance.
fn relative(a: f64, b: f64) -> f64 {
    match () {
        () if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        () if a.is_finite() && b.is_finite() => (a - b).abs() / a.abs().max(b.abs()),
        () => f64::INFINITY,
    }
}
