//! `ptxasw verify --over`: two kernels, perhaps by different algorithms, are the same function for a launch.
//!
//! In: two programs and the launches of their kernels. Out: a [`Judgement`]: *equal* if both leave the same elements of an
//! algebra in the same bytes, for all values of the floating-point inputs; *different* only with a witness, an execution in
//! numbers; else *unknown*, and why.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::alike::Plan;
use super::exit::{Failure, Status};
use super::io;
use super::options::Format;
use super::witness::{Executed, Side, Witness};
use crate::interp::{
    Blocks, Comparison, DifferenceKind, Domain, Fault, FaultKind, Reading, Symbolic,
};
use crate::launch::Launch;
use crate::parallel;
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

/// The options of `verify` that compare algorithms.
#[derive(Debug, Args)]
pub(super) struct Over {
    /// Prove that both kernels compute the same function with the launch, whatever their algorithms: over the reals, or
    /// the same bits. Floating-point inputs are symbols unless the launch file says `"values": "concrete"`
    #[arg(long, value_enum, requires = "launch")]
    pub over: Option<Field>,
    /// The launch of the rewritten kernel if it differs: buffers are paired by name
    #[arg(long, value_name = "L.json", requires = "over")]
    launch_against: Option<PathBuf>,
    /// Execute only these blocks, by number: a sample, not a proof for the others; or all, even if some are alike
    #[arg(long, value_name = "all|N,N,..", requires = "over", value_parser = blocks)]
    blocks: Option<Blocks>,
    /// Execute as many times with other random elements
    #[arg(long, value_name = "N", requires = "over", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    seeds: u64,
    /// Compare only these buffers
    #[arg(long, value_name = "BUFFER,..", requires = "over", value_delimiter = ',')]
    compare: Vec<String>,
}

/// What numbers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Field {
    /// Real numbers: rounding and the order of sums are not seen.
    Reals,
    /// Bits: the same operations on the same operands.
    Bits,
}

impl From<Field> for Domain {
    fn from(field: Field) -> Domain {
        match field {
            Field::Reals => Domain::Reals,
            Field::Bits => Domain::Bits,
        }
    }
}

/// `all`, or numbers of blocks.
fn blocks(text: &str) -> Result<Blocks, String> {
    if text == "all" {
        return Ok(Blocks::All);
    }
    let numbers = text.split(',').map(|number| number.trim().parse::<u64>());
    let mut numbers: Vec<u64> = numbers
        .collect::<Result<_, _>>()
        .map_err(|_| "`all`, or numbers of blocks with commas between them".to_owned())?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(Blocks::Some(numbers))
}

/// What was found out.
#[derive(Debug, Serialize)]
pub(super) struct Judgement {
    over: Field,
    verdict: Verdict,
    error_bound: Option<f64>,
    readings: Vec<ReadingReport>,
    blocks: BlockReport,
    elements: u64,
    races: u64,
    witness: Option<Witness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<DifferenceReport>,
}

/// A verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Equal,
    Different,
    Unknown,
}

