//! Bit counting, bit fields, byte permutation ("Integer Arithmetic", "Data Movement"), and "Logic and
//! Shift Instructions": bit by bit, as the manual's pseudo-code goes.

use super::{Call, Type};

const U32: Type = Type { bits: 32, signed: false };

pub fn results(call: &Call<'_>) -> Option<Vec<i128>> {
    let name = call.form.mnemonic();
    let ty = call.ty();
    let n = ty.bits;
    let unsigned = Type { bits: n, signed: false };
    let amount = |index: usize| call.source(index, U32);
    // Positions and lengths have 8 bits; ptxas cuts others down only where operands have 32 bits.
    let amounts = match name {
        "bfe" => &call.values[1..],
        "bfi" => &call.values[2..],
        _ => &[],
    };
    if n == 64 && amounts.iter().any(|&amount| amount > 255) {
        return None;
    }
    let value = match name {
        "lop3" => return Some(lop3(call)),
        "fns" => return fns(call).map(|value| vec![value]),
        "popc" => (0..n).map(|i| bit(call.source(0, unsigned), i)).sum(),
        "clz" => {
            let a = call.source(0, unsigned);
            let leading = (0..n).rev().take_while(|&i| bit(a, i) == 0).count();
            leading as i128
        }
        "brev" => {
            let a = call.source(0, unsigned);
            (0..n).map(|i| bit(a, i) << (n - 1 - i)).sum()
        }
        "bfind" => bfind(call),
        "bfe" => {
            let a = call.source(0, unsigned);
            let (pos, len) = (amount(1) & 0xff, amount(2) & 0xff);
            let msb = i128::from(n) - 1;
            let sbit =
                if !ty.signed || len == 0 { 0 } else { bit(a, (pos + len - 1).min(msb) as u32) };
            (0..=msb)
                .map(|i| {
                    let d = if i < len && pos + i <= msb { bit(a, (pos + i) as u32) } else { sbit };
                    d << i
                })
                .sum()
        }
        "bfi" => {
            let (a, mut f) = (call.source(0, unsigned), call.source(1, unsigned));
            let (pos, len) = (amount(2) & 0xff, amount(3) & 0xff);
            for i in (0..len).take_while(|i| pos + i < i128::from(n)) {
                f &= !(1 << (pos + i));
                f |= bit(a, i as u32) << (pos + i);
            }
            f
        }
        "bmsk" => bmsk(call),
        "szext" => szext(call, ty),
        "prmt" => prmt(call),
        "and" => call.source(0, unsigned) & call.source(1, unsigned),
        "or" => call.source(0, unsigned) | call.source(1, unsigned),
        "xor" => call.source(0, unsigned) ^ call.source(1, unsigned),
        "not" => unsigned.wrap(!call.source(0, unsigned)),
        "cnot" => i128::from(call.source(0, unsigned) == 0),
        "shl" => {
            let by = amount(1);
            if by >= i128::from(n) { 0 } else { unsigned.wrap(call.source(0, unsigned) << by) }
        }
        "shr" => unsigned.wrap(call.source(0, ty) >> amount(1).min(100)),
        "shf" => {
            let (a, b, c) = (amount(0), amount(1), amount(2));
            let shift = if call.has("clamp") { c.min(32) } else { c & 31 };
            let both = b << 32 | a;
            if call.has("l") {
                both << shift >> 32 & 0xffff_ffff
            } else {
                both >> shift & 0xffff_ffff
            }
        }
        _ => panic!("no reference for `{name}`"),
    };
    Some(vec![value])
}

fn bit(value: i128, index: u32) -> i128 {
    value >> index & 1
}

fn lop3(call: &Call<'_>) -> Vec<i128> {
    let table = i128::from(call.values[3]);
    let [a, b, c] = [0, 1, 2].map(|index| call.source(index, U32));
    let d: i128 = (0..32)
        .map(|i| {
            let row = bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i);
            bit(table, row as u32) << i
        })
        .sum();
    if !call.has("and") && !call.has("or") {
        return vec![d];
    }
    let q = call.predicate(4);
    let p = if call.has("and") { d != 0 && q } else { d != 0 || q };
    // With a sink in the place of the first result only the predicate is seen.
    if call.form.results.len() == 1 { vec![i128::from(p)] } else { vec![d, i128::from(p)] }
}

