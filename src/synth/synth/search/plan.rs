//! The plan of a search: the order of choices, the needs of each sink, and the demands that a choice has to let through
//! (`level` defines these).

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::bits::Bits;
use super::level::{Demand, Dynamic, Level, Sink, SinkId, Used, sinks};
use super::sets::{Masks, SetId, Sets};
use crate::synth::program::{CellId, Edge, HoleId, Made, Program, Statement};
use crate::synth::term::{Fold, TermId, UNDEFINED};

/// The most bytes that a plan takes; the search does not begin if it would need more.
pub const MOST_PLANNED: usize = 1 << 28;

/// Everything that is known before the search.
pub(super) struct Plan {
    /// The choices in their order.
    pub levels: Vec<Level>,
    /// The goals.
    pub sinks: TiVec<SinkId, Sink>,
    /// The values that the points of each hole may have.
    pub supports: TiVec<HoleId, Masks>,
    /// All sets.
    pub sets: TiVec<SetId, Bits<CellId>>,
    /// Terms that used cells may hold, as bits.
    pub allowed: Vec<Bits<TermId>>,
    /// Folds that are complete from the start.
    pub first_folds: Vec<usize>,
    /// Sinks that are complete from the start.
    pub first_sinks: Vec<SinkId>,
    /// For each statement that is a fold: whether a later statement reads it.
    pub read: Vec<bool>,
    /// Whether the plan is incomplete, because it would be too large.
    pub too_large: bool,
    /// For each gather its edges, by target and value: for each target as many as there are values.
    pub incoming: Vec<Vec<Edge>>,
    /// For each movement and each cell before it where the cell's edges begin and end.
    pub outgoing: Vec<TiVec<CellId, (u32, u32)>>,
}

impl Plan {
    /// Makes the plan. `program` gains terms.
    pub(super) fn new(program: &mut Program) -> Plan {
        let sinks = sinks(program);
        let splits = splits(program, &sinks);
        let program = &*program;
        let (sets, origins) = (Sets::new(program), FxHashMap::default());
        let mut builder = Builder { program, sinks: &sinks, sets, splits, origins };
        let mut levels: Vec<Level> = Vec::new();
        let mut allowed = Vec::new();
        let (mut first_folds, mut first_sinks) = (Vec::new(), Vec::new());
        for (number, statement) in program.statements.iter().enumerate() {
            match statement {
                Statement::Move { hole, .. } => {
                    levels.push(builder.movement(number, *hole, &mut allowed));
                }
                Statement::Fold { holes, .. } => {
                    for &hole in holes {
                        levels.push(Level::new(number, hole));
                    }
                    levels
                        .last_mut()
                        .map_or(&mut first_folds, |level| &mut level.folds)
                        .push(number);
                }
            }
            let own = sinks
                .keys()
                .filter(|&sink| statement.made().has(program.goals[sinks[sink].goal].cell));
            levels.last_mut().map_or(&mut first_sinks, |level| &mut level.complete).extend(own);
        }
        let input = program.initial.next_key();
        let early = sinks.keys().filter(|&s| program.goals[sinks[s].goal].cell < input);
        first_sinks.extend(early);
        let read = program.statements.iter().map(|one| is_read(program, one)).collect();
        let supports = program.holes.keys().map(|hole| builder.sets.support(hole).clone());
        let supports = supports.collect();
        let outgoing = program.statements.iter().map(outgoing).collect();
        let too_large = builder.sets.bytes() > MOST_PLANNED;
        let (sets, incoming) = builder.sets.into_parts();
        Plan {
            too_large,
            incoming,
            outgoing,
            levels,
            sinks,
            supports,
            sets,
            allowed,
            first_folds,
            first_sinks,
            read,
        }
    }
}

/// The ways to split each element of a sink into a product and one more factor.
fn splits(
    program: &mut Program,
    sinks: &TiSlice<SinkId, Sink>,
) -> FxHashMap<TermId, Vec<(TermId, TermId)>> {
    let mut splits: FxHashMap<TermId, Vec<(TermId, TermId)>> = FxHashMap::default();
    for &(element, _) in sinks.iter().flat_map(|sink| &sink.elements) {
        splits.entry(element).or_insert_with(|| {
            let factors = program.terms.factors(element);
            let mut found: Vec<(TermId, TermId)> = Vec::new();
            for at in 0..factors.len() {
                let mut others = factors.clone();
                let one = others.remove(at);
                if found.iter().all(|(_, known)| *known != one) {
                    found.push((program.terms.product(&others), one));
                }
            }
            found
        });
    }
    splits
}