/// A constant that was taken for a real number.
#[derive(Debug, Serialize)]
struct ReadingReport {
    bits: String,
    #[serde(rename = "as")]
    number: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

/// How many blocks were executed.
#[derive(Clone, Debug, Default, Serialize)]
struct BlockReport {
    executed: u64,
    of: u64,
    /// How many of the others do the same with other addresses, if that was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<u64>,
    /// Why a few do not stand for all, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    apart: Option<String>,
}

/// A place in a text.
#[derive(Debug, Serialize)]
struct Place {
    file: String,
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// An element in which the algebra sees a difference.
#[derive(Debug, Serialize)]
struct DifferenceReport {
    buffer: String,
    index: u64,
    what: &'static str,
}

/// The kind of a difference between elements that both kernels write.
const OTHER_ELEMENT: &str = "not the same element of the algebra";

/// The rest of the reason where such a difference has no witness.
const UNSEEN: &str = "; no execution in numbers shows it: a law is not known, or the difference is smaller than the tolerance";

/// Options besides the sides.
pub(super) struct Request<'a> {
    field: Field,
    blocks: Option<&'a Blocks>,
    seeds: u64,
    compare: &'a [String],
    tolerance: Option<f64>,
}

impl Over {
    /// Judges two programs by the launch in `launch`; the verdict is the exit status.
    ///
    /// # Errors
    /// An input cannot be read or parsed, or a launch does not fit its kernel.
    pub(super) fn run(
        &self,
        field: Field,
        [original, rewritten]: [&SourceFile; 2],
        launch: &SourceFile,
        [kernel, against]: [Option<&str>; 2],
        (tolerance, format): (Option<f64>, Format),
    ) -> Result<Status, Failure> {
        let read = |file: &SourceFile| {
            Launch::from_json(file.text()).map_err(|error| Failure::about(file.name(), error))
        };
        let first = read(launch)?;
        let second = match &self.launch_against {
            Some(path) => read(&io::read(path)?)?,
            None if against.is_some() => Launch { kernel: None, ..read(launch)? },
            None => read(launch)?,
        };
        let side = |source, mut launch: Launch, kernel: Option<&str>| {
            let module = ptx::parse(source, Depth::All)?;
            if let Some(kernel) = kernel {
                launch.kernel = Some(kernel.to_owned());
            }
            Ok::<_, Failure>(Side { source, module, launch })
        };
        // A file that has one kernel is meant by that, whatever its name is.
        let only = crate::verify::only_kernels(original, rewritten);
        let second_kernel = against.or(match (&self.launch_against, &only) {
            (None, Some([_, other])) => Some(other.as_str()),
            _ => kernel,
        });
        let sides = [side(original, first, kernel)?, side(rewritten, second, second_kernel)?];
        let request = Request {
            field,
            blocks: self.blocks.as_ref(),
            seeds: self.seeds,
            compare: &self.compare,
            tolerance,
        };
        let judgement = judge(&sides, &request)?;
        io::print(&match format {
            Format::Json => io::json(&judgement)?,
            Format::Text => judgement.text(),
        })?;
        Ok(match judgement.verdict {
            Verdict::Equal => Status::SUCCESS,
            Verdict::Different => Status::DIFFERENT,
            Verdict::Unknown => Status::UNKNOWN,
        })
    }
}

/// Judges two kernels.
///
/// # Errors
/// A launch does not fit its kernel.
pub(super) fn judge(sides: &[Side<'_>; 2], request: &Request<'_>) -> Result<Judgement, Failure> {
    let mut judgement = Judgement::new(request.field);
    if let Some(missing) = request
        .compare
        .iter()
        .find(|name| !sides.iter().any(|side| side.launch.buffers.contains_key(*name)))
    {
        return Err(Failure::unusable(format!("error: no launch has a buffer `{missing}`")));
    }
    let plan = Plan::new(sides, request.field.into(), request.blocks);
    // Two blocks in a race are told before all others are executed.
    for (side, blocks) in sides.iter().zip(plan.conflict.iter().cycle()) {
        let mut symbolic = Symbolic::new(request.field.into(), 0);
        let fault = symbolic.run(&side.module, &side.launch, blocks).err();
        if let Some(race) = fault.filter(|fault| fault.kind == FaultKind::Race) {
            judgement.stopped(side, &race)?;
            return Ok(judgement);
        }
    }
    judgement.seeds(sides, request, &plan)?;
    if plan.alike && judgement.differs_in_footprint() {
        // The same work may be shared among blocks in another way.
        judgement = Judgement::new(request.field);
        judgement.seeds(sides, request, &Plan::whole(None))?;
    }
    Ok(judgement)
}

impl Judgement {
    fn new(field: Field) -> Judgement {
        Judgement {
            over: field,
            verdict: Verdict::Equal,
            error_bound: None,
            readings: Vec::new(),
            blocks: BlockReport::default(),
            elements: 0,
            races: 0,
            witness: None,
            reason: None,
            place: None,
            differences: Vec::new(),
        }
    }

    /// Compares both kernels, once for each seed, and then in numbers.
    ///
    /// # Errors
    /// A launch does not fit its kernel.
    fn seeds(
        &mut self,
        sides: &[Side<'_>; 2],
        request: &Request<'_>,
        plan: &Plan,
    ) -> Result<(), Failure> {
        let mut bound = 1.0;
        let mut written: Vec<String> = Vec::new();
        for Seed { readings, outcome } in
            parallel::map(0..request.seeds, |seed| run(sides, (request, plan), seed))
        {
            self.readings = readings;
            match outcome {
                Err(stopped) => self.stopped(&sides[stopped.0], &stopped.1)?,
                Ok(runs) => {
                    bound *= runs.comparison.bound;
                    self.blocks = runs.blocks;
                    self.elements = runs.comparison.elements;
                    self.compared(&runs.comparison);
                    written = runs.written;
                }
            }
            if self.verdict != Verdict::Equal {
                break;
            }
        }
        written.retain(|name| request.compare.is_empty() || request.compare.contains(name));
        let (blocks, tolerance) = (&plan.blocks, request.tolerance);
        let executed = Executed { sides, blocks, written: &written, tolerance };
        let in_numbers = request.field == Field::Reals && self.races == 0;
        if self.verdict == Verdict::Equal {
            self.error_bound = Some(bound.max(f64::MIN_POSITIVE));
            if in_numbers && let Some(doubt) = executed.doubt() {
                self.verdict = Verdict::Unknown;
                self.error_bound = None;
                self.reason = Some(doubt);
            }
        } else if in_numbers && !(plan.alike && self.differs_in_footprint()) {
            self.witness = executed.find();
            if self.witness.is_some() {
                self.verdict = Verdict::Different;
            } else if let (Some(reason), Some(first)) = (&mut self.reason, self.differences.first())
                && first.what == OTHER_ELEMENT
            {
                reason.push_str(UNSEEN);
            }
        }
        Ok(())
    }

    /// Whether one kernel writes what the other one does not.
    fn differs_in_footprint(&self) -> bool {
        self.differences.iter().any(|difference| difference.what != OTHER_ELEMENT)
    }
}

/// What the runs of both kernels with the symbols of a seed have shown.
struct Seed {
    readings: Vec<ReadingReport>,
    /// None, if the run of one side has stopped.
    outcome: Result<Runs, Box<(usize, Fault)>>,
}

/// Two runs.
struct Runs {
    comparison: Comparison,
    blocks: BlockReport,
    /// The buffers that one of them has written.
    written: Vec<String>,
}

/// Runs both kernels with the symbols of a seed.
fn run(sides: &[Side<'_>; 2], (request, plan): (&Request<'_>, &Plan), seed: u64) -> Seed {
    let mut symbolic = Symbolic::new(request.field.into(), seed);
    // The symbols decide no address: a race is there for all seeds.
    if seed > 0 {
        symbolic = symbolic.without_races();
    }
    let mut one = |at: usize| {
        let side = &sides[at];
        let left = symbolic.run(&side.module, &side.launch, &plan.blocks[at]);
        left.map_err(|fault| Box::new((at, fault)))
    };
    let both = one(0).and_then(|first| Ok((first, one(1)?)));
    let outcome = both.map(|(first, second)| Runs {
        comparison: symbolic.compare(&first, &second, request.compare),
        blocks: BlockReport {
            executed: first.blocks,
            of: first.of,
            alike: plan.alike.then_some(first.of - first.blocks),
            apart: plan.apart.clone(),
        },
        written: first.written().into_iter().chain(second.written()).map(str::to_owned).collect(),
    });
    Seed { readings: readings(symbolic.readings(), sides), outcome }
}

impl Judgement {
    /// A run has stopped.
    ///
    /// # Errors
    /// The launch does not fit.
    fn stopped(&mut self, side: &Side<'_>, fault: &Fault) -> Result<(), Failure> {
        if fault.kind == FaultKind::Launch {
            return Err(Failure::about(side.source.name(), fault));
        }
        self.verdict = Verdict::Unknown;
        self.races = u64::from(fault.kind == FaultKind::Race);
        self.reason = Some(fault.message.clone());
        let origins = crate::report::Origins::of(side.source, &side.module);
        self.place = fault.span.map(|span| Place {
            file: side.source.name().to_owned(),
            line: side.source.line(span.start) as usize,
            source: origins.at(span).map(|origin| origin.shown()),
        });
        if let Some(earlier) = fault.earlier.as_ref() {
            let line = side.source.line(earlier.span.start);
            let origin = origins.at(earlier.span).map(|origin| origin.shown() + ", ");
            let reason = self.reason.get_or_insert_default();
            let _ =
                write!(reason, " ({}: {}line {line})", earlier.what, origin.unwrap_or_default());
        }
        Ok(())
    }

    fn compared(&mut self, comparison: &Comparison) {
        if let Some(trouble) = comparison.trouble {
            self.verdict = Verdict::Unknown;
            self.reason = Some(format!("{trouble}: nothing is claimed"));
        } else if comparison.elements == 0 {
            self.verdict = Verdict::Unknown;
            self.reason = Some("nothing that is compared was written".to_owned());
        } else if !comparison.differences.is_empty() {
            self.verdict = Verdict::Unknown;
            let found = comparison.differences.iter();
            self.differences = found
                .map(|difference| DifferenceReport {
                    buffer: difference.buffer.clone(),
                    index: difference.index,
                    what: match difference.kind {
                        DifferenceKind::OnlyFirst => "written by the original alone",
                        DifferenceKind::OnlySecond => "written by the rewritten kernel alone",
                        DifferenceKind::Values => OTHER_ELEMENT,
                        DifferenceKind::Buffer => "not a buffer of both launches",
                    },
                })
                .collect();
            let first = &self.differences[0];
            self.reason = Some(format!("{}[{}]: {}", first.buffer, first.index, first.what));
        }
    }

    /// The judgement for people; the last line is the verdict.
    fn text(&self) -> String {
        let mut text = String::new();
        for reading in &self.readings {
            let line = reading.line.map_or(String::new(), |line| format!(" (line {line})"));
            let _ = writeln!(text, "{}{line} is read as {}", reading.bits, reading.number);
        }
        for difference in &self.differences {
            let DifferenceReport { buffer, index, what } = difference;
            let _ = writeln!(text, "{buffer}[{index}]: {what}");
        }
        if let Some(witness) = &self.witness {
            let _ = writeln!(text, "{witness}");
        }
        let blocks = match &self.blocks {
            BlockReport { executed, of, apart, .. } if executed == of => {
                let why = apart.as_ref().map_or(String::new(), |why| format!(" ({why})"));
                format!("all {of} blocks{why}")
            }
            BlockReport { executed, of, alike: Some(_), .. } => {
                format!("all {of} blocks: {executed} executed, the others are alike")
            }
            BlockReport { executed, of, .. } => format!("{executed} of {of} blocks: a sample"),
        };
        let kind = match self.over {
            Field::Reals => "over the reals",
            Field::Bits => "to the bit",
        };
        let _ = match (self.verdict, &self.reason) {
            (Verdict::Equal, _) => writeln!(
                text,
                "equal {kind}: {} elements, {blocks}, error bound {:.1e}",
                self.elements,
                self.error_bound.unwrap_or(1.0)
            ),
            (Verdict::Different, _) => writeln!(text, "different"),
            (Verdict::Unknown, reason) => {
                let place = self.place.as_ref().map_or(String::new(), |place| {
                    let source = place
                        .source
                        .as_ref()
                        .map_or(String::new(), |source| format!(" ({source})"));
                    format!("{}:{}{source}: ", place.file, place.line)
                });
                let reason = reason.as_deref().unwrap_or("no reason is known");
                writeln!(text, "{place}{reason}\nunknown")
            }
        };
        text
    }
}

/// Readings with the lines where the constants stand first.
fn readings(readings: Vec<Reading>, sides: &[Side<'_>; 2]) -> Vec<ReadingReport> {
    let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
    for side in sides.iter().rev() {
        for (at, line) in side.source.text().lines().enumerate() {
            for (start, _) in line.match_indices("0f").chain(line.match_indices("0F")) {
                let digits = line.get(start + 2..start + 10);
                if let Some(bits) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                    lines.insert(bits, at + 1);
                }
            }
        }
    }
    let report = |Reading { bits, number }: Reading| ReadingReport {
        bits: format!("{bits:#010x}"),
        number,
        line: lines.get(&bits).copied(),
    };
    readings.into_iter().map(report).collect()
}
