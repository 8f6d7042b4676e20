//! Single floating-point instructions on many operands, against arithmetic that shares no code with
//! the interpreter: rustc_apfloat for singles, halves and bfloat16; for doubles the host's nearest
//! result, moved by the sign of its exact error.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::bed::Bed;

/// Operands of each instruction.
const COUNT: usize = 4096;

/// The expected result, from the bits of up to three operands.
type Reference = Box<dyn Fn([u64; 3]) -> u64>;

struct Case {
    opcode: String,
    /// Registers and widths of sources and destination: `h`, `r` or `x`.
    sources: Vec<char>,
    result: char,
    expected: Reference,
}

const MODES: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

/// The NaN that an instruction gives in a format.
trait Canonical: Float {
    const CANONICAL: u64;
    const LETTER: char;

    fn of(bits: u64) -> Self {
        Self::from_bits(u128::from(bits))
    }

    fn bits(self) -> u64 {
        if self.is_nan() { Self::CANONICAL } else { self.to_bits() as u64 }
    }

    fn flushed(self) -> Self {
        if self.is_denormal() { Self::ZERO.copy_sign(self) } else { self }
    }
}

impl Canonical for Single {
    const CANONICAL: u64 = 0x7fff_ffff;
    const LETTER: char = 'r';
}
impl Canonical for Half {
    const CANONICAL: u64 = 0x7fff;
    const LETTER: char = 'h';
}
impl Canonical for BFloat {
    const CANONICAL: u64 = 0x7fff;
    const LETTER: char = 'h';
}
impl Canonical for Double {
    const CANONICAL: u64 = 0x7ff8_0000_0000_0000;
    const LETTER: char = 'x';
}

/// `add sub mul fma div rcp` of a format, as apfloat computes them.
fn arithmetic<F: Canonical + 'static>(
    ty: &str,
    names: &[&'static str],
    modes: &[(&str, Round)],
    ftz: bool,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for &name in names {
        for &(mode, round) in modes {
            let count = match name {
                "fma" => 3,
                "rcp" => 1,
                _ => 2,
            };
            let expected = move |operands: [u64; 3]| {
                let see = |bits| if ftz { F::of(bits).flushed() } else { F::of(bits) };
                let [a, b, c] = operands.map(see);
                let result = match name {
                    "add" => a.add_r(b, round),
                    "sub" => a.sub_r(b, round),
                    "mul" => a.mul_r(b, round),
                    "div" => a.div_r(b, round),
                    "rcp" => F::from_u128(1).value.div_r(a, round),
                    _ => a.mul_add_r(b, c, round),
                }
                .value;
                (if ftz { result.flushed() } else { result }).bits()
            };
            let flush = if ftz { ".ftz" } else { "" };
            cases.push(Case {
                opcode: format!("{name}.{mode}{flush}.{ty}"),
                sources: vec![F::LETTER; count],
                result: F::LETTER,
                expected: Box::new(expected),
            });
        }
    }
    cases
}

fn conversion<F, T>(from: &str, to: &str) -> Vec<Case>
where
    F: Canonical + FloatConvert<T>,
    T: Canonical,
{
    MODES
        .iter()
        .map(|&(mode, round)| Case {
            opcode: format!("cvt.{mode}.{to}.{from}"),
            sources: vec![F::LETTER],
            result: T::LETTER,
            expected: Box::new(move |[a, ..]| F::of(a).convert_r(round, &mut false).value.bits()),
        })
        .collect()
}

/// `cvt.{rni,rzi,rmi,rpi}` of singles: out of range gives the nearest end, NaN zero.
fn to_integers() -> Vec<Case> {
    let names = ["rni", "rzi", "rmi", "rpi"];
    let mut cases = Vec::new();
    for (name, (_, round)) in names.into_iter().zip(MODES) {
        cases.push(Case {
            opcode: format!("cvt.{name}.s32.f32"),
            sources: vec!['r'],
            result: 'r',
            expected: Box::new(move |[a, ..]| {
                let value = Single::of(a);
                if value.is_nan() {
                    0
                } else {
                    value.to_i128_r(32, round, &mut false).value as u32 as u64
                }
            }),
        });
        cases.push(Case {
            opcode: format!("cvt.{name}.u32.f32"),
            sources: vec!['r'],
            result: 'r',
            expected: Box::new(move |[a, ..]| {
                let value = Single::of(a);
                if value.is_nan() { 0 } else { value.to_u128_r(32, round, &mut false).value as u64 }
            }),
        });
    }
    cases
}