/// Whether a statement reads what another one makes.
fn is_read(program: &Program, statement: &Statement) -> bool {
    program.statements.iter().any(|other| match other {
        Statement::Move { edges, .. } => edges.iter().any(|edge| statement.made().has(edge.source)),
        Statement::Fold { slots, .. } => slots
            .iter()
            .flatten()
            .any(|slot| slot.factors.iter().any(|&cell| statement.made().has(cell))),
    })
}

/// For a movement and each cell before it where the cell's edges begin and end.
fn outgoing(statement: &Statement) -> TiVec<CellId, (u32, u32)> {
    match statement {
        Statement::Move { edges, made, .. } => {
            let mut ranges = ti_vec![(0, 0); made.first.into()];
            for (at, edge) in (0..).zip(edges) {
                let range = &mut ranges[edge.source];
                *range = if range.1 == 0 { (at, at + 1) } else { (range.0, at + 1) };
            }
            ranges
        }
        Statement::Fold { .. } => TiVec::new(),
    }
}

struct Builder<'p> {
    program: &'p Program,
    sinks: &'p TiSlice<SinkId, Sink>,
    sets: Sets<'p>,
    splits: FxHashMap<TermId, Vec<(TermId, TermId)>>,
    /// The terms that cells of inputs hold, for sets of these.
    origins: FxHashMap<SetId, Bits<TermId>>,
}

/// Slots of a sink with equal known factors: these, and for each other factor the set of its cells.
type Group = (Vec<TermId>, Vec<SetId>);

