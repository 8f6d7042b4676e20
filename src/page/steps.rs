//! A solved sketch as a drawing: after each step a grid of lanes against registers, coloured by the element that is
//! there, and arrows from where each came.

use maud::{Markup, PreEscaped, html};
use svg::Document;
use svg::node::element::{Definitions, Group, Line, Marker, Path, Rectangle, Text, Title};

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
pub fn section(solved: &Solved) -> Markup {
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
        .set("class", "lanes")
        .add(Definitions::new().add(head));
    for (number, (state, &top)) in states.iter().zip(&tops).enumerate() {
        drawing = drawing.add(grid(solved, state, top, width, count));
        let before = states[..number].iter().rposition(|before| before.array == state.from);
        if let Some(before) = before {
            drawing = drawing.add(arrows(state, (tops[before], top), width, count));
        }
    }
    drawing.to_string()
}

/// The colour of an element among so many.
fn colour(element: u32, count: u32) -> String {
    format!("hsl({} 65% {}%)", element * 330 / count, 45 + element % 3 * 7)
}

fn grid(solved: &Solved, state: &SolvedState, top: f64, width: f64, count: u32) -> Group {
    let found = solved.holes.iter().filter(|hole| hole.line == state.line);
    let found: Vec<&str> = found.map(|hole| hole.expression.as_str()).collect();
    let title = match found.as_slice() {
        [] => format!("{} from {}, line {}", state.array, state.from, state.line),
        found => format!(
            "{} from {}, line {}: {}",
            state.array,
            state.from,
            state.line,
            found.join("; ")
        ),
    };
    let mut group = Group::new().add(text(0.0, top - 6.0, title, "name"));
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

fn arrows(state: &SolvedState, (from, to): (f64, f64), width: f64, count: u32) -> Group {
    let all: usize = state.sources.iter().map(Vec::len).sum();
    let every = all.div_ceil(MOST_ARROWS).max(1);
    let middle = |lane: f64| round(LABEL + (lane + 0.5) * width - 0.5);
    let mut group = Group::new().set("class", "arrows");
    for (register, row) in state.sources.iter().enumerate() {
        for (lane, source) in row.iter().enumerate().step_by(every) {
            let (Some([source_lane, source_register]), Some(element)) =
                (source, state.values[register].get(lane).copied().flatten())
            else {
                continue;
            };
            let arrow = Line::new()
                .set("x1", middle(f64::from(*source_lane)))
                .set("y1", round(from + (f64::from(*source_register) + 0.8) * CELL))
                .set("x2", middle(lane as f64))
                .set("y2", round(to + (register as f64 + 0.3) * CELL))
                .set("stroke", colour(element, count))
                .set("marker-end", "url(#head)");
            group = group.add(arrow);
        }
    }
    group
}

fn text(x: f64, y: f64, content: String, class: &str) -> Text {
    Text::new(content).set("x", x).set("y", round(y)).set("class", class)
}

/// Tenths of a unit are enough.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
