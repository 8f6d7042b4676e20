//! "SIMD Video Instructions", as the manual's pseudo-code goes.

use super::video::holds;
use super::{Call, Type};

const U32: Type = Type { bits: 32, signed: false };

pub fn result(call: &Call<'_>) -> i128 {
    let name = call.form.mnemonic();
    let (operation, count) = name.split_at(name.len() - 1);
    let count: u32 = count.parse().unwrap_or_default();
    let bits = 32 / count;
    let (d_type, a_type, b_type) = match call.types[..] {
        [d, a, b] => (d, a, b),
        [a, b] => (U32, a, b),
        _ => panic!("`{}` has two or three types", call.form.opcode),
    };
    let (default_a, default_b) = if count == 2 { ("h10", "h32") } else { ("b3210", "b7654") };
    let both = u128::from(call.values[1]) << 32 | u128::from(call.values[0]);
    let element = |selector: &str, index: u32, ty: Type| {
        let digits: Vec<u32> = selector[1..].chars().rev().filter_map(|c| c.to_digit(10)).collect();
        Type { bits, ..ty }.read((both >> (bits * digits[index as usize])) as u64)
    };
    let asel = call.leaf(0).selector.as_deref().unwrap_or(default_a);
    let bsel = call.leaf(1).selector.as_deref().unwrap_or(default_b);
    let mask = call.form.results[0].selector.as_deref().unwrap_or(default_a);
    let c = call.source(2, U32);
    let part = Type { bits, signed: false };
    let (mut sum, mut merged) = (c, 0);
    for index in 0..count {
        let (a, b) = (element(asel, index, a_type), element(bsel, index, b_type));
        let t = match operation {
            "vadd" => a + b,
            "vsub" => a - b,
            "vavrg" if a + b >= 0 => (a + b + 1) >> 1,
            "vavrg" => (a + b) >> 1,
            "vabsdiff" => (a - b).abs(),
            "vmin" => a.min(b),
            "vmax" => a.max(b),
            "vset" => i128::from(holds(call, a, b)),
            _ => panic!("no reference for `{name}`"),
        };
        let t = if call.has("sat") { Type { bits, ..d_type }.clamp(t) } else { t };
        let digit = char::from_digit(index, 10).unwrap_or_default();
        if mask[1..].contains(digit) {
            sum += t;
            merged |= part.wrap(t) << (bits * index);
        } else {
            merged |= part.read((c >> (bits * index)) as u64) << (bits * index);
        }
    }
    if call.has("add") { U32.wrap(sum) } else { merged }
}
