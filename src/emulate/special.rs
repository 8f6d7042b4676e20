//! Special registers (PTX ISA, "Special Registers"): what is known of their values and lanes.

use super::machine::Machine;
use super::symbols::{Dimension, LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{Range, TermId};

/// Largest block and grid dimensions of every compute capability so far (CUDA C++ Programming
/// Guide, "Compute Capabilities").
const MAX_BLOCK: [u64; 3] = [1024, 1024, 64];
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

impl Machine<'_, '_, '_> {
    /// The value of a special register, 32 bits wide (64 where the register is).
    pub(super) fn special(&mut self, name: &str) -> TermId {
        let (base, component) = name.rsplit_once('.').unwrap_or((name, ""));
        let axis = match component {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => 3,
        };
        let dimension = [Dimension::X, Dimension::Y, Dimension::Z];
        match base {
            "WARP_SZ" => return self.arena.constant(32, 32),
            "%tid" | "%ntid" if axis < 3 => {
                let exact = self.function.directive("reqntid");
                let most = self.function.most_threads().unwrap_or(u64::MAX);
                let limit = match exact {
                    Some(extents) => extents.get(axis).copied().unwrap_or(1),
                    None => MAX_BLOCK[axis].min(most),
                };
                if base == "%ntid" {
                    let least = if exact.is_some() { limit } else { 1 };
                    return self.uniform(name, 32, Range::unsigned(least, limit, 32));
                }
                let kind = SymbolKind::Tid(dimension[axis]);
                let dependence =
                    if axis == 0 { LaneDependence::Consecutive } else { LaneDependence::Uniform };
                let range = Range::unsigned(0, limit.max(1) - 1, 32);
                return self.builtin(kind, 32, dependence, range);
            }
            "%ctaid" if axis < 3 => {
                return self.uniform(name, 32, Range::unsigned(0, MAX_GRID[axis] - 1, 32));
            }
            "%nctaid" if axis < 3 => {
                return self.uniform(name, 32, Range::unsigned(1, MAX_GRID[axis], 32));
            }
            "%laneid" => {
                let range = Range::unsigned(0, 31, 32);
                return self.builtin(SymbolKind::LaneId, 32, LaneDependence::Consecutive, range);
            }
            "%gridid" => return self.uniform(name, 64, Range::full(64)),
            "%nwarpid" | "%nsmid" | "%total_smem_size" | "%aggr_smem_size"
            | "%dynamic_smem_size" | "%clusterid" | "%nclusterid" | "%cluster_ctaid"
            | "%cluster_nctaid" | "%cluster_ctarank" | "%cluster_nctarank" => {
                return self.uniform(name, 32, Range::full(32));
            }
            "%is_explicit_cluster" => return self.uniform(name, 1, Range::full(1)),
            _ => {}
        }
        // Clocks, counters, lane masks, `%warpid` and `%smid` (both may change while a kernel runs).
        let wide = matches!(base, "%clock64" | "%globaltimer" | "%current_graph_exec")
            || base.ends_with("_64");
        self.unknown(if wide { 64 } else { 32 })
    }

    fn uniform(&mut self, name: &str, width: u8, range: Range) -> TermId {
        let kind = SymbolKind::WarpUniform(name.to_owned());
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
