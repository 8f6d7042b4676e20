//! `ptxasw run`: execute a kernel on the CPU, or on a GPU, and show its buffers.
//!
//! [`run`] and [`on_gpu`] take texts and return a text; reading and printing is left to [`Run::run`].

use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::by_source::{self, SourceProfile};
use super::exit::{Failure, Status};
use super::fidelity;
use super::gpu::{self, Ready, World};
use super::options::{Format, Input, Launched, Shown, warn};
use super::profile::{self, LineProfile};
use super::{io, objects};
use crate::ab::device::{Device, Error, Program, Properties};
use crate::ab::experiment::Candidate;
use crate::interp::{self, Counters, Fault, Outcome};
use crate::kernels::demangled;
use crate::launch::{Buffer, Difference, Expectation, Launch, Meet, show};
use crate::pipeline::Options;
use crate::ptx::{self, Depth, Module};
use crate::report::Origins;
use crate::source::{SourceFile, Span};

/// `run`
#[derive(Debug, Args)]
pub struct Run {
    /// Where the kernel is.
    #[command(flatten)]
    input: Input,
    /// How it is launched.
    #[command(flatten)]
    launched: Launched,
    /// Count the events of each line: requests, wavefronts, shuffles, divergent branches
    #[arg(long)]
    profile: bool,
    /// Whose lines `--profile` shows: those of the PTX, or the memory accesses of each source line, worst first
    #[arg(long, value_enum, default_value_t, requires = "profile")]
    by: By,
    /// Report races even where the launch file says `"races": false`
    #[arg(long, overrides_with = "no_races")]
    races: bool,
    /// Do not look for races, whatever the launch file says; faster
    #[arg(long)]
    no_races: bool,
    /// Whether to report values that nobody has determined once they reach an effect (a store to global memory, a
    /// branch, an address): those read from shared or local memory that no thread has written, and those that a
    /// shuffle reads from a lane that takes no part [default: report, unless the launch file says otherwise]
    #[arg(long, value_enum, value_name = "report|ignore")]
    uninitialized: Option<Uninitialized>,
    /// Accepted for older scripts: shuffles from lanes that take no part are always reported where their values
    /// reach an effect
    #[arg(long)]
    strict_shuffles: bool,
    /// Where lanes that parted meet again: where ptxas makes them (`assembler`), only where the PTX ISA
    /// makes them wait for each other (`never`), or at points chosen by a seed
    #[arg(long, value_name = "assembler|never|SEED")]
    meet: Option<Meet>,
    /// Execute the kernel again and show what its result rests on: approximate instructions, the order of sums, and
    /// whether approximate values reach a branch or an address
    #[arg(long)]
    fidelity: bool,
    /// What executes the kernel
    #[arg(long, value_enum, default_value_t)]
    on: Processor,
    /// With `--format json`, show each buffer's bytes in hexadecimal (`"bytes"`, as launch files may have it) instead
    /// of its elements (`"data"`)
    #[arg(long)]
    bytes: bool,
    /// How to show the outcome.
    #[command(flatten)]
    shown: Shown,
}

/// Whose lines a profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// All events of each line of the PTX.
    #[default]
    Ptx,
    /// The memory accesses of each line of the source, those that waste most first.
    Source,
}

/// How undetermined values are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Uninitialized {
    /// Report those that reach an effect.
    Report,
    /// Do not look for them.
    Ignore,
}

/// What executes a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Processor {
    /// The interpreter.
    #[default]
    Cpu,
    /// The first GPU, for a comparison; without counters.
    Gpu,
}

impl Run {
    /// Executes the kernel and prints its buffers.
    ///
    /// # Errors
    /// Input cannot be used, the kernel faults, there is no GPU where one is asked for.
    pub fn run(&self) -> Result<(), Failure> {
        let launch = io::read(&self.launched.launch)?;
        let (kernel, format) = (self.launched.kernel.as_deref(), self.shown.format);
        let source = objects::text_for(&self.input.input, kernel, &launch)?;
        if self.on == Processor::Gpu {
            let request = gpu::Request {
                original: &source,
                launch: &launch,
                kernel,
                variants: &[],
                against: &[],
                options: &Options::default(),
                device: 0,
            };
            return io::print(&gpu::on_this_machine(|world| on_gpu(&request, world, format))?);
        }
        let races = match (self.races, self.no_races) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let request = Request {
            kernel,
            profile: self.profile.then_some(self.by),
            races,
            uninitialized: self.uninitialized,
            meet: self.meet,
            bytes: self.bytes,
            fidelity: self.fidelity,
            format,
        };
        match run(&source, launch.name(), launch.text(), &request) {
            Ok(text) => io::print(&text),
            Err(failure) => {
                if let Some(output) = &failure.output {
                    io::print(output)?;
                }
                Err(failure)
            }
        }
    }
}

