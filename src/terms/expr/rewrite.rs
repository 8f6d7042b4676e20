//! Substitution of symbols, with every term on the way rebuilt by the simplifying constructors.

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::node::{Node, SymbolId, TermId};

/// A substitution under way: a cache of rebuilt terms, so that applying it to many terms of one arena costs each shared
/// part once.
#[derive(Debug, Default)]
pub struct Substitution {
    done: FxHashMap<TermId, TermId>,
}

impl Substitution {
    /// Nothing rebuilt yet.
    pub fn new() -> Substitution {
        Substitution::default()
    }

    /// Rebuilds `term` with every symbol replaced by `replace(arena, symbol, term)`, which returns
    /// the term itself where the symbol stays. It must give the same answer whenever it is asked
    /// the same, and is asked once per symbol. The replacement is not substituted again.
    pub fn apply(
        &mut self,
        arena: &mut Arena,
        term: TermId,
        replace: &mut dyn FnMut(&mut Arena, SymbolId, TermId) -> TermId,
    ) -> TermId {
        self.transform(arena, term, &mut |arena, term| match *arena.node(term) {
            Node::Symbol(symbol) => Some(replace(arena, symbol, term)),
            _ => None,
        })
    }

    /// Rebuilds `term` with every node replaced for which `replace` returns a term, from the root
    /// down: nothing below a replaced node is looked at. The same conditions hold for `replace` as for
    /// [`Substitution::apply`].
    pub fn transform(
        &mut self,
        arena: &mut Arena,
        term: TermId,
        replace: &mut dyn FnMut(&mut Arena, TermId) -> Option<TermId>,
    ) -> TermId {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.done.contains_key(&next) {
                stack.pop();
                continue;
            }
            let depth = stack.len();
            let operands = arena.operands(next);
            arena.charge(2 + operands.len() as u64);
            if let Some(replaced) = replace(arena, next) {
                stack.pop();
                self.done.insert(next, replaced);
                continue;
            }
            stack.extend(operands.iter().copied().filter(|t| !self.done.contains_key(t)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let changed = operands.iter().any(|t| self.done[t] != *t);
            let rebuilt = match changed {
                true => arena.rebuilt(next, &|operand| self.done[&operand]),
                false => next,
            };
            self.done.insert(next, rebuilt);
        }
        self.done[&term]
    }
}

impl Arena {
    /// A term with `of(operand)` in the place of each of its operands.
    pub fn rebuilt(&mut self, term: TermId, of: &dyn Fn(TermId) -> TermId) -> TermId {
        let arena = self;
        let width = arena.width(term);
        let of = |t: &TermId| of(*t);
        match arena.node(term).clone() {
            Node::Constant(_) | Node::Symbol(_) => term,
            Node::Sum { constant, addends } => {
                let mut all: smallvec::SmallVec<[(TermId, u64); 8]> = smallvec::SmallVec::new();
                let mut total = constant;
                for (addend, coefficient) in &addends {
                    let (inner_constant, inner) = arena.linear_parts(of(addend));
                    arena.charge(inner.len() as u64);
                    total = total.wrapping_add(inner_constant.wrapping_mul(*coefficient));
                    all.extend(inner.into_iter().map(|(t, c)| (t, c.wrapping_mul(*coefficient))));
                }
                arena.sum(width, total, all)
            }
            Node::Product(factors) => {
                let one = arena.constant(1, width);
                factors.iter().fold(one, |product, (factor, exponent)| {
                    let power = arena.power(of(factor), *exponent);
                    arena.mul(product, power)
                })
            }
            Node::Unary(op, a) => arena.unary(op, of(&a)),
            Node::Binary(op, a, b) => arena.binary(op, of(&a), of(&b)),
            Node::Compare(op, a, b) => arena.compare(op, of(&a), of(&b)),
            Node::IfThenElse(c, a, b) => arena.if_then_else(of(&c), of(&a), of(&b)),
            Node::ZeroExtend(a) => arena.zero_extend(of(&a), width),
            Node::SignExtend(a) => arena.sign_extend(of(&a), width),
            Node::Extract(a, low) => arena.extract(of(&a), low, width),
            Node::Concatenate(a, b) => arena.concatenate(of(&a), of(&b)),
            Node::Apply(function, arguments) => {
                let arguments: smallvec::SmallVec<[TermId; 4]> = arguments.iter().map(of).collect();
                arena.apply(function, &arguments, width)
            }
        }
    }
}
