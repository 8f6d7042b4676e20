//! `ptxasw run`: execute a kernel on the CPU and show its buffers.
//!
//! Takes texts, gives back a text and an exit status; printing is left to the caller.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::profile::{self, LineProfile};
use crate::interp::{self, Counters, Outcome};
use crate::launch::{Buffer, Launch, show};
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
        Format::Json => json(&outcome, lines),
        Format::Text => {
            text(&outcome) + &lines.map(|lines| profile::table(source, &lines)).unwrap_or_default()
        }
    })
}

#[derive(Serialize)]
struct Report<'o> {
    kernel: &'o str,
    buffers: BTreeMap<&'o str, BufferReport<'o>>,
    counters: Counters,
    #[serde(skip_serializing_if = "str::is_empty")]
    printed: &'o str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<LineProfile>>,
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

fn json(outcome: &Outcome, profile: Option<Vec<LineProfile>>) -> String {
    let buffers = outcome
        .buffers
        .iter()
        .map(|(name, buffer)| (name.as_str(), BufferReport { ty: buffer.ty.name(), data: buffer }))
        .collect();
    let report = Report {
        kernel: &outcome.kernel,
        buffers,
        counters: outcome.counters,
        printed: &outcome.printed,
        profile,
    };
    let mut text = serde_json::to_string(&report).unwrap_or_default();
    text.push('\n');
    text
}

/// Elements of a buffer that the text shows.
const SHOWN: usize = 16;

fn text(outcome: &Outcome) -> String {
    let mut text = format!("kernel {}\n", outcome.kernel);
    for (name, buffer) in &outcome.buffers {
        let count = buffer.bytes.len() / buffer.ty.bytes();
        let shown: Vec<String> =
            buffer.elements().take(SHOWN).map(|bits| show(buffer.ty, bits)).collect();
        let more = if count > SHOWN { ", ..." } else { "" };
        let _ =
            writeln!(text, "{name}: {}[{count}] = {}{more}", buffer.ty.name(), shown.join(", "));
    }
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
