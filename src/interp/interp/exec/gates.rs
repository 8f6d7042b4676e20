//! The state of a block's barriers: who has arrived, and how many they wait for.

use crate::interp::registers::{LANES, Mask};

/// How many barriers a block has.
pub(super) const COUNT: usize = 16;

/// The number under which the cluster's barrier is kept: a cluster is one block.
pub(super) const CLUSTER: u32 = COUNT as u32;

/// The state of one barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    /// The lanes of each warp that have arrived.
    pub arrived: Vec<Mask>,
    /// Those of them that wait until the barrier opens.
    pub waiting: Vec<Mask>,
    /// Threads that have arrived, incomplete warps rounded up.
    pub count: u32,
    /// How many threads must arrive, if an arrival has said so.
    pub expected: Option<u32>,
    /// Votes of the reductions.
    pub votes: u32,
    /// Lanes that voted.
    pub voters: u32,
}

impl Gate {
    /// Lets `lanes` of a warp arrive; `live` are its lanes that have not ended, and `vote` those that vote yes.
    pub(super) fn arrive(&mut self, warp: usize, lanes: Mask, live: Mask, vote: Option<Mask>) {
        let all_came = |arrived: Mask| live & !arrived == 0;
        let (before, missing) = (self.arrived[warp], LANES as u32 - live.count_ones());
        self.arrived[warp] |= lanes;
        self.count += lanes.count_ones();
        if lanes == live || !all_came(before) && all_came(before | lanes) {
            self.count += missing;
        }
        if let Some(vote) = vote {
            self.votes += vote.count_ones();
            self.voters += lanes.count_ones();
        }
    }
}

/// The state of a block's barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct Barriers {
    /// The barriers by number; empty before the first arrival.
    pub gates: Vec<Gate>,
}
