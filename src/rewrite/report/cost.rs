//! Cycles of a strategy against those of the loads that it replaces.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The cycles of two ways to get a value, per warp on the architecture asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The cycles of the strategy.
    pub strategy: f64,
    /// The cycles of the load, or of the loads that are weighed together.
    pub load: f64,
}

impl Cost {
    /// The share of one of some loads.
    pub(super) fn each(self, loads: u32) -> Cost {
        let loads = f64::from(loads.max(1));
        Cost { strategy: self.strategy / loads, load: self.load / loads }
    }

    /// The sum in hundredths of a cycle; `None` of nothing.
    pub(super) fn sum(costs: impl Iterator<Item = Cost>) -> Option<Cost> {
        let sum = costs
            .reduce(|a, b| Cost { strategy: a.strategy + b.strategy, load: a.load + b.load })?;
        let rounded = |cycles: f64| (100.0 * cycles).round() / 100.0;
        Some(Cost { strategy: rounded(sum.strategy), load: rounded(sum.load) })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = if self.strategy == 1.0 { "" } else { "s" };
        write!(f, "{} cycle{many} against {}", self.strategy, self.load)
    }
}
