//! The outcome of assembling a rewritten text, beside that of the original.
//!
//! In: how the run ended, the bytes that it made, and the same of the original. Out: which functions lose something, or why
//! the whole result cannot be used. Results that cannot be read or compared count as good, but for one that is cut off.

use crate::ptxas::complaints::{Complaint, complaints};
use crate::ptxas::invoke::Finished;
use crate::ptxas::losses::{Loss, Resource, losses};
use crate::ptxas::messages::agree;
use crate::sass::cubin::{self, Cubin};
use std::io::{self, Read};
use std::path::Path;

/// Larger cubins are not read.
const LARGEST_CUBIN: u64 = 256 << 20;

/// The outcome of assembling the original.
pub struct Original {
    /// How the run ended.
    pub finished: Finished,
    /// The bytes of its output file.
    pub bytes: Vec<u8>,
    /// Its kernels; `None` if the file cannot be read as a cubin.
    pub(super) cubin: Option<Cubin>,
}

/// The outcome of assembling a rewritten text.
pub enum Outcome {
    /// ptxas has made `bytes`; some functions have lost something by it. The messages name the user's places.
    Made {
        /// How the run ended.
        finished: Box<Finished>,
        /// The bytes of its output file.
        bytes: Vec<u8>,
        /// What functions lost.
        lost: Vec<Loss>,
    },
    /// The original is to be used; with the run if ptxas refused a text that it should have taken.
    Bad {
        /// Why.
        unused: String,
        /// That run.
        refused: Option<Finished>,
    },
    /// Somebody ended it.
    Interrupted(Box<Finished>),
}

impl Outcome {
    fn bad(unused: impl Into<String>) -> Outcome {
        Outcome::Bad { unused: unused.into(), refused: None }
    }

    /// The outcome of a run that failed, and was not interrupted.
    pub(super) fn of_failure(finished: Finished) -> Outcome {
        if let Some(reason) = finished.stopped {
            return Outcome::bad(reason);
        }
        match finished.ended_by_limit() {
            // ptxas may have run out of memory, say, and the original needs less.
            Some(signal) => {
                Outcome::bad(format!("ptxas was ended by signal {signal} on the rewritten text"))
            }
            None => {
                let unused = "ptxas refuses the rewritten text".to_owned();
                Outcome::Bad { unused, refused: Some(finished) }
            }
        }
    }

    /// The outcome of a run and its output file. `same_functions`: the original has the same functions, so that messages
    /// about both are compared.
    pub(super) fn new(
        original: &Original,
        (mut finished, beside): (Finished, &Path),
        same_functions: bool,
    ) -> Outcome {
        if finished.interrupted().is_some() {
            return Outcome::Interrupted(Box::new(finished));
        }
        let text = |finished: &Finished| {
            String::from_utf8_lossy(&[&finished.stdout[..], b"\n", &finished.stderr].concat())
                .into_owned()
        };
        let said = match same_functions {
            true => complaints(&text(&original.finished), &text(&finished)),
            false => Vec::new(),
        };
        if !finished.status.success() {
            // With `-Werror`, a new warning is an error.
            return match (Outcome::of_failure(finished), said.first()) {
                (Outcome::Bad { refused: Some(_), .. }, Some(Complaint { what, .. })) => {
                    Outcome::bad(format!("taken back: {what}"))
                }
                (outcome, _) => outcome,
            };
        }
        let bytes = read(beside);
        if cubin::is_cut_off(&bytes) {
            return Outcome::bad("what ptxas makes of the rewritten text is cut off");
        }
        let mut lost: Vec<Loss> = match (&original.cubin, parse(beside, &bytes)) {
            (Some(before), Some(after)) => losses(before, &after),
            _ => Vec::new(),
        };
        for Complaint { function, what } in said {
            match function {
                Some(name) if lost.iter().any(|loss| loss.function == name) => {}
                Some(function) => lost.push(Loss { function, of: Resource::Warnings, what }),
                None => return Outcome::bad(format!("taken back: {what}")),
            }
        }
        if same_functions {
            finished.stdout = agree(&original.finished.stdout, finished.stdout);
            finished.stderr = agree(&original.finished.stderr, finished.stderr);
        }
        Outcome::Made { finished: Box::new(finished), bytes, lost }
    }
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
