//! Whether the lanes that an `activemask` has reported together are together in a later block as well.
//!
//! They are if only one path leads from the one block to the other, past no instruction at which lanes
//! may wait for others, and if each branch on it is taken by all of these lanes or by none: the
//! branch's condition is made of values that are the same for all of them. Such values are numbers,
//! parameters, extents of the block and the grid, the mask itself, and the outcome of a vote of these
//! lanes; a vote also shows that each lane's own predicate is true.

use crate::cfg::{BlockId, EdgeCondition};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::lane::Evaluation;
use crate::ptx::FunctionKind;
use crate::record::Vote;
use crate::terms::{Terms, conditions, hardware};

/// The most predecessors that are followed.
const MAX_BLOCKS: u32 = 16;

/// Whether the lanes are still together in the block that is being evaluated: `mask` is the result of
/// an `activemask` in `from`, and `whole` the predicate that it has all bits set.
pub(super) fn together(
    here: &Evaluation<'_, '_>,
    votes: &[Vote],
    from: BlockId,
    (mask, whole): (TermId, TermId),
) -> bool {
    let flow = &here.program.flow;
    let mut block = here.block;
    for _ in 0..MAX_BLOCKS {
        if block == from {
            return true;
        }
        // (The function's entry is also an edge into its first block.)
        let [edge] = flow.block(block).predecessors[..] else { return false };
        let loops = (here.program.loop_of(edge.from), here.program.loop_of(block));
        if here.program.irreducible || block.0 == 0 || edge.from >= block || loops.0 != loops.1 {
            return false;
        }
        // Lanes may pass a call or a barrier one by one.
        let before = flow.block(edge.from);
        let last = before.instructions().next_back().map(|at| flow.insts[at].ast.form.opcode);
        if before.may_wait() || last == Some(Opcode::Call) {
            return false;
        }
        let alike = match edge.condition {
            EdgeCondition::Always => flow.block(edge.from).successors.len() == 1,
            EdgeCondition::Predicate(..) => here.out.branches[edge.from]
                .is_some_and(|condition| is_uniform(here, votes, condition, (mask, whole))),
            EdgeCondition::Index => false,
        };
        if !alike {
            return false;
        }
        block = edge.from;
    }
    false
}

/// Whether a condition is the same in all lanes of a mask.
fn is_uniform(
    here: &Evaluation<'_, '_>,
    votes: &[Vote],
    condition: TermId,
    (mask, whole): (TermId, TermId),
) -> bool {
    let terms = &*here.terms;
    let literals = parts(terms, condition);
    let votes = votes.iter().filter(|vote| vote.whole == whole && literals.contains(&vote.outcome));
    let voted: Vec<TermId> = votes
        .flat_map(|vote| [vec![vote.outcome], parts(terms, vote.predicate)].concat())
        .collect();
    let kernel = here.program.function.kind == FunctionKind::Entry;
    literals.iter().all(|literal| {
        voted.contains(literal)
            || hardware::is_uniform(terms, *literal, &|next| next == mask, kernel)
    })
}

/// The conjuncts of a condition; a disjunction is one part.
fn parts(terms: &Terms, condition: TermId) -> Vec<TermId> {
    conditions::conjuncts(&terms.arena, condition)
}
