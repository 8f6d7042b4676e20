//! What a warp of a kernel stores, and what its specification stores, as a [`Program`] for the search.
//!
//! A choice of an index is an edge into a cell for each of its values. A choice by a condition, of a sum and the same
//! sum with one product more, is a slot of a fold. Sums of floating-point numbers are taken as if their order did not
//! matter: what comes out is only proposed, and proved without that afterwards.

use rustc_hash::FxHashMap;

use super::hole::{Holes, Kind, Use};
use super::node::{Bag, Id, Node, Nodes, Point, UNDEFINED};
use super::staged::{self, Staged};
use super::warp::Outcome;
use crate::isa::{Form, Opcode};
use crate::source::Span;
use crate::synth::family::{Family, Request};
use crate::synth::program::{
    self, Cell, Edge, Goal, Guard, Made, Measure, Price, Program, Statement,
};
use crate::synth::term::{Fold, Term};

/// The most ways of values through all statements.
const MOST_EDGES: usize = 1 << 21;

/// Why there is no program.
#[derive(Debug)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// The hole that it has to do with.
    pub hole: Option<usize>,
}

fn refused<T>(hole: Option<usize>, message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { message: message.into(), hole })
}

/// A slot over virtual cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// What is multiplied.
    pub factors: Vec<u32>,
    /// The point of the condition under which it takes part.
    pub guard: Option<Point>,
}

/// A cell before its place in the program is known.
#[derive(Debug)]
pub enum Virtual {
    /// It holds this from the beginning.
    Initial(Term),
    /// One of these, by the value at a point.
    Move(Point, Vec<u32>),
    /// A fold.
    Fold(Fold, Vec<Slot>),
}

/// How an operation is read.
enum Reading {
    Fold(Fold, Vec<Id>),
    Product(Vec<Id>),
    Other,
}

/// The group of cells that one statement makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Group {
    Move(usize),
    /// A fold with conditions: the least of its holes.
    Guarded(usize),
    /// A fold without conditions, by its depth and its operator.
    Plain(usize, u8),
}

struct Lowering<'l> {
    nodes: &'l Nodes,
    holes: &'l Holes,
    program: Program,
    cells: Vec<Virtual>,
    of: FxHashMap<Id, u32>,
    slots: FxHashMap<(Id, u8), Vec<Slot>>,
    terms: FxHashMap<Id, Term>,
    open: FxHashMap<Id, bool>,
    inputs: FxHashMap<String, (u32, u8)>,
    others: FxHashMap<Id, u32>,
}

/// What is to be solved.
#[derive(Debug)]
pub enum Problem {
    /// Statement by statement.
    Program(Program),
    /// All steps at once.
    Staged(Staged),
}

/// Makes the program.
///
/// # Errors
/// The kernel stores other places than its specification, or a hole is used in a way that the search has no place for.
pub fn lower(
    nodes: &Nodes,
    kernel: &Outcome,
    wanted: &Outcome,
    space: u8,
    spec: Span,
) -> Result<Problem, Refused> {
    let mut lowering = Lowering {
        nodes,
        holes: &kernel.holes,
        program: Program::default(),
        cells: vec![Virtual::Initial(0)],
        of: FxHashMap::default(),
        slots: FxHashMap::default(),
        terms: FxHashMap::default(),
        open: FxHashMap::default(),
        inputs: FxHashMap::default(),
        others: FxHashMap::default(),
    };
    lowering.of.insert(UNDEFINED, 0);
    let mut goals = Vec::new();
    for ((buffer, offset), (bytes, node)) in wanted.results() {
        let name = place(nodes, buffer, offset, bytes);
        let Some(&(own, value)) = kernel.memory.get(&(buffer, offset)) else {
            return refused(
                None,
                format!("the kernel does not store {name}, and its specification does"),
            );
        };
        if own != bytes {
            return refused(None, format!("the kernel stores {name} by accesses of another size"));
        }
        if lowering.is_open(node) {
            return refused(None, "the specification has holes itself");
        }
        let term = match lowering.operator(value, 0).filter(|_| lowering.is_nothing(node)) {
            // A sum of nothing.
            Some(op) => lowering.program.terms.fold(op, &[]),
            None => lowering.term(node),
        };
        if !lowering.is_open(value) {
            // Nothing to be found here; the proof compares it.
            continue;
        }
        let cell = lowering.cell(value)?;
        goals.push((cell, term, name));
    }
    for ((buffer, offset), (bytes, _)) in kernel.results() {
        if !wanted.memory.contains_key(&(buffer, offset)) {
            let name = place(nodes, buffer, offset, bytes);
            return refused(
                None,
                format!("the kernel stores {name}, and its specification does not"),
            );
        }
    }
    lowering.finish(goals, space, spec)
}

