//! A concrete interpreter of PTX at the level of warps, on the CPU: the judge of every rewrite.
//!
//! A module, one of its kernels and a launch go in; the buffers' contents, what was printed, and
//! counts of warp-wide events come out, or the [`Fault`] that stopped the kernel. It promises:
//!
//! - the same result on every machine and in every run, garbage included (registers that nobody
//!   wrote, values shuffled from lanes that take no part);
//! - every access checked against the bounds of its buffer and its alignment;
//! - an instruction that is not modelled is never skipped: executing it is a fault that names it.
//!
//! It shares no instruction semantics with the symbolic emulator, and decides nothing about
//! rewrites.
//!
//! Code map: `decode` turns a function into micro-operations (`program`), `ops` holds what
//! instructions compute, `exec` runs blocks and warps, `memory` holds the bytes, `float` the
//! arithmetic that the host does not have.

mod counters;
mod decode;
mod exec;
mod fault;
pub mod float;
mod memory;
mod ops;
mod profile;
mod program;
mod registers;

pub use counters::Counters;
pub use fault::{Earlier, Fault, FaultKind};
pub use profile::{InstructionProfile, Origin};

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::launch::{Argument, Buffer, Launch};
use crate::ptx::{Function, FunctionKind, Module};
use counters::Tally;
use memory::{Global, new_words};
use profile::Profile;
use program::Program;

/// Bytes of the device heap: what `cudaLimitMallocHeapSize` is unless somebody changes it.
const HEAP_BYTES: usize = 8 << 20;

/// What a launch has done.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The kernel that ran.
    pub kernel: String,
    /// The buffers by name, as the kernel left them.
    pub buffers: BTreeMap<String, Buffer>,
    /// What it cost.
    pub counters: Counters,
    /// What it printed.
    pub printed: String,
}

/// Runs a kernel of a module that was parsed in full.
///
/// # Errors
/// The launch does not fit the kernel, the kernel uses what is not modelled, or it faults.
pub fn run(module: &Module<'_>, launch: &Launch) -> Result<Outcome, Fault> {
    let (outcome, _) = execute::<Counters, _>(module, launch, |counters, _| (*counters, ()))?;
    Ok(outcome)
}

/// Runs a kernel and tells what each of its instructions cost.
///
/// # Errors
/// As [`run`].
pub fn profile(
    module: &Module<'_>,
    launch: &Launch,
) -> Result<(Outcome, Vec<InstructionProfile>), Fault> {
    execute::<Profile, _>(module, launch, |profile, program| {
        (profile.total(), profile.instructions(program))
    })
}

/// Runs a kernel; `finish` makes the sum of all events, and what else is wanted, of the tally.
fn execute<C: Tally, T>(
    module: &Module<'_>,
    launch: &Launch,
    finish: impl Fn(&C, &Program) -> (Counters, T),
) -> Result<(Outcome, T), Fault> {
    let kernel = find_kernel(module, launch.kernel.as_deref())?;
    launch.check().map_err(Fault::launch)?;
    check_shape(kernel, launch)?;
    let program = &decode::decode(module, kernel, launch)?;
    let params = parameters(program, launch)?;
    let words = new_words(program.layout.param_bytes);
    for (word, chunk) in words.iter().zip(params.chunks(4)) {
        let mut raw = [0; 4];
        raw[..chunk.len()].copy_from_slice(chunk);
        word.store(u32::from_le_bytes(raw), Relaxed);
    }
    let heap_bytes = vec![0; if program.heap { HEAP_BYTES } else { 0 }];
    let fresh = || {
        let buffers = launch.buffers.iter().map(|(name, b)| (name.as_str(), &b.bytes[..]));
        let heap = program.heap.then_some(("(heap)", &heap_bytes[..]));
        Global::new(&program.layout, buffers.chain(heap))
    };
    let heap_of = || {
        let index = program.layout.statics.len() + launch.buffers.len();
        Mutex::new(exec::Heap::new(program.layout.region_base(index), heap_bytes.len() as u64))
    };
    let (grid, block, params) = (launch.grid, launch.block, words.as_slice());
    let (limit, races) = (launch.limit, launch.races);
    let (meet, strict_shuffles) = (launch.meet, launch.strict_shuffles);
    let mut global = fresh()?;
    let heap = heap_of();
    let machine = exec::Machine {
        program,
        global: &global,
        grid,
        block,
        params,
        meet,
        strict_shuffles,
        heap,
    };
    let executed = match exec::run_side_by_side::<C>(&machine, limit, races) {
        Some(executed) => executed,
        None => {
            global = fresh()?;
            let (global, heap) = (&global, heap_of());
            let machine =
                exec::Machine { program, global, grid, block, params, meet, strict_shuffles, heap };
            exec::run(&machine, limit, races)?
        }
    };
    let statics = program.layout.statics.len();
    let buffers = launch
        .buffers
        .iter()
        .zip(&global.regions()[statics..])
        .map(|((name, buffer), region)| {
            (name.clone(), Buffer { ty: buffer.ty, bytes: region.bytes() })
        })
        .collect();
    let kernel = kernel.name.text.to_owned();
    let (counters, more) = finish(&executed.counters, program);
    let printed = executed.printed.into_values().collect();
    Ok((Outcome { kernel, buffers, counters, printed }, more))
}

