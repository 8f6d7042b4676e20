//! Notes where approximate values go in a run: which micro-operations make them, and which uses decide more than values.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::memory::Site;

/// Follows approximate values in a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// The micro-operations whose results are approximate.
    sites: FxHashSet<Site>,
    reached: Mutex<BTreeSet<(Site, &'static str)>>,
}

impl Recorder {
    /// Follows the results of these micro-operations.
    pub(super) fn new(sites: impl Iterator<Item = Site>) -> Recorder {
        Recorder { sites: sites.collect(), reached: Mutex::default() }
    }

    /// Whether the results of a micro-operation are approximate.
    pub(super) fn is_approximate(&self, site: Site) -> bool {
        self.sites.contains(&site)
    }

    /// Notes that an approximate value decides something.
    pub(super) fn reach(&self, site: Site, what: &'static str) {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).insert((site, what));
    }

    /// Everything that was noted, in the order of the text.
    pub(super) fn reached(&self) -> BTreeSet<(Site, &'static str)> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
