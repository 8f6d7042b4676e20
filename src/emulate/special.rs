//! Special registers (PTX ISA, "Special Registers"): the range of each register's values, and how they
//! differ between lanes.

use super::machine::Machine;
use super::symbols::{LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{Range, TermId};
use crate::isa::limits::{MAX_BLOCK, MAX_GRID, WARP_SIZE};
use crate::isa::{Axis, Special};

impl Machine<'_, '_, '_> {
    /// The value of a special register, 32 bits wide (64 or 1 where the register is).
    pub(super) fn special(&mut self, register: Special) -> TermId {
        match register {
            Special::WarpSize => self.arena.constant(u64::from(WARP_SIZE), 32),
            Special::Tid(axis) => {
                let kind = SymbolKind::Tid(axis);
                let dependence = match axis {
                    Axis::X => LaneDependence::Consecutive,
                    Axis::Y | Axis::Z => LaneDependence::Uniform,
                };
                let (_, limit) = self.block_extent(axis);
                let range = Range::unsigned(0, limit.max(1) - 1, 32);
                self.builtin(kind, 32, dependence, range)
            }
            Special::Ntid(axis) => {
                let (least, most) = self.block_extent(axis);
                self.uniform(register, 32, Range::unsigned(least, most, 32))
            }
            Special::Ctaid(axis) => {
                let most = MAX_GRID[axis.index()] - 1;
                self.uniform(register, 32, Range::unsigned(0, most, 32))
            }
            Special::Nctaid(axis) => {
                self.uniform(register, 32, Range::unsigned(1, MAX_GRID[axis.index()], 32))
            }
            Special::Laneid => {
                let range = Range::unsigned(0, u64::from(WARP_SIZE) - 1, 32);
                self.builtin(SymbolKind::LaneId, 32, LaneDependence::Consecutive, range)
            }
            Special::Gridid => self.uniform(register, 64, Range::full(64)),
            Special::Nwarpid
            | Special::Nsmid
            | Special::TotalSmemSize
            | Special::AggrSmemSize
            | Special::DynamicSmemSize
            | Special::Clusterid(_)
            | Special::Nclusterid(_)
            | Special::ClusterCtaid(_)
            | Special::ClusterNctaid(_)
            | Special::ClusterCtarank
            | Special::ClusterNctarank => self.uniform(register, 32, Range::full(32)),
            Special::IsExplicitCluster => self.uniform(register, 1, Range::full(1)),
            // `%warpid` and `%smid` may change while a kernel runs; the others here differ between
            // lanes or readings, or nobody has said that they do not.
            Special::Warpid
            | Special::Smid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt
            | Special::Clock
            | Special::ClockHi
            | Special::GlobaltimerLo
            | Special::GlobaltimerHi
            | Special::Pm(_)
            | Special::Envreg(_)
            | Special::ReservedSmemOffsetBegin
            | Special::ReservedSmemOffsetEnd
            | Special::ReservedSmemOffsetCap
            | Special::ReservedSmemOffset(_)
            | Special::Unknown => self.unknown(32),
            Special::Clock64
            | Special::Globaltimer
            | Special::Pm64(_)
            | Special::CurrentGraphExec => self.unknown(64),
        }
    }

    /// The least and greatest extent of a block in a dimension.
    fn block_extent(&self, axis: Axis) -> (u64, u64) {
        if let Some(extents) = self.function.directive("reqntid") {
            let exact = extents.get(axis.index()).copied().unwrap_or(1);
            return (exact, exact);
        }
        let most = self.function.most_threads().unwrap_or(u64::MAX);
        (1, MAX_BLOCK[axis.index()].min(most))
    }

    fn uniform(&mut self, register: Special, width: u8, range: Range) -> TermId {
        let kind = SymbolKind::WarpUniform(register);
        if range.umin == range.umax {
            return self.arena.constant(range.umin, width);
        }
        self.builtin(kind, width, LaneDependence::Uniform, range)
    }

    fn builtin(
        &mut self,
        kind: SymbolKind,
        width: u8,
        dependence: LaneDependence,
        range: Range,
    ) -> TermId {
        let info = SymbolInfo { kind, width, dependence, created_in: None };
        self.symbols.term(&mut self.arena, info, range)
    }
}
