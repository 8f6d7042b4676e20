//! The sorts of a loop's accumulators that name no type, by unification.
//!
//! In: the tree of a loop. Out: the sort of each accumulator, unified with the operands that it is added to, compared
//! with or chosen beside: a counter beside a floating-point maximum is an integer. A literal has the sort of the other
//! operand.

use petgraph::unionfind::UnionFind;
use rustc_hash::FxHashMap;

use super::subject::Kind;
use super::term::Sort;
use crate::synth::ast::{LoopText, SpannedValue, Value};

/// Values that have one sort are one set.
struct Unification<'t> {
    sets: UnionFind<usize>,
    /// For each value, the sort of its set if it is the representative.
    sorts: Vec<Option<Sort>>,
    names: FxHashMap<&'t str, usize>,
}

/// For each accumulator its sort; an integer where nothing says so.
pub(super) fn sorts(text: &LoopText) -> Vec<Sort> {
    let sets = UnionFind::new_empty();
    let mut made = Unification { sets, sorts: Vec::new(), names: FxHashMap::default() };
    let kind = |name: &str| Kind::named(name).map(Kind::sort);
    for (name, ty) in text.over.iter().chain(&text.given) {
        let read = made.fresh(kind(&ty.text));
        made.names.insert(&name.text, read);
    }
    let mut accumulators = Vec::new();
    for start in &text.start {
        let own = made.fresh(start.kind.as_ref().and_then(|ty| kind(&ty.text)));
        let first = match is_infinite(&start.value) {
            Some(_) => made.fresh(Some(Sort::Real)),
            None => made.value(&start.value),
        };
        let is_number = made.sort(first) != Some(Sort::Boolean);
        made.unify(own, first);
        accumulators.push((own, is_number));
    }
    for (start, &(own, _)) in text.start.iter().zip(&accumulators) {
        made.names.insert(&start.name.text, own);
    }
    for (name, value) in &text.body {
        let value = made.value(value);
        made.names.insert(&name.text, value);
    }
    for (start, &(own, _)) in text.start.iter().zip(&accumulators) {
        let last = made.names[start.name.text.as_str()];
        made.unify(own, last);
    }
    let sort = |(own, is_number): (usize, bool)| match made.sort(own) {
        // (The reader of the tree refuses the boolean.)
        Some(Sort::Boolean) if is_number => Sort::Integer,
        sort => sort.unwrap_or(Sort::Integer),
    };
    accumulators.into_iter().map(sort).collect()
}

/// Whether a first value is `inf` or `-inf`, and whether it is negative.
pub(super) fn is_infinite(value: &SpannedValue) -> Option<bool> {
    let is_word = |value: &Value| matches!(value, Value::Name(name) if name == "inf");
    match &value.value {
        Value::Prefix('-', inner) if is_word(&inner.value) => Some(true),
        value if is_word(value) => Some(false),
        _ => None,
    }
}

impl<'t> Unification<'t> {
    fn fresh(&mut self, sort: Option<Sort>) -> usize {
        self.sorts.push(sort);
        self.sets.new_set()
    }

    fn sort(&self, value: usize) -> Option<Sort> {
        self.sorts[self.sets.find(value)]
    }

    /// Makes two values one set. Where their sorts differ, the first one's stays, and the reader of the tree refuses it.
    fn unify(&mut self, a: usize, b: usize) {
        let sort = self.sort(a).or(self.sort(b));
        self.sets.union(a, b);
        let representative = self.sets.find(a);
        self.sorts[representative] = sort;
    }

    fn value(&mut self, value: &'t SpannedValue) -> usize {
        match &value.value {
            Value::Number(_) => self.fresh(None),
            Value::Truth(_) => self.fresh(Some(Sort::Boolean)),
            Value::Name(name) => match self.names.get(name.as_str()) {
                Some(&known) => known,
                // A param, which is a literal.
                None => self.fresh(None),
            },
            Value::Prefix('!', inner) => {
                self.value(inner);
                self.fresh(Some(Sort::Boolean))
            }
            Value::Prefix(_, inner) => self.value(inner),
            Value::If(three) => {
                let [c, a, b] = &**three;
                self.value(c);
                let (a, b) = (self.value(a), self.value(b));
                self.unify(a, b);
                a
            }
            Value::Infix(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                let boolean = matches!(op.as_str(), "&&" | "||");
                if !boolean {
                    self.unify(a, b);
                }
                match op.as_str() {
                    "+" | "-" | "*" | "/" | "%" | "min" | "max" => a,
                    _ => self.fresh(Some(Sort::Boolean)),
                }
            }
        }
    }
}
