//! A transposition and stores of consecutive words in place of stores of structs.
//!
//! In front of the first store one test, the same for all lanes: whether the whole warp is there, consecutive in
//! `tid.x`, and no index wraps around. If not, the stores are performed where they stand. If so, each is left out and
//! its values are kept in registers; behind the last, the lanes exchange the words in the three steps of [`Entry`],
//! from the last to the first, and store them in the order in which they are in memory.

use crate::reuse::transposition::Entry;
use std::fmt::Write as _;

use super::fields::StoredPlan;
use super::loads::{modulo, rotate, shuffle};
use crate::ptx::write::{Code, Reg, op};
use crate::rewrite::{Checks, Draft, KernelPlan};

/// Adds the edits for stores of structs.
pub(super) fn edits(
    structs: &[StoredPlan],
    plan: &KernelPlan<'_>,
    checks: &mut Checks<'_>,
    edits: &mut Vec<Draft>,
) {
    for whole in structs {
        let mut code = Code::in_front();
        let mut test = checks.of_warp(&whole.test, None, &mut code);
        if planted!(Bug::StorePartial) {
            test = code.set(checks.fresh.predicate(), op!(Setp.Eq.U32), &[&0, &0]);
        }
        let mut words = vec![test.clone(); whole.entry.words as usize];
        for (number, field) in whole.fields.iter().enumerate() {
            let _ = write!(code.text, "@!{test} {}", plan.copied(field.span.clone()));
            let (first, values) = &field.values;
            for (word, value) in (*first as usize..).zip(values) {
                let kept = checks.fresh.bits(whole.word_bits);
                let _ = write!(code.text, "\n\tmov.b{} {kept}, {value};", whole.word_bits);
                words[word] = kept;
            }
            if number + 1 == whole.fields.len() {
                let [_, join] = checks.fresh.labels();
                let _ = write!(code.text, "\n\t@!{test} bra {join};\n\t");
                store(whole, std::mem::take(&mut words), checks, &mut code);
                let _ = write!(code.text, "\n{join}:");
            }
            let text = std::mem::take(&mut code.text);
            edits.push(Draft { range: field.span.clone(), code: text });
        }
    }
}

/// Gives the words of each lane's struct to the lanes that store them.
fn store(whole: &StoredPlan, words: Vec<Reg>, checks: &mut Checks<'_>, code: &mut Code) {
    let entry = whole.entry;
    let lane = checks.lane();
    // Step 3.
    let groups = entry.groups();
    let slots = match groups {
        1 => words,
        _ => {
            let shift = entry.period.trailing_zeros();
            let by = code.set(checks.fresh.word(), op!(Shr.U32), &[&lane, &shift]);
            rotate(words, (&by, groups, -entry.direction), checks, code)
        }
    };
    // Step 2.
    let mask = checks.mask_of_row(whole.test.place);
    let mut received = Vec::new();
    for (slot, register) in (0..).zip(&slots) {
        let source = keeper(entry, slot, checks, code);
        received.push(shuffle(register, (&source, &mask), checks, code));
    }
    // Step 1.
    let amount = modulo(&lane, entry.words, checks, code);
    let way = if planted!(Bug::StoreTurn) { 1 } else { -1 };
    let slots = rotate(received, (&amount, entry.words, way), checks, code);
    store_in_order(whole, &slots, &mask, checks, code);
}

/// The lane that a slot comes from, [`Entry::keeper`], in a register.
fn keeper(entry: &Entry, slot: i64, checks: &mut Checks<'_>, code: &mut Code) -> Reg {
    let lane = checks.lane();
    let fresh = &mut checks.fresh;
    let source = fresh.word();
    let (words, groups, inverse) = (entry.words, entry.groups(), i64::from(entry.inverse()));
    if planted!(Bug::StoreLane) {
        return code.set(source, op!(Mad.Lo.S32), &[&lane, &words, &slot]);
    }
    if groups == 1 {
        return code.set(source, op!(Mad.Lo.S32), &[&lane, &inverse, &(-slot * inverse)]);
    }
    let (ahead, group) = (fresh.word(), fresh.word());
    let ahead = match entry.direction {
        1 => code.set(ahead, op!(Add.S32), &[&lane, &-slot]),
        _ => code.set(ahead, op!(Sub.S32), &[&slot, &lane]),
    };
    let group = code.set(group, op!(And.B32), &[&ahead, &(groups - 1)]);
    let part = fresh.word();
    let (period, shift) = (entry.period, groups.trailing_zeros());
    if words == groups {
        // Then the subtrahend is the lane id modulo the number of groups.
        let part = code.set(part, op!(Shr.U32), &[&lane, &shift]);
        return code.set(source, op!(Mad.Lo.S32), &[&group, &period, &part]);
    }
    let (turned, outside) = (fresh.word(), fresh.predicate());
    let around = fresh.word();
    let (turned, outside, around) = match entry.direction {
        1 => {
            let turned = code.set(turned, op!(Add.S32), &[&group, &slot]);
            let outside = code.set(outside, op!(Setp.Ge.S32), &[&turned, &words]);
            let around = code.set(around, op!(Add.S32), &[&turned, &-i64::from(words)]);
            (turned, outside, around)
        }
        _ => {
            let turned = code.set(turned, op!(Sub.S32), &[&slot, &group]);
            let outside = code.set(outside, op!(Setp.Lt.S32), &[&turned, &0]);
            let around = code.set(around, op!(Add.S32), &[&turned, &words]);
            (turned, outside, around)
        }
    };
    let rest = code.set(fresh.word(), op!(Selp.B32), &[&around, &turned, &outside]);
    let apart = code.set(fresh.word(), op!(Sub.S32), &[&lane, &rest]);
    let part = code.set(part, op!(Shr.S32), &[&apart, &shift]);
    let within = fresh.word();
    code.put(op!(Mul.Lo.S32), &[&part, &part, &inverse]);
    let within = code.set(within, op!(And.B32), &[&part, &(period - 1)]);
    code.set(source, op!(Mad.Lo.S32), &[&group, &period, &within])
}

/// Stores the words of the lanes' structs in the order of memory. In the original a lane alone accesses its struct, and
/// may read or write it before and after the stores without synchronisation; here another lane stores the words, so the
/// lanes wait for each other around the stores.
fn store_in_order(
    whole: &StoredPlan,
    slots: &[Reg],
    mask: &str,
    checks: &mut Checks<'_>,
    code: &mut Code,
) {
    let (entry, bits) = (whole.entry, whole.word_bits);
    let size = i64::from(bits / 8);
    let (base, offset) = &whole.address;
    let lane = checks.lane();
    // From a lane's struct to the lane's word of all: a word for each lane before it instead of a struct.
    let nearer = size * (1 - i64::from(entry.words));
    let own = code.set(checks.fresh.bits(64), op!(Mad.Wide.S32), &[&lane, &nearer, base]);
    let ordered = !planted!(Bug::StoreUnordered);
    if ordered {
        code.put(op!(Bar.Warp.Sync), &[&mask]);
    }
    let lost = usize::from(planted!(Bug::StoreField));
    for (index, slot) in entry.permutation.iter().enumerate().take(entry.permutation.len() - lost) {
        let at = offset.wrapping_add(index as i64 * size * 32);
        let register = &slots[*slot as usize];
        code.line(&format!("{}.b{bits} [{own}+{at}], {register};", whole.opcode));
    }
    if ordered {
        let _ = write!(code.text, "{} {mask};", op!(Bar.Warp.Sync));
    }
}
