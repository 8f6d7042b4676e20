//! The dominator tree: which blocks lie on every way from the entry to a block.
//!
//! In: blocks in reverse postorder. Out: each block's immediate dominator, and answers about which
//! block dominates which.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId};

/// The dominator tree with constant-time queries.
#[derive(Debug)]
pub struct DominatorTree {
    immediate: TiVec<BlockId, Option<BlockId>>,
    /// Where a block's subtree starts and ends in a preorder walk.
    interval: TiVec<BlockId, (u32, u32)>,
}

impl DominatorTree {
    /// Computes the tree of blocks in reverse postorder whose first is the entry.
    pub(super) fn new(blocks: &TiSlice<BlockId, Block>) -> DominatorTree {
        let edges: Vec<(BlockId, BlockId)> = blocks
            .iter()
            .flat_map(|block| block.successors.iter().map(|edge| (edge.from, edge.to)))
            .collect();
        let immediate = immediate_dominators(blocks.len(), BlockId(0), &edges);
        DominatorTree { interval: intervals(&immediate), immediate }
    }

    /// The nearest block that lies on every way to `block`; `None` for the entry.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block]
    }

    /// A block and its dominators, nearest first.
    pub fn chain(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        std::iter::successors(Some(block), |&b| self.immediate(b))
    }

    /// Whether every way from the entry to `b` leads through `a`; a block dominates itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let ((start, end), (at, _)) = (self.interval[a], self.interval[b]);
        start <= at && at < end
    }

    /// The nearest block that lies on every way to `a` and on every way to `b`.
    pub fn nearest_common(&self, a: BlockId, b: BlockId) -> Option<BlockId> {
        self.chain(a).find(|&block| self.dominates(block, b))
    }

    /// The first and the last of some blocks in a preorder walk: what dominates both dominates all.
    pub fn outermost(&self, blocks: impl Iterator<Item = BlockId>) -> Option<[BlockId; 2]> {
        let mut found: Option<[BlockId; 2]> = None;
        let at = |block: BlockId| self.interval[block].0;
        for block in blocks {
            let [first, last] = found.get_or_insert([block, block]);
            if at(block) < at(*first) {
                *first = block;
            }
            if at(block) > at(*last) {
                *last = block;
            }
        }
        found
    }
}

/// The number of a node in a depth-first walk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct WalkId(u32);

table_ids!(WalkId);

/// The immediate dominator of each node that a root leads to (Lengauer and Tarjan, "A fast algorithm
/// for finding dominators in a flowgraph", 1979): edges times the logarithm of nodes, whatever the
/// graph looks like. Nodes are blocks, and one more may stand behind them.
pub(super) fn immediate_dominators(
    nodes: usize,
    root: BlockId,
    edges: &[(BlockId, BlockId)],
) -> TiVec<BlockId, Option<BlockId>> {
    let leaving = Neighbours::new(nodes, edges.iter().copied());
    let entering = Neighbours::new(nodes, edges.iter().map(|&(from, to)| (to, from)));
    // Nodes are called by their numbers in a depth-first walk from here on.
    let mut number: TiVec<BlockId, Option<WalkId>> = ti_vec![None; nodes];
    let mut node_of: TiVec<WalkId, BlockId> = TiVec::new();
    let mut parent: TiVec<WalkId, WalkId> = TiVec::new();
    let mut work = vec![(root, WalkId(0))];
    while let Some((node, from)) = work.pop() {
        if number[node].is_none() {
            let own = node_of.push_and_get_key(node);
            number[node] = Some(own);
            parent.push(from);
            work.extend(leaving.of(node).iter().map(|&to| (to, own)));
        }
    }
    let mut forest = Forest {
        ancestor: ti_vec![None; node_of.len()],
        label: node_of.keys().collect(),
        semi: node_of.keys().collect(),
    };
    let mut dominator: TiVec<WalkId, WalkId> = ti_vec![WalkId(0); node_of.len()];
    let mut waiting: TiVec<WalkId, Vec<WalkId>> = ti_vec![Vec::new(); node_of.len()];
    for at in node_of.keys().skip(1).rev() {
        for &before in entering.of(node_of[at]) {
            if let Some(before) = number[before] {
                let best = forest.best(before);
                forest.semi[at] = forest.semi[at].min(forest.semi[best]);
            }
        }
        waiting[forest.semi[at]].push(at);
        let above = parent[at];
        forest.ancestor[at] = Some(above);
        for of in std::mem::take(&mut waiting[above]) {
            let best = forest.best(of);
            let lower = forest.semi[best] < forest.semi[of];
            dominator[of] = if lower { best } else { above };
        }
    }
    let mut found = ti_vec![None; nodes];
    for at in node_of.keys().skip(1) {
        if dominator[at] != forest.semi[at] {
            dominator[at] = dominator[dominator[at]];
        }
        found[node_of[at]] = Some(node_of[dominator[at]]);
    }
    found
}

