//! A transposition and stores of consecutive words in place of stores of structs.
//!
//! In front of the first store one test, the same for all lanes: whether the whole warp is there, consecutive
//! in `tid.x`, and no index wraps around. If not, the stores are performed where they stand. If so, each is left
//! out and remembers what it would store; behind the last, the lanes give each other the words in the three steps
//! of [`Entry`], from the last to the first, and store them in the order in which they are in memory.

use std::fmt::Write;

use super::fields::StoredPlan;
use super::loads::{modulo, shuffle, turn};
use crate::reuse::transposition::Entry;
use crate::rewrite::{Checks, Draft, KernelPlan};

/// Adds the edits for stores of structs.
pub(super) fn edits(
    structs: &[StoredPlan],
    plan: &KernelPlan<'_>,
    checks: &mut Checks<'_, '_>,
    edits: &mut Vec<Draft>,
) {
    for whole in structs {
        let mut code = String::new();
        let mut test = checks.of_warp(&whole.test, None, &mut code);
        if planted!(Bug::StorePartial) {
            test = checks.fresh.predicate();
            let _ = write!(code, "setp.eq.u32 {test}, 0, 0;\n\t");
        }
        let mut words = vec![String::new(); whole.entry.words as usize];
        for (number, field) in whole.fields.iter().enumerate() {
            let _ = write!(code, "@!{test} {}", plan.copied(field.span.clone()));
            let (first, values) = &field.values;
            for (word, value) in (*first as usize..).zip(values) {
                let kept = checks.fresh.bits(whole.word_bits);
                let _ = write!(code, "\n\tmov.b{} {kept}, {value};", whole.word_bits);
                words[word] = kept;
            }
            if number + 1 == whole.fields.len() {
                let [_, join] = checks.fresh.labels();
                let _ = write!(code, "\n\t@!{test} bra {join};\n\t");
                store(whole, std::mem::take(&mut words), checks, &mut code);
                let _ = write!(code, "\n{join}:");
            }
            edits.push(Draft { range: field.span.clone(), code: std::mem::take(&mut code) });
        }
    }
}

/// Gives the words of each lane's struct to the lanes that store them.
fn store(whole: &StoredPlan, words: Vec<String>, checks: &mut Checks<'_, '_>, code: &mut String) {
    let (entry, bits) = (whole.entry, whole.word_bits);
    let lane = checks.lane();
    // Step 3.
    let groups = entry.groups();
    let slots = match groups {
        1 => words,
        _ => {
            let by = checks.fresh.word();
            let _ = write!(code, "shr.u32 {by}, {lane}, {};\n\t", entry.every.trailing_zeros());
            turn(words, (&by, groups, -entry.turn), bits, checks, code)
        }
    };
    // Step 2.
    let mask = checks.mask_of_row(whole.test.place);
    let mut received = Vec::new();
    for (slot, register) in (0..).zip(&slots) {
        let source = keeper(entry, slot, checks, code);
        received.push(shuffle(register, (&source, &mask), bits, checks, code));
    }
    // Step 1.
    let amount = modulo(&lane, entry.words, checks, code);
    let way = if planted!(Bug::StoreTurn) { 1 } else { -1 };
    let slots = turn(received, (&amount, entry.words, way), bits, checks, code);
    store_in_order(whole, &slots, &mask, checks, code);
}

/// The lane that a slot comes from, [`Entry::keeper`], in a register.
fn keeper(entry: &Entry, slot: i64, checks: &mut Checks<'_, '_>, code: &mut String) -> String {
    let lane = checks.lane();
    let source = checks.fresh.word();
    let (words, groups, inverse) = (entry.words, entry.groups(), i64::from(entry.inverse()));
    if planted!(Bug::StoreLane) {
        let _ = write!(code, "mad.lo.s32 {source}, {lane}, {words}, {slot};\n\t");
        return source;
    }
    if groups == 1 {
        let added = -slot * inverse;
        let _ = write!(code, "mad.lo.s32 {source}, {lane}, {inverse}, {added};\n\t");
        return source;
    }
    let (ahead, group) = (checks.fresh.word(), checks.fresh.word());
    let _ = match entry.turn {
        1 => write!(code, "add.s32 {ahead}, {lane}, {};\n\t", -slot),
        _ => write!(code, "sub.s32 {ahead}, {slot}, {lane};\n\t"),
    };
    let _ = write!(code, "and.b32 {group}, {ahead}, {};\n\t", groups - 1);
    let part = checks.fresh.word();
    let every = entry.every;
    let shift = groups.trailing_zeros();
    if words == groups {
        // Then what is subtracted is the lane's number modulo the number of groups.
        let _ = write!(code, "shr.u32 {part}, {lane}, {shift};\n\t");
        let _ = write!(code, "mad.lo.s32 {source}, {group}, {every}, {part};\n\t");
        return source;
    }
    let turned = checks.fresh.word();
    let _ = match entry.turn {
        1 => write!(code, "add.s32 {turned}, {group}, {slot};\n\t"),
        _ => write!(code, "sub.s32 {turned}, {slot}, {group};\n\t"),
    };
    let (outside, around) = (checks.fresh.predicate(), checks.fresh.word());
    let _ = match entry.turn {
        1 => write!(
            code,
            "setp.ge.s32 {outside}, {turned}, {words};\n\tadd.s32 {around}, {turned}, -{words};\n\t"
        ),
        _ => write!(
            code,
            "setp.lt.s32 {outside}, {turned}, 0;\n\tadd.s32 {around}, {turned}, {words};\n\t"
        ),
    };
    let (rest, apart) = (checks.fresh.word(), checks.fresh.word());
    let _ = write!(
        code,
        "selp.b32 {rest}, {around}, {turned}, {outside};\n\tsub.s32 {apart}, {lane}, {rest};\n\t\
         shr.s32 {part}, {apart}, {shift};\n\t"
    );
    let within = checks.fresh.word();
    let _ = write!(
        code,
        "mul.lo.s32 {part}, {part}, {inverse};\n\tand.b32 {within}, {part}, {};\n\t\
         mad.lo.s32 {source}, {group}, {every}, {within};\n\t",
        every - 1
    );
    source
}

/// Stores the words that the lanes' structs have in memory one behind the other. What a lane has read from or
/// written to its own struct before, or will read or write, it has to keep apart from the stores only of its own
/// in the original; so here the lanes wait for each other around the stores.
fn store_in_order(
    whole: &StoredPlan,
    slots: &[String],
    mask: &str,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) {
    let (entry, bits) = (whole.entry, whole.word_bits);
    let size = i64::from(bits / 8);
    let (base, offset) = &whole.address;
    let (lane, own) = (checks.lane(), checks.fresh.bits(64));
    // From a lane's struct to the lane's word of all: a word for each lane before it instead of a struct.
    let nearer = size * (1 - i64::from(entry.words));
    let _ = write!(code, "mad.wide.s32 {own}, {lane}, {nearer}, {base};\n\t");
    let barrier = match planted!(Bug::StoreUnordered) {
        true => String::new(),
        false => format!("bar.warp.sync {mask};\n\t"),
    };
    code.push_str(&barrier);
    let lost = usize::from(planted!(Bug::StoreField));
    for (index, slot) in entry.fan.iter().enumerate().take(entry.fan.len() - lost) {
        let at = offset + index as i64 * size * 32;
        let register = &slots[*slot as usize];
        let _ = write!(code, "{}.b{bits} [{own}+{at}], {register};\n\t", whole.opcode);
    }
    code.push_str(barrier.trim_end());
}
