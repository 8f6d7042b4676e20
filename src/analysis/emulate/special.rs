//! Special registers (PTX ISA, "Special Registers"): the range of each register's values, and how they
//! differ between lanes.
//!
//! In: a register, and how large a block may be. Out: a [`Reading`], from which the machine makes a
//! term.

use super::symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
use crate::expr::{Arena, Range, TermId};
use crate::isa::limits::{MAX_BLOCK, MAX_GRID, WARP_SIZE};
use crate::isa::{Axis, Special};
use crate::ptx::Function;

/// The value of a special register.
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// A number of 32 bits.
    Known(u64),
    /// The same value at every reading.
    Symbol { info: SymbolInfo, range: Range },
    /// Another value at each reading and in each lane; its width in bits.
    Unsteady(u8),
}

impl Reading {
    /// The term of a value that is the same at every reading.
    pub(super) fn term(&self, arena: &mut Arena, symbols: &mut Symbols) -> Option<TermId> {
        match self {
            Reading::Known(value) => Some(arena.constant(*value, 32)),
            Reading::Symbol { info, range } => Some(symbols.term(arena, info.clone(), *range)),
            Reading::Unsteady(_) => None,
        }
    }
}

/// The value that a function reads from a special register, 32 bits wide (64 or 1 where the register is).
pub(super) fn read(register: Special, function: &Function<'_>) -> Reading {
    use Special::*;
    match register {
        WarpSize => Reading::Known(u64::from(WARP_SIZE)),
        Tid(axis) => {
            let dependence = match axis {
                Axis::X => LaneDependence::Consecutive,
                Axis::Y | Axis::Z => LaneDependence::Uniform,
            };
            let (_, limit) = block_extent(function, axis);
            let range = Range::unsigned(0, limit.max(1) - 1, 32);
            symbol(SymbolKind::Tid(axis), 32, dependence, range)
        }
        Ntid(axis) => {
            let (least, most) = block_extent(function, axis);
            uniform(register, 32, Range::unsigned(least, most, 32))
        }
        Ctaid(axis) => {
            let most = MAX_GRID[axis.index()] - 1;
            uniform(register, 32, Range::unsigned(0, most, 32))
        }
        Nctaid(axis) => uniform(register, 32, Range::unsigned(1, MAX_GRID[axis.index()], 32)),
        Laneid => {
            let range = Range::unsigned(0, u64::from(WARP_SIZE) - 1, 32);
            symbol(SymbolKind::LaneId, 32, LaneDependence::Consecutive, range)
        }
        Gridid => uniform(register, 64, Range::full(64)),
        Nwarpid | Nsmid | TotalSmemSize | AggrSmemSize | DynamicSmemSize | Clusterid(_)
        | Nclusterid(_) | ClusterCtaid(_) | ClusterNctaid(_) | ClusterCtarank | ClusterNctarank => {
            uniform(register, 32, Range::full(32))
        }
        IsExplicitCluster => uniform(register, 1, Range::full(1)),
        // `%warpid` and `%smid` may change while a kernel runs; the others here differ between
        // lanes or readings, or nobody has said that they do not.
        Warpid
        | Smid
        | LanemaskEq
        | LanemaskLe
        | LanemaskLt
        | LanemaskGe
        | LanemaskGt
        | Clock
        | ClockHi
        | GlobaltimerLo
        | GlobaltimerHi
        | Pm(_)
        | Envreg(_)
        | ReservedSmemOffsetBegin
        | ReservedSmemOffsetEnd
        | ReservedSmemOffsetCap
        | ReservedSmemOffset(_)
        | Unknown => Reading::Unsteady(32),
        Clock64 | Globaltimer | Pm64(_) | CurrentGraphExec => Reading::Unsteady(64),
    }
}

/// The least and greatest extent of a block in a dimension.
fn block_extent(function: &Function<'_>, axis: Axis) -> (u64, u64) {
    if let Some(extents) = function.extents("reqntid") {
        return (extents[axis.index()], extents[axis.index()]);
    }
    let most = function.most_threads().unwrap_or(u64::MAX);
    (1, MAX_BLOCK[axis.index()].min(most))
}

fn uniform(register: Special, width: u8, range: Range) -> Reading {
    if range.umin == range.umax {
        return Reading::Known(range.umin);
    }
    symbol(SymbolKind::WarpUniform(register), width, LaneDependence::Uniform, range)
}

fn symbol(kind: SymbolKind, width: u8, dependence: LaneDependence, range: Range) -> Reading {
    Reading::Symbol { info: SymbolInfo { kind, width, dependence, created_in: None }, range }
}
