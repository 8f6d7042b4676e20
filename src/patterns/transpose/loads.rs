//! Loads of consecutive words and a transposition in place of loads of structs.
//!
//! In front of the first load one test, the same for all lanes: whether the whole warp is there, consecutive
//! in `tid.x`, and no index wraps around; if not, the untouched statements are performed. Then the lanes load
//! the words of all their structs in the order in which these are in memory, and give each other what is theirs,
//! in the three steps of [`Entry`]: registers are renamed and turned by selects, sent by one shuffle for each
//! word, and turned again. (A rotation by a number that differs between lanes is done bit by bit of that number.)

use std::fmt::Write;

use super::fields::StructPlan;
use crate::isa::limits::WARP_SIZE;
use crate::reuse::transposition::Entry;
use crate::rewrite::{Checks, Draft};

/// Adds the edits for loads of structs.
pub(super) fn edits(structs: &[StructPlan], checks: &mut Checks<'_, '_>, edits: &mut Vec<Draft>) {
    for whole in structs {
        let words = transpose(whole, checks);
        let mut code = words.code;
        let off = usize::from(planted!(Bug::StructField));
        for field in &whole.fields {
            for (register, word) in &field.registers {
                let value = &words.values[(*word as usize + off) % words.values.len()];
                let _ = write!(code, "mov.b{} {register}, {value};\n\t", whole.word_bits);
            }
            edits.push(Draft { range: field.span.clone(), code: code.trim_end().to_owned() });
            code = String::new();
        }
    }
}

/// Registers with the words of each lane's struct, and the code that fills them.
struct Words {
    code: String,
    values: Vec<String>,
}

fn transpose(whole: &StructPlan, checks: &mut Checks<'_, '_>) -> Words {
    let (entry, bits) = (whole.entry, whole.word_bits);
    let mut code = String::new();
    let loaded = load(whole, checks, &mut code);
    // Step 1: slots, turned by the number of the lane.
    let mut slots = vec![String::new(); loaded.len()];
    for (at, register) in loaded.into_iter().enumerate() {
        slots[entry.fan[at] as usize] = register;
    }
    let lane = checks.lane();
    let amount = modulo(&lane, entry.words, checks, &mut code);
    let way = if planted!(Bug::StructTurn) { -1 } else { 1 };
    let slots = turn(slots, (&amount, entry.words, way), bits, checks, &mut code);
    // Step 2.
    let turned = (entry.every < WARP_SIZE).then(|| {
        let by = checks.fresh.word();
        let shift = entry.every.trailing_zeros();
        let _ = write!(code, "shr.u32 {by}, {lane}, {shift};\n\t");
        by
    });
    let sent = send(whole, slots, turned.as_deref(), checks, &mut code);
    // Step 3.
    let values = match &turned {
        Some(by) => {
            let amounts = WARP_SIZE / entry.every;
            turn(sent, (by, amounts, entry.turn), bits, checks, &mut code)
        }
        None => sent,
    };
    Words { code, values }
}

/// Loads the words that the lanes' structs have in memory one behind the other; returns their registers. What a lane
/// has written to its own struct, or will write, only the lane itself has to keep apart from the loads in the
/// original; so here the lanes wait for each other around the loads.
fn load(whole: &StructPlan, checks: &mut Checks<'_, '_>, code: &mut String) -> Vec<String> {
    let (words, bits) = (whole.entry.words, whole.word_bits);
    let size = i64::from(bits / 8);
    let lane = checks.lane();
    let own = checks.fresh.bits(64);
    let (base, offset) = &whole.address;
    // From a lane's struct to the lane's word of all: a word for each lane before it instead of a struct.
    let nearer = size * (1 - i64::from(words));
    let _ = write!(code, "mad.wide.s32 {own}, {lane}, {nearer}, {base};\n\t");
    let from = offset + size * i64::from(planted!(Bug::StructBegin));
    let ordered = !whole.read_only && !planted!(Bug::StructUnordered);
    let barrier = match ordered {
        true => format!("bar.warp.sync {};\n\t", checks.mask_of_row(whole.place)),
        false => String::new(),
    };
    code.push_str(&barrier);
    let mut registers = Vec::new();
    for index in 0..i64::from(words) {
        let register = checks.fresh.bits(bits);
        let at = from + index * size * i64::from(WARP_SIZE);
        let _ = write!(code, "{}.b{bits} {register}, [{own}+{at}];\n\t", whole.opcode);
        registers.push(register);
    }
    code.push_str(&barrier);
    registers
}

/// A register with the remainder of a number below twice a warp's lanes by one that is no more than 32. (The
/// assembler makes a general division of a `rem` by a constant, a dozen instructions.)
pub(super) fn modulo(
    number: &str,
    by: u32,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) -> String {
    let rest = checks.fresh.word();
    if by.is_power_of_two() {
        let _ = write!(code, "and.b32 {rest}, {number}, {};\n\t", by - 1);
        return rest;
    }
    let (factor, shift) = reciprocal(by);
    let (product, quotient) = (checks.fresh.word(), checks.fresh.word());
    let _ = write!(
        code,
        "mul.lo.u32 {product}, {number}, {factor};\n\tshr.u32 {quotient}, {product}, {shift};\n\t\
         mad.lo.s32 {rest}, {quotient}, -{by}, {number};\n\t"
    );
    rest
}

