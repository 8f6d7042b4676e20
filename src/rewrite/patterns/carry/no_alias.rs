//! Stores of a loop that may write to the address of a loop-carried value.
//!
//! Between the source and the load, some iterations later, a lane's own stores may change the value at the address.
//! (Those of other lanes may not, without a barrier or the like: that would be a data race.) Where a store's address
//! and the source's keep their difference in all iterations, one comparison in front of the loop tells whether they
//! have a byte in common.

use super::addresses::{iterations_later, keeps};
use super::carrying_loop::CarryingLoop;
use super::slice::{Slice, Slicer};
use crate::bytes::ByteRange;
use crate::cfg::{Flow, InstId};
use crate::emulate::KernelTrace;
use crate::expr::TermId;
use crate::reuse::Load;

/// The tests, in front of the loop, that no store of the loop changes a loop-carried value.
#[derive(Clone, Debug, Default)]
pub(super) struct NoAlias {
    /// The instructions that compute the bases of the addresses.
    pub slice: Slice,
    /// The pairs of accesses that must not have a byte in common.
    pub pairs: Vec<Pair>,
}

/// A store and a load, each as in some iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    /// The store.
    pub store: Place,
    /// The load whose value is carried, or that needs it.
    pub load: Place,
}

/// The bytes of an access in some iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The instruction.
    pub inst: InstId,
    /// The step whose result is the base of the address; none: the register that the instruction names.
    pub base: Option<usize>,
    /// Distance in bytes.
    pub bytes: u32,
}

/// The tests under which no store writes the bytes between a source and a load `distance` iterations later; `None` if
/// no test decides that.
pub(super) fn apart(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    (carrying_loop, slicer): (&CarryingLoop, &Slicer<'_, '_, '_, '_>),
    (source, load, distance): (&Load, &Load, u32),
) -> Option<NoAlias> {
    let mut wanted = Vec::new();
    for &index in &carrying_loop.stores {
        let store = &trace.accesses[index];
        let (inst, block, bytes) = (store.inst, store.block, store.bytes());
        let now = store.address?;
        let is_here = |one: &Load| trace.accesses[one.access].block == block;
        let before_source = is_here(source) && inst < source.inst;
        let behind_load = is_here(load) && inst > load.inst;
        let later = iterations_later(flow, trace, carrying_loop.id, now);
        // The store's address behind the source, in the iterations in between, and before the load.
        let mut needed: Vec<(TermId, u32, &Load)> = Vec::new();
        if !before_source {
            needed.push((now, 0, source));
        }
        for ahead in 1..distance {
            needed.push((*later.get(ahead as usize - 1)?, ahead, source));
        }
        if !behind_load {
            needed.push((now, 0, load));
        }
        for (address, iteration, read) in needed {
            let size = if planted!(Bug::StoreOverlap) { 1 } else { bytes };
            let loaded = ByteRange::new(0, read.bytes as u64);
            if trace.arena.width(address) != 64 || trace.arena.width(read.address) != 64 {
                return None;
            }
            match trace.arena.constant_difference(address, read.address) {
                Some(ahead) if loaded.meets(ByteRange::new(ahead, size)) => return None,
                Some(_) => {}
                None if keeps(flow, trace, carrying_loop.id, address, read.address) => {
                    wanted.push((inst, iteration, bytes, read.inst, read.bytes as u32));
                }
                None => return None,
            }
        }
    }
    let places = wanted.iter().flat_map(|one| [(one.0, one.1), (one.3, 0)]);
    let (slice, bases) = slicer.bases(trace, places)?;
    let place = |inst, base, bytes| Place { inst, base, bytes };
    let pairs = wanted.iter().zip(bases.chunks(2)).map(|(one, bases)| Pair {
        store: place(one.0, bases[0], one.2),
        load: place(one.3, bases[1], one.4),
    });
    Some(NoAlias { pairs: pairs.collect(), slice })
}
