//! A few loads and shuffles in place of a row of loads.
//!
//! Once per function: for each distance d the number of the lane d further on, and whether the lane's
//! own number is below d. In front of the first tap one test, the same for all lanes: whether the
//! whole warp is there, consecutive in `tid.x`, no index wraps around, and addresses are aligned and global
//! as far as that is needed; if not, the untouched statements are performed. Then, unless nobody writes that memory, a barrier of the warp, and
//! another one behind the last tap; the load by all lanes, and
//! those of the bytes that follow 32 lanes further on, by as many of the first lanes as the row is long, or
//! that come 32 lanes before, by the last ones. For a tap each lane sends the value that the lane asking
//! it wants: that is what it has loaded beside its own if the asking lane is on the warp's other end. The lane
//! d before is the one 32 - d further on, as lanes are counted modulo 32.

use std::fmt::Write;

use super::taps::{Window, WindowValue};
use crate::rewrite::{Checks, Draft, Fresh};

/// The registers of a row: of each cell its lane's own, and what is loaded beside it further on and before.
struct Loaded {
    own: Vec<String>,
    ahead: Vec<String>,
    behind: Vec<String>,
}

/// Adds the edits for a row.
pub(super) fn replace(window: &Window, checks: &mut Checks<'_, '_>, edits: &mut Vec<Draft>) {
    let cells = window.widths.len();
    let mut loaded = Loaded {
        own: window.widths.iter().map(|bits| checks.fresh.bits(*bits)).collect(),
        ahead: vec![String::new(); cells],
        behind: vec![String::new(); cells],
    };
    let (base, offset) = &window.address;
    let at = |offset: i64| match offset {
        0 => base.clone(),
        _ => format!("{base}+{offset}"),
    };
    let into = |registers: &[String]| match registers {
        [single] => single.clone(),
        several => format!("{{{}}}", several.join(", ")),
    };
    let (opcode, own) = (&window.opcode, into(&loaded.own));
    let mut code = format!("{opcode} {own}, [{}];\n\t", at(*offset));
    for beyond in &window.beyond {
        let known = match beyond.lanes > 0 {
            true => &mut loaded.ahead,
            false => &mut loaded.behind,
        };
        for cell in beyond.cells.clone() {
            known[cell] = checks.fresh.bits(window.widths[cell]);
        }
        let (_, below) = checks.lanes_on(around(beyond.lanes));
        let sign = if beyond.lanes > 0 { "" } else { "!" };
        let _ = write!(
            code,
            "@{sign}{below} {} {}, [{}];\n\t",
            beyond.opcode,
            into(&known[beyond.cells.clone()]),
            at(offset + beyond.bytes),
        );
    }
    for tap in &window.taps {
        for filled in &tap.values {
            value(window, filled, &loaded, checks, &mut code);
        }
        let text = code.trim_end().to_owned();
        edits.push(Draft { range: tap.span.clone(), code: text });
        code = String::new();
    }
}

/// A distance as one upwards, lanes being counted modulo 32.
fn around(distance: i32) -> u32 {
    distance.rem_euclid(32).unsigned_abs()
}

/// The code that fills one register of a tap.
fn value(
    window: &Window,
    filled: &WindowValue,
    loaded: &Loaded,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) {
    let (register, bits) = (&filled.register, window.widths[filled.cell]);
    let own = &loaded.own[filled.cell];
    if filled.distance == 0 {
        let _ = write!(code, "mov.b{bits} {register}, {own};\n\t");
        return;
    }
    let (lane, below) = checks.lanes_on(around(filled.distance));
    let (when, otherwise) = match filled.distance > 0 {
        true => (&loaded.ahead[filled.cell], own),
        false => (own, &loaded.behind[filled.cell]),
    };
    let mask = checks.mask_of_row(window.place);
    let fresh = &mut checks.fresh;
    let sent = fresh.bits(bits);
    let _ = write!(code, "selp.b{bits} {sent}, {when}, {otherwise}, {below};\n\t");
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
