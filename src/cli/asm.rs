//! `ptxasw asm`: resources and the static schedule of machine code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::env::Settings;
use super::exit::{Failure, Status};
use super::io;
use super::options::{Format, Shown};
use super::{objects, wrapper};
use crate::kernels;
use crate::pipeline::{self, REWRITABLE};
use crate::ptx::{self, Depth};
use crate::ptxas::once::{self, Assembled};
use crate::ptxas::signals::Watch;
use crate::requests::Facts;
use crate::sass::Resources;
use crate::sass::measure;
use crate::sass::opcodes::Opcodes;
use crate::sass::paths::Counterpart;
use crate::sass::report::{Beside, Block, Kernel, Report};
use crate::source::SourceFile;

/// `asm`
#[derive(Debug, Args)]
pub(super) struct Asm {
    /// PTX, a cubin, or an object or executable whose cubins NVIDIA's cuobjdump reads; `-` for standard input
    input: PathBuf,
    /// Assemble PTX for this architecture, such as `sm_90`, instead of the one that it names; of several cubins, show
    /// those for it
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// The PTX before it was rewritten. Where the input has two versions of one piece of code, follow the new one
    #[arg(long, value_name = "FILE")]
    original: Option<PathBuf>,
    /// Show this kernel alone
    #[arg(long)]
    kernel: Option<String>,
    /// How to show the schedule.
    #[command(flatten)]
    shown: Shown,
}

impl Asm {
    /// Prints the resources and schedules.
    ///
    /// # Errors
    /// The input cannot be read or assembled, or does not have the kernel that was asked for.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let (name, bytes) = io::read_bytes(&self.input)?;
        let unreadable = |why: String| Failure::about(&name, why);
        let mut reports = match objects::cubins(&self.input, (&name, &bytes))? {
            Some(cubins) => self.of_cubins(&cubins)?,
            None => {
                let source = objects::single(&self.input, objects::sources(name.clone(), bytes)?)?;
                vec![(self.report(&source)?, Texts::of(source.text()))]
            }
        };
        reports.retain(|(report, _)| !report.kernels.is_empty());
        if reports.is_empty() {
            return Err(unreadable("there is no kernel".to_owned()));
        }
        if let Some(kernel) = &self.kernel {
            let all = reports.iter().flat_map(|(report, _)| &report.kernels);
            let all: BTreeSet<&str> = all.map(|kernel| kernel.name.as_str()).collect();
            let all: Vec<&str> = all.into_iter().collect();
            let found = kernels::find(&all, kernel).map_err(unreadable)?.to_owned();
            for (report, _) in &mut reports {
                report.kernels.retain(|kernel| kernel.name == found);
            }
            reports.retain(|(report, _)| !report.kernels.is_empty());
        }
        let is_known = |(report, _): &(Report, Texts)| Opcodes::generation(report.arch).is_some();
        let status = if reports.iter().all(is_known) { Status::SUCCESS } else { Status::UNKNOWN };
        io::print(&match (self.shown.format, &reports[..]) {
            (Format::Json, [(report, _)]) => io::json(report)?,
            (Format::Json, _) => {
                io::json(&reports.iter().map(|(report, _)| report).collect::<Vec<_>>())?
            }
            (Format::Text, _) => {
                reports.into_iter().map(|(report, texts)| render(&report, texts)).collect()
            }
        })?;
        Ok(status)
    }

    /// The reports of a file's cubins: of all, or of those for the architecture that was asked for.
    fn of_cubins(&self, cubins: &[objects::Cubin]) -> Result<Vec<(Report, Texts)>, Failure> {
        let mut reports = Vec::new();
        for (name, bytes) in cubins {
            let not_one = |why: String| {
                Failure::about(name, format!("this is not a cubin that can be read: {why}"))
            };
            reports.push(Report::new(bytes, &Beside::default()).map_err(not_one)?);
        }
        let asked = self.arch.as_deref().and_then(pipeline::architecture_of);
        if let [_, _, ..] = reports[..] {
            reports.retain(|report| asked.is_none_or(|arch| arch == report.arch));
        }
        Ok(reports.into_iter().map(|report| (report, Texts::default())).collect())
    }

    fn report(&self, source: &SourceFile) -> Result<Report, Failure> {
        let failed = |why: String| Failure::about(source.name(), why);
        let (assembled, options) = self.assemble(source)?;
        let mut beside = Beside { spills: once::spills(&assembled.said), ..Beside::default() };
        let none = |_: &str| Counterpart::None;
        let original = self.original.as_deref().map(|original| {
            let source = objects::text(original)?;
            let (assembled, options) = self.assemble(&source)?;
            let failed = |why: String| Failure::about(source.name(), why);
            let executed = measure::executed(&assembled.cubin, &|_| true, &none).map_err(failed)?;
            beside.originals.extend(executed);
            let facts = pipeline::facts(&source, &options, Depth::All)?;
            let executed = |facts: Facts| facts.known(Counterpart::None).executed;
            let each = facts.into_iter().map(|(name, facts)| (name, executed(facts)));
            Ok::<BTreeMap<_, _>, Failure>(each.collect())
        });
        let original = original.transpose()?;
        let facts = pipeline::facts(source, &options, Depth::All)?;
        let requests = |(name, facts): (String, Facts)| {
            let original = original.as_ref().and_then(|executed| executed.get(&name));
            let known = facts.known(original.map_or(Counterpart::None, Counterpart::Original));
            (name, known.requests)
        };
        beside.requests = facts.into_iter().map(requests).collect();
        Report::new(&assembled.cubin, &beside).map_err(failed)
    }

    /// Assembles a text; also says how it is analysed.
    fn assemble(&self, source: &SourceFile) -> Result<(Assembled, pipeline::Options), Failure> {
        let module = ptx::parse(source, REWRITABLE)?;
        let tool = wrapper::real_ptxas(&Settings::of_process())?;
        let watch = Watch::start();
        let arch = match &self.arch {
            Some(arch) => arch.clone(),
            None => {
                let target = module.target.iter().find(|word| word.starts_with("sm_"));
                let none = || Failure::about(source.name(), "the text names no architecture");
                (*target.ok_or_else(none)?).to_owned()
            }
        };
        let failed = |why: String| Failure::about(source.name(), why);
        let mut options = vec![format!("-arch={arch}").into(), "-v".into(), "-lineinfo".into()];
        let mut done = once::assemble(&tool, &watch, &options, source.text());
        if done.is_err() {
            // ptxas refuses `-lineinfo` beside other debug information.
            options.pop();
            done = once::assemble(&tool, &watch, &options, source.text());
        }
        let architecture = pipeline::architecture_of(&arch);
        let options = pipeline::Options { architecture, ..pipeline::Options::default() };
        Ok((done.map_err(failed)?, options))
    }
}

