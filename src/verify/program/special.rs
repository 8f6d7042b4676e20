//! The judge's beliefs about special registers (PTX ISA, "Special Registers"): which hold one value
//! as long as the thread runs, and which of these are the same for all lanes of a warp.
//!
//! In: a register. Out: the belief about it. An unknown register is *volatile*: it
//! may have another value at each reading and in each lane.

use crate::isa::{Axis, Special};

/// The belief about a special register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Belief {
    /// `WARP_SZ`, a constant.
    WarpSize,
    /// `%tid` in a dimension.
    Thread(Axis),
    /// `%ntid` in a dimension.
    Extent(Axis),
    /// `%ctaid` in a dimension.
    Block(Axis),
    /// `%nctaid` in a dimension.
    Blocks(Axis),
    /// `%laneid`
    Lane,
    /// `%lanemask_eq` and the like: some function of the lane.
    LaneMask,
    /// One value for the warp that does not change, this many bits wide.
    Uniform(u8),
    /// May change between two readings and differ between lanes; this many bits wide.
    Volatile(u8),
}

impl Belief {
    /// Whether all threads of a block read one value, whenever they do.
    pub(crate) fn is_uniform(self) -> bool {
        match self {
            Belief::WarpSize | Belief::Extent(_) | Belief::Block(_) | Belief::Blocks(_) => true,
            Belief::Uniform(_) => true,
            Belief::Thread(_) | Belief::Lane | Belief::LaneMask | Belief::Volatile(_) => false,
        }
    }

    /// The width in bits.
    pub(crate) fn width(self) -> u32 {
        match self {
            Belief::Uniform(width) | Belief::Volatile(width) => u32::from(width),
            _ => 32,
        }
    }
}

/// Looks a register up.
pub(crate) fn belief(register: Special) -> Belief {
    match register {
        Special::WarpSize => Belief::WarpSize,
        Special::Tid(axis) => Belief::Thread(axis),
        Special::Ntid(axis) => Belief::Extent(axis),
        Special::Ctaid(axis) => Belief::Block(axis),
        Special::Nctaid(axis) => Belief::Blocks(axis),
        Special::Laneid => Belief::Lane,
        Special::LanemaskEq
        | Special::LanemaskLt
        | Special::LanemaskLe
        | Special::LanemaskGt
        | Special::LanemaskGe => Belief::LaneMask,
        Special::Gridid | Special::CurrentGraphExec => Belief::Uniform(64),
        Special::Clusterid(_)
        | Special::Nclusterid(_)
        | Special::ClusterCtaid(_)
        | Special::ClusterNctaid(_)
        | Special::ClusterCtarank
        | Special::ClusterNctarank
        | Special::IsExplicitCluster
        | Special::Nwarpid
        | Special::Nsmid
        | Special::TotalSmemSize
        | Special::AggrSmemSize
        | Special::DynamicSmemSize
        | Special::ReservedSmemOffsetBegin
        | Special::ReservedSmemOffsetEnd
        | Special::ReservedSmemOffsetCap => Belief::Uniform(32),
        // The place where a warp runs may change while it runs.
        Special::Warpid
        | Special::Smid
        | Special::Clock
        | Special::ClockHi
        | Special::GlobaltimerLo
        | Special::GlobaltimerHi => Belief::Volatile(32),
        // Nothing is known of the values that the driver puts into `%envreg`.
        Special::Clock64
        | Special::Globaltimer
        | Special::Pm(_)
        | Special::Pm64(_)
        | Special::Envreg(_)
        | Special::ReservedSmemOffset(_)
        | Special::Unknown => Belief::Volatile(64),
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(what_is_not_known_is_volatile);

    fn what_is_not_known_is_volatile() {
        let odd = [Special::Clock, Special::Pm(0), Special::Envreg(31), Special::Unknown];
        for register in odd {
            assert!(matches!(belief(register), Belief::Volatile(_)), "{register}");
        }
        assert_eq!(belief(Special::Tid(Axis::Z)), Belief::Thread(Axis::Z));
        assert_eq!(belief(Special::ClusterCtaid(Axis::Y)), Belief::Uniform(32));
    }
}
