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
//! Code map: `decode` turns a function into micro-operations (`program`), `ops` has the semantics of instructions,
//! `exec` runs blocks and warps, `memory` holds the bytes and looks for races, `poison` follows values that nobody has
//! determined, `symbol` follows values that stand for all numbers, `fidelity` follows approximate ones, `float` is the arithmetic that the host does not have.

mod alike;
mod counters;
mod decode;
mod exec;
mod fault;
mod fidelity;
mod kernel;
mod memory;
mod ops;
mod poison;
mod profile;
mod program;
mod recorder;
mod registers;
mod symbol;
mod symbolic;

pub use crate::algebra::{Domain, Reading};
pub use alike::{Apart, Classes, Cover};
pub use counters::{Counters, RequestCosts, SingleRequests};
pub use fault::{Earlier, Fault, FaultKind, Outside};
pub use fidelity::{Fidelity, Open, OpenInstruction, Reached, fidelity};
pub use kernel::Kernel;
pub use memory::HostMemory;
pub use profile::InstructionProfile;
pub use program::Origin;
pub use symbolic::{
    Blocks, Comparison, Difference, DifferenceKind, Left, MOST_BLOCKS, Symbolic, run_some,
};

use std::collections::BTreeMap;

use crate::launch::{Buffer, Launch};
use crate::ptx::Module;
use profile::Profile;

/// The outcome of a launch.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The kernel that ran.
    pub kernel: String,
    /// The buffers by name, as the kernel left them.
    pub buffers: BTreeMap<String, Buffer>,
    /// The module's variables by name, if the launch asks for them.
    pub variables: BTreeMap<String, Buffer>,
    /// The events that were counted.
    pub counters: Counters,
    /// The text that was printed.
    pub printed: String,
    /// Buffers with bytes that nobody has determined, which bulk copies have brought there: how many bytes, and the offset of
    /// the first one.
    pub undetermined: BTreeMap<String, (u64, u64)>,
}

/// Runs a kernel of a module that was parsed in full.
///
/// # Errors
/// The launch does not fit the kernel, the kernel uses something that is not modelled, or it faults.
pub fn run(module: &Module<'_>, launch: &Launch) -> Result<Outcome, Fault> {
    Kernel::new(module, launch, false)?.run(launch)
}

/// As [`run`], and a fault does not say which buffer an address was made from: for callers that only ask whether there is
/// one.
///
/// # Errors
/// As [`run`].
pub fn try_run(module: &Module<'_>, launch: &Launch) -> Result<Outcome, Fault> {
    Kernel::new(module, launch, false)?.without_explanations().run(launch)
}

/// Runs a kernel and tells the events of each of its instructions.
///
/// # Errors
/// As [`run`].
pub fn profile(
    module: &Module<'_>,
    launch: &Launch,
) -> Result<(Outcome, Vec<InstructionProfile>), Fault> {
    Kernel::new(module, launch, false)?.execute::<Profile, _>(launch, |profile, program| {
        (profile.total(), profile.instructions(program))
    })
}
