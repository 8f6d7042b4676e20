//! The networks by which a warp scans and reduces, from their sketches.

use crate::source::SourceFile;
use crate::synth::network::{self, Network, Solution};
use crate::synth::parse;

/// The networks of a warp, checked by execution.
#[derive(Debug)]
pub struct Networks {
    /// The inclusive scan of all lanes.
    pub scan: (Network, Solution),
    /// The product of the first `LANES` lanes, in lane 0.
    pub reduce: (Network, Solution),
}

/// The param of the reduction that is known when the code runs: how many lanes there are.
pub(super) const LANES: &str = "lanes";

impl Networks {
    /// Reads the sketches and executes them.
    ///
    /// # Errors One of them does not compute its goal.
    pub fn solve() -> Result<Networks, String> {
        Ok(Networks {
            scan: solved("scan.sketch", include_str!("scan.sketch"))?,
            reduce: solved("reduce.sketch", include_str!("reduce.sketch"))?,
        })
    }
}

/// A sketch of a network, solved.
///
/// # Errors
/// It cannot be read, or nothing computes its goal.
pub fn solved(name: &str, text: &str) -> Result<(Network, Solution), String> {
    let source = SourceFile::new(name, text);
    let tree = parse(&source).map_err(|error| error.to_string())?;
    let network = network::problem(&source, &tree, &[]).map_err(|error| error.to_string())?;
    let solution = network::search(&network).solution;
    let solution = solution.ok_or_else(|| format!("{name} does not compute its goal"))?;
    Ok((network, solution))
}
