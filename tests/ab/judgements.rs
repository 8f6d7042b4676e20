//! Statistics, verdicts, order and throttling, on times that are made up.

use std::collections::BTreeSet;

use fastrand::Rng;
use ptxasw::ab::compare::compare;
use ptxasw::ab::schedule::{launches, order};
use ptxasw::ab::stats::{FEWEST, Interval, median, quantile, ratio_interval};
use ptxasw::ab::throttle::{Clock, Source, judge};
use ptxasw::ab::verdict::{Verdict, decide};
use ptxasw::launch::{Buffer, Type};

/// A number that is about normal: mean 0, standard deviation 1.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

/// Rounds of an original and a variant whose times scatter by `noise`, drift together by `drift`
/// over all rounds, and now and then are much too long.
fn rounds(count: usize, ratio: f64, noise: f64, drift: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Rng::with_seed(seed);
    (0..count)
        .map(|round| {
            let level = 100.0 * (1.0 + drift * round as f64 / count as f64);
            let mut sample = |time: f64| {
                let outlier = if rng.usize(..25) == 0 { 1.5 } else { 1.0 };
                time * (1.0 + noise * normal(&mut rng)) * outlier
            };
            (sample(level), sample(level / ratio))
        })
        .unzip()
}

fn verdict(ratio: f64, noise: f64, drift: f64, seed: u64) -> (Interval, Verdict) {
    let (original, variant) = rounds(50, ratio, noise, drift, seed);
    let interval = ratio_interval(&original, &variant, 0.99, seed).expect("enough rounds");
    (interval, decide(Some(interval), 0.01, true))
}

#[test]
fn medians_and_quantiles() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    assert_eq!(median(&[9.0, 1.0, 5.0, 7.0]), Some(6.0));
    assert_eq!(quantile(&[4.0, 0.0, 2.0], 0.25), Some(1.0));
    assert_eq!(quantile(&[4.0, 0.0, 2.0], 7.0), Some(4.0));
}

#[test]
fn a_known_ratio_is_found() {
    for (ratio, expected) in [
        (1.2, Verdict::Faster),
        (1.05, Verdict::Faster),
        (0.9, Verdict::Slower),
        (0.3, Verdict::Slower),
    ] {
        for seed in 0..20 {
            let (interval, verdict) = verdict(ratio, 0.01, 0.0, seed);
            assert_eq!(verdict, expected, "ratio {ratio}, seed {seed}: {interval:?}");
            assert!(interval.high - interval.low < 0.05 * ratio, "{interval:?}");
        }
    }
}

#[test]
fn intervals_hold_the_ratio_about_as_often_as_they_say() {
    let held = (0..200)
        .filter(|&seed| {
            let (original, variant) = rounds(50, 1.1, 0.03, 0.0, seed);
            let interval = ratio_interval(&original, &variant, 0.9, seed).expect("enough rounds");
            (interval.low..=interval.high).contains(&1.1)
        })
        .count();
    // 90 % of 200, give or take three standard deviations.
    assert!((167..=193).contains(&held), "{held} of 200");
}

#[test]
fn equal_times_are_the_same_and_noise_is_no_verdict() {
    let mut claims = 0;
    for seed in 0..100 {
        let (interval, quiet) = verdict(1.0, 0.002, 0.0, seed);
        assert_eq!(quiet, Verdict::Same, "seed {seed}: {interval:?}");
        let (_, noisy) = verdict(1.0, 0.1, 0.0, seed);
        claims += u32::from(noisy != Verdict::Ambiguous);
    }
    // An interval of 99 % is wrong in one of a hundred cases.
    assert!(claims <= 2, "{claims} claims out of noise");
}

#[test]
fn a_common_drift_does_not_widen_the_interval() {
    let (steady, _) = verdict(1.1, 0.002, 0.0, 5);
    let (drifting, verdict) = verdict(1.1, 0.002, 0.3, 5);
    assert_eq!(verdict, Verdict::Faster);
    // Drawn independently, times that drift by 30 % give an interval several per cent wide.
    let width = |interval: Interval| interval.high - interval.low;
    assert!(width(drifting) < 0.03, "{drifting:?}");
    assert!(width(steady) < 0.01, "{steady:?}");
}

#[test]
fn too_little_is_no_interval() {
    let times = vec![1.0; FEWEST];
    assert!(ratio_interval(&times, &times, 0.95, 1).is_some());
    assert_eq!(ratio_interval(&times[1..], &times[1..], 0.95, 1), None);
    assert_eq!(ratio_interval(&times, &times[1..], 0.95, 1), None);
    let mut zero = times.clone();
    zero[2] = 0.0;
    assert_eq!(ratio_interval(&times, &zero, 0.95, 1), None);
    assert_eq!(decide(None, 0.01, true), Verdict::Ambiguous);
}

