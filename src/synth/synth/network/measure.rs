//! The costs of a network, counted on the executed steps.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::order::Measure;
use super::problem::Network;
use super::run::{Choice, Trace, filled};
use crate::synth::expr::Expr;

/// Banks of shared memory, of four bytes each (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u32 = 32;

/// Threads of a warp.
const WARP: usize = 32;

/// The costs of a network for one number of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Measures {
    /// The most operations one after the other.
    pub depth: u32,
    /// Steps in which a lane combines: each is one shuffle.
    pub shuffles: u32,
    /// Operations of all lanes.
    pub operations: u32,
    /// The most lanes that take one lane's value in one step.
    pub fanout: u32,
    /// If the operations of a step are dealt to threads in the order of their targets and read their sources from
    /// shared memory, a word for each lane: wavefronts beyond the first of each warp, in all steps.
    pub conflicts: u32,
    /// Instructions of a lane: for each step its shuffle, its operation, and the operators that depend on the lane.
    pub instructions: u32,
}

impl Measures {
    /// The numbers that are compared, the one that counts most first.
    pub fn key(&self, order: &[Measure]) -> Vec<u32> {
        let of = |measure: &Measure| match measure {
            Measure::Depth => self.depth,
            Measure::Shuffles => self.shuffles,
            Measure::Operations => self.operations,
            Measure::Conflicts => self.conflicts,
            Measure::Instructions => self.instructions,
        };
        order.iter().map(of).collect()
    }
}

/// The operators of an expression whose value depends on the lane.
fn varying(network: &Network, expr: &Expr) -> u32 {
    let mut varies = false;
    expr.names(&mut |name| varies |= name == network.lane);
    match expr {
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) if varies => {
            1 + varying(network, a) + varying(network, b)
        }
        _ => 0,
    }
}

/// The costs of the executed steps; `choice` adds the expressions, if they are known.
pub(super) fn measures(
    network: &Network,
    lanes: usize,
    trace: &Trace,
    choice: Option<&Choice>,
) -> Measures {
    let mut found = Measures::default();
    let mut depths = vec![0u32; lanes];
    for pairs in trace {
        let old = depths.clone();
        let mut readers: FxHashMap<u32, u32> = FxHashMap::default();
        for &(source, target) in pairs {
            let (source, target) = (source as usize, target as usize);
            let mut deeper = old.get(source).copied().unwrap_or(0).max(old[target]) + 1;
            if planted!(Bug::DepthOfSources) {
                deeper = old.get(source).copied().unwrap_or(0) + 1;
            }
            depths[target] = deeper;
            *readers.entry(source as u32).or_default() += 1;
        }
        found.operations += pairs.len() as u32;
        found.shuffles += u32::from(!pairs.is_empty());
        found.fanout = found.fanout.max(readers.into_values().max().unwrap_or(0));
        for warp in pairs.chunks(WARP) {
            let words: FxHashSet<u32> = warp.iter().map(|pair| pair.0).collect();
            let mut banks = [0u32; BANKS as usize];
            words.into_iter().for_each(|word| banks[(word % BANKS) as usize] += 1);
            found.conflicts += banks.into_iter().max().unwrap_or(1) - 1;
        }
    }
    found.depth = depths.into_iter().max().unwrap_or(0);
    found.instructions = 2 * found.shuffles;
    if let Some(choice) = choice {
        let rounds = network.rounds(&network.params(lanes)).unwrap_or_default();
        let stages = rounds.iter().flat_map(|(repeat, _)| &network.repeats[*repeat].stages);
        for (stage, _) in stages.zip(trace).filter(|(_, pairs)| !pairs.is_empty()) {
            let guards = stage.guard.map_or(&[][..], |hole| &choice[hole]);
            let guards = stage.guards.iter().chain(guards);
            found.instructions += varying(network, filled(&stage.source, choice))
                + guards.map(|guard| varying(network, guard)).sum::<u32>();
        }
    }
    found
}
