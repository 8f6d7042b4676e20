//! Launches worth trying: the shapes of blocks, ordinary numbers, and numbers that bring some
//! thread's index to the place where it wraps around.

use fastrand::Rng;

use super::evaluate::Environment;
use super::kernel::{Arithmetic, Kernel, Loop};

const BLOCKS: [[u32; 3]; 12] = [
    [32, 1, 1],
    [64, 1, 1],
    [128, 1, 1],
    [1024, 1, 1],
    [33, 1, 1],
    [31, 1, 1],
    [16, 4, 1],
    [48, 3, 1],
    [32, 8, 1],
    [64, 2, 2],
    [8, 8, 4],
    [1, 64, 1],
];

/// The edges of 32-bit numbers, signed and unsigned.
const EDGES: [u32; 2] = [1 << 31, 0];

/// The environment of a round. Everything stays within what a device can launch.
pub fn environment(kernel: &Kernel, rng: &mut Rng) -> Environment {
    let number = |rng: &mut Rng| match rng.u8(..4) {
        0 => rng.u32(..),
        1 => EDGES[rng.usize(..2)].wrapping_add(rng.u32(..200)).wrapping_sub(100),
        _ => rng.u32(1..5000),
    };
    let block = kernel.required.unwrap_or_else(|| BLOCKS[rng.usize(..BLOCKS.len())]);
    let mut environment = Environment {
        arrays: [rng.u64(..) & !15, rng.u64(..) & !15],
        n: number(rng),
        w: number(rng),
        s: number(rng),
        block,
        ctaid: [rng.u32(..300), rng.u32(..300), 0],
        grid_x: rng.u32(300..1000),
        iteration: if kernel.around == Loop::None { 0 } else { rng.u32(..3) },
    };
    let target = EDGES[rng.usize(..2)].wrapping_add(rng.u32(..160)).wrapping_sub(80);
    match rng.u8(..4) {
        // The multiple of x, or its bytes, at the edge.
        0 | 1 if kernel.grid => {
            let factor = match kernel.arithmetic {
                Arithmetic::Narrow { .. } => kernel.stride.unsigned_abs(),
                Arithmetic::NarrowBytes { .. } => kernel.stride.unsigned_abs() * kernel.unit,
                Arithmetic::Wide { .. } => 1,
            };
            // One time around, or several.
            let around = u64::from(rng.u32(..factor)) << 32;
            let x = (around + u64::from(target)) / u64::from(factor);
            environment.ctaid[0] = (x as u32 / block[0]).min(0x7fff_fffd);
            environment.grid_x = rng.u32(environment.ctaid[0] + 1..0x7fff_ffff);
        }
        // The whole index of some load at the edge, by way of the parameter that is added.
        2 if kernel.shifted && !kernel.loads.is_empty() => {
            let load = &kernel.loads[rng.usize(..kernel.loads.len())];
            let zero = Environment { s: 0, arrays: [0; 2], ..environment };
            let bytes = zero.address(kernel, load, zero.thread(rng.u32(..zero.threads())));
            environment.s = target.wrapping_sub((bytes / u64::from(kernel.unit)) as u32);
        }
        _ => {}
    }
    // A bound that leaves room, so that there are whole warps inside.
    if rng.bool() {
        let thread = environment.thread(0);
        let x = environment.x(kernel, thread);
        environment.n = x.wrapping_add(rng.u32(1..3000));
    }
    environment
}
