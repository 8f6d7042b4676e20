//! The stores of a warp of a kernel, and those of its specification, as a [`Program`] for the search.
//!
//! A choice of an index is an edge into a cell for each of its values. A choice by a condition, of a sum and the same
//! sum with one product more, is a slot of a fold. The order of floating-point sums is ignored here: the solution is
//! only a proposal, and is proved with the order afterwards.

use rustc_hash::FxHashMap;

use super::bag::Bag;
use super::cells::{Refused, Slot, Virtual, refused};
use super::hole::{Holes, Kind};
use super::node::{Id, Node, Nodes, UNDEFINED};
use super::statements::{Lowered, Problem};
use super::warp::Outcome;
use crate::isa::{Form, Opcode};
use crate::source::Span;
use crate::synth::program::Program;
use crate::synth::term::{self, Fold, InputId, TermId};

/// How an operation is read.
pub(super) enum Reading {
    Fold(Fold, Vec<Id>),
    Product(Vec<Id>),
    Other,
}

pub(super) struct Lowering<'l> {
    pub(super) nodes: &'l Nodes,
    holes: &'l Holes,
    pub(super) program: Program,
    cells: Vec<Virtual>,
    of: FxHashMap<Id, u32>,
    slots: FxHashMap<(Id, u8), Vec<Slot>>,
    pub(super) terms: FxHashMap<Id, TermId>,
    open: FxHashMap<Id, bool>,
    pub(super) inputs: FxHashMap<String, (InputId, u8)>,
    pub(super) others: FxHashMap<Id, u32>,
}

/// Makes the program.
///
/// # Errors
/// The kernel stores other places than its specification, or a hole is used in a way that the search has no place for.
pub(super) fn lower(
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
        cells: vec![Virtual::Initial(term::UNDEFINED)],
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
        let name = nodes.place(buffer, offset, bytes);
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
            let name = nodes.place(buffer, offset, bytes);
            return refused(
                None,
                format!("the kernel stores {name}, and its specification does not"),
            );
        }
    }
    let Lowering { holes, program, cells, .. } = lowering;
    Lowered { holes, program, cells }.finish(goals, space, spec)
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

    pub(super) fn reading(&self, id: Id) -> Reading {
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
    pub(super) fn fused(&self, id: Id) -> Option<[Id; 3]> {
        let Node::Tree(text, args) = self.nodes.node(id) else { return None };
        let form = Form::of(self.nodes.text(*text));
        match (form.opcode, &args[..]) {
            (Opcode::Fma | Opcode::Mad, &[a, b, c]) => Some([a, b, c]),
            _ => None,
        }
    }

    pub(super) fn is_nothing(&self, id: Id) -> bool {
        matches!(self.nodes.node(id), Node::Number(0))
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
        // A value that only stands for itself is not a fold.
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

    /// The slots of a node under an operator; none where a condition chooses between two values and neither contains
    /// the slots of the other.
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
                // A sum of another kind is a cell of its own, and so is a choice by an index.
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
}
