//! The resources of a kernel by ptxas, before and after its rewrite.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Resources;

/// Cycles of a multiprocessor for each warp of a kernel, by the number of resident warps, computed from its machine code.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MeasureReport {
    /// Of the text as it was.
    pub original: BTreeMap<u32, f64>,
    /// Of the rewritten text, also where the rewrite was taken back.
    pub rewritten: BTreeMap<u32, f64>,
}

impl MeasureReport {
    /// The rewritten kernel's cycles by those of the original, the geometric mean over the numbers of resident warps;
    /// `None` if they are not known.
    pub fn ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.ratios().collect();
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        (!ratios.is_empty()).then(|| mean.exp())
    }

    /// The same for the number of resident warps for which it is the greatest.
    pub fn worst(&self) -> Option<f64> {
        self.ratios().max_by(f64::total_cmp)
    }

    /// The same for the number of resident warps for which it is the least.
    pub fn best(&self) -> Option<f64> {
        self.ratios().min_by(f64::total_cmp)
    }

    /// The same with all warps resident that fit.
    pub fn with_most(&self) -> Option<f64> {
        self.ratios().last()
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.original.iter().filter_map(|(warps, old)| {
            let new = self.rewritten.get(warps)?;
            (*old > 0.0 && *new > 0.0).then(|| new / old)
        })
    }
}

impl fmt::Display for MeasureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &BTreeMap<u32, f64>| {
            of.values().map(|cycles| format!("{cycles:.0}")).collect::<Vec<_>>().join(", ")
        };
        let warps: Vec<String> = self.original.keys().map(u32::to_string).collect();
        let (new, old) = (list(&self.rewritten), list(&self.original));
        write!(f, "{new} cycles per warp instead of {old} with {} resident warps", warps.join(", "))
    }
}

/// The resources of a kernel by ptxas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResourcesReport {
    /// Of the text as it was; `None` if it was not assembled.
    pub original: Option<Resources>,
    /// Of the rewritten text; `None` if the kernel is not rewritten.
    pub rewritten: Option<Resources>,
}
