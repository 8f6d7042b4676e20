//! Arithmetic as compilers write it: library functions of `kernels/numeric.cu`, which nvcc expands
//! into long runs of fused multiply-adds, bit tricks, selects and calls.

use super::bed::{Bed, noise};

fn numeric(kernel: &str) -> Bed {
    Bed::file("tests/interp/kernels/numeric.ptx", kernel)
}

const N: usize = 64;

/// Small, large, and on either side of one.
fn arguments() -> Vec<f64> {
    noise(N, 11)
        .into_iter()
        .enumerate()
        .map(|(i, n)| (f64::from(n) / 2_f64.powi(32) - 0.5) * 2_f64.powi(i as i32 % 8 - 3))
        .collect()
}

/// A function of the kernel, and the same on the host.
type Row = (&'static str, fn(f64) -> f64);

fn compare(rows: &[Row], inputs: &[f64], got: &[f64], tolerance: f64) {
    for (row, (name, function)) in rows.iter().enumerate() {
        for (i, &x) in inputs.iter().enumerate() {
            let (value, expected) = (got[row * N + i], function(x));
            let error = (value - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
            assert!(value == expected || error < tolerance, "{name}({x}): {value}, not {expected}");
        }
    }
}

#[test]
fn double_functions_are_accurate() {
    let inputs = arguments();
    let done = numeric("doubles")
        .block([N as u32, 1, 1])
        .buffer("in", &inputs)
        .buffer("out", &[0_f64; 16 * N])
        .value(N as i32)
        .good();
    let rows: [Row; 16] = [
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("exp", f64::exp),
        ("log", |x| x.abs().ln()),
        ("pow", |x| x.abs().powf(1.7)),
        ("cbrt", f64::cbrt),
        ("atan2", |x| x.atan2(2.0)),
        ("erf", libm::erf),
        ("fmod", |x| x % 0.7),
        ("sinh", f64::sinh),
        ("div", |x| x / 3.7),
        ("log1p", |x| x.abs().ln_1p()),
        ("floor", f64::floor),
        ("hypot", |x| x.hypot(3.0)),
        ("tgamma", |x| libm::tgamma(x.abs() + 0.5)),
    ];
    compare(&rows, &inputs, &done.get::<f64>("out"), 5e-15);
}

#[test]
fn single_functions_are_accurate() {
    let inputs: Vec<f32> = arguments().into_iter().map(|x| x as f32).collect();
    let done = numeric("singles")
        .block([N as u32, 1, 1])
        .buffer("in", &inputs)
        .buffer("out", &[0_f32; 16 * N])
        .value(N as i32)
        .good();
    let rows: [Row; 16] = [
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("exp", f64::exp),
        ("log", |x| x.abs().ln()),
        ("pow", |x| x.abs().powf(f64::from(1.7_f32))),
        ("cbrt", f64::cbrt),
        ("atan2", |x| x.atan2(2.0)),
        ("erf", libm::erf),
        ("fmod", |x| x % 0.75),
        ("sinh", f64::sinh),
        ("div", |x| x / f64::from(3.7_f32)),
        ("log1p", |x| x.abs().ln_1p()),
        ("rint", f64::round_ties_even),
        ("hypot", |x| x.hypot(3.0)),
        ("rsqrt", |x| 1.0 / x.abs().sqrt()),
    ];
    let wide: Vec<f64> = inputs.iter().map(|&x| f64::from(x)).collect();
    let got: Vec<f64> = done.get::<f32>("out").into_iter().map(f64::from).collect();
    compare(&rows, &wide, &got, 6e-7);
}

#[test]
fn narrow_formats_add_up() {
    // Quarters: every product and sum is exact in all three formats.
    let quarters = |seed| -> Vec<f32> {
        noise(4 * 32, seed).into_iter().map(|n| (n % 9) as f32 / 4.0 - 1.0).collect()
    };
    let (a, b) = (quarters(12), quarters(13));
    let done = numeric("narrow")
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("out", &[0_f32; 160])
        .value(32_i32)
        .good();
    let out = done.get::<f32>("out");
    for i in 0..32 {
        let sum = |f: &dyn Fn(f32, f32) -> f32| -> f32 {
            (4 * i..4 * i + 4).map(|k| f(a[k], b[k])).sum()
        };
        let dot = sum(&|x, y| x * y);
        assert_eq!(out[i], dot);
        assert_eq!(out[32 + i], dot);
        assert_eq!(out[64 + i], sum(&|_, y| y * y));
        assert_eq!(out[96 + i], dot);
        assert_eq!(out[128 + i], if dot > 0.25 { 1.0 } else { 0.0 });
    }
}

#[test]
fn integer_intrinsics() {
    let inputs: Vec<i32> =
        noise(N, 14).into_iter().enumerate().map(|(i, n)| (n as i32) >> (i % 24)).collect();
    let done = numeric("integers")
        .block([N as u32, 1, 1])
        .buffer("in", &inputs)
        .buffer("out", &[0_u64; 16 * N])
        .value(N as i32)
        .good();
    let out = done.get::<u64>("out");
    let byte = |x: i32, index: u32| {
        let pair = u64::from(!x as u32) << 32 | u64::from(x as u32);
        (pair >> (8 * index)) as u32 & 0xff
    };
    for (i, &x) in inputs.iter().enumerate() {
        let u = x as u32;
        let product = u128::from(i64::from(x) as u64) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        let dot: i32 = (0..4).map(|k| i32::from((u >> (8 * k)) as i8) * (4 - k)).sum();
        let expected: [i64; 16] = [
            u.count_ones().into(),
            u.leading_zeros().into(),
            if x == 0 { 0 } else { i64::from(u.trailing_zeros()) + 1 },
            u.reverse_bits().into(),
            (i64::from(x) * 0x1234_5678) >> 32,
            (byte(x, 0) | byte(x, 4) << 8 | byte(x, 2) << 16 | byte(x, 5) << 24).into(),
            (!u << 13 | u >> 19).into(),
            i64::from(x) * i64::from(x) % 1_000_003,
            (x / 7).into(),
            (u % 11).into(),
            (x as i8).into(),
            ((x >> 3) as i16).into(),
            ((x as f32 * 0.001) as i32).into(),
            (dot + 5).into(),
            (product >> 64) as i64,
            ((x as f32).to_bits() as i32).into(),
        ];
        for (row, expected) in expected.into_iter().enumerate() {
            assert_eq!(out[row * N + i] as i64, expected, "row {row}, x = {x}");
        }
    }
}

#[test]
fn atomics_of_every_kind() {
    let mut words = vec![0_u32; 8 + 65];
    words[1] = 5000;
    words[2] = -1000_i32 as u32;
    words[3] = u32::MAX;
    words[8 + 64] = 777;
    let done = numeric("atomics")
        .block([64, 1, 1])
        .buffer("u", &words)
        .buffer("f", &[0.5_f32])
        .buffer("d", &[0.25_f64])
        .buffer("l", &[1_u64, 5])
        .good();
    let u = done.get::<u32>("u");
    assert_eq!(u[..6], [2016, 937, 13, 0, u32::MAX, 0]);
    // 64 steps of 0..=9 upwards from 0, and downwards from 0.
    assert_eq!(u[6..8], [4, 6]);
    // Each lane got what the one before it had put in.
    let exchanged: Vec<u32> = std::iter::once(777).chain(0..63).collect();
    assert_eq!(u[8..72], exchanged);
    assert_eq!(u[72], 63);
    assert_eq!(done.get::<f32>("f"), [16.5]);
    assert_eq!(done.get::<f64>("d"), [8.25]);
    assert_eq!(done.get::<u64>("l"), [(64 << 32) + 1, 63 << 40]);
}

#[test]
fn structures_and_local_arrays() {
    let input: Vec<i32> = (0..33).map(|i| i * 5).collect();
    let mut pair = 7_i32.to_le_bytes().to_vec();
    pair.resize(8, 0);
    pair.extend(1.5_f64.to_le_bytes());
    let done =
        numeric("locals").bytes(pair).buffer("in", &input).buffer("out", &[0_f64; 32]).good();
    let table = |i: i32| 1.5 * f64::from(i & 7) + 7.0;
    let expected: Vec<f64> = input.windows(2).map(|w| table(w[0]) + table(w[1])).collect();
    assert_eq!(done.get::<f64>("out"), expected);
    assert!(done.counters().local_requests > 0);
}

#[test]
fn softmax_of_rows() {
    let (rows, n) = (3, 100);
    let input: Vec<f32> =
        noise(rows * n, 15).into_iter().map(|x| (x >> 8) as f32 / 1e6 - 8.0).collect();
    let done = numeric("softmax")
        .grid([rows as u32, 1, 1])
        .block([64, 1, 1])
        .buffer("in", &input)
        .buffer("out", &vec![0_f32; rows * n])
        .value(n as i32)
        .good();
    let out = done.get::<f32>("out");
    for (row, got) in input.chunks(n).zip(out.chunks(n)) {
        let exponentials: Vec<f64> = row.iter().map(|&x| f64::from(x).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        for (value, exponential) in got.iter().zip(exponentials) {
            let expected = exponential / sum;
            let error = (f64::from(*value) - expected).abs() / expected;
            assert!(error < 2e-6, "{value}, not {expected}");
        }
    }
}

#[test]
fn mandelbrot_counts_iterations() {
    let (width, height, limit) = (53, 21, 300);
    let done = numeric("mandelbrot")
        .grid([4, 6, 1])
        .block([16, 4, 1])
        .buffer("out", &vec![0_i32; width * height])
        .value(width as i32)
        .value(height as i32)
        .value(limit)
        .good();
    let count = |x: usize, y: usize| {
        let cr = 3.0 * x as f64 / width as f64 - 2.0;
        let ci = 2.5 * y as f64 / height as f64 - 1.25;
        let (mut r, mut i, mut n) = (0.0_f64, 0.0_f64, 0);
        while n < limit && r * r + i * i <= 4.0 {
            (r, i) = (r * r - i * i + cr, 2.0 * r * i + ci);
            n += 1;
        }
        n
    };
    let expected: Vec<i32> = (0..width * height).map(|at| count(at % width, at / width)).collect();
    assert_eq!(done.get::<i32>("out"), expected);
    assert!(expected.contains(&limit) && done.counters().divergent_branches > 0);
}
