//! Accesses of two threads of a block to the same bytes of shared memory that nothing orders.
//!
//! Looked at: a load and a store of one basic block, both weak, without an instruction between them that waits for other
//! lanes. A race is reported where both addresses and the lanes that execute them are known as far as it matters, so a
//! pair of threads can be named. (PTX ISA, "Memory Consistency Model": lanes of a warp are not ordered by running together.)

use super::active::is_decided_by_edges;
use super::warps::Warps;
use crate::cfg::{BlockId, Flow, InstId, PostDominators};
use crate::emulate::{Access, Effect, SymbolKind, effect};
use crate::expr::{Facts, Node, TermId};
use crate::isa::{Axis, Qualifier};
use crate::lanes::{Coefficients, Factor, LANES, Value, Warp, lanes_of};
use crate::ptx::StateSpace;

/// Blocks with more accesses to shared memory are not looked at.
const MAX_ACCESSES: usize = 64;

/// One of the two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The instruction.
    pub inst: InstId,
    /// The thread that executes it.
    pub thread: [i64; 3],
}

/// Two accesses to the same bytes, one of them a store, in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The first access.
    pub first: Place,
    /// The second access.
    pub second: Place,
    /// Whether both threads are in one warp.
    pub in_warp: bool,
}

/// An access in one warp.
struct Executed {
    warp: Warp,
    /// Those that execute it, a bit for each.
    lanes: u32,
    /// The symbolic part of the address; `numbers` has the number of each lane.
    base: Vec<(Factor, i64)>,
    numbers: [i64; LANES],
    /// Whether base and lanes are the same for all warps of a block.
    in_block: bool,
}

/// The races of a function, at most one for each pair of accesses.
pub(super) fn all(warps: &mut Warps<'_, '_, '_>, behind: &PostDominators) -> Vec<Race> {
    let (flow, trace) = (warps.flow, warps.context.trace);
    let mut accesses: Vec<&Access> =
        trace.accesses.iter().filter(|one| is_looked_at(one)).collect();
    accesses.sort_by_key(|access| (access.block, access.inst));
    let mut found = Vec::new();
    for block in accesses.chunk_by(|a, b| a.block == b.block) {
        let stores = block.iter().filter(|access| access.effect == Effect::Store).count();
        if stores == 0 || stores == block.len() || block.len() > MAX_ACCESSES {
            continue;
        }
        // (Otherwise the conditions of the block do not say which lanes come to it.)
        if !is_decided_by_edges(warps, behind, block[0].block) {
            continue;
        }
        let facts = warps.facts(block[0].block);
        let each: Vec<Vec<Executed>> =
            block.iter().map(|access| executed(warps, access, &facts)).collect();
        for (at, (first, of_first)) in block.iter().zip(&each).enumerate() {
            for (second, of_second) in block.iter().zip(&each).skip(at + 1) {
                if first.effect == second.effect {
                    continue;
                }
                if is_ordered(flow, first.inst, second.inst) {
                    break;
                }
                found.extend(meeting(warps, (first, of_first), (second, of_second)));
            }
        }
    }
    found
}

fn is_looked_at(access: &Access) -> bool {
    access.space == StateSpace::Shared
        && access.strong.is_none()
        && matches!(access.effect, Effect::Load | Effect::Store)
}

/// Whether something between two instructions of a block waits for other lanes, or may do anything.
fn is_ordered(flow: &Flow<'_, '_>, first: InstId, second: InstId) -> bool {
    first.next().to(second).any(|at| {
        let inst = &flow.insts[at];
        let waits = inst.ast.form.has(Qualifier::Sync);
        waits
            || matches!(
                effect(inst),
                Effect::Barrier | Effect::Call | Effect::Opaque | Effect::Atomic
            )
    })
}

/// An access in the warps that every block has, as far as its lanes and addresses are known.
fn executed(warps: &mut Warps<'_, '_, '_>, access: &Access, facts: &Facts) -> Vec<Executed> {
    let Some(address) = access.address else { return Vec::new() };
    let literals = warps.context.trace.conditions(access, facts);
    let mut all = Vec::new();
    for warp in warps.certain() {
        let Value::Known(sum) = warps.value(warp, access.block, address) else { return all };
        let symbolic = sum.parts().iter().filter(|(factor, _)| !factor.is_empty());
        let base = symbolic.map(|(factor, coefficients)| match coefficients {
            Coefficients::Same(times) => Some((factor.clone(), *times)),
            Coefficients::Lanes(_) => None,
        });
        let Some(mut base) = base.collect::<Option<Vec<(Factor, i64)>>>() else { return all };
        base.sort();
        if !warps.are_decided(warp, access.block, &literals) {
            return all;
        }
        let in_block = base.iter().all(|(factor, _)| is_of_variables(warps, factor))
            && literals.iter().all(|&(term, _)| is_known(warps, warp, access.block, term));
        let lanes = warps.holding(warp, access.block, &literals);
        all.push(Executed { warp, lanes, base, numbers: sum.numbers_only(), in_block });
    }
    all
}

/// Whether a factor is the address of a variable.
fn is_of_variables(warps: &Warps<'_, '_, '_>, factor: &Factor) -> bool {
    let trace = warps.context.trace;
    factor.iter().all(|&term| match *trace.arena.node(term) {
        Node::Symbol(symbol) => {
            matches!(trace.symbols.info(symbol).kind, SymbolKind::Address(_))
        }
        _ => false,
    })
}

fn is_known(warps: &mut Warps<'_, '_, '_>, warp: Warp, block: BlockId, term: TermId) -> bool {
    matches!(warps.value(warp, block, term), Value::Known(value) if value.known().is_some())
}

/// Two threads that access the same bytes, if there are some.
fn meeting(
    warps: &Warps<'_, '_, '_>,
    (first, of_first): (&Access, &[Executed]),
    (second, of_second): (&Access, &[Executed]),
) -> Option<Race> {
    let place = |inst: InstId, one: &Executed, lane: usize| Place {
        inst,
        thread: thread(warps, one.warp, lane),
    };
    for a in of_first {
        for b in of_second {
            let in_warp = a.warp == b.warp;
            if a.base != b.base || !(in_warp || a.in_block && b.in_block) {
                continue;
            }
            for lane in lanes_of(a.lanes) {
                let from = a.numbers[lane];
                let meets = |other: &usize| {
                    let to = b.numbers[*other];
                    !(in_warp && *other == lane)
                        && from < to + i64::from(second.bytes())
                        && to < from + i64::from(first.bytes())
                };
                if let Some(other) = lanes_of(b.lanes).find(meets) {
                    let (first, second) =
                        (place(first.inst, a, lane), place(second.inst, b, other));
                    return Some(Race { first, second, in_warp });
                }
            }
        }
    }
    None
}

/// The index of a lane's thread in its block.
fn thread(warps: &Warps<'_, '_, '_>, warp: Warp, lane: usize) -> [i64; 3] {
    let number = warp.number().unwrap_or(0);
    [Axis::X, Axis::Y, Axis::Z].map(|axis| warps.shape().index(number, lane, axis))
}
