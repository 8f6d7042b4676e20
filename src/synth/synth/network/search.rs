//! Networks from an example or from their goal. Either way the result is executed for every number of lanes,
//! and one that fails anywhere is not a solution.

use super::context::Context;
use super::execute::divided;
use super::outcome::Outcome;
use super::problem::Network;
use super::run::Instance;

/// The number of lanes from which networks with segments are resolved.
const SEGMENTED_LANES: usize = 8;

/// A number of lanes that is not a power of two.
const NO_POWER: usize = 11;

/// Looks for a network.
pub fn search(network: &Network) -> Outcome {
    let lanes = match &network.drawn {
        Some(drawn) => drawn.lanes,
        None if network.goal.segmented && network.size.is_some() => SEGMENTED_LANES,
        None if network.size.is_some() => network.lanes.min(32),
        None => network.lanes,
    };
    let main = match network.goal.segmented && network.drawn.is_none() {
        // A number of lanes that is not a power of two shows the necessary conditions at the end.
        false if network.drawn.is_none() && network.size.is_some() => {
            vec![Instance::whole(lanes), Instance::whole(NO_POWER)]
        }
        false => vec![Instance::whole(lanes)],
        true => {
            let mut all = vec![Instance::segmented(lanes, |_| false)];
            all.extend((0..12).map(|number| divided(lanes, number)));
            all
        }
    };
    let others = [5, 13, 2 * lanes].map(Instance::whole);
    let others = others.into_iter().filter(|other| network.size.is_some() && other.lanes <= 64);
    let context = Context { network, main, others: others.collect() };
    match &network.drawn {
        Some(_) => context.drawn_network(),
        None => context.network_of_goal(),
    }
}
