//! The contents of a buffer before the launch.

use super::Type;

/// Uniform numbers that are the same on every machine: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Random elements: integers over their whole range, floating-point numbers in `[0, 1)`.
pub(super) fn random(ty: Type, count: usize, seed: u64) -> Vec<u64> {
    let mut source = Random(seed);
    (0..count)
        .map(|_| match ty {
            Type::F64 => ((source.next() >> 11) as f64 / (1_u64 << 53) as f64).to_bits(),
            // 23 bits or fewer: rounding to the type never gives 1.
            Type::F32 => u64::from(((source.next() >> 40) as f32 / (1 << 24) as f32).to_bits()),
            Type::F16 => ty.round((source.next() >> 53) as f64 / f64::from(1 << 11)),
            Type::Bf16 => ty.round((source.next() >> 56) as f64 / f64::from(1 << 8)),
            _ => source.next() >> (64 - 8 * ty.bytes()),
        })
        .collect()
}

/// The elements 0, 1, 2, ..., which begin again after `period` of them.
pub(super) fn index(ty: Type, count: usize, period: u64) -> Vec<u64> {
    let indices = (0..count as u64).map(|i| i % period);
    indices.map(|i| if ty.is_float() { ty.round(i as f64) } else { i }).collect()
}

/// The elements as bytes.
pub(super) fn bytes(ty: Type, elements: &[u64]) -> Vec<u8> {
    let size = ty.bytes();
    let mut bytes = vec![0; elements.len() * size];
    // Zeros that nobody writes take no room.
    for (to, bits) in bytes.chunks_exact_mut(size).zip(elements).filter(|(_, bits)| **bits != 0) {
        to.copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    bytes
}
