//! One instruction at a time: every file in `instructions/`.
//!
//! A line at the margin names an instruction, the types of its sources and of its destinations,
//! and, where that is not simply `d0, s0, s1, ...`, its operands. Each indented line below is a
//! case: sources, `=`, destinations. Numbers are decimal, `0x` is a bit pattern, `nan` any NaN, and
//! `~x` an approximation to within 2^-20 of x. The expected values come from the manual's
//! definitions, not from the interpreter.

use super::bed::{Bed, path};

/// The register class of a type: declaration, prefix, type for loads and stores.
fn class(ty: &str) -> (&'static str, &'static str) {
    match ty {
        "pred" => ("%p", "pred"),
        "u8" | "s8" | "b8" | "u16" | "s16" | "b16" | "f16" | "bf16" => ("%h", "b16"),
        "u64" | "s64" | "b64" | "f64" => ("%w", "b64"),
        _ => ("%r", "b32"),
    }
}

fn bits_of(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "u8" | "s8" | "b8" => 8,
        "u16" | "s16" | "b16" | "f16" | "bf16" => 16,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => 32,
    }
}

struct Group<'t> {
    place: String,
    opcode: &'t str,
    sources: Vec<&'t str>,
    dests: Vec<&'t str>,
    operands: String,
    cases: Vec<(Vec<&'t str>, Vec<&'t str>, usize)>,
}

fn groups<'t>(file: &str, text: &'t str) -> Vec<Group<'t>> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            let (given, expected) =
                line.split_once('=').unwrap_or_else(|| panic!("{file}: {line}"));
            let group = groups.last_mut().expect("a case stands below its instruction");
            let case = (
                given.split_whitespace().collect::<Vec<_>>(),
                expected.split_whitespace().collect::<Vec<_>>(),
                number + 1,
            );
            assert_eq!(case.0.len(), group.sources.len(), "{file}:{}", number + 1);
            assert_eq!(case.1.len(), group.dests.len(), "{file}:{}", number + 1);
            group.cases.push(case);
            continue;
        }
        let mut parts = line.split('|').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let (opcode, sources, dests) = (next(), next(), next());
        let sources: Vec<_> = sources.split_whitespace().collect();
        let dests: Vec<_> = dests.split_whitespace().collect();
        let given = next().replace('/', "|");
        let operands = if given.is_empty() {
            let all = (0..dests.len()).map(|i| format!("d{i}"));
            let all: Vec<_> = all.chain((0..sources.len()).map(|i| format!("s{i}"))).collect();
            all.join(", ")
        } else {
            given
        };
        let place = format!("{file}:{}", number + 1);
        groups.push(Group { place, opcode, sources, dests, operands, cases: Vec::new() });
    }
    groups
}

/// A kernel that performs the instruction in each thread on operands from `in`.
fn kernel(group: &Group<'_>) -> String {
    let mut body = String::new();
    let mut operands = group.operands.clone();
    let (ins, outs) = (group.sources.len(), group.dests.len());
    for (i, ty) in group.sources.iter().enumerate() {
        let (prefix, wide) = class(ty);
        let name = format!("{prefix}{}", 20 + i);
        let at = 8 * i;
        body += &match wide {
            "pred" => format!("ld.global.b32 %r9, [%in+{at}]; setp.ne.u32 {name}, %r9, 0;\n"),
            wide => format!("ld.global.{wide} {name}, [%in+{at}];\n"),
        };
        operands = operands.replace(&format!("s{i}"), &name);
    }
    let mut stores = String::new();
    for (i, ty) in group.dests.iter().enumerate() {
        let (prefix, wide) = class(ty);
        let name = format!("{prefix}{}", 40 + i);
        let at = 8 * i;
        stores += &match wide {
            "pred" => format!("selp.u32 %r9, 1, 0, {name}; st.global.b32 [%out+{at}], %r9;\n"),
            wide => format!("st.global.{wide} [%out+{at}], {name};\n"),
        };
        operands = operands.replace(&format!("d{i}"), &name);
    }
    let instructions: String = group
        .opcode
        .split(';')
        .map(|opcode| match opcode.trim().split_once(' ') {
            // A sequence spells out its operands.
            Some((opcode, rest)) => {
                let mut rest = rest.replace('/', "|");
                for (i, ty) in group.sources.iter().enumerate() {
                    rest = rest.replace(&format!("s{i}"), &format!("{}{}", class(ty).0, 20 + i));
                }
                for (i, ty) in group.dests.iter().enumerate() {
                    rest = rest.replace(&format!("d{i}"), &format!("{}{}", class(ty).0, 40 + i));
                }
                format!("{opcode} {rest};\n")
            }
            None => format!("{} {operands};\n", opcode.trim()),
        })
        .collect();
    format!(
        ".version 8.6\n.target sm_100\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .pred %p<60>; .reg .b16 %h<60>; .reg .b32 %r<60>; .reg .b64 %w<60>;\n\
         .reg .b64 %in; .reg .b64 %out;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %r1, %tid.x;\n\
         mad.wide.u32 %in, %r1, {}, %in; mad.wide.u32 %out, %r1, {}, %out;\n\
         {body}{instructions}{stores}ret;\n}}\n",
        8 * ins,
        8 * outs
    )
}

