//! The state that all blocks of a launch share.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use super::heap::Heap;
use crate::interp::alike::Observer;
use crate::interp::fault::Fault;
use crate::interp::memory::{Global, new_unwritten, new_words};
use crate::interp::program::{LaunchInvariant, Program};
use crate::interp::recorder::Recorder;
use crate::interp::registers::{LANES, Mask, lanes};
use crate::interp::symbol::World;
use crate::launch::Meet;
use crate::ptx::StateSpace;

/// A launch that is about to run.
#[derive(Debug)]
pub(crate) struct Machine<'p> {
    /// The decoded kernel and its callees.
    pub program: &'p Program,
    /// Global and constant memory.
    pub global: &'p Global<'p>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// The kernel's parameters.
    pub params: &'p [AtomicU32],
    /// The marks of parameters that are symbols.
    pub params_marks: Option<&'p [AtomicU32]>,
    /// Where lanes meet again that have parted.
    pub meet: Meet,
    /// Whether values that nobody has determined are followed, and reported where they reach an effect.
    pub follows_poison: bool,
    /// Whether one of the lanes that write to one place by one instruction wins, which is not a race.
    pub one_wins: bool,
    /// Whether it is followed which buffers addresses are made from.
    pub follows_origins: bool,
    /// Whoever follows approximate values, in the place of those that nobody has determined.
    pub recorder: Option<&'p Arc<Recorder>>,
    /// Whoever looks at which other blocks do the same, in a run with symbols.
    pub observer: Option<&'p Observer>,
    /// The algebra and the symbols in memory, in a run with symbols.
    pub world: Option<&'p World>,
    /// The byte of shared memory, by its offset, that alone is watched for races; `None`: all bytes are.
    pub watched_byte: Option<u64>,
    /// The device heap. Blocks that allocate run in order, so that it is never contended.
    pub heap: Mutex<Heap>,
}

impl Machine<'_> {
    /// The marks of `bytes` bytes of shared or local memory at first.
    pub(crate) fn new_marks(&self, bytes: u64) -> Vec<AtomicU32> {
        if self.recorder.is_some() { new_words(bytes) } else { new_unwritten(bytes) }
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Warps of a block.
    pub(crate) fn warps(&self) -> u32 {
        self.threads().div_ceil(LANES as u32)
    }

    /// A block's number in the grid, x first.
    pub(crate) fn number(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [width, height, _] = self.grid.map(u64::from);
        u64::from(x) + width * (u64::from(y) + height * u64::from(z))
    }

    /// The index of a block in the grid.
    pub(crate) fn block_at(&self, number: u64) -> [u32; 3] {
        let [width, height, _] = self.grid.map(u64::from);
        [number % width, number / width % height, number / width / height].map(|n| n as u32)
    }

    /// Where a lane is in its block: lanes count x first, then y, then z.
    pub(crate) fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.block;
        let linear = warp * LANES as u32 + lane as u32;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// A special register's value, if all lanes and blocks have the same.
    pub(crate) fn constant(&self, special: LaunchInvariant) -> Option<u32> {
        Some(match special {
            LaunchInvariant::Ntid(axis) => self.block[axis.index()],
            LaunchInvariant::Nctaid(axis) => self.grid[axis.index()],
            LaunchInvariant::NwarpId => self.warps(),
            LaunchInvariant::DynamicSharedSize => self.program.layout.dynamic_shared as u32,
            LaunchInvariant::TotalSharedSize => self.program.layout.shared_bytes as u32,
            LaunchInvariant::Constant(value) => value,
            _ => return None,
        })
    }

    /// A special register's value for a lane.
    pub(crate) fn special(
        &self,
        special: LaunchInvariant,
        block: [u32; 3],
        warp: u32,
        lane: usize,
    ) -> u32 {
        let bit = 1_u32 << lane;
        match special {
            LaunchInvariant::Tid(axis) => self.thread(warp, lane)[axis.index()],
            LaunchInvariant::Ctaid(axis) => block[axis.index()],
            LaunchInvariant::LaneId => lane as u32,
            LaunchInvariant::WarpId => warp,
            LaunchInvariant::LanemaskEq => bit,
            LaunchInvariant::LanemaskLt => bit - 1,
            LaunchInvariant::LanemaskLe => bit | (bit - 1),
            LaunchInvariant::LanemaskGt => !(bit | (bit - 1)),
            LaunchInvariant::LanemaskGe => !(bit - 1),
            special => self.constant(special).unwrap_or(0),
        }
    }

    /// For `isspacep`: the lanes whose generic address lies in a state space.
    pub(crate) fn in_space(&self, addresses: &[u64; LANES], space: StateSpace) -> Mask {
        let layout = &self.program.layout;
        lanes(Mask::MAX).fold(0, |mask, lane| {
            let address = addresses[lane];
            let region = self.global.index(layout, address).map(|i| &self.global.regions()[i]);
            let home = match (layout.space_of(address), region) {
                (StateSpace::Global, Some(region)) => region.space,
                (home, _) => home,
            };
            mask | Mask::from(home == space) << lane
        })
    }

    /// Adds the block and the first of some lanes to a fault.
    pub(crate) fn blame(&self, mut fault: Fault, warp: u32, lanes: Mask) -> Fault {
        let lane = lanes.trailing_zeros() as usize;
        fault.thread = (lane < LANES).then(|| self.thread(warp, lane));
        fault
    }
}
