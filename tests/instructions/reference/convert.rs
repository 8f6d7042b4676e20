//! "Data Movement and Conversion Instructions": `mov` with packing and unpacking, `cvt`, `cvta`.

use super::{Call, Type};

pub fn results(call: &Call<'_>) -> Vec<i128> {
    match call.form.mnemonic() {
        "cvt" if call.has("pack") => {
            let [to, from] = [call.types[0], call.types[1]];
            let part = |index| to.wrap(to.clamp(call.source(index, from)));
            let above = if to.bits < 16 { call.values[2] } else { 0 };
            let above = i128::from(above) << (2 * to.bits);
            vec![call.write(call.ty(), above | part(0) << to.bits | part(1))]
        }
        "cvt" => {
            let [to, from] = [call.types[0], call.types[1]];
            let value = call.source(0, from);
            let value = if call.has("sat") { to.clamp(value) } else { value };
            vec![call.write(to, value)]
        }
        // The generic address of a global one is the same number.
        "cvta" => vec![call.source(0, call.ty())],
        _ => mov(call),
    }
}

/// The elements of a vector follow each other from the lowest bit up.
fn mov(call: &Call<'_>) -> Vec<i128> {
    let whole = call.ty().bits;
    let part = |count: usize| Type { bits: whole / count as u32, signed: false };
    let from = part(call.values.len());
    let value: i128 = (0..call.values.len())
        .map(|index| call.source(index, from) << (from.bits * index as u32))
        .sum();
    let pieces = match call.form.line.split_whitespace().nth(1) {
        Some(vector) if vector.starts_with('{') => vector.split(',').count(),
        _ => 1,
    };
    let to = part(pieces);
    (0..pieces)
        .map(|index| to.wrap(value >> (to.bits * index as u32)))
        .zip(call.form.line.split([' ', ',', '{', '}']).skip(1).filter(|t| !t.is_empty()))
        .filter(|(_, written)| *written != "_")
        .map(|(piece, _)| piece)
        .collect()
}
