//! Terms as lane `L + n` has them, given how the two lanes' symbols are related.
//!
//! In: a term of the original, and [`Relations`]: by how much each symbol is larger in lane `L + n`.
//! Out: the other lane's term; a symbol without a relation becomes a symbol of that lane.

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::TiVec;

use crate::cfg::LoopId;
use crate::expr::{Arena, Node, Substitution, SymbolId, TermId};
use crate::isa::Axis;
use crate::program::{Program, Window};
use crate::ptx::FunctionKind;
use crate::record::{StoreRecord, before_stores, is_own};
use crate::terms::{Function, Info, Kind, Origin, Side, Terms};

/// How lane `L + n` and lane `L` are related, for one `n`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relations {
    /// By how much a symbol of a loop's header is larger in lane `L + n`.
    pub ahead: FxHashMap<SymbolId, TermId>,
    /// Loops that the two lanes leave in the same iteration.
    pub together: TiVec<LoopId, bool>,
    /// Loops in which the two lanes are in the same iteration wherever they reconverge.
    pub in_step: TiVec<LoopId, bool>,
    /// Whether only values that both lanes share at any time are related: of memory, its contents when
    /// the kernel began.
    pub lasting: bool,
}

/// The terms that have been moved so far, by one distance and for one place.
#[derive(Default)]
pub(crate) struct Moved {
    done: Substitution,
    /// For each load that was moved, the load of the other lane.
    loads: FxHashMap<TermId, TermId>,
    seen: FxHashSet<TermId>,
}

/// How terms are moved: by how many lanes, and the loop in which the lanes have reconverged. (Not a path
/// through the graph.)
#[derive(Clone, Copy)]
pub(crate) struct Shift<'w, 's> {
    pub program: &'w Program<'w, 's>,
    pub stores: &'w FxHashMap<TermId, StoreRecord>,
    pub n: i32,
    pub place: Option<LoopId>,
    /// Whether all loads read the memory at the lanes' reconvergence.
    pub current: bool,
}

/// `term` in the other lane.
pub(super) fn apply(
    terms: &mut Terms,
    way: Shift<'_, '_>,
    relations: &Relations,
    moved: &mut Moved,
    term: TermId,
) -> TermId {
    for load in loads(terms, &mut moved.seen, term) {
        let Node::Apply(function, operands) = terms.arena.node(load).clone() else { continue };
        let [version, address, ..] = operands[..] else { continue };
        let there = match way.current && !is_own(terms, version) {
            true => version,
            false => substitute(terms, way, relations, moved, version),
        };
        let at = substitute(terms, way, relations, moved, address);
        let (own, other) =
            (before_stores(terms, way.stores, version), before_stores(terms, way.stores, there));
        let found = if own == other && at == address {
            // Both lanes read the same bytes, and neither has written them since its last synchronisation with others:
            // that would race with the other one's read.
            load
        } else if there == other {
            terms.arena.apply(function, &[there, at], terms.arena.width(load))
        } else {
            let version = terms.apply(Function::OtherLanesMemory, &[other], 32);
            terms.arena.apply(function, &[version, at], terms.arena.width(load))
        };
        moved.loads.insert(load, found);
    }
    substitute(terms, way, relations, moved, term)
}

fn substitute(
    terms: &mut Terms,
    way: Shift<'_, '_>,
    relations: &Relations,
    moved: &mut Moved,
    term: TermId,
) -> TermId {
    let Terms { arena, symbols, .. } = terms;
    let Moved { done, loads, .. } = moved;
    done.transform(arena, term, &mut |arena, next| {
        let symbol = match *arena.node(next) {
            Node::Symbol(symbol) => symbol,
            Node::Apply(..) => return loads.get(&next).copied(),
            _ => return None,
        };
        let info = symbols.info(symbol).clone();
        Some(match ahead(way.program, relations, arena, symbol, &info, way.n, way.place) {
            Some(ahead) => arena.add(next, ahead),
            None => {
                let range = arena.range(next);
                let kind = Kind::Shifted(symbol, way.n);
                symbols.term(arena, kind, info.width, info.made_in, range)
            }
        })
    })
}

/// The loads in a term, `seen` ones left out, from memory that other threads write; inner loads come
/// first.
fn loads(terms: &Terms, seen: &mut FxHashSet<TermId>, term: TermId) -> Vec<TermId> {
    let (mut found, mut work) = (Vec::new(), vec![term]);
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        if let Some((load, operands)) = terms.loaded(next)
            && load.is_shared_by_lanes()
            && terms.arena.constant_value(operands[0]).is_none()
        {
            found.push(next);
        }
        work.extend(terms.arena.operands(next));
    }
    // Operands have smaller numbers than the terms made of them.
    found.sort_unstable();
    found
}

/// By how much a symbol is larger in lane `L + n`; `None` if no relation is known.
fn ahead(
    program: &Program<'_, '_>,
    relations: &Relations,
    arena: &mut Arena,
    symbol: SymbolId,
    info: &Info,
    n: i32,
    place: Option<LoopId>,
) -> Option<TermId> {
    let loops = &program.flow.loops;
    for around in loops.around(info.made_in) {
        if !relations.in_step[around] {
            return None;
        }
        // A value from a loop that lanes have left is that of each lane's own last iteration.
        if !loops.nested(place, around) && !relations.together[around] {
            return None;
        }
    }
    let kernel = program.function.kind == FunctionKind::Entry;
    let same = |arena: &mut Arena| Some(arena.constant(0, info.width));
    match &info.kind {
        Kind::Memory(_, origin) if relations.lasting && *origin != Origin::Entry => None,
        Kind::Tid(Axis::X) | Kind::LaneId => Some(arena.constant(n as i64 as u64, info.width)),
        Kind::Tid(_) | Kind::Uniform(_) | Kind::Address(_) => same(arena),
        Kind::Parameter { .. } if kernel => same(arena),
        // See `versions`: a thread that wrote between two lanes' reads of one version would be ordered
        // with both, and could not be with the shuffle at which they reconverge in between.
        Kind::Memory(Window::Global | Window::Shared, Origin::Entry | Origin::Event(_)) => {
            same(arena)
        }
        Kind::Memory(Window::Global | Window::Shared, Origin::Header(id))
            if id.0 as usize >= loops.loops.len() =>
        {
            same(arena)
        }
        Kind::Phi(Side::Original, ..) | Kind::Memory(_, Origin::Header(_)) => {
            relations.ahead.get(&symbol).copied()
        }
        _ => None,
    }
}