/// What to run and what to show of it, besides the two texts.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kernel, instead of the one that the launch file names.
    pub kernel: Option<&'a str>,
    /// Whose lines to count the events of, if any.
    pub profile: Option<By>,
    /// Whether to look for races, instead of what the launch file says.
    pub races: Option<bool>,
    /// What to do about values that nobody has determined, instead of what the launch file says.
    pub uninitialized: Option<Uninitialized>,
    /// Where lanes meet again, instead of what the launch file says.
    pub meet: Option<Meet>,
    /// Whether JSON has the bytes of buffers in hexadecimal, and not their elements.
    pub bytes: bool,
    /// Whether to tell what the result rests on.
    pub fidelity: bool,
    /// How to show the outcome.
    pub format: Format,
}

/// Runs a kernel. `launch_name` is the launch file's name, for messages.
///
/// # Errors
/// Input cannot be used, or the kernel faults.
pub fn run(
    source: &SourceFile,
    launch_name: &str,
    launch_text: &str,
    request: &Request<'_>,
) -> Result<String, Failure> {
    let module = ptx::parse(source, Depth::All)?;
    let (mut launch, expectation) = Launch::with_expectation(launch_text)
        .map_err(|error| Failure::about(launch_name, error))?;
    if let Some(kernel) = request.kernel {
        launch.kernel = Some(kernel.to_owned());
    }
    launch.races = request.races.unwrap_or(launch.races);
    if let Some(what) = request.uninitialized {
        launch.uninitialized = what == Uninitialized::Report;
    }
    launch.meet = request.meet.unwrap_or(launch.meet);
    let ran = if request.profile.is_some() {
        interp::profile(&module, &launch)
            .map(|(outcome, found)| (outcome, Some(profile::by_line(source, &module, &found))))
    } else {
        interp::run(&module, &launch).map(|outcome| (outcome, None))
    };
    let (outcome, lines) = ran.map_err(|fault| faulted(source, &module, &fault, request.format))?;
    for (name, (bytes, first)) in &outcome.undetermined {
        warn(&format!(
            "`{name}` ends with {bytes} bytes that nobody has determined, the first at offset {first}: a bulk copy has brought them there"
        ));
    }
    let differences = expectation.differences(&outcome.buffers);
    let by_source = match (request.profile, &lines) {
        (Some(By::Source), Some(lines)) => {
            Some(by_source::rows(source, &launch, &outcome.kernel, lines))
        }
        _ => None,
    };
    let fidelity = request.fidelity.then(|| rests_on(source, &module, &launch));
    let shown = match request.format {
        Format::Json => {
            let more = (lines, by_source, fidelity);
            json(source.name(), &outcome, more, &differences, request.bytes)
        }
        Format::Text => {
            let table = match (&by_source, &lines) {
                (Some(rows), _) => by_source::table(source, rows),
                (None, Some(lines)) => profile::table(source, lines),
                (None, None) => String::new(),
            };
            let fidelity = fidelity.flatten().map_or_else(String::new, |report| report.text());
            text(&outcome) + &fidelity + &table
        }
    };
    if differences.is_empty() {
        return Ok(shown);
    }
    let message = format!("{launch_name}: error: {}", unexpected(&expectation, &differences));
    Err(Failure::unusable(message).with_status(Status::UNEXPECTED).with_output(shown))
}

/// What a result rests on; none, and a warning, if that is not known.
fn rests_on(source: &SourceFile, module: &Module<'_>, launch: &Launch) -> Option<fidelity::Report> {
    match interp::fidelity(module, launch) {
        Ok(found) => Some(fidelity::Report::new(source, module, &found)),
        Err(fault) => {
            let line = fault.span.map(|span| format!("line {}: ", source.line(span.start)));
            let line = line.unwrap_or_default();
            warn(&format!("what the result rests on is not known: {line}{fault}"));
            None
        }
    }
}

/// The most differences that a message shows.
const SHOWN_DIFFERENCES: usize = 8;