/// A double in a rounding mode, from the nearest one and the sign of `exact - nearest`.
fn moved(nearest: f64, error: f64, mode: &str) -> u64 {
    let up = match mode {
        "rp" => true,
        "rz" => nearest < 0.0 || nearest == 0.0 && error < 0.0,
        _ => false,
    };
    let result = match mode {
        "rn" => nearest,
        _ if !nearest.is_finite() || error == 0.0 || error.is_nan() => nearest,
        _ if error > 0.0 && up => nearest.next_up(),
        _ if error < 0.0 && !up => nearest.next_down(),
        _ => nearest,
    };
    if result.is_nan() { Double::CANONICAL } else { result.to_bits() }
}

/// Doubles whose exponents stay away from the ends, where error terms are exact.
fn tame(bits: u64) -> f64 {
    f64::from_bits(bits & 0x8fff_ffff_ffff_ffff | 0x3000_0000_0000_0000)
}

fn doubles() -> Vec<Case> {
    let mut cases = Vec::new();
    for (mode, _) in MODES {
        let mut push = |name: &str, count: usize, expected: Reference| {
            let opcode = format!("{name}.{mode}.f64");
            cases.push(Case { opcode, sources: vec!['x'; count], result: 'x', expected });
        };
        push(
            "add",
            2,
            Box::new(move |[a, b, _]| {
                let (a, b) = (tame(a), tame(b));
                let sum = a + b;
                let part = sum - a;
                if sum == 0.0 {
                    return if mode == "rm" { (-0.0_f64).to_bits() } else { 0 };
                }
                moved(sum, (a - (sum - part)) + (b - part), mode)
            }),
        );
        push(
            "mul",
            2,
            Box::new(move |[a, b, _]| {
                let (a, b) = (tame(a), tame(b));
                moved(a * b, a.mul_add(b, -(a * b)), mode)
            }),
        );
        push(
            "div",
            2,
            Box::new(move |[a, b, _]| {
                let (a, b) = (tame(a), tame(b));
                let rest = (-(a / b)).mul_add(b, a);
                moved(a / b, if b < 0.0 { -rest } else { rest }, mode)
            }),
        );
        push(
            "sqrt",
            1,
            Box::new(move |[a, ..]| {
                let a = tame(a).abs();
                moved(a.sqrt(), (-a.sqrt()).mul_add(a.sqrt(), a), mode)
            }),
        );
    }
    cases
}

/// Singles' square roots: the double's root rounded once more is exact enough to compare squares.
fn roots() -> Vec<Case> {
    MODES
        .iter()
        .map(|&(mode, round)| Case {
            opcode: format!("sqrt.{mode}.f32"),
            sources: vec!['r'],
            result: 'r',
            expected: Box::new(move |[a, ..]| {
                let a = f32::from_bits(a as u32);
                let root = f64::from(a).sqrt();
                if root.is_nan() {
                    return Single::CANONICAL;
                }
                // The square of a single that is not the root differs from `a` in the double's
                // last but one place or before: the double knows the side.
                let exact = Double::from_bits(u128::from(root.to_bits()));
                let single: Single = exact.convert_r(round, &mut false).value;
                single.bits()
            }),
        })
        .collect()
}

/// Comparisons with NaN on either side, in the host's own words.
fn comparisons() -> Vec<Case> {
    type Compare = fn(f32, f32) -> bool;
    let all: [(&str, Compare); 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a.partial_cmp(&b).is_some_and(|order| order.is_ne())),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_eq())),
        ("neu", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_ne())),
        ("ltu", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_lt())),
        ("leu", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_le())),
        ("gtu", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_gt())),
        ("geu", |a, b| a.partial_cmp(&b).is_none_or(|order| order.is_ge())),
        ("num", |a, b| a.partial_cmp(&b).is_some()),
        ("nan", |a, b| a.partial_cmp(&b).is_none()),
    ];
    all.into_iter()
        .map(|(name, holds)| Case {
            opcode: format!("set.{name}.u32.f32"),
            sources: vec!['r', 'r'],
            result: 'r',
            expected: Box::new(move |[a, b, _]| {
                let holds = holds(f32::from_bits(a as u32), f32::from_bits(b as u32));
                if holds { 0xffff_ffff } else { 0 }
            }),
        })
        .collect()
}

