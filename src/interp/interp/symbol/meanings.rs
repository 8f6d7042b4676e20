//! Each meaning against the function beside it: on random numbers and on edges, in double precision.

use std::collections::BTreeSet;

use typed_index_collections::ti_vec;

use crate::algebra::{Comparison, Format, Meaning, Mode, Real, number, rounded};
use crate::interp::kernel::Kernel;
use crate::interp::program::Op;
use crate::interp::registers::{File, LANES, Registers, Slot, Slots, WarpOp};
use crate::launch::Launch;
use crate::ptx::{self, Depth};
use crate::source::SourceFile;

crate::unit_tests!(meanings_are_those_of_the_functions);

/// A line for each instruction with a meaning, in all its forms.
const TEXT: &str = include_str!("meanings.ptx");

/// How many operations of the text have a meaning, without those that stand there twice.
const OPERATIONS: usize = 152;

fn meanings_are_those_of_the_functions() {
    let source = SourceFile::new("meanings.ptx".to_owned(), TEXT.to_owned());
    let module = ptx::parse(&source, Depth::All).expect("a module");
    let launch = Launch::one_warp("meanings".to_owned());
    let kernel = Kernel::new(&module, &launch, false).expect("all instructions are modelled");
    let mut seen = BTreeSet::new();
    for function in &kernel.program.functions {
        for (pc, micro) in function.code.iter_enumerated() {
            let line = source.line(function.spans[pc].start);
            match &micro.op {
                Op::Lanes(op, _) if op.meaning != Meaning::Unknown => {
                    seen.insert(std::ptr::from_ref(*op) as usize);
                    check(op, line);
                }
                Op::Scalar(scalar) => {
                    if let Meaning::Pack { from, to, .. } = scalar.meaning {
                        for (a, b) in numbers(from, 1).into_iter().zip(numbers(from, 2)) {
                            let result = (scalar.run)([a, b, 0, 0]).expect("a pair");
                            let halves = [(a, result >> 16), (b, result & 0xffff)];
                            for (source, half) in halves {
                                near(number(to, half), number(from, source), to, line);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert!(seen.len() >= OPERATIONS, "only {} operations were tried", seen.len());
}

/// Numbers of a format: edges first.
fn numbers(format: Format, seed: u64) -> Vec<u64> {
    let edges = [0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 100.0, -0.25, 7.5, -2.5, 1e-3, 3.5];
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let turned = (0..edges.len()).map(|at| edges[(at * seed as usize + at) % edges.len()]);
    let mut values: Vec<f64> = turned.collect();
    values.extend((0..4 * LANES).map(|_| random() * 8.0 - 4.0));
    values.into_iter().map(|value| rounded(format, value)).collect()
}

/// Asserts that a result is a value but for rounding.
fn near(found: f64, expected: f64, format: Format, line: u32) {
    let largest = match format {
        Format::F16 => 65_504.0,
        _ => 1e30,
    };
    if !expected.is_finite() || expected.abs() > largest {
        return;
    }
    let share = match format {
        Format::F64 | Format::S32 => 1e-9,
        Format::F32 => 1e-6,
        Format::Tf32 | Format::F16 => 2e-3,
        Format::Bf16 => 1e-2,
    };
    let close = (found - expected).abs() <= share * expected.abs().max(1e-4);
    assert!(close, "line {line}: {found} instead of {expected}");
}

/// The value of a function, by the standard library.
fn value(real: Real, [a, b, c]: [f64; 3]) -> f64 {
    match real {
        Real::Add => a + b,
        Real::Sub => a - b,
        Real::Mul => a * b,
        Real::Fma => a * b + c,
        Real::Div => a / b,
        Real::Neg => -a,
        Real::Abs => a.abs(),
        Real::Max => a.max(b),
        Real::Min => a.min(b),
        Real::Rcp => 1.0 / a,
        Real::Sqrt => a.sqrt(),
        Real::Rsqrt => 1.0 / a.sqrt(),
        Real::Ex2 => 2_f64.powf(a),
        Real::Lg2 => a.log2(),
        Real::Sin => a.sin(),
        Real::Cos => a.cos(),
        Real::Tanh => a.tanh(),
        Real::Same => a,
        Real::Sat => a.clamp(0.0, 1.0),
        Real::Relu => a.max(0.0),
        Real::Copysign => b.abs().copysign(a),
        Real::Floor => a.floor(),
        Real::Ceil => a.ceil(),
        Real::Trunc => a.trunc(),
        Real::Nearest => a.round_ties_even(),
    }
}

/// The results of an operation on rows of operands.
fn results(op: &WarpOp, rows: &[Vec<u64>]) -> Vec<u64> {
    let mut results = Vec::new();
    let count = rows[0].len();
    for first in (0..count).step_by(LANES) {
        let mut registers = Registers {
            preds: ti_vec![0; 6],
            w32: ti_vec![[0; LANES]; 6],
            w64: ti_vec![[0; LANES]; 6],
        };
        let slots = Slots { d: [Slot(4), Slot(5)], s: [Slot(0), Slot(1), Slot(2), Slot(3)] };
        let lanes = LANES.min(count - first);
        for (at, file) in op.s.iter().enumerate() {
            let Some(file) = *file else { continue };
            let row = rows.get(at).unwrap_or(&rows[0]);
            for lane in 0..lanes {
                registers.set(file, slots.s[at], lane, row[first + lane]);
            }
        }
        (op.run)(&mut registers, &slots, u32::MAX);
        let file = op.d[0].expect("a result");
        results.extend((0..lanes).map(|lane| registers.get(file, slots.d[0], lane)));
    }
    results
}

fn check(op: &WarpOp, line: u32) {
    match op.meaning {
        Meaning::Real(real, format, mode) => {
            // Approximations of doubles have the upper half of their bits.
            let precision = match format {
                Format::F64 if mode.0 & Mode::APPROX != 0 => Format::F32,
                format => format,
            };
            let rows: Vec<Vec<u64>> = (1..=3).map(|seed| numbers(format, seed)).collect();
            for (at, found) in results(op, &rows).into_iter().enumerate() {
                let operands = [0, 1, 2].map(|row| number(format, rows[row][at]));
                near(number(format, found), value(real, operands), precision, line);
            }
        }
        Meaning::Halves(real, format, _) => {
            let rows: Vec<Vec<u64>> = (1..=6).map(|seed| numbers(format, seed)).collect();
            let packed = |row: usize| {
                let halves = rows[row].iter().zip(&rows[row + 3]);
                halves.map(|(low, high)| low | high << 16).collect::<Vec<u64>>()
            };
            let packed = [0, 1, 2].map(packed);
            for (at, found) in results(op, &packed).into_iter().enumerate() {
                for (half, first) in [(found & 0xffff, 0), (found >> 16, 3)] {
                    let operands = [0, 1, 2].map(|row| number(format, rows[first + row][at]));
                    near(number(format, half), value(real, operands), format, line);
                }
            }
        }
        Meaning::Convert { from, to, .. } => {
            let row = numbers(from, 1);
            for (at, found) in results(op, std::slice::from_ref(&row)).into_iter().enumerate() {
                near(number(to, found), number(from, row[at]), to, line);
            }
        }
        Meaning::FromInteger(format, signed) => {
            let wide = op.s[0] == Some(File::W64);
            let mut row: Vec<u64> = (0..64).map(|at| 1 << at).collect();
            row.extend([0, 3, 5, u64::MAX, u64::MAX - 6, 1 << 31, 12_345]);
            if !wide {
                row.iter_mut().for_each(|integer| *integer &= 0xffff_ffff);
            }
            for (at, found) in results(op, std::slice::from_ref(&row)).into_iter().enumerate() {
                let expected = match (wide, signed) {
                    (true, true) => row[at] as i64 as f64,
                    (true, false) => row[at] as f64,
                    (false, true) => f64::from(row[at] as u32 as i32),
                    (false, false) => f64::from(row[at] as u32),
                };
                near(number(format, found), expected, format, line);
            }
        }
        Meaning::ToInteger(format) => {
            let row = numbers(format, 1);
            for (at, found) in results(op, std::slice::from_ref(&row)).into_iter().enumerate() {
                let expected = number(format, row[at]).trunc();
                // (Unsigned integers are clamped.)
                if expected >= 0.0 {
                    near(number(Format::S32, found), expected, format, line);
                }
            }
        }
        Meaning::Compare(comparison, format, mode) => compare(op, comparison, (format, mode), line),
        Meaning::Select => {
            let rows = [vec![5; 2], vec![9; 2], vec![1, 0]];
            assert_eq!(results(op, &rows), [5, 9], "line {line}");
        }
        Meaning::ShiftLeft => {
            let rows = [vec![0x4b40_0001; 2], vec![23, 1]];
            assert_eq!(results(op, &rows), [0x0080_0000, 0x9680_0002], "line {line}");
        }
        Meaning::Copy => {
            let row = [0x8000_0001, 0, 0xffff_ffff];
            assert_eq!(results(op, &[row.to_vec()]), row, "line {line}");
        }
        Meaning::Pack { .. } | Meaning::Unknown => {}
    }
}

fn compare(op: &WarpOp, comparison: Comparison, (format, mode): (Format, Mode), line: u32) {
    let mut rows = [numbers(format, 1), numbers(format, 2)];
    // A number and itself, and NaN.
    let nan = rounded(format, f64::NAN);
    let one = rounded(format, 1.0);
    rows[0].extend([one, nan, one, nan]);
    rows[1].extend([one, one, nan, nan]);
    for (at, found) in results(op, &rows).into_iter().enumerate() {
        let [a, b] = [0, 1].map(|row| number(format, rows[row][at]));
        let unordered = a.is_nan() || b.is_nan();
        let expected = match comparison {
            Comparison::Num => !unordered,
            Comparison::Nan => unordered,
            _ if unordered => mode.0 & Mode::NAN != 0,
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
        };
        assert_eq!(found != 0, expected, "line {line}: {a} {comparison:?} {b}");
    }
}
