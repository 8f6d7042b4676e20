//! Loads that read what another load has read in the iteration before: the value goes round the loop
//! in a register.
//!
//! In: loads of one natural loop. Out: [`Carried`] links, each from a load to the source load whose
//! value of the iteration before it needs. The first iteration's value is loaded in front of the loop,
//! which is only right if every way into the loop performs that load anyway. So a link asks for all of
//! this: only the loop's own header lies between the place in front and the first iteration, every
//! iteration performs both loads, no lane leaves before it has performed them, and no instruction of
//! the loop may change the bytes that they read. The address in front of the loop is computed by
//! copies of the instructions that compute it in the loop ([`Slice`]).

use smallvec::SmallVec;

use super::eligible::{Element, Load};
use super::opportunities::{Opportunities, pieces};
use crate::cfg::{Arg, Base, BlockId, Flow, LoopId, RegisterId};
use crate::emulate::{Effect, KernelTrace, SymbolKind, definitions, effect, mentions};
use crate::expr::{Node, Substitution, TermId};
use crate::planted::Bug;

/// A load that is served by the iteration before.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The load.
    pub load: Load,
    /// The instruction of the source load, whose value of the iteration before is wanted.
    pub source: u32,
    /// For each element of the load the element of the source load that stands for it.
    pub pieces: Vec<(Element, Element)>,
    /// The last instruction in front of the loop.
    pub entry: u32,
    /// Whether the loop is entered by going on behind that instruction: the first iteration's value is
    /// loaded there. Otherwise it is a branch to the loop, and the value is loaded in front of it.
    pub falls_in: bool,
    /// The instruction at the loop's end, in front of which values are passed on: the branch back.
    pub latch: u32,
    /// The instructions, in order, by whose copies the address is computed in front of the loop.
    pub slice: Slice,
}

/// Instructions to be copied in front of a loop.
pub type Slice = SmallVec<[u32; 4]>;

/// At most so many instructions are copied for one address.
const MAX_SLICE: usize = 12;

/// A loop that may carry values.
struct Ring {
    id: LoopId,
    entry: u32,
    falls_in: bool,
    latch: u32,
    /// The blocks from which lanes leave the loop or go back to its header.
    ends: Vec<BlockId>,
    /// The loop's blocks.
    blocks: Vec<BlockId>,
    /// Whether an instruction of the loop may change memory or order other threads' changes.
    changes_memory: bool,
}

impl Opportunities<'_, '_, '_> {
    /// The links between loads of one loop; each load has one at most.
    pub fn carried(&mut self, trace: &mut KernelTrace, loads: &[Load]) -> Vec<Carried> {
        let mut found = Vec::new();
        let flow = self.flow();
        for id in (0..flow.loops.loops.len() as u32).map(LoopId) {
            let innermost =
                |load: &&Load| flow.loops.innermost(trace.accesses[load.access].block) == Some(id);
            let here: Vec<Load> = loads.iter().filter(innermost).cloned().collect();
            trace.arena.charge(1 + loads.len() as u64 / 8);
            if here.len() < 2 || trace.arena.is_nearly_spent() {
                continue;
            }
            let Some(ring) = ring(flow, trace, id) else { continue };
            found.extend(links(flow, trace, &ring, &here));
        }
        found.sort_by_key(|carried: &Carried| carried.load.inst);
        found
    }
}

/// A loop in which values may go round. It has one latch and one edge into it; behind the last
/// instruction of the block that this edge comes from, or in front of it, code is executed only if the
/// loop is entered.
fn ring(flow: &Flow<'_, '_>, trace: &KernelTrace, id: LoopId) -> Option<Ring> {
    let one = flow.loops.get(id);
    let [latch] = one.latches[..] else { return None };
    let header = flow.block(one.header);
    let mut outside = header.predecessors.iter().filter(|edge| edge.from != latch.from);
    let (Some(entry), None) = (outside.next(), outside.next()) else { return None };
    let from = flow.block(entry.from);
    // (A block without instructions is the function's start; its entry is no place behind something.)
    let falls_in = header.first == from.end;
    let alone = from.successors.len() == 1;
    if !(alone || falls_in) || from.first == from.end || !trace.reachable[entry.from.index()] {
        return None;
    }
    let blocks: Vec<BlockId> =
        flow.block_ids().filter(|&block| flow.loops.contains(id, block)).collect();
    trace.arena.charge(flow.blocks.len() as u64 / 4);
    let leaves = |block: &&BlockId| {
        let here = flow.block(**block);
        here.leaves
            || here.successors.iter().any(|edge| !flow.loops.contains(id, edge.to))
            || **block == latch.from
    };
    let ends: Vec<BlockId> = blocks.iter().filter(leaves).copied().collect();
    let mut changes_memory = false;
    for &block in &blocks {
        for inst in &flow.insts[flow.block(block).instructions()] {
            match effect(inst) {
                // A call may end the lane, or wait for ever.
                Effect::Call | Effect::Opaque => return None,
                Effect::Store | Effect::Atomic | Effect::Barrier => changes_memory = true,
                Effect::Load | Effect::Pure | Effect::Observe | Effect::Hint | Effect::Control => {}
            }
        }
    }
    changes_memory |= trace
        .accesses
        .iter()
        .any(|access| access.strong.is_some() && flow.loops.contains(id, access.block));
    // An inner loop in front of a load may run for ever.
    let nested = flow.loops.loops.iter().any(|other| other.parent == Some(id));
    let last = flow.block(latch.from).end.checked_sub(1)?;
    let goes_back = !flow.insts[last as usize].targets.is_empty();
    (!nested && goes_back && effect(&flow.insts[last as usize]) == Effect::Control).then_some(
        Ring { id, entry: from.end - 1, falls_in, latch: last, ends, blocks, changes_memory },
    )
}

