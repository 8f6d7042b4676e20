//! A plan that runs: the interpreter tries it, buffers grow where accesses leave them, and other numbers
//! are taken where that does not help.

use std::collections::BTreeMap;

use super::bounds::{Chosen, Reach, Shape};
use super::known::Known;
use super::plan::{MOST_BYTES, Plan, Sizes};
use super::pointers::Part;
use crate::interp::{self, Fault, FaultKind};
use crate::launch::Launch;
use crate::ptx::Module;
use crate::source::SourceFile;

/// A launch file with what came of trying it.
#[derive(Debug)]
pub struct Draft {
    /// The launch.
    pub plan: Plan,
    /// Why the interpreter stopped when it tried the launch, if it did.
    pub fault: Option<Fault>,
    /// Why it stopped with the sizes that were tried first, if the launch has others.
    pub first_fault: Option<Fault>,
}

/// Warp-wide instructions after which a trial is given up.
const MAX_STEPS: u64 = 1 << 21;

/// Warp-wide instructions of all trials of a draft together, those with shorter buffers included.
const MAX_ALL_STEPS: u64 = 1 << 23;

/// How often buffers are made longer in one trial.
const MOST_GROWTHS: usize = 96;

/// The choices of sizes, one trial each.
const SIZES: [Sizes; 5] =
    [Sizes::Partial, Sizes::Whole, Sizes::Small(8), Sizes::Small(1), Sizes::Small(0)];

/// Blocks that are tried where a guessed one races or leaves shared memory unwritten: tiles are often as wide as high, and
/// of 32 rows each thread often takes four.
const TILES: [[u32; 3]; 4] = [[32, 8, 1], [32, 32, 1], [16, 16, 1], [8, 8, 1]];

/// The first plan that runs, else the first one. Blocks that the kernel does not demand are tried once more
/// with a single warp, which many kernels are written for, and before that with blocks for tiles where one block of rows is not
/// all that the kernel reads. A fault of the kernel that small sizes or a single warp would hide is kept. All trials
/// share a budget of instructions.
/// `reached` tells how far addresses reach for a shape and some values of the parameters.
pub(super) fn tried(
    source: &SourceFile,
    module: &Module<'_>,
    known: &Known<'_>,
    reached: impl Fn(&Shape, &BTreeMap<Part, u64>) -> Vec<(Part, Reach)>,
) -> Draft {
    let mut first: Option<Draft> = None;
    let mut wide = false;
    let narrow = Shape { block: [32, 1, 1], ..known.shape };
    let again = known.shape.chosen == Chosen::Guessed && known.shape.block != narrow.block;
    let in_rows = known.shape.chosen == Chosen::Guessed
        && matches!(known.shape.block, [x, y, 1] if x > 1 && y > 1);
    let fits = |block: &[u32; 3]| {
        block.iter().map(|&n| u64::from(n)).product::<u64>() <= known.most_threads
    };
    let tiles = TILES.into_iter().filter(|block| in_rows && fits(block));
    let tiles = tiles.map(|block| Shape { block, ..known.shape });
    let attempts = SIZES.map(|sizes| (known.shape, sizes)).into_iter();
    let attempts =
        attempts.chain(tiles.flat_map(|shape| [(shape, Sizes::Partial), (shape, Sizes::Whole)]));
    let last = again.then_some([(narrow, Sizes::Partial), (narrow, Sizes::Whole)]);
    let mut budget = MAX_ALL_STEPS;
    for (shape, sizes) in attempts.chain(last.into_iter().flatten()) {
        let stopped = first.as_ref().and_then(|draft| draft.fault.as_ref());
        let hidden = !known.avoids_races && stopped.is_some_and(is_of_order);
        let is_tile = TILES.contains(&shape.block) && shape.block != known.shape.block;
        let shrinks = matches!(sizes, Sizes::Small(_)) || (again && shape.block == narrow.block);
        if (is_tile && !stopped.is_some_and(is_of_order))
            || (sizes == Sizes::Partial && known.whole_blocks)
            || (shrinks && hidden)
            || (budget == 0 && first.is_some())
        {
            continue;
        }
        let values = sizes.values(known, &shape);
        let reach = reached(&shape, &values);
        let mut draft = grown(module, Plan::new(known, shape, sizes, &reach, wide), &mut budget);
        // An address that begins with none of the buffers: some other number was meant to be a pointer.
        let lost = |fault: &Fault| {
            let beside = fault.outside.is_none() && fault.more_shared == 0;
            fault.kind == FaultKind::OutOfBounds && beside
        };
        if !wide && draft.fault.as_ref().is_some_and(lost) {
            let other = grown(module, Plan::new(known, shape, sizes, &reach, true), &mut budget);
            if !other.fault.as_ref().is_some_and(lost) {
                (draft, wide) = (other, true);
            }
        }
        match &draft.fault {
            None => {
                draft.first_fault = first.and_then(|first| first.fault);
                return draft;
            }
            // Nothing that other numbers would mend.
            Some(fault) if fault.kind == FaultKind::Unsupported => return draft,
            Some(fault) => {
                log::debug!("{}: with {sizes:?}: {fault}", source.name());
                // A fault about the order of threads counts more than sizes that do not suit the kernel.
                let is_first = match stopped {
                    None => true,
                    Some(stopped) => {
                        !known.avoids_races && is_of_order(fault) && !is_of_order(stopped)
                    }
                };
                if is_first {
                    first = Some(draft);
                }
            }
        }
    }
    first.unwrap_or_else(|| Draft {
        plan: Plan::new(known, known.shape, Sizes::Whole, &[], false),
        fault: None,
        first_fault: None,
    })
}

/// Whether a fault is about the order of threads, which launches of few threads do not show.
fn is_of_order(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Race | FaultKind::Uninitialized)
}

/// Runs a plan, and makes buffers longer until every access finds room or the budget is used up.
fn grown(module: &Module<'_>, mut plan: Plan, budget: &mut u64) -> Draft {
    for _ in 0..MOST_GROWTHS {
        let fault = match run(module, &plan, budget) {
            Ok(()) => return stopped(plan, None),
            Err(fault) => fault,
        };
        if fault.more_shared != 0 && plan.grow_shared(fault.more_shared) {
            continue;
        }
        let Some(outside) = &fault.outside else { return stopped(plan, Some(fault)) };
        let buffer = plan.buffers.iter_mut().find(|buffer| buffer.name == outside.buffer);
        let far = outside.offset.unsigned_abs() + u64::from(outside.bytes) > MOST_BYTES;
        match buffer {
            Some(buffer) if !far => buffer.grow(outside.offset, outside.bytes.into()),
            _ => return stopped(plan, Some(fault)),
        }
    }
    let fault = run(module, &plan, budget).err();
    stopped(plan, fault)
}

fn stopped(plan: Plan, fault: Option<Fault>) -> Draft {
    Draft { plan, fault, first_fault: None }
}

/// Runs a plan, and takes the cost of the run from the budget.
fn run(module: &Module<'_>, plan: &Plan, budget: &mut u64) -> Result<(), Fault> {
    let mut launch = Launch::from_json(&plan.text("")).map_err(Fault::launch)?;
    launch.limit = MAX_STEPS.min(*budget);
    let ran = interp::try_run(module, &launch);
    let steps = match &ran {
        Ok(outcome) => outcome.counters.instructions,
        Err(fault) => fault.steps,
    };
    *budget = budget.saturating_sub(steps.max(1));
    ran.map(|_| ())
}
