//! `ptxasw fingerprint`: a hash of the operations that lead to each buffer of a launch.
//!
//! In: a kernel and a launch whose floating-point buffers are symbols. Out: for each buffer that is written a hash; kernels with
//! the same hash compute the same bits for all inputs, whoever compiled them and however they are tiled.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::options::{Format, Launched, Shown};
use super::{io, objects};
use crate::interp::{Blocks, Domain, FaultKind, Symbolic};
use crate::launch::Launch;
use crate::ptx::{self, Depth};

/// `fingerprint`
#[derive(Debug, Args)]
pub(super) struct Fingerprint {
    /// The PTX file
    input: PathBuf,
    /// How the kernel is launched.
    #[command(flatten)]
    launched: Launched,
    /// Also show the hash of each row of N elements, of each element without a number: rows that two batch sizes share
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// How to show the outcome.
    #[command(flatten)]
    shown: Shown,
}

#[derive(Serialize)]
struct Report {
    kernel: Option<String>,
    buffers: BTreeMap<String, BufferReport>,
}

#[derive(Serialize)]
struct BufferReport {
    hash: String,
    elements: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<String>>,
}

/// A hash of elements.
fn together<'a>(elements: impl Iterator<Item = &'a (u64, [u64; 2])>, first: u64) -> String {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word | 1);
        (product as u64 ^ (product >> 64) as u64).rotate_left(23).wrapping_add(word)
    };
    let [p, q] = elements.fold([1, 2], |[p, q], (index, [a, b])| {
        let index = index - first;
        [mix(mix(p, *a), index), mix(mix(q, *b), index.rotate_left(32))]
    });
    format!("{p:016x}{q:016x}")
}

impl Fingerprint {
    /// Prints the hashes.
    ///
    /// # Errors
    /// An input cannot be read or parsed, or does not fit the other one.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let (file, kernel) = (io::read(&self.launched.launch)?, self.launched.kernel.as_deref());
        let source = objects::text_for(&self.input, kernel, &file)?;
        let mut launch =
            Launch::from_json(file.text()).map_err(|error| Failure::about(file.name(), error))?;
        if let Some(kernel) = kernel {
            launch.kernel = Some(kernel.to_owned());
        }
        let module = ptx::parse(&source, Depth::All)?;
        let mut symbolic = Symbolic::new(Domain::Bits, 0);
        let left = symbolic.run(&module, &launch, &Blocks::All).map_err(|fault| {
            let failure = match fault.span {
                Some(_) => Failure::from(fault.diagnostic(&source)),
                None => Failure::about(source.name(), &fault),
            };
            match fault.kind {
                FaultKind::Launch | FaultKind::Unsupported => failure,
                _ => failure.with_status(Status::UNKNOWN),
            }
        })?;
        let mut buffers = BTreeMap::new();
        for name in left.written() {
            let hashes = symbolic.hashes(&left, name);
            let rows = self.rows.map(|width| {
                let rows = hashes.chunk_by(|one, other| one.0 / width == other.0 / width);
                rows.map(|row| together(row.iter(), row[0].0 / width * width)).collect()
            });
            let hash = together(hashes.iter(), 0);
            let report = BufferReport { hash, elements: hashes.len() as u64, rows };
            buffers.insert(name.to_owned(), report);
        }
        let report = Report { kernel: launch.kernel.clone(), buffers };
        io::print(&match self.shown.format {
            Format::Json => io::json(&report)?,
            Format::Text => text(&report),
        })?;
        Ok(Status::SUCCESS)
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for (name, buffer) in &report.buffers {
        let _ = writeln!(text, "{} {name} ({} elements)", buffer.hash, buffer.elements);
        for (at, row) in buffer.rows.iter().flatten().enumerate() {
            let _ = writeln!(text, "  {row} {at}");
        }
    }
    text
}
