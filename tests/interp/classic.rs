//! Whole kernels that nvcc compiled from `kernels/classic.cu`.

use super::bed::{Bed, noise, noise_f32};
use ptxasw::interp::FaultKind;

fn classic(kernel: &str) -> Bed {
    Bed::file("tests/interp/kernels/classic.ptx", kernel)
}

#[test]
fn vecadd_leaves_out_the_tail() {
    let (a, b) = (noise_f32(1000, 1), noise_f32(1000, 2));
    let done = classic("vecadd")
        .grid([4, 1, 1])
        .block([256, 1, 1])
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &vec![9.0_f32; 1024])
        .value(1000_i32)
        .good();
    let c = done.get::<f32>("c");
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(c[..1000], expected);
    assert!(c[1000..].iter().all(|&c| c == 9.0));
    // 32 warps of 32 lanes load 128 bytes from each input, the last one only 8 lanes of it.
    assert_eq!(done.counters().global_load_requests, 64);
    assert_eq!(done.counters().global_load_wavefronts, 64);
    assert_eq!(done.counters().global_store_wavefronts, 32);
    assert_eq!(done.counters().divergent_branches, 1);
}

#[test]
fn reduce_adds_up() {
    let data: Vec<i32> = noise(5000, 3).into_iter().map(|n| n as i32 >> 12).collect();
    let done = classic("reduce")
        .grid([3, 1, 1])
        .block([256, 1, 1])
        .buffer("in", &data)
        .buffer("out", &[0_i32; 3])
        .value(5000_i32)
        .good();
    let expected: Vec<i32> = (0..3)
        .map(|block| (0..5000).filter(|i| i / 256 % 3 == block).map(|i| data[i]).sum())
        .collect();
    assert_eq!(done.get::<i32>("out"), expected);
    // One warp of each block, five steps.
    assert_eq!(done.counters().shuffles, 15);
}

#[test]
fn scan_sums_prefixes() {
    let data = noise(2048, 4);
    let done = classic("scan")
        .grid([2, 1, 1])
        .block([1024, 1, 1])
        .buffer("in", &data)
        .buffer("out", &vec![0_u32; 2048])
        .good();
    let expected: Vec<u32> = data
        .chunks(1024)
        .flat_map(|block| {
            block.iter().scan(0_u32, |sum, &x| {
                *sum = sum.wrapping_add(x);
                Some(*sum)
            })
        })
        .collect();
    assert_eq!(done.get::<u32>("out"), expected);
}

#[test]
fn histogram_counts_every_byte() {
    let data: Vec<u8> = noise(10_000, 5).into_iter().map(|n| (n >> 24) as u8 & 0x3f).collect();
    let done = classic("histogram")
        .grid([5, 1, 1])
        .block([96, 1, 1])
        .buffer("in", &data)
        .buffer("bins", &vec![0_u32; 256])
        .value(10_000_i32)
        .good();
    let mut expected = vec![0_u32; 256];
    data.iter().for_each(|&byte| expected[byte as usize] += 1);
    assert_eq!(done.get::<u32>("bins"), expected);
}

#[test]
fn matmul_in_tiles() {
    let n = 37;
    let (a, b) = (noise_f32(n * n, 6), noise_f32(n * n, 7));
    let done = classic("matmul")
        .grid([3, 3, 1])
        .block([16, 16, 1])
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &vec![0_f32; n * n])
        .value(n as i32)
        .good();
    let expected: Vec<f32> = (0..n * n)
        .map(|at| (0..n).fold(0.0_f32, |sum, k| a[at / n * n + k].mul_add(b[k * n + at % n], sum)))
        .collect();
    assert_eq!(done.get::<f32>("c"), expected);
}

#[test]
fn bitonic_sorts_each_block() {
    let data: Vec<i32> = noise(1024, 8).into_iter().map(|n| n as i32).collect();
    let done = classic("bitonic")
        .grid([4, 1, 1])
        .block([256, 1, 1])
        .shared(1024)
        .buffer("keys", &data)
        .good();
    let mut expected = data;
    expected.chunks_mut(256).for_each(<[i32]>::sort_unstable);
    assert_eq!(done.get::<i32>("keys"), expected);
}

#[test]
fn lanes_count_x_first() {
    let done = classic("shape")
        .block([5, 3, 7])
        .buffer("lane", &[99_u32; 128])
        .buffer("active", &[99_u32; 128])
        .good();
    let lane: Vec<u32> = (0..128).map(|t| if t < 105 { t % 32 } else { 99 }).collect();
    assert_eq!(done.get::<u32>("lane"), lane);
    let active: Vec<u32> = (0..128)
        .map(|t| match t {
            0..96 => u32::MAX,
            96..105 => 0x1ff,
            _ => 99,
        })
        .collect();
    assert_eq!(done.get::<u32>("active"), active);
}

