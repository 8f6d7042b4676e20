//! `ptxasw compare`: the resources of the kernels of two builds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::exit::{Failure, Status};
use super::io;
use crate::sass::Resources;
use crate::sass::compare::{Compared, Comparison, Loss};
use crate::sass::resources::resources;

/// `compare`
#[derive(Debug, Args)]
pub(super) struct Compare {
    /// Reports of the old build: the folder of `PTXASW_REPORT`, one of its files, what `asm --format json`
    /// printed, or a cubin
    old: PathBuf,
    /// The same of the new build
    new: PathBuf,
    /// End with status 1 if a kernel lost one of these, joined by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LOSSES")]
    fail_on: Vec<Loss>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// A Markdown table, for a summary on GitHub
    Github,
}

impl ValueEnum for Loss {
    fn value_variants<'a>() -> &'a [Loss] {
        &[Loss::Registers, Loss::Spills, Loss::Stack, Loss::Shared, Loss::Code, Loss::Warps]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(<&str>::from(self)))
    }
}

/// The part of a report that is read, of a build's or of `asm`'s.
#[derive(Deserialize)]
struct Read {
    kernels: Vec<ReadKernel>,
}

#[derive(Deserialize)]
struct ReadKernel {
    name: String,
    resources: Option<Both>,
    #[serde(flatten)]
    own: Option<Resources>,
}

#[derive(Deserialize)]
struct Both {
    original: Option<Resources>,
    rewritten: Option<Resources>,
}

impl Compare {
    /// Prints the losses of the kernels.
    ///
    /// # Errors
    /// A folder or file cannot be read, or names no resources.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let [old, new] = [read(&self.old)?, read(&self.new)?];
        let comparison = Comparison::new(&old, &new);
        io::print(&match self.format {
            Format::Json => io::json(&comparison)?,
            Format::Text => text(&comparison),
            Format::Github => markdown(&comparison),
        })?;
        match comparison.has_lost(&self.fail_on) {
            true => Ok(Status::DIFFERENT),
            false => Ok(Status::SUCCESS),
        }
    }
}

/// The resources of the kernels of a build by name.
fn read(path: &Path) -> Result<BTreeMap<String, Resources>, Failure> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let unreadable = |error| Failure::about(path.display(), error);
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        files = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind == "json"));
        files.sort();
    }
    let mut found = BTreeMap::new();
    for file in &files {
        let (name, bytes) = io::read_bytes(file)?;
        found.extend(of_file(&name, &bytes)?);
    }
    if found.is_empty() {
        let why = "no kernel's resources are named here\n  help: build with PTXASW_REPORT=DIR, and name \
                   that folder";
        return Err(Failure::about(path.display(), why));
    }
    Ok(found)
}

fn of_file(name: &str, bytes: &[u8]) -> Result<BTreeMap<String, Resources>, Failure> {
    if bytes.starts_with(b"\x7fELF") {
        return match resources(bytes) {
            Ok((_, kernels)) => Ok(kernels),
            Err(why) => Err(Failure::about(name, why)),
        };
    }
    let unreadable = |error| Failure::about(name, format!("not a report: {error}"));
    let read: Read = serde_json::from_slice(bytes).map_err(unreadable)?;
    let used = |kernel: ReadKernel| {
        let of_build = kernel.resources.and_then(|both| both.rewritten.or(both.original));
        Some((kernel.name, of_build.or(kernel.own)?))
    };
    Ok(read.kernels.into_iter().filter_map(used).collect())
}

/// The columns of the tables.
const HEAD: [&str; 8] =
    ["kernel", "registers", "spills", "stack", "shared", "code", "warps", "lost"];

fn rows(comparison: &Comparison) -> Vec<[String; 8]> {
    let changed = comparison.kernels.iter().filter(|kernel| kernel.old != kernel.new);
    changed.map(cells).collect()
}

fn cells(kernel: &Compared) -> [String; 8] {
    let Compared { old, new, losses, .. } = kernel;
    let cell = |of: fn(&Resources) -> Option<u32>| {
        let text = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
        match (of(old), of(new)) {
            (old, new) if old == new => text(new),
            (old, new) => format!("{} -> {}", text(old), text(new)),
        }
    };
    let losses: Vec<&str> = losses.iter().map(<&str>::from).collect();
    [
        kernel.name.clone(),
        cell(|of| Some(of.registers)),
        cell(|of| Some(of.spill_stores?.saturating_add(of.spill_loads?))),
        cell(|of| Some(of.stack)),
        cell(|of| Some(of.shared)),
        cell(|of| Some(of.code_bytes)),
        cell(|of| of.warps),
        losses.join(", "),
    ]
}

/// A sentence about the kernels that the tables leave out.
fn rest(comparison: &Comparison) -> String {
    let same = comparison.kernels.iter().filter(|kernel| kernel.old == kernel.new).count();
    let lost = comparison.kernels.iter().filter(|kernel| !kernel.losses.is_empty()).count();
    let mut out = format!(
        "{} kernels: {lost} lost something, {same} take the same\n",
        comparison.kernels.len()
    );
    for (which, names) in [("old", &comparison.only_old), ("new", &comparison.only_new)] {
        if !names.is_empty() {
            out += &format!("only in the {which} build: {}\n", names.join(", "));
        }
    }
    out
}

fn text(comparison: &Comparison) -> String {
    let mut table = vec![HEAD.map(str::to_owned)];
    table.extend(rows(comparison));
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEAD.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in table.iter().filter(|_| table.len() > 1) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out + &rest(comparison)
}

fn markdown(comparison: &Comparison) -> String {
    let line = |cells: &[String; 8]| format!("| {} |\n", cells.join(" | "));
    let rows = rows(comparison);
    let mut out = String::new();
    if !rows.is_empty() {
        out += &line(&HEAD.map(str::to_owned));
        out += &format!("|---|{}---|\n", "---:|".repeat(HEAD.len() - 2));
        out.extend(rows.iter().map(line));
        out.push('\n');
    }
    out + &rest(comparison)
}
