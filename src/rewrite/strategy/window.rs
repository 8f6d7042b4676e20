//! Two loads and shuffles in place of a row of loads.
//!
//! Once per function: for each distance d the number of the lane d further on, and whether the lane's
//! own number is below d. In front of the first tap one test, the same for all lanes: whether the
//! whole warp is there, consecutive in `tid.x`, and no index wraps around; if not, the untouched
//! statements are performed. Then the first load by all lanes, and the second, of the bytes that
//! follow 32 lanes further on, by as many lanes as the row is long. For a tap each lane sends the
//! value that the lane asking it wants: the first lanes send the value of the second load.

use std::fmt::Write;

use crate::rewrite::checks::Checks;
use crate::rewrite::edit::Edit;
use crate::rewrite::names::Fresh;
use crate::rewrite::plan::KernelPlan;
use crate::rewrite::taps::{WarpTest, Window, WindowTap};

/// Adds the edits for rows of taps.
pub(super) fn edits(plan: &KernelPlan<'_>, checks: &mut Checks<'_, '_>, edits: &mut Vec<Edit>) {
    for window in &plan.windows {
        replace(window, checks, edits);
    }
}

/// The code of a test, and the predicate with its outcome, which is one for the warp.
pub(super) fn test(test: &WarpTest, checks: &mut Checks<'_, '_>) -> (String, String) {
    let mut code = String::new();
    let predicate = checks.of_warp(test, &mut code);
    (code, predicate)
}

fn replace(window: &Window, checks: &mut Checks<'_, '_>, edits: &mut Vec<Edit>) {
    let mut loaded =
        || -> Vec<String> { window.widths.iter().map(|bits| checks.fresh.bits(*bits)).collect() };
    let (near, far) = (loaded(), loaded());
    let (base, offset) = &window.address;
    let at = |offset: i64| match offset {
        0 => base.clone(),
        _ => format!("{base}+{offset}"),
    };
    let into = |registers: &[String]| match registers {
        [single] => single.clone(),
        several => format!("{{{}}}", several.join(", ")),
    };
    let (_, below) = checks.lanes_on(window.span);
    let mut code = format!(
        "{opcode} {}, [{}];\n\t@{below} {opcode} {}, [{}];\n\t",
        into(&near),
        at(*offset),
        into(&far),
        at(offset + window.beyond),
        opcode = window.opcode,
    );
    for tap in &window.taps {
        for (index, register) in tap.registers.iter().enumerate() {
            let (near, far) = (&near[index], &far[index]);
            value(window, tap, (register, window.widths[index]), (near, far), checks, &mut code);
        }
        let text = code.trim_end().to_owned();
        edits.push(Edit { range: tap.span.clone(), text });
        code = String::new();
    }
}

/// The code that fills one register of a tap.
fn value(
    window: &Window,
    tap: &WindowTap,
    (register, bits): (&str, u32),
    (near, far): (&str, &str),
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) {
    if tap.distance == 0 {
        let _ = write!(code, "mov.b{bits} {register}, {near};\n\t");
        return;
    }
    let (lane, below) = checks.lanes_on(tap.distance);
    let mask = checks.mask_of_row(window.place);
    let fresh = &mut checks.fresh;
    let sent = fresh.bits(bits);
    let _ = write!(code, "selp.b{bits} {sent}, {far}, {near}, {below};\n\t");
    let shuffle = |word: &str, fresh: &mut Fresh<'_>, code: &mut String| {
        let received = fresh.word();
        let _ = write!(code, "shfl.sync.idx.b32 {received}, {word}, {lane}, 31, {mask};\n\t");
        received
    };
    let _ = match bits {
        16 => {
            let (word, unused) = (fresh.word(), fresh.bits(16));
            let _ = write!(code, "mov.b32 {word}, {{{sent}, {sent}}};\n\t");
            let received = shuffle(&word, fresh, code);
            write!(code, "mov.b32 {{{register}, {unused}}}, {received};\n\t")
        }
        64 => {
            let (low, high) = (fresh.word(), fresh.word());
            let _ = write!(code, "mov.b64 {{{low}, {high}}}, {sent};\n\t");
            let (low, high) = (shuffle(&low, fresh, code), shuffle(&high, fresh, code));
            write!(code, "mov.b64 {register}, {{{low}, {high}}};\n\t")
        }
        _ => {
            let received = shuffle(&sent, fresh, code);
            write!(code, "mov.b32 {register}, {received};\n\t")
        }
    };
}
