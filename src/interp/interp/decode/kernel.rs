//! A kernel and the functions that it can reach, decoded one after the other.

use super::decoder::Decoder;
use super::reconverge;
use super::unit::{Unit, align_of, align_up, size_of};
use crate::interp::fault::Fault;
use crate::interp::memory::StateSpaceLayout;
use crate::interp::program::{Function, FunctionId, Op, ParamPlace, Program};
use crate::ptx::{self, Module, StateSpace};
use typed_index_collections::{TiSlice, TiVec};

/// Decodes a kernel and the functions that it calls; with `random` for launches that let lanes meet at random.
///
/// # Errors
/// A kernel that the module does not define, a name that nothing declares, an initial value that
/// is not modelled.
pub(crate) fn decode(
    module: &Module<'_>,
    kernel: &ptx::Function<'_>,
    dynamic_shared: u64,
    random: bool,
) -> Result<Program, Fault> {
    let mut unit = Unit::new(module, kernel.name.text, dynamic_shared)?;
    let mut params = Vec::new();
    for variable in &kernel.params {
        for declarator in &variable.names {
            let align = align_of(variable);
            let offset = align_up(unit.layout.param_bytes, align);
            let size = size_of(variable, declarator);
            unit.layout.param_bytes = offset.saturating_add(size);
            let name = declarator.name.text.to_owned();
            params.push(ParamPlace { name, offset, size });
        }
    }
    let mut functions = TiVec::new();
    while functions.len() < unit.functions.len() {
        let function = unit.functions[functions.len()];
        let is_kernel = functions.is_empty();
        functions.push(Decoder::new(&mut unit).function(function, is_kernel.then_some(&params))?);
    }
    check_sizes(&unit.layout, &functions)?;
    let heap = functions.iter().any(|f: &Function| f.external && f.name == "malloc");
    let mut sites = 0;
    for function in &mut functions {
        function.first_site = sites;
        sites += function.code.len() as u32;
        if random {
            (function.reconvergences, function.loops) = reconverge::choices(&function.code);
        }
    }
    let any =
        |test: fn(&Op) -> bool| functions.iter().flat_map(|f| &f.code).any(|micro| test(&micro.op));
    // An allocation that `free` has released and `malloc` hands out again is ordered by the two calls.
    let orders = heap
        || any(|op| match op {
            Op::Fence(_) | Op::MBarrier(_) | Op::CopyBulk(_) => true,
            Op::Barrier(barrier) => barrier.threads.is_some(),
            Op::Load(load) => load.order.is_some(),
            Op::Store(store) => store.order.is_some(),
            Op::Atomic(atomic) => atomic.order.acquires || atomic.order.releases,
            _ => false,
        });
    let meets = any(|op| match op {
        Op::Atomic(atomic) => atomic.place.space != StateSpace::Shared,
        _ => false,
    });
    let signals = any(|op| match op {
        Op::Load(load) => load.order.is_some(),
        Op::Store(store) => store.order.is_some(),
        op => matches!(op, Op::Fence(_) | Op::Atomic(_) | Op::MBarrier(_)),
    });
    let plain = !orders && !meets;
    Ok(Program { functions, layout: unit.layout, orders, plain, signals, heap, params })
}

/// Bytes of shared memory that a block can have: generous for any device, and small enough to
/// allocate, like the limits below.
const MAX_SHARED: u64 = 4 << 20;
/// Bytes of a kernel's parameters.
const MAX_PARAMS: u64 = 1 << 16;
/// Bytes of a thread's local memory.
pub(crate) const MAX_LOCAL: u64 = 1 << 19;

fn check_sizes(
    layout: &StateSpaceLayout,
    functions: &TiSlice<FunctionId, Function>,
) -> Result<(), Fault> {
    let local = functions.iter().map(|function| function.local_bytes).max().unwrap_or(0);
    for (what, bytes, limit) in [
        ("shared memory of a block", layout.shared_bytes, MAX_SHARED),
        ("parameters", layout.param_bytes, MAX_PARAMS),
        ("local memory of a function", local, MAX_LOCAL),
    ] {
        if bytes > limit {
            return Err(Fault::launch(format!(
                "the kernel takes {bytes} bytes of {what}; at most {limit} are possible"
            )));
        }
    }
    Ok(())
}
