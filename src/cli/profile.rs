//! `ptxasw run --profile`: the events of a run, line by line.
//!
//! In: the counters of single instructions. Out: their sums for each line of the PTX text, as a table
//! for people, and as [`LineProfile`] for JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::interp::{Counters, InstructionProfile, RequestCosts};
use crate::ptx::Module;
use crate::report::{Origin, Origins};
use crate::source::SourceFile;

/// The events of one line of PTX.
#[derive(Debug, Serialize)]
pub(super) struct LineProfile {
    /// 1-based line of the PTX text.
    pub line: u32,
    /// The kernel or function.
    function: String,
    /// The file that the line was compiled from, if a `.loc` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// The 1-based line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<u32>,
    /// The events.
    #[serde(flatten)]
    pub counters: Counters,
    /// Requests of full warps, if the line has some: sectors of global memory, or wavefronts of shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_requests: Option<RequestCosts>,
}

/// Adds up the counters of the instructions on each line. Lines come in ascending order; a line that
/// was not executed is left out.
pub(super) fn by_line(
    source: &SourceFile,
    module: &Module<'_>,
    found: &[InstructionProfile],
) -> Vec<LineProfile> {
    let origins = Origins::of(source, module);
    let mut lines: BTreeMap<u32, LineProfile> = BTreeMap::new();
    for instruction in found {
        let line = source.line(instruction.span.start);
        let entry = lines.entry(line).or_insert_with(|| {
            let origin = origins.at(instruction.span);
            let place = origin.as_ref().map(Origin::in_program);
            LineProfile {
                line,
                function: instruction.function.clone(),
                source_line: place.map(|(_, line)| line),
                source_file: place.map(|(file, _)| file.to_owned()),
                counters: Counters::default(),
                full_requests: None,
            }
        });
        entry.counters.add(&instruction.counters);
        entry.full_requests = Some(entry.counters.single.full).filter(|full| full.requests > 0);
    }
    lines.into_values().collect()
}

/// A column: its heading, and the counter that it shows.
type Column = (&'static str, fn(&Counters) -> u64);

const COLUMNS: [Column; 15] = [
    ("instr", |c| c.instructions),
    ("lanes", |c| c.lane_instructions.checked_div(c.instructions).unwrap_or(0)),
    ("ld req", |c| c.global_load_requests),
    ("ld wave", |c| c.global_load_wavefronts),
    ("ld sect", |c| c.global_load_sectors),
    ("st req", |c| c.global_store_requests),
    ("st wave", |c| c.global_store_wavefronts),
    ("st sect", |c| c.global_store_sectors),
    ("shared", |c| c.shared_requests),
    ("sh wave", |c| c.shared_wavefronts),
    ("atom", |c| c.atomic_requests),
    ("at pass", |c| c.atomic_passes),
    ("shfl", |c| c.shuffles),
    ("branch", |c| c.branches),
    ("diverge", |c| c.divergent_branches),
];

/// The most characters of a line of PTX that the table shows.
const SHOWN: usize = 72;

/// A table with one row for each line; a zero is left blank.
pub(super) fn table(source: &SourceFile, lines: &[LineProfile]) -> String {
    let mut out = String::from("profile (per warp instruction; lanes: active on average):\n line");
    for (heading, _) in COLUMNS {
        let _ = write!(out, " {heading:>8}");
    }
    out.push('\n');
    let mut origin = None;
    for entry in lines {
        let here = (entry.source_file.as_deref(), entry.source_line);
        if here.1.is_some() && origin != Some(here) {
            let _ = writeln!(out, "{}:{}", here.0.unwrap_or("?"), here.1.unwrap_or(0));
            origin = Some(here);
        }
        let _ = write!(out, "{:5}", entry.line);
        for (_, value) in COLUMNS {
            let value = value(&entry.counters);
            let shown = if value == 0 { String::new() } else { value.to_string() };
            let _ = write!(out, " {shown:>8}");
        }
        let text = source.line_text(entry.line).split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(SHOWN).collect();
        let _ = writeln!(out, "  {text}");
    }
    out
}
