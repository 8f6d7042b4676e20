//! Memory: the address space, and the bytes behind it.
//!
//! The 64-bit address space is cut into windows of equal size: one for each state space that generic addresses can
//! reach and one for each buffer or module variable. So the upper bits of an address identify its window, and an index
//! that runs over the end of a buffer never reaches another one. Memory is kept in 32-bit words that are read and
//! written with relaxed atomics: on every host these are ordinary moves, and they let blocks run on several threads
//! without undefined behaviour even if the kernel has races.

mod global;
mod order;
mod shadow;
mod words;

pub use global::HostMemory;
pub(super) use global::{Global, Region};
pub(super) use order::{Order, Scope, Strength};
pub(super) use shadow::{Accessor, Conflict, Kind, Phase, PhaseId, Race, Reports, Shadow, Site};
pub(super) use words::{Window, new_junk, new_unwritten, new_words};

use crate::ptx::StateSpace;
use crate::source::Span;

/// The number of a function in its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FunctionId(pub u32);

table_ids!(FunctionId);

impl FunctionId {
    /// The kernel.
    pub(super) const KERNEL: FunctionId = FunctionId(0);
}

/// Window numbers of the state spaces; 0 stays empty, so that null pointers fault.
mod window {
    pub(super) const SHARED: u64 = 1;
    pub(super) const LOCAL: u64 = 2;
    pub(super) const PARAM: u64 = 3;
    pub(super) const FUNCTIONS: u64 = 4;
    pub(super) const FIRST_REGION: u64 = 5;
}

/// A module variable in global or constant memory, before the launch.
#[derive(Clone, Debug)]
pub(super) struct StaticRegion {
    /// Its name.
    pub name: String,
    /// Whether it is in global or constant memory.
    pub space: StateSpace,
    /// Its initial bytes.
    pub bytes: Vec<u8>,
}

/// Where state spaces and variables lie in the address space.
#[derive(Clone, Debug)]
pub(super) struct StateSpaceLayout {
    /// log2 of a window's bytes.
    pub shift: u32,
    /// Module variables, in the windows from the first region on.
    pub statics: Vec<StaticRegion>,
    /// Bytes of kernel parameters.
    pub param_bytes: u64,
    /// Bytes of shared memory, the dynamic part first.
    pub shared_bytes: u64,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// The variables in shared memory.
    pub shared_names: Vec<Named>,
}

/// A variable in shared or local memory, for messages.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its name.
    pub name: String,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// Its declaration.
    pub span: Span,
}

impl StateSpaceLayout {
    /// An empty layout for addresses of 32 or 64 bits.
    pub(super) fn new(address_size: u32, dynamic_shared: u64) -> StateSpaceLayout {
        StateSpaceLayout {
            shift: if address_size == 32 { 24 } else { 36 },
            statics: Vec::new(),
            param_bytes: 0,
            shared_bytes: dynamic_shared,
            dynamic_shared,
            shared_names: Vec::new(),
        }
    }

    /// The generic address of the start of a state space's window; 0 for spaces whose addresses
    /// are generic addresses already.
    pub(super) fn window_base(&self, space: StateSpace) -> u64 {
        let number = match space {
            StateSpace::Shared => window::SHARED,
            StateSpace::Local => window::LOCAL,
            StateSpace::Param => window::PARAM,
            _ => 0,
        };
        number << self.shift
    }

    /// The address of a region by its index (module variables first, then buffers).
    pub(super) fn region_base(&self, index: usize) -> u64 {
        (window::FIRST_REGION + index as u64) << self.shift
    }

    /// Where the windows begin; nothing lies in front of them but memory of the host.
    pub(super) fn first_window(&self) -> u64 {
        1 << self.shift
    }

    /// The largest region, in bytes.
    pub(super) fn region_limit(&self) -> u64 {
        1 << self.shift
    }

    /// The region whose window holds an address.
    pub(super) fn region_index(&self, address: u64) -> Option<usize> {
        (address >> self.shift).checked_sub(window::FIRST_REGION).map(|index| index as usize)
    }

    /// The state space whose window holds a generic address: shared, local or param; global for
    /// all others.
    pub(super) fn space_of(&self, address: u64) -> StateSpace {
        match address >> self.shift {
            window::SHARED => StateSpace::Shared,
            window::LOCAL => StateSpace::Local,
            window::PARAM => StateSpace::Param,
            _ => StateSpace::Global,
        }
    }

    /// The handle by which an indirect call names a function.
    pub(super) fn function_handle(&self, id: FunctionId) -> u64 {
        (window::FUNCTIONS << self.shift) + 16 * (u64::from(id.0) + 1)
    }

    /// The function that a handle names.
    pub(super) fn function_of(&self, handle: u64) -> Option<FunctionId> {
        let offset = handle.checked_sub(window::FUNCTIONS << self.shift)?;
        let index = (offset / 16).checked_sub(1)?;
        (offset % 16 == 0).then(|| u32::try_from(index).ok().map(FunctionId)).flatten()
    }
}
