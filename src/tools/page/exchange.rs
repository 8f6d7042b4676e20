//! A collective as a drawing: lanes from left to right, steps from top to bottom, and a line from each lane to where its
//! value goes.

use svg::Document;
use svg::node::element::{Group, Path, Rectangle, Title};

use super::drawing::{colour, round, text};
use crate::isa::limits::WARP_SIZE;
use crate::report::{CollectiveReport, CollectiveStep};

const WIDTH: f64 = 1000.0;
const LABEL: f64 = 110.0;
const CELL: f64 = 12.0;
/// Between two rows of lanes, where the lines are.
const GAP: f64 = 44.0;

/// How many lanes a warp has.
const LANES: usize = WARP_SIZE as usize;

/// The width of a lane.
const LANE: f64 = (WIDTH - LABEL) / LANES as f64;

/// Draws the steps of a collective; `None` if they are not known.
pub(super) fn draw(one: &CollectiveReport) -> Option<String> {
    if one.steps.is_empty() {
        return None;
    }
    let rows = one.steps.len() + 1;
    let height = top(rows - 1) + CELL + 4.0;
    let mut drawing = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("role", "img")
        .set("class", "lanes");
    for row in 0..rows {
        drawing = drawing.add(lanes(row));
    }
    for (row, step) in one.steps.iter().enumerate() {
        drawing = drawing.add(moves(row, step));
        let label = format!("line {}", step.line);
        drawing = drawing.add(text(0.0, top(row) + CELL + GAP / 2.0 + 4.0, label, "axis"));
    }
    // (Some have no register of their own.)
    if !one.of.is_empty() {
        drawing = drawing.add(text(0.0, top(0) + CELL - 1.0, &*one.of, "axis"));
        drawing = drawing.add(text(0.0, top(rows - 1) + CELL - 1.0, &*one.register, "axis"));
    }
    Some(drawing.to_string())
}

/// Where a row of lanes begins.
fn top(row: usize) -> f64 {
    row as f64 * (CELL + GAP)
}

/// The left end of a lane.
fn left(lane: usize) -> f64 {
    LABEL + lane as f64 * LANE
}

fn lanes(row: usize) -> Group {
    (0..LANES).fold(Group::new(), |group, lane| {
        let cell = Rectangle::new()
            .set("x", round(left(lane)))
            .set("y", round(top(row)))
            .set("width", round(LANE - 1.0))
            .set("height", CELL)
            .set("fill", colour(lane as u32, WARP_SIZE))
            .set("class", "held")
            .add(Title::new(format!("lane {lane}")));
        group.add(cell)
    })
}

/// The lines from lanes to others; none where a lane has its own value.
fn moves(row: usize, step: &CollectiveStep) -> Group {
    let moved = step.sources.iter().map(|source| usize::from(*source)).enumerate();
    let others = moved.filter(|(lane, source)| lane != source && *source < LANES);
    others.fold(Group::new().set("class", "arrows"), |group, (lane, source)| {
        let middle = |lane| round(left(lane) + (LANE - 1.0) / 2.0);
        let way = format!(
            "M{} {}L{} {}",
            middle(source),
            round(top(row) + CELL),
            middle(lane),
            round(top(row + 1))
        );
        let title = Title::new(format!("lane {source} to lane {lane}"));
        group.add(
            Path::new().set("d", way).set("stroke", colour(source as u32, WARP_SIZE)).add(title),
        )
    })
}
