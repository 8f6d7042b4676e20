//! Guesses distances by evaluating addresses, where their forms do not show one.
//!
//! A fingerprint of an address is its value in 63 neighbouring lanes under a few fixed assignments
//! of the other symbols. Distances at which two fingerprints agree are worth a proof.

use rustc_hash::FxHashMap;

use super::shift::Shifter;
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{Evaluator, SymbolId, TermId};

/// Assignments tried.
const ROUNDS: u64 = 3;
/// The lower lane's `tid.x` and `laneid` in a fingerprint.
const START: u64 = 64;
/// Lane distances that exist within a warp.
const REACH: i32 = 31;

/// The values of an address in lanes 0 to 31 further up.
pub(super) type Fingerprint = Vec<Vec<u64>>;

/// Computes the fingerprint of an address.
pub(super) fn fingerprint(
    trace: &mut KernelTrace,
    loops: &LoopForest,
    shifter: &mut Shifter,
    address: TermId,
    place: Option<LoopId>,
) -> Fingerprint {
    let shifted: Vec<TermId> =
        (0..=REACH).map(|n| shifter.shift(trace, loops, address, n, place)).collect();
    (0..ROUNDS)
        .map(|round| {
            let mut known: FxHashMap<SymbolId, u64> = FxHashMap::default();
            let symbols = &trace.symbols;
            let mut evaluator = Evaluator::new(&trace.arena, |symbol, _| {
                *known.entry(symbol).or_insert_with(|| {
                    let info = symbols.info(symbol);
                    match info.dependence {
                        LaneDependence::Consecutive => START,
                        _ => sample(round, symbol, info),
                    }
                })
            });
            shifted.iter().map(|&term| evaluator.value(term)).collect()
        })
        .collect()
}

/// Values as real launches have them, so that bounds checks on the path mostly hold: small blocks
/// and grids, sizes far above them, pointers far apart.
fn sample(round: u64, symbol: SymbolId, info: &SymbolInfo) -> u64 {
    let mixed = (u64::from(symbol.0) + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(round.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = mixed ^ mixed >> 32;
    let value = match &info.kind {
        SymbolKind::WarpUniform(name) if name == "%ntid.x" => 128 << round,
        SymbolKind::WarpUniform(_) | SymbolKind::Tid(_) | SymbolKind::Iteration(_) => mixed & 7,
        _ if info.width == 64 => mixed & 0xff_ffff_ff00,
        SymbolKind::Parameter { .. } => (1 << 20) + (mixed & 0xffff),
        _ => mixed & 0xfff,
    };
    value & crate::expr::mask(info.width)
}

/// The distances `n` at which `A(L + n) + displacement = B(L)` in every round, smallest |n| first.
pub(super) fn distances(a: &Fingerprint, b: &Fingerprint, displacement: i64) -> Vec<i32> {
    let mut found: Vec<i32> = (-REACH..=REACH)
        .filter(|&n| {
            let (up, down) = (n.max(0) as usize, (-n).max(0) as usize);
            a.iter().zip(b).all(|(a, b)| a[up].wrapping_add(displacement as u64) == b[down])
        })
        .collect();
    found.sort_by_key(|n| (n.abs(), *n));
    found
}
