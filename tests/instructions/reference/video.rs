//! "Scalar Video Instructions", as the manual's pseudo-code goes.

use super::{Call, Type};

const U32: Type = Type { bits: 32, signed: false };
const S32: Type = Type { bits: 32, signed: true };

pub fn result(call: &Call<'_>) -> i128 {
    let name = call.form.mnemonic();
    let (d_type, a_type, b_type) = match call.types[..] {
        [d, a, b] => (d, a, b),
        [a, b] => (U32, a, b),
        _ => panic!("`{}` has two or three types", call.form.opcode),
    };
    let a = part(call, 0, a_type);
    let b = part(call, 1, b_type);
    if name == "vmad" {
        return multiply(call, a_type.signed || b_type.signed, a, b);
    }
    let shift = if call.has("clamp") { b.min(32) } else { b & 31 };
    let tmp = match name {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => (a - b).abs(),
        "vmin" => a.min(b),
        "vmax" => a.max(b),
        "vshl" => a << shift,
        "vshr" => a >> shift,
        "vset" => i128::from(holds(call, a, b)),
        _ => panic!("no reference for `{name}`"),
    };
    let dsel = call.form.results[0].selector.as_deref();
    let field = match dsel {
        None => Type { bits: 32, ..d_type },
        Some(selector) if selector.starts_with('b') => Type { bits: 8, ..d_type },
        Some(_) => Type { bits: 16, ..d_type },
    };
    let tmp = if call.has("sat") { field.clamp(tmp) } else { tmp };
    let c = |ty: Type| call.source(2, ty);
    let tmp = match () {
        () if call.has("add") => tmp + c(d_type),
        () if call.has("min") => tmp.min(c(d_type)),
        () if call.has("max") => tmp.max(c(d_type)),
        () => tmp,
    };
    let Some(dsel) = dsel else { return U32.wrap(tmp) };
    let low = field.bits * number(dsel);
    let mask = field.wrap(-1) << low;
    c(U32) & !mask | (field.wrap(tmp) << low)
}

fn number(selector: &str) -> u32 {
    selector[1..].parse().unwrap_or_else(|_| panic!("`{selector}` is not a selector"))
}

/// The byte, half or word that a source names.
fn part(call: &Call<'_>, index: usize, ty: Type) -> i128 {
    match call.leaf(index).selector.as_deref() {
        None => call.source(index, ty),
        Some(selector) => {
            let bits = if selector.starts_with('b') { 8 } else { 16 };
            Type { bits, ..ty }.read(call.values[index] >> (bits * number(selector)))
        }
    }
}

/// The comparison that the opcode names.
pub fn holds(call: &Call<'_>, a: i128, b: i128) -> bool {
    match () {
        () if call.has("eq") => a == b,
        () if call.has("ne") => a != b,
        () if call.has("lt") => a < b,
        () if call.has("le") => a <= b,
        () if call.has("gt") => a > b,
        () => a >= b,
    }
}

fn multiply(call: &Call<'_>, signed: bool, a: i128, b: i128) -> i128 {
    let negates = call.leaf(0).negated != call.leaf(1).negated;
    let negates_c = call.leaf(2).negated;
    let signed = signed || negates || negates_c;
    let c = call.source(2, if signed { S32 } else { U32 });
    let product = if negates { -(a * b) } else { a * b };
    let sum = product + if negates_c { -c } else { c } + i128::from(call.has("po"));
    let scaled = match () {
        () if call.has("shr7") => sum >> 7,
        () if call.has("shr15") => sum >> 15,
        () => sum,
    };
    let result = match (call.has("sat"), signed) {
        (true, true) => S32.clamp(scaled),
        (true, false) => U32.clamp(scaled),
        (false, _) => scaled,
    };
    U32.wrap(result)
}
