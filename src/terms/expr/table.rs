//! The values of terms under many assignments of the symbols at once: one *column* for each term, with one value for each
//! assignment, or one value for all of them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::Arena;
use super::bits::{mask, power, sign_extend};
use super::eval::{evaluate_binary, evaluate_node, evaluate_unary};
use super::node::{Node, SymbolId, TermId};

/// A column: as many values as there are assignments, or a single one that holds for all.
pub type Column = Box<[u64]>;

/// The columns of some terms of one arena.
#[derive(Clone, Default, Debug)]
pub struct Table {
    columns: FxHashMap<TermId, Column>,
}

impl Table {
    /// Computes the columns of a term and of the terms below that have none yet. `symbol` gives a symbol's column; all of
    /// them have the same length, or one value. `pay` is told how many values a column has before it is computed; `None`
    /// from it ends the computation.
    pub fn fill(
        &mut self,
        arena: &Arena,
        root: TermId,
        symbol: &mut dyn FnMut(TermId, SymbolId) -> Column,
        pay: &mut dyn FnMut(usize) -> Option<()>,
    ) -> Option<&[u64]> {
        let mut open = vec![root];
        while let Some(&term) = open.last() {
            if self.columns.contains_key(&term) {
                open.pop();
                continue;
            }
            let operands = arena.operands(term);
            let (waiting, mut size) = (open.len(), 1);
            for operand in operands {
                match self.columns.get(&operand) {
                    Some(column) => size = size.max(column.len()),
                    None => open.push(operand),
                }
            }
            if open.len() > waiting {
                continue;
            }
            let column = match arena.node(term) {
                Node::Symbol(id) => {
                    let column = symbol(term, *id);
                    pay(column.len())?;
                    column
                }
                _ => {
                    pay(size)?;
                    self.computed(arena, size, term)
                }
            };
            self.columns.insert(term, column);
            open.pop();
        }
        self.get(root)
    }

    /// A term's column, if it has been computed.
    pub fn get(&self, term: TermId) -> Option<&[u64]> {
        self.columns.get(&term).map(|column| &**column)
    }

    /// The column of a term other than a symbol, from those of its operands.
    fn computed(&self, arena: &Arena, size: usize, term: TermId) -> Column {
        let width = arena.width(term);
        let bits = mask(width);
        let of = |term: &TermId| &*self.columns[term];
        match arena.node(term) {
            Node::Sum { constant, addends } => self.sum(size, *constant, addends, bits),
            Node::Product(factors) => {
                let mut products = vec![1u64; size];
                for (factor, exponent) in factors {
                    let powers = mapped(of(factor), |value| power(value, *exponent));
                    let powers = (0..size).map(|index| value_at(&powers, index));
                    products.iter_mut().zip(powers).for_each(|(product, power)| {
                        *product = product.wrapping_mul(power) & bits;
                    });
                }
                products.into()
            }
            Node::Unary(op, a) => mapped(of(a), |a| evaluate_unary(*op, a, width)),
            Node::Binary(op, a, b) => {
                zipped(of(a), of(b), |a, b| evaluate_binary(*op, a, b, width))
            }
            Node::Compare(op, a, b) => {
                let width = arena.width(*a);
                zipped(of(a), of(b), |a, b| u64::from(op.holds(a, b, width)))
            }
            Node::IfThenElse(c, a, b) => {
                let (c, a, b) = (of(c), of(a), of(b));
                let chosen = |index| value_at(if value_at(c, index) != 0 { a } else { b }, index);
                (0..size).map(chosen).collect()
            }
            Node::ZeroExtend(a) => of(a).into(),
            Node::SignExtend(a) => {
                let width = arena.width(*a);
                mapped(of(a), |a| sign_extend(a, width) & bits)
            }
            Node::Extract(a, low) => mapped(of(a), |a| a >> low & bits),
            _ => {
                let operands: SmallVec<[(TermId, &[u64]); 4]> = arena
                    .operands(term)
                    .into_iter()
                    .map(|operand| (operand, of(&operand)))
                    .collect();
                let value = |index| {
                    let of = |wanted: TermId| {
                        let found = operands.iter().find(|(term, _)| *term == wanted);
                        found.map_or(0, |(_, column)| value_at(column, index))
                    };
                    evaluate_node(arena, term, &of, &[])
                };
                (0..size).map(value).collect()
            }
        }
    }

    /// The column of a sum, addend by addend: sums may be long.
    fn sum(&self, size: usize, constant: u64, addends: &[(TermId, u64)], mask: u64) -> Column {
        let mut sums = vec![constant; size];
        for (addend, coefficient) in addends {
            match &*self.columns[addend] {
                &[value] => {
                    let value = value.wrapping_mul(*coefficient);
                    sums.iter_mut().for_each(|sum| *sum = sum.wrapping_add(value));
                }
                column => sums.iter_mut().zip(column).for_each(|(sum, &value)| {
                    *sum = sum.wrapping_add(value.wrapping_mul(*coefficient));
                }),
            }
        }
        sums.iter_mut().for_each(|sum| *sum &= mask);
        sums.into()
    }
}

/// The value of a column under one of the assignments.
pub fn value_at(column: &[u64], index: usize) -> u64 {
    if let &[value] = column { value } else { column[index] }
}

/// A column from another one, value by value.
fn mapped(a: &[u64], value: impl Fn(u64) -> u64) -> Column {
    a.iter().map(|&a| value(a)).collect()
}

/// A column from two others, value by value.
fn zipped(a: &[u64], b: &[u64], value: impl Fn(u64, u64) -> u64) -> Column {
    match (a, b) {
        (&[a], b) => b.iter().map(|&b| value(a, b)).collect(),
        (a, &[b]) => a.iter().map(|&a| value(a, b)).collect(),
        _ => a.iter().zip(b).map(|(&a, &b)| value(a, b)).collect(),
    }
}
