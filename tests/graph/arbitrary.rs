//! Control flow that no structured language has: edges into the middle, dead forward edges, edges
//! drawn at random.

use fastrand::Rng;

use super::conditions::{Conditions, FREE};
use super::kernel::{Block, BlockId, Carried, Condition, End, Item, Leave, Test, Update};
use super::structured::{early, stepped};

/// Blocks with edges drawn at random; the last one ends the thread, any other may.
pub fn draw(rng: &mut Rng, conditions: &mut Conditions) -> Vec<Block> {
    let count = rng.usize(5..24);
    let last = count - 1;
    let near = rng.bool();
    for _ in 0..2 {
        conditions.counter();
    }
    let mut blocks: Vec<Block> = Vec::with_capacity(count);
    for block in 0..last {
        let target = |rng: &mut Rng| match near {
            // Cycles of a few blocks, side by side.
            true => rng.usize(block.saturating_sub(4).max(1)..(block + 5).min(count)),
            false => rng.usize(1..count),
        };
        let end = match rng.u8(..20) {
            0..=4 => End::Jump(block + 1),
            5 => End::Jump(target(rng)),
            6 | 7 => {
                let to = (0..4).map(|_| target(rng)).collect();
                End::Index { by: conditions.any(rng).test, to, limit: None }
            }
            8 if block > 1 => {
                // Somebody has to be able to leave.
                let when = Condition::of(Test::Always, false);
                End::Leave(early(rng, when))
            }
            9..=12 => {
                let (when, yes, no) = (conditions.any(rng), target(rng), target(rng));
                End::Branch { when, yes, no }
            }
            _ => End::Branch { when: conditions.any(rng), yes: target(rng), no: block + 1 },
        };
        blocks.push(Block::new(end));
    }
    blocks.push(Block::new(End::Leave(Leave::Last)));
    blocks
}

/// Puts a loop into a cycle that is entered at two places: in front of the loop, and one block before.
/// Some lanes leave the loop in its middle, take the cycle's back edge, and begin the loop anew.
fn wrap(rng: &mut Rng, conditions: &Conditions, blocks: &mut Vec<Block>) {
    let loops: Vec<(BlockId, BlockId, Carried)> = (0..blocks.len())
        .filter_map(|before| {
            let End::Jump(header) = blocks[before].end else { return None };
            let counter = stepped(&blocks[header])?;
            (before < header && counter >= FREE).then_some((before, header, counter))
        })
        .collect();
    if loops.is_empty() {
        return;
    }
    let (before, header, counter) = loops[rng.usize(..loops.len())];
    // The rest of the loop is numbered from its header on.
    let inside: Vec<BlockId> = (header..blocks.len().min(header + 8))
        .filter(|&block| matches!(blocks[block].end, End::Jump(to) if to > block))
        .collect();
    let Some(&from) = inside.get(rng.usize(..inside.len().max(1))) else { return };
    let (front, round) = (blocks.len(), blocks.len() + 1);
    let set = Item::Step(counter, Update::Set(0));
    blocks.push(Block { items: vec![set], end: End::Jump(header) });
    blocks.push(Block::new(End::Jump(front)));
    let when = match rng.bool() {
        true => Condition::of(Test::Never, false),
        false => Condition::of(Test::Parameter(rng.u32(1..6)), rng.bool()),
    };
    blocks[before].end = End::Branch { when, yes: front, no: round };
    let End::Jump(on) = blocks[from].end else { return };
    blocks[from].end = End::Branch { when: conditions.any(rng), yes: round, no: on };
}

/// Adds edges between any two blocks, and makes some forward edges dead.
pub fn tangle(rng: &mut Rng, conditions: &Conditions, blocks: &mut Vec<Block>) {
    let last = blocks.len() - 1;
    if rng.bool() {
        wrap(rng, conditions, blocks);
        if rng.bool() {
            return;
        }
    }
    let jumps: Vec<(BlockId, BlockId)> = blocks
        .iter()
        .enumerate()
        .filter_map(|(from, block)| match block.end {
            End::Jump(to) => Some((from, to)),
            _ => None,
        })
        .collect();
    if jumps.is_empty() || last < 2 {
        return;
    }
    for _ in 0..rng.u32(1..=4) {
        let (from, to) = jumps[rng.usize(..jumps.len())];
        if !matches!(blocks[from].end, End::Jump(_)) {
            continue;
        }
        let other = rng.usize(1..last);
        let when = match rng.u8(..4) {
            // Into the middle, from where nobody comes.
            0 => Condition::of(Test::Never, false),
            1 => Condition::of(Test::Always, false),
            _ => conditions.any(rng),
        };
        // (Where the test always holds the edge that was there is the dead one.)
        blocks[from].end = End::Branch { when, yes: other, no: to };
    }
    skip_a_block(rng, blocks);
}

/// The forward edge into a block that is also entered from behind becomes dead.
fn skip_a_block(rng: &mut Rng, blocks: &mut [Block]) {
    let entered_from_behind: Vec<(BlockId, BlockId)> = (0..blocks.len())
        .filter_map(|from| match blocks[from].end {
            End::Jump(to) if matches!(blocks[to].end, End::Jump(_)) => Some((from, to)),
            _ => None,
        })
        .filter(|&(_, to)| (to..blocks.len()).any(|from| blocks[from].targets().contains(&to)))
        .collect();
    if entered_from_behind.is_empty() {
        return;
    }
    let (from, to) = entered_from_behind[rng.usize(..entered_from_behind.len())];
    let [behind] = blocks[to].targets()[..] else { return };
    let when = Condition::of(Test::Always, false);
    blocks[from].end = End::Branch { when, yes: behind, no: to };
}
