//! A few loads and shuffles in place of a row of loads.
//!
//! Once per function: for each distance d the number of the lane d further on, and whether the lane's own number is
//! below d. In front of the first tap one test, the same for all lanes: whether the whole warp is there, consecutive in
//! `tid.x`, no index wraps around, and addresses are aligned and global as far as that is needed; if not, the untouched
//! statements are performed. Then, unless no thread writes that memory, a barrier of the warp, and another one behind
//! the last tap. All lanes load their own cells. In addition the first lanes, as many as the row is long, load the
//! bytes 32 lanes further on, or the last ones those 32 lanes before. For a tap each lane sends the value for its
//! receiving lane: the additional one if the receiving lane is on the warp's other end. The lane d before is the one 32
//! - d further on, as lanes are counted modulo 32.

use super::taps::{Window, WindowValue};
use crate::isa::ScalarType;
use crate::ptx::write::{Code, Reg, memory, op, vector};
use crate::rewrite::{Checks, Draft};

/// The registers of a row: for each cell the lane's own value, and the ones loaded 32 lanes further on and 32 lanes
/// before.
struct Loaded {
    own: Vec<Reg>,
    ahead: Vec<Reg>,
    behind: Vec<Reg>,
}

/// Adds the edits for a row.
pub(super) fn replace(window: &Window, checks: &mut Checks<'_>, edits: &mut Vec<Draft>) {
    let cells = window.widths.len();
    // (No assembler takes it.)
    let nothing = Reg::named(ScalarType::B32, "");
    let mut loaded = Loaded {
        own: window.widths.iter().map(|bits| checks.fresh.bits(*bits)).collect(),
        ahead: vec![nothing.clone(); cells],
        behind: vec![nothing; cells],
    };
    let (base, offset) = &window.address;
    let mut code = Code::in_front();
    code.line(&format!("{} {}, {};", window.opcode, vector(&loaded.own), memory(base, *offset)));
    for beyond in &window.beyond {
        let known = match beyond.lanes > 0 {
            true => &mut loaded.ahead,
            false => &mut loaded.behind,
        };
        let cells = &window.widths[beyond.cells.clone()];
        let registers: Vec<Reg> = cells.iter().map(|bits| checks.fresh.bits(*bits)).collect();
        let (_, below) = checks.lanes_on(around(beyond.lanes));
        let sign = if beyond.lanes > 0 { "" } else { "!" };
        let (opcode, place) = (&beyond.opcode, memory(base, offset.wrapping_add(beyond.bytes)));
        code.line(&format!("@{sign}{below} {opcode} {}, {place};", vector(&registers)));
        for (cell, register) in beyond.cells.clone().zip(registers) {
            known[cell] = register;
        }
    }
    for tap in &window.taps {
        for filled in &tap.values {
            value(window, filled, &loaded, checks, &mut code);
        }
        let text = code.text.trim_end().to_owned();
        edits.push(Draft { range: tap.span.clone(), code: text });
        code = Code::in_front();
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
    checks: &mut Checks<'_>,
    code: &mut Code,
) {
    let (register, bits) = (&filled.register, window.widths[filled.cell]);
    let (ty, own) = (ScalarType::b(bits), &loaded.own[filled.cell]);
    if filled.distance == 0 {
        code.put(op!(Mov.(ty)), &[register, own]);
        return;
    }
    let (lane, below) = checks.lanes_on(around(filled.distance));
    let (when, otherwise) = match filled.distance > 0 {
        true => (&loaded.ahead[filled.cell], own),
        false => (own, &loaded.behind[filled.cell]),
    };
    let mask = checks.mask_of_row(window.place);
    let fresh = &mut checks.fresh;
    let sent = code.set(fresh.bits(bits), op!(Selp.(ty)), &[when, otherwise, &below]);
    let words = code.fetched(fresh, (&sent, bits), &mut |code, fresh, word, _| {
        code.set(fresh.word(), op!(Shfl.Sync.Idx.B32), &[&word, &lane, &31, &mask])
    });
    code.join(fresh, "", (register, bits), &words);
}
