//! The fate of a run on a rewritten text: its result is used, some kernels are to be left as they were, or all.
//!
//! In: how the run ended, the bytes that it made, and the same of the original. Results that cannot be read or compared
//! count as good, but for one that is cut off.

use crate::ptxas::complaints::{Complaint, complaints};
use crate::ptxas::invoke::Finished;
use crate::ptxas::losses::{Loss, losses};
use crate::ptxas::messages::agree;
use crate::sass::cubin::{self, Cubin};
use std::io::{self, Read};
use std::path::Path;

/// Larger cubins are not read.
const LARGEST_CUBIN: u64 = 256 << 20;

/// The outcome of assembling the original.
pub(super) struct Original {
    pub(super) finished: Finished,
    /// The bytes of its output file.
    pub(super) bytes: Vec<u8>,
    /// Its kernels; `None` if the file cannot be read as a cubin.
    pub(super) cubin: Option<Cubin>,
}

/// The fate of a run on the rewritten text.
pub(super) enum Fate {
    /// Its result, these bytes, is used.
    Good(Box<Finished>, Vec<u8>),
    /// These functions, not known so far, are to be left as they were. With none, nothing helps.
    Lost(Vec<Loss>),
    /// The original is used; with the run if ptxas refused a text that it should have taken.
    Bad { unused: String, refused: Option<Finished> },
    /// Somebody ended it.
    Interrupted(Box<Finished>),
}

impl Fate {
    fn bad(unused: impl Into<String>) -> Fate {
        Fate::Bad { unused: unused.into(), refused: None }
    }

    /// The fate of a run that failed, and was not interrupted.
    pub(super) fn of_failure(finished: Finished) -> Fate {
        if let Some(reason) = finished.stopped {
            return Fate::bad(reason);
        }
        match finished.ended_by_limit() {
            // ptxas may have run out of memory, say, and the original needs less.
            Some(signal) => {
                Fate::bad(format!("ptxas was ended by signal {signal} on the rewritten text"))
            }
            None => {
                let unused = "ptxas refuses the rewritten text".to_owned();
                Fate::Bad { unused, refused: Some(finished) }
            }
        }
    }
}

/// Decides about a run on a rewritten text, and its output file. Of kernels that lost something only those count that are not `taken` out.
pub(super) fn fate(
    original: &Original,
    (mut finished, beside): (Finished, &Path),
    taken: &[Loss],
    is_measured: impl Fn(&str) -> bool,
    slower: impl FnOnce(&[u8], &[Loss]) -> Vec<Loss>,
) -> Fate {
    if finished.interrupted().is_some() {
        return Fate::Interrupted(Box::new(finished));
    }
    let text = |finished: &Finished| {
        String::from_utf8_lossy(&[&finished.stdout[..], b"\n", &finished.stderr].concat())
            .into_owned()
    };
    let said = complaints(&text(&original.finished), &text(&finished));
    if !finished.status.success() {
        // With `-Werror`, a new warning is an error.
        return match (Fate::of_failure(finished), said.first()) {
            (Fate::Bad { refused: Some(_), .. }, Some(Complaint { what, .. })) => {
                Fate::bad(format!("taken back: {what}"))
            }
            (fate, _) => fate,
        };
    }
    let bytes = read(beside);
    if cubin::is_cut_off(&bytes) {
        return Fate::bad("what ptxas makes of the rewritten text is cut off");
    }
    let mut lost: Vec<Loss> = match (&original.cubin, parse(beside, &bytes)) {
        (Some(before), Some(after)) => losses(before, &after),
        _ => Vec::new(),
    };
    lost.retain(|(name, _)| !is_measured(name));
    for Complaint { function, what } in said {
        match function {
            Some(name) if lost.iter().any(|(known, _)| *known == name) => {}
            Some(name) => lost.push((name, what)),
            None => return Fate::bad(format!("taken back: {what}")),
        }
    }
    for (name, what) in slower(&bytes, &lost) {
        if !is_measured(&name) && lost.iter().all(|(known, _)| *known != name) {
            lost.push((name, what));
        }
    }
    if lost.is_empty() {
        finished.stdout = agree(&original.finished.stdout, finished.stdout);
        finished.stderr = agree(&original.finished.stderr, finished.stderr);
        return Fate::Good(Box::new(finished), bytes);
    }
    lost.retain(|(name, _)| taken.iter().all(|(known, _)| known != name));
    Fate::Lost(lost)
}

/// The kernels of a cubin that was read from a file, if it is one.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Option<Cubin> {
    let unreadable = |error: &String| log::info!("{}: no cubin: {error}", path.display());
    cubin::read(bytes).inspect_err(unreadable).ok()
}

/// The bytes of a file; nothing if it cannot be read or is too large.
pub(super) fn read(path: &Path) -> Vec<u8> {
    let read = || {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(LARGEST_CUBIN + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let mut bytes = read().unwrap_or_default();
    if bytes.len() as u64 > LARGEST_CUBIN {
        bytes.clear();
    }
    bytes
}
