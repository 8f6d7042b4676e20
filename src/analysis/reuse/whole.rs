//! Blocks that no full warp reaches: every path to them passes a test that some of any 32 lanes fail.
//!
//! Rewrites for full warps would only add a test there that always fails: code in front of `tid.x < 7`, the slow path
//! beside `activemask = -1`, a source load for every other lane. Only tests of the lane id alone are considered, or of
//! `tid.x`, whose lanes are consecutive wherever values are shuffled. A result is a reason to leave loads alone; no
//! result proves nothing.

use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, Inst, RegisterId};
use crate::emulate::{KernelTrace, SymbolKind, definitions};
use crate::expr::{BinaryOp, Node, TermId, Valuation};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Opcode, Qualifier};

/// Conditions of more terms are not looked at.
const MAX_TERMS: usize = 64;

/// Whether no full warp reaches a block, by the facts there that its immediate dominator does not have.
pub(super) fn never_whole(flow: &Flow<'_, '_>, trace: &KernelTrace, block: BlockId) -> bool {
    trace.assumptions[block].is_some_and(|known| some_lane_fails(trace, known))
        || behind_mask(flow, block)
}

/// Whether some lane of every warp fails a condition.
pub(super) fn some_lane_fails(trace: &KernelTrace, condition: TermId) -> bool {
    let mut open = vec![condition];
    for _ in 0..MAX_TERMS {
        match open.pop().map(|term| (term, trace.arena.node(term))) {
            Some((_, &Node::Binary(BinaryOp::And, a, b))) => open.extend([a, b]),
            Some((term, _)) if fails_alone(trace, term) => return true,
            Some(_) => {}
            None => break,
        }
    }
    false
}

/// The same for a condition that is not a conjunction.
fn fails_alone(trace: &KernelTrace, condition: TermId) -> bool {
    let arena = &trace.arena;
    if arena.are_larger_than([condition], MAX_TERMS) {
        return false;
    }
    let mut valuation = Valuation::new(arena, [condition].into_iter());
    let applies = valuation.terms().iter().any(|&t| matches!(arena.node(t), Node::Apply(..)));
    let symbols: Vec<_> = valuation.symbols().collect();
    let [(symbol, id)] = symbols[..] else { return false };
    let lanes = u64::from(WARP_SIZE);
    let last = match trace.symbols.info(id).kind {
        SymbolKind::Tid(Axis::X) => arena.range(symbol).umax,
        SymbolKind::LaneId => lanes - 1,
        _ => return false,
    };
    if applies {
        return false;
    }
    let mut holds = |value: u64| {
        valuation.assign(|_| value);
        valuation.value(condition) != 0
    };
    let warps = (last + 1) / lanes;
    !(0..warps).any(|warp| (0..lanes).all(|lane| holds(warp * lanes + lane)))
}

/// Whether the only edge into a block is taken where `activemask` is not all ones.
fn behind_mask(flow: &Flow<'_, '_>, block: BlockId) -> bool {
    let [edge] = flow.block(block).predecessors[..] else { return false };
    let EdgeCondition::Predicate(predicate, taken) = edge.condition else { return false };
    let above = &flow.insts[flow.block(edge.from).instructions().range()].raw;
    let Some(at) = written(above, predicate) else { return false };
    let form = &above[at].ast.form;
    let differs = match form.opcode {
        Opcode::Setp if form.has(Qualifier::Ne) => taken,
        Opcode::Setp if form.has(Qualifier::Eq) => !taken,
        _ => return false,
    };
    let [_, Arg::Register(mask), Arg::Constant(all)] = above[at].args[..] else { return false };
    let is_all = all.as_integer().is_some_and(|all| all as u32 == u32::MAX);
    let is_mask = written(&above[..at], mask).is_some_and(|at| {
        above[at].ast.form.opcode == Opcode::ActiveMask && above[at].guard.is_none()
    });
    differs && is_all && is_mask && above[at].guard.is_none()
}

/// The last instruction of some that writes a register.
fn written(insts: &[Inst<'_, '_>], register: RegisterId) -> Option<usize> {
    insts.iter().rposition(|inst| definitions(inst).contains(&register))
}
