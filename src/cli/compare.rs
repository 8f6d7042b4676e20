//! `ptxasw compare`: the resources of the kernels of two builds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::exit::{Failure, Status};
use super::options::warn;
use super::values::Words;
use super::{io, objects};
use crate::kernels::demangled;
use crate::pipeline;
use crate::ptx::Depth;
use crate::sass::Resources;
use crate::sass::compare::{Code, Compared, Comparison, Cycles, Loss, Measured, Taken};
use crate::sass::cubin;
use crate::sass::pairing::Built;
use crate::sass::paths::Counterpart;
use crate::sass::report::{Beside, Report};

/// `compare`
#[derive(Debug, Args)]
pub(super) struct Compare {
    /// Reports of the old build: the folder of `PTXASW_REPORT`, one of its files, what `asm --format json`
    /// printed, a cubin, or an object or executable whose cubins NVIDIA's cuobjdump reads
    old: PathBuf,
    /// The same of the new build
    new: PathBuf,
    /// End with status 1 if a kernel lost one of these, joined by commas, or if it is not known whether it did
    #[arg(long, value_parser = Loss::parser(), value_delimiter = ',', value_name = "LOSSES")]
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

/// The part of a report that is read, of a build's or of `asm`'s.
#[derive(Deserialize)]
struct Read {
    file: Option<String>,
    arch: Option<u32>,
    kernels: Vec<ReadKernel>,
}

#[derive(Deserialize)]
struct ReadKernel {
    name: String,
    resources: Option<Both>,
    measure: Option<ReadMeasure>,
    #[serde(flatten)]
    own: Option<Resources>,
}

#[derive(Clone, Copy, Deserialize)]
struct Both {
    original: Option<Resources>,
    rewritten: Option<Resources>,
}

/// Cycles by numbers of resident warps: `asm` has them for one text, and a build's report for both.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReadMeasure {
    cycles_per_warp: Option<CyclesByWarps>,
    busy: BTreeMap<String, Option<f64>>,
    original: Option<CyclesByWarps>,
    rewritten: Option<CyclesByWarps>,
}

/// (A flattened struct cannot have numbers as keys.)
type CyclesByWarps = BTreeMap<String, f64>;

/// The cycles with all warps resident that fit.
fn with_most(of: &CyclesByWarps) -> Option<f64> {
    let each = of.iter().filter_map(|(warps, cycles)| Some((warps.parse::<u32>().ok()?, *cycles)));
    each.max_by_key(|(warps, _)| *warps).map(|(_, cycles)| cycles)
}

impl ReadKernel {
    /// What the kernel takes in the build: its rewritten version, if that is used.
    fn taken(self, file: Option<&String>, architecture: Option<u32>) -> Option<Taken> {
        let ReadKernel { name, resources, measure, own } = self;
        let is_rewritten = resources.as_ref().is_some_and(|both| both.rewritten.is_some());
        let original = resources.and_then(|both| both.original).filter(|_| is_rewritten);
        let of_build = resources.and_then(|both| both.rewritten.or(both.original));
        let measure = measure.unwrap_or_default();
        let is_of_asm = measure.cycles_per_warp.is_some();
        let has_traffic = !is_of_asm || measure.busy.get("l2").is_some_and(Option::is_some);
        let of_original = measure.original.clone();
        let cycles = match (measure.cycles_per_warp, is_rewritten) {
            (Some(own), _) => Some(own),
            (None, true) => measure.rewritten,
            (None, false) => measure.original,
        };
        let measured = |of: &CyclesByWarps| Some(Measured { cycles: with_most(of)?, has_traffic });
        let original = original.zip(of_original.as_ref().and_then(measured));
        let measured = cycles.as_ref().and_then(measured);
        let (file, resources) = (file.cloned(), of_build.or(own)?);
        Some(Taken { built: Built { name, file, architecture, resources }, measured, original })
    }
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
        let open = comparison.open(&self.fail_on);
        for (kernel, loss) in &open {
            let loss: &str = loss.into();
            warn(&format!(
                "--fail-on {loss} cannot be checked: of `{}` they are not known on both sides; compare reports of PTXASW_REPORT, which have what ptxas says",
                shown(kernel)
            ));
        }
        let is_unclear = !self.fail_on.is_empty() && !comparison.unclear.is_empty();
        if is_unclear {
            let names: Vec<String> = comparison.unclear.iter().map(|name| shown(name)).collect();
            warn(&format!(
                "--fail-on cannot be checked: it is not known which of these kernels of the two builds belong together: {}; name folders of PTXASW_REPORT, each of one build, whose files have names of their own",
                names.join(", ")
            ));
        }
        match comparison.has_lost(&self.fail_on) || !open.is_empty() || is_unclear {
            true => Ok(Status::DIFFERENT),
            false => Ok(Status::SUCCESS),
        }
    }
}

