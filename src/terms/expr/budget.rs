//! A bound on the work done with the terms of one arena, by count, so that giving up is the same
//! giving up on every machine.
//!
//! Code that makes, evaluates, rebuilds or searches terms charges steps for it; the owner of the arena
//! may set a limit. Code that does the work need not ask how much is left: beyond the limit the work
//! is unwound to where it was started ([`within`]), so no chain of operations, however it came about,
//! takes longer or more memory than the limit. Code that can stop in good order asks earlier
//! (`Arena::is_nearly_spent`).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit of an arena was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted;

/// Steps charged and allowed. One step is about ten nanoseconds and stands for at most 16 bytes kept.
#[derive(Debug)]
pub(super) struct Meter {
    spent: AtomicU64,
    limit: u64,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { spent: AtomicU64::new(0), limit: u64::MAX }
    }
}

impl Meter {
    pub(super) fn with_limit(limit: u64) -> Meter {
        Meter { limit, ..Meter::default() }
    }

    /// Beyond the limit this function does not return, see [`within`].
    pub(super) fn charge(&self, steps: u64) {
        // One thread works with an arena at a time: no need for an atomic addition.
        let spent = self.spent.load(Ordering::Relaxed).saturating_add(steps);
        self.spent.store(spent, Ordering::Relaxed);
        if spent > self.limit {
            // No message: this is not a mistake, and the caller of `within` hears of it.
            resume_unwind(Box::new(Exhausted));
        }
    }

    pub(super) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// Whether more than three quarters of the limit are spent.
    pub(super) fn is_nearly_spent(&self) -> bool {
        self.spent() > self.limit / 4 * 3
    }
}

/// Does some work; `Err` if the limit of an arena was reached in it. Whatever the work has changed up
/// to then is to be thrown away.
///
/// # Errors
/// The limit was reached.
///
/// # Panics
/// Panics if the work does.
pub fn within<R>(work: impl FnOnce() -> R) -> Result<R, Exhausted> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Exhausted>() {
        Ok(exhausted) => *exhausted,
        Err(payload) => resume_unwind(payload),
    })
}
