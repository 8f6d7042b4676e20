//! A limit on the work of assembling a rewritten text, by the work for the original.
//!
//! A rewritten text is longer than its original, and the work of ptxas on a function may grow faster than its length.
//! So while both are assembled, the run on the rewritten text is on a [`Leash`]: once the original's has ended, the
//! other may take [`TIMES`] as much processor time and as much memory, with an allowance for small ones, and is ended
//! where it takes more. In: the [`Work`] of both, measured by the system for each child alone. Out: the reason to end a
//! run.

use crate::ptxas::child::Work;
use std::sync::OnceLock;
use std::time::Duration;

/// How many times the work of the original the work on the rewritten text may be.
pub const TIMES: u32 = 3;

/// Processor time that is allowed beyond: starting ptxas is a good part of a short run.
pub const SPARE_TIME: Duration = Duration::from_secs(2);

/// Memory that is allowed beyond.
pub const SPARE_MEMORY: u64 = 256 << 20;

/// A bound on a run that is set while it runs.
#[derive(Debug, Default)]
pub struct Leash(OnceLock<Bound>);

#[derive(Clone, Copy, Debug)]
enum Bound {
    /// So much at most.
    Most(Work),
    /// Nobody needs the result.
    Nothing,
}

impl Leash {
    /// The original has been assembled with this work.
    pub fn set(&self, original: Work) {
        let most = Work {
            processor: original.processor * TIMES + SPARE_TIME,
            memory: original.memory.saturating_mul(TIMES.into()).saturating_add(SPARE_MEMORY),
        };
        self.bind(Bound::Most(most));
    }

    /// The run's result is of no use any more.
    pub fn end(&self) {
        self.bind(Bound::Nothing);
    }

    fn bind(&self, bound: Bound) {
        // The first one holds.
        self.0.get_or_init(|| bound);
    }

    /// Why a run is to be ended, if it is. `so_far` tells its work, and is asked where that counts.
    pub fn exceeded(&self, so_far: impl FnOnce() -> Option<Work>) -> Option<String> {
        let most = match self.0.get()? {
            Bound::Most(most) => most,
            Bound::Nothing => return Some("ptxas refuses the original".to_owned()),
        };
        let work = so_far()?;
        let what = if work.processor > most.processor {
            format!("processor time of the original and {} s", SPARE_TIME.as_secs())
        } else if work.memory > most.memory {
            format!("memory of the original and {} MiB", SPARE_MEMORY >> 20)
        } else {
            return None;
        };
        Some(format!("assembling the rewritten text takes over {TIMES} times the {what}"))
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(both_measures_count, a_run_that_nobody_needs_ends);

    fn work(seconds: u64, mebibytes: u64) -> Work {
        Work { processor: Duration::from_secs(seconds), memory: mebibytes << 20 }
    }

    fn both_measures_count() {
        let leash = Leash::default();
        let reason = |seconds, mebibytes| leash.exceeded(|| Some(work(seconds, mebibytes)));
        assert_eq!(reason(1000, 1 << 20), None, "nothing is known of the original");
        leash.set(work(1, 100));
        assert_eq!(reason(5, 556), None);
        assert!(reason(6, 1).is_some_and(|why| why.contains("3 times the processor time")));
        assert!(reason(1, 557).is_some_and(|why| why.contains("3 times the memory")));
        assert_eq!(leash.exceeded(|| None), None, "an unknown run is not judged");
    }

    fn a_run_that_nobody_needs_ends() {
        let leash = Leash::default();
        leash.end();
        leash.set(work(1000, 1000));
        assert!(leash.exceeded(|| None).is_some());
    }
}
