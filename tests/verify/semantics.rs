//! What the validator takes instructions to mean, against plain arithmetic.
//!
//! For each form a kernel applies the instruction to its parameters. The rewritten one stores a
//! number worked out here where the parameters have certain values, and the instruction's result
//! elsewhere. Equal means that the validator's meaning of the instruction gives that number; with a
//! wrong number the two must differ.

use ptxasw::verify::Verdict;
use rayon::prelude::*;

use super::{common, validate};

/// An instruction of two operands (the second one may be unused), and its value.
struct Form {
    /// The instruction, with `%a`, `%b` and the result `%d`.
    text: String,
    /// Bits of the operands and of the result.
    widths: (u32, u32),
    value: Box<dyn Fn(u64, u64) -> u64 + Sync + Send>,
}

fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

fn signed(value: u64, width: u32) -> i128 {
    let unused = 64 - width;
    i128::from(((value << unused) as i64) >> unused)
}

fn read(value: u64, width: u32, is_signed: bool) -> i128 {
    if is_signed { signed(value, width) } else { i128::from(value & mask(width)) }
}

fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |text: String, widths, value: Box<dyn Fn(u64, u64) -> u64 + Sync + Send>| {
        forms.push(Form { text, widths, value });
    };
    for width in [16u32, 32, 64] {
        for sign in ["s", "u"] {
            let is_signed = sign == "s";
            let ty = format!("{sign}{width}");
            let wide = move |value| read(value, width, is_signed);
            let both = (width, width);
            type Arithmetic = fn(i128, i128) -> i128;
            let arithmetic: [(&str, Arithmetic); 5] = [
                ("add", |a, b| a.wrapping_add(b)),
                ("sub", |a, b| a.wrapping_sub(b)),
                ("mul.lo", |a, b| a.wrapping_mul(b)),
                ("min", |a, b| a.min(b)),
                ("max", |a, b| a.max(b)),
            ];
            for (name, f) in arithmetic {
                let text = format!("{name}.{ty} %d, %a, %b;");
                add(text, both, Box::new(move |a, b| f(wide(a), wide(b)) as u64));
            }
            for divisor in [1u64, 3, 4, 7, 10] {
                let by = i128::from(divisor);
                let text = format!("div.{ty} %d, %a, {divisor};");
                add(text, both, Box::new(move |a, _| (wide(a) / by) as u64));
                let text = format!("rem.{ty} %d, %a, {divisor};");
                add(text, both, Box::new(move |a, _| (wide(a) % by) as u64));
            }
            let text = format!("mad.lo.{ty} %d, %a, %b, %a;");
            add(
                text,
                both,
                Box::new(move |a, b| wide(a).wrapping_mul(wide(b)).wrapping_add(wide(a)) as u64),
            );
            if width < 64 {
                let text = format!("mul.wide.{ty} %d, %a, %b;");
                add(text, (width, 2 * width), Box::new(move |a, b| (wide(a) * wide(b)) as u64));
            }
            type Order = fn(i128, i128) -> bool;
            let orders: [(&str, Order); 6] = [
                ("eq", |a, b| a == b),
                ("ne", |a, b| a != b),
                ("lt", |a, b| a < b),
                ("le", |a, b| a <= b),
                ("gt", |a, b| a > b),
                ("ge", |a, b| a >= b),
            ];
            for (name, f) in orders {
                let text = format!("setp.{name}.{ty} %p1, %a, %b; selp.u32 %d, 1, 0, %p1;");
                add(text, (width, 32), Box::new(move |a, b| u64::from(f(wide(a), wide(b)))));
                let text = format!("setp.{name}.{ty} %p2|%p1, %a, %b; selp.u32 %d, 1, 0, %p1;");
                add(text, (width, 32), Box::new(move |a, b| u64::from(!f(wide(a), wide(b)))));
            }
            for amount in [0u32, 1, 7, 15, 16, 31, 32, 33, 63, 64, 65, 1000] {
                let text = format!("shr.{ty} %d, %a, {amount};");
                add(text, both, Box::new(move |a, _| (wide(a) >> amount.min(127)) as u64));
                let text = format!("shl.b{width} %d, %a, {amount};");
                let shifted = move |a: u64| if amount < width { a << amount } else { 0 };
                add(text, both, Box::new(move |a, _| shifted(a)));
            }
            let text = format!("neg.s{width} %d, %a;");
            add(text, both, Box::new(|a, _| a.wrapping_neg()));
        }
        for (name, f) in [
            ("lo", (|a, b| a < b) as fn(u64, u64) -> bool),
            ("ls", |a, b| a <= b),
            ("hi", |a, b| a > b),
            ("hs", |a, b| a >= b),
        ] {
            let text = format!("setp.{name}.u{width} %p1, %a, %b; selp.u32 %d, 1, 0, %p1;");
            let cut = move |value: u64| value & mask(width);
            add(text, (width, 32), Box::new(move |a, b| u64::from(f(cut(a), cut(b)))));
        }
        let both = (width, width);
        for (name, f) in [
            ("and", (|a, b| a & b) as fn(u64, u64) -> u64),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
        ] {
            add(format!("{name}.b{width} %d, %a, %b;"), both, Box::new(f));
        }
        add(format!("not.b{width} %d, %a;"), both, Box::new(|a, _| !a));
        // The type that is read and the type that is written, in registers of their own widths.
        for from in ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"] {
            let from_width: u32 = from[1..].parse().expect("a width");
            for to in ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"] {
                let to_width: u32 = to[1..].parse().expect("a width");
                if from_width > width || from == to {
                    continue;
                }
                let value = move |a: u64| {
                    let read = read(a, from_width, from.starts_with('s')) as u64;
                    self::read(read, to_width, to.starts_with('s')) as u64
                };
                let widths = (width, to_width.max(32));
                add(format!("cvt.{to}.{from} %d, %a;"), widths, Box::new(move |a, _| value(a)));
            }
        }
    }
    let pair = |a: u64, b: u64| a & mask(32) | b << 32;
    add("mov.b64 %d, {%a, %b};".to_owned(), (32, 64), Box::new(pair));
    add("mov.b64 {%d, %x}, %a;".to_owned(), (64, 32), Box::new(|a, _| a));
    add("mov.b64 {%x, %d}, %a;".to_owned(), (64, 32), Box::new(|a, _| a >> 32));
    add("mov.b32 {_, %d}, %a;".to_owned(), (32, 16), Box::new(|a, _| a >> 16));
    for (width, at, bits) in [(64, 32, 32), (64, 0, 32), (64, 8, 48), (32, 3, 7), (32, 31, 1)] {
        let text = format!("bfi.b{width} %d, %a, %b, {at}, {bits};");
        let field = mask(bits) << at;
        let value = move |a: u64, b: u64| a << at & field | b & !field;
        add(text, (width, width), Box::new(value));
    }
    forms
}

