//! How long each stage takes, if that is asked for (`--timings`).
//!
//! This is the only clock in the pipeline, and it never influences a decision: only the report reads
//! it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time and number of runs.
type Spent = (Duration, usize);

/// Adds up the time of named stages, over all threads.
#[derive(Debug, Default)]
pub struct Timings {
    stages: Mutex<BTreeMap<(usize, &'static str), Spent>>,
}

/// The stages in the order of the pipeline.
const ORDER: [&str; 9] =
    ["parse", "flow", "emulate", "decide", "select", "rewrite", "search", "check", "write"];

impl Timings {
    /// Runs a stage, and measures it if timings are wanted.
    #[expect(clippy::disallowed_methods, reason = "this is the stopwatch")]
    pub fn measure<T>(
        timings: Option<&Timings>,
        stage: &'static str,
        run: impl FnOnce() -> T,
    ) -> T {
        let Some(timings) = timings else { return run() };
        let start = Instant::now();
        let result = run();
        let spent = start.elapsed();
        let position = ORDER.iter().position(|&name| name == stage).unwrap_or(ORDER.len());
        if let Ok(mut stages) = timings.stages.lock() {
            let entry = stages.entry((position, stage)).or_default();
            entry.0 += spent;
            entry.1 += 1;
        }
        result
    }
}

/// Measures the time of one action, for the log.
#[derive(Debug)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// A stopwatch that starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the stopwatch")]
    pub fn start() -> Stopwatch {
        Stopwatch { start: Instant::now() }
    }

    /// Milliseconds since the start.
    pub fn milliseconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e3
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(stages) = self.stages.lock() else { return Ok(()) };
        for ((_, name), (spent, runs)) in stages.iter() {
            writeln!(f, "{name:<8} {:>10.3} ms  {runs:>6} runs", spent.as_secs_f64() * 1e3)?;
        }
        Ok(())
    }
}
