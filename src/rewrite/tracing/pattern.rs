//! The joint accesses of a warp's lanes, in words, for those who look for wasted traffic.

use crate::cost::banks::{LANES, wavefronts};
use crate::emulate::{Access, Effect, Printer};
use crate::lanes::{Factor, NotAffine, Stride, factor_name, sum_text};
use crate::ptx::StateSpace;

/// Bytes of a line of the first-level cache.
const LINE: u64 = 128;

/// The stride of an access and its cost, in words; none if neither is known.
pub(super) fn pattern(
    access: &Access,
    lane_stride: Option<i64>,
    stride: Option<Result<Stride, NotAffine>>,
    printer: &Printer<'_>,
) -> Option<String> {
    let shared = access.space == StateSpace::Shared;
    let global = matches!(access.space, StateSpace::Global | StateSpace::Generic);
    if let Some(stride) = lane_stride {
        return Some(format!("{stride:+} bytes per lane{}", constant(access, stride)));
    }
    if !(shared || global) {
        return None;
    }
    let summands = match stride? {
        Ok(Stride::Symbolic(summands)) => summands,
        Ok(Stride::Constant(stride)) => {
            let how = constant(access, stride);
            return Some(format!("{stride:+} bytes per lane{how} unless the index wraps around"));
        }
        Err(NotAffine::Loaded) => return Some("depends on loaded data".to_owned()),
        Err(NotAffine::Unknown) => return Some("not affine in the lane".to_owned()),
    };
    let stride = sum_text(&summands, |factor| printer.print(factor));
    let sign = if stride.starts_with('-') { "" } else { "+" };
    let names = names(&summands, printer);
    let how = if shared {
        format!("bank conflicts depend on {}", names.join(" and "))
    } else {
        let are = if names.len() == 1 { "is" } else { "are" };
        format!("a line per lane unless {} {are} small", names.join(" and "))
    };
    Some(format!("{sign}{stride} bytes per lane: {how}"))
}

/// The cost of a constant stride, behind a comma; empty where it depends on more.
fn constant(access: &Access, stride: i64) -> String {
    let bytes = u64::from(access.bytes()).max(1);
    let reads = access.effect == Effect::Load;
    let distances = || (0..LANES as u64).map(|lane| lane.wrapping_mul(stride.unsigned_abs()));
    match access.space {
        _ if stride == 0 && reads => ", broadcast".to_owned(),
        StateSpace::Shared | StateSpace::Global | StateSpace::Generic if stride == 0 => {
            ", all lanes at one address".to_owned()
        }
        StateSpace::Shared => {
            let addresses: Vec<u64> = distances().collect();
            let all = wavefronts(&addresses, u32::MAX, bytes);
            let apart: Vec<u64> = (0..LANES as u64).map(|lane| lane * bytes).collect();
            match all.div_ceil(wavefronts(&apart, u32::MAX, bytes).max(1)) {
                0 | 1 => ", no bank conflict".to_owned(),
                ways => format!(", {ways}-way bank conflict"),
            }
        }
        StateSpace::Global | StateSpace::Generic => {
            let ends = distances().flat_map(|at| [at / LINE, at.wrapping_add(bytes - 1) / LINE]);
            let mut lines: Vec<u64> = ends.collect();
            lines.sort_unstable();
            lines.dedup();
            let (lines, least) = (lines.len() as u64, (LANES as u64 * bytes).div_ceil(LINE));
            match lines {
                _ if stride.unsigned_abs() == bytes => ", coalesced".to_owned(),
                _ if lines <= least => String::new(),
                _ if lines >= LANES as u64 => ": a line per lane".to_owned(),
                _ => format!(": {lines} lines of {LINE} bytes where {least} would do"),
            }
        }
        _ => String::new(),
    }
}

/// The factors of all summands, each once.
fn names(summands: &[(i64, Factor)], printer: &Printer<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &factor in summands.iter().flat_map(|(_, factors)| factors) {
        let name = factor_name(printer.print(factor));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
