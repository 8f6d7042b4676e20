//! Tensor cores, asynchronous copies, their barriers and the device heap, in kernels that nvcc
//! compiled from `kernels/tensor.cu`.

use super::bed::{Bed, noise};
use ptxasw::interp::FaultKind;

fn tensor(kernel: &str) -> Bed {
    Bed::file("tests/interp/kernels/tensor.ptx", kernel)
}

/// The bits of a small integer as a half.
pub fn half(value: i32) -> u16 {
    let magnitude = value.unsigned_abs();
    let Some(exponent) = magnitude.checked_ilog2() else { return 0 };
    let fraction = (magnitude - (1 << exponent)) << (10 - exponent);
    (u32::from(value < 0) << 15 | (exponent + 15) << 10 | fraction) as u16
}

/// Small integers: every sum of products is exact.
pub fn small(count: usize, seed: u32) -> Vec<i32> {
    noise(count, seed).into_iter().map(|n| (n >> 8) as i32 % 8 - 3).collect()
}

/// `A * B`, A by rows and B by columns.
fn product(a: &[i32], b: &[i32], n: usize) -> Vec<i32> {
    let dot = |row: usize, column: usize| (0..n).map(|k| a[row * n + k] * b[column * n + k]).sum();
    (0..n * n).map(|at| dot(at / n, at % n)).collect()
}

fn halves(values: &[i32]) -> Vec<u16> {
    values.iter().map(|&value| half(value)).collect()
}

#[test]
fn wmma_multiplies_matrices() {
    let n = 48;
    let (a, b) = (small(n * n, 1), small(n * n, 2));
    let done = tensor("gemm_wmma")
        .grid([3, 3, 1])
        .buffer("a", &halves(&a))
        .buffer("b", &halves(&b))
        .buffer("c", &vec![0_f32; n * n])
        .value(n as i32)
        .good();
    let expected: Vec<f32> =
        product(&a, &b, n).into_iter().map(|sum| sum as f32 * 0.5 + 1.0).collect();
    assert_eq!(done.get::<f32>("c"), expected);
    // Three steps in each of nine tiles: rows of 32 bytes, 96 bytes apart, lie in 12 lines or 13.
    assert_eq!(done.counters().global_load_requests, 54);
    let wavefronts = done.counters().global_load_wavefronts;
    assert!((54 * 12..=54 * 13).contains(&wavefronts), "{wavefronts}");
}

#[test]
fn mma_multiplies_matrices() {
    let n = 64;
    let (a, b) = (small(n * n, 3), small(n * n, 4));
    let done = tensor("gemm_mma")
        .grid([8, 4, 1])
        .buffer("a", &halves(&a))
        .buffer("b", &halves(&b))
        .buffer("c", &vec![0_f32; n * n])
        .value(n as i32)
        .good();
    let expected: Vec<f32> = product(&a, &b, n).into_iter().map(|sum| sum as f32).collect();
    assert_eq!(done.get::<f32>("c"), expected);
}

#[test]
fn an_incomplete_warp_cannot_multiply() {
    let zeros = vec![0_u16; 256];
    let bed = tensor("gemm_wmma").block([31, 1, 1]).buffer("a", &zeros).buffer("b", &zeros);
    let (fault, shown) = bed.buffer("c", &[0_f32; 256]).value(16_i32).fault();
    assert_eq!(fault.kind, FaultKind::Undefined);
    assert!(shown.contains("all 32 lanes"), "{shown}");
    assert!(shown.contains("wmma.load.a.sync"), "{shown}");
}

#[test]
fn barriers_of_the_library_hand_values_round() {
    for n in [32_usize, 96, 127] {
        let input: Vec<i32> = noise(n, 5).into_iter().map(|x| x as i32 >> 8).collect();
        let done = tensor("relay")
            .block([n as u32, 1, 1])
            .buffer("in", &input)
            .buffer("out", &vec![0_i32; n])
            .value(7_i32)
            .good();
        let expected: Vec<i32> = (0..n).map(|t| input[(t + 7 * 33) % n] + 7).collect();
        assert_eq!(done.get::<i32>("out"), expected);
    }
}

#[test]
fn bulk_copies_are_waited_for_by_bytes() {
    let input: Vec<i32> = (0..768).collect();
    let done = tensor("bulk")
        .grid([3, 1, 1])
        .block([96, 1, 1])
        .buffer("in", &input)
        .buffer("out", &[0_i32; 768])
        .good();
    let expected: Vec<i32> = input.iter().map(|x| 3 * x + 1).collect();
    assert_eq!(done.get::<i32>("out"), expected);
    assert_eq!(done.counters().global_load_wavefronts, 3 * 8);
    assert_eq!(done.counters().global_store_wavefronts, 3 * 8);
}

#[test]
fn lists_grow_and_shrink_on_the_heap() {
    let done = tensor("lists")
        .grid([1, 1, 1])
        .block([70, 1, 1])
        .buffer("sums", &[0_i32; 70])
        .value(9_i32)
        .good();
    let expected: Vec<i32> = (0..70).map(|t| (0..=t % 9).map(|i| i * i).sum()).collect();
    assert_eq!(done.get::<i32>("sums"), expected);
}