#[test]
fn verdicts_are_decided_on_the_interval() {
    let of = |low, high| decide(Some(Interval { low, high }), 0.01, true);
    assert_eq!(of(1.02, 1.2), Verdict::Faster);
    assert_eq!(of(1.009, 1.2), Verdict::Ambiguous);
    assert_eq!(of(0.9, 0.98), Verdict::Slower);
    assert_eq!(of(0.9, 0.995), Verdict::Ambiguous);
    assert_eq!(of(0.995, 1.005), Verdict::Same);
    assert_eq!(of(0.9, 1.1), Verdict::Ambiguous);
    // Who computes something else is not faster.
    let wrong = |low, high| decide(Some(Interval { low, high }), 0.01, false);
    assert_eq!(wrong(1.02, 1.2), Verdict::Ambiguous);
    assert_eq!(wrong(0.9, 0.98), Verdict::Slower);
}

#[test]
fn every_variant_stands_everywhere() {
    for variants in 1..5 {
        let all: Vec<Vec<usize>> = (0..variants).map(|round| order(round, variants, 7)).collect();
        for round in &all {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), variants, "{round:?}");
        }
        for place in 0..variants {
            let there: BTreeSet<usize> = all.iter().map(|round| round[place]).collect();
            assert_eq!(there.len(), variants, "{all:?}");
        }
    }
    // A B A B: with two variants, no round begins with the one that the last began with.
    assert_ne!(order(0, 2, 7), order(1, 2, 7));
    assert_eq!(order(0, 2, 7), order(2, 2, 7));
    assert!((0..9).any(|seed| order(0, 4, seed) != order(0, 4, 9)));
    assert!(order(3, 0, 1).is_empty());
}

#[test]
fn samples_are_long_enough() {
    assert_eq!(launches(10.0, 1000.0), 100);
    assert_eq!(launches(3.0, 10.0), 4);
    assert_eq!(launches(5000.0, 1000.0), 1);
    assert_eq!(launches(0.0, 1000.0), 100_000);
    assert_eq!(launches(0.0, 0.0), 1);
}

fn clock(mhz: u32, slowed: Option<&str>) -> Clock {
    Clock { mhz, slowed: slowed.map(str::to_owned) }
}

#[test]
fn rounds_at_slow_clocks_are_left_out() {
    let times = vec![100.0; 20];
    let mut clocks = vec![clock(1980, None); 20];
    let (steady, rounds) = judge(&clocks, &times);
    assert!(!steady.seen && steady.source == Source::Nvml && steady.detail.is_empty());
    assert_eq!((rounds.len(), steady.clock_mhz), (20, Some(1980)));

    clocks[3] = clock(1980, Some("heat"));
    clocks[4] = clock(1200, None);
    let (throttling, rounds) = judge(&clocks, &times);
    assert!(throttling.seen && throttling.detail.contains("heat"), "{throttling:?}");
    assert_eq!(throttling.rounds_left_out, 2);
    assert_eq!(rounds, [0, 1, 2].into_iter().chain(5..20).collect::<Vec<_>>());

    // Where most rounds are slow there is nothing to prefer; it is said, and all count.
    clocks[..15].fill(clock(1500, Some("power limit")));
    let (throttling, rounds) = judge(&clocks, &times);
    assert!(throttling.seen && throttling.rounds_left_out == 0, "{throttling:?}");
    assert_eq!(rounds.len(), 20);
}

#[test]
fn without_clocks_drifting_times_tell() {
    let (steady, _) = rounds(60, 1.0, 0.01, 0.0, 3);
    let (found, counting) = judge(&[], &steady);
    assert!(!found.seen && found.source == Source::Times, "{found:?}");
    assert_eq!(counting.len(), 60);
    let (drifting, _) = rounds(60, 1.0, 0.01, 0.2, 3);
    let (found, _) = judge(&[], &drifting);
    assert!(found.seen && found.detail.contains('+'), "{found:?}");
    let faster: Vec<f64> = drifting.into_iter().rev().collect();
    assert!(judge(&[], &faster).0.seen);
    // Scatter alone does not count as drift.
    let (noisy, _) = rounds(60, 1.0, 0.2, 0.0, 3);
    assert!(!judge(&[], &noisy).0.seen);
}

#[test]
fn buffers_are_compared_to_the_bit() {
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let buffer = |ty, bytes| Buffer { ty, bytes };
    let expected = buffer(Type::F32, floats(&[1.0, -0.0, f32::NAN, 4.0]));
    assert_eq!(compare("x", &expected, &expected.bytes), None);
    let next = f32::from_bits(4.0_f32.to_bits() + 3);
    let found = compare("x", &expected, &floats(&[1.0, 0.0, f32::NAN, next])).expect("differs");
    assert_eq!((found.elements, found.of, found.first, found.ulps), (2, 4, 1, Some(3)));
    assert_eq!((found.expected.as_str(), found.found.as_str()), ("-0.0", "0.0"));
    let found = compare("x", &expected, &floats(&[1.0, -0.0, 1.0, 4.0])).expect("differs");
    assert_eq!((found.first, found.ulps), (2, None));
    let found = compare("n", &buffer(Type::S8, vec![1, 255]), &[1, 1]).expect("differs");
    assert_eq!((found.expected.as_str(), found.found.as_str(), found.ulps), ("-1", "1", None));
    // A buffer that came back short.
    let found = compare("n", &buffer(Type::U8, vec![1, 2, 3]), &[1]).expect("differs");
    assert_eq!((found.elements, found.of, found.first), (2, 3, 1));
}
