//! `ptxasw candidates`: every global load, what was decided, and why.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::{Decisions, Format, Input, Shown, show_timings, warn};
use crate::kernels::demangled;
use crate::pipeline::{self, Options};
use crate::report::{Decision, KernelReport, LoadReport, Origin, Report, Stores, Wavefronts};
use crate::rewrite::Mode;
use crate::strategies::StrategyName;

/// `candidates`
#[derive(Debug, Args)]
pub(super) struct Candidates {
    /// What to look at.
    #[command(flatten)]
    input: Input,
    /// How to show the decisions.
    #[command(flatten)]
    shown: Shown,
    /// How decisions are made
    #[command(flatten)]
    decisions: Decisions,
}

impl Candidates {
    /// Prints the decisions.
    ///
    /// # Errors
    /// The input cannot be read or parsed.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read(None)?;
        let options = Options {
            mode: Mode::Original,
            all_bodies: true,
            count_sectors: true,
            ..self.decisions.options(&source)?
        };
        let report = pipeline::rewrite(&source, &options)?.report;
        show_timings(&options);
        report.warnings.iter().for_each(|warning| warn(warning));
        io::print(&match self.shown.format {
            Format::Json => io::json(&report)?,
            Format::Text => render(&report),
        })
    }
}

fn render(report: &Report) -> String {
    let mut out: String = report.kernels.iter().map(render_kernel).collect();
    let rules = report.rules();
    if !rules.is_empty() {
        out += &format!("`ptxasw explain RULE` says more of {}\n", rules.join(", "));
    }
    out
}

fn render_kernel(kernel: &KernelReport) -> String {
    let mut out = format!(
        "{}: {} of {} global loads covered",
        demangled(&kernel.name),
        kernel.replaced(),
        kernel.global_loads
    );
    match (kernel.average_delta, &kernel.skipped) {
        (_, Some(reason)) => out += &format!("; left as it is: {reason}"),
        (Some(average), _) => out += &format!(", average delta {average:.2}"),
        _ => {}
    }
    if let Some(cost) = kernel.cost() {
        out += &format!(", {cost}");
    }
    if kernel.laid_out() > 0 {
        out += &format!(", {} of {} arrays laid out anew", kernel.laid_out(), kernel.arrays.len());
    }
    let Stores { elsewhere, joined, overwritten } = kernel.replaced_stores();
    let stores = kernel.stores.len();
    if elsewhere > 0 {
        out += &format!(", {elsewhere} of {stores} stores of structs performed by other lanes");
    }
    if joined > 0 {
        out += &format!(", {joined} of {stores} stores joined to vectors");
    }
    if overwritten > 0 {
        out += &format!(", {overwritten} of {stores} stores left out, as others overwrite them");
    }
    if kernel.replaced_collectives() > 0 {
        let (replaced, all) = (kernel.replaced_collectives(), kernel.collectives.len());
        out += &format!(", {replaced} of {all} collectives replaced");
    }
    if kernel.unprofitable() > 0 {
        out += &format!(", {} possible that do not pay", kernel.unprofitable());
    }
    if let (Some(strategy), Some(reason), None) =
        (&kernel.strategy, &kernel.reason, &kernel.skipped)
    {
        out += &format!("; strategy {strategy} by {reason}");
    }
    out.push('\n');
    for load in &kernel.loads {
        out += &render_access(load, &load.register);
    }
    for store in &kernel.stores {
        out += &render_access(store, &format!("store {} ", store.register));
    }
    for one in &kernel.collectives {
        let origin = origin(one.source.as_ref());
        out += &format!("  line {:>5}  {origin}{}\n", one.line, one.sentence());
    }
    for array in &kernel.arrays {
        out += &format!("  line {:>5}  shared {}\n", array.line, array.sentence());
        for access in &array.accesses {
            let Wavefronts { before, after } = access.wavefronts;
            let more = if before == after { String::new() } else { format!(", then {after}") };
            let origin = origin(access.source.as_ref());
            out += &format!("  line {:>5}  {origin}  wavefronts {before}{more}\n", access.line);
        }
    }
    out
}

/// The place in the sources in front of the words about an access.
fn origin(origin: Option<&Origin>) -> String {
    origin.map_or_else(String::new, |origin| format!("{}  ", origin.short()))
}

/// A line about a load or store, which is called `named`.
fn render_access(load: &LoadReport, named: &str) -> String {
    let mut out = format!("  line {:>5}  {}{named:<9} ", load.line, origin(load.source.as_ref()));
    match load.decision {
        Decision::By(StrategyName::Paper) => {
            let (delta, line) = (load.delta.unwrap_or(0), load.source_line.unwrap_or(0));
            out += &format!("shuffle {delta:+} from line {line}");
            if let Some(guards) = load.guards.as_ref().filter(|guards| !guards.is_empty()) {
                out += &format!(" [{}]", guards.join(", "));
            }
        }
        Decision::By(name) => {
            out += load.decision.word();
            if let Some(delta) = load.delta {
                out += &format!(" {delta:+}");
            }
            if let Some(line) = load.source_line {
                let named = name.facts().named;
                out += &format!(" {named} line {line}");
            }
            if let Some(iterations) = load.iterations {
                let many = if iterations == 1 { "" } else { "s" };
                out += &format!(" of {iterations} iteration{many} before");
            }
            if let Some(guards) = load.guards.as_ref().filter(|guards| !guards.is_empty()) {
                out += &format!(" [{}]", guards.join(", "));
            }
        }
        // An error in the body is the reason for all its loads: the first line names it.
        Decision::Keep => {
            let reason = load.reason.as_deref().and_then(|reason| reason.lines().next());
            out += &format!("keep: {}", reason.unwrap_or(""));
        }
    }
    // The reason for a load that is kept has them.
    if let Some(cost) = load.cost.filter(|_| load.decision != Decision::Keep) {
        out += &format!(": {cost}");
    }
    if let Some(request) = load.request.as_ref().filter(|request| request.is_wasteful()) {
        out += &format!("; {}", request.sentence());
    }
    out.push('\n');
    out
}
