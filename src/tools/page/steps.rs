//! A solved sketch as a drawing: after each step a grid of lanes against registers, coloured by the element that is
//! there, and arrows from where each came.

use maud::{Markup, PreEscaped, html};
use svg::Document;
use svg::node::element::{Definitions, Group, Marker, Path, Rectangle, Title};

use super::drawing::{colour, round, text};
use super::input::{Solved, SolvedState};

const WIDTH: f64 = 1000.0;
const LABEL: f64 = 110.0;
const CELL: f64 = 14.0;
const HEAD: f64 = 20.0;
/// Between two grids, where the arrows are.
const GAP: f64 = 90.0;

/// The most arrows of one step; of more, every second, third, ... lane has some.
const MOST_ARROWS: usize = 512;

/// Draws a solved sketch.
pub(super) fn section(solved: &Solved) -> Markup {
    html! {
        section {
            h2 { "A solved sketch " span.file { (solved.file) } }
            p { "Lanes from left to right, registers from top to bottom. Equal colours are the same element of an input; an arrow leads from the register that a value is read from." }
            figure.wide { (PreEscaped(picture(solved))) }
        }
    }
}

/// How many lanes a state has.
fn lanes(state: &SolvedState) -> usize {
    state.values.iter().map(Vec::len).max().unwrap_or(0)
}

fn picture(solved: &Solved) -> String {
    let states = &solved.states;
    let lanes = states.iter().map(lanes).max().unwrap_or(0).max(1);
    let width = (WIDTH - LABEL) / lanes as f64;
    let elements = states.iter().flat_map(|state| &state.values).flatten().flatten();
    let count = elements.max().map_or(1, |most| most + 1);
    let mut tops: Vec<f64> = Vec::new();
    let mut y = 0.0;
    for state in states {
        tops.push(y + HEAD);
        y += HEAD + state.values.len() as f64 * CELL + GAP;
    }
    let height = (y - GAP).max(HEAD) + 4.0;
    let head = Marker::new()
        .set("id", "head")
        .set("viewBox", "0 0 6 6")
        .set("refX", 5)
        .set("refY", 3)
        .set("markerWidth", 5)
        .set("markerHeight", 5)
        .set("orient", "auto")
        .add(Path::new().set("d", "M0 0L6 3L0 6z").set("class", "arrowhead"));
    let mut drawing = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("role", "img")
        .set("class", "lanes steps")
        .add(Definitions::new().add(head));
    for (number, (state, &top)) in states.iter().zip(&tops).enumerate() {
        drawing = drawing.add(grid(state, top, width, count));
        let before = states[..number].iter().rposition(|before| before.array == state.from);
        if let Some(before) = before {
            let steps = (&states[before], state);
            drawing = drawing.add(arrows(steps, (tops[before], top), width, count));
        }
    }
    // Over the arrows, which would run through the words.
    for (state, top) in states.iter().zip(&tops) {
        drawing = drawing.add(text(0.0, top - 6.0, title(solved, state), "title"));
    }
    drawing.to_string()
}

/// The title above a grid.
fn title(solved: &Solved, state: &SolvedState) -> String {
    let found = solved.holes.iter().filter(|hole| hole.line == state.line);
    let found: Vec<&str> = found.map(|hole| hole.expression.as_str()).collect();
    match found.as_slice() {
        [] => format!("{} from {}, line {}", state.array, state.from, state.line),
        found => format!(
            "{} from {}, line {}: {}",
            state.array,
            state.from,
            state.line,
            found.join("; ")
        ),
    }
}

fn grid(state: &SolvedState, top: f64, width: f64, count: u32) -> Group {
    let mut group = Group::new();
    for (register, row) in state.values.iter().enumerate() {
        let y = round(top + register as f64 * CELL);
        group = group.add(text(0.0, y + 11.0, format!("register {register}"), "axis"));
        for (lane, element) in row.iter().enumerate() {
            let fill = element.map_or("none".to_owned(), |element| colour(element, count));
            let what = match element {
                Some(element) => format!("lane {lane}, register {register}: element {element}"),
                None => format!("lane {lane}, register {register}: undefined"),
            };
            let cell = Rectangle::new()
                .set("x", round(LABEL + lane as f64 * width))
                .set("y", y)
                .set("width", round(width - 1.0))
                .set("height", CELL - 1.0)
                .set("fill", fill)
                .set("class", "held")
                .add(Title::new(what));
            group = group.add(cell);
        }
    }
    group
}

/// The arrows between two grids, from the height where one ends to the height where the other begins. Each register has
/// its own place within the width of its lane, so that moves inside a thread are visible, too.
fn arrows(
    (before, state): (&SolvedState, &SolvedState),
    (from, to): (f64, f64),
    width: f64,
    count: u32,
) -> Group {
    let all: usize = state.sources.iter().map(Vec::len).sum();
    let every = all.div_ceil(MOST_ARROWS).max(1);
    let across = |lane: f64, register: f64, registers: usize| {
        round(LABEL + lane * width + (width - 1.0) * (register + 0.5) / registers.max(1) as f64)
    };
    let below = round(from + before.values.len() as f64 * CELL);
    let mut group = Group::new().set("class", "arrows");
    for (register, row) in state.sources.iter().enumerate() {
        for (lane, source) in row.iter().enumerate().step_by(every) {
            let (Some([source_lane, source_register]), Some(element)) =
                (source, state.values[register].get(lane).copied().flatten())
            else {
                continue;
            };
            let (source_lane, source) = (f64::from(*source_lane), f64::from(*source_register));
            // Straight down out of the one grid, across the gap, and straight down into the other.
            let way = format!(
                "M{} {}V{below}L{} {to}V{}",
                across(source_lane, source, before.values.len()),
                round(from + (source + 0.5) * CELL),
                across(lane as f64, register as f64, state.values.len()),
                round(to + (register as f64 + 0.5) * CELL),
            );
            let arrow = Path::new()
                .set("d", way)
                .set("stroke", colour(element, count))
                .set("marker-end", "url(#head)");
            group = group.add(arrow);
        }
    }
    group
}