/// The sentence about elements that differ from the expectation.
fn unexpected(expectation: &Expectation, differences: &[Difference]) -> String {
    let elements: usize =
        expectation.buffers.values().map(|buffer| buffer.elements().count()).sum();
    let count = differences.len();
    let mut text = format!("{count} of {elements} elements differ from the expected ones");
    for Difference { buffer, ty, index, found, expected } in
        differences.iter().take(SHOWN_DIFFERENCES)
    {
        let (found, expected) = (show(*ty, *found), show(*ty, *expected));
        let _ = write!(text, "\n  {buffer}[{index}] = {found}, expected {expected}");
    }
    if count > SHOWN_DIFFERENCES {
        let _ = write!(text, "\n  and {} more", count - SHOWN_DIFFERENCES);
    }
    text
}

/// The failure of a kernel that faults: the place in the sources first, and as JSON on standard output if that is asked
/// for.
fn faulted(source: &SourceFile, module: &Module<'_>, fault: &Fault, format: Format) -> Failure {
    let origins = Origins::of(source, module);
    let origin = |span: Span| origins.at(span);
    let failure = match fault.span {
        Some(span) => {
            let own = origin(span).map(|origin| origin.shown());
            let earlier = fault.earlier.as_ref().and_then(|earlier| origin(earlier.span));
            let earlier = earlier.map(|origin| origin.shown());
            Failure::from(fault.diagnostic(source).with_origins(own, earlier))
        }
        None => Failure::about(source.name(), fault),
    };
    if !fault.kind.is_kernel_fault() {
        return failure.with_status(Status::UNUSABLE);
    }
    let failure = failure.with_status(Status::FAULTED);
    if format == Format::Text {
        return failure;
    }
    let line = |span: Span| source.line(span.start);
    let report = json!({"file": source.name(), "fault": {
        "kind": fault.kind.name(),
        "message": fault.located(source).to_string(),
        "line": fault.span.map(line),
        "source": fault.span.and_then(origin),
        "thread": fault.thread,
        "block": fault.block,
        "earlier": fault.earlier.as_ref().map(|earlier| json!({
            "line": line(earlier.span),
            "source": origin(earlier.span),
            "what": earlier.what,
            "help": earlier.remedy,
        })),
        "declared": fault.earlier.as_ref().and_then(|earlier| earlier.declared).map(line),
    }});
    failure.with_output(report.to_string() + "\n")
}

#[derive(Serialize)]
struct Report<'o> {
    /// The PTX file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'o str>,
    kernel: &'o str,
    /// The device it ran on, if not in the interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceReport<'o>>,
    buffers: BTreeMap<&'o str, BufferReport<'o>>,
    /// The module's variables, if the launch file has some.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<&'o str, BufferReport<'o>>,
    /// `None` on a device, which counts nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counters>,
    #[serde(skip_serializing_if = "str::is_empty")]
    printed: &'o str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<LineProfile>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_source: Option<Vec<SourceProfile>>,
    /// What the result rests on, if that is asked; null if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    fidelity: Option<Option<fidelity::Report>>,
    /// How many elements are not what the launch file expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    first_differences: Vec<DifferenceReport<'o>>,
}

/// An element that is not what the launch file expects.
#[derive(Serialize)]
struct DifferenceReport<'o> {
    buffer: &'o str,
    index: usize,
    found: Option<Box<RawValue>>,
    expected: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct DeviceReport<'o> {
    name: &'o str,
    architecture: String,
    multiprocessors: u32,
}

#[derive(Serialize)]
struct BufferReport<'o> {
    #[serde(rename = "type")]
    ty: &'static str,
    #[serde(flatten)]
    content: Content<'o>,
}

/// A buffer's content in the form of launch files.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Content<'o> {
    #[serde(serialize_with = "elements")]
    Data(&'o Buffer),
    #[serde(serialize_with = "in_hexadecimal")]
    Bytes(&'o [u8]),
}

/// Shows a buffer's elements by [`show`], which knows the width of each number.
fn elements<S: Serializer>(buffer: &Buffer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        buffer.elements().map(|bits| RawValue::from_string(show(buffer.ty, bits)).ok()),
    )
}

fn in_hexadecimal<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    let digits: String =
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    serializer.serialize_str(&digits)
}

/// The parts of the outcome that are there if they are asked for.
type Details =
    (Option<Vec<LineProfile>>, Option<Vec<SourceProfile>>, Option<Option<fidelity::Report>>);

