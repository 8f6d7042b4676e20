//! A concrete interpreter of PTX at the level of warps, on the CPU: the judge of every rewrite.
//!
//! In: a module, one of its kernels and a launch. Out: the contents of the buffers, the text that was
//! printed, and counts of warp-wide events, or the [`Fault`] that stopped the kernel. Promised:
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
mod memory;
mod ops;
mod profile;
mod program;
mod registers;

pub use counters::Counters;
pub use fault::{Earlier, Fault, FaultKind, Outside};
pub use profile::InstructionProfile;
pub use program::Origin;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::launch::{Buffer, Launch, bind};
use crate::ptx::{Function, Module};
use counters::Tally;
use memory::{Global, new_words};
use profile::Profile;
use program::Program;

/// Bytes of the device heap: the value of `cudaLimitMallocHeapSize` unless a program changes it.
const HEAP_BYTES: usize = 8 << 20;

/// The outcome of a launch.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The kernel that ran.
    pub kernel: String,
    /// The buffers by name, as the kernel left them.
    pub buffers: BTreeMap<String, Buffer>,
    /// The events that were counted.
    pub counters: Counters,
    /// The text that was printed.
    pub printed: String,
}

/// Runs a kernel of a module that was parsed in full.
///
/// # Errors
/// The launch does not fit the kernel, the kernel uses something that is not modelled, or it faults.
pub fn run(module: &Module<'_>, launch: &Launch) -> Result<Outcome, Fault> {
    let (outcome, _) = execute::<Counters, _>(module, launch, |counters, _| (*counters, ()))?;
    Ok(outcome)
}

/// Runs a kernel and tells the events of each of its instructions.
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

/// Runs a kernel; `finish` turns the tally into the sum of all events and whatever else is wanted.
fn execute<C: Tally, T>(
    module: &Module<'_>,
    launch: &Launch,
    finish: impl Fn(&C, &Program) -> (Counters, T),
) -> Result<(Outcome, T), Fault> {
    let kernel = bind::find_kernel(module, launch.kernel.as_deref()).map_err(Fault::launch)?;
    check_cluster(kernel)?;
    bind::check_shape(kernel, launch).map_err(Fault::launch)?;
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

/// Checks that the kernel asks for clusters of one block, which is what every block is here.
fn check_cluster(kernel: &Function<'_>) -> Result<(), Fault> {
    match bind::cluster(kernel) {
        [1, 1, 1] => Ok(()),
        cluster => {
            let message = format!("clusters of {cluster:?} blocks are not modelled");
            Err(Fault::new(FaultKind::Unsupported, message).at(kernel.span))
        }
    }
}

/// The bytes of the kernel's parameters.
fn parameters(program: &Program, launch: &Launch) -> Result<Vec<u8>, Fault> {
    let parameters: Vec<(&str, u64)> =
        program.params.iter().map(|place| (&*place.name, place.size)).collect();
    bind::check_arguments(&parameters, launch).map_err(Fault::launch)?;
    let first_buffer = program.layout.statics.len();
    let mut bytes = vec![0; program.layout.param_bytes as usize];
    for (place, argument) in program.params.iter().zip(&launch.args) {
        let value = argument.bytes(place.size as usize, |buffer| {
            // (The launch was checked: the buffer exists.)
            let index = launch.buffers.keys().position(|name| name == buffer).unwrap_or(0);
            program.layout.region_base(first_buffer + index)
        });
        bytes[place.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    Ok(bytes)
}
