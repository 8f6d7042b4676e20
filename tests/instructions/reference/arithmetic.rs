//! "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions".

use super::{Call, Type};

const S32: Type = Type { bits: 32, signed: true };
const U32: Type = Type { bits: 32, signed: false };

pub fn results(call: &Call<'_>) -> Option<Vec<i128>> {
    let name = call.form.mnemonic();
    let ty = call.ty();
    if call.has("u16x2") || call.has("s16x2") {
        return Some(vec![packed(call)]);
    }
    match name {
        "dp4a" | "dp2a" => return Some(vec![dot_product(call)]),
        "mul" | "mad" | "madc" | "mul24" | "mad24" => return Some(multiply(call)),
        "add" | "sub" | "addc" | "subc" => return Some(sum(call)),
        _ => {}
    }
    let a = call.source(0, ty);
    let b = if call.values.len() > 1 { call.source(1, ty) } else { 0 };
    let value = match name {
        "abs" => a.abs(),
        "neg" => -a,
        "min" => a.min(b),
        "max" => a.max(b),
        "sad" => call.source(2, ty) + (if a < b { b - a } else { a - b }),
        "div" if b != 0 => a / b,
        "rem" if b != 0 => a % b,
        "div" | "rem" => return None,
        _ => panic!("no reference for `{name}`"),
    };
    let value = if call.has("relu") { value.max(0) } else { value };
    Some(vec![call.write(ty, value)])
}

/// Value and, with `.cc`, the carry out of the unsigned numbers. A subtraction adds the complement,
/// and one: its carry is set where nothing is borrowed.
fn sum(call: &Call<'_>) -> Vec<i128> {
    let name = call.form.mnemonic();
    let ty = call.ty();
    let unsigned = Type { signed: false, ..ty };
    let subtracts = name.starts_with("sub");
    let flag = if call.form.reads_carry() { call.carry } else { i128::from(subtracts) };
    let compute = |ty: Type| {
        let (a, b) = (call.source(0, ty), call.source(1, ty));
        if subtracts { a - b - 1 + flag } else { a + b + flag }
    };
    let exact = compute(ty);
    let value = if call.has("sat") { ty.clamp(exact) } else { exact };
    let out = compute(unsigned);
    let carried = i128::from((unsigned.clamp(out) != out) != subtracts);
    let value = call.write(ty, value);
    if call.form.writes_carry() { vec![value, carried] } else { vec![value] }
}

fn multiply(call: &Call<'_>) -> Vec<i128> {
    let name = call.form.mnemonic();
    let ty = call.ty();
    let twenty_four = name.ends_with("24");
    let factor = if twenty_four { Type { bits: 24, ..ty } } else { ty };
    let (a, b) = (call.source(0, factor), call.source(1, factor));
    // Two unsigned 64-bit numbers fill 128 bits: wrapping keeps their bits, and the shift below
    // must then not copy a sign.
    let product = a.wrapping_mul(b);
    let shift = if twenty_four { 16 } else { ty.bits };
    let (part, result) = if call.has("wide") {
        (product, Type { bits: 2 * ty.bits, ..ty })
    } else if call.has("hi") && ty.signed {
        (product >> shift, ty)
    } else if call.has("hi") {
        ((product as u128 >> shift) as i128, ty)
    } else {
        (product, ty)
    };
    if name.starts_with("mul") {
        return vec![call.write(result, part)];
    }
    let c = call.source(2, result);
    if call.has("sat") {
        let part = S32.read(S32.wrap(part) as u64);
        return vec![call.write(result, S32.clamp(part + c))];
    }
    let flag = if name == "madc" { call.carry } else { 0 };
    let unsigned = result.wrap(part) + result.wrap(c) + flag;
    let value = call.write(result, unsigned);
    let carried = unsigned >> result.bits;
    if call.form.writes_carry() { vec![value, carried] } else { vec![value] }
}

fn packed(call: &Call<'_>) -> i128 {
    let half = Type { bits: 16, signed: call.has("s16x2") };
    let mut result = 0;
    for index in 0..2 {
        let a = half.read(call.values[0] >> (16 * index));
        let b = half.read(call.values[1] >> (16 * index));
        let value = match call.form.mnemonic() {
            "add" => a + b,
            "sub" => a - b,
            "min" => a.min(b),
            "max" => a.max(b),
            name => panic!("no packed `{name}`"),
        };
        let value = if call.has("relu") { value.max(0) } else { value };
        result |= half.wrap(value) << (16 * index);
    }
    result
}

fn dot_product(call: &Call<'_>) -> i128 {
    let [a_type, b_type] = [call.types[0], call.types[1]];
    let four = call.form.mnemonic() == "dp4a";
    let a_part = Type { bits: if four { 8 } else { 16 }, signed: a_type.signed };
    let b_part = Type { bits: 8, signed: b_type.signed };
    let first = if call.has("hi") { 2 } else { 0 };
    let mut sum = call.source(2, U32);
    for index in 0..if four { 4 } else { 2 } {
        let a = a_part.read(call.values[0] >> (a_part.bits * index));
        let b = b_part.read(call.values[1] >> (8 * (index + first)));
        sum += a * b;
    }
    U32.wrap(sum)
}
