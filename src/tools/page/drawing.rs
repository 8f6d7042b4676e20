//! What all drawings are made of: text, colours, rounded numbers.

use svg::node::element::Text;

/// A text whose line stands at `y`, with a class of `style.css`.
pub(super) fn text(x: f64, y: f64, content: impl Into<String>, class: &str) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y)).set("class", class)
}

/// The colour of one of several things.
pub(super) fn colour(number: u32, count: u32) -> String {
    format!("hsl({} 65% {}%)", number * 330 / count, 45 + number % 3 * 7)
}

/// Tenths of a unit are enough.
pub(super) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
