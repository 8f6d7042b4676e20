//! Every thread comes to an end: each edge that leads back gets a limit.
//!
//! A limit is one of a counter that the edge's target steps, or of fuel that is spent on the way
//! back. It is part of the branch's own condition, or a branch of its own, which leads to the end or
//! lets the thread exit.

use fastrand::Rng;

use super::conditions::Conditions;
use super::kernel::{Block, BlockId, Condition, End, Item, Leave, Limit, Test, Update};
use super::structured::{early, stepped};

/// How the limits of a kernel look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// In the condition, by a counter.
    Counter,
    /// In the condition, by fuel.
    Fuel,
    /// A branch of its own to the last block.
    Apart,
    /// A branch of its own to an end of the thread.
    Exit,
}

/// Gives every edge that leads back a limit, but for those of blocks that have one already.
pub fn limit(
    rng: &mut Rng,
    conditions: &mut Conditions,
    blocks: &mut Vec<Block>,
    limited: &[BlockId],
) {
    let last = blocks
        .iter()
        .position(|block| block.end == End::Leave(Leave::Last))
        .unwrap_or(blocks.len() - 1);
    let styles = [Style::Counter, Style::Counter, Style::Fuel, Style::Apart, Style::Exit];
    let usual = styles[rng.usize(..styles.len())];
    for (from, side) in retreating(blocks) {
        let to = blocks[from].targets()[side];
        if limited.contains(&from)
            || has_limit(blocks, from, side)
            || has_limit_on_leaving(&blocks[to])
        {
            continue;
        }
        let style = if rng.u8(..4) == 0 { styles[rng.usize(..styles.len())] } else { usual };
        if !matches!(style, Style::Counter | Style::Fuel)
            || !inside(blocks, from, side, style, conditions, last)
        {
            apart(rng, conditions, blocks, (from, side), style, last);
        }
    }
}

/// Edges to a block that the depth-first search from the entry is still in, as `(block, which of
/// its targets)`. Without them the graph has no cycle.
fn retreating(blocks: &[Block]) -> Vec<(BlockId, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Closed,
    }
    let mut state = vec![State::New; blocks.len()];
    let mut found = Vec::new();
    let mut path = vec![(0, 0)];
    state[0] = State::Open;
    while let Some((block, next)) = path.last_mut() {
        let targets = blocks[*block].targets();
        let Some(&to) = targets.get(*next) else {
            state[*block] = State::Closed;
            path.pop();
            continue;
        };
        let edge = (*block, *next);
        *next += 1;
        match state[to] {
            State::Open => found.push(edge),
            State::New => {
                state[to] = State::Open;
                path.push((to, 0));
            }
            State::Closed => {}
        }
    }
    found.sort_unstable();
    found
}

fn has_limit(blocks: &[Block], from: BlockId, side: usize) -> bool {
    match &blocks[from].end {
        End::Branch { when: Condition { limit: Some((_, yes)), .. }, .. } => *yes == (side == 0),
        End::Index { limit: Some((_, spared)), .. } => *spared != side,
        End::Branch { when, .. } => match when.test {
            // Never taken.
            Test::Always => (side == 0) == when.negated,
            Test::Never => (side == 0) != when.negated,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a loop's header itself leaves the loop in time.
fn has_limit_on_leaving(block: &Block) -> bool {
    matches!(&block.end, End::Branch { when: Condition { limit: Some((_, true)), .. }, .. })
}

/// Makes the limit a part of the condition. `false` where that cannot be.
fn inside(
    blocks: &mut [Block],
    from: BlockId,
    side: usize,
    style: Style,
    conditions: &mut Conditions,
    last: BlockId,
) -> bool {
    let targets = blocks[from].targets();
    let to = targets[side];
    let limit = match style {
        Style::Counter => Limit::Counter(stepped(&blocks[to]).unwrap_or_else(|| {
            let counter = conditions.counter();
            blocks[to].items.insert(0, Item::Step(counter, Update::Add(1)));
            counter
        })),
        _ => Limit::Fuel,
    };
    let fits = match &mut blocks[from].end {
        End::Jump(to) => {
            let when =
                Condition { limit: Some((limit, true)), ..Condition::of(Test::Always, false) };
            blocks[from].end = End::Branch { when, yes: *to, no: last };
            true
        }
        End::Branch { when, yes, no } if when.limit.is_none() && yes != no => {
            when.limit = Some((limit, side == 0));
            true
        }
        End::Index { limit: limited @ None, to: all, .. } => {
            // The way out must be none that leads back: those have higher numbers.
            let ahead = all.iter().position(|&target| target > from);
            let ahead = ahead.filter(|&ahead| all[ahead] != to);
            *limited = ahead.map(|ahead| (limit, ahead));
            ahead.is_some()
        }
        _ => false,
    };
    if fits && limit == Limit::Fuel {
        blocks[from].items.push(Item::Spend);
    }
    fits
}

/// Puts a block with the limit on the edge.
fn apart(
    rng: &mut Rng,
    conditions: &Conditions,
    blocks: &mut Vec<Block>,
    (from, side): (BlockId, usize),
    style: Style,
    last: BlockId,
) {
    let to = blocks[from].targets()[side];
    let when = Condition::of(Test::Spent, false);
    let out = match style {
        Style::Exit => {
            let when = conditions.any(rng);
            let leave = early(rng, when);
            blocks.push(Block::new(End::Leave(match leave {
                Leave::Trap => Leave::Exit { store: true },
                other => other,
            })));
            blocks.len() - 1
        }
        _ => last,
    };
    let mut check = Block::new(End::Branch { when, yes: out, no: to });
    check.items.push(Item::Spend);
    blocks.push(check);
    let check = blocks.len() - 1;
    if let Some(target) = blocks[from].targets_mut().into_iter().nth(side) {
        *target = check;
    }
}