fn number(ty: &str, text: &str) -> u64 {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).expect(text);
    }
    match ty {
        "f32" => u64::from(text.parse::<f32>().expect(text).to_bits()),
        "f64" => text.parse::<f64>().expect(text).to_bits(),
        _ if text == "nan" => panic!("write this NaN as a pattern"),
        "pred" => u64::from(text == "1"),
        _ => {
            let value: i128 = text.parse().expect(text);
            value as u64 & (u64::MAX >> (64 - bits_of(ty)))
        }
    }
}

/// The value of a floating-point number of a type.
fn value(ty: &str, bits: u64) -> f64 {
    match ty {
        "f64" => f64::from_bits(bits),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        "bf16" => f64::from(f32::from_bits((bits as u32) << 16)),
        "f16" => {
            let (exponent, fraction) = (bits >> 10 & 31, (bits & 1023) as f64);
            let magnitude = match exponent {
                0 => fraction * 2_f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * 2_f64.powi(exponent as i32 - 25),
            };
            if bits & 0x8000 != 0 { -magnitude } else { magnitude }
        }
        _ => f64::NAN,
    }
}

fn agrees(ty: &str, got: u64, expected: &str) -> bool {
    if expected == "nan" {
        return value(ty, got).is_nan();
    }
    if let Some(close) = expected.strip_prefix('~') {
        let wanted: f64 = close.parse().expect(close);
        return (value(ty, got) - wanted).abs() <= wanted.abs() * 2_f64.powi(-20);
    }
    got == number(ty, expected)
}

#[test]
fn every_instruction_does_what_the_manual_says() {
    let mut failures = Vec::new();
    let mut checked = 0;
    let mut files: Vec<_> = std::fs::read_dir(path("tests/interp/instructions"))
        .expect("the suite")
        .map(|entry| entry.expect("entry").path())
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("text");
        for group in groups(&name, &text) {
            let mut input = Vec::new();
            for (given, _, _) in &group.cases {
                input.extend(group.sources.iter().zip(given).map(|(ty, text)| number(ty, text)));
            }
            input.push(0);
            let output = vec![0_u64; group.cases.len() * group.dests.len()];
            let bed = Bed::text(&group.place, kernel(&group), "k")
                .block([group.cases.len() as u32, 1, 1])
                .buffer("in", &input)
                .buffer("out", &output);
            let done = match bed.run() {
                Ok(outcome) => super::bed::Done(outcome),
                Err(fault) => {
                    failures.push(format!("{}: {}: {fault}", group.place, group.opcode));
                    continue;
                }
            };
            let got = done.get::<u64>("out");
            for ((given, expected, line), got) in
                group.cases.iter().zip(got.chunks(group.dests.len()))
            {
                checked += 1;
                for ((ty, expected), &got) in group.dests.iter().zip(expected).zip(got) {
                    if !agrees(ty, got, expected) {
                        let given = given.join(" ");
                        failures.push(format!(
                            "{name}:{line}: {} {given}: {got:#x}, not {expected}",
                            group.opcode
                        ));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
    assert!(checked > 400, "only {checked} cases");
}
