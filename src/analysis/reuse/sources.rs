//! Loads that are offered as sources, and a source that may fit a load.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::alike::Alike;
use super::distance::BaseAddress;
use super::eligible::Load;
use super::legal_reuse::LegalReuse;
use crate::cfg::InstId;
use crate::expr::TermId;

/// The loads that one search offers as sources, in program order, and what was proved of them.
#[derive(Default)]
pub struct Offers {
    pub(super) sources: Vec<Source>,
    /// Bits of the narrowest element of a source, once there are sources.
    pub(super) narrowest: Option<u32>,
    /// Sources by base address.
    pub(super) groups: FxHashMap<TermId, Group>,
    /// The legal reuses that were found, by candidate and load. (Refused pairs are not kept: they are
    /// many, and seldom asked about twice.)
    pub(super) known: FxHashMap<(Candidate, InstId), LegalReuse>,
}

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
