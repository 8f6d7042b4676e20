//! `ptxasw run`: execute a kernel on the CPU and show its buffers.
//!
//! Takes texts, gives back a text and an exit status; printing is left to the caller.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::profile::{self, LineProfile};
use crate::ab::device::Properties;
use crate::interp::{self, Counters, Outcome};
use crate::launch::{Buffer, Launch, Meet, show};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

/// Exit status of a run that a fault of the kernel ended.
pub const FAULTED: u8 = 3;

/// Exit status where an input cannot be read or run.
pub const UNUSABLE: u8 = 2;

/// How to show the outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; see the contract of `run --format json`.
    Json,
}

/// What to run and what to show of it, besides the two texts.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kernel, instead of the launch file's.
    pub kernel: Option<&'a str>,
    /// Whether to count the events of each line.
    pub profile: bool,
    /// Whether to look for races, instead of what the launch file says.
    pub races: Option<bool>,
    /// Whether to report shuffles from lanes that take no part even if the launch file does not ask.
    pub strict_shuffles: bool,
    /// Where lanes meet again, instead of what the launch file says.
    pub meet: Option<Meet>,
    /// How to show the outcome.
    pub format: Format,
}

/// Runs a kernel. `launch_name` is the launch file's name, for messages.
///
/// # Errors
/// The exit status and the whole message for standard error.
pub fn run(
    source: &SourceFile,
    launch_name: &str,
    launch_text: &str,
    request: &Request<'_>,
) -> Result<String, (u8, String)> {
    let module = ptx::parse(source, Depth::All).map_err(|error| (UNUSABLE, error.to_string()))?;
    let mut launch = Launch::from_json(launch_text)
        .map_err(|error| (UNUSABLE, format!("{launch_name}: error: {error}")))?;
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
        let status = if fault.kind.is_kernel_fault() { FAULTED } else { UNUSABLE };
        let message = match fault.span {
            Some(_) => fault.diagnostic(source).to_string(),
            None => format!("{}: error: {fault}", source.name()),
        };
        (status, message)
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
    /// Where it ran, if not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceReport<'o>>,
    buffers: BTreeMap<&'o str, BufferReport<'o>>,
    /// A device counts nothing.
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

/// Numbers are written by [`show`], which knows their width.
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

/// What a device has computed.
pub fn on_device(
    kernel: &str,
    buffers: &BTreeMap<String, Buffer>,
    device: &Properties,
    format: super::args::Format,
) -> String {
    let (major, minor) = device.capability;
    let architecture = format!("sm_{major}{minor}");
    match format {
        super::args::Format::Text => {
            format!("kernel {kernel} on {} ({architecture})\n", device.name) + &shown(buffers)
        }
        super::args::Format::Json => line(&Report {
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

/// Elements of a buffer that the text shows.
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