/// The nodes that each node has edges to.
struct Neighbours {
    /// For each node where its neighbours begin; they end where those of the next one begin.
    first: TiVec<BlockId, usize>,
    nodes: Vec<BlockId>,
}

impl Neighbours {
    fn new(nodes: usize, edges: impl Iterator<Item = (BlockId, BlockId)> + Clone) -> Neighbours {
        let mut first = ti_vec![0; nodes + 1];
        for (from, _) in edges.clone() {
            first[BlockId(from.0 + 1)] += 1;
        }
        let mut count = 0;
        for begin in &mut first {
            count += *begin;
            *begin = count;
        }
        let (mut next, mut found) = (first.clone(), vec![BlockId(0); count]);
        for (from, to) in edges {
            found[next[from]] = to;
            next[from] += 1;
        }
        Neighbours { first, nodes: found }
    }

    fn of(&self, node: BlockId) -> &[BlockId] {
        &self.nodes[self.first[node]..self.first[BlockId(node.0 + 1)]]
    }
}

/// The part of the depth-first tree that was looked at, with ways to its roots shortened.
struct Forest {
    ancestor: TiVec<WalkId, Option<WalkId>>,
    /// The node with the least semidominator on the way that was shortened.
    label: TiVec<WalkId, WalkId>,
    semi: TiVec<WalkId, WalkId>,
}

impl Forest {
    /// The node with the least semidominator on the way from a node to below its root.
    fn best(&mut self, node: WalkId) -> WalkId {
        let mut way = Vec::new();
        let mut at = node;
        while let Some(above) = self.ancestor[at]
            && self.ancestor[above].is_some()
        {
            way.push(at);
            at = above;
        }
        for &at in way.iter().rev() {
            let Some(above) = self.ancestor[at] else { continue };
            let (own, other) = (self.label[at], self.label[above]);
            if self.semi[other] < self.semi[own] {
                self.label[at] = other;
            }
            self.ancestor[at] = self.ancestor[above];
        }
        self.label[node]
    }
}

/// For each node of a forest, whose parents come before it, where its subtree starts and ends in a
/// preorder walk.
pub(super) fn intervals<K: Copy + From<usize>>(
    parents: &TiSlice<K, Option<K>>,
) -> TiVec<K, (u32, u32)>
where
    usize: From<K>,
{
    // Sizes add up from the back, and positions are handed out from the front.
    let mut size = ti_vec![1u32; parents.len()];
    for node in parents.keys().rev() {
        if let Some(parent) = parents[node] {
            size[parent] += size[node];
        }
    }
    let mut interval = ti_vec![(0, 0); parents.len()];
    let (mut next_free, mut next_root) = (ti_vec![0u32; parents.len()], 0);
    for node in parents.keys() {
        let next = match parents[node] {
            None => &mut next_root,
            Some(parent) => &mut next_free[parent],
        };
        let start = *next;
        *next += size[node];
        interval[node] = (start, start + size[node]);
        next_free[node] = start + 1;
    }
    interval
}

#[cfg(feature = "internals")]
mod tests {
    use typed_index_collections::{TiVec, ti_vec};

    use super::immediate_dominators;
    use crate::BlockId;

    crate::unit_tests!(dominators_are_what_cannot_be_left_out);

    /// A node dominates the nodes that are unreachable from the root without it.
    fn dominators_are_what_cannot_be_left_out() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let nodes = random.u32(1..12);
            let edges: Vec<(BlockId, BlockId)> = (0..random.u32(0..24))
                .map(|_| (BlockId(random.u32(0..nodes)), BlockId(random.u32(0..nodes))))
                .collect();
            let reached = |without: Option<BlockId>| -> TiVec<BlockId, bool> {
                let mut reached = ti_vec![false; nodes as usize];
                let mut work = vec![BlockId(0)];
                while let Some(node) = work.pop() {
                    if Some(node) != without && !reached[node] {
                        reached[node] = true;
                        work.extend(edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1));
                    }
                }
                reached
            };
            let found = immediate_dominators(nodes as usize, BlockId(0), &edges);
            let all = reached(None);
            for node in all.keys() {
                let above = std::iter::successors(found[node], |&at| found[at]);
                let mut above: Vec<BlockId> = above.collect();
                above.sort_unstable();
                let expected: Vec<BlockId> = all
                    .keys()
                    .filter(|&other| all[node] && other != node)
                    .filter(|&other| !reached(Some(other))[node])
                    .collect();
                assert_eq!(above, expected, "{node:?} in {edges:?}");
            }
        }
    }
}
