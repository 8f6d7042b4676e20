//! The contents of a graph's blocks.

use fastrand::Rng;

use super::conditions::{Conditions, FREE};
use super::kernel::{Array, Block, By, Carried, End, Item, Leave, Load, SLOT, Sync, Update, Value};

/// Fills the blocks. In `waiting` of a hundred blocks lanes wait for others somewhere.
pub fn fill(rng: &mut Rng, conditions: &Conditions, blocks: &mut [Block], waiting: u8) {
    // Loads of one row in many blocks may meet; those of any row show what differs.
    let usual = conditions.register(rng);
    let read_only = rng.u8(..4) > 0;
    let busy = rng.u8(1..4);
    for block in blocks {
        if matches!(block.end, End::Leave(Leave::Trap)) {
            continue;
        }
        if rng.u8(..5) == 0 {
            let step = update(rng, conditions);
            block.items.push(Item::Step(rng.usize(..FREE), step));
        }
        if rng.u8(..4) < busy {
            let load = load(rng, conditions, usual, read_only);
            block.items.push(Item::Load(load));
        }
        if rng.u8(..5) == 0 {
            let value = match rng.u8(..3) {
                0 => Value::Result,
                1 => Value::Number(rng.u32(..100)),
                _ => Value::Carried(conditions.register(rng)),
            };
            block.items.push(Item::Store { word: rng.u32(..SLOT), value });
        }
        if rng.u8(..100) < waiting {
            let at = rng.usize(..=block.items.len());
            block.items.insert(at, Item::Sync(sync(rng)));
        }
        if rng.u8(..8) == 0 {
            let load = load(rng, conditions, usual, read_only);
            block.items.push(Item::Load(load));
        }
    }
}

fn update(rng: &mut Rng, conditions: &Conditions) -> Update {
    match rng.u8(..10) {
        0..=3 => Update::Add(rng.u32(1..4)),
        4 => Update::Multiply,
        5 => Update::Mix(conditions.register(rng)),
        6 => Update::Copy(conditions.register(rng)),
        7 => Update::AddThread,
        8 => Update::AddLoaded,
        _ => Update::Set(rng.u32(..4)),
    }
}

/// Mostly a pair of neighbours.
pub fn load(rng: &mut Rng, conditions: &Conditions, usual: Carried, read_only: bool) -> Load {
    if rng.u8(..4) == 0 {
        let words = (0..rng.usize(1..3)).map(|_| rng.u32(..SLOT)).collect();
        return Load { array: Array::Own, row: None, words, read_only: false };
    }
    let register = if rng.bool() { usual } else { conditions.register(rng) };
    let row = (rng.u8(..8) > 0).then(|| (register, register < FREE || rng.u8(..4) == 0));
    let first = rng.u32(..4);
    let mut words = vec![first];
    for _ in 0..rng.u32(..3) {
        words.push(rng.u32(..6));
    }
    if words.len() == 1 {
        words.push(first + 1);
    }
    Load { array: Array::Input, row, words, read_only: read_only != (rng.u8(..8) == 0) }
}

/// How the lanes of a pair wait for each other.
pub fn by(rng: &mut Rng) -> By {
    [By::Barrier, By::Vote, By::Shuffle][rng.usize(..3)]
}

fn sync(rng: &mut Rng) -> Sync {
    match rng.u8(..10) {
        0..=3 => Sync::Warp,
        4 | 5 => Sync::Group(1 << rng.u32(..5)),
        6 | 7 => {
            let first = rng.u32(..32);
            Sync::Pair(first, (first + rng.u32(1..32)) % 32, by(rng))
        }
        8 => Sync::Vote,
        _ => Sync::CountedVote,
    }
}
