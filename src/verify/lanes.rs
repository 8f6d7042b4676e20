//! The same term in another lane of the warp, for warps whose lanes are consecutive in `tid.x`.
//!
//! For a distance `n` and each value that goes round a loop the question is by how much lane `L + n`
//! is ahead of lane `L`. It is answered by induction over the iterations: the difference at the
//! entry is a term; it is assumed at the header and has to come out again at the latch. What fails
//! is unrelated, and the others are tried again without it, until nothing changes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::evaluate::Execution;
use super::instructions::Role;
use super::program::Program;
use super::symbols::{Info, Kind, Origin, Side, Terms, Window};
use crate::cfg::LoopId;
use crate::expr::{Arena, Substitution, SymbolId, TermId};
use crate::ptx::FunctionKind;

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
    moved: FxHashMap<(i32, Option<LoopId>), Substitution>,
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
            let of_block =
                matches!(ast.mnemonic(), "bar" | "barrier") && !ast.has("warp") && !ast.has("red");
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
        if n == 0 {
            return term;
        }
        if !self.relations.contains_key(&n) {
            let relations = self.relate(terms, n);
            self.relations.insert(n, relations);
        }
        let program = self.program;
        let relations = &self.relations[&n];
        let substitution = self.moved.entry((n, place)).or_default();
        apply(terms, program, relations, substitution, term, n, place)
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
            let mut moved: FxHashMap<Option<LoopId>, Substitution> = FxHashMap::default();
            let mut shift = |terms: &mut Terms, relations: &Relations, term, place| {
                let substitution = moved.entry(place).or_default();
                apply(terms, program, relations, substitution, term, n, place)
            };
            let versions = |terms: &mut Terms, relations: &mut Relations, term, place| {
                relations.lasting = false;
                let there =
                    apply(terms, program, relations, &mut Substitution::default(), term, n, place);
                relations.lasting = self.unordered;
                there
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
                    let there = match round.register {
                        Some(_) => shift(terms, &relations, round.initial, parent),
                        None => versions(terms, &mut relations, round.initial, parent),
                    };
                    let ahead = terms.arena.sub(there, round.initial);
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
                    let there = match round.register {
                        Some(_) => shift(terms, &relations, round.latch, Some(id)),
                        None => versions(terms, &mut relations, round.latch, Some(id)),
                    };
                    if terms.arena.sub(there, round.latch) != ahead {
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

fn apply(
    terms: &mut Terms,
    program: &Program<'_, '_>,
    relations: &Relations,
    substitution: &mut Substitution,
    term: TermId,
    n: i32,
    place: Option<LoopId>,
) -> TermId {
    let symbols = &mut terms.symbols;
    substitution.apply(&mut terms.arena, term, &mut |arena: &mut Arena, symbol, own| {
        let info = symbols.info(symbol).clone();
        match ahead(program, relations, arena, symbol, &info, n, place) {
            Some(ahead) => arena.add(own, ahead),
            None => {
                let range = arena.range(own);
                let kind = Kind::Shifted(symbol, n);
                symbols.term(arena, kind, info.width, info.made_in, range)
            }
        }
    })
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
        Kind::Tid(0) | Kind::LaneId => Some(arena.constant(n as i64 as u64, info.width)),
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
