//! Facts about a graph of blocks, computed the slow and simple way: by taking a block out and looking
//! what still leads where.

use crate::graph::emit::is_empty;
use crate::graph::kernel::{BlockId, End, Kernel, Leave};

/// Which ends of threads count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    All,
    /// Only that at the end of the text.
    Last,
    /// Only those that can be reached from the place that is asked about.
    Beyond,
}

/// The graph of a kernel without blocks that only jump.
pub struct Graph {
    targets: Vec<Vec<BlockId>>,
    /// Blocks whose end is the end of the text.
    last: Vec<bool>,
    leaves: Vec<bool>,
}

impl Graph {
    pub fn new(kernel: &Kernel) -> Graph {
        let targets = kernel
            .blocks
            .iter()
            .map(|block| {
                let mut to: Vec<_> = block.targets().iter().map(|&to| behind(kernel, to)).collect();
                to.sort_unstable();
                to.dedup();
                to
            })
            .collect();
        let ends =
            |wanted: fn(&End) -> bool| kernel.blocks.iter().map(|b| wanted(&b.end)).collect();
        Graph {
            targets,
            last: ends(|end| *end == End::Leave(Leave::Last)),
            leaves: ends(|end| matches!(end, End::Leave(_))),
        }
    }

    /// What can be reached behind a block, without going through another.
    fn behind(&self, from: BlockId, without: Option<BlockId>) -> Vec<bool> {
        let mut seen = vec![false; self.targets.len()];
        let mut work = self.targets[from].clone();
        while let Some(at) = work.pop() {
            if Some(at) != without && !std::mem::replace(&mut seen[at], true) {
                work.extend(&self.targets[at]);
            }
        }
        seen
    }

    /// Whether every way from `from` to one of the ends leads through `at`.
    pub fn postdominates(&self, at: BlockId, from: BlockId, ends: Ends) -> bool {
        let reachable = self.behind(from, None);
        if at == from || !reachable[at] {
            return false;
        }
        let beyond = self.behind(at, None);
        let counts = |end: BlockId| match ends {
            Ends::All => self.leaves[end],
            Ends::Last => self.last[end],
            Ends::Beyond => self.leaves[end] && (beyond[end] || end == at),
        };
        let around = self.behind(from, Some(at));
        !(0..around.len()).any(|end| counts(end) && (around[end] || end == from))
    }

    /// Whether it is the first of those.
    pub fn immediately(&self, at: BlockId, from: BlockId, ends: Ends) -> bool {
        self.postdominates(at, from, ends)
            && (0..self.targets.len()).all(|other| {
                other == at
                    || !self.postdominates(other, from, ends)
                    || self.postdominates(at, other, ends)
            })
    }

    /// Whether some way leads from one to the other.
    pub fn reaches(&self, from: BlockId, to: BlockId) -> bool {
        self.behind(from, None)[to]
    }

    /// Blocks on a cycle through a block that every cycle through both needs... whether an edge to
    /// `at` comes from a block that `at` dominates: the header of a natural loop.
    pub fn is_header(&self, at: BlockId) -> bool {
        let mut without = vec![false; self.targets.len()];
        if at != 0 {
            without = self.behind(0, Some(at));
            without[0] = true;
        }
        (0..self.targets.len())
            .any(|from| self.targets[from].contains(&at) && !without[from] && self.live(from))
    }

    /// Blocks that a depth-first search from the entry, in the order of the targets, finds on its
    /// path again: where iterations begin.
    pub fn heads(&self) -> Vec<BlockId> {
        let (mut open, mut seen) =
            (vec![false; self.targets.len()], vec![false; self.targets.len()]);
        let (mut path, mut found) = (vec![(0, 0)], Vec::new());
        (open[0], seen[0]) = (true, true);
        while let Some((block, next)) = path.last_mut() {
            let Some(&to) = self.targets[*block].get(*next) else {
                open[*block] = false;
                path.pop();
                continue;
            };
            *next += 1;
            if open[to] {
                found.push(to);
            } else if !std::mem::replace(&mut seen[to], true) {
                open[to] = true;
                path.push((to, 0));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a block is in the loop of a head. Of a natural loop that is what leads to its latches
    /// without going through the head; else any cycle with the head.
    pub fn is_inside(&self, block: BlockId, head: BlockId) -> bool {
        if block == head {
            return true;
        }
        if !self.is_header(head) {
            return self.reaches(block, head) && self.reaches(head, block);
        }
        let mut others = if head == 0 { Vec::new() } else { self.behind(0, Some(head)) };
        others.resize(self.targets.len(), false);
        others[0] |= head != 0;
        let mut ahead = self.behind(block, Some(head));
        ahead[block] = true;
        !others[block]
            && (0..ahead.len())
                .any(|latch| ahead[latch] && !others[latch] && self.targets[latch].contains(&head))
    }

    fn live(&self, block: BlockId) -> bool {
        block == 0 || self.reaches(0, block)
    }
}

/// The first block from here on that does anything.
pub fn behind(kernel: &Kernel, mut block: BlockId) -> BlockId {
    for _ in 0..kernel.blocks.len() {
        match kernel.blocks[block].end {
            End::Jump(to) if is_empty(kernel, block) => block = to,
            _ => break,
        }
    }
    block
}
