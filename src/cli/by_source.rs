//! `ptxasw run --profile --by source`: the cost of the memory accesses of each source line, those that waste most first.
//!
//! In: the events of PTX lines, and the ideal number of sectors or wavefronts of each access, as `lint` counts it. Out: a
//! row for each source line and unit, as a table for people, and as [`SourceProfile`] for JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::profile::LineProfile;
use crate::interp::Counters;
use crate::launch::Launch;
use crate::lint::{Options, Sources, lint};
use crate::source::SourceFile;
use crate::traffic::Assumed;

/// A unit that is counted: its name, requests, and units of a line.
type Unit = (&'static str, fn(&Counters) -> u64, fn(&Counters) -> u64);

const UNITS: [Unit; 4] = [
    ("sectors read", |c| c.global_load_requests, |c| c.global_load_sectors),
    ("sectors written", |c| c.global_store_requests, |c| c.global_store_sectors),
    ("wavefronts", |c| c.shared_requests, |c| c.shared_wavefronts),
    ("atomic passes", |c| c.atomic_requests, |c| c.atomic_passes),
];

/// The accesses of one unit that one source line was compiled to.
#[derive(Debug, Serialize)]
pub(super) struct SourceProfile {
    /// The file that they were compiled from; none without a `.loc`, then the line is that of the PTX.
    source_file: Option<String>,
    /// 1-based.
    source_line: u32,
    /// `sectors read`, `sectors written`, `wavefronts`, `atomic passes`.
    unit: &'static str,
    requests: u64,
    /// Units of all requests.
    count: u64,
    /// Units that would hold the same bytes, as far as these are known.
    ideal: u64,
    /// Units too many.
    waste: u64,
    /// Lines of the PTX.
    lines: Vec<u32>,
}

/// Rows for the lines of a run, those that waste most first.
pub(super) fn rows(
    source: &SourceFile,
    launch: &Launch,
    kernel: &str,
    lines: &[LineProfile],
) -> Vec<SourceProfile> {
    let ideal = ideals(source, launch, kernel);
    let mut rows: BTreeMap<(Option<&str>, u32, usize), SourceProfile> = BTreeMap::new();
    for line in lines {
        let (file, number) = match (&line.source_file, line.source_line) {
            (Some(file), Some(number)) => (Some(file.as_str()), number),
            _ => (None, line.line),
        };
        for (at, (unit, requests, count)) in UNITS.into_iter().enumerate() {
            let (requests, count) = (requests(&line.counters), count(&line.counters));
            if requests == 0 {
                continue;
            }
            let each =
                if unit == "atomic passes" { Some(1) } else { ideal.get(&line.line).copied() };
            // (What depends on data has no ideal number, and fewer lanes may need less.)
            let ideal = each.map_or(count, |each| (requests * each).min(count));
            let row = rows.entry((file, number, at)).or_insert_with(|| SourceProfile {
                source_file: file.map(str::to_owned),
                source_line: number,
                unit,
                requests: 0,
                count: 0,
                ideal: 0,
                waste: 0,
                lines: Vec::new(),
            });
            row.requests += requests;
            row.count += count;
            row.ideal += ideal;
            row.waste += count - ideal;
            row.lines.push(line.line);
        }
    }
    let mut rows: Vec<SourceProfile> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.waste, row.count)));
    rows
}

/// The ideal number of each PTX line's request, where it is known.
fn ideals(source: &SourceFile, launch: &Launch, kernel: &str) -> BTreeMap<u32, u64> {
    let block = Some(launch.block.map(u64::from));
    let assumed = Assumed { block, ..Assumed::default() };
    let options = Options { kernel: Some(kernel.to_owned()), assumed, ..Options::default() };
    let Ok(found) = lint(source, &options) else { return BTreeMap::new() };
    let mut ideal: BTreeMap<u32, u64> = BTreeMap::new();
    for access in found.kernels.iter().flat_map(|kernel| &kernel.accesses) {
        if let Some(counts) = access.request.counts() {
            let known = ideal.entry(access.line).or_default();
            *known = (*known).max(counts.ideal.into());
        }
    }
    ideal
}

/// A table with one row for each source line and unit.
pub(super) fn table(source: &SourceFile, rows: &[SourceProfile]) -> String {
    let mut sources = Sources::beside(source.name());
    let mut out = String::from(
        "memory accesses by source line, worst first\n  too many  requests  each  would do  of all  unit\n",
    );
    for row in rows {
        let SourceProfile { requests, count, ideal, waste, unit, source_line, .. } = row;
        let all: u64 =
            rows.iter().filter(|other| other.unit == *unit).map(|other| other.count).sum();
        let each = |number: u64| number as f64 / *requests as f64;
        let share = 100.0 * *count as f64 / all as f64;
        let _ = writeln!(
            out,
            "{waste:>10}{requests:>10}{:>6.1}{:>10.1}{share:>7.0}%  {unit}",
            each(*count),
            each(*ideal)
        );
        let (place, text) = match &row.source_file {
            Some(file) => {
                let text = sources.line(file, *source_line).unwrap_or_default();
                (
                    format!("{}:{source_line}", file.rsplit('/').next().unwrap_or(file)),
                    text.to_owned(),
                )
            }
            None => (
                format!("line {source_line} of the PTX"),
                source.line_text(*source_line).to_owned(),
            ),
        };
        let _ = writeln!(out, "            {place}  {}", text.trim());
    }
    out
}
