//! One seed, one kernel.
//!
//! First the graph, then what its blocks do: steps of carried registers, mostly where cycles begin;
//! neighbouring loads at the rows that these registers tell; stores to the thread's own slot.
//! Nothing that a thread computes depends on when others run: it reads the input, which nobody
//! writes, and its own slot.

use fastrand::Rng;

use super::arbitrary::{draw, tangle};
use super::conditions::Conditions;
use super::contents;
use super::kernel::{Kernel, Kind};
use super::limits::limit;
use super::structured::Builder;

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let kind = match rng.u8(..24) {
        0..=5 => Kind::Structured,
        6 | 7 => Kind::Indexed,
        8..=12 => Kind::Irreducible,
        13..=15 => Kind::Arbitrary,
        _ => Kind::Shaped,
    };
    let synchronised = rng.u8(..4) == 0 || kind == Kind::Shaped && rng.u8(..4) == 0;
    let rng = &mut rng;
    let (mut blocks, mut conditions) = match kind {
        Kind::Arbitrary => {
            let mut conditions = Conditions::new(rng);
            (draw(rng, &mut conditions), conditions)
        }
        _ => {
            let builder = Builder::new(rng, kind == Kind::Indexed, synchronised);
            builder.build(kind == Kind::Shaped)
        }
    };
    if kind == Kind::Irreducible {
        tangle(rng, &conditions, &mut blocks);
    }
    limit(rng, &mut conditions, &mut blocks);
    contents::fill(rng, &conditions, &mut blocks, synchronised);
    let threads = [32, 32, 32, 64, 48, 20][rng.usize(..6)];
    Kernel {
        seed,
        kind,
        n: rng.u32(2..7),
        fuel: rng.u32(4..14),
        threads,
        grid: rng.u32(1..=2),
        carried: conditions.carried,
        blocks,
    }
}
