//! What rules of global memory share: which requests they look at, and the sentence about one.

use super::super::subject::Subject;
use super::convergence::lanes as named;
use crate::ptx::StateSpace;
use crate::traffic::{AccessKind, AccessTraffic, Active, SECTOR, Span, Spread, Stride};

/// A longer stride is not shown: nobody would read it.
pub(super) const LONGEST_STRIDE: usize = 60;

/// The span of a load or store of global memory that full warps execute, where it was counted.
pub(super) fn counted(traffic: &AccessTraffic) -> Option<Span> {
    let global = matches!(traffic.space, StateSpace::Global | StateSpace::Generic);
    match traffic.spread {
        Spread::Counted(span)
            if global
                && !traffic.kind.is_atomic()
                && traffic.is_full()
                && traffic.warp_lanes > 1 =>
        {
            Some(span)
        }
        _ => None,
    }
}

/// "lanes 0 to 7 of warp 0 read 8 sectors; 1 would hold their 32 bytes".
pub(super) fn fact_of_some(traffic: &AccessTraffic, active: &Active) -> String {
    let span = active.span;
    let verb = if traffic.kind == AccessKind::Load { "read" } else { "write" };
    let count = if span.min < span.max { "up to " } else { "" };
    let held = (active.lanes.count_ones() * traffic.bytes).min(span.ideal * SECTOR as u32);
    format!(
        "{} {verb} {count}{} sectors; {} would hold their {held} bytes",
        who(active),
        span.max,
        span.ideal
    )
}

/// "lanes 0 to 7 of warp 0".
pub(super) fn who(active: &Active) -> String {
    let warp = active.warp.map_or("each warp".to_owned(), |warp| format!("warp {warp}"));
    format!("{} of {warp}", named(active.lanes))
}

/// "a warp's request reads 32 sectors; 4 would hold its 128 bytes".
pub(super) fn fact(traffic: &AccessTraffic, span: Span) -> String {
    let verb = if traffic.kind == AccessKind::Load { "reads" } else { "writes" };
    let count = if span.min < span.max { "up to " } else { "" };
    let held = (traffic.warp_lanes * traffic.bytes).min(span.ideal * SECTOR as u32);
    format!(
        "a warp's request {verb} {count}{} sectors; {} would hold its {held} bytes",
        span.max, span.ideal
    )
}

/// "lanes are 4*m bytes apart".
pub(super) fn distance(subject: &Subject<'_, '_, '_>, traffic: &AccessTraffic) -> String {
    match (subject.stride(traffic), &traffic.stride) {
        (Some(stride), _) if stride.len() > LONGEST_STRIDE => {
            "lanes are apart by a value that is not known here".to_owned()
        }
        (Some(stride), _) => format!("lanes are {stride} bytes apart"),
        (None, Some(Stride::Constant(stride))) => format!("lanes are {stride} bytes apart"),
        (None, _) => "lanes lie in rows that are apart".to_owned(),
    }
}
