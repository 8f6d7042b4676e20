//! How large terms are, so that work on them can be left out where it would be too much.

use rustc_hash::FxHashSet;

use super::arena::Arena;
use super::node::{Node, TermId};

/// The largest term, written out as a tree, that is rebuilt all through when its width changes: the
/// constructors that do so are recursive and remember nothing.
const MAX_REBUILT: u32 = 512;

impl Arena {
    /// The number of nodes of a term written out as a tree; `u32::MAX` where there are more.
    pub fn tree_size(&self, term: TermId) -> u32 {
        self.sizes[term]
    }

    pub(super) fn compute_size(&self, node: &Node) -> u32 {
        let of = |t: &TermId| self.sizes[*t];
        let sum = |sizes: &mut dyn Iterator<Item = u32>| sizes.fold(1, u32::saturating_add);
        match node {
            Node::Constant(_) | Node::Symbol(_) => 1,
            Node::Sum { addends: parts, .. } | Node::Product(parts) => {
                sum(&mut parts.iter().map(|(t, _)| of(t)))
            }
            Node::Unary(_, a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::Extract(a, _) => {
                of(a).saturating_add(1)
            }
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concatenate(a, b) => {
                sum(&mut [of(a), of(b)].into_iter())
            }
            Node::IfThenElse(c, a, b) => sum(&mut [of(c), of(a), of(b)].into_iter()),
            Node::Apply(_, arguments) => sum(&mut arguments.iter().map(of)),
        }
    }

    /// Whether a term may be rebuilt by recursive constructors.
    pub(super) fn may_be_rebuilt(&self, term: TermId) -> bool {
        self.tree_size(term) <= MAX_REBUILT
    }

    /// Whether some terms are made of more than `most` different ones. Takes at most `most` steps.
    pub fn are_larger_than(&self, terms: impl IntoIterator<Item = TermId>, most: usize) -> bool {
        let terms: Vec<TermId> = terms.into_iter().collect();
        let trees = terms.iter().map(|&term| u64::from(self.tree_size(term))).sum::<u64>();
        if trees <= most as u64 {
            return false;
        }
        let mut seen = FxHashSet::default();
        let mut work = terms;
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            self.charge(1);
            if seen.len() > most {
                return true;
            }
            work.extend(self.operands(next).into_iter().filter(|term| !seen.contains(term)));
        }
        false
    }
}