fn json(
    file: &str,
    outcome: &Outcome,
    (profile, by_source, fidelity): Details,
    differences: &[Difference],
    bytes: bool,
) -> String {
    let raw = |ty, bits| RawValue::from_string(show(ty, bits)).ok();
    let first = differences.iter().take(SHOWN_DIFFERENCES);
    line(&Report {
        file: Some(file),
        kernel: &outcome.kernel,
        device: None,
        buffers: reports(&outcome.buffers, bytes),
        variables: reports(&outcome.variables, bytes),
        counters: Some(outcome.counters),
        printed: &outcome.printed,
        profile,
        by_source,
        fidelity,
        differences: (!differences.is_empty()).then_some(differences.len()),
        first_differences: first
            .map(|d| DifferenceReport {
                buffer: &d.buffer,
                index: d.index,
                found: raw(d.ty, d.found),
                expected: raw(d.ty, d.expected),
            })
            .collect(),
    })
}

fn reports(buffers: &BTreeMap<String, Buffer>, bytes: bool) -> BTreeMap<&str, BufferReport<'_>> {
    let mut reports = BTreeMap::new();
    for (name, buffer) in buffers {
        let content = if bytes { Content::Bytes(&buffer.bytes) } else { Content::Data(buffer) };
        reports.insert(name.as_str(), BufferReport { ty: buffer.ty.name(), content });
    }
    reports
}

fn line(report: &Report<'_>) -> String {
    let mut text = serde_json::to_string(report).unwrap_or_default();
    text.push('\n');
    text
}

/// Executes a kernel on a GPU and shows its buffers.
///
/// # Errors
/// Input cannot be used, the kernel faults, there is no GPU.
pub fn on_gpu(
    request: &gpu::Request<'_>,
    world: &World<'_>,
    format: Format,
) -> Result<String, Failure> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.on_device(request, world)?;
    let buffers = execute(device.as_mut(), &candidates, &ready)
        .map_err(|error| gpu::failed(request.launch, &error))?;
    Ok(show_device(&ready.kernel, &buffers, device.properties(), format))
}

fn execute(
    device: &mut dyn Device,
    candidates: &[Candidate],
    ready: &Ready<'_>,
) -> Result<BTreeMap<String, Buffer>, Error> {
    device.prepare(&ready.launch)?;
    for Candidate { source, cubin, .. } in candidates {
        let (id, _) = device.load(&Program { source, cubin, kernel: &ready.kernel })?;
        device.launch(id)?;
    }
    let mut buffers = BTreeMap::new();
    for (name, buffer) in &ready.launch.buffers {
        buffers.insert(name.clone(), Buffer { ty: buffer.ty, bytes: device.read(name)? });
    }
    Ok(buffers)
}

/// Shows the results of a device.
fn show_device(
    kernel: &str,
    buffers: &BTreeMap<String, Buffer>,
    device: &Properties,
    format: Format,
) -> String {
    let (major, minor) = device.capability;
    let architecture = format!("sm_{major}{minor}");
    match format {
        Format::Text => {
            let kernel = demangled(kernel);
            format!("kernel {kernel} on {} ({architecture})\n", device.name) + &shown(buffers)
        }
        Format::Json => line(&Report {
            file: None,
            kernel,
            device: Some(DeviceReport {
                name: &device.name,
                architecture,
                multiprocessors: device.multiprocessors,
            }),
            buffers: reports(buffers, false),
            variables: BTreeMap::new(),
            counters: None,
            printed: "",
            profile: None,
            by_source: None,
            fidelity: None,
            differences: None,
            first_differences: Vec::new(),
        }),
    }
}

/// The most elements of a buffer that the text shows.
const SHOWN: usize = 16;

fn shown(buffers: &BTreeMap<String, Buffer>) -> String {
    let mut text = String::new();
    for (name, buffer) in buffers {
        let count = buffer.bytes.len() / buffer.ty.bytes();
        let shown: Vec<String> =
            buffer.elements().take(SHOWN).map(|bits| show(buffer.ty, bits)).collect();
        let more = if count > SHOWN { ", ..." } else { "" };
        let _ =
            writeln!(text, "{name}: {}[{count}] = {}{more}", buffer.ty.name(), shown.join(", "));
    }
    text
}

fn text(outcome: &Outcome) -> String {
    let mut text = format!("kernel {}\n", demangled(&outcome.kernel)) + &shown(&outcome.buffers);
    if let Ok(serde_json::Value::Object(counters)) = serde_json::to_value(outcome.counters) {
        for (name, value) in counters.into_iter().filter(|(_, count)| *count != 0) {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    if !outcome.printed.is_empty() {
        let _ = write!(text, "printed:\n{}", outcome.printed);
    }
    text
}
