//! What rules of global memory share: which requests they look at, and the sentence about one.

use super::convergence::lanes as named;
use crate::ptx::StateSpace;
use crate::traffic::{AccessKind, AccessTraffic, Active, LANES, SECTOR, Span, Spread};

/// The span of a load or store of global memory that full warps execute, where it was counted.
pub(super) fn counted(traffic: &AccessTraffic) -> Option<Span> {
    let global = matches!(traffic.space, StateSpace::Global | StateSpace::Generic);
    match traffic.spread {
        Spread::Counted(span)
            if global && !traffic.kind.is_atomic() && traffic.lanes as usize == LANES =>
        {
            Some(span)
        }
        _ => None,
    }
}

/// "lanes 0 to 7 of warp 0 read 8 sectors; 1 would hold their 32 bytes".
pub(super) fn fact_of_some(kind: AccessKind, active: &Active, bytes: u32) -> String {
    let Active { lanes, warp, span } = active;
    let verb = if kind == AccessKind::Load { "read" } else { "write" };
    let count = if span.min < span.max { "up to " } else { "" };
    let held = (lanes.count_ones() * bytes).min(span.ideal * SECTOR as u32);
    let warp = warp.map_or("each warp".to_owned(), |warp| format!("warp {warp}"));
    format!(
        "{} of {warp} {verb} {count}{} sectors; {} would hold their {held} bytes",
        named(*lanes),
        span.max,
        span.ideal
    )
}

/// "a warp's request reads 32 sectors; 4 would hold its 128 bytes".
pub(super) fn fact(kind: AccessKind, span: Span, bytes: u32) -> String {
    let verb = if kind == AccessKind::Load { "reads" } else { "writes" };
    let count = if span.min < span.max { "up to " } else { "" };
    let held = (LANES as u32 * bytes).min(span.ideal * SECTOR as u32);
    format!(
        "a warp's request {verb} {count}{} sectors; {} would hold its {held} bytes",
        span.max, span.ideal
    )
}
