//! The same term in another lane of the warp, for warps whose lanes are consecutive in `tid.x`.
//!
//! For a distance `n` and each value that goes round a loop the question is by how much lane `L + n`
//! is ahead of lane `L`. It is answered by induction over the iterations: the difference at the
//! entry is a term; it is assumed at the header and has to come out again at the latch. What fails
//! is unrelated, and the others are tried again without it, until nothing changes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::execution::{Execution, StoreRecord};
use super::instructions::Role;
use super::program::Program;
use super::symbols::{Info, Kind, Origin, Side, Terms};
use super::versions::{ELSEWHERE, before_stores};
use super::window::Window;
use crate::cfg::LoopId;
use crate::expr::{Arena, Node, Substitution, SymbolId, TermId};
use crate::isa::{Axis, Opcode, Qualifier};
use crate::ptx::FunctionKind;
use crate::solver::Names;

/// Moves terms between lanes and remembers what it has moved. Knows the original program: what both
/// programs share has the original's meaning.
pub(super) struct Lanes<'r, 's> {
    program: &'r Program<'r, 's>,
    execution: &'r Execution,
    /// Loops of which the rewritten program's control flow lets lanes meet in different iterations.
    apart: Vec<bool>,
    /// Whether there are atomics, fences or calls: what lanes load behind one of these each for
    /// itself may differ.
    unordered: bool,
    relations: FxHashMap<i32, Relations>,
    moved: FxHashMap<(i32, Option<LoopId>, bool), Moved>,
}

/// How lane `L + n` and lane `L` are related, for one `n`.
#[derive(Clone, Debug, Default)]
struct Relations {
    /// By how much a symbol of a loop's header is larger in lane `L + n`.
    ahead: FxHashMap<SymbolId, TermId>,
    /// Loops that the two lanes leave in the same iteration.
    together: Vec<bool>,
    /// Loops in which the two lanes are in the same iteration wherever they meet.
    in_step: Vec<bool>,
    /// Only what is the same for both lanes at any time is related: of memory, what it held when the
    /// kernel began.
    lasting: bool,
}

impl<'r, 's> Lanes<'r, 's> {
    pub fn new(program: &'r Program<'r, 's>, execution: &'r Execution, apart: Vec<bool>) -> Self {
        let (relations, moved) = (FxHashMap::default(), FxHashMap::default());
        // What all threads of the block do together is no such thing.
        let unordered = execution.events.iter().any(|event| {
            let ast = program.flow.insts[event.inst as usize].ast;
            let of_block = matches!(ast.form.opcode, Opcode::Bar | Opcode::Barrier)
                && !ast.form.has(Qualifier::Warp)
                && !ast.form.has(Qualifier::Red);
            match event.role {
                Role::Effect => true,
                Role::Barrier => !of_block,
                _ => false,
            }
        });
        Lanes { program, execution, apart, unordered, relations, moved }
    }

    /// The shape that `.reqntid` demands of a block.
    pub fn required_shape(&self) -> Option<[u64; 3]> {
        let exact = self.program.function.directive("reqntid")?;
        Some([0, 1, 2].map(|axis| exact.get(axis).copied().unwrap_or(1)))
    }

    /// `term` as lane `L + n` has it, where both lanes have met in a block of the loop `place`.
    pub fn shift(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        n: i32,
        place: Option<LoopId>,
    ) -> TermId {
        self.shifted(terms, term, (n, place), false)
    }

    /// `term` as lane `L + n` has it, for a term all of whose loads read what memory holds where the lanes
    /// have met: the value that lane `L + n` has read is the value that lane `L` would read there.
    /// Whoever wrote between the two would be ordered with both reads, and could not be with the
    /// meeting; so it does not matter by which ways the two came, and past which synchronisation.
    pub fn shift_current(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        n: i32,
        place: Option<LoopId>,
    ) -> TermId {
        self.shifted(terms, term, (n, place), true)
    }

    fn shifted(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        (n, place): (i32, Option<LoopId>),
        current: bool,
    ) -> TermId {
        if n == 0 {
            return term;
        }
        if !self.relations.contains_key(&n) {
            let relations = self.relate(terms, n);
            self.relations.insert(n, relations);
        }
        let way = Way { program: self.program, stores: &self.execution.stores, n, place, current };
        let moved = self.moved.entry((n, place, current)).or_default();
        apply(terms, way, &self.relations[&n], moved, term)
    }

