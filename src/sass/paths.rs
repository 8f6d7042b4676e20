//! How often the blocks of a kernel are executed, where only the machine code is known.
//!
//! In: the blocks, and what an execution of each takes. Out: executions for each execution of the kernel by a warp. One
//! way from the entry to the end is followed. A loop is gone through [`LOOP_ITERATIONS`] times, along one way from its
//! head back to it. Where a branch has two ways,
//!
//! - one that goes on at once is passed over for the other, unless the other calls a function: ptxas leaves no calls but
//!   those of rare cases, as in a division;
//! - one that accesses no memory is passed over for one that does: it leaves early;
//! - of two that do the same arithmetic, as two versions of one piece of code do, the shorter one is followed, and of two
//!   that do not, the longer one.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::Graph;

/// Iterations of a loop whose trip count is not known.
pub const LOOP_ITERATIONS: f64 = 8.0;

/// What an execution of a block takes, or of a way through several.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Cycles of a warp alone.
    pub cycles: f64,
    /// Accesses to memory.
    pub accesses: f64,
    /// Floating-point operations.
    pub arithmetic: f64,
    /// Calls.
    pub calls: f64,
}

impl Work {
    fn plus(self, other: Work, times: f64) -> Work {
        Work {
            cycles: self.cycles + times * other.cycles,
            accesses: self.accesses + times * other.accesses,
            arithmetic: self.arithmetic + times * other.arithmetic,
            calls: self.calls + times * other.calls,
        }
    }
}

/// Executions of each block for each execution of the kernel by a warp.
pub fn executions(graph: &Graph, work: &[Work]) -> Vec<f64> {
    let mut found = vec![0.0; graph.blocks.len()];
    let called: FxHashSet<(usize, usize)> = graph.calls.iter().copied().collect();
    let edges = |at: usize| {
        let all = graph.blocks[at].successors.iter().map(move |&to| (at, to));
        all.filter(|edge| !called.contains(edge))
    };
    let ways =
        Ways { edges: (0..graph.blocks.len()).map(|at| edges(at).collect()).collect(), work };
    // Each function once: those that are called, in the order in which the calls are met.
    let mut open = vec![(0, 1.0)];
    let mut entered = FxHashSet::default();
    while let Some((entry, times)) = open.pop() {
        if !entered.insert(entry) {
            continue;
        }
        for (at, own) in ways.through(ways.reached(entry), entry, false).executions {
            found[at] += times * own;
            let calls = graph.calls.iter().filter(|(from, _)| *from == at);
            open.extend(calls.map(|&(_, to)| (to, times * own)));
        }
    }
    found
}

/// The edges between blocks of one function, and what each block takes.
struct Ways<'w> {
    edges: Vec<Vec<(usize, usize)>>,
    work: &'w [Work],
}

/// The way that is followed through a part of the code.
#[derive(Default)]
struct Way {
    /// What it takes.
    work: Work,
    /// The executions of its blocks.
    executions: Vec<(usize, f64)>,
}

/// A block, or a loop with all of its blocks, on the way to the end of a part of the code.
struct Step {
    /// The way through it.
    own: Way,
    /// What it takes from its beginning to the end of the part.
    rest: Work,
    /// The step that follows; `None` at the end.
    next: Option<usize>,
    /// The nearest step that all ways from here to the end go through; `None` if that is the end.
    join: Option<usize>,
    /// The number of steps of which each is the join of the one before.
    height: u32,
}