/// The kernel of a name, or the only one.
fn find_kernel<'m, 's>(
    module: &'m Module<'s>,
    name: Option<&str>,
) -> Result<&'m Function<'s>, Fault> {
    let mut kernels =
        module.functions().filter(|f| f.kind == FunctionKind::Entry && f.statements().is_some());
    match name {
        Some(name) => kernels
            .find(|kernel| kernel.name.text == name)
            .ok_or_else(|| Fault::launch(format!("the module defines no kernel `{name}`"))),
        None => match (kernels.next(), kernels.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Fault::launch("the module defines no kernel")),
            _ => Err(Fault::launch("the module defines several kernels: name one in the launch")),
        },
    }
}

/// What the kernel's directives demand of a launch (PTX ISA, "Performance-Tuning Directives" and
/// "Cluster Dimension Directives").
fn check_shape(kernel: &Function<'_>, launch: &Launch) -> Result<(), Fault> {
    let of = |values: &[u64]| [0, 1, 2].map(|at| values.get(at).copied().unwrap_or(1));
    let block = launch.block.map(u64::from);
    if let Some(required) = kernel.directive("reqntid").map(of)
        && block != required
    {
        return Err(Fault::launch(format!("the kernel demands blocks of {required:?} threads")));
    }
    if let Some(most) = kernel.directive("maxntid").map(of)
        && block.iter().product::<u64>() > most.iter().product()
    {
        return Err(Fault::launch(format!("the kernel takes blocks of at most {most:?} threads")));
    }
    match kernel.directive("reqnctapercluster").map(of) {
        Some(cluster) if cluster != [1; 3] => {
            let message = format!("clusters of {cluster:?} blocks are not modelled");
            Err(Fault::new(FaultKind::Unsupported, message).at(kernel.span))
        }
        _ => Ok(()),
    }
}

/// The bytes of the kernel's parameters.
fn parameters(program: &Program, launch: &Launch) -> Result<Vec<u8>, Fault> {
    let (wanted, given) = (program.params.len(), launch.args.len());
    if wanted != given {
        return Err(Fault::launch(format!("the kernel has {wanted} parameters, not {given}")));
    }
    let first_buffer = program.layout.statics.len();
    let mut bytes = vec![0; program.layout.param_bytes as usize];
    for (place, argument) in program.params.iter().zip(&launch.args) {
        let value = match argument {
            Argument::Value(bytes) => bytes.clone(),
            Argument::Pointer { buffer, offset } => {
                let index = launch.buffers.keys().position(|name| name == buffer);
                let index = index.ok_or_else(|| {
                    Fault::launch(format!("parameter `{}`: no buffer `{buffer}`", place.name))
                })?;
                let base = program.layout.region_base(first_buffer + index);
                let address = base.wrapping_add(*offset as u64).to_le_bytes();
                address[..(place.size as usize).min(8)].to_vec()
            }
        };
        if value.len() as u64 != place.size {
            let message = format!(
                "parameter `{}` has {} bytes, its argument {}",
                place.name,
                place.size,
                value.len()
            );
            return Err(Fault::launch(message));
        }
        bytes[place.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    Ok(bytes)
}
