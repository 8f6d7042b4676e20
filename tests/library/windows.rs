//! Windows of every radius against loops over memory.

use ptxasw::launch::{Meet, Type};
use ptxasw::ptx::Module;
use ptxasw::synth::library::RADII;

use super::run::{Start, UNTOUCHED, Values, run};

/// How elements of a type are computed with: as bits in and out.
struct Arithmetic {
    ty: Type,
    random: fn(&mut fastrand::Rng) -> u64,
    add: fn(u64, u64) -> u64,
    times: fn(u64, u64) -> u64,
    less: fn(u64, u64) -> bool,
}

fn f32s(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The types, by the names of their kernels.
fn arithmetic(name: &str) -> Arithmetic {
    match name {
        "f32" => Arithmetic {
            ty: Type::U32,
            random: |random| ((random.f32() - 0.5) * 1e3).to_bits().into(),
            add: |a, b| (f32s(a) + f32s(b)).to_bits().into(),
            times: |a, b| (f32s(a) * f32s(b)).to_bits().into(),
            less: |a, b| f32s(a) < f32s(b),
        },
        "f64" => Arithmetic {
            ty: Type::U64,
            random: |random| ((random.f64() - 0.5) * 1e3).to_bits(),
            add: |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            times: |a, b| (f64::from_bits(a) * f64::from_bits(b)).to_bits(),
            less: |a, b| f64::from_bits(a) < f64::from_bits(b),
        },
        _ => Arithmetic {
            ty: Type::U32,
            random: |random| random.u32(..).into(),
            add: |a, b| (a as u32).wrapping_add(b as u32).into(),
            times: |a, b| (a as u32).wrapping_mul(b as u32).into(),
            less: |a, b| (a as i32) < (b as i32),
        },
    }
}

pub fn check(module: &Module, types: &[&str]) {
    for name in types {
        let Arithmetic { ty, random, add, times, less } = arithmetic(name);
        let zero = 0;
        for radius in RADII {
            let taps = 2 * radius as usize + 1;
            let all = 32 + taps - 1;
            // A count below zero stands for the loads without one.
            for count in [-1, 0, 1, 20, 32, 33, all as i32 - 1, all as i32] {
                let mut rng = fastrand::Rng::with_seed(radius as u64);
                let there = if count < 0 { all } else { count as usize };
                let x: Vec<u64> = (0..there).map(|_| random(&mut rng)).collect();
                let w: Vec<u64> = (0..taps).map(|_| random(&mut rng)).collect();
                let nothing = |size| Values { ty, bits: vec![UNTOUCHED; size] };
                let held = |bits: &[u64]| Values { ty, bits: bits.to_vec() };
                let buffers = [held(&x), held(&w), nothing(32 * taps), nothing(128)];
                let start = Start { threads: 32, meet: Meet::default(), numbers: vec![count] };
                let kernel = format!("windows_{name}_{radius}");
                let after = run(module, &kernel, &buffers, &start);
                let element = |at: usize| x.get(at).copied().unwrap_or(zero);
                for lane in 0..32 {
                    let window: Vec<u64> = (0..taps).map(|k| element(lane + k)).collect();
                    for (k, tap) in window.iter().enumerate() {
                        assert_eq!(after[2][32 * k + lane], *tap, "{kernel}: {lane}, {k}");
                    }
                    let weighted: Vec<u64> =
                        window.iter().zip(&w).map(|(tap, weight)| times(*weight, *tap)).collect();
                    let folded = |values: &[u64], op: &dyn Fn(u64, u64) -> u64| {
                        values.iter().copied().reduce(op).unwrap()
                    };
                    let max = |a, b| if less(a, b) { b } else { a };
                    let min = |a, b| if less(b, a) { b } else { a };
                    let expected = [
                        folded(&weighted, &add),
                        folded(&window, &add),
                        folded(&window, &max),
                        folded(&window, &min),
                    ];
                    for (fold, expected) in expected.into_iter().enumerate() {
                        let found = after[3][32 * fold + lane];
                        assert_eq!(
                            found, expected,
                            "{kernel}, {count}: fold {fold} of lane {lane}"
                        );
                    }
                }
            }
        }
    }
}
