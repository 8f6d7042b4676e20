//! `bank-conflict`, `atomic-hot-spot`: lanes that wait for each other.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use super::requests::{distance, who};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::StateSpace;
use crate::traffic::{Active, LANES, Spread, Stride, wavefronts};

/// Lanes that are fewer bytes apart are hardly in rows of their own.
const SHORTEST_ROW: i64 = 64;

/// Accesses to shared memory that take more wavefronts than their words need, whatever is not known.
pub(super) fn conflicts(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for traffic in subject.traffic.all() {
        let plain = traffic.space == StateSpace::Shared && !traffic.kind.is_atomic();
        let active = traffic.active;
        let span = match (traffic.spread, active) {
            (_, Some(active)) => active.span,
            (Spread::Counted(span), None) if traffic.is_full() => span,
            _ => continue,
        };
        // (A factor of the stride that is 0 leaves one address, and no conflict.)
        let is_certain = span.min > span.ideal;
        if !plain || !(is_certain || span.moved.is_some_and(|least| least > span.ideal)) {
            continue;
        }
        let stride = match traffic.stride {
            Some(Stride::Constant(stride)) => Some(stride),
            _ => None,
        };
        let all = u32::MAX >> (LANES as u32 - traffic.warp_lanes);
        let mask = active.map_or(all, |active| active.lanes);
        let opcode = subject.inst(traffic.inst).ast.form.opcode;
        let in_rows = matches!(opcode, Opcode::Ldmatrix | Opcode::Stmatrix);
        let count = match is_certain {
            false => "up to ".to_owned(),
            true if span.min < span.max => format!("{} to ", span.min),
            true => String::new(),
        };
        let ways = span.max.div_ceil(span.ideal.max(1));
        found.push(Found {
            rule: Rule::BankConflict,
            // (What one warp of a block does costs little.)
            level: match active {
                Some(Active { warp: Some(_), .. }) => Level::Note,
                _ => Level::Warning,
            },
            inst: traffic.inst,
            message: format!(
                "{} {count}{} wavefronts; {} would do: {} {ways}-way bank conflict",
                match &active {
                    Some(active) => format!("{} take", who(active)),
                    None => "a warp's request takes".to_owned(),
                },
                span.max,
                span.ideal,
                if matches!(ways, 8 | 11 | 18) { "an" } else { "a" }
            ),
            label: traffic.stride.as_ref().map(|_| {
                let neighbouring = if active.is_some() { "neighbouring " } else { "" };
                format!("{neighbouring}{}", distance(subject, traffic))
            }),
            help: match stride.and_then(|stride| padding(stride, mask, traffic.bytes, span.ideal)) {
                _ if in_rows => "pad or swizzle the array's rows by 16 bytes, so that 8 rows lie in different banks".to_owned(),
                Some(more) if stride.is_some_and(|stride| stride.abs() >= SHORTEST_ROW) => {
                    let (row, bytes) = (stride.map_or(0, i64::abs), i64::from(traffic.bytes));
                    format!(
                        "leave {more} bytes free behind every {row} bytes of the array (rows of {} elements instead of {}), or \
                         swizzle the column by the row; `ptxasw candidates --strategy bank` finds both",
                        (row + more) / bytes,
                        row / bytes
                    )
                }
                Some(_) => "let neighbouring threads access neighbouring elements (another order of the threads, an array of its \
                            own for each member of a struct), or swizzle the array; `ptxasw candidates --strategy bank` looks \
                            for a layout"
                    .to_owned(),
                None => "pad or swizzle the array; `ptxasw candidates --strategy bank` looks for a layout".to_owned(),
            },
            waste: span.max - span.ideal,
        });
    }
    found
}

/// The fewest bytes by which the stride must grow for the least number of wavefronts of these lanes.
fn padding(stride: i64, mask: u32, bytes: u32, ideal: u32) -> Option<i64> {
    let bytes = i64::from(bytes);
    let step = bytes.max(4);
    (1..=32).map(|times| times * step).find(|padding| {
        let wider = stride + padding * stride.signum();
        let lanes = (0..LANES as i64).filter(|lane| mask >> lane & 1 != 0);
        let addresses: Vec<i64> = lanes.map(|lane| lane * wider).collect();
        wavefronts(&addresses, mask, bytes) <= ideal
    })
}

/// Sums of floating-point numbers at one address for the whole warp. (ptxas combines those of integers.)
pub(super) fn hot_spots(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for traffic in &subject.traffic.accesses {
        let form = &subject.inst(traffic.inst).ast.form;
        let float = form.last_type().is_some_and(|ty| ty.is_float());
        let one_place = traffic.stride == Some(Stride::Constant(0));
        let adds = form.has(Qualifier::Add) && float && traffic.kind.is_atomic();
        if !(adds && one_place && traffic.lanes as usize == LANES) {
            continue;
        }
        found.push(Found {
            rule: Rule::AtomicHotSpot,
            level: Level::Warning,
            inst: traffic.inst,
            message: "the 32 lanes of a warp add to one address, one after the other".to_owned(),
            label: None,
            help: "add the lanes' values first (`__shfl_xor_sync` in five steps, or `cub::WarpReduce`), and let one lane \
                   add the sum"
                .to_owned(),
            waste: LANES as u32 - 1,
        });
    }
    found
}
