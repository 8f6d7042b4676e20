//! Loads of consecutive words and a transposition in place of loads of structs.
//!
//! In front of the first load one test, the same for all lanes: whether the whole warp is there, consecutive in
//! `tid.x`, and no index wraps around; if not, the untouched statements are performed. Then the lanes load the words of
//! all their structs in the order in which these are in memory, and exchange them in the three steps of [`Entry`]:
//! registers are renamed and rotated by selects, sent by one shuffle for each word, and rotated again. (A rotation by
//! an amount that differs between lanes takes one step for each bit of the amount.)

use crate::reuse::transposition::Entry;
use std::fmt::Display;

use super::fields::StructPlan;
use crate::isa::limits::WARP_SIZE;
use crate::ptx::write::{Code, Reg, op};
use crate::rewrite::{Checks, Draft};

/// Adds the edits for loads of structs.
pub(super) fn edits(structs: &[StructPlan], checks: &mut Checks<'_>, edits: &mut Vec<Draft>) {
    for whole in structs {
        let words = transpose(whole, checks);
        let mut code = words.code;
        let off = usize::from(planted!(Bug::StructField));
        for field in &whole.fields {
            for (register, word) in &field.registers {
                let value = &words.values[(*word as usize + off) % words.values.len()];
                code.put(op!(Mov.(value.ty)), &[register, value]);
            }
            let text = code.text.trim_end().to_owned();
            edits.push(Draft { range: field.span.clone(), code: text });
            code = Code::in_front();
        }
    }
}

/// Registers with the words of each lane's struct, and the code that fills them.
struct Words {
    code: Code,
    values: Vec<Reg>,
}

fn transpose(whole: &StructPlan, checks: &mut Checks<'_>) -> Words {
    let entry = whole.entry;
    let mut code = Code::in_front();
    let loaded = load(whole, checks, &mut code);
    // Step 1: slots, turned by the number of the lane.
    let mut slots = loaded.clone();
    for (at, register) in loaded.into_iter().enumerate() {
        slots[entry.permutation[at] as usize] = register;
    }
    let lane = checks.lane();
    let amount = modulo(&lane, entry.words, checks, &mut code);
    let way = if planted!(Bug::StructTurn) { -1 } else { 1 };
    let slots = rotate(slots, (&amount, entry.words, way), checks, &mut code);
    // Step 2.
    let turned = (entry.period < WARP_SIZE).then(|| {
        let shift = entry.period.trailing_zeros();
        code.set(checks.fresh.word(), op!(Shr.U32), &[&lane, &shift])
    });
    let sent = send(whole, slots, turned.as_ref(), checks, &mut code);
    // Step 3.
    let values = match &turned {
        Some(by) => {
            let amounts = WARP_SIZE / entry.period;
            rotate(sent, (by, amounts, entry.direction), checks, &mut code)
        }
        None => sent,
    };
    Words { code, values }
}

/// Loads the words of the lanes' structs in the order of memory; returns their registers. In the original a lane alone
/// accesses its struct, and may write it before and after the loads without synchronisation; here another lane loads
/// the words, so the lanes wait for each other around the loads.
fn load(whole: &StructPlan, checks: &mut Checks<'_>, code: &mut Code) -> Vec<Reg> {
    let (words, bits) = (whole.entry.words, whole.word_bits);
    let size = i64::from(bits / 8);
    let lane = checks.lane();
    let (base, offset) = &whole.address;
    // From a lane's struct to the lane's word of all: a word for each lane before it instead of a struct.
    let nearer = size * (1 - i64::from(words));
    let own = code.set(checks.fresh.bits(64), op!(Mad.Wide.S32), &[&lane, &nearer, base]);
    let from = offset.wrapping_add(size * i64::from(planted!(Bug::StructBegin)));
    let ordered = !whole.read_only && !planted!(Bug::StructUnordered);
    let barrier = |code: &mut Code, checks: &Checks<'_>| {
        if ordered {
            code.put(op!(Bar.Warp.Sync), &[&checks.mask_of_row(whole.place)]);
        }
    };
    barrier(code, checks);
    let mut registers = Vec::new();
    for index in 0..i64::from(words) {
        let register = checks.fresh.bits(bits);
        let at = from.wrapping_add(index * size * i64::from(WARP_SIZE));
        code.line(&format!("{}.b{bits} {register}, [{own}+{at}];", whole.opcode));
        registers.push(register);
    }
    barrier(code, checks);
    registers
}

