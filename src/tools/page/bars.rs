//! Speed-ups as bars with their intervals, one group for each kernel (the paper's figure 2).

use svg::Document;
use svg::node::element::{Group as Node, Line, Rectangle, Text, Title};

use super::drawing::round;
use crate::ab::measurement::{Measurement, Variant};

/// Units of a drawing; one is a pixel where the page is wide enough.
const WIDTH: f64 = 1000.0;
const LABEL: f64 = 190.0;
const NOTE: f64 = 330.0;
const BAR: f64 = 15.0;
const GAP: f64 = 10.0;
const AXIS: f64 = 26.0;

/// Characters of a label that fit beside the bars.
const LABEL_LENGTH: usize = 24;

/// Draws measurements on one device, one below the other.
pub(super) fn chart(measurements: &[&Measurement]) -> String {
    let bars: usize = measurements.iter().map(|measurement| measurement.variants.len()).sum();
    let groups = measurements.len() as f64;
    let height = AXIS + bars as f64 * BAR + groups * (BAR + GAP);
    let most = measurements
        .iter()
        .flat_map(|measurement| &measurement.variants)
        .map(|variant| high(variant).max(speedup(variant)))
        .filter(|value| value.is_finite())
        .fold(1.2, f64::max);
    let scale = (WIDTH - LABEL - NOTE) / most;
    let mut drawing = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("role", "img")
        .set("class", "bars")
        .add(axis(most, scale, height));
    let mut y = AXIS;
    for measurement in measurements {
        y += GAP;
        drawing = drawing.add(label(0.0, y + 11.0, &heading(measurement), "group", 90));
        y += BAR;
        for variant in &measurement.variants {
            drawing = drawing.add(bar(variant, y, scale));
            y += BAR;
        }
    }
    drawing.to_string()
}

/// The kernel and the size of the launch.
fn heading(measurement: &Measurement) -> String {
    let size = |shape: &[u32; 3]| {
        let used = shape.iter().rposition(|&n| n != 1).map_or(1, |last| last + 1);
        shape[..used].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
    };
    match measurement.grid {
        [0, ..] => measurement.kernel.clone(),
        grid => {
            let (grid, block) = (size(&grid), size(&measurement.block));
            format!("{}: {grid} blocks of {block}", measurement.kernel)
        }
    }
}

fn speedup(variant: &Variant) -> f64 {
    variant.against.as_ref().map_or(1.0, |against| against.speedup)
}

fn high(variant: &Variant) -> f64 {
    let interval = variant.against.as_ref().and_then(|against| against.interval);
    interval.map_or(0.0, |interval| interval.high)
}

/// One bar: a rectangle, the interval as a line with ends, and the numbers.
fn bar(variant: &Variant, y: f64, scale: f64) -> Node {
    let value = speedup(variant);
    let width = if value.is_finite() { (value * scale).max(0.0) } else { 0.0 };
    let middle = y + BAR / 2.0;
    let mut node = Node::new()
        .add(label(LABEL - 8.0, middle + 4.0, &variant.name, "name end", LABEL_LENGTH))
        .add(
            Rectangle::new()
                .set("x", LABEL)
                .set("y", y + 2.0)
                .set("width", round(width))
                .set("height", BAR - 4.0)
                .set("class", class(&variant.name)),
        );
    let mut note = format!("{:.2} us", variant.median_us);
    if let Some(against) = &variant.against {
        note = format!("{value:.3}");
        if let Some(interval) = against.interval {
            let (low, high) =
                (round(LABEL + interval.low * scale), round(LABEL + interval.high * scale));
            let whisker = |x1: f64, y1: f64, x2: f64, y2: f64| {
                let line = Line::new().set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2);
                line.set("class", "whisker")
            };
            node = node
                .add(whisker(low, middle, high, middle))
                .add(whisker(low, middle - 4.0, low, middle + 4.0))
                .add(whisker(high, middle - 4.0, high, middle + 4.0));
            note += &format!(" [{:.3}, {:.3}]", interval.low, interval.high);
        }
        // A variant that computes something else shows a cost, and gets no verdict.
        note += &match against.identical_output {
            true => format!(" {}", against.verdict),
            false => " other output".to_owned(),
        };
    }
    let x = WIDTH - NOTE + 12.0;
    node.add(label(x, middle + 4.0, &note, "note", 48))
}

fn axis(most: f64, scale: f64, height: f64) -> Node {
    let step = step(most);
    let mut node = Node::new().add(label(0.0, 12.0, "speed-up over the original", "axis", 40));
    let count = (most / step).floor() as usize;
    for tick in 0..=count {
        let value = tick as f64 * step;
        let x = round(LABEL + value * scale);
        let class = if (value - 1.0).abs() < 1e-9 { "one" } else { "grid" };
        let line = Line::new().set("x1", x).set("x2", x).set("y1", AXIS - 6.0).set("y2", height);
        node = node.add(line.set("class", class)).add(label(
            x,
            12.0,
            &format!("{value}"),
            "axis middle",
            8,
        ));
    }
    node
}

/// A distance between ticks that makes four to ten of them.
fn step(most: f64) -> f64 {
    let magnitude = 10_f64.powf((most / 5.0).log10().floor());
    let wanted = most / 5.0 / magnitude;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|&factor| factor >= wanted);
    // A power of ten is a multiple of any such step, so that there is a tick at 1.
    magnitude * factor.unwrap_or(10.0)
}

/// A text that ends with dots if it is too long; it is shown in full on hover.
fn label(x: f64, y: f64, text: &str, class: &str, length: usize) -> Text {
    let shown = if text.chars().count() > length {
        text.chars().take(length - 1).chain(['…']).collect()
    } else {
        text.to_owned()
    };
    let node = Text::new(shown.clone()).set("x", x).set("y", y).set("class", class);
    if shown == text { node } else { node.add(Title::new(text)) }
}

/// The colour of a variant; all variants that are neither modes nor the default share one.
fn class(name: &str) -> &'static str {
    match name {
        "original" => "bar original",
        "no-load" => "bar no-load",
        "no-corner" => "bar no-corner",
        "full" => "bar full",
        "auto" => "bar auto",
        _ => "bar other",
    }
}