/// The lines of the sources that can be read, by their files; that without a name is the PTX.
#[derive(Default)]
struct Texts(BTreeMap<String, Vec<String>>);

impl Texts {
    fn of(ptx: &str) -> Texts {
        Texts(BTreeMap::from([(String::new(), ptx.lines().map(str::to_owned).collect())]))
    }

    /// The text of a block's line.
    fn line(&mut self, block: &Block) -> &str {
        let file = block.file.clone().unwrap_or_default();
        let lines = self.0.entry(file).or_insert_with_key(|file| {
            let text = io::read_text_within(Path::new(file), io::LARGEST_TABLE).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        let at = block.line.and_then(|line| (line as usize).checked_sub(1));
        at.and_then(|at| lines.get(at)).map_or("", |line| line.trim())
    }
}

fn render(report: &Report, mut texts: Texts) -> String {
    let mut out = String::new();
    for kernel in &report.kernels {
        render_kernel(&mut out, report.arch, kernel, &mut texts);
    }
    out
}

fn render_kernel(out: &mut String, arch: u32, kernel: &Kernel, texts: &mut Texts) {
    let Resources { registers, stack, shared, code_bytes, instructions, .. } = kernel.resources;
    *out += &format!(
        "{}: sm_{arch}, {registers} registers, {stack} bytes of stack, ",
        kernels::demangled(&kernel.name)
    );
    if let (Some(stores), Some(loads)) =
        (kernel.resources.spill_stores, kernel.resources.spill_loads)
    {
        *out += &format!("{stores} bytes spilled and {loads} loaded again, ");
    }
    *out += &format!(
        "{shared} bytes of shared memory, {instructions} instructions in {code_bytes} bytes"
    );
    if let Some(warps) = kernel.resources.warps {
        *out += &format!(", {warps} resident warps");
    }
    out.push('\n');
    if let Some(unknown) = &kernel.unknown {
        *out += &format!("  the schedule is not known: {unknown}\n");
    }
    let (Some(issue), Some(waits)) = (kernel.issue_cycles, kernel.wait_cycles) else { return };
    *out += &format!("  a warp: {issue:.0} cycles of issue, {waits:.0} of waits");
    if let Some(exposed) = kernel.exposed_latency {
        *out += &format!(", {exposed:.0} of them not filled by other warps");
    }
    if let Some(flight) = kernel.loads_in_flight {
        *out += &format!("; {:.1} loads in flight at a wait, at most {}", flight.mean, flight.max);
    }
    out.push('\n');
    let busy = kernel.measure.as_ref().map(|measured| &measured.busy);
    let busy = busy.into_iter().flatten().filter_map(|(pipe, cycles)| Some((pipe, (*cycles)?)));
    let busy = busy.filter(|(_, cycles)| *cycles > 0.0);
    let pipes: Vec<String> = busy.map(|(pipe, cycles)| format!("{pipe} {cycles:.0}")).collect();
    if !pipes.is_empty() {
        *out += &format!("  cycles of the units: {}\n", pipes.join(", "));
    }
    if let Some(measured) = &kernel.measure {
        let each = measured.cycles_per_warp.iter();
        let each: Vec<String> =
            each.map(|(warps, cycles)| format!("{cycles:.0} with {warps} resident")).collect();
        *out += &format!("  cycles of the multiprocessor for each warp: {}\n", each.join(", "));
    }
    render_blocks(out, kernel.blocks.as_deref().unwrap_or_default(), texts);
}

fn render_blocks(out: &mut String, blocks: &[Block], texts: &mut Texts) {
    let cells = |block: &Block| {
        let text =
            |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        [
            format!("{:#06x}", block.offset),
            text(block.line),
            block.loop_depth.to_string(),
            block.instructions.to_string(),
            block.issue_cycles.to_string(),
            block.wait_cycles.to_string(),
            text(block.loads_in_flight),
        ]
    };
    let head = ["offset", "line", "loops", "instructions", "issue", "waits", "loads in flight"];
    let _ = writeln!(out, "  {}", row(&head.map(str::to_owned), &head));
    for block in blocks {
        let line = format!("  {}  {}", row(&cells(block), &head), texts.line(block));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn row(cells: &[String; 7], head: &[&str; 7]) -> String {
    let aligned = cells.iter().zip(head).map(|(cell, head)| format!("{cell:>0$}", head.len()));
    aligned.collect::<Vec<_>>().join("  ")
}
