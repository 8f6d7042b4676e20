//! The paper's code (CC '23, section 5.3); values that the paper computes for every shuffle are
//! computed once.
//!
//! Once per function: the lane id, and whether lanes are consecutive in `tid.x`. Once per basic
//! block: `activemask`, whether the warp is whole, further checks. Once per block and distance: the
//! corner-case predicate. Per covered load: the load itself under the negated predicate, the
//! shuffle, and a move under the predicate. The load comes first and writes another register than
//! the shuffle, so neither waits for the other, and the load's address is read before anything is
//! overwritten.

use crate::cfg::BlockId;
use crate::rewrite::{Checks, Draft, Fresh, Replacement, Transfer};

/// The move of one transfer; the register is written under the prefix `when` only.
fn moved(transfer: &Transfer, when: &str) -> String {
    let Transfer { sent, destination, bits } = transfer;
    format!("{when}mov.b{bits} {destination}, {sent};")
}

/// Adds the edits for shuffles without the load for lanes that have no source lane: one of the paper's two instruments
/// (CC '23, section 7). A value that comes from the lane itself has no corner case.
pub(super) fn without_corners(
    replacements: &[Replacement],
    checks: &mut Checks<'_, '_>,
    edits: &mut Vec<Draft>,
) {
    let mut last: Option<(BlockId, String)> = None;
    for replacement in replacements {
        let mut code = String::new();
        let delta = replacement.covered.delta;
        if delta != 0 && last.as_ref().is_none_or(|(block, _)| *block != replacement.block) {
            let mask = checks.fresh.word();
            code += &format!("activemask.b32 {mask};\n\t");
            last = Some((replacement.block, mask));
        }
        let mask = last.as_ref().map_or("", |(_, mask)| mask);
        let when = replacement.guard.as_ref().map(|guard| format!("@{guard} "));
        let when = when.as_deref().unwrap_or("");
        let received = received(replacement, (delta, mask), when, &mut checks.fresh);
        code += &received.join("\n\t");
        edits.push(Draft { range: replacement.span.clone(), code });
    }
}

/// Adds the edits for one covered load.
pub(super) fn replace(
    replacement: &Replacement,
    checks: &mut Checks<'_, '_>,
    edits: &mut Vec<Draft>,
) {
    let mut setup = String::new();
    let usable = checks.usable(replacement, &mut setup);
    let mask = checks.mask(replacement.block);
    let delta = replacement.covered.delta;
    let received =
        |when: &str, fresh: &mut Fresh<'_>| received(replacement, (delta, &mask), when, fresh);
    let when = |predicate: &Option<String>| match predicate {
        Some(predicate) => format!("@{predicate} "),
        None => String::new(),
    };
    let Some(usable) = usable else {
        // The received value is always right: the load is not needed.
        let text = received(&when(&replacement.guard), &mut checks.fresh).join("\n\t");
        edits.push(Draft { range: replacement.span.clone(), code: text });
        return;
    };
    let (take, load) = match &replacement.guard {
        None if planted!(Bug::CornerInverted) => (usable.clone(), usable),
        None => (usable.clone(), format!("!{usable}")),
        Some(guard) => checks.under_guard(guard, &usable, &mut setup),
    };
    setup += &format!("@{load} ");
    edits.push(Draft { range: replacement.span.start..replacement.opcode, code: setup });
    let code: String = received(&when(&Some(take)), &mut checks.fresh)
        .iter()
        .map(|line| format!("\n\t{line}"))
        .collect();
    edits.push(Draft::insert(replacement.behind, code));
}

/// The instructions that fill a load's registers from `delta` lanes away, of the warp's lanes in `mask`; the
/// registers are written under the prefix `when` only.
fn received(
    replacement: &Replacement,
    (delta, mask): (i32, &str),
    when: &str,
    fresh: &mut Fresh<'_>,
) -> Vec<String> {
    let transfers = replacement.transfers.iter();
    let mut lines: Vec<String> =
        transfers.map(|transfer| receive(transfer, (delta, mask), when, fresh)).collect();
    lines.extend(replacement.assembly.code(when, fresh, |word, fresh| match delta {
        0 => (word, None),
        _ => {
            let (received, code) = shuffle(&word, (delta, mask), fresh);
            (received, Some(code))
        }
    }));
    lines
}

/// The register of 32 bits that receives a word from `delta` lanes away, and the shuffle.
fn shuffle(word: &str, (delta, mask): (i32, &str), fresh: &mut Fresh<'_>) -> (String, String) {
    let delta = if planted!(Bug::WrongSign) { -delta } else { delta };
    let clamp = match (delta > 0) != planted!(Bug::WrongClamp) {
        true => 31,
        false => 0,
    };
    let received = fresh.word();
    let (way, lanes) = if delta > 0 { ("down", delta) } else { ("up", -delta) };
    let code = format!("shfl.sync.{way}.b32 {received}, {word}, {lanes}, {clamp}, {mask};");
    (received, code)
}

/// The instructions that bring one register's value from `delta` lanes away; the register is
/// written under the prefix `when` only. A shuffle moves 32 bits: narrower registers are packed,
/// wider ones split.
fn receive(transfer: &Transfer, way: (i32, &str), when: &str, fresh: &mut Fresh<'_>) -> String {
    let Transfer { sent, destination, bits } = transfer;
    if way.0 == 0 {
        return moved(transfer, when);
    }
    let shuffle = |word: &str, fresh: &mut Fresh<'_>| shuffle(word, way, fresh);
    match bits {
        16 => {
            let (word, unused) = (fresh.word(), fresh.bits(16));
            let (received, code) = shuffle(&word, fresh);
            format!(
                "mov.b32 {word}, {{{sent}, {sent}}};\n\t{code}\n\t\
                 {when}mov.b32 {{{destination}, {unused}}}, {received};"
            )
        }
        64 => {
            let (low, high) = (fresh.word(), fresh.word());
            let (received_low, code_low) = shuffle(&low, fresh);
            let (received_high, code_high) = shuffle(&high, fresh);
            let (received_low, received_high) = match planted!(Bug::SwappedHalves) {
                true => (received_high, received_low),
                false => (received_low, received_high),
            };
            format!(
                "mov.b64 {{{low}, {high}}}, {sent};\n\t{code_low}\n\t{code_high}\n\t\
                 {when}mov.b64 {destination}, {{{received_low}, {received_high}}};"
            )
        }
        _ => {
            let (received, code) = shuffle(sent, fresh);
            format!("{code}\n\t{when}mov.b32 {destination}, {received};")
        }
    }
}