/// Operands: any bits; small differences to others; zeros, infinities, NaNs, ends of the range.
fn operands(letter: char, source: &mut fastrand::Rng) -> Vec<u64> {
    let bits = match letter {
        'h' => 16,
        'r' => 32,
        _ => 64,
    };
    let mask = u64::MAX >> (64 - bits);
    let mut found: Vec<u64> = Vec::with_capacity(COUNT);
    for index in 0..COUNT {
        let any = source.u64(..) & mask;
        found.push(match source.u8(..8) {
            0 => any & (1 << (bits - 1)),
            1 => any & (mask >> (bits / 2)),
            2 => any | mask >> 1 & !(mask >> source.u32(1..bits)),
            3 | 4 if index > 0 => {
                (found[index - 1] ^ (any & 3)).wrapping_add(source.u64(..3)) & mask
            }
            5 => (any & !0 << source.u32(0..bits)) & mask,
            _ => any,
        });
    }
    found
}

fn kernel(case: &Case) -> String {
    let width = |letter| match letter {
        'h' => "b16",
        'r' => "b32",
        _ => "b64",
    };
    let count = case.sources.len();
    let loads: String = case
        .sources
        .iter()
        .enumerate()
        .map(|(i, &l)| format!("ld.global.{} %{l}{i}, [%in+{}];\n", width(l), 8 * i))
        .collect();
    let sources: Vec<String> =
        case.sources.iter().enumerate().map(|(i, letter)| format!("%{letter}{i}")).collect();
    format!(
        ".version 8.6\n.target sm_100\n.address_size 64\n\
         .visible .entry k(.param .u64 pin, .param .u64 pout) {{\n\
         .reg .b16 %h<9>; .reg .b32 %r<9>, %t, %c; .reg .b64 %x<9>, %in, %out;\n\
         ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n\
         mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %t, %c, 512, %t;\n\
         mad.wide.u32 %in, %t, {}, %in; mad.wide.u32 %out, %t, 8, %out;\n{loads}\
         {} %{d}8, {};\nst.global.{} [%out], %{d}8; ret;\n}}\n",
        8 * count,
        case.opcode,
        sources.join(", "),
        width(case.result),
        d = case.result,
    )
}

#[test]
fn arithmetic_agrees_with_other_implementations() {
    let names = ["add", "sub", "mul", "fma", "div", "rcp"];
    let nearest = &MODES[..1];
    let half = ["add", "sub", "mul", "fma"];
    let mut cases = arithmetic::<Single>("f32", &names, &MODES, false);
    cases.extend(arithmetic::<Single>("f32", &names, &MODES, true));
    cases.extend(arithmetic::<Half>("f16", &half, nearest, false));
    cases.extend(arithmetic::<BFloat>("bf16", &half, nearest, false));
    cases.extend(conversion::<Single, Half>("f32", "f16"));
    cases.extend(conversion::<Single, BFloat>("f32", "bf16"));
    cases.extend(conversion::<Double, Single>("f64", "f32"));
    cases.extend(to_integers());
    cases.extend(roots());
    cases.extend(doubles());
    cases.extend(comparisons());
    let mut failures = Vec::new();
    let mut source = fastrand::Rng::with_seed(7);
    for case in &cases {
        let columns: Vec<Vec<u64>> =
            case.sources.iter().map(|&letter| operands(letter, &mut source)).collect();
        let tamed = case.opcode.ends_with(".f64") && !case.opcode.starts_with("cvt");
        let input: Vec<u64> =
            (0..COUNT)
                .flat_map(|i| columns.iter().map(move |column| column[i]))
                .map(|bits| if tamed { tame(bits).to_bits() } else { bits })
                .map(|bits| {
                    if case.opcode.starts_with("sqrt") && tamed { bits & !(1 << 63) } else { bits }
                })
                .collect();
        let done = Bed::text(&case.opcode, kernel(case), "k")
            .without_races()
            .block([512, 1, 1])
            .grid([COUNT as u32 / 512, 1, 1])
            .buffer("in", &input)
            .buffer("out", &vec![0_u64; COUNT])
            .good();
        let got = done.get::<u64>("out");
        let wrong = input.chunks(case.sources.len()).zip(got).find_map(|(given, got)| {
            let mut padded = [0; 3];
            padded[..given.len()].copy_from_slice(given);
            let expected = (case.expected)(padded);
            (got != expected)
                .then(|| format!("{} {given:x?}: {got:#x}, not {expected:#x}", case.opcode))
        });
        failures.extend(wrong);
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
