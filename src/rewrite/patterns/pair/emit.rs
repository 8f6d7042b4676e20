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
use crate::isa::ScalarType;
use crate::ptx::write::{Code, Fresh, Op, Reg, op};
use crate::rewrite::{Checks, Draft, Replacement};

/// Adds the edits for shuffles without the load for lanes that have no source lane: one of the paper's two instruments
/// (CC '23, section 7). A value that comes from the lane itself has no corner case.
pub(super) fn without_corners(
    replacements: &[Replacement],
    checks: &mut Checks<'_>,
    edits: &mut Vec<Draft>,
) {
    let mut last: Option<(BlockId, Reg)> = None;
    for replacement in replacements {
        let mut code = Code::in_front();
        let delta = replacement.covered.delta;
        if delta != 0 && last.as_ref().is_none_or(|(block, _)| *block != replacement.block) {
            let mask = code.set(checks.fresh.word(), op!(ActiveMask.B32), &[]);
            last = Some((replacement.block, mask));
        }
        let mask = last.as_ref().map_or("", |(_, mask)| mask);
        let when = when(replacement.guard.as_deref());
        received(replacement, (delta, mask), &when, &mut code, &mut checks.fresh);
        let code = code.text.trim_end().to_owned();
        edits.push(Draft { range: replacement.span.clone(), code });
    }
}

/// A predicate as a guard.
fn when(predicate: Option<&str>) -> String {
    predicate.map(|predicate| format!("@{predicate} ")).unwrap_or_default()
}

/// Adds the edits for one covered load.
pub(super) fn replace(replacement: &Replacement, checks: &mut Checks<'_>, edits: &mut Vec<Draft>) {
    let mut setup = Code::in_front();
    let usable = checks.usable(replacement, &mut setup);
    let mask = checks.mask(replacement.block);
    let way = (replacement.covered.delta, mask.as_str());
    let Some(usable) = usable else {
        // The received value is always right: the load is not needed.
        let (mut code, when) = (Code::in_front(), when(replacement.guard.as_deref()));
        received(replacement, way, &when, &mut code, &mut checks.fresh);
        let code = code.text.trim_end().to_owned();
        edits.push(Draft { range: replacement.span.clone(), code });
        return;
    };
    let (take, load) = match &replacement.guard {
        None if planted!(Bug::CornerInverted) => (usable.clone(), usable.to_string()),
        None => (usable.clone(), format!("!{usable}")),
        Some(guard) => {
            let (take, load) = checks.under_guard(guard, &usable, &mut setup);
            (take, load.into())
        }
    };
    let setup = format!("{}@{load} ", setup.text);
    edits.push(Draft { range: replacement.span.start..replacement.opcode, code: setup });
    let mut code = Code::behind();
    received(replacement, way, &when(Some(&take)), &mut code, &mut checks.fresh);
    edits.push(Draft::insert(replacement.behind, code.text));
}

/// Adds the instructions that fill a load's registers from `delta` lanes away, of the warp's lanes in `mask`; the
/// registers are written behind the guard `when` only.
fn received(
    replacement: &Replacement,
    (delta, mask): (i32, &str),
    when: &str,
    code: &mut Code,
    fresh: &mut Fresh,
) {
    let (shuffle, operands) = shuffle(delta, mask);
    for transfer in &replacement.transfers {
        let (to, bits) = (&*transfer.destination, transfer.bits);
        if delta == 0 {
            code.put_if(when, op!(Mov.(ScalarType::b(bits))), &[&to, &transfer.sent]);
            continue;
        }
        let mut fetch = |code: &mut Code, fresh: &mut Fresh, word: &str, _| {
            code.set(fresh.word(), shuffle, &[&word, &operands])
        };
        let mut words = code.fetched(fresh, (&transfer.sent, bits), &mut fetch);
        if planted!(Bug::SwappedHalves) {
            words.reverse();
        }
        code.join(fresh, when, (to, bits), &words);
    }
    replacement.assembly.code(code, fresh, when, |code, fresh, word| match delta {
        0 => word,
        _ => code.set(fresh.word(), shuffle, &[&word, &operands]).into(),
    });
}

/// The shuffle that brings a word of 32 bits from `delta` lanes away, and its operands behind the word.
fn shuffle(delta: i32, mask: &str) -> (Op, String) {
    let delta = if planted!(Bug::WrongSign) { -delta } else { delta };
    let clamp = match (delta > 0) != planted!(Bug::WrongClamp) {
        true => 31,
        false => 0,
    };
    match delta > 0 {
        true => (op!(Shfl.Sync.Down.B32), format!("{delta}, {clamp}, {mask}")),
        false => (op!(Shfl.Sync.Up.B32), format!("{}, {clamp}, {mask}", -delta)),
    }
}
