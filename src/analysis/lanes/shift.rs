//! Terms as another lane of the warp sees them.

use rustc_hash::FxHashMap;

use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolInfo, SymbolKind, Uniformity};
use crate::expr::{Range, Substitution, SymbolId, TermId};

/// Moves terms `n > 0` lanes up, and remembers the terms that it has moved.
///
/// In lane `L + n` of a warp whose lanes are consecutive in `tid.x`, `tid.x` and `laneid` are larger
/// by `n`, uniform symbols have the same value, and every other symbol is replaced by one that stands
/// for that lane's value.
pub(crate) struct Shifter {
    done: FxHashMap<(i32, Option<LoopId>), Substitution>,
}

impl Shifter {
    /// A shifter that has moved no term yet.
    pub(crate) fn new() -> Shifter {
        Shifter { done: FxHashMap::default() }
    }

    /// `term` as lane `L + n` sees it, if both lanes have met within the loop `place`.
    pub(crate) fn shift(
        &mut self,
        trace: &mut KernelTrace,
        loops: &LoopForest,
        term: TermId,
        n: i32,
        place: Option<LoopId>,
    ) -> TermId {
        debug_assert!(n >= 0);
        if n == 0 {
            return term;
        }
        let KernelTrace { arena, symbols, uniformity, .. } = trace;
        let substitution = self.done.entry((n, place)).or_default();
        substitution.apply(arena, term, &mut |arena, symbol, term| {
            let info = symbols.info(symbol);
            match motion(info, symbol, uniformity, loops, place) {
                Motion::Consecutive => arena.add_constant(term, n as u64),
                Motion::Same => term,
                Motion::Other => {
                    let shifted = SymbolInfo {
                        kind: SymbolKind::Shifted(symbol, n),
                        width: info.width,
                        dependence: LaneDependence::Varying,
                        created_in: info.created_in,
                    };
                    let range: Range = arena.range(term);
                    symbols.term(arena, shifted, range)
                }
            }
        })
    }

    /// A symbol's value in another lane that has reconverged within the loop `place`.
    pub(crate) fn motion(
        &self,
        trace: &KernelTrace,
        loops: &LoopForest,
        symbol: SymbolId,
        place: Option<LoopId>,
    ) -> Motion {
        motion(trace.symbols.info(symbol), symbol, &trace.uniformity, loops, place)
    }
}

/// A symbol's value `n` lanes further up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Motion {
    /// It is larger by `n`.
    Consecutive,
    /// It is the same.
    Same,
    /// It is another symbol.
    Other,
}

fn motion(
    info: &SymbolInfo,
    symbol: SymbolId,
    uniformity: &Uniformity,
    loops: &LoopForest,
    place: Option<LoopId>,
) -> Motion {
    if mistaken_for_uniform(&info.kind) {
        return Motion::Same;
    }
    if info.dependence == LaneDependence::Consecutive {
        return Motion::Consecutive;
    }
    // (Its lanes are asked at run time.)
    if matches!(info.kind, SymbolKind::Alike(..)) {
        return Motion::Same;
    }
    let stays =
        uniformity.in_iteration(symbol) && uniformity.left_together(loops, info.created_in, place);
    if stays { Motion::Same } else { Motion::Other }
}

fn mistaken_for_uniform(kind: &SymbolKind) -> bool {
    match kind {
        SymbolKind::LaneId => planted!(Bug::LaneId),
        SymbolKind::JoinValue(..) => planted!(Bug::JoinedValue),
        SymbolKind::LoopValue(..) => planted!(Bug::LoopValue),
        SymbolKind::Unknown(_) => planted!(Bug::UnknownValue),
        _ => false,
    }
}
