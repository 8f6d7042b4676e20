//! The layout of threads in blocks and warps: facts that hold for every lane.

use rustc_hash::FxHashSet;

use super::symbols::{Kind, Terms};
use crate::expr::{Arena, Comparison, Node, SymbolId, TermId};
use crate::isa::{Axis, Special};

/// Whether the lanes of each whole warp are consecutive in `tid.x`, from the block's extents: whole
/// rows of 32, or one row.
pub(crate) fn consecutive(arena: &mut Arena, [x, y, z]: [TermId; 3]) -> TermId {
    let (zero, one, low) = (arena.constant(0, 32), arena.constant(1, 32), arena.constant(31, 32));
    let rest = arena.and(x, low);
    let rows_of_warps = arena.equal(rest, zero);
    let rows = arena.mul(y, z);
    let one_row = arena.equal(rows, one);
    arena.or(rows_of_warps, one_row)
}

/// Whether a term has one value for the warp: it is made of numbers, parameters of a kernel, addresses of variables,
/// extents and numbers of blocks, and terms that are known to have one.
pub(crate) fn is_uniform(
    terms: &Terms,
    term: TermId,
    is_known: &dyn Fn(TermId) -> bool,
    is_kernel: bool,
) -> bool {
    let (mut work, mut seen) = (vec![term], FxHashSet::default());
    while let Some(next) = work.pop() {
        if !seen.insert(next) || is_known(next) {
            continue;
        }
        terms.arena.charge(2);
        match *terms.arena.node(next) {
            Node::Apply(..) => return false,
            Node::Symbol(symbol) => match terms.symbols.info(symbol).kind {
                Kind::Uniform(_) | Kind::Address(_) => {}
                Kind::Parameter { .. } if is_kernel => {}
                _ => return false,
            },
            _ => work.extend(terms.arena.operands(next)),
        }
    }
    true
}

