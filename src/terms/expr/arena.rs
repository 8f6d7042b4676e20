//! The arena of hash-consed terms.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use typed_index_collections::TiVec;

use super::budget::Meter;
use super::node::{Node, SymbolId, TermId};
use super::range::{Range, Terms};

/// Steps charged for a new term: it takes memory.
const NEW_TERM: u64 = 12;

/// Owns all terms of one kernel.
#[derive(Debug, Default)]
pub struct Arena {
    pub(super) nodes: IndexSet<(Node, u8), FxBuildHasher>,
    pub(super) ranges: TiVec<TermId, Range>,
    /// See [`Arena::tree_size`].
    pub(super) sizes: TiVec<TermId, u32>,
    pub(super) meter: Meter,
    /// See [`Arena::split_known`].
    pub(super) splits: FxHashMap<TermId, (TermId, i64)>,
}

impl Arena {
    /// A term and a constant that a later stage has split a term into and remembers, so that it need not do so again.
    pub fn split_known(&self, term: TermId) -> Option<(TermId, i64)> {
        self.splits.get(&term).copied()
    }

    /// Caches the split of a term.
    pub fn remember_split(&mut self, term: TermId, split: (TermId, i64)) {
        self.splits.insert(term, split);
    }

    /// An empty arena.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// An empty arena with a budget in steps.
    pub fn with_limit(limit: u64) -> Arena {
        Arena { meter: Meter::with_limit(limit), ..Arena::default() }
    }

    /// Charges for work. Beyond the limit this function does not return, see [`within`](super::within).
    pub fn charge(&self, steps: u64) {
        self.meter.charge(steps);
    }

    /// Steps spent so far.
    pub fn spent(&self) -> u64 {
        self.meter.spent()
    }

    /// Whether more than three quarters of the limit are spent: time to leave out work that can be left out.
    pub fn is_nearly_spent(&self) -> bool {
        self.meter.is_nearly_spent()
    }

    /// How many terms exist. Ids are given in order, operands before the terms that use them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All terms, operands before the terms that use them.
    pub fn terms(&self) -> impl Iterator<Item = TermId> + use<> {
        (0..self.nodes.len() as u32).map(TermId)
    }

    /// Whether no term exists.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of a term.
    pub fn node(&self, term: TermId) -> &Node {
        &self.nodes[usize::from(term)].0
    }

    /// A term's width in bits.
    pub fn width(&self, term: TermId) -> u8 {
        self.nodes[usize::from(term)].1
    }

    /// Bounds that hold for every value of the symbols.
    pub fn range(&self, term: TermId) -> Range {
        self.ranges[term]
    }

    /// A term's value, if it is a constant.
    pub fn constant_value(&self, term: TermId) -> Option<u64> {
        match *self.node(term) {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The operands of a term, in order.
    pub fn operands(&self, term: TermId) -> smallvec::SmallVec<[TermId; 4]> {
        use smallvec::smallvec;
        match self.node(term) {
            Node::Constant(_) | Node::Symbol(_) => smallvec![],
            Node::Sum { addends: parts, .. } | Node::Product(parts) => {
                parts.iter().map(|&(t, _)| t).collect()
            }
            Node::Unary(_, a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::Extract(a, _) => {
                smallvec![*a]
            }
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concatenate(a, b) => {
                smallvec![*a, *b]
            }
            Node::IfThenElse(c, a, b) => smallvec![*c, *a, *b],
            Node::Apply(_, arguments) => arguments.iter().copied().collect(),
        }
    }

    /// Adds a node that is already in normal form, or finds the equal one.
    pub(super) fn intern(&mut self, node: Node, width: u8) -> TermId {
        debug_assert!((1..=64).contains(&width));
        let cells = match &node {
            Node::Sum { addends: parts, .. } | Node::Product(parts) => parts.len(),
            Node::Apply(_, arguments) => arguments.len(),
            _ => 0,
        };
        self.charge(1 + cells as u64);
        let size = self.compute_size(&node);
        let (index, new) = self.nodes.insert_full((node, width));
        if new {
            self.charge(NEW_TERM);
            let (node, width) = &self.nodes[index];
            let range = Range::of(node, *width, self);
            self.ranges.push(range);
            self.sizes.push(size);
        }
        let term = TermId::from(index);
        let range = self.ranges[term];
        if range.umin == range.umax && !matches!(self.nodes[index].0, Node::Constant(_)) {
            return self.constant(range.umin, width);
        }
        term
    }

    /// Adds a symbol whose values are known to lie within bounds.
    pub fn symbol_within(&mut self, symbol: SymbolId, width: u8, range: Range) -> TermId {
        let term = self.intern(Node::Symbol(symbol), width);
        self.ranges[term] = range;
        term
    }
}

impl Terms for Arena {
    fn range(&self, term: TermId) -> Range {
        Arena::range(self, term)
    }

    fn width(&self, term: TermId) -> u8 {
        Arena::width(self, term)
    }
}