/// What the kernels of a build take.
fn read(path: &Path) -> Result<Vec<Taken>, Failure> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let unreadable = |error| Failure::about(path.display(), error);
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        files = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind == "json"));
        files.sort();
    }
    let mut found = Vec::new();
    for file in &files {
        let (name, bytes) = io::read_bytes(file)?;
        match objects::cubins(file, (&name, &bytes))? {
            Some(cubins) => found.extend(of_cubins(file, &cubins)?),
            None => found.extend(of_report((&name, &bytes), path.is_dir())?),
        }
    }
    if found.is_empty() {
        let why = "no kernel's resources are named here\n  help: build with PTXASW_REPORT=DIR, and name \
                   that folder";
        return Err(Failure::about(path.display(), why));
    }
    Ok(found)
}

/// The memory traffic of an object's kernels, known from the PTX inside, for an architecture.
fn beside(path: &Path, architecture: u32) -> Beside {
    let mut beside = Beside::default();
    let options =
        pipeline::Options { architecture: Some(architecture), ..pipeline::Options::default() };
    for text in objects::texts(path).unwrap_or_default() {
        let facts = pipeline::facts(&text, &options, Depth::All).unwrap_or_default();
        let each = facts.into_iter();
        beside.requests.extend(each.map(|(name, of)| (name, of.known(Counterpart::None).requests)));
    }
    beside
}

/// The kernels of a file's cubins.
fn of_cubins(path: &Path, cubins: &[objects::Cubin]) -> Result<Vec<Taken>, Failure> {
    let mut found = Vec::new();
    for (name, bytes) in cubins {
        let is_inside = Path::new(name) != path;
        let architecture = cubin::read(bytes).ok().map(|cubin| cubin.architecture);
        let beside = architecture.filter(|_| is_inside).map(|of| beside(path, of));
        let report = Report::new(bytes, &beside.unwrap_or_default());
        let Report { arch, kernels, .. } = report.map_err(|why| Failure::about(name, why))?;
        found.extend(kernels.into_iter().map(|kernel| {
            let measure = kernel.measure.as_ref();
            let cycles = measure.and_then(|of| of.cycles_per_warp.values().last().copied());
            let has_traffic =
                measure.is_some_and(|of| of.busy.get("l2").is_some_and(Option::is_some));
            let (name, resources) = (kernel.name, kernel.resources);
            Taken {
                built: Built { name, file: None, architecture: Some(arch), resources },
                measured: cycles.map(|cycles| Measured { cycles, has_traffic }),
                original: None,
            }
        }));
    }
    Ok(found)
}

