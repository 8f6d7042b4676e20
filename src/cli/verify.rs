//! `ptxasw verify`: the proof, and on request a run of both programs.
//!
//! Takes texts, gives back a text and an exit status; printing is left to the caller.

use std::fmt::Write;

use serde::Serialize;

use super::args::Format;
use crate::interp::{self, Fault, Outcome};
use crate::launch::{Launch, show};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;
use crate::verify::{self, Options, Verdict, Verification};

/// How many differing elements of a run are shown.
const MAX_SHOWN: usize = 4;

/// What a run of both showed.
#[derive(Debug, Serialize)]
struct Replay {
    launch: String,
    /// Whether all buffers are the same to the bit.
    equal: bool,
    /// The first differences, or why there was no run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

#[derive(Serialize)]
struct Report<'v> {
    #[serde(flatten)]
    verification: &'v Verification,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: &'v Vec<Replay>,
}

/// Proves and runs. The status is 0 for equal, 1 for different, 3 for unknown.
///
/// # Errors
/// The message for input that cannot be parsed.
pub fn verify(
    original: &SourceFile,
    rewritten: &SourceFile,
    launches: &[(String, String)],
    options: &Options,
    format: Format,
) -> Result<(String, u8), String> {
    let mut verification =
        verify::verify(original, rewritten, options).map_err(|error| error.to_string())?;
    let mut runs = Vec::new();
    for (name, text) in launches {
        let launch = Launch::from_json(text).map_err(|error| format!("{name}: error: {error}"))?;
        runs.push(replay(original, rewritten, name, launch, options)?);
    }
    // What was seen to differ does, whatever was proved.
    if runs.iter().any(|run| !run.equal) {
        verification.verdict = Verdict::Different;
    }
    let status = match verification.verdict {
        Verdict::Equal => 0,
        Verdict::Different => 1,
        Verdict::Unknown => 3,
    };
    let text = match format {
        Format::Json => {
            let report = Report { verification: &verification, runs: &runs };
            let mut text = serde_json::to_string_pretty(&report)
                .map_err(|error| format!("verify: error: {error}"))?;
            text.push('\n');
            text
        }
        Format::Text => {
            let mut text = String::new();
            for run in &runs {
                let outcome = if run.equal { "the same bits" } else { "different" };
                let _ = writeln!(text, "{}: {outcome}", run.launch);
                for detail in &run.details {
                    let _ = writeln!(text, "  {detail}");
                }
            }
            format!("{text}{verification}")
        }
    };
    Ok((text, status))
}

fn replay(
    original: &SourceFile,
    rewritten: &SourceFile,
    name: &str,
    mut launch: Launch,
    options: &Options,
) -> Result<Replay, String> {
    if options.kernel.is_some() {
        launch.kernel.clone_from(&options.kernel);
    }
    let run = |source: &SourceFile| -> Result<Result<Outcome, Fault>, String> {
        let module = ptx::parse(source, Depth::All).map_err(|error| error.to_string())?;
        Ok(interp::run(&module, &launch))
    };
    let mut details = Vec::new();
    match (run(original)?, run(rewritten)?) {
        (Ok(before), Ok(after)) => {
            for (buffer, expected) in &before.buffers {
                let Some(found) = after.buffers.get(buffer) else { continue };
                let pairs = expected.elements().zip(found.elements()).enumerate();
                for (index, (a, b)) in pairs.filter(|(_, (a, b))| a != b).take(MAX_SHOWN) {
                    let (a, b) = (show(expected.ty, a), show(expected.ty, b));
                    details.push(format!("{buffer}[{index}]: {a}, rewritten {b}"));
                }
            }
            if before.printed != after.printed {
                details.push("the two print different texts".to_owned());
            }
        }
        // The original is no valid program for this launch: nothing to compare with.
        (Err(fault), _) => {
            return Err(match fault.span {
                Some(_) => fault.diagnostic(original).to_string(),
                None => format!("{name}: error: {fault}"),
            });
        }
        (Ok(_), Err(fault)) => details.push(match fault.span {
            Some(_) => format!("the rewritten kernel faults: {}", fault.diagnostic(rewritten)),
            None => format!("the rewritten kernel faults: {fault}"),
        }),
    }
    Ok(Replay { launch: name.to_owned(), equal: details.is_empty(), details })
}
