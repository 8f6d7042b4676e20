//! `ptxasw run`: execute a kernel on the CPU, or on a GPU, and show its buffers.
//!
//! [`run`] and [`on_gpu`] take texts and return a text; reading and printing is left to [`Run::run`].

use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::exit::{Failure, Status};
use super::gpu::{self, Ready, World};
use super::io;
use super::options::{Format, Input, Launched, Shown};
use super::profile::{self, LineProfile};
use crate::ab::device::{Device, Error, Program, Properties};
use crate::ab::experiment::Candidate;
use crate::interp::{self, Counters, Outcome};
use crate::launch::{Buffer, Launch, Meet, show};
use crate::pipeline::Options;
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

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
    /// Report races even where the launch file says `"races": false`
    #[arg(long, overrides_with = "no_races")]
    races: bool,
    /// Do not look for races, whatever the launch file says; faster
    #[arg(long)]
    no_races: bool,
    /// Report shuffles that read the register of a lane that takes no part in them: the value they
    /// deliver is unpredictable
    #[arg(long)]
    strict_shuffles: bool,
    /// Where lanes that parted meet again: where ptxas makes them (`assembler`), only where the PTX ISA
    /// makes them wait for each other (`never`), or at points chosen by a seed
    #[arg(long, value_name = "assembler|never|SEED")]
    meet: Option<Meet>,
    /// What executes the kernel
    #[arg(long, value_enum, default_value_t)]
    on: Processor,
    /// How to show the outcome.
    #[command(flatten)]
    shown: Shown,
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
        let source = self.input.read()?;
        let launch = io::read(&self.launched.launch)?;
        let (kernel, format) = (self.launched.kernel.as_deref(), self.shown.format);
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
            profile: self.profile,
            races,
            strict_shuffles: self.strict_shuffles,
            meet: self.meet,
            format,
        };
        io::print(&run(&source, launch.name(), launch.text(), &request)?)
    }
}

/// What to run and what to show of it, besides the two texts.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kernel, instead of the one that the launch file names.
    pub kernel: Option<&'a str>,
    /// Whether to count the events of each line.
    pub profile: bool,
    /// Whether to look for races, instead of what the launch file says.
    pub races: Option<bool>,
    /// Whether to report shuffles that read from lanes that take no part, even if the launch file does
    /// not ask for it.
    pub strict_shuffles: bool,
    /// Where lanes meet again, instead of what the launch file says.
    pub meet: Option<Meet>,
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
    let mut launch =
        Launch::from_json(launch_text).map_err(|error| Failure::about(launch_name, error))?;
    if let Some(kernel) = request.kernel {
        launch.kernel = Some(kernel.to_owned());
    }
    launch.races = request.races.unwrap_or(launch.races);
    launch.strict_shuffles |= request.strict_shuffles;
    launch.meet = request.meet.unwrap_or(launch.meet);
    let ran = if request.profile {
        interp::profile(&module, &launch)
            .map(|(outcome, found)| (outcome, Some(profile::by_line(source, &module, &found))))
    } else {
        interp::run(&module, &launch).map(|outcome| (outcome, None))
    };
    let (outcome, lines) = ran.map_err(|fault| {
        let failure = match fault.span {
            Some(_) => Failure::from(fault.diagnostic(source)),
            None => Failure::about(source.name(), &fault),
        };
        let faulted = fault.kind.is_kernel_fault();
        failure.with_status(if faulted { Status::FAULTED } else { Status::UNUSABLE })
    })?;
    Ok(match request.format {
        Format::Json => json(source.name(), &outcome, lines),
        Format::Text => {
            text(&outcome) + &lines.map(|lines| profile::table(source, &lines)).unwrap_or_default()
        }
    })
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
    /// `None` on a device, which counts nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counters>,
    #[serde(skip_serializing_if = "str::is_empty")]
    printed: &'o str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<LineProfile>>,
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
    #[serde(serialize_with = "elements")]
    data: &'o Buffer,
}

/// Shows a buffer's elements by [`show`], which knows the width of each number.
fn elements<S: Serializer>(buffer: &Buffer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        buffer.elements().map(|bits| RawValue::from_string(show(buffer.ty, bits)).ok()),
    )
}

fn json(file: &str, outcome: &Outcome, profile: Option<Vec<LineProfile>>) -> String {
    line(&Report {
        file: Some(file),
        kernel: &outcome.kernel,
        device: None,
        buffers: reports(&outcome.buffers),
        counters: Some(outcome.counters),
        printed: &outcome.printed,
        profile,
    })
}

fn reports(buffers: &BTreeMap<String, Buffer>) -> BTreeMap<&str, BufferReport<'_>> {
    buffers
        .iter()
        .map(|(name, buffer)| (name.as_str(), BufferReport { ty: buffer.ty.name(), data: buffer }))
        .collect()
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

/// Shows what a device has computed.
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
            buffers: reports(buffers),
            counters: None,
            printed: "",
            profile: None,
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
    let mut text = format!("kernel {}\n", outcome.kernel) + &shown(&outcome.buffers);
    if let Ok(serde_json::Value::Object(counters)) = serde_json::to_value(outcome.counters) {
        for (name, value) in counters {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    if !outcome.printed.is_empty() {
        let _ = write!(text, "printed:\n{}", outcome.printed);
    }
    text
}
