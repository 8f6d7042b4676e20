//! Rows of loads: a source and the loads that take their values from it.
//!
//! In: the decisions about a kernel's loads, and the lane strides of its trace. Out: for each row the
//! addresses of every load's lanes, relative to the row, and the lines of memory that they touch.

use std::collections::BTreeMap;

use super::input::Access;
use crate::report::{Decision, LoadReport};
use crate::strategies::StrategyName;

/// Lanes of a warp.
pub const LANES: i32 = 32;

/// Bytes of a line of the L1 cache; a request costs one wavefront for each line that it touches.
pub const LINE: i64 = 128;

/// The widest stride, in bytes, that a row may have.
const WIDEST: u64 = 1 << 32;

/// The widest load that there is, in bytes.
const MOST_BYTES: u32 = 64;

/// A source load and the loads that it serves.
#[derive(Debug)]
pub struct Row<'l> {
    /// Bytes from one lane's address to the next one's.
    pub stride: i64,
    /// Whether the stride comes from the trace, and not just from the width of the loads.
    pub stride_known: bool,
    /// The source first, then the loads it serves, in the order of the text.
    pub loads: Vec<RowLoad<'l>>,
}

/// A load of a row.
#[derive(Debug)]
pub struct RowLoad<'l> {
    /// The decision about the load.
    pub load: &'l LoadReport,
    /// Lane 0's address minus that of the source's lane 0.
    pub offset: i64,
}

/// Finds the rows: each kept load that others take values from, with those others.
pub fn rows<'l>(loads: &'l [LoadReport], accesses: &BTreeMap<u32, &Access>) -> Vec<Row<'l>> {
    let mut rows: Vec<Row<'l>> = Vec::new();
    for source in loads {
        let served: Vec<(&LoadReport, i64)> = loads
            .iter()
            .filter(|load| {
                load.decision == Decision::By(StrategyName::Paper)
                    && load.source_line == Some(source.line)
            })
            .map(|load| (load, i64::from(load.delta.unwrap_or(0).clamp(1 - LANES, LANES - 1))))
            .collect();
        // A report does not tell several loads on a line apart; one row stands for them.
        let is_new = rows.iter().all(|row| row.loads[0].load.line != source.line);
        if source.decision != Decision::Keep || served.is_empty() || !is_new {
            continue;
        }
        let known = accesses.get(&source.line).and_then(|access| access.lane_stride);
        let known = known.filter(|stride| stride.unsigned_abs() <= WIDEST);
        let stride = known.unwrap_or(i64::from(source.bytes));
        let mut row = vec![RowLoad { load: source, offset: 0 }];
        row.extend(
            served.into_iter().map(|(load, delta)| RowLoad { load, offset: delta * stride }),
        );
        rows.push(Row { stride, stride_known: known.is_some(), loads: row });
    }
    rows
}

impl RowLoad<'_> {
    /// Bytes of each lane, at least 1.
    pub fn bytes(&self) -> i64 {
        i64::from(self.load.bytes.clamp(1, MOST_BYTES))
    }
}

impl Row<'_> {
    /// The lowest address of any lane of any load.
    pub fn lowest(&self) -> i64 {
        let last = self.stride * i64::from(LANES - 1);
        self.loads.iter().map(|load| load.offset + last.min(0)).min().unwrap_or(0)
    }

    /// One past the highest byte of any lane of any load.
    pub fn end(&self) -> i64 {
        let last = self.stride * i64::from(LANES - 1);
        let end = |load: &RowLoad<'_>| load.offset + last.max(0) + load.bytes();
        self.loads.iter().map(end).max().unwrap_or(0)
    }

    /// The lanes of a load that have no source lane in the warp and load for themselves; for the
    /// source, all lanes.
    pub fn lanes_that_load(&self, load: &RowLoad<'_>) -> Vec<i32> {
        match (load.load.decision, load.load.delta) {
            (Decision::By(StrategyName::Paper), Some(delta)) => {
                let inside = |lane: i32| (0..LANES).contains(&lane.saturating_add(delta));
                (0..LANES).filter(|&lane| !inside(lane)).collect()
            }
            _ => (0..LANES).collect(),
        }
    }

    /// The lines that these lanes of a load touch if the source's lane 0 stands `phase` bytes into a
    /// line.
    pub fn lines(&self, load: &RowLoad<'_>, lanes: &[i32], phase: i64) -> Vec<i64> {
        let bytes = load.bytes();
        let mut lines: Vec<i64> = lanes
            .iter()
            .flat_map(|lane| {
                let first = phase + load.offset + i64::from(*lane) * self.stride;
                first.div_euclid(LINE)..=(first + bytes - 1).div_euclid(LINE)
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The mean number of lines that all lanes of a load touch, over every place in a line where an
    /// element of its size may stand.
    pub fn mean_lines(&self, load: &RowLoad<'_>) -> f64 {
        let lanes: Vec<i32> = (0..LANES).collect();
        let step = load.bytes() as usize;
        let phases: Vec<i64> = (0..LINE).step_by(step).collect();
        let sum: usize = phases.iter().map(|&at| self.lines(load, &lanes, at).len()).sum();
        sum as f64 / phases.len() as f64
    }
}
