//! The cost of a run, in warp-wide events.

use serde::Serialize;

use super::program::{FunctionId, Pc, Program};
use super::registers::FULL;

/// Where events are counted: in one sum ([`Counters`]), or for each micro-operation by itself
/// ([`super::profile::Profile`]). The execution loop is compiled once for each of the two, so that
/// counting the sum does not pay for the profile.
pub(super) trait Tally: Sized + Send {
    /// The counters for events of a micro-operation.
    fn at(&mut self, function: FunctionId, pc: Pc) -> &mut Counters;
}

/// A tally of whole launches, whose blocks may be counted apart.
pub(super) trait Total: Tally {
    /// No events yet.
    fn new(program: &Program) -> Self;

    /// Adds the events that another part of the launch has counted.
    fn merge(&mut self, other: &Self);
}

/// Events per warp-instruction, summed over the launch. An instruction counts once for each group
/// of converged lanes that executes it; a memory request counts when at least one lane takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Instructions issued.
    pub instructions: u64,
    /// Lanes that took part in the instructions issued.
    pub lane_instructions: u64,
    /// Loads from global memory.
    pub global_load_requests: u64,
    /// Distinct 128-byte lines, summed over these loads.
    pub global_load_wavefronts: u64,
    /// Stores to global memory.
    pub global_store_requests: u64,
    /// Distinct 128-byte lines, summed over these stores.
    pub global_store_wavefronts: u64,
    /// Distinct 32-byte sectors, summed over loads from global memory; those of bulk copies are not counted.
    pub global_load_sectors: u64,
    /// Distinct 32-byte sectors, summed over stores to global memory, with the same exception.
    pub global_store_sectors: u64,
    /// Loads from and stores to shared memory.
    pub shared_requests: u64,
    /// Wavefronts of these: each bank gives one word of four bytes in each. Accesses of `wmma` are not counted.
    pub shared_wavefronts: u64,
    /// Loads from and stores to local memory.
    pub local_requests: u64,
    /// Atomics and reductions on any memory.
    pub atomic_requests: u64,
    /// Passes of these: lanes that name one word take turns, and in shared memory so do lanes whose words lie in one bank.
    pub atomic_passes: u64,
    /// `shfl`.
    pub shuffles: u64,
    /// `vote`, `match`, `redux`, `elect`, `activemask`.
    pub votes: u64,
    /// Barriers of the block and of the warp.
    pub barriers: u64,
    /// Branches.
    pub branches: u64,
    /// Branches whose lanes went different ways.
    pub divergent_branches: u64,
    /// The costs of single requests; only a profile tells them.
    #[serde(skip)]
    pub single: SingleRequests,
    /// The same for the writes of `cp.async` to shared memory; [`Counters::single`] has its reads.
    #[serde(skip)]
    pub single_copies: SingleRequests,
}

/// The costs of single loads, stores and atomics, each to one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SingleRequests {
    /// Those in which all 32 lanes took part.
    pub full: RequestCosts,
    /// Those of the first set of fewer lanes that was met.
    pub some: RequestCosts,
    /// That set, a bit for each lane.
    pub lanes: u32,
    /// The lanes of all requests of fewer than 32 lanes.
    pub any: u32,
    /// The greatest number of lanes in a request.
    pub most_lanes: u32,
}

impl SingleRequests {
    /// Counts a request of some lanes.
    pub fn note(&mut self, lanes: u32, cost: u64) {
        self.most_lanes = self.most_lanes.max(lanes.count_ones());
        if lanes == FULL {
            return self.full.note(cost);
        }
        self.any |= lanes;
        if self.some.requests == 0 {
            self.lanes = lanes;
        }
        if self.lanes == lanes {
            self.some.note(cost);
        }
    }

    fn add(&mut self, other: &SingleRequests) {
        self.full.add(&other.full);
        self.any |= other.any;
        self.most_lanes = self.most_lanes.max(other.most_lanes);
        if self.some.requests == 0 {
            self.lanes = other.lanes;
        }
        if self.lanes == other.lanes {
            self.some.add(&other.some);
        }
    }
}

/// The costs of several requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestCosts {
    /// How many there were.
    pub requests: u64,
    /// The least number of 32-byte sectors of global memory, of wavefronts of shared memory, of passes of an atomic
    /// operation on shared memory.
    pub fewest: u64,
    /// The greatest number.
    pub most: u64,
}

impl RequestCosts {
    /// Counts a request.
    pub fn note(&mut self, cost: u64) {
        self.add(&RequestCosts { requests: 1, fewest: cost, most: cost });
    }

    fn add(&mut self, other: &RequestCosts) {
        if other.requests == 0 {
            return;
        }
        let fewest = if self.requests == 0 { other.fewest } else { self.fewest.min(other.fewest) };
        let (requests, most) = (self.requests + other.requests, self.most.max(other.most));
        *self = RequestCosts { requests, fewest, most };
    }
}

impl Tally for Counters {
    #[inline(always)]
    fn at(&mut self, _: FunctionId, _: Pc) -> &mut Counters {
        self
    }
}

impl Total for Counters {
    fn new(_: &Program) -> Counters {
        Counters::default()
    }

    fn merge(&mut self, other: &Counters) {
        self.add(other);
    }
}

impl Counters {
    /// Adds the events of another run.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            instructions,
            lane_instructions,
            global_load_requests,
            global_load_wavefronts,
            global_store_requests,
            global_store_wavefronts,
            global_load_sectors,
            global_store_sectors,
            shared_requests,
            shared_wavefronts,
            local_requests,
            atomic_requests,
            atomic_passes,
            shuffles,
            votes,
            barriers,
            branches,
            divergent_branches,
            single,
            single_copies,
        } = other;
        self.instructions += instructions;
        self.lane_instructions += lane_instructions;
        self.global_load_requests += global_load_requests;
        self.global_load_wavefronts += global_load_wavefronts;
        self.global_store_requests += global_store_requests;
        self.global_store_wavefronts += global_store_wavefronts;
        self.global_load_sectors += global_load_sectors;
        self.global_store_sectors += global_store_sectors;
        self.shared_requests += shared_requests;
        self.shared_wavefronts += shared_wavefronts;
        self.local_requests += local_requests;
        self.atomic_requests += atomic_requests;
        self.atomic_passes += atomic_passes;
        self.shuffles += shuffles;
        self.votes += votes;
        self.barriers += barriers;
        self.branches += branches;
        self.divergent_branches += divergent_branches;
        self.single.add(single);
        self.single_copies.add(single_copies);
    }
}
