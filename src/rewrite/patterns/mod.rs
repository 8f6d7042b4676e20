//! The patterns: ways to replace accesses, each with its search, its costs and its code.
//!
//! In: the legal replacements of one function ([`crate::reuse`]), and the user's options. Out: the chosen [`Group`]s,
//! their [`Part`](crate::rewrite::Part)s of a plan, and their entries in the report. A pattern is a file (or a folder
//! if it is large) and a line in [`SEARCHED`]; its strategy is a line in [`crate::strategies`].
//! No pattern uses another one.

mod batch;
mod carry;
mod collective;
mod finder;
mod footprint;
mod group;
mod joined;
mod layout;
mod options;
mod packed;
mod pair;
mod pattern;
mod promote;
mod promote_loops;
mod text;
mod transpose;
mod tree;
mod vector;
mod vector_stores;
mod window;

use crate::loops::WholeLoop;
use std::collections::BTreeSet;

use self::footprint::Added;
use crate::cfg::LoopId;
use crate::ptx::Depth;
use crate::rewrite::Planner;

pub use finder::{Finder, Found};
pub use footprint::{Accesses, Footprint};
pub use group::{Group, Places, Price, operand_text};
pub use options::{Options, Redux};
pub use pattern::Pattern;

/// The order in which patterns claim accesses, and in which their code stands at one place. Rows whose lanes hold vectors
/// come before vectors, since they have these in them, and other rows behind; the remaining loads are replaced one by one.
/// Vectors of stores keep away from the code that loads got; an array is laid out anew where no other group has added code to
/// blocks.
pub const SEARCHED: [&dyn Pattern; 15] = [
    &carry::Carry,
    &transpose::Loads,
    &transpose::Stores,
    &window::Window { broad: true },
    &vector::InTurns,
    &vector::Vector,
    &window::Window { broad: false },
    &pair::Pair,
    &vector_stores::VectorStores,
    &promote_loops::PromoteLoops,
    &promote::Promote,
    &batch::Batch,
    &collective::Collectives,
    &tree::Trees,
    &layout::Layout,
];

/// The bodies in which some pattern may find something.
pub const REWRITABLE: Depth<'static> =
    Depth::Where(|body| SEARCHED.iter().any(|pattern| pattern.wants(body)));

/// Plans the code for all groups that are chosen in one function.
pub fn plan(chosen: &[&Group], planner: &mut Planner<'_, '_, '_, '_>) {
    planner.lift(loops(chosen, planner));
    for pattern in SEARCHED {
        if let Some(part) = pattern.plan(chosen, planner) {
            planner.plan.parts.push(part);
        }
    }
    planner.add_lifted();
}

/// The loops in which all versions of code can be told apart in front of the loop, and nothing else is changed.
fn loops(chosen: &[&Group], planner: &Planner<'_, '_, '_, '_>) -> Vec<WholeLoop> {
    let flow = planner.flow;
    let versions = chosen.iter().filter(|group| group.footprint.added == Added::Versions);
    let blocks = versions.flat_map(|group| &group.footprint.blocks);
    let around: BTreeSet<LoopId> =
        blocks.filter_map(|block| flow.loops.innermost(*block)).collect();
    let whole = around.into_iter().filter_map(|id| WholeLoop::of(planner.source, flow, id));
    let only_invariant = |whole: &WholeLoop| {
        chosen.iter().all(|group| {
            let changes =
                group.footprint.blocks.iter().any(|block| whole.code.blocks.contains(block))
                    || group.members().iter().any(|inst| whole.code.range.contains(inst));
            !changes || group.shape.is_invariant()
        })
    };
    whole.filter(only_invariant).collect()
}