/// A register with the remainder of a number, below 64, by `by`, at most 32. (The assembler turns a `rem` by a constant
/// into a general division of a dozen instructions.)
pub(super) fn modulo(number: &Reg, by: u32, checks: &mut Checks<'_>, code: &mut Code) -> Reg {
    let rest = checks.fresh.word();
    if by.is_power_of_two() {
        return code.set(rest, op!(And.B32), &[number, &(by - 1)]);
    }
    let (factor, shift) = reciprocal(by);
    let product = code.set(checks.fresh.word(), op!(Mul.Lo.U32), &[number, &factor]);
    let quotient = code.set(checks.fresh.word(), op!(Shr.U32), &[&product, &shift]);
    code.set(rest, op!(Mad.Lo.S32), &[&quotient, &-i64::from(by), number])
}

/// A factor and a shift that divide every number below 64 by `by`, which is at most 32.
fn reciprocal(by: u32) -> (u32, u32) {
    const SHIFT: u32 = 11;
    ((1 << SHIFT) / by + 1, SHIFT)
}

/// Rotates registers by an amount that differs between lanes and is below `amounts`: the value of register s moves to
/// register s + amount, or s - amount if `way` is negative.
pub(super) fn rotate(
    mut registers: Vec<Reg>,
    (amount, amounts, way): (&Reg, u32, i32),
    checks: &mut Checks<'_>,
    code: &mut Code,
) -> Vec<Reg> {
    let count = registers.len() as i64;
    for bit in 0..amounts.next_power_of_two().trailing_zeros() {
        let masked = code.set(checks.fresh.word(), op!(And.B32), &[amount, &(1 << bit)]);
        let set = code.set(checks.fresh.predicate(), op!(Setp.Ne.U32), &[&masked, &0]);
        let by = i64::from(way) << bit;
        let turned = |(slot, register): (usize, &Reg)| {
            let from = &registers[(slot as i64 - by).rem_euclid(count) as usize];
            let ty = register.ty;
            code.set(checks.fresh.of(ty), op!(Selp.(ty)), &[from, register, &set])
        };
        registers = registers.iter().enumerate().map(turned).collect();
    }
    registers
}

/// Sends each slot to the lane that it is for; `turned` holds how often that lane's struct is turned.
fn send(
    whole: &StructPlan,
    slots: Vec<Reg>,
    turned: Option<&Reg>,
    checks: &mut Checks<'_>,
    code: &mut Code,
) -> Vec<Reg> {
    let entry: &Entry = whole.entry;
    let words = entry.words;
    let mask = checks.mask_of_row(whole.place);
    let lane = checks.lane();
    let fresh = &mut checks.fresh;
    let first = code.set(fresh.word(), op!(Mul.Lo.U32), &[&lane, &words]);
    // How far the slots of this lane's struct are from where they would be, from 0 to 2 S - 1 with the slot's.
    let ahead = turned.map(|by| match entry.direction {
        1 => by.clone(),
        _ => code.set(fresh.word(), op!(Sub.S32), &[&words, by]),
    });
    let other = i64::from(planted!(Bug::StructLane));
    let mut received = Vec::new();
    for (slot, register) in slots.iter().enumerate() {
        let slot = slot as i64 + other;
        let source = checks.fresh.word();
        let rest: &dyn Display = match &ahead {
            None => &slot,
            Some(ahead) => {
                let sum = code.set(checks.fresh.word(), op!(Add.S32), &[ahead, &slot]);
                &match words.is_power_of_two() {
                    true => modulo(&sum, words, checks, code),
                    false => {
                        let fresh = &mut checks.fresh;
                        let less = fresh.word();
                        let rest = fresh.word();
                        let less = code.set(less, op!(Add.S32), &[&sum, &-i64::from(words)]);
                        let over = code.set(fresh.predicate(), op!(Setp.Ge.U32), &[&sum, &words]);
                        code.set(rest, op!(Selp.B32), &[&less, &sum, &over])
                    }
                }
            }
        };
        let source = code.set(source, op!(Add.S32), &[&first, rest]);
        received.push(shuffle(register, (&source, &mask), checks, code));
    }
    received
}

/// The value that another lane has in a register of 32 or 64 bits.
pub(super) fn shuffle(
    register: &Reg,
    (source, mask): (&Reg, &str),
    checks: &mut Checks<'_>,
    code: &mut Code,
) -> Reg {
    let operands = format!("{source}, 31, {mask}");
    let shuffle = (op!(Shfl.Sync.Idx.B32), operands.as_str());
    code.shuffle(&mut checks.fresh, (register, register.ty.bits()), shuffle)
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
