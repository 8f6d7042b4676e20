//! The dominator tree: which blocks lie on every way from the entry to a block.
//!
//! In: blocks in reverse postorder. Out: each block's immediate dominator, and answers about which
//! block dominates which.

use typed_index_collections::{TiSlice, TiVec};

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
        let edges: Vec<(u32, u32)> = blocks
            .iter()
            .flat_map(|block| block.successors.iter().map(|edge| (edge.from.0, edge.to.0)))
            .collect();
        let found = immediate_dominators(blocks.len(), 0, &edges);
        let interval = intervals(&found).into();
        let immediate = found.into_iter().map(|found| found.map(BlockId)).collect();
        DominatorTree { immediate, interval }
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

/// The immediate dominator of each node that a root leads to (Lengauer and Tarjan, "A fast algorithm
/// for finding dominators in a flowgraph", 1979): edges times the logarithm of nodes, whatever the
/// graph looks like.
pub(super) fn immediate_dominators(
    nodes: usize,
    root: u32,
    edges: &[(u32, u32)],
) -> Vec<Option<u32>> {
    let leaving = Neighbours::new(nodes, edges.iter().copied());
    let entering = Neighbours::new(nodes, edges.iter().map(|&(from, to)| (to, from)));
    // Nodes are called by their numbers in a depth-first walk from here on.
    let mut number: Vec<Option<u32>> = vec![None; nodes];
    let (mut node_of, mut parent) = (Vec::new(), Vec::new());
    let mut work = vec![(root, 0)];
    while let Some((node, from)) = work.pop() {
        if number[node as usize].is_none() {
            let own = node_of.len() as u32;
            number[node as usize] = Some(own);
            node_of.push(node);
            parent.push(from);
            work.extend(leaving.of(node).iter().map(|&to| (to, own)));
        }
    }
    let count = node_of.len() as u32;
    let mut forest = Forest {
        ancestor: vec![None; count as usize],
        label: (0..count).collect(),
        semi: (0..count).collect(),
    };
    let mut dominator: Vec<u32> = vec![0; count as usize];
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
    for at in (1..count).rev() {
        for &before in entering.of(node_of[at as usize]) {
            if let Some(before) = number[before as usize] {
                let best = forest.best(before);
                let semi = forest.semi[best as usize];
                forest.semi[at as usize] = forest.semi[at as usize].min(semi);
            }
        }
        waiting[forest.semi[at as usize] as usize].push(at);
        let above = parent[at as usize];
        forest.ancestor[at as usize] = Some(above);
        for of in std::mem::take(&mut waiting[above as usize]) {
            let best = forest.best(of);
            let lower = forest.semi[best as usize] < forest.semi[of as usize];
            dominator[of as usize] = if lower { best } else { above };
        }
    }
    let mut found = vec![None; nodes];
    for at in 1..count as usize {
        if dominator[at] != forest.semi[at] {
            dominator[at] = dominator[dominator[at] as usize];
        }
        found[node_of[at] as usize] = Some(node_of[dominator[at] as usize]);
    }
    found
}

/// The nodes that each node has edges to.
struct Neighbours {
    first: Vec<u32>,
    nodes: Vec<u32>,
}

impl Neighbours {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Neighbours {
        let mut first = vec![0u32; nodes + 1];
        for (from, _) in edges.clone() {
            first[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let (mut next, mut found) = (first.clone(), vec![0; first[nodes] as usize]);
        for (from, to) in edges {
            found[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Neighbours { first, nodes: found }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.nodes[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// The part of the depth-first tree that was looked at, with ways to its roots shortened.
struct Forest {
    ancestor: Vec<Option<u32>>,
    /// The node with the least semidominator on the way that was shortened.
    label: Vec<u32>,
    semi: Vec<u32>,
}

impl Forest {
    /// The node with the least semidominator on the way from a node to below its root.
    fn best(&mut self, node: u32) -> u32 {
        let mut way = Vec::new();
        let mut at = node;
        while let Some(above) = self.ancestor[at as usize]
            && self.ancestor[above as usize].is_some()
        {
            way.push(at);
            at = above;
        }
        for &at in way.iter().rev() {
            let Some(above) = self.ancestor[at as usize] else { continue };
            let (own, other) = (self.label[at as usize], self.label[above as usize]);
            if self.semi[other as usize] < self.semi[own as usize] {
                self.label[at as usize] = other;
            }
            self.ancestor[at as usize] = self.ancestor[above as usize];
        }
        self.label[node as usize]
    }
}

/// For each node of a forest, whose parents come before it, where its subtree starts and ends in a
/// preorder walk.
pub(super) fn intervals(parents: &[Option<u32>]) -> Vec<(u32, u32)> {
    // Sizes add up from the back, and positions are handed out from the front.
    let mut size = vec![1u32; parents.len()];
    for node in (0..parents.len()).rev() {
        if let Some(parent) = parents[node] {
            size[parent as usize] += size[node];
        }
    }
    let mut interval = vec![(0, 0); parents.len()];
    let (mut next_free, mut next_root) = (vec![0u32; parents.len()], 0);
    for node in 0..parents.len() {
        let next = match parents[node] {
            None => &mut next_root,
            Some(parent) => &mut next_free[parent as usize],
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
    use super::immediate_dominators;

    crate::unit_tests!(dominators_are_what_cannot_be_left_out);

    /// A node dominates what the root does not lead to without that node.
    fn dominators_are_what_cannot_be_left_out() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let nodes = random.u32(1..12);
            let edges: Vec<(u32, u32)> = (0..random.u32(0..24))
                .map(|_| (random.u32(0..nodes), random.u32(0..nodes)))
                .collect();
            let reached = |without: Option<u32>| -> Vec<bool> {
                let mut reached = vec![false; nodes as usize];
                let mut work = vec![0];
                while let Some(node) = work.pop() {
                    if Some(node) != without && !reached[node as usize] {
                        reached[node as usize] = true;
                        work.extend(edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1));
                    }
                }
                reached
            };
            let found = immediate_dominators(nodes as usize, 0, &edges);
            let all = reached(None);
            for node in 0..nodes {
                let above = std::iter::successors(found[node as usize], |&at| found[at as usize]);
                let mut above: Vec<u32> = above.collect();
                above.sort_unstable();
                let expected: Vec<u32> = (0..nodes)
                    .filter(|&other| all[node as usize] && other != node)
                    .filter(|&other| !reached(Some(other))[node as usize])
                    .collect();
                assert_eq!(above, expected, "{node} in {edges:?}");
            }
        }
    }
}
