//! `ptxasw rewrite`: a file in, the rewritten text out.

use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::options::{Decisions, Input, Output, show_timings, warn};
use super::{holes, io, outcome};
use crate::pipeline::{self, Options};
use crate::remarks;
use crate::rewrite::Mode;

/// `rewrite`
#[derive(Debug, Args)]
pub(super) struct Rewrite {
    /// What to rewrite.
    #[command(flatten)]
    input: Input,
    /// Where the text goes.
    #[command(flatten)]
    output: Output,
    /// Write the JSON of `candidates` to this file
    #[arg(long, value_name = "FILE", value_parser = no_input)]
    report: Option<PathBuf>,
    /// Write what was replaced and what was not to this file, as LLVM's optimisation remarks
    #[arg(long, value_name = "FILE.yaml", value_parser = no_input)]
    remarks: Option<PathBuf>,
    /// Write what was changed, line by line, to this file, for `verify --certificate`
    #[arg(long, value_name = "FILE.json", value_parser = no_input)]
    certificate: Option<PathBuf>,
    /// How decisions are made
    #[command(flatten)]
    decisions: Decisions,
}

/// The name of a file to write, refused if it looks like an input: somebody who forgets it would lose that input.
fn no_input(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension() {
        Some(extension) if extension == "ptx" => {
            Err("the name of the file to write stands here, and that of the input behind it"
                .to_owned())
        }
        _ => Ok(path),
    }
}

impl Rewrite {
    /// Writes the rewritten text, and what else was asked for.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or something cannot be written.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read(None)?;
        let all_bodies = self.report.is_some() || self.remarks.is_some();
        let options = Options { all_bodies, ..self.decisions.options(&source)? };
        if options.mode.is_wrong() {
            let mode = if options.mode == Mode::NoLoad { "no-load" } else { "no-corner" };
            warn(&format!("--mode {mode} is for measuring and computes wrong results"));
        }
        let rewritten =
            outcome::summarised(&source, || holes::filled(&source, &options, &pipeline::rewrite))?;
        if let Some(message) = rewritten.report.errors.first() {
            return Err(Failure::unusable(message.clone()));
        }
        show_timings(&options);
        rewritten.report.warnings.iter().for_each(|warning| warn(warning));
        if let Some(path) = &self.remarks {
            io::write(path, &remarks::yaml(&source, &rewritten.report))?;
        }
        if let Some(path) = &self.report {
            io::write(path, &io::json(&rewritten.report)?)?;
        }
        if let Some(path) = &self.certificate {
            let certificate = pipeline::certificate(&source, &rewritten)?;
            io::write(path, &io::json(&certificate)?)?;
        }
        self.output.write(&rewritten.text)
    }
}