impl Builder<'_> {
    /// Takes the known factors away from an element.
    fn rest(&self, element: TermId, known: &[TermId]) -> Option<Vec<TermId>> {
        let mut rest = self.program.terms.factors(element);
        for term in known {
            let at = rest.iter().position(|other| other == term)?;
            rest.remove(at);
        }
        Some(rest)
    }

    fn groups(&mut self, sink: &Sink) -> Vec<Group> {
        let input = self.program.initial.next_key();
        // Slots with another number of open factors are another group.
        let mut order: Vec<(usize, Vec<TermId>)> = Vec::new();
        let mut found: FxHashMap<(usize, Vec<TermId>), Vec<Vec<CellId>>> = FxHashMap::default();
        for slot in &sink.slots {
            let (known, open): (Vec<CellId>, Vec<CellId>) =
                slot.factors.iter().partition(|&&cell| cell < input);
            let mut known: Vec<TermId> =
                known.iter().map(|&cell| self.program.initial[cell]).collect();
            if known.contains(&UNDEFINED) {
                continue;
            }
            known.sort_unstable();
            let key = (open.len(), known);
            let ports = found.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                vec![Vec::new(); open.len()]
            });
            open.iter().zip(ports).for_each(|(&cell, port)| port.push(cell));
        }
        order
            .into_iter()
            .map(|key| {
                let ports = found.remove(&key).unwrap_or_default();
                let ports = ports.into_iter().map(|port| self.sets.of(port)).collect();
                (key.1, ports)
            })
            .collect()
    }

    fn movement(
        &mut self,
        statement: usize,
        hole: HoleId,
        allowed: &mut Vec<Bits<TermId>>,
    ) -> Level {
        let mut level = Level::new(statement, hole);
        let mut known = FxHashSet::default();
        let sinks = self.sinks;
        for (number, sink) in sinks.iter_enumerated().filter(|(_, sink)| !sink.opaque) {
            if self.sets.bytes() > MOST_PLANNED {
                return level;
            }
            if let Some(dynamic) = self.dynamic(statement, number, sink) {
                level.dynamic.push(dynamic);
                continue;
            }
            let groups = self.groups(sink);
            for &(element, count) in &sink.elements {
                let Some(mut demand) = self.demand((statement, number), &groups, element) else {
                    continue;
                };
                if demand.copies == 1 && sink.op == Fold::Sum {
                    demand.copies = count + u32::from(planted!(Bug::OneCopyMore));
                } else {
                    demand.copies = 1;
                }
                if known.insert((demand.term, demand.via, demand.around.clone(), demand.copies)) {
                    level.demands.push(demand);
                }
            }
        }
        self.used(&mut level, allowed);
        level
    }

    /// The demand of an element at a statement; `copies` is 1 if the cells of the statement are the sink's own.
    fn demand(
        &mut self,
        (statement, sink): (usize, SinkId),
        groups: &[Group],
        element: TermId,
    ) -> Option<Demand> {
        let made = self.program.statements[statement].made().clone();
        let cells = self.program.cells;
        let (mut via, mut around) = (Bits::new(cells), Bits::new(cells));
        let mut term = None;
        let mut own = true;
        for (known, ports) in groups {
            let Some(rest) = self.rest(element, known) else { continue };
            if rest.len() != ports.len() {
                continue;
            }
            let mut relevant = None;
            for &port in ports {
                let behind = self.sets.behind(statement, port)?;
                let touches = self.sets.get(behind).iter().any(|cell| made.has(cell));
                if touches && relevant.replace((port, behind)).is_some() {
                    return None;
                }
            }
            let (port, behind) = relevant?;
            let origin = self.sets.origin(port)?;
            let origin = self.origins.entry(origin).or_insert_with(|| {
                let mut terms = Bits::new(self.program.terms.count());
                let cells = self.sets.get(origin).iter();
                cells
                    .filter_map(|cell| self.program.initial.get(cell))
                    .for_each(|&term| terms.insert(term));
                terms
            });
            let mut possible: Vec<TermId> =
                rest.into_iter().filter(|&term| origin.has(term)).collect();
            possible.dedup();
            match *possible {
                [] => continue,
                [only] if term.is_none_or(|term| term == only) => term = Some(only),
                _ => return None,
            }
            own &= port == behind;
            for cell in self.sets.get(behind).iter() {
                let set = if made.has(cell) { &mut via } else { &mut around };
                set.insert(cell);
            }
        }
        let input = self.program.initial.next_key();
        // Nothing can ever meet it: a demand without a way says so.
        let term = term.unwrap_or(element);
        let around: Vec<CellId> = around.iter().filter(|&cell| cell < made.first).collect();
        if around.iter().any(|&cell| cell < input && self.program.initial[cell] == term) {
            return None;
        }
        let forgotten = planted!(Bug::AroundForgotten);
        let around = around.into_iter().filter(|&cell| cell >= input && !forgotten).collect();
        let via = self.sets.intern(via);
        Some(Demand { term, via, around, copies: if own { 1 } else { 0 }, sink })
    }

    /// The sink as one whose demands depend on earlier choices, if it is one at this statement.
    fn dynamic(&mut self, statement: usize, number: SinkId, sink: &Sink) -> Option<Dynamic> {
        let made = self.program.statements[statement].made().clone();
        let input = self.program.initial.next_key();
        let chosen = |cell: CellId| cell >= input && cell < made.first;
        if !sink.slots.iter().any(|slot| slot.factors.iter().any(|&cell| chosen(cell))) {
            return None;
        }
        let mut slots = TiVec::new();
        let mut touches = false;
        for slot in &sink.slots {
            let (known, open): (Vec<CellId>, Vec<CellId>) =
                slot.factors.iter().partition(|&&cell| cell < made.first);
            let [open] = *open else { return None };
            if known.is_empty() {
                return None;
            }
            let port = self.sets.of([open]);
            let behind = self.sets.behind(statement, port)?;
            let own: Vec<CellId> =
                self.sets.get(behind).iter().filter(|&cell| made.has(cell)).collect();
            let all = self.sets.get(behind).iter().count();
            if own.len() != all {
                return None;
            }
            touches |= !own.is_empty();
            slots.push((known, behind));
        }
        let splits =
            sink.elements.iter().map(|(element, _)| self.splits[element].clone()).collect();
        touches.then_some(Dynamic { sink: number, slots, splits })
    }

    /// Finds the cells that every solution uses: as many values have to come through as there are cells.
    fn used(&mut self, level: &mut Level, allowed: &mut Vec<Bits<TermId>>) {
        let Statement::Move { scatter, made, edges, .. } =
            &self.program.statements[level.statement]
        else {
            return;
        };
        let components = self.components(level, made);
        let full = self.full(level, &components, made, allowed);
        if *scatter {
            return;
        }
        for (at, component) in components.iter().enumerate() {
            if let Some(&(allowed, _)) = full.get(component) {
                let cell = made.cell(at);
                let edges = self.sets.incoming(level.statement, cell).to_vec();
                level.used.push(Used { edges, allowed });
            }
        }
        self.differing(level, edges, |target| {
            let component = components[made.place(target)];
            full.get(&component).filter(|(_, single)| *single).map(|_| component)
        });
    }

    /// For each cell that a movement makes a number that it shares with the cells which the same values may come through.
    fn components(&self, level: &Level, made: &Made) -> Vec<usize> {
        fn root(parent: &mut [usize], mut at: usize) -> usize {
            while parent[at] != at {
                parent[at] = parent[parent[at]];
                at = parent[at];
            }
            at
        }
        let count = made.count as usize;
        let mut parent: Vec<usize> = (0..count).collect();
        let mut seen = FxHashSet::default();
        for demand in level.demands.iter().filter(|demand| demand.around.is_empty()) {
            if !seen.insert(demand.via) {
                continue;
            }
            let mut cells = self.sets.get(demand.via).iter();
            let Some(first) = cells.next() else { continue };
            for cell in cells {
                let a = root(&mut parent, made.place(first));
                let b = root(&mut parent, made.place(cell));
                parent[a] = b;
            }
        }
        (0..count).map(|at| root(&mut parent, at)).collect()
    }

    /// The components all of whose cells are used: by their numbers the index of the terms that these may hold, and whether
    /// each value comes through once.
    fn full(
        &self,
        level: &mut Level,
        components: &[usize],
        made: &Made,
        allowed: &mut Vec<Bits<TermId>>,
    ) -> FxHashMap<usize, (usize, bool)> {
        let mut sizes: FxHashMap<usize, usize> = FxHashMap::default();
        for &component in components {
            *sizes.entry(component).or_default() += 1;
        }
        // For each component the values that come through it, each with its copies.
        let mut values: FxHashMap<usize, FxHashMap<TermId, (u32, SinkId)>> = FxHashMap::default();
        for demand in level.demands.iter().filter(|demand| demand.around.is_empty()) {
            let Some(cell) = self.sets.get(demand.via).iter().next() else { continue };
            let component = components[made.place(cell)];
            let copies =
                values.entry(component).or_default().entry(demand.term).or_insert((0, demand.sink));
            copies.0 = copies.0.max(demand.copies.max(1));
        }
        let mut full: FxHashMap<usize, (usize, bool)> = FxHashMap::default();
        let terms = self.program.terms.count();
        for component in components {
            let Some(values) = values.get(component) else { continue };
            if full.contains_key(component) {
                continue;
            }
            let total: u32 = values.values().map(|(copies, _)| copies).sum();
            let size = sizes[component];
            let crowd = total as usize + usize::from(planted!(Bug::CrowdedTooSoon));
            if crowd > size && level.crowded.is_none() {
                let sink = values.values().map(|(_, sink)| *sink).min().unwrap_or(SinkId::from(0));
                level.crowded = Some((total as usize, size, sink));
            }
            let enough = total as usize + usize::from(planted!(Bug::FullTooSoon)) >= size;
            if enough && total as usize <= size {
                let mut bits = Bits::new(terms);
                values.keys().for_each(|&term| bits.insert(term));
                full.insert(*component, (allowed.len(), total as usize == values.len()));
                allowed.push(bits);
            }
        }
        full
    }

    /// Finds out whether used cells tell the places of a coordinate apart, where one source cell could be read at all of
    /// them. `single` is the component of a cell all of whose values come through once.
    fn differing(
        &self,
        level: &mut Level,
        edges: &[Edge],
        single: impl Fn(CellId) -> Option<usize>,
    ) {
        let hole = &self.program.holes[level.hole];
        let [first, second] = hole.extents;
        let (mut rows, mut columns) = (FxHashSet::default(), FxHashSet::default());
        let mut ways: Vec<(u8, usize, usize)> = Vec::new();
        for edges in edges.chunk_by(|a, b| a.source == b.source) {
            ways.clear();
            for edge in edges {
                if let Some(component) = single(edge.target) {
                    ways.push((edge.value, component, edge.point.into()));
                }
            }
            ways.sort_unstable();
            ways.dedup();
            let together = ways.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
            for ways in together.filter(|ways| ways.len() >= first.min(second)) {
                let (mut in_row, mut in_column) = ([0; 64], [0; 64]);
                for &(_, _, point) in ways {
                    in_row[point / first] += 1;
                    in_column[point % first] += 1;
                }
                let value = ways[0].0;
                rows.extend((0..second).filter(|&k| in_row[k] == first).map(|k| (k, value)));
                columns.extend((0..first).filter(|&i| in_column[i] == second).map(|i| (i, value)));
            }
        }
        level.first_differ =
            first > 1 && rows.len() == second * hole.values || planted!(Bug::AlwaysDiffer);
        level.second_differ = second > 1 && columns.len() == first * hole.values;
    }
}
