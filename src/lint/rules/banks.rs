//! `bank-conflict`, `atomic-hot-spot`: lanes that wait for each other.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::StateSpace;
use crate::traffic::{LANES, Spread, Stride, wavefronts};

/// Accesses to shared memory that take more wavefronts than their words need, whatever is not known.
pub(super) fn conflicts(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for traffic in subject.traffic.all() {
        let Spread::Counted(span) = traffic.spread else { continue };
        let plain = traffic.space == StateSpace::Shared && !traffic.kind.is_atomic();
        if !plain || traffic.lanes as usize != LANES || span.min <= span.ideal {
            continue;
        }
        let stride = match traffic.stride {
            Some(Stride::Constant(stride)) => Some(stride),
            _ => None,
        };
        let opcode = subject.inst(traffic.inst).ast.form.opcode;
        let in_rows = matches!(opcode, Opcode::Ldmatrix | Opcode::Stmatrix);
        let count = if span.min < span.max { format!("{} to ", span.min) } else { String::new() };
        let ways = span.max.div_ceil(span.ideal.max(1));
        found.push(Found {
            rule: Rule::BankConflict,
            level: Level::Warning,
            inst: traffic.inst,
            message: format!(
                "a warp's request takes {count}{} wavefronts; {} would do: {} {ways}-way bank conflict",
                span.max,
                span.ideal,
                if matches!(ways, 8 | 11 | 18) { "an" } else { "a" }
            ),
            label: stride.map(|stride| format!("lanes are {stride} bytes apart")),
            help: match stride.and_then(|stride| padding(stride, traffic.bytes, span.ideal)) {
                _ if in_rows => "pad or swizzle the array's rows by 16 bytes, so that 8 rows lie in different banks".to_owned(),
                Some(bytes) => format!(
                    "make the array's rows {bytes} bytes longer (`tile[32][33]` instead of `tile[32][32]`), or swizzle \
                     the column by the row; `ptxasw candidates --strategy bank` finds both"
                ),
                None => "pad or swizzle the array; `ptxasw candidates --strategy bank` looks for a layout".to_owned(),
            },
            waste: span.max - span.ideal,
        });
    }
    found
}

/// The fewest bytes by which the stride must grow for the least number of wavefronts.
fn padding(stride: i64, bytes: u32, ideal: u32) -> Option<i64> {
    let bytes = i64::from(bytes);
    let step = bytes.max(4);
    (1..=32).map(|times| times * step).find(|padding| {
        let wider = stride + padding * stride.signum();
        let addresses: Vec<i64> = (0..LANES as i64).map(|lane| lane * wider).collect();
        wavefronts(&addresses, bytes) <= ideal
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