/// The guarantees of the hardware about thread indices: they lie within the block, and the lane is the
/// linear index modulo 32 (PTX ISA, "%tid", "%laneid"); and what the user takes for granted. `shape` are the extents that `.reqntid` demands.
pub(crate) fn axioms(terms: &mut Terms, shape: Option<[u64; 3]>) -> Vec<TermId> {
    let find = |kind: Kind| {
        terms.symbols.find(&kind).map(|symbol| (symbol, terms.symbols.info(symbol).width))
    };
    let index = Axis::ALL.map(|axis| find(Kind::Tid(axis)));
    let extent = Axis::ALL.map(|axis| find(Kind::Uniform(Special::Ntid(axis))));
    let lane = find(Kind::LaneId);
    let term = |arena: &mut Arena, (id, width): (SymbolId, u8)| arena.symbol(id, width);
    let arena = &mut terms.arena;
    let mut facts = Vec::new();
    for axis in 0..3 {
        if let (Some(index), Some(extent)) = (index[axis], extent[axis]) {
            let (index, extent) = (term(arena, index), term(arena, extent));
            facts.push(arena.compare(Comparison::UnsignedLess, index, extent));
        }
    }
    if let Some(lane) = lane {
        // Modulo 32, so five bits of each are enough. An index or extent that the function does not
        // mention may be anything, unless it is fixed: the only index of an extent of one, or the extent.
        let mut low = |symbol: Option<(SymbolId, u8)>, other: Kind, width: u8| {
            let fixed = match (&other, shape) {
                (Kind::Tid(axis), Some(shape)) if shape[axis.index()] == 1 => Some(0),
                (Kind::Uniform(Special::Ntid(axis)), Some(shape)) => Some(shape[axis.index()]),
                _ => None,
            };
            let whole = match (symbol, fixed) {
                (_, Some(value)) => arena.constant(value, width),
                (Some(symbol), None) => term(arena, symbol),
                (None, None) => {
                    terms.symbols.term(arena, other, width, None, crate::expr::Range::full(width))
                }
            };
            arena.extract(whole, 0, 5)
        };
        let [x, y, z] = Axis::ALL.map(|axis| low(index[axis.index()], Kind::Tid(axis), 32));
        let [dx, dy] = [Axis::X, Axis::Y]
            .map(|axis| low(extent[axis.index()], Kind::Uniform(Special::Ntid(axis)), 32));
        let plane = arena.mul(dy, z);
        let rows = arena.add(y, plane);
        let before = arena.mul(dx, rows);
        let linear = arena.add(x, before);
        let lane = term(arena, lane);
        let lane = arena.extract(lane, 0, 5);
        facts.push(arena.equal(lane, linear));
    }
    facts.extend(&terms.assumed);
    facts
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, Range};

    crate::unit_tests!(
        the_axioms_hold_for_every_lane_of_every_shape,
        the_axioms_of_a_shape_hold_for_its_lanes,
        lanes_are_consecutive_where_it_is_said
    );

    /// Block shapes of up to 1024 threads: all small ones, and some around the edges of warps.
    fn shapes() -> Vec<[u64; 3]> {
        let x = (1..=40).chain([48, 63, 64, 65, 96, 100, 128, 512, 1023, 1024]);
        let mut shapes = Vec::new();
        for x in x {
            for y in [1, 2, 3, 4, 5, 8, 16, 31, 32, 33] {
                for z in [1, 2, 3, 7, 64] {
                    if x * y * z <= 1024 {
                        shapes.push([x, y, z]);
                    }
                }
            }
        }
        assert!(shapes.len() > 500, "only {} shapes", shapes.len());
        shapes
    }

    /// The threads of a block in the order of lanes.
    fn threads([x, y, z]: [u64; 3]) -> Vec<[u64; 3]> {
        let rows = (0..z).flat_map(|k| (0..y).map(move |j| (j, k)));
        rows.flat_map(|(j, k)| (0..x).map(move |i| [i, j, k])).collect()
    }

    /// Terms with the symbols of the axes wanted, as bits of a set; other symbols are not mentioned.
    fn symbols(wanted: u32) -> Terms {
        let mut terms = Terms::default();
        for axis in Axis::ALL {
            if wanted & 1 << axis.index() != 0 {
                terms.bounded(Kind::Tid(axis), 32, None, Range::unsigned(0, 1023, 32));
            }
            if wanted & 8 << axis.index() != 0 {
                let kind = Kind::Uniform(Special::Ntid(axis));
                terms.bounded(kind, 32, None, Range::unsigned(1, 1024, 32));
            }
        }
        terms.bounded(Kind::LaneId, 32, None, Range::unsigned(0, 31, 32));
        terms
    }

    /// Facts that hold in every thread of a block of some shape.
    fn hold(terms: &Terms, facts: &[TermId], shape: [u64; 3]) {
        let infos = &terms.symbols;
        for (linear, thread) in threads(shape).into_iter().enumerate() {
            let mut evaluator =
                Evaluator::new(&terms.arena, |symbol, _| match &infos.info(symbol).kind {
                    Kind::Tid(axis) => thread[axis.index()],
                    Kind::LaneId => linear as u64 % 32,
                    Kind::Uniform(Special::Ntid(axis)) => shape[axis.index()],
                    other => panic!("{other:?}"),
                });
            for &fact in facts {
                assert_eq!(evaluator.value(fact), 1, "{shape:?} {thread:?}");
            }
        }
    }

    fn the_axioms_hold_for_every_lane_of_every_shape() {
        for wanted in [0b111_111, 0b001_001, 0b000_000, 0b011_111] {
            let mut terms = symbols(wanted);
            let facts = axioms(&mut terms, None);
            assert!(!facts.is_empty());
            for shape in shapes() {
                hold(&terms, &facts, shape);
            }
        }
    }

    fn the_axioms_of_a_shape_hold_for_its_lanes() {
        for shape in shapes() {
            for wanted in [0b001_000, 0b000_000] {
                let mut terms = symbols(wanted);
                let facts = axioms(&mut terms, Some(shape));
                assert!(!facts.is_empty());
                hold(&terms, &facts, shape);
            }
        }
    }

    fn lanes_are_consecutive_where_it_is_said() {
        let mut terms = symbols(0b111_000);
        let extents =
            Axis::ALL.map(|axis| terms.symbol(Kind::Uniform(Special::Ntid(axis)), 32, None));
        let claim = consecutive(&mut terms.arena, extents);
        let (mut both, infos) = ([0; 2], &terms.symbols);
        for shape in shapes() {
            let mut evaluator =
                Evaluator::new(&terms.arena, |symbol, _| match &infos.info(symbol).kind {
                    Kind::Uniform(Special::Ntid(axis)) => shape[axis.index()],
                    other => panic!("{other:?}"),
                });
            let said = evaluator.value(claim) == 1;
            let all = threads(shape);
            let mut whole = all.chunks_exact(32).peekable();
            if whole.peek().is_none() {
                continue;
            }
            let holds = whole.all(|warp| {
                warp.windows(2).all(|pair| {
                    let ([x, y, z], [i, j, k]) = (pair[0], pair[1]);
                    (x + 1, y, z) == (i, j, k)
                })
            });
            assert_eq!(said, holds, "{shape:?}");
            both[usize::from(said)] += 1;
        }
        assert!(both[0] > 100 && both[1] > 50, "{both:?}");
    }
}