fn links(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    ring: &Ring,
    loads: &[Load],
) -> Vec<Carried> {
    let block = |trace: &KernelTrace, load: &Load| trace.accesses[load.access].block;
    // The loads that every iteration performs.
    let mut steady: Vec<&Load> = Vec::new();
    for load in loads {
        let here = block(trace, load);
        let always = flow.planted.has(Bug::CarriedSometimes)
            || ring.ends.iter().all(|&end| flow.dominators.dominates(here, end));
        let unchanged = trace.accesses[load.access].read_only
            || !ring.changes_memory
            || flow.planted.has(Bug::CarriedOverStores);
        if always && unchanged && load.guard.is_none() && !load.generic {
            steady.push(load);
        }
    }
    let mut found = Vec::new();
    for load in &steady {
        let Some(next) = next_iteration(flow, trace, ring.id, load.address) else { continue };
        if next == load.address {
            continue;
        }
        for source in &steady {
            trace.arena.charge(2);
            // In the iteration that follows, this load's address is the one that the source's is now.
            if source.inst == load.inst || source.address != next {
                continue;
            }
            let planted = flow.planted;
            let Some(pieces) = pieces(source, load, 0, planted) else { continue };
            let Some(slice) = address_slice(flow, trace, ring, load.inst) else { continue };
            found.push(Carried {
                load: (*load).clone(),
                source: source.inst,
                pieces,
                entry: ring.entry,
                falls_in: ring.falls_in,
                latch: ring.latch,
                slice,
            });
            break;
        }
    }
    found
}

/// An address as it is one iteration later, if it depends on no other value that iterations change.
fn next_iteration(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    id: LoopId,
    address: TermId,
) -> Option<TermId> {
    let mut work = vec![address];
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        trace.arena.charge(2);
        if let Node::Symbol(symbol) = *trace.arena.node(term) {
            let info = trace.symbols.info(symbol);
            if info.kind != SymbolKind::Iteration(id) && flow.loops.nested(info.created_in, id) {
                return None;
            }
        }
        work.extend(trace.arena.operands(term));
    }
    let KernelTrace { arena, symbols, .. } = trace;
    let next = Substitution::new().apply(arena, address, &mut |arena, symbol, term| match symbols
        .info(symbol)
        .kind
        == SymbolKind::Iteration(id)
    {
        true => arena.add_constant(term, 1),
        false => term,
    });
    Some(next)
}

/// The instructions that compute a load's address in the first iteration from what registers hold in
/// front of the loop.
fn address_slice(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    ring: &Ring,
    load: u32,
) -> Option<Slice> {
    let base = flow.insts[load as usize].args.iter().find_map(|arg| match arg {
        Arg::Memory { base: Base::Register(register), rest, .. } if rest.is_empty() => {
            Some(*register)
        }
        _ => None,
    })?;
    let mut slice = Slice::new();
    // Registers, and the instruction at which each is read.
    let mut work: Vec<(RegisterId, u32)> = vec![(base, load)];
    while let Some((register, reader)) = work.pop() {
        if !flow.visible(register, ring.entry) {
            return None;
        }
        let written: Vec<u32> = writers(flow, trace, ring, register);
        // A register that is written behind its reader still has its value from in front of the loop
        // in the first iteration.
        if written.iter().all(|&writer| comes_behind(flow, trace, ring, reader, writer)) {
            continue;
        }
        let [writer] = written[..] else { return None };
        let inst = &flow.insts[writer as usize];
        // The copies run in the order of the text.
        let simple = effect(inst) == Effect::Pure
            && inst.guard.is_none()
            && matches!(inst.args.first(), Some(Arg::Register(_)))
            && definitions(inst).len() == 1
            && writer < reader
            && comes_before(flow, ring, writer, reader);
        if !simple {
            return None;
        }
        if !slice.contains(&writer) {
            slice.push(writer);
            // (The destination is among them, too: the slice then knows its value before, whether it
            // is read or not.)
            work.extend(mentions(inst).into_iter().map(|used| (used, writer)));
        }
        if slice.len() > MAX_SLICE {
            return None;
        }
    }
    slice.sort_unstable();
    Some(slice)
}

/// The instructions of the loop that write a register.
fn writers(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    ring: &Ring,
    register: RegisterId,
) -> Vec<u32> {
    let of_block = |&block: &BlockId| flow.block(block).instructions();
    let inside = ring.blocks.iter().flat_map(of_block);
    trace.arena.charge(ring.blocks.len() as u64);
    inside
        .filter(|&at| definitions(&flow.insts[at]).contains(&register))
        .map(|at| at as u32)
        .collect()
}

fn block_of(flow: &Flow<'_, '_>, ring: &Ring, at: u32) -> Option<BlockId> {
    ring.blocks
        .iter()
        .copied()
        .find(|&block| flow.block(block).instructions().contains(&(at as usize)))
}

/// Whether, within an iteration, a writer runs only after a reader has run.
fn comes_behind(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    ring: &Ring,
    reader: u32,
    writer: u32,
) -> bool {
    trace.arena.charge(2);
    match (block_of(flow, ring, reader), block_of(flow, ring, writer)) {
        (Some(a), Some(b)) if a == b => reader <= writer,
        (Some(a), Some(b)) => flow.dominators.dominates(a, b),
        _ => false,
    }
}

/// Whether a writer has run, in the same iteration, whenever a reader does.
fn comes_before(flow: &Flow<'_, '_>, ring: &Ring, writer: u32, reader: u32) -> bool {
    match (block_of(flow, ring, writer), block_of(flow, ring, reader)) {
        (Some(a), Some(b)) if a == b => writer < reader,
        (Some(a), Some(b)) => flow.dominators.dominates(a, b),
        _ => false,
    }
}