fn fns(call: &Call<'_>) -> Option<i128> {
    let (mask, base) = (call.source(0, U32), call.source(1, U32));
    let offset = call.source(2, Type { bits: 32, signed: true });
    if base > 31 {
        return None;
    }
    if offset == 0 {
        return Some(if bit(mask, base as u32) == 1 { base } else { 0xffff_ffff });
    }
    let (mut pos, mut count, inc) = (base, offset.abs() - 1, offset.signum());
    while (0..32).contains(&pos) {
        if bit(mask, pos as u32) == 1 {
            if count == 0 {
                return Some(pos);
            }
            count -= 1;
        }
        pos += inc;
    }
    Some(0xffff_ffff)
}

fn bfind(call: &Call<'_>) -> i128 {
    let ty = call.ty();
    let unsigned = Type { signed: false, ..ty };
    let mut a = call.source(0, unsigned);
    if ty.signed && bit(a, ty.bits - 1) == 1 {
        a = unsigned.wrap(!a);
    }
    match (0..ty.bits).rev().find(|&i| bit(a, i) == 1) {
        None => 0xffff_ffff,
        Some(d) if call.has("shiftamt") => i128::from(ty.bits - 1 - d),
        Some(d) => i128::from(d),
    }
}

fn bmsk(call: &Call<'_>) -> i128 {
    let (a, b) = (call.source(0, U32), call.source(1, U32));
    let (a1, b1) = (a & 31, b & 31);
    let mut mask0 = U32.wrap(-1 << a1);
    let sum = a1 + b1;
    let clamp = call.has("clamp");
    if clamp && a >= 32 {
        mask0 = 0;
    }
    let mask1 = if sum >= 32 || clamp && (a >= 32 || b >= 32) {
        0
    } else if b1 == 0 {
        U32.wrap(-1)
    } else {
        U32.wrap(-1 << sum)
    };
    mask0 & U32.wrap(!mask1)
}

fn szext(call: &Call<'_>, ty: Type) -> i128 {
    let (a, b) = (call.source(0, U32), call.source(1, U32));
    let b1 = b & 31;
    let too_large = b >= 32 && call.has("clamp");
    let mask = if too_large { 0 } else { U32.wrap(-1 << b1) };
    let sign_pos = (b1 - 1) & 31;
    let sign = !(b1 == 0 || too_large || !ty.signed) && bit(a, sign_pos as u32) == 1;
    a & U32.wrap(!mask) | if sign { mask } else { 0 }
}

/// The table of "prmt": bytes `d.b3 d.b2 d.b1 d.b0` for selectors 0 to 3.
fn prmt(call: &Call<'_>) -> i128 {
    let both = u128::from(call.values[1] as u32) << 32 | u128::from(call.values[0] as u32);
    let control = call.values[2];
    let byte = |index: u32| (both >> (8 * index) & 0xff) as i128;
    let modes: [(&str, [&str; 4]); 6] = [
        ("f4e", ["3210", "4321", "5432", "6543"]),
        ("b4e", ["5670", "6701", "7012", "0123"]),
        ("rc8", ["0000", "1111", "2222", "3333"]),
        ("ecl", ["3210", "3211", "3222", "3333"]),
        ("ecr", ["0000", "1110", "2210", "3210"]),
        ("rc16", ["1010", "3232", "1010", "3232"]),
    ];
    if let Some((_, rows)) = modes.iter().find(|(name, _)| call.has(name)) {
        let row = rows[(control & 3) as usize];
        return row.chars().fold(0, |d, c| d << 8 | byte(c.to_digit(10).unwrap_or_default()));
    }
    (0..4)
        .map(|index| {
            let nibble = (control >> (4 * index) & 15) as u32;
            let chosen = byte(nibble & 7);
            let copies = if chosen & 0x80 == 0 { 0 } else { 0xff };
            (if nibble & 8 == 0 { chosen } else { copies }) << (8 * index)
        })
        .sum()
}

impl Call<'_> {
    /// A predicate source, with its `!`.
    pub fn predicate(&self, index: usize) -> bool {
        (self.values[index] & 1 == 1) != self.leaf(index).complemented
    }
}
