//! One call with examined inputs: run, fall back.
//!
//! In: a call with its inputs, as `examine` returns them. Out: how the real ptxas ended, its messages in the user's names and lines, and warnings about failures of
//! ptxasw. If the real ptxas refuses the call, its messages about the originals are shown, and no
//! warning. The machine code made of a rewritten text is looked at by [`crate::ptxas::check`].

use crate::ptxas::check::{self, Checked, Cubins};
use crate::ptxas::examine::{Examined, Replacement, stdin};
use crate::ptxas::invoke::{Finished, Run, Stdin, Stream, in_memory};
use crate::ptxas::rewritten::{Call, How, run_rewritten};
use crate::ptxas::signals::Folder;
use crate::source::Diagnostic;
use rustix::stdio::dup2_stdin;
use std::io;

/// Assembles the rewritten texts of a call and chooses the result for each function; the texts are changed accordingly.
pub type Gate<'g, R> = dyn FnMut(Call<'_>, &mut [Examined<R>]) -> io::Result<Checked> + 'g;

/// How a call ended.
#[derive(Debug)]
pub struct Assembled {
    /// How the last run of the real ptxas ended.
    pub finished: Finished,
    /// One line each; empty if the real ptxas refused the call.
    pub warnings: Vec<String>,
    /// Why the output was made from the originals, if the examined inputs do not say so.
    pub unused: Option<String>,
    /// The cubins of the texts, as far as they are known.
    pub cubins: Cubins,
}

/// Whether the real ptxas can take over the process: nothing is rewritten, no input has been consumed,
/// and nothing is left to say afterwards.
pub fn is_untouched<R: Replacement>(examined: &[Examined<R>]) -> bool {
    let is_same =
        |one: &Examined<R>| one.changed().is_none() && !matches!(one.outcome, Some((_, Err(_))));
    examined.iter().all(|one| one.stdin.is_none()) && examined.iter().all(is_same)
}

/// Restores standard input to its state before it was read, so that the real ptxas can take over the process.
///
/// # Errors
/// There is more of it than was read, or no room.
pub fn unread<R>(examined: &[Examined<R>]) -> io::Result<()> {
    match stdin(examined) {
        Stdin::Inherit => Ok(()),
        Stdin::Bytes(bytes) => Ok(dup2_stdin(in_memory(bytes)?)?),
        Stdin::Begun(_) => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// Runs the real ptxas on the rewritten inputs and, if it refuses them or they cannot be handed to it, on the
/// originals. With a `gate` that chooses the result, and `examined` then has the assembled texts. Warnings are appended to
/// `warnings`.
///
/// # Errors
/// The real ptxas cannot be run at all.
pub fn assemble<R: Replacement + Sync>(
    call: Call<'_>,
    examined: &mut [Examined<R>],
    gate: Option<&mut Gate<'_, R>>,
    mut warnings: Vec<String>,
) -> io::Result<Assembled> {
    for one in &*examined {
        if let Some((_, Err(message))) = &one.outcome {
            warnings.push(format!("{message}; the original is assembled"));
        }
    }
    let mut unused = None;
    if examined.iter().any(|one| one.changed().is_some()) {
        // (GCC's assembler writes no machine code that could be compared.)
        let checked = match gate.filter(|_| !call.line.foreign_lines) {
            Some(gate) => gate(call, examined),
            None => alone(&call, examined).map(Checked::alone),
        };
        match checked {
            Ok(Checked { finished, unused: reason, refused, mut cubins }) => {
                warnings.extend(refused.map(|refused| refusal(examined, &refused)));
                unused = reason;
                if let Some(finished) = finished {
                    if !finished.status.success() {
                        warnings.clear();
                    } else if cubins.original.is_empty() && call.reports {
                        cubins.rewritten = check::written(&call);
                    }
                    return Ok(Assembled { finished, warnings, unused, cubins });
                }
            }
            Err(error) => warnings.push(format!(
                "the rewritten input cannot be handed to ptxas ({error}); the original is assembled"
            )),
        }
        if examined.iter().any(|one| one.changed().is_some()) {
            unused.get_or_insert_with(|| "the original is assembled".to_owned());
        }
    }
    let Call { tool, arguments, watch, .. } = call;
    let run = Run::new(arguments, Stream::Inherit, Stream::Inherit);
    let run = Run { stdin: stdin(examined), ..run };
    let finished = tool.run(run, watch)?;
    let mut cubins = Cubins::default();
    if !finished.status.success() {
        warnings.clear();
    } else if call.reports {
        cubins.original = check::written(&call);
    }
    Ok(Assembled { finished, warnings, unused, cubins })
}

/// Runs the real ptxas on the rewritten inputs, with its output where the user wants it.
fn alone<R: Replacement>(call: &Call<'_>, examined: &[Examined<R>]) -> io::Result<Finished> {
    let mut folder = None;
    let mut write = |name: &str, bytes: &[u8]| match &mut folder {
        Some(folder) => Folder::write(folder, name, bytes),
        none => none.insert(call.watch.folder()?).write(name, bytes),
    };
    run_rewritten(call, examined, &mut write, How::default())
}

/// The warning about rewritten inputs that the real ptxas refused, with its first message.
fn refusal<R: Replacement>(examined: &[Examined<R>], finished: &Finished) -> String {
    let names: Vec<&str> =
        examined.iter().filter_map(|one| one.changed()).map(|(source, _)| source.name()).collect();
    let said = String::from_utf8_lossy(&finished.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).map(str::trim);
    let how = first.map_or_else(|| finished.status.to_string(), str::to_owned);
    format!(
        "{}: ptxas refuses the rewritten text ({how}); the original is assembled",
        names.join(", ")
    )
}

/// A diagnostic as one line, for a warning.
pub fn one_line(diagnostic: &Diagnostic) -> String {
    match diagnostic.position {
        Some(place) => {
            format!("{}:{}:{}: {}", diagnostic.file, place.line, place.column, diagnostic.message)
        }
        None => format!("{}: {}", diagnostic.file, diagnostic.message),
    }
}
