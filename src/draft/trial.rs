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
const LIMIT: u64 = 1 << 21;

/// How often buffers are made longer in one trial.
const MOST_GROWTHS: usize = 96;

/// The choices of sizes, one trial each.
const SIZES: [Sizes; 5] =
    [Sizes::Partial, Sizes::Whole, Sizes::Small(8), Sizes::Small(1), Sizes::Small(0)];

/// Square blocks that are tried where a guessed one leaves shared memory unwritten: tiles are often as wide as high.
const SQUARES: [[u32; 3]; 2] = [[32, 32, 1], [16, 16, 1]];

/// The first plan that runs, else the first one. Blocks that the kernel does not demand are tried once more
/// with a single warp, which many kernels are written for, and before that as squares where one block of rows is not
/// all that the kernel reads. A fault of the kernel that small sizes would hide is kept.
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
    let squares = SQUARES.into_iter().filter(|block| in_rows && fits(block));
    let squares = squares.map(|block| Shape { block, ..known.shape });
    let attempts = SIZES.map(|sizes| (known.shape, sizes)).into_iter();
    let attempts =
        attempts.chain(squares.flat_map(|shape| [(shape, Sizes::Partial), (shape, Sizes::Whole)]));
    let last = again.then_some([(narrow, Sizes::Partial), (narrow, Sizes::Whole)]);
    for (shape, sizes) in attempts.chain(last.into_iter().flatten()) {
        let stopped = first.as_ref().and_then(|draft| draft.fault.as_ref());
        let hidden = !known.avoids_races && stopped.is_some_and(is_of_order);
        let is_unwritten = stopped.is_some_and(|fault| fault.kind == FaultKind::Uninitialized);
        if SQUARES.contains(&shape.block) && shape.block != known.shape.block && !is_unwritten {
            continue;
        }
        if (sizes == Sizes::Partial && known.whole_blocks)
            || (matches!(sizes, Sizes::Small(_)) && hidden)
        {
            continue;
        }
        let values = sizes.values(known, &shape);
        let reach = reached(&shape, &values);
        let mut draft = grown(module, Plan::new(known, shape, sizes, &reach, wide));
        // An address that begins with none of the buffers: some other number was meant to be a pointer.
        let lost = |fault: &Fault| {
            let beside = fault.outside.is_none() && fault.more_shared == 0;
            fault.kind == FaultKind::OutOfBounds && beside
        };
        if !wide && draft.fault.as_ref().is_some_and(lost) {
            let other = grown(module, Plan::new(known, shape, sizes, &reach, true));
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
                first.get_or_insert(draft);
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

/// Runs a plan, and makes buffers longer until every access finds room.
fn grown(module: &Module<'_>, mut plan: Plan) -> Draft {
    for _ in 0..MOST_GROWTHS {
        let fault = match run(module, &plan) {
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
    let fault = run(module, &plan).err();
    stopped(plan, fault)
}

fn stopped(plan: Plan, fault: Option<Fault>) -> Draft {
    Draft { plan, fault, first_fault: None }
}

fn run(module: &Module<'_>, plan: &Plan) -> Result<(), Fault> {
    let mut launch = Launch::from_json(&plan.text("")).map_err(Fault::launch)?;
    launch.limit = LIMIT;
    interp::run(module, &launch).map(|_| ())
}