/// A place in a buffer for people.
pub fn place(nodes: &Nodes, buffer: u32, offset: i64, bytes: u8) -> String {
    format!("{}[{}]", nodes.buffers[buffer as usize], offset / i64::from(bytes.max(1)))
}

impl Lowering<'_> {
    /// Whether a hole decides about a node.
    fn is_open(&mut self, id: Id) -> bool {
        if let Some(&open) = self.open.get(&id) {
            return open;
        }
        let open = match self.nodes.node(id) {
            Node::Choice(..) => true,
            Node::Bag(_, args) | Node::Tree(_, args) => args.iter().any(|&arg| self.is_open(arg)),
            _ => false,
        };
        self.open.insert(id, open);
        open
    }

    fn reading(&self, id: Id) -> Reading {
        match self.nodes.node(id) {
            Node::Bag(bag, args) => {
                let args = args.to_vec();
                match bag {
                    Bag::Add(_) => Reading::Fold(Fold::Sum, args),
                    Bag::Xor => Reading::Fold(Fold::Xor, args),
                    Bag::Or => Reading::Fold(Fold::Or, args),
                    Bag::Extreme(Opcode::Min, _) => Reading::Fold(Fold::Min, args),
                    Bag::Extreme(..) => Reading::Fold(Fold::Max, args),
                    Bag::Mul(_) | Bag::And => Reading::Product(args),
                }
            }
            Node::Tree(text, args) => {
                let form = Form::of(self.nodes.text(*text));
                let float = form.last_type().is_some_and(|ty| ty.is_float());
                match form.opcode {
                    Opcode::Add if float => Reading::Fold(Fold::Sum, args.to_vec()),
                    Opcode::Min if float => Reading::Fold(Fold::Min, args.to_vec()),
                    Opcode::Max if float => Reading::Fold(Fold::Max, args.to_vec()),
                    Opcode::Mul => Reading::Product(args.to_vec()),
                    _ => Reading::Other,
                }
            }
            _ => Reading::Other,
        }
    }

    /// The three operands of a product that is added to something.
    fn fused(&self, id: Id) -> Option<[Id; 3]> {
        let Node::Tree(text, args) = self.nodes.node(id) else { return None };
        let form = Form::of(self.nodes.text(*text));
        match (form.opcode, &args[..]) {
            (Opcode::Fma | Opcode::Mad, &[a, b, c]) => Some([a, b, c]),
            _ => None,
        }
    }

    fn is_nothing(&self, id: Id) -> bool {
        matches!(self.nodes.node(id), Node::Number(0))
    }

    /// The term of a node without choices.
    fn term(&mut self, id: Id) -> Term {
        if let Some(&term) = self.terms.get(&id) {
            return term;
        }
        let term = if id == UNDEFINED {
            0
        } else if let Some([a, b, c]) = self.fused(id) {
            let (a, b) = (self.term(a), self.term(b));
            let product = self.program.terms.product(&[a, b]);
            if self.is_nothing(c) {
                product
            } else {
                let c = self.term(c);
                self.program.terms.fold(Fold::Sum, &[product, c])
            }
        } else {
            match self.reading(id) {
                Reading::Fold(op, args) => {
                    let args: Vec<Id> = args.into_iter().filter(|&a| !self.is_nothing(a)).collect();
                    let terms: Vec<Term> = args.into_iter().map(|arg| self.term(arg)).collect();
                    self.program.terms.fold(op, &terms)
                }
                Reading::Product(args) => {
                    let terms: Vec<Term> = args.into_iter().map(|arg| self.term(arg)).collect();
                    self.program.terms.product(&terms)
                }
                Reading::Other => self.atom(id),
            }
        };
        self.terms.insert(id, term);
        term
    }

    fn atom(&mut self, id: Id) -> Term {
        let (name, index, bytes) = match *self.nodes.node(id) {
            Node::Load(buffer, offset, bytes) => {
                let name = self.nodes.buffers[buffer as usize].clone();
                (name, offset.div_euclid(i64::from(bytes.max(1))), bytes)
            }
            _ => {
                let next = self.others.len() as u32;
                let number = *self.others.entry(id).or_insert(next);
                ("value".to_owned(), i64::from(number), 0)
            }
        };
        // Loads of another size, or from before the beginning, are another input.
        let name = if index < 0 { format!("before {name}") } else { name };
        let known = self.inputs.get(&name).copied();
        let (input, name) = match known {
            Some((input, own)) if own == bytes => (input, None),
            Some(_) => {
                let name = format!("{name} by {bytes} bytes");
                match self.inputs.get(&name) {
                    Some(&(input, _)) => (input, None),
                    None => (self.program.inputs.len() as u32, Some(name)),
                }
            }
            None => (self.program.inputs.len() as u32, Some(name)),
        };
        if let Some(name) = name {
            self.inputs.insert(name.clone(), (input, bytes));
            self.program.inputs.push((name, vec![1]));
        }
        let index = index.unsigned_abs() as u32;
        let shape = &mut self.program.inputs[input as usize].1;
        shape[0] = shape[0].max(index as usize + 1);
        self.program.terms.atom(input, index)
    }

    fn push(&mut self, cell: Virtual) -> u32 {
        self.cells.push(cell);
        self.cells.len() as u32 - 1
    }

    /// The cell that holds a node.
    fn cell(&mut self, id: Id) -> Result<u32, Refused> {
        if let Some(&cell) = self.of.get(&id) {
            return Ok(cell);
        }
        let cell = if !self.is_open(id) {
            let term = self.term(id);
            self.push(Virtual::Initial(term))
        } else {
            match self.nodes.node(id) {
                Node::Choice(point, options) => {
                    let (point, options) = (*point, options.clone());
                    let (hole, _) = self.holes.place(point);
                    let folded = match self.holes.holes[hole].kind {
                        Kind::Condition => self.folded(id)?,
                        _ => None,
                    };
                    match folded {
                        Some(cell) => self.push(cell),
                        None => {
                            let mut sources = Vec::with_capacity(options.len());
                            for &option in &options {
                                sources.push(self.cell(option)?);
                            }
                            self.push(Virtual::Move(point, sources))
                        }
                    }
                }
                _ => match self.folded(id)? {
                    Some(cell) => self.push(cell),
                    None => {
                        let text = match self.nodes.node(id) {
                            Node::Tree(text, _) => self.nodes.text(*text),
                            _ => "an operation",
                        };
                        let message =
                            format!("`{text}` of what several holes choose is not understood");
                        return refused(None, message);
                    }
                },
            }
        };
        self.of.insert(id, cell);
        Ok(cell)
    }

    /// A node as a fold, if it is a sum or a product.
    fn folded(&mut self, id: Id) -> Result<Option<Virtual>, Refused> {
        let op = self.operator(id, 0);
        let slots = self.slots(id, op.unwrap_or(Fold::Sum))?;
        // A value that only stands for itself is no fold.
        let itself = matches!(slots, Some(ref slots) if matches!(&slots[..], [slot]
            if slot.guard.is_none() && slot.factors.len() == 1));
        Ok(match slots {
            Some(slots) if !itself => Some(Virtual::Fold(op.unwrap_or(Fold::Sum), slots)),
            _ => None,
        })
    }

    /// The operator of the sum that a node is, also under conditions.
    fn operator(&self, id: Id, depth: usize) -> Option<Fold> {
        if self.fused(id).is_some() {
            return Some(Fold::Sum);
        }
        match self.node_of_condition(id) {
            Some(options) if depth < 64 => {
                options.iter().rev().find_map(|&option| self.operator(option, depth + 1))
            }
            _ => match self.reading(id) {
                Reading::Fold(op, _) => Some(op),
                _ => None,
            },
        }
    }

    fn node_of_condition(&self, id: Id) -> Option<&[Id]> {
        match self.nodes.node(id) {
            Node::Choice(point, options) => {
                let (hole, _) = self.holes.place(*point);
                (self.holes.holes[hole].kind == Kind::Condition).then_some(options)
            }
            _ => None,
        }
    }

    /// The slots of a node under an operator; none where a condition chooses between two things of which neither is the
    /// other and more.
    fn slots(&mut self, id: Id, op: Fold) -> Result<Option<Vec<Slot>>, Refused> {
        if let Some(slots) = self.slots.get(&(id, op as u8)) {
            return Ok(Some(slots.clone()));
        }
        if self.is_nothing(id) {
            return Ok(Some(Vec::new()));
        }
        let slots = if let Some([a, b, c]) = self.fused(id).filter(|_| op == Fold::Sum) {
            let Some(mut slots) = self.slots(c, op)? else { return Ok(None) };
            slots.push(self.product(&[a, b])?);
            slots
        } else if let (Node::Choice(point, _), Some(options)) =
            (self.nodes.node(id), self.node_of_condition(id))
        {
            let (point, options) = (*point, options.to_vec());
            let &[without, with] = &options[..] else { return Ok(None) };
            let (Some(mut without), Some(with)) = (self.slots(without, op)?, self.slots(with, op)?)
            else {
                return Ok(None);
            };
            let mut rest = with;
            for slot in &without {
                match rest.iter().position(|other| other == slot) {
                    Some(at) => _ = rest.remove(at),
                    None => return Ok(None),
                }
            }
            if rest.iter().any(|slot| slot.guard.is_some()) {
                return Ok(None);
            }
            without.extend(rest.into_iter().map(|slot| Slot { guard: Some(point), ..slot }));
            without
        } else {
            match self.reading(id) {
                Reading::Fold(own, args) if own == op => {
                    let mut slots = Vec::new();
                    for arg in args {
                        match self.slots(arg, op)? {
                            Some(more) => slots.extend(more),
                            None => {
                                slots.push(Slot { factors: vec![self.cell(arg)?], guard: None })
                            }
                        }
                    }
                    slots
                }
                Reading::Product(args) => vec![self.product(&args)?],
                // A sum of another kind is a cell of its own, and so is what an index chooses.
                Reading::Other
                    if !self.is_open(id) || matches!(self.nodes.node(id), Node::Choice(..)) =>
                {
                    vec![Slot { factors: vec![self.cell(id)?], guard: None }]
                }
                Reading::Fold(..) => vec![Slot { factors: vec![self.cell(id)?], guard: None }],
                Reading::Other => return Ok(None),
            }
        };
        self.slots.insert((id, op as u8), slots.clone());
        Ok(Some(slots))
    }

    fn product(&mut self, args: &[Id]) -> Result<Slot, Refused> {
        let mut factors = Vec::new();
        for &arg in args {
            match self.reading(arg) {
                Reading::Product(inner) => factors.extend(self.product(&inner)?.factors),
                _ => factors.push(self.cell(arg)?),
            }
        }
        Ok(Slot { factors, guard: None })
    }

    /// Groups the cells into statements, orders these, and numbers the cells.
    fn finish(
        mut self,
        goals: Vec<(u32, Term, String)>,
        space: u8,
        spec: Span,
    ) -> Result<Problem, Refused> {
        // Conditions of one fold belong together.
        let mut root: Vec<usize> = (0..self.holes.holes.len()).collect();
        let find = |root: &[usize], mut at: usize| {
            while root[at] != at {
                at = root[at];
            }
            at
        };
        let guards = |slots: &[Slot], holes: &Holes| -> Vec<usize> {
            slots.iter().filter_map(|slot| slot.guard).map(|point| holes.place(point).0).collect()
        };
        for cell in &self.cells {
            if let Virtual::Fold(_, slots) = cell {
                for pair in guards(slots, self.holes).windows(2) {
                    let [a, b] = [find(&root, pair[0]), find(&root, pair[1])];
                    root[a.max(b)] = a.min(b);
                }
            }
        }
        let mut depth = vec![0usize; self.cells.len()];
        let mut group: Vec<Option<Group>> = vec![None; self.cells.len()];
        let mut before: Vec<(Group, Group)> = Vec::new();
        for at in 0..self.cells.len() {
            let (sources, own): (Vec<u32>, Option<Group>) = match &self.cells[at] {
                Virtual::Initial(_) => (Vec::new(), None),
                Virtual::Move(point, sources) => {
                    (sources.clone(), Some(Group::Move(self.holes.place(*point).0)))
                }
                Virtual::Fold(op, slots) => {
                    let sources: Vec<u32> =
                        slots.iter().flat_map(|slot| slot.factors.clone()).collect();
                    let deep = sources.iter().map(|&s| depth[s as usize] + 1).max().unwrap_or(0);
                    let own = match guards(slots, self.holes).first() {
                        Some(&hole) => Group::Guarded(find(&root, hole)),
                        None => Group::Plain(deep, *op as u8),
                    };
                    (sources, Some(own))
                }
            };
            depth[at] = sources.iter().map(|&s| depth[s as usize] + 1).max().unwrap_or(0);
            group[at] = own;
            if let Some(own) = own {
                before.extend(sources.iter().filter_map(|&s| Some((group[s as usize]?, own))));
            }
        }
        before.sort_unstable();
        before.dedup();
        let mut left: Vec<Group> = Vec::new();
        for own in group.iter().flatten() {
            if !left.contains(own) {
                left.push(*own);
            }
        }
        let mut order: Vec<Group> = Vec::new();
        while !left.is_empty() {
            let ready = left.iter().position(|own| {
                before.iter().all(|(first, then)| then != own || order.contains(first))
            });
            let Some(at) = ready else {
                if let Some((index, condition)) = staged::shape(self.holes) {
                    self.holes_of(space)?;
                    let Lowering { program, cells, .. } = self;
                    let goals = goals.into_iter().map(|(cell, term, _)| (cell, term)).collect();
                    let staged = Staged { program, cells, goals, index, condition };
                    return Ok(Problem::Staged(staged));
                }
                let hole = left.iter().find_map(|group| match group {
                    Group::Move(hole) | Group::Guarded(hole) => Some(*hole),
                    Group::Plain(..) => None,
                });
                let message = "this hole chooses among values that it has chosen itself, and there are other holes; \
                               give the hole of each step a number of its own";
                return refused(hole, message);
            };
            order.push(left.remove(at));
        }
        self.holes_of(space)?;
        // Inputs first, then statement by statement.
        let mut number: Vec<Cell> = vec![0; self.cells.len()];
        for (at, cell) in self.cells.iter().enumerate() {
            if let Virtual::Initial(term) = cell {
                number[at] = self.program.initial.len() as Cell;
                self.program.initial.push(*term);
            }
        }
        let mut cells = self.program.initial.len();
        let mut edges_left = MOST_EDGES;
        for own in order {
            let members: Vec<usize> =
                (0..self.cells.len()).filter(|&at| group[at] == Some(own)).collect();
            let made = Made { first: cells as Cell, count: members.len() as u32 };
            for &at in &members {
                number[at] = cells as Cell;
                cells += 1;
            }
            let statement = self.statement(own, &members, &number, made, &mut edges_left)?;
            self.program.statements.push(statement);
        }
        self.program.cells = cells;
        for (cell, term, name) in goals {
            let cell = number[cell as usize];
            self.program.goals.push(Goal { cell, term, name, span: spec });
        }
        Ok(Problem::Program(self.program))
    }

    fn statement(
        &self,
        own: Group,
        members: &[usize],
        number: &[Cell],
        made: Made,
        edges_left: &mut usize,
    ) -> Result<Statement, Refused> {
        if let Group::Move(hole) = own {
            let mut edges = Vec::new();
            for &at in members {
                let Virtual::Move(point, sources) = &self.cells[at] else { continue };
                let (_, point) = self.holes.place(*point);
                for (value, &source) in sources.iter().enumerate() {
                    let (source, target) = (number[source as usize], number[at]);
                    edges.push(Edge { source, target, point, value: value as u8 });
                }
            }
            *edges_left = match edges_left.checked_sub(edges.len()) {
                Some(left) => left,
                None => return refused(Some(hole), "too many values could come through this hole"),
            };
            edges.sort_by_key(|edge| edge.source);
            return Ok(Statement::Move { hole: hole as u32, scatter: false, edges, made });
        }
        let mut holes: Vec<u32> = Vec::new();
        let mut lists = Vec::new();
        let mut operator = None;
        for &at in members {
            let Virtual::Fold(op, slots) = &self.cells[at] else { continue };
            if *operator.get_or_insert(*op) != *op {
                let Group::Guarded(hole) = own else { continue };
                return refused(Some(hole), "this hole decides about operations of two kinds");
            }
            let mut list = Vec::new();
            for slot in slots {
                let guard = match slot.guard {
                    None => Guard::Always,
                    Some(point) => {
                        let (hole, point) = self.holes.place(point);
                        if !holes.contains(&(hole as u32)) {
                            holes.push(hole as u32);
                        }
                        Guard::Hole(hole as u32, point)
                    }
                };
                let factors = slot.factors.iter().map(|&f| number[f as usize]).collect();
                list.push(program::Slot { factors, guard });
            }
            lists.push(list);
        }
        holes.sort_unstable();
        Ok(Statement::Fold { op: operator.unwrap_or(Fold::Sum), holes, slots: lists, made })
    }

    /// The holes of the program.
    fn holes_of(&mut self, space: u8) -> Result<(), Refused> {
        let mut cells: Vec<usize> = vec![0; self.holes.holes.len()];
        for cell in &self.cells {
            if let Virtual::Move(point, _) = cell {
                cells[self.holes.place(*point).0] += 1;
            }
        }
        for (number, hole) in self.holes.holes.iter().enumerate() {
            let coordinates = coordinates(hole);
            let points = hole.extents[0] * hole.extents[1];
            let times = (cells[number] / points.max(1)).max(1) as u32;
            let price = match (hole.kind, hole.used) {
                (Kind::Condition, _) => Price::Accumulates(1),
                (_, Some(Use::Shuffle)) => Price::Shuffles(times),
                (_, Some(Use::Address)) => Price::Loads(times),
                _ => Price::Selects(times),
            };
            let planted = self.program.planted;
            let (extents, values) = (hole.extents, hole.values);
            let request = Request { extents, values, space, names: &coordinates, planted };
            let Some(family) = Family::named(hole.family, &request, &[]) else {
                return refused(Some(number), "this hole has no family of expressions");
            };
            let span = hole.span;
            self.program.holes.push(program::Hole {
                span,
                family,
                coordinates,
                extents,
                values,
                price,
            });
        }
        self.program.order = Measure::ALL.map(|(_, measure)| measure)[..4].to_vec();
        Ok(())
    }
}

/// The names of a hole's coordinates; what differs between the lanes is called `lane`.
pub fn coordinates(hole: &super::hole::Hole) -> Vec<String> {
    let [first, second] = hole.lanes;
    let second = if first {
        "k"
    } else if second {
        "lane"
    } else {
        "k"
    };
    vec![if first { "lane" } else { "i" }.to_owned(), second.to_owned()]
}
