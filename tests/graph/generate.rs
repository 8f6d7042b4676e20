//! One seed, one kernel.
//!
//! First the graph, then what its blocks do: steps of carried registers, mostly where cycles begin;
//! neighbouring loads at the rows that these registers tell; stores to the thread's own slot.
//! Nothing that a thread computes depends on when others run: it reads the input, which nobody
//! writes, and its own slot.
//!
//! Where lanes wait for others at random places, some would wait for ever. Then fewer are made to.

use fastrand::Rng;
use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

use super::arbitrary::{draw, tangle};
use super::conditions::Conditions;
use super::contents;
use super::emit::emit;
use super::kernel::{Item, Kernel, Kind};
use super::limits::limit;
use super::structured::{Builder, Built};

/// In how many of a hundred blocks lanes wait, until a kernel comes to its end.
const WAITING: [u8; 4] = [33, 15, 6, 0];

/// The contents added to a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    None,
    Plain,
    /// Lanes wait for others, too.
    Waiting,
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let kind = kind(&mut rng);
    let synchronised = rng.u8(..4) == 0 || kind == Kind::Shaped && rng.u8(..4) == 0;
    let mut built = match kind {
        Kind::Arbitrary => {
            let mut conditions = Conditions::new(&mut rng);
            let blocks = draw(&mut rng, &mut conditions);
            Built { blocks, conditions, limited: Vec::new() }
        }
        _ => {
            Builder::new(&mut rng, kind == Kind::Indexed, synchronised).build(kind == Kind::Shaped)
        }
    };
    if kind == Kind::Irreducible {
        tangle(&mut rng, &built.conditions, &mut built.blocks);
    }
    let contents = if synchronised { Contents::Waiting } else { Contents::Plain };
    finish(rng, seed, kind, built, contents)
}

/// A kernel that consists of a loop in which some lanes leave the function in the middle: for stores in a loop
/// ptxas makes other loops of it.
pub fn early_end(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let built = Builder::new(&mut rng, false, false).build_early_end();
    finish(rng, seed, Kind::Shaped, built, Contents::None)
}

/// A graph becomes a kernel that comes to its end.
fn finish(mut rng: Rng, seed: u64, kind: Kind, built: Built, contents: Contents) -> Kernel {
    let rng = &mut rng;
    let Built { mut blocks, mut conditions, limited } = built;
    limit(rng, &mut conditions, &mut blocks, &limited);
    let threads = [32, 32, 32, 64, 48, 20][rng.usize(..6)];
    let (n, fuel, grid) = (rng.u32(2..7), rng.u32(4..14), rng.u32(1..=2));
    let filled = |waiting: u8| {
        let (mut blocks, carried) = (blocks.clone(), conditions.carried.clone());
        if contents != Contents::None {
            contents::fill(&mut Rng::with_seed(!seed), &conditions, &mut blocks, waiting);
        }
        Kernel { seed, kind, n, fuel, threads, grid, carried, blocks }
    };
    if contents != Contents::Waiting {
        return filled(0);
    }
    let made = WAITING.iter().map(|&waiting| filled(waiting)).find(ends);
    made.unwrap_or_else(|| {
        // Those of the graph itself are in places where not all come by.
        let mut alone = filled(0);
        for block in &mut alone.blocks {
            block.items.retain(|item| !matches!(item, Item::Sync(_)));
        }
        alone
    })
}

/// What shape of control flow a seed has.
pub fn kind(rng: &mut Rng) -> Kind {
    match rng.u8(..24) {
        0..=5 => Kind::Structured,
        6 | 7 => Kind::Indexed,
        8..=12 => Kind::Irreducible,
        13..=15 => Kind::Arbitrary,
        _ => Kind::Shaped,
    }
}

/// Whether all threads come to their end, and no lane reads from an absent one.
fn ends(kernel: &Kernel) -> bool {
    if !kernel.blocks.iter().flat_map(|block| &block.items).any(|i| matches!(i, Item::Sync(_))) {
        return true;
    }
    let case = emit(kernel);
    let source = SourceFile::new("graph.ptx", case.ptx.as_str());
    let (Ok(module), Ok(launch)) =
        (ptx::parse(&source, Depth::All), Launch::from_json(&case.launch))
    else {
        return false;
    };
    interp::run(&module, &Launch { uninitialized: true, ..launch }).is_ok()
}
