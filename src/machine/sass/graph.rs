//! Basic blocks and loops of machine code.

use std::fmt;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::code::Function;
use super::encoding::{BYTES, Instruction};
use super::opcodes::{Opcode, Opcodes, Role};

/// Instructions that are executed one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The number of its first instruction in the function.
    pub first: usize,
    /// The number of the instruction behind its last one.
    pub end: usize,
    /// The blocks that may be executed next. A call is followed by the function that it calls and by the instruction
    /// behind it.
    pub successors: Vec<usize>,
    /// The number of loops around it; those of the calls of its function count.
    pub depth: u32,
}

/// The blocks that can be reached from the beginning of a function, in the order of the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// The blocks; the first one is the entry.
    pub blocks: Vec<Block>,
    /// The blocks that end with a call, each with the first block of its callee.
    pub calls: Vec<(usize, usize)>,
}

/// Why nothing can be said of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// The encoding of the architecture is not known.
    Architecture(u32),
    /// An opcode is not in the tables.
    Opcode {
        /// Bytes from the beginning of the function.
        offset: u32,
        /// The 12 bits.
        opcode: u16,
    },
    /// A branch goes to a place that stands in a register.
    Indirect {
        /// Bytes from the beginning of the function.
        offset: u32,
    },
    /// A branch leaves the function.
    Outside {
        /// Bytes from the beginning of the function.
        offset: u32,
    },
    /// ptxas has not scheduled the code, as without optimisation.
    Unscheduled,
    /// The function has no instruction.
    Empty,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Architecture(number) => {
                write!(f, "the machine code of sm_{number} is not known")
            }
            Unknown::Opcode { offset, opcode } => {
                write!(f, "the opcode {opcode:#05x} at offset {offset:#06x} is not known")
            }
            Unknown::Indirect { offset } => {
                write!(f, "the branch at offset {offset:#06x} goes to a place in a register")
            }
            Unknown::Outside { offset } => {
                write!(f, "the branch at offset {offset:#06x} leaves the function")
            }
            Unknown::Unscheduled => f.write_str("ptxas has not scheduled the code (-O0)"),
            Unknown::Empty => f.write_str("the function has no machine code"),
        }
    }
}

/// Where an instruction leads.
struct Next {
    /// Whether to the instruction behind it.
    falls_through: bool,
    /// Other ones, by their numbers.
    targets: SmallVec<[usize; 1]>,
    /// Whether these return.
    calls: bool,
    /// Whether it returns to a caller.
    returns: bool,
}

impl Graph {
    /// The blocks of a function.
    ///
    /// # Errors
    /// Why nothing can be said of it.
    pub fn new(function: &Function, architecture: u32) -> Result<Graph, Unknown> {
        let code = &function.instructions;
        let table = Opcodes::of(architecture).ok_or(Unknown::Architecture(architecture))?;
        let mut reached = reach(function, table, architecture, &FxHashSet::default())?;
        let jumps = jumps(&reached);
        if !jumps.is_empty() {
            reached = reach(function, table, architecture, &jumps)?;
        }
        let mut leads: Vec<bool> = vec![false; code.len() + 1];
        leads[0] = true;
        for (at, next) in reached.iter().enumerate() {
            let Some(next) = next else { continue };
            next.targets.iter().for_each(|&target| leads[target] = true);
            leads[at + 1] |= !next.targets.is_empty() || !next.falls_through;
        }
        let (blocks, calls) = cut(&reached, &leads);
        Ok(Graph { blocks: with_calls(with_depths(blocks), &calls), calls })
    }
}

/// The calls to code that does not return: ptxas jumps in this way, too, mostly out of loops in functions that call others.
fn jumps(reached: &[Option<Next>]) -> FxHashSet<usize> {
    // The instructions in front of each; those of a callee do not count.
    let mut before: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); reached.len() + 1];
    let known = || reached.iter().enumerate().filter_map(|(at, next)| Some((at, next.as_ref()?)));
    for (at, next) in known() {
        let targets = next.targets.iter().filter(|_| !next.calls);
        targets.for_each(|&target| before[target].push(at));
        if next.falls_through {
            before[at + 1].push(at);
        }
    }
    let mut returning = FxHashSet::default();
    let mut open: Vec<usize> = known().filter(|(_, next)| next.returns).map(|(at, _)| at).collect();
    while let Some(at) = open.pop() {
        if returning.insert(at) {
            open.extend(&before[at]);
        }
    }
    let leads_nowhere = |next: &Next| next.targets.iter().any(|to| !returning.contains(to));
    known().filter(|(_, next)| next.calls && leads_nowhere(next)).map(|(at, _)| at).collect()
}

/// Where each instruction leads; `None` for those that are never executed. `jumps`: the calls that do not return.
fn reach(
    function: &Function,
    table: &Opcodes,
    architecture: u32,
    jumps: &FxHashSet<usize>,
) -> Result<Vec<Option<Next>>, Unknown> {
    let code = &function.instructions;
    let mut reached: Vec<Option<Next>> = code.iter().map(|_| None).collect();
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let instruction = *code.get(at).ok_or(match at.checked_sub(1) {
            Some(last) => Unknown::Outside { offset: last as u32 * BYTES },
            None => Unknown::Empty,
        })?;
        if reached[at].is_some() {
            continue;
        }
        let offset = instruction.offset;
        let opcode = table
            .get(instruction)
            .ok_or(Unknown::Opcode { offset, opcode: instruction.opcode() })?;
        let mut next = next(instruction, opcode, architecture, function)?;
        if jumps.contains(&at) {
            next.calls = false;
            next.falls_through = instruction.is_predicated();
        }
        open.extend(&next.targets);
        open.extend(next.falls_through.then_some(at + 1));
        reached[at] = Some(next);
    }
    Ok(reached)
}