/// The kernels of a report, or of the array of them that `asm` prints of several cubins. `is_one_of_several`: in a folder.
fn of_report((name, bytes): (&str, &[u8]), is_one_of_several: bool) -> Result<Vec<Taken>, Failure> {
    let unreadable = |error| Failure::about(name, format!("not a report: {error}"));
    let reports: Vec<Read> = match bytes.trim_ascii_start().starts_with(b"[") {
        true => serde_json::from_slice(bytes).map_err(unreadable)?,
        false => vec![serde_json::from_slice(bytes).map_err(unreadable)?],
    };
    let each = reports.into_iter().flat_map(|Read { file, arch, kernels }| {
        let file = file.or_else(|| is_one_of_several.then(|| name.to_owned()));
        kernels.into_iter().filter_map(move |kernel| kernel.taken(file.as_ref(), arch))
    });
    Ok(each.collect())
}

/// A kernel's name in the source, with the architecture and the file if the name has them.
fn shown(name: &str) -> String {
    match name.split_once(' ') {
        Some((name, place)) => format!("{} {place}", demangled(name)),
        None => demangled(name),
    }
}

/// The columns of the tables.
const HEAD: [&str; 10] = [
    "kernel",
    "instructions",
    "registers",
    "spills",
    "stack",
    "shared",
    "code",
    "warps",
    "cycles",
    "lost",
];

fn rows(comparison: &Comparison) -> Vec<[String; 10]> {
    let is_renamed = |kernel: &Compared| kernel.state == Some(Code::Renamed);
    let is_shown = |kernel: &&Compared| !kernel.is_same() || is_renamed(kernel);
    let changed = comparison.kernels.iter().filter(is_shown);
    changed.map(cells).collect()
}

fn cells(kernel: &Compared) -> [String; 10] {
    let Compared { old, new, cycles, losses, .. } = kernel;
    let cell = |of: fn(&Resources) -> Option<u32>| {
        let text = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
        match (of(old), of(new)) {
            (old, new) if old == new => text(new),
            (old, new) => format!("{} -> {}", text(old), text(new)),
        }
    };
    let losses: Vec<&str> = losses.iter().map(<&str>::from).collect();
    [
        match &kernel.old_name {
            None => shown(&kernel.name),
            Some(old) => format!("{} -> {}", shown(old), shown(&kernel.name)),
        },
        match kernel.state {
            None => "?",
            Some(Code::Same) => "same",
            Some(Code::Renamed) => "renamed",
            Some(Code::Changed) => "changed",
        }
        .to_owned(),
        cell(|of| Some(of.registers)),
        cell(|of| Some(of.spill_stores?.saturating_add(of.spill_loads?))),
        cell(|of| Some(of.stack)),
        cell(|of| Some(of.shared)),
        cell(|of| Some(of.code_bytes)),
        cell(|of| of.warps),
        match cycles.map(|Cycles { old, new }| (format!("{old:.0}"), format!("{new:.0}"))) {
            None => "?".to_owned(),
            Some((old, new)) if old == new => new,
            Some((old, new)) => format!("{old} -> {new}"),
        },
        losses.join(", "),
    ]
}

/// A sentence about the kernels that the tables leave out.
fn rest(comparison: &Comparison) -> String {
    let same = comparison.kernels.iter().filter(|kernel| kernel.is_same()).count();
    let lost = comparison.kernels.iter().filter(|kernel| !kernel.losses.is_empty()).count();
    let mut out = format!(
        "{} kernels: {lost} lost something, {same} are the same\n",
        comparison.kernels.len()
    );
    let lacking = comparison.kernels.iter().filter(|kernel| kernel.lacks_traffic).count();
    if lacking > 0 {
        out += &format!(
            "the cycles of {lacking} kernels are not compared, since their memory traffic is not known: it follows from PTX; compare reports of PTXASW_REPORT, or objects that hold PTX\n"
        );
    }
    for (what, names) in [
        ("only in the old build", &comparison.only_old),
        ("only in the new build", &comparison.only_new),
        ("not compared, since it is not known which belong together", &comparison.unclear),
    ] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
            out += &format!("{what}: {}\n", names.join(", "));
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
    let line = |cells: &[String; 10]| format!("| {} |\n", cells.join(" | "));
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
