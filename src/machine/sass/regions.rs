//! The blocks of a kernel's machine code, and the loops in them.
//!
//! In: the blocks with the ways between them. Out: for a function its blocks and loops, each behind those that it leads to,
//! and inside of each loop the same for its own blocks ([`Region`]).

use std::cell::RefCell;
use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Iterations of a loop that shuffles do in its place: of a tree in shared memory, those with strides of 32 to 1.
pub(super) const SHUFFLED_ITERATIONS: u32 = 6;

/// The fewest shuffles that do iterations of a loop.
const SHUFFLES_OF_A_LOOP: f64 = 5.0;

/// The kind under which shuffles are counted once more: no instruction has it.
pub const SHUFFLES: u32 = u32::MAX - 1;

/// The cost of an execution of a block, or of a path through several.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Cycles of a warp alone.
    pub cycles: f64,
    /// Accesses to memory.
    pub accesses: f64,
    /// Floating-point operations.
    pub arithmetic: f64,
    /// Calls, and instructions that are as rare.
    pub calls: f64,
    /// Shuffles that the original does not have.
    pub shuffles: f64,
}

impl Work {
    /// This and another one, some number of times.
    pub fn plus(self, other: Work, times: f64) -> Work {
        Work {
            cycles: self.cycles + times * other.cycles,
            accesses: self.accesses + times * other.accesses,
            arithmetic: self.arithmetic + times * other.arithmetic,
            calls: self.calls + times * other.calls,
            shuffles: self.shuffles + times * other.shuffles,
        }
    }
}

/// The blocks of a kernel and of its callees.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// The blocks that may be executed next, without those that are called.
    pub next: Vec<Vec<usize>>,
    /// The blocks that end with a call, each with the first block of its callee.
    pub calls: Vec<(usize, usize)>,
    /// The cost of an execution of each.
    pub work: Vec<Work>,
    /// The instructions of each, by kind.
    pub kinds: Vec<Histogram>,
}

/// Numbers of instructions, by kind.
pub type Histogram = BTreeMap<u32, f64>;

/// The blocks of a function, or of a loop.
pub(super) struct Region<K> {
    pub members: FxHashSet<usize>,
    /// The component where it begins.
    pub entry: Option<usize>,
    /// Each behind those that it leads to.
    pub components: Vec<Component<K>>,
    /// Its path, once it has been found.
    pub known: RefCell<Option<K>>,
}

/// A block of a region, or a loop with all of its blocks.
pub(super) struct Component<K> {
    pub part: Inside<K>,
    /// The components that follow; `None` is the end. Without any, no way leads to the end.
    pub next: Vec<Option<usize>>,
    /// Its last block in the text.
    pub last: usize,
}

/// The blocks of a component.
pub(super) enum Inside<K> {
    Block(usize),
    /// A loop, and how many of its iterations shuffles do.
    Loop(Region<K>, u32),
}

/// Finds the regions of some blocks.
pub(super) struct Regions<'b> {
    pub blocks: &'b Blocks,
    /// Whether the kernel is a rewriting of one without shuffles.
    pub shuffles_are_new: bool,
}

impl Regions<'_> {
    /// The blocks of a function.
    pub(super) fn of_function<K>(&self, entry: usize) -> Region<K> {
        self.region(self.reached(entry), entry, false)
    }

    /// The shuffles of a block that the original does not have.
    pub(super) fn shuffles(&self, at: usize) -> f64 {
        let kinds = self.blocks.kinds.get(at).filter(|_| self.shuffles_are_new);
        kinds.and_then(|kinds| kinds.get(&SHUFFLES)).copied().unwrap_or(0.0)
    }

    /// Whether a way out of a loop leads to shuffles to which the others do not lead.
    fn is_left_to_shuffles(&self, members: &FxHashSet<usize>) -> bool {
        let next = |at: usize| self.blocks.next[at].iter().copied();
        let behind = |exit: usize| {
            let (mut found, mut open) = (FxHashSet::default(), vec![exit]);
            while let Some(at) = open.pop() {
                if !members.contains(&at) && found.insert(at) {
                    open.extend(next(at));
                }
            }
            found
        };
        let exits: FxHashSet<usize> =
            members.iter().flat_map(|at| next(*at)).filter(|at| !members.contains(at)).collect();
        self.shuffles_are_new
            && exits.iter().any(|exit| {
                let others: FxHashSet<usize> = exits
                    .iter()
                    .filter(|other| *other != exit)
                    .flat_map(|one| behind(*one))
                    .collect();
                let own = behind(*exit);
                let own = own.difference(&others).map(|at| self.shuffles(*at));
                !others.is_empty() && own.sum::<f64>() >= SHUFFLES_OF_A_LOOP
            })
    }

    /// The blocks that can be reached from one.
    fn reached(&self, entry: usize) -> FxHashSet<usize> {
        let (mut found, mut open) = (FxHashSet::default(), vec![entry]);
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(&self.blocks.next[at]);
            }
        }
        found
    }

    /// Some blocks with the ways from `entry`: to the end of the function or, in a loop, back to `entry`.
    fn region<K>(&self, members: FxHashSet<usize>, entry: usize, is_loop: bool) -> Region<K> {
        let mut graph = DiGraphMap::<usize, ()>::new();
        let mut ordered: Vec<usize> = members.iter().copied().collect();
        ordered.sort_unstable();
        for &at in &ordered {
            graph.add_node(at);
            for &to in &self.blocks.next[at] {
                if members.contains(&to) && !(is_loop && to == entry) {
                    graph.add_edge(at, to, ());
                }
            }
        }
        // Each component comes behind those that it leads to.
        let mut number_of: FxHashMap<usize, usize> = FxHashMap::default();
        let mut components: Vec<Component<K>> = Vec::new();
        for component in tarjan_scc(&graph) {
            let number = components.len();
            component.iter().for_each(|&at| _ = number_of.insert(at, number));
            let mut next: Vec<Option<usize>> = Vec::new();
            for &to in component.iter().flat_map(|&at| &self.blocks.next[at]) {
                if is_loop && to == entry {
                    next.push(None);
                } else if let Some(&other) = number_of.get(&to)
                    && other != number
                    && !components[other].next.is_empty()
                {
                    next.push(Some(other));
                }
            }
            if !is_loop && next.is_empty() {
                next.push(None);
            }
            next.sort_unstable();
            next.dedup();
            let last = component.iter().copied().max().unwrap_or_default();
            components.push(Component { part: self.inside(&graph, component), next, last });
        }
        let entry = number_of.get(&entry).copied();
        Region { members, entry, components, known: RefCell::default() }
    }

    fn inside<K>(&self, graph: &DiGraphMap<usize, ()>, component: Vec<usize>) -> Inside<K> {
        let first = component.iter().copied().min().unwrap_or_default();
        if component.len() == 1 && !graph.contains_edge(first, first) {
            return Inside::Block(first);
        }
        let members: FxHashSet<usize> = component.iter().copied().collect();
        let enters = |at: &usize| {
            let mut from = graph.neighbors_directed(*at, petgraph::Direction::Incoming);
            from.any(|from| !members.contains(&from))
        };
        let entry = component.iter().copied().filter(enters).min().unwrap_or(first);
        let shuffled = if self.is_left_to_shuffles(&members) { SHUFFLED_ITERATIONS } else { 0 };
        Inside::Loop(self.region(members, entry, true), shuffled)
    }
}
