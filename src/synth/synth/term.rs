//! The value of a cell, as hash-consed terms in normal form: equal terms have equal numbers.

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

/// The number of a term among [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(pub u32);

/// The number of an input, in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InputId(pub u32);

table_ids!(TermId, InputId);

/// A cell that nobody has written, or that was read from beyond an input.
pub const UNDEFINED: TermId = TermId(0);

/// An operator that folds many values into one. All but [`Fold::List`] are commutative and associative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// Sum: a multiset.
    Sum,
    /// Exclusive or: equal values cancel out in pairs.
    Xor,
    /// Least: a set.
    Min,
    /// Greatest: a set.
    Max,
    /// Bitwise or: a set.
    Or,
    /// Bitwise and: a set.
    And,
    /// No operator with laws: the values in their order.
    List,
}

impl Fold {
    /// The operator of this name.
    pub fn of(name: &str) -> Option<Fold> {
        Some(match name {
            "sum" => Fold::Sum,
            "xor" => Fold::Xor,
            "min" => Fold::Min,
            "max" => Fold::Max,
            "or" => Fold::Or,
            "and" => Fold::And,
            "list" => Fold::List,
            _ => return None,
        })
    }

    /// Whether a value may take part more often than once without a difference.
    pub fn idempotent(self) -> bool {
        !matches!(self, Fold::Sum | Fold::Xor | Fold::List)
    }
}

/// A term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// See [`UNDEFINED`].
    Undefined,
    /// An element of an input: which input, and the element's flat index.
    Atom(InputId, u32),
    /// A product, its factors sorted.
    Product(Box<[TermId]>),
    /// A fold, its values sorted.
    Fold(Fold, Box<[TermId]>),
}

/// The table of terms.
#[derive(Clone, Debug)]
pub struct Terms {
    nodes: TiVec<TermId, Node>,
    numbers: FxHashMap<Node, TermId>,
    pairs: FxHashMap<(TermId, TermId), TermId>,
}

impl Default for Terms {
    fn default() -> Terms {
        let mut terms = Terms {
            nodes: TiVec::new(),
            numbers: FxHashMap::default(),
            pairs: FxHashMap::default(),
        };
        terms.intern(Node::Undefined);
        terms
    }
}

impl Terms {
    fn intern(&mut self, node: Node) -> TermId {
        if let Some(&term) = self.numbers.get(&node) {
            return term;
        }
        let term = self.nodes.push_and_get_key(node.clone());
        self.numbers.insert(node, term);
        term
    }

    /// How many terms there are.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a term.
    pub fn node(&self, term: TermId) -> &Node {
        &self.nodes[term]
    }

    /// An element of an input.
    pub fn atom(&mut self, input: InputId, index: u32) -> TermId {
        self.intern(Node::Atom(input, index))
    }

    /// The factors of a term; a term that is not a product is its own only factor.
    pub fn factors(&self, term: TermId) -> Vec<TermId> {
        match self.node(term) {
            Node::Product(factors) => factors.to_vec(),
            _ => vec![term],
        }
    }

    /// The values that a fold puts together; any other term is its own only value.
    pub fn values(&self, op: Fold, term: TermId) -> Vec<TermId> {
        match self.node(term) {
            Node::Fold(own, values) if *own == op => values.to_vec(),
            _ => vec![term],
        }
    }

    /// A product; without factors there is none.
    pub fn product(&mut self, factors: &[TermId]) -> TermId {
        match *factors {
            [] => UNDEFINED,
            [only] => only,
            [a, b] => {
                let key = (a.min(b), a.max(b));
                if let Some(&term) = self.pairs.get(&key) {
                    return term;
                }
                let term = self.flat_product(factors);
                self.pairs.insert(key, term);
                term
            }
            _ => self.flat_product(factors),
        }
    }

    fn flat_product(&mut self, factors: &[TermId]) -> TermId {
        if factors.contains(&UNDEFINED) {
            return UNDEFINED;
        }
        let mut flat: Vec<TermId> = factors.iter().flat_map(|&term| self.factors(term)).collect();
        flat.sort_unstable();
        self.intern(Node::Product(flat.into()))
    }

    /// A fold in the operator's normal form.
    pub fn fold(&mut self, op: Fold, values: &[TermId]) -> TermId {
        if values.contains(&UNDEFINED) {
            return UNDEFINED;
        }
        if op == Fold::List {
            return self.intern(Node::Fold(op, values.into()));
        }
        let mut flat: Vec<TermId> = values.iter().flat_map(|&term| self.values(op, term)).collect();
        flat.sort_unstable();
        if op.idempotent() {
            flat.dedup();
        } else if op == Fold::Xor {
            let mut kept: Vec<TermId> = Vec::new();
            for term in flat {
                if kept.last() == Some(&term) {
                    kept.pop();
                } else {
                    kept.push(term);
                }
            }
            flat = kept;
        }
        match *flat {
            [only] => only,
            _ => self.intern(Node::Fold(op, flat.into())),
        }
    }
}