impl Ways<'_> {
    /// The blocks that can be reached from one.
    fn reached(&self, entry: usize) -> FxHashSet<usize> {
        let (mut found, mut open) = (FxHashSet::default(), vec![entry]);
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(self.edges[at].iter().map(|&(_, to)| to));
            }
        }
        found
    }

    /// The way through some blocks from `entry`: to the end of the function or, in a loop, back to `entry`.
    fn through(&self, members: FxHashSet<usize>, entry: usize, is_loop: bool) -> Way {
        let mut graph = DiGraphMap::<usize, ()>::new();
        let mut ordered: Vec<usize> = members.iter().copied().collect();
        ordered.sort_unstable();
        for &at in &ordered {
            graph.add_node(at);
            for &(_, to) in &self.edges[at] {
                if members.contains(&to) && !(is_loop && to == entry) {
                    graph.add_edge(at, to, ());
                }
            }
        }
        // Each component comes behind those that it leads to.
        let mut step_of: FxHashMap<usize, usize> = FxHashMap::default();
        let mut steps: Vec<Option<Step>> = Vec::new();
        for component in tarjan_scc(&graph) {
            component.iter().for_each(|&at| _ = step_of.insert(at, steps.len()));
            let number = steps.len();
            let mut next: Vec<Option<usize>> = Vec::new();
            for &(_, to) in component.iter().flat_map(|&at| &self.edges[at]) {
                if is_loop && to == entry {
                    next.push(None);
                } else if let Some(&step) = step_of.get(&to)
                    && step != number
                    && steps[step].is_some()
                {
                    next.push(Some(step));
                }
            }
            if !is_loop && next.is_empty() {
                next.push(None);
            }
            next.sort_unstable();
            next.dedup();
            let own = self.own(&graph, component);
            steps.push((!next.is_empty()).then(|| Step::new(own, &next, &steps)));
        }
        let mut way = Way::default();
        let mut at = step_of.get(&entry).copied();
        while let Some(step) = at.and_then(|at| steps[at].as_mut()) {
            let own = std::mem::take(&mut step.own);
            way.work = way.work.plus(own.work, 1.0);
            way.executions.extend(own.executions);
            at = step.next;
        }
        way
    }

    /// The way through a block, or through all iterations of a loop.
    fn own(&self, graph: &DiGraphMap<usize, ()>, component: Vec<usize>) -> Way {
        let first = component.iter().copied().min().unwrap_or_default();
        if component.len() == 1 && !graph.contains_edge(first, first) {
            return Way { work: self.work[first], executions: vec![(first, 1.0)] };
        }
        let members: FxHashSet<usize> = component.iter().copied().collect();
        let enters = |at: &usize| {
            let mut from = graph.neighbors_directed(*at, petgraph::Direction::Incoming);
            from.any(|from| !members.contains(&from))
        };
        let entry = component.iter().copied().filter(enters).min().unwrap_or(first);
        let mut iteration = self.through(members, entry, true);
        iteration.executions.iter_mut().for_each(|(_, times)| *times *= LOOP_ITERATIONS);
        iteration.work = Work::default().plus(iteration.work, LOOP_ITERATIONS);
        iteration
    }
}

impl Step {
    /// The step in front of others, of which `None` is the end.
    fn new(own: Way, next: &[Option<usize>], steps: &[Option<Step>]) -> Step {
        let step = |at: usize| steps[at].as_ref();
        let height = |at: Option<usize>| at.and_then(step).map_or(0, |step| step.height);
        let joined = |at: Option<usize>| at.and_then(step).and_then(|step| step.join);
        let meet = |mut a: Option<usize>, mut b: Option<usize>| {
            while a != b {
                let of_a = height(a) >= height(b);
                let higher = if of_a { &mut a } else { &mut b };
                *higher = joined(*higher);
            }
            a
        };
        let join = next.iter().copied().reduce(meet).flatten();
        let rest = |at: Option<usize>| at.and_then(step).map_or(Work::default(), |step| step.rest);
        // What a way takes until it meets the others.
        let until = |at: Option<usize>| rest(at).plus(rest(join), -1.0);
        let mut chosen: Option<Option<usize>> = None;
        for &at in next {
            let better = chosen.is_none_or(|than| {
                let (new, old) = (until(at), until(than));
                if at == join || than == join {
                    let other = if at == join { old } else { new };
                    return (at == join) == (other.calls > 0.0);
                }
                if (new.accesses > 0.0) != (old.accesses > 0.0) {
                    return new.accesses > 0.0;
                }
                let alike = new.arithmetic == old.arithmetic;
                if alike { new.cycles < old.cycles } else { new.cycles > old.cycles }
            });
            if better {
                chosen = Some(at);
            }
        }
        let next = chosen.flatten();
        let rest = rest(next).plus(own.work, 1.0);
        Step { own, rest, next, join, height: height(join) + 1 }
    }
}
