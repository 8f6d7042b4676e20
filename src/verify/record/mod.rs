//! The results of an evaluation, as data.
//!
//! Uses `program` and `terms`. Each file uses only those before it:
//! - `execution`: events, loads, stores and loops, as data
//! - `versions`: versions of memory, and why two lanes read the same from one
//! - `header_values`: terms of a loop's header where the loop is entered and at its back edges
//! - `place`: a block with everything that is known there
//! - `layouts`: the layout of each array in shared memory, from both texts

mod execution;
mod header_values;
pub(crate) mod layouts;
mod place;
mod versions;

pub(crate) use execution::{
    Accessed, Assumed, Cutpoint, CutpointPath, Event, Execution, GlobalFact, HeaderRegister, Load,
    LoopRecord, LoopValue, Memory, Promise, Reference, StoreRecord,
};
pub(crate) use header_values::{at_entry, at_latch, is_of_header, values_of};
pub(crate) use place::{Known, Place, Reach, Reconverged, Vote};
pub(crate) use versions::{before_stores, before_stores_of, is_own, unmarked};
