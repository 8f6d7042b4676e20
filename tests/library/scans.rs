//! Scans and reductions of warps and blocks against products of one element after the other.

use ptxasw::launch::{Meet, Type};
use ptxasw::ptx::Module;

use super::run::{Start, UNTOUCHED, Values, run};

/// x -> a * x + b
type Affine = [u32; 2];

/// The first one, then the second one.
fn then(f: Affine, g: Affine) -> Affine {
    [f[0].wrapping_mul(g[0]), g[0].wrapping_mul(f[1]).wrapping_add(g[1])]
}

fn product(all: &[Affine]) -> Affine {
    all.iter().copied().fold([1, 0], then)
}

fn words(values: &[Affine]) -> Values {
    Values { ty: Type::U32, bits: values.iter().flatten().map(|word| u64::from(*word)).collect() }
}

fn random(count: usize, seed: u64) -> Vec<Affine> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| [random.u32(..), random.u32(..)]).collect()
}

/// The n-th affine function of a buffer.
fn at(buffer: &[u64], n: usize) -> Affine {
    [buffer[2 * n] as u32, buffer[2 * n + 1] as u32]
}

pub fn check(module: &Module) {
    for lanes in 1..=32 {
        // What a lane computes depends on where its own segment begins or ends: the second is all of that.
        [true, false].into_iter().for_each(|several| warp(module, lanes, several));
    }
    let meets = [Meet::Assembler, Meet::Never, Meet::Random(1), Meet::Random(2)];
    let threads = [1, 2, 20, 31, 32, 33, 63, 64, 96, 100, 257, 512, 1000, 1024];
    for (threads, meet) in threads.into_iter().zip(meets.into_iter().cycle()) {
        block(module, threads, meet);
    }
}

/// A warp with segments that begin at random lanes; the reduction takes the first `lanes` lanes, and segments may begin
/// behind these.
fn warp(module: &Module, lanes: usize, several: bool) {
    let x = random(32, lanes as u64);
    let mut rng = fastrand::Rng::with_seed(100 + lanes as u64);
    let mut begins = |lane: usize| if several { rng.u8(..4) == 0 } else { lane == lanes };
    let begins: Vec<bool> = (0..32).map(|lane| lane == 0 || begins(lane)).collect();
    let head = |lane: usize| (0..=lane).rfind(|at| begins[*at]).unwrap();
    let tail = |lane: usize| (lane + 1..32).find(|at| begins[*at]).unwrap_or(32) - 1;
    let borders = |of: &dyn Fn(usize) -> usize| Values {
        ty: Type::U32,
        bits: (0..32).map(|lane| of(lane) as u64).collect(),
    };
    let nothing = Values { ty: Type::U32, bits: vec![UNTOUCHED; 2 * 192] };
    let buffers = [words(&x), borders(&head), borders(&tail), nothing];
    let start = Start { threads: 32, meet: Meet::default(), numbers: vec![lanes as i32] };
    let y = &run(module, "warps", &buffers, &start)[3];
    assert_eq!(at(y, 32), product(&x[..lanes]), "warp_reduce of {lanes} lanes");
    for lane in 0..32 {
        let in_front = if lane == 0 { x[0] } else { product(&x[..lane]) };
        for (row, name, expected) in [
            (0, "warp_scan", product(&x[..=lane])),
            (2, "warp_scan_exclusive", in_front),
            (3, "warp_scan_backward", product(&x[lane..])),
            (4, "warp_scan_segmented", product(&x[head(lane)..=lane])),
            (5, "warp_scan_segmented_backward", product(&x[lane..=tail(lane)])),
        ] {
            assert_eq!(at(y, 32 * row + lane), expected, "{name} in lane {lane}");
        }
    }
}

fn block(module: &Module, threads: usize, meet: Meet) {
    let x = random(threads, threads as u64);
    let nothing = Values { ty: Type::U32, bits: vec![UNTOUCHED; 2 * (2 * threads + 1)] };
    let start = Start { threads: threads as u32, meet, numbers: vec![] };
    let y = &run(module, "blocks", &[words(&x), nothing], &start)[1];
    for own in 0..threads {
        assert_eq!(at(y, own), product(&x[..=own]), "block_scan, {threads} threads: {own}");
        assert_eq!(at(y, threads + own), product(&x[..own]), "block_prefix, {threads}: {own}");
    }
    assert_eq!(at(y, 2 * threads), product(&x), "block_reduce, {threads} threads");
}
