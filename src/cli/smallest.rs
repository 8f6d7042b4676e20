//! The inputs of a witness that matter: as many others as possible get one and the same number.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// The number that inputs get which do not matter.
pub(super) const NEUTRAL: f64 = 0.5;

/// More inputs than this are not shown.
const MAX_SHOWN: usize = 8;

/// The numbers of the symbolic buffers, by name.
pub(super) type Numbers = BTreeMap<String, Vec<f64>>;

/// A witness of few inputs.
#[derive(Debug, Serialize)]
pub(super) struct Smallest {
    buffer: String,
    index: u64,
    original: Box<RawValue>,
    rewritten: Box<RawValue>,
    /// The inputs that matter.
    inputs: Vec<Input>,
    /// The number that all others have.
    others: f64,
}

/// An input that matters.
#[derive(Clone, Debug, Serialize)]
struct Input {
    buffer: String,
    index: usize,
    value: f64,
}

/// An element that differs: its buffer, its index, both values.
pub(super) type Difference = (String, u64, [Box<RawValue>; 2]);

/// Neutralises inputs in halves, quarters, ... as long as some element differs; none if many inputs are needed, or more than
/// `runs` runs.
pub(super) fn smallest(
    mut numbers: Numbers,
    mut runs: u64,
    run: impl Fn(&Numbers) -> Option<Difference>,
) -> Option<Smallest> {
    let mut left: Vec<(String, usize)> = numbers
        .iter()
        .flat_map(|(name, values)| (0..values.len()).map(move |index| (name.clone(), index)))
        .collect();
    let mut found = None;
    let mut size = left.len();
    while size > 0 {
        let mut kept = Vec::new();
        for part in left.chunks(size) {
            runs = runs.checked_sub(1)?;
            let mut tried = numbers.clone();
            for (name, index) in part {
                if let Some(values) = tried.get_mut(name) {
                    values[*index] = NEUTRAL;
                }
            }
            match run(&tried) {
                Some(difference) => {
                    found = Some(difference);
                    numbers = tried;
                }
                None => kept.extend_from_slice(part),
            }
        }
        left = kept;
        size = if size == 1 { 0 } else { size.div_ceil(2).min(left.len()) };
    }
    let (buffer, index, [original, rewritten]) = found?;
    if left.len() > MAX_SHOWN {
        return None;
    }
    let input = |(buffer, index): (String, usize)| {
        let value = numbers.get(&buffer).map_or(NEUTRAL, |values| values[index]);
        Input { buffer, index, value }
    };
    let inputs = left.into_iter().map(input).collect();
    Some(Smallest { buffer, index, original, rewritten, inputs, others: NEUTRAL })
}
