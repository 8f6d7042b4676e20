//! Executing a network for every number of lanes for which it shall be right.

use super::problem::Network;
use super::run::{Choice, Instance, Trace, run};

/// Up to this number of lanes every division into segments is executed.
const ALL_SEGMENTS: usize = 8;

/// A reproducible division into segments.
pub(super) fn divided(lanes: usize, number: u64) -> Instance {
    let mut random = fastrand::Rng::with_seed(number);
    let share = [2, 3, 5, lanes.max(8) / 4][number as usize % 4];
    let begins: Vec<bool> = (0..lanes).map(|_| random.usize(..share) == 0).collect();
    Instance::segmented(lanes, |lane| begins[lane])
}

/// The instances on which a solution for a number of lanes is executed.
pub(super) fn instances(network: &Network, lanes: usize) -> Vec<Instance> {
    if !network.goal.segmented {
        return vec![Instance::whole(lanes)];
    }
    if lanes <= ALL_SEGMENTS {
        let every = 0..1u32 << (lanes - 1);
        return every
            .map(|set| Instance::segmented(lanes, |lane| set >> (lane - 1) & 1 == 1))
            .collect();
    }
    let random = (0..4).map(|number| divided(lanes, (lanes as u64) << 2 | number));
    let mut found: Vec<Instance> = random.collect();
    found.push(Instance::segmented(lanes, |_| false));
    found
}

/// Executes a choice for every number of lanes.
///
/// # Errors
/// The least number of lanes for which it is wrong.
pub(super) fn executed(network: &Network, choice: &Choice, turned: bool) -> Result<(), usize> {
    for lanes in network.sizes() {
        if planted!(Bug::OneSize) && lanes != network.lanes {
            continue;
        }
        for instance in instances(network, lanes) {
            if run(network, choice, turned, &instance, None) != Some(0) {
                return Err(lanes);
            }
        }
    }
    Ok(())
}

/// The steps of a choice for a number of lanes, all in one segment.
pub(super) fn traced(network: &Network, choice: &Choice, turned: bool, lanes: usize) -> Trace {
    let mut trace = Trace::new();
    let _ = run(network, choice, turned, &Instance::whole(lanes), Some(&mut trace));
    trace
}
