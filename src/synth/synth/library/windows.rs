//! Windows over a row that a warp holds in two registers of each lane: taps come by shuffles.

use super::header::{Header, bracketed};
use super::movement::solve;
use super::notes::by_hand;
use crate::parallel;
use crate::synth::emit::Parts;

/// The radii for which there are functions.
pub const RADII: std::ops::RangeInclusive<i64> = 1..=8;

const TEST: &str = "tests/library.rs, windows_hold_what_a_loop_reads";

/// The functions: name without the radius that follows it, sketch, and purpose.
const SKETCHES: [(&str, &str, &str); 5] = [
    ("window", include_str!("window.sketch"), "The window of each lane"),
    (
        "convolve",
        include_str!("convolve.sketch"),
        "The sum of the window of each lane with weights",
    ),
    ("window_sum", include_str!("window_sum.sketch"), "The sum of the window of each lane"),
    ("window_max", include_str!("window_max.sketch"), "The largest of the window of each lane"),
    ("window_min", include_str!("window_min.sketch"), "The least of the window of each lane"),
];

/// The header.
///
/// # Errors
/// A window has no solution, or its code is wrong.
pub(super) fn header() -> Result<Header, String> {
    let radii: Result<Vec<(String, usize)>, String> =
        parallel::map(RADII, windows).into_iter().collect();
    let (by_hand, own) = by_hand(include_str!("windows.cuh"), "none but the test", TEST);
    let (texts, counts): (Vec<String>, Vec<usize>) = radii?.into_iter().unzip();
    let about = "Windows of radius 1 to 8 over a row, of elements of 4 or 8 bytes. A warp holds the 32 + 2 * R elements that \
                 its windows read, two in each lane (`windowR_load_row`, or `load_row<R>` at the end of an array): lane l \
                 has x[l] and x[32 + l]. Its window is x[l] to x[l + 2 * R], around x[l + R]: `windowR` gives all of it, \
                 `convolveR` its sum with weights, `window_sumR`, `window_maxR` and `window_minR` its sum, maximum and minimum. All lanes \
                 of a warp call them together, and `lane` is the number of the lane, 0 to 31.";
    let text = bracketed("windows.cuh", about, &["common.cuh"], &(texts.concat() + &by_hand));
    Ok(Header { file: "windows.cuh", text, functions: counts.iter().sum::<usize>() + own })
}

/// The functions for one radius, and how many there are.
fn windows(radius: i64) -> Result<(String, usize), String> {
    let mut text = format!("\n// Radius {radius}: windows of {} elements.\n", 2 * radius + 1);
    let mut functions = 0;
    for (kind, sketch, about) in SKETCHES {
        let (name, file) = (format!("{kind}{radius}"), format!("{kind}.sketch"));
        let solved = solve(&file, sketch, &[("R".to_owned(), radius)], &name)?;
        let solved = solved.ok_or_else(|| format!("{name}: the space is empty"))?;
        // One row serves all functions of a radius.
        let parts = Parts { loads: kind == "window", stores: false, warp: false };
        let (code, own) = solved.functions(parts, about, &solved.notes("", TEST))?;
        text.push_str(&code);
        functions += own;
    }
    Ok((text, functions))
}
