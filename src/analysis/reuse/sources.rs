//! Loads that are offered as sources, and a source that may fit a load.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::alike::Alike;
use super::distance::BaseAddress;
use super::eligible::Load;

/// A load whose registers may be read.
pub(super) struct Source {
    pub(super) load: Load,
    pub(super) base_address: BaseAddress,
    /// Bytes from lane to lane, if the base address shows it.
    pub(super) stride: Option<i64>,
    /// The registers that lanes are asked about if it does not, and the bytes from lane to lane then.
    pub(super) rows: Option<Option<(Rc<Alike>, i64)>>,
    pub(super) fingerprint: Option<usize>,
}

/// Sources of one base address.
#[derive(Default)]
pub(super) struct Group {
    /// The sources, by the constant of their base addresses.
    pub(super) by_constant: BTreeMap<i64, Vec<usize>>,
    /// How far from a load's constant that of a partner can be.
    pub(super) reach: i64,
}

/// A source that may fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Candidate {
    /// Index among the sources.
    pub(super) index: usize,
    /// Lanes up: the source's address there is the load's here.
    pub delta: i32,
    /// Bytes from the source's address to the element that stands for the load's first byte.
    pub(super) displacement: i64,
    /// Whether lanes are asked about the registers that make the source's address.
    pub(super) in_rows: bool,
}