    /// Finds the relations for a distance.
    fn relate(&self, terms: &mut Terms, n: i32) -> Relations {
        let (program, execution) = (self.program, self.execution);
        let count = program.flow.loops.loops.len();
        let mut failed: FxHashSet<SymbolId> = FxHashSet::default();
        let mut relations = Relations {
            ahead: FxHashMap::default(),
            together: vec![true; count],
            in_step: self.apart.iter().map(|apart| !apart).collect(),
            lasting: false,
        };
        loop {
            relations.ahead.clear();
            // What goes round a loop, and the ways taken, must be related whenever it was loaded.
            relations.lasting = self.unordered;
            let stores = &execution.stores;
            let mut moved: FxHashMap<Option<LoopId>, Moved> = FxHashMap::default();
            let mut shift = |terms: &mut Terms, relations: &Relations, term, place| {
                let way = Way { program, stores, n, place, current: false };
                apply(terms, way, relations, moved.entry(place).or_default(), term)
            };
            // Versions are compared up to the lanes' own stores, see `apply`.
            let versions = |terms: &mut Terms, relations: &mut Relations, term, place| {
                relations.lasting = false;
                let way = Way { program, stores, n, place, current: false };
                let version = before_stores(terms, stores, term);
                let there = apply(terms, way, relations, &mut Moved::default(), version);
                relations.lasting = self.unordered;
                terms.arena.sub(there, version)
            };
            let ids = || (0..count as u32).map(LoopId);
            let mut changed = false;
            // Loops stand behind those around and before them, so what an initial value is made of
            // is related already.
            for id in ids() {
                let Some(record) = &execution.loops[id.0 as usize] else { continue };
                let parent = program.flow.loops.get(id).parent;
                for round in &record.rounds {
                    let Some(symbol) = terms.as_symbol(round.symbol) else { continue };
                    if failed.contains(&symbol) {
                        continue;
                    }
                    let ahead = match round.register {
                        Some(_) => {
                            let there = shift(terms, &relations, round.initial, parent);
                            terms.arena.sub(there, round.initial)
                        }
                        None => versions(terms, &mut relations, round.initial, parent),
                    };
                    // A version of memory is the same one or another one.
                    if round.register.is_none() && terms.arena.constant_value(ahead) != Some(0) {
                        failed.insert(symbol);
                        changed = true;
                        continue;
                    }
                    relations.ahead.insert(symbol, ahead);
                }
            }
            for id in ids() {
                let index = id.0 as usize;
                let Some(record) = &execution.loops[index] else {
                    changed |= std::mem::replace(&mut relations.together[index], false);
                    continue;
                };
                for round in &record.rounds {
                    let Some(symbol) = terms.as_symbol(round.symbol) else { continue };
                    let Some(&ahead) = relations.ahead.get(&symbol) else { continue };
                    let apart = match round.register {
                        Some(_) => {
                            let there = shift(terms, &relations, round.latch, Some(id));
                            terms.arena.sub(there, round.latch)
                        }
                        None => versions(terms, &mut relations, round.latch, Some(id)),
                    };
                    if apart != ahead {
                        failed.insert(symbol);
                        changed = true;
                    }
                }
                if relations.together[index]
                    && shift(terms, &relations, record.again, Some(id)) != record.again
                {
                    relations.together[index] = false;
                    changed = true;
                }
            }
            for apart in &program.flow.taken_apart {
                if !relations.in_step[apart.of.0 as usize] {
                    continue;
                }
                let uniform = apart.branch.is_some_and(|branch| {
                    let place = program.loop_of(branch);
                    execution.branches[branch.index()]
                        .is_some_and(|c| shift(terms, &relations, c, place) == c)
                });
                if !uniform {
                    relations.in_step[apart.of.0 as usize] = false;
                    changed = true;
                }
            }
            if !changed {
                relations.lasting = false;
                return relations;
            }
        }
    }
}

/// The terms that have been moved so far, by one distance and for one place.
#[derive(Default)]
struct Moved {
    done: Substitution,
    /// For each load that was moved, the load of the other lane.
    loads: FxHashMap<TermId, TermId>,
    seen: FxHashSet<TermId>,
}

/// How terms are moved: by how many lanes, and where the lanes have met. (No way through the graph.)
#[derive(Clone, Copy)]
struct Way<'w, 's> {
    program: &'w Program<'w, 's>,
    stores: &'w FxHashMap<TermId, StoreRecord>,
    n: i32,
    place: Option<LoopId>,
    /// Whether all loads read what memory holds where the lanes have met.
    current: bool,
}

fn apply(
    terms: &mut Terms,
    way: Way<'_, '_>,
    relations: &Relations,
    moved: &mut Moved,
    term: TermId,
) -> TermId {
    for load in loads(terms, &mut moved.seen, term) {
        let Node::Apply(function, operands) = terms.arena.node(load).clone() else { continue };
        let [version, address, ..] = operands[..] else { continue };
        let there = match way.current {
            true => version,
            false => substitute(terms, way, relations, moved, version),
        };
        let at = substitute(terms, way, relations, moved, address);
        let (own, other) =
            (before_stores(terms, way.stores, version), before_stores(terms, way.stores, there));
        let found = if own == other && at == address {
            // Both lanes read the same bytes, and neither has written them since it could last see
            // what others wrote: that would race with the other one's read.
            load
        } else if there == other {
            terms.arena.apply(function, &[there, at], terms.arena.width(load))
        } else {
            let version = terms.function(ELSEWHERE, &[other], 32);
            terms.arena.apply(function, &[version, at], terms.arena.width(load))
        };
        moved.loads.insert(load, found);
    }
    substitute(terms, way, relations, moved, term)
}

fn substitute(
    terms: &mut Terms,
    way: Way<'_, '_>,
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

/// The loads from memory that other threads write which a term contains and `seen` does not, inner
/// ones first.
fn loads(terms: &Terms, seen: &mut FxHashSet<TermId>, term: TermId) -> Vec<TermId> {
    let (mut found, mut work) = (Vec::new(), vec![term]);
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        if let Node::Apply(function, operands) = terms.arena.node(next) {
            let name = terms.symbols.function(*function);
            let shared = name.starts_with("load.global.") || name.starts_with("load.shared.");
            if shared && terms.arena.constant_value(operands[0]).is_none() {
                found.push(next);
            }
        }
        work.extend(terms.arena.operands(next));
    }
    // Operands have smaller numbers than what is made of them.
    found.sort_unstable();
    found
}

/// By how much a symbol is larger in lane `L + n`; `None` where nothing is known.
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
        if !relations.in_step[around.0 as usize] {
            return None;
        }
        // A value from a loop that was left belongs to the lane's own last iteration.
        if !loops.nested(place, around) && !relations.together[around.0 as usize] {
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
        // See `memory`: whoever wrote between what two lanes read at one version would be ordered
        // with both, and could not be with the shuffle at which they meet in between.
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