/// Edges, and pairs of them.
const VALUES: [(u64, u64); 8] = [
    (0, 0),
    (1, u64::MAX),
    (u64::MAX, 1),
    (0x8000_8000_8000_8000, 0x7fff_7fff_7fff_7fff),
    (0x8000_0000_8000_8000, 0xffff_ffff_ffff_ffff),
    (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
    (0x0000_0000_0000_0080, 0x0000_0000_0000_0003),
    (0x7fff_ffff_7fff_7fff, 0x7fff_ffff_7fff_7fff),
];

/// A kernel, with what comes behind the instruction.
fn kernel(form: &Form, rest: &str) -> String {
    let (width, to) = form.widths;
    let text = ["%a", "%b", "%d", "%x"]
        .into_iter()
        .fold(form.text.clone(), |text, name| text.replace(name, &format!("%v{}", &name[1..])));
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .b{width} a, .param .b{width} b)\n{{\n\
         .reg .pred %p<8>; .reg .b64 %rd<4>; .reg .b{width} %va, %vb; .reg .b{to} %vd, %vx, %vr;\n\
         ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;\n\
         ld.param.b{width} %va, [a]; ld.param.b{width} %vb, [b];\n\
         {text}\n{rest}st.global.b{to} [%rd2], %vd;\nret;\n}}\n"
    )
}

/// The number in place of the result where the operands have these values.
fn replaced(form: &Form, (a, b): (u64, u64), number: u64) -> String {
    let (width, to) = form.widths;
    let (a, b, number) = (a & mask(width), b & mask(width), number & mask(to));
    kernel(
        form,
        &format!(
            "setp.eq.b{width} %p5, %va, {a:#x};\nsetp.eq.and.b{width} %p6, %vb, {b:#x}, %p5;\n\
             mov.b{to} %vr, {number:#x};\nselp.b{to} %vd, %vr, %vd, %p6;\n"
        ),
    )
}

#[test]
fn instructions_mean_what_the_manual_says() {
    let forms = forms();
    assert!(forms.len() > 300, "only {} forms", forms.len());
    let failures: Vec<String> = forms
        .par_iter()
        .enumerate()
        .flat_map_iter(|(index, form)| {
            let plain = kernel(form, "");
            // Each form with two of the pairs of values, all pairs in turn.
            let chosen = [VALUES[index % VALUES.len()], VALUES[(index / 3 + 5) % VALUES.len()]];
            let mut failures = Vec::new();
            for values in chosen {
                let (a, b) = (values.0 & mask(form.widths.0), values.1 & mask(form.widths.0));
                let right = (form.value)(a, b);
                for (number, wanted) in [(right, Verdict::Equal), (right ^ 1, Verdict::Different)] {
                    let found =
                        validate(&form.text, &plain, &replaced(form, values, number)).verdict;
                    if found != wanted {
                        let text = &form.text;
                        failures
                            .push(format!("`{text}` of {a:#x}, {b:#x}: {number:#x} is {found}"));
                    }
                }
            }
            failures
        })
        .collect();
    common::report(&failures, "The validator computes something else than is expected here.");
}