/// A factor and a shift that divide every number below twice a warp's lanes by `by`, which is no more than 32.
fn reciprocal(by: u32) -> (u32, u32) {
    const SHIFT: u32 = 11;
    ((1 << SHIFT) / by + 1, SHIFT)
}

/// Turns registers by an amount that differs between lanes and is below `amounts`: what was in register s is in
/// register s + amount, or s - amount where `way` is negative.
pub(super) fn turn(
    mut registers: Vec<String>,
    (amount, amounts, way): (&str, u32, i32),
    bits: u32,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) -> Vec<String> {
    let count = registers.len() as i64;
    for bit in 0..amounts.next_power_of_two().trailing_zeros() {
        let (masked, set) = (checks.fresh.word(), checks.fresh.predicate());
        let _ = write!(
            code,
            "and.b32 {masked}, {amount}, {};\n\tsetp.ne.u32 {set}, {masked}, 0;\n\t",
            1 << bit
        );
        let by = i64::from(way) << bit;
        let from = |slot: usize| registers[(slot as i64 - by).rem_euclid(count) as usize].clone();
        let mut next = Vec::new();
        for (slot, register) in registers.iter().enumerate() {
            let turned = checks.fresh.bits(bits);
            let _ = write!(code, "selp.b{bits} {turned}, {}, {register}, {set};\n\t", from(slot));
            next.push(turned);
        }
        registers = next;
    }
    registers
}

/// Sends each slot to the lane that it is for; `turned` holds how often that lane's struct is turned.
fn send(
    whole: &StructPlan,
    slots: Vec<String>,
    turned: Option<&str>,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) -> Vec<String> {
    let entry: &Entry = whole.entry;
    let words = entry.words;
    let mask = checks.mask_of_row(whole.place);
    let (lane, first) = (checks.lane(), checks.fresh.word());
    let _ = write!(code, "mul.lo.u32 {first}, {lane}, {words};\n\t");
    // How far the slots of this lane's struct are from where they would be, from 0 to 2 S - 1 with the slot's.
    let ahead = turned.map(|by| match entry.turn {
        1 => by.to_owned(),
        _ => {
            let ahead = checks.fresh.word();
            let _ = write!(code, "sub.s32 {ahead}, {words}, {by};\n\t");
            ahead
        }
    });
    let other = i64::from(planted!(Bug::StructLane));
    let mut received = Vec::new();
    for (slot, register) in slots.iter().enumerate() {
        let slot = slot as i64 + other;
        let source = checks.fresh.word();
        let _ = match &ahead {
            None => write!(code, "add.s32 {source}, {first}, {slot};\n\t"),
            Some(ahead) => {
                let sum = checks.fresh.word();
                let _ = write!(code, "add.s32 {sum}, {ahead}, {slot};\n\t");
                let rest = match words.is_power_of_two() {
                    true => modulo(&sum, words, checks, code),
                    false => {
                        let (less, over) = (checks.fresh.word(), checks.fresh.predicate());
                        let rest = checks.fresh.word();
                        let _ = write!(
                            code,
                            "add.s32 {less}, {sum}, -{words};\n\t\
                             setp.ge.u32 {over}, {sum}, {words};\n\t\
                             selp.b32 {rest}, {less}, {sum}, {over};\n\t"
                        );
                        rest
                    }
                };
                write!(code, "add.s32 {source}, {first}, {rest};\n\t")
            }
        };
        received.push(shuffle(register, (&source, &mask), whole.word_bits, checks, code));
    }
    received
}

/// The value that another lane has in a register of 32 or 64 bits.
pub(super) fn shuffle(
    register: &str,
    (source, mask): (&str, &str),
    bits: u32,
    checks: &mut Checks<'_, '_>,
    code: &mut String,
) -> String {
    let fetch = |word: &str, checks: &mut Checks<'_, '_>, code: &mut String| {
        let got = checks.fresh.word();
        let _ = write!(code, "shfl.sync.idx.b32 {got}, {word}, {source}, 31, {mask};\n\t");
        got
    };
    if bits == 32 {
        return fetch(register, checks, code);
    }
    let (low, high) = (checks.fresh.word(), checks.fresh.word());
    let _ = write!(code, "mov.b64 {{{low}, {high}}}, {register};\n\t");
    let (low, high) = (fetch(&low, checks, code), fetch(&high, checks, code));
    let whole = checks.fresh.bits(64);
    let _ = write!(code, "mov.b64 {whole}, {{{low}, {high}}};\n\t");
    whole
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(reciprocals_divide);

    fn reciprocals_divide() {
        for by in 1..=WARP_SIZE {
            let (factor, shift) = reciprocal(by);
            for number in 0..2 * WARP_SIZE {
                assert_eq!((number * factor) >> shift, number / by, "{number} by {by}");
            }
        }
    }
}
