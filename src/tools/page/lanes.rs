//! A row of loads as a drawing: lanes against addresses, with the 128-byte lines under them.

use svg::Document;
use svg::node::element::{Group, Path, Rectangle, Title};

use super::drawing::{round, text};
use super::rows::{LANES, LINE, Row, RowLoad};
use super::words::counted;
use crate::report::Decision;
use crate::strategies::StrategyName;

const WIDTH: f64 = 1000.0;
const LABEL: f64 = 150.0;
const NOTE: f64 = 280.0;
const BAND: f64 = 20.0;
const HEAD: f64 = 22.0;

/// The most lines that a drawing shows; more would be too narrow to see.
const MOST_LINES: i64 = 24;

/// A row of loads as it stands in memory.
pub(super) struct Drawn {
    /// The drawing; `None` if the lanes lie too far apart for one.
    pub svg: Option<String>,
    /// The assumptions of the drawing, and its numbers.
    pub caption: String,
}

/// Draws a row.
pub(super) fn draw(row: &Row<'_>) -> Drawn {
    let phase = phase(row);
    let first = (row.lowest() + phase).div_euclid(LINE);
    let lines = (row.end() + phase - 1).div_euclid(LINE) - first + 1;
    let svg = (lines <= MOST_LINES).then(|| picture(row, phase, first, lines));
    Drawn { svg, caption: caption(row) }
}

/// Where in a line the source's lane 0 stands, so that the middle load of the row begins a line.
fn phase(row: &Row<'_>) -> i64 {
    let mut offsets: Vec<i64> = row.loads.iter().map(|load| load.offset).collect();
    offsets.sort_unstable();
    (-offsets[offsets.len() / 2]).rem_euclid(LINE)
}

fn picture(row: &Row<'_>, phase: i64, first: i64, lines: i64) -> String {
    let height = HEAD + row.loads.len() as f64 * BAND + 4.0;
    let scale = (WIDTH - LABEL - NOTE) / (lines * LINE) as f64;
    let x_of = |address: i64| round(LABEL + (address - first * LINE) as f64 * scale);
    let mut drawing = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("role", "img")
        .set("class", "lanes");
    for line in first..first + lines {
        let x = x_of(line * LINE);
        let class = if line.rem_euclid(2) == 0 { "line even" } else { "line odd" };
        let width = round(LINE as f64 * scale);
        drawing = drawing.add(
            Rectangle::new()
                .set("x", x)
                .set("y", HEAD - 4.0)
                .set("width", width)
                .set("height", height - HEAD + 4.0)
                .set("class", class),
        );
        // Numbers only where they do not run into each other.
        if width > 40.0 || line == first {
            drawing = drawing.add(text(x + 2.0, 12.0, format!("{:+}", line * LINE), "axis"));
        }
    }
    for (index, load) in row.loads.iter().enumerate() {
        let y = HEAD + index as f64 * BAND;
        drawing = drawing.add(band(row, load, phase, y, scale, &x_of));
    }
    drawing.to_string()
}

/// The band of one load: its lanes, and the lines that it touches.
fn band(
    row: &Row<'_>,
    load: &RowLoad<'_>,
    phase: i64,
    y: f64,
    scale: f64,
    x_of: &dyn Fn(i64) -> f64,
) -> Group {
    let loading = row.lanes_that_load(load);
    let served: Vec<i32> = (0..LANES).filter(|lane| !loading.contains(lane)).collect();
    let width = round((load.bytes() as f64 * scale - 1.0).max(0.8));
    let cells = |lanes: &[i32], class: &str| {
        let mut lanes = lanes.to_vec();
        // All lanes of a broadcast lie on one another.
        lanes.truncate(if row.stride == 0 { 1 } else { LANES as usize });
        let outline: String = lanes
            .iter()
            .map(|&lane| {
                let x = x_of(phase + load.offset + i64::from(lane) * row.stride);
                format!("M{x} {}h{width}v{}h-{width}z", y + 2.0, BAND - 5.0)
            })
            .collect();
        Path::new().set("d", outline).set("class", class)
    };
    let all: Vec<i32> = (0..LANES).collect();
    let before = row.lines(load, &all, phase).len();
    let after = row.lines(load, &loading, phase).len();
    let register = shortened(&load.load.register, 12);
    let mut group = Group::new().add(Title::new(hover(row, load))).add(text(
        0.0,
        y + 13.0,
        format!("{} {register}", load.load.line),
        "name",
    ));
    let note = if load.load.decision == Decision::By(StrategyName::Paper) {
        group = group.add(cells(&served, "cell served"));
        let delta = load.load.delta.unwrap_or(0);
        match loading.len() {
            0 => format!("Δ {delta:+}: {} → 0", counted(before, "line")),
            1 => format!("Δ {delta:+}: {} → {after} (1 lane loads)", counted(before, "line")),
            lanes => {
                format!("Δ {delta:+}: {} → {after} ({lanes} lanes load)", counted(before, "line"))
            }
        }
    } else {
        format!("the source: {}", counted(before, "line"))
    };
    if !loading.is_empty() {
        let class = if load.load.decision == Decision::By(StrategyName::Paper) {
            "cell corner"
        } else {
            "cell load"
        };
        group = group.add(cells(&loading, class));
    }
    group.add(text(WIDTH - NOTE + 12.0, y + 13.0, note, "note"))
}

fn hover(row: &Row<'_>, load: &RowLoad<'_>) -> String {
    let end = load.offset + i64::from(LANES - 1) * row.stride;
    format!(
        "line {}, {}: lane 0 at byte {:+}, lane 31 at byte {end:+} of the source's lane 0; {} bytes each",
        load.load.line,
        load.load.register,
        load.offset,
        load.bytes()
    )
}

fn caption(row: &Row<'_>) -> String {
    let sum: f64 = row.loads.iter().map(|load| row.mean_lines(load)).sum();
    let mean = sum / row.loads.len() as f64;
    let source = row.loads.first().map_or(0.0, |load| row.mean_lines(load));
    let stride = match row.stride {
        0 => "All lanes read the same address".to_owned(),
        stride => format!("{stride:+} bytes from lane to lane"),
    };
    let known = if row.stride_known { "" } else { ", taken from the width of the loads: no trace" };
    format!(
        "{stride}{known}. Drawn as if the middle load began a line; over all places in a line, the {} \
         loads touch {mean:.2} lines each, the source {source:.2}.",
        row.loads.len()
    )
}

/// The beginning of a text that is too long.
fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}
