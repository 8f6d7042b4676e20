//! "Comparison and Selection Instructions".

use super::{Call, Type};

pub fn results(call: &Call<'_>) -> Vec<i128> {
    let bits = |ty: Type| Type { signed: false, ..ty };
    match call.form.mnemonic() {
        "selp" => {
            let ty = bits(call.ty());
            let chosen = if call.predicate(2) { 0 } else { 1 };
            vec![call.source(chosen, ty)]
        }
        "slct" => {
            let chosen = if call.source(2, call.types[1]) >= 0 { 0 } else { 1 };
            vec![call.source(chosen, bits(call.types[0]))]
        }
        "set" => {
            let holds = combined(call, compare(call, call.types[1]));
            let float = call.form.opcode.split('.').rev().nth(1) == Some("f32");
            let truth = if float { 0x3f80_0000 } else { bits(call.types[0]).limits().1 };
            vec![if holds { truth } else { 0 }]
        }
        _ => {
            let t = compare(call, call.ty());
            let (p, q) = (i128::from(combined(call, t)), i128::from(combined(call, !t)));
            let pair = call.form.line.contains("pred|") || call.form.line.contains("_|");
            match (call.form.results.len(), pair, call.form.line.contains("_|")) {
                (2, ..) => vec![p, q],
                (_, _, true) => vec![q],
                _ => vec![p],
            }
        }
    }
}

fn compare(call: &Call<'_>, ty: Type) -> bool {
    let operator = call.form.opcode.split('.').nth(1).unwrap_or_default();
    // `lo`, `ls`, `hi` and `hs` are for unsigned numbers.
    let (a, b) = (call.source(0, ty), call.source(1, ty));
    match operator {
        "eq" => a == b,
        "ne" => a != b,
        "lt" | "lo" => a < b,
        "le" | "ls" => a <= b,
        "gt" | "hi" => a > b,
        "ge" | "hs" => a >= b,
        other => panic!("no comparison `{other}` of integers"),
    }
}

fn combined(call: &Call<'_>, t: bool) -> bool {
    if call.values.len() < 3 {
        return t;
    }
    let c = call.predicate(2);
    match () {
        () if call.has("and") => t && c,
        () if call.has("or") => t || c,
        () => t != c,
    }
}