fn next(
    instruction: Instruction,
    opcode: &Opcode,
    architecture: u32,
    function: &Function,
) -> Result<Next, Unknown> {
    let offset = instruction.offset;
    let number = |target: u32| {
        let number = (target / BYTES) as usize;
        (number < function.instructions.len()).then_some(number)
    };
    let target = || instruction.target(architecture).and_then(number);
    let may_pass = instruction.is_predicated();
    let (falls_through, targets) = match opcode.class.role {
        _ if instruction.is_never_executed() => (true, SmallVec::new()),
        Role::Branch if opcode.mnemonic == BRANCH => {
            let target = target().ok_or(Unknown::Outside { offset })?;
            (may_pass || !instruction.is_plain_branch(), smallvec![target])
        }
        // A barrier of the warp may have no target, and that of a call may be in another function.
        Role::Branch | Role::Call => (true, target().into_iter().collect()),
        Role::Indirect => {
            let targets = function.jumps.get(&offset).ok_or(Unknown::Indirect { offset })?;
            let targets: Option<_> = targets.iter().map(|&target| number(target)).collect();
            (may_pass, targets.ok_or(Unknown::Outside { offset })?)
        }
        Role::Return | Role::Exit => (may_pass, SmallVec::new()),
        _ => (true, SmallVec::new()),
    };
    let is = |role: Role| opcode.class.role == role && !instruction.is_never_executed();
    let (calls, returns) = (is(Role::Call), is(Role::Return));
    Ok(Next { falls_through, targets, calls, returns })
}

/// The mnemonic of a branch to a place that stands in the instruction.
const BRANCH: &str = "BRA";

/// The blocks, and which call which.
fn cut(reached: &[Option<Next>], leads: &[bool]) -> (Vec<Block>, Vec<(usize, usize)>) {
    let mut calls = Vec::new();
    let mut number = vec![usize::MAX; reached.len() + 1];
    let mut blocks: Vec<Block> = Vec::new();
    for (at, next) in reached.iter().enumerate() {
        if next.is_none() {
            continue;
        }
        let goes_on = blocks.last().is_some_and(|block| block.end == at) && !leads[at];
        if !goes_on {
            number[at] = blocks.len();
            blocks.push(Block { first: at, end: at, successors: Vec::new(), depth: 0 });
        }
        if let Some(block) = blocks.last_mut() {
            block.end = at + 1;
        }
    }
    for (at, block) in blocks.iter_mut().enumerate() {
        if let Some(next) = &reached[block.end - 1] {
            let called = next.targets.iter().filter(|_| next.calls);
            calls.extend(called.map(|&target| (at, number[target])));
            let behind = next.falls_through.then_some(block.end);
            let targets = next.targets.iter().copied().chain(behind);
            block.successors = targets.map(|at| number[at]).collect();
            block.successors.sort_unstable();
            block.successors.dedup();
        }
    }
    (blocks, calls)
}

/// A function that is called in a loop is in that loop. Calls that recur add nothing.
fn with_calls(mut blocks: Vec<Block>, calls: &[(usize, usize)]) -> Vec<Block> {
    let own: Vec<u32> = blocks.iter().map(|block| block.depth).collect();
    let mut bodies: Vec<(usize, FxHashSet<usize>)> = Vec::new();
    for &(from, called) in calls {
        let (mut body, mut open) = (FxHashSet::default(), vec![called]);
        while let Some(at) = open.pop() {
            if body.insert(at) {
                open.extend(&blocks[at].successors);
            }
        }
        if !body.contains(&from) {
            bodies.push((from, body));
        }
    }
    // (Nested calls take one more round for each level of nesting.)
    let mut changed = true;
    while changed {
        changed = false;
        for (from, body) in &bodies {
            let around = blocks[*from].depth;
            for (at, block) in blocks.iter_mut().enumerate().filter(|(at, _)| body.contains(at)) {
                changed |= block.depth < own[at] + around;
                block.depth = block.depth.max(own[at] + around);
            }
        }
    }
    blocks
}

/// A loop is a strongly connected component of the graph. Without its entry blocks, the components that are still
/// strongly connected are loops inside it.
fn with_depths(mut blocks: Vec<Block>) -> Vec<Block> {
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        block.successors.iter().for_each(|&to| predecessors[to].push(from));
    }
    let mut parts: Vec<Vec<usize>> = vec![(0..blocks.len()).collect()];
    while let Some(part) = parts.pop() {
        let inside: FxHashSet<usize> = part.iter().copied().collect();
        let mut graph = DiGraph::<usize, ()>::new();
        let mut node = vec![NodeIndex::end(); blocks.len()];
        for &at in &part {
            node[at] = graph.add_node(at);
        }
        for &at in &part {
            for &to in blocks[at].successors.iter().filter(|to| inside.contains(to)) {
                graph.add_edge(node[at], node[to], ());
            }
        }
        for component in tarjan_scc(&graph) {
            let members: FxHashSet<usize> = component.iter().map(|&node| graph[node]).collect();
            let one = component[0];
            if members.len() == 1 && !graph.contains_edge(one, one) {
                continue;
            }
            let entered =
                |at: usize| at == 0 || predecessors[at].iter().any(|from| !members.contains(from));
            let mut inner: Vec<usize> =
                members.iter().copied().filter(|&at| !entered(at)).collect();
            inner.sort_unstable();
            if inner.len() < members.len() {
                parts.push(inner);
            }
            for &node in &component {
                blocks[graph[node]].depth += 1;
            }
        }
    }
    blocks
}