#[test]
fn recursion_differs_from_lane_to_lane() {
    let done = classic("fibonacci").block([45, 1, 1]).buffer("out", &[0_u32; 45]).good();
    let fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
    let expected: Vec<u32> = (0..45).map(|t| fib[t % 12]).collect();
    assert_eq!(done.get::<u32>("out"), expected);
}

#[test]
fn calls_through_pointers() {
    let done = classic("indirect").block([40, 1, 1]).buffer("out", &[0_i32; 40]).good();
    let expected: Vec<i32> = (0..40)
        .map(|t| match t % 3 {
            0 => 2 * t,
            1 => t * t,
            _ => -t,
        })
        .collect();
    assert_eq!(done.get::<i32>("out"), expected);
}

#[test]
fn switches() {
    let input: Vec<i32> = (0..64).map(|t| t * 5 % 9 - 1).collect();
    let done =
        classic("choose").block([64, 1, 1]).buffer("in", &input).buffer("out", &[0_i32; 64]).good();
    let expected: Vec<i32> = input
        .iter()
        .zip(0..)
        .map(|(v, t)| match v {
            0 => t + 7,
            1 => t * 3,
            2 => t ^ 0x55,
            3 => -t,
            4 => t << 4,
            5 => t * t,
            6 => !t,
            _ => 1000,
        })
        .collect();
    assert_eq!(done.get::<i32>("out"), expected);
}

#[test]
fn lanes_of_a_warp_take_turns_at_a_lock() {
    let done = classic("locked")
        .grid([2, 1, 1])
        .block([40, 1, 1])
        .buffer("lock", &[0_i32])
        .buffer("count", &[0_i32])
        .good();
    assert_eq!(done.get::<i32>("count"), [80]);
}

#[test]
fn blocks_wait_for_each_other() {
    let done = classic("rendezvous")
        .grid([3, 1, 1])
        .block([64, 1, 1])
        .buffer("arrived", &[0_u32])
        .buffer("out", &[0_u32; 192])
        .good();
    assert_eq!(done.get::<u32>("out"), [3; 192]);
}

#[test]
fn collectives() {
    let n = 64;
    let v: Vec<i32> = noise(n, 9).into_iter().map(|x| (x >> 29) as i32).collect();
    let done = classic("votes")
        .block([n as u32, 1, 1])
        .buffer("in", &v)
        .buffer("out", &vec![0_i32; 11 * n])
        .good();
    let out = done.get::<i32>("out");
    for t in 0..n {
        let warp = &v[t / 32 * 32..][..32];
        let lane = t % 32;
        let mask = |f: &dyn Fn(i32) -> bool| {
            (0..32).filter(|&i| f(warp[i])).fold(0_u32, |m, i| m | 1 << i) as i32
        };
        let idx = (t * 7 % 16) + lane / 16 * 16;
        let expected = [
            v.iter().filter(|&&x| x > 3).count() as i32,
            1,
            0,
            mask(&|x| x & 1 != 0),
            i32::from(warp.contains(&5)),
            1,
            mask(&|x| x == warp[lane]),
            warp.iter().sum(),
            warp.iter().copied().max().unwrap_or_default(),
            warp[lane ^ 5],
            warp[idx],
        ];
        for (row, expected) in expected.into_iter().enumerate() {
            assert_eq!(out[row * n + t], expected, "row {row}, thread {t}");
        }
    }
}

#[test]
fn each_side_of_a_branch_shuffles() {
    let v: Vec<i32> = (100..132).collect();
    let done = classic("halves").buffer("in", &v).buffer("out", &[0_i32; 32]).good();
    let expected: Vec<i32> = (0..32)
        .map(|t| match t {
            0 => v[0],
            31 => v[31],
            t if t % 2 == 1 => v[t + 2],
            t => v[t - 2],
        })
        .collect();
    assert_eq!(done.get::<i32>("out"), expected);
}

#[test]
fn printf_formats_as_c_does() {
    let done = classic("talk").value(2_i32).good();
    assert_eq!(
        done.0.printed,
        "thread 0 of 32:  0.00|ab    |x -5000000000 00000000\n\
         thread 1 of 32:  0.50|ab    |x -5000000001 01234567\n"
    );
}

#[test]
fn a_failed_assertion_is_a_fault() {
    let input: Vec<i32> = (20..52).collect();
    let (fault, _) = classic("claim").buffer("in", &input).fault();
    assert_eq!(fault.kind, FaultKind::Trap);
    assert!(fault.message.contains("in[threadIdx.x] < 40"), "{}", fault.message);
    assert_eq!(fault.thread, Some([20, 0, 0]));
    classic("claim").buffer("in", &[1_i32; 32]).good();
}
