//! Sums as people write them: thread indices under their usual names, common factors in front.
//!
//! `tid.x + ntid.x*ctaid.x` is the index `i` (`j`, `k` in the other dimensions) that every kernel
//! starts from; `n*j - n` is `n*(j - 1)`.

use smallvec::SmallVec;

use crate::emulate::symbols::{SymbolKind, Symbols};
use crate::expr::{Arena, Node, TermId, to_signed};
use crate::isa::{Axis, Special};

/// A factor of a summand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    Term(TermId),
    /// To a power above [`MAX_WRITTEN_OUT`].
    Power(TermId, u64),
    /// The thread's index in the grid.
    Index(usize),
}

/// Powers up to this one are written as products.
const MAX_WRITTEN_OUT: u64 = 4;

/// The factors that a product is shown as.
pub(super) fn factors_of(powers: &[(TermId, u64)]) -> SmallVec<[Factor; 4]> {
    let shown = powers.iter().map(|&(term, exponent)| match exponent {
        0..=MAX_WRITTEN_OUT => (Factor::Term(term), exponent as usize),
        _ => (Factor::Power(term, exponent), 1),
    });
    shown.flat_map(|(factor, times)| std::iter::repeat_n(factor, times)).collect()
}

/// A summand: coefficient and factors.
#[derive(Clone, Debug)]
pub(super) struct Summand {
    pub coefficient: i64,
    pub factors: SmallVec<[Factor; 4]>,
}

/// The names of grid indices.
pub(super) const INDEX_NAMES: [&str; 3] = ["i", "j", "k"];

/// Reads sums: the terms of one kernel.
#[derive(Clone, Copy)]
pub(super) struct Summands<'a> {
    pub arena: &'a Arena,
    pub symbols: &'a Symbols,
}

impl Summands<'_> {
    /// The summands of a sum, with grid indices recognised.
    pub(super) fn of(&self, constant: u64, addends: &[(TermId, u64)], width: u8) -> Vec<Summand> {
        let mut summands: Vec<Summand> = addends
            .iter()
            .map(|&(term, coefficient)| Summand {
                coefficient: to_signed(coefficient, width),
                factors: match self.arena.node(term) {
                    Node::Product(factors) => factors_of(factors),
                    _ => SmallVec::from_slice(&[Factor::Term(term)]),
                },
            })
            .collect();
        let constant = to_signed(constant, width);
        if constant != 0 {
            summands.push(Summand { coefficient: constant, factors: SmallVec::new() });
        }
        while self.merge_index(&mut summands) {}
        summands
    }

    /// Replaces one pair `f*tid.d` and `f*ntid.d*ctaid.d` by `f*index`.
    fn merge_index(&self, summands: &mut Vec<Summand>) -> bool {
        for at in 0..summands.len() {
            for (position, &factor) in summands[at].factors.iter().enumerate() {
                let Some(axis) = self.thread_axis(factor) else { continue };
                let mut rest = summands[at].factors.clone();
                rest.remove(position);
                let partner = (0..summands.len()).find(|&other| {
                    summands[other].coefficient == summands[at].coefficient
                        && self.is_block_start(&summands[other].factors, &rest, axis)
                });
                if let Some(partner) = partner {
                    rest.push(Factor::Index(axis.index()));
                    summands[at].factors = rest;
                    summands.remove(partner);
                    return true;
                }
            }
        }
        false
    }

    /// Whether `factors` are `rest * ntid.d * ctaid.d`, d being the axis.
    fn is_block_start(&self, factors: &[Factor], rest: &[Factor], axis: Axis) -> bool {
        let mut left: SmallVec<[Factor; 4]> = factors.iter().copied().collect();
        let mut take = |wanted: &dyn Fn(Factor) -> bool| match left.iter().position(|&f| wanted(f))
        {
            Some(found) => {
                left.remove(found);
                true
            }
            None => false,
        };
        let named = |register: Special| {
            move |factor: Factor| {
                self.special(factor).is_some_and(|kind| *kind == SymbolKind::WarpUniform(register))
            }
        };
        rest.iter().all(|&wanted| take(&|f| f == wanted))
            && take(&named(Special::Ntid(axis)))
            && take(&named(Special::Ctaid(axis)))
            && left.is_empty()
    }

    fn thread_axis(&self, factor: Factor) -> Option<Axis> {
        match self.special(factor)? {
            SymbolKind::Tid(axis) => Some(*axis),
            _ => None,
        }
    }

    /// The special register that a factor stands for, extended or not.
    fn special(&self, factor: Factor) -> Option<&SymbolKind> {
        let Factor::Term(mut term) = factor else { return None };
        loop {
            match self.arena.node(term) {
                Node::ZeroExtend(inner) | Node::SignExtend(inner) => term = *inner,
                Node::Symbol(symbol) => return Some(&self.symbols.info(*symbol).kind),
                _ => return None,
            }
        }
    }
}

/// A factor that several summands share, taken out of them: the factor, the quotients of the summands
/// that share it, and the other summands. Indices stay where they are; of several factors the one that
/// most summands share is taken.
pub(super) fn common_factor(summands: &[Summand]) -> Option<(Factor, Vec<Summand>, Vec<Summand>)> {
    let shared = |factor: Factor| summands.iter().filter(|s| s.factors.contains(&factor)).count();
    let mut best: Option<(usize, Factor)> = None;
    for &factor in summands.iter().flat_map(|summand| &summand.factors) {
        let count = shared(factor);
        if matches!(factor, Factor::Term(_))
            && count > 1
            && best.is_none_or(|(most, _)| count > most)
        {
            best = Some((count, factor));
        }
    }
    let (_, factor) = best?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for summand in summands {
        match summand.factors.iter().position(|&f| f == factor) {
            Some(at) => {
                let mut inner = summand.clone();
                inner.factors.remove(at);
                with.push(inner);
            }
            None => without.push(summand.clone()),
        }
    }
    Some((factor, with, without))
}
