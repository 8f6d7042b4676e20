//! Decisions of a warp that the PTX ISA leaves open: where lanes reconverge, and which group runs next.

use crate::interp::program::{AT_RETURN, Function, Pc, Reconvergence};
use crate::launch::Meet;

/// The decisions of one warp. They depend on the launch, the block and the warp alone.
#[derive(Debug)]
pub(super) struct Schedule {
    meet: Meet,
    /// Changes with every decision.
    state: u64,
}

impl Schedule {
    /// The decisions of a warp of a block, both by number.
    pub(super) fn new(meet: Meet, block: u64, warp: u32) -> Schedule {
        let state = match meet {
            Meet::Random(seed) => mix(mix(seed ^ 0x6a09_e667_f3bc_c908) ^ block) ^ u64::from(warp),
            _ => 0,
        };
        Schedule { meet, state }
    }

    /// Whether decisions are random, by a seed.
    pub(super) fn is_random(&self) -> bool {
        matches!(self.meet, Meet::Random(_))
    }

    /// Whether lanes that part wait for each other nowhere.
    pub(super) fn is_never(&self) -> bool {
        self.meet == Meet::Never
    }

    /// A number less than `count`; 0 if nothing is random.
    pub(super) fn below(&mut self, count: u64) -> u64 {
        if !self.is_random() {
            return 0;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state) % count.max(1)
    }

    /// True once in `count` times; never if nothing is random.
    pub(super) fn once_in(&mut self, count: u64) -> bool {
        self.is_random() && self.below(count) == 0
    }

    /// Where lanes meet that part at a micro-operation; `assembler` is where ptxas makes them.
    ///
    /// A compiler chooses for each branch, not for each time that it is executed, but a compiler may
    /// also have copied the branch: some points are chosen anew each time.
    pub(super) fn reconvergence(
        &mut self,
        function: &Function,
        pc: Pc,
        assembler: Pc,
    ) -> Reconvergence {
        let alone = Reconvergence { at: AT_RETURN, within: None };
        let assembler = Reconvergence { at: assembler, within: None };
        let seed = match self.meet {
            Meet::Assembler => return assembler,
            Meet::Never => return alone,
            Meet::Random(seed) => seed,
        };
        let points = match function.reconvergences.get(&pc) {
            Some(points) => points.as_slice(),
            None => &[assembler],
        };
        let of_branch = mix(mix(seed) ^ u64::from(function.site(pc)));
        let any = |number: u64| {
            let number = (number % (points.len() as u64 + 1)) as usize;
            points.get(number).copied().unwrap_or(alone)
        };
        match of_branch % 16 {
            0..=2 => alone,
            3..=7 => assembler,
            8..=12 => any(of_branch >> 8),
            _ => {
                let number = self.below(u64::MAX);
                any(number)
            }
        }
    }
}

/// A number all of whose bits depend on all of the argument's (the finaliser of SplitMix64).
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
