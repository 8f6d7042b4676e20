//! A plan that runs: the interpreter tries it, buffers grow where accesses leave them, and other numbers
//! are taken where that does not help.

use std::collections::BTreeMap;

use super::bounds::{Reach, Shape};
use super::known::Known;
use super::plan::{MOST_BYTES, Plan, value};
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
}

/// Warp-wide instructions after which a trial is given up.
const LIMIT: u64 = 1 << 21;

/// How often buffers are made longer in one trial.
const MOST_GROWTHS: usize = 96;

/// The numbers that integers are given, one trial each, besides the threads along the longest axis.
const NUMBERS: [u64; 3] = [8, 1, 0];

/// The first plan that runs, else the first one. Blocks that the kernel does not demand are tried once more
/// with a single warp, which many kernels are written for. `reached` tells how far addresses reach for a
/// shape and some values of the parameters.
pub(super) fn tried(
    source: &SourceFile,
    module: &Module<'_>,
    known: &Known<'_>,
    reached: impl Fn(&Shape, &BTreeMap<Part, u64>) -> Vec<(Part, Reach)>,
) -> Draft {
    let mut first: Option<Draft> = None;
    let mut wide = false;
    let numbers = std::iter::once(known.shape.longest()).chain(NUMBERS);
    let narrow = Shape { block: [32, 1, 1], ..known.shape };
    let again = !known.shape.demanded && known.shape.block != narrow.block;
    let attempts = numbers.map(|number| (known.shape, number));
    let last = again.then_some((narrow, narrow.longest()));
    for (shape, number) in attempts.chain(last) {
        let mut values = BTreeMap::new();
        for (index, parameter) in known.parameters.iter().enumerate() {
            for (&at, part) in &parameter.parts {
                if !known.pointers.found.contains_key(&(index, at)) {
                    values.insert((index, at), value(part.ty, number));
                }
            }
        }
        let reach = reached(&shape, &values);
        let mut draft = grown(module, Plan::new(known, shape, number, &reach, wide));
        // An address that begins with none of the buffers: some other number was meant to be a pointer.
        let lost = |fault: &Fault| {
            let beside = fault.outside.is_none() && fault.more_shared == 0;
            fault.kind == FaultKind::OutOfBounds && beside
        };
        if !wide && draft.fault.as_ref().is_some_and(lost) {
            let other = grown(module, Plan::new(known, shape, number, &reach, true));
            if !other.fault.as_ref().is_some_and(lost) {
                (draft, wide) = (other, true);
            }
        }
        match &draft.fault {
            None => return draft,
            // Nothing that other numbers would mend.
            Some(fault) if fault.kind == FaultKind::Unsupported => return draft,
            Some(fault) => {
                log::debug!("{}: with {number}: {fault}", source.name());
                first.get_or_insert(draft);
            }
        }
    }
    first.unwrap_or_else(|| Draft {
        plan: Plan::new(known, known.shape, 1, &[], false),
        fault: None,
    })
}

/// Runs a plan, and makes buffers longer until every access finds room.
fn grown(module: &Module<'_>, mut plan: Plan) -> Draft {
    for _ in 0..MOST_GROWTHS {
        let fault = match run(module, &plan) {
            Ok(()) => return Draft { plan, fault: None },
            Err(fault) => fault,
        };
        if fault.more_shared != 0 && plan.grow_shared(fault.more_shared) {
            continue;
        }
        let Some(outside) = &fault.outside else { return Draft { plan, fault: Some(fault) } };
        let buffer = plan.buffers.iter_mut().find(|buffer| buffer.name == outside.buffer);
        let far = outside.offset.unsigned_abs() + u64::from(outside.bytes) > MOST_BYTES;
        match buffer {
            Some(buffer) if !far => buffer.grow(outside.offset, outside.bytes.into()),
            _ => return Draft { plan, fault: Some(fault) },
        }
    }
    let fault = run(module, &plan).err();
    Draft { plan, fault }
}

fn run(module: &Module<'_>, plan: &Plan) -> Result<(), Fault> {
    let mut launch = Launch::from_json(&plan.text("")).map_err(Fault::launch)?;
    launch.limit = LIMIT;
    interp::run(module, &launch).map(|_| ())
}
