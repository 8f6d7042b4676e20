//! Our own bit-vector terms: hash-consed, simplified as they are built, with sums in a linear
//! normal form.
//!
//! A term is a [`TermId`] in an [`Arena`]; equal terms have equal ids, so a proof by normal form is
//! one comparison of integers. Widths are 1 to 64 bits (a predicate is 1 bit wide); all arithmetic is
//! modulo 2^width, as in PTX. How values differ between lanes is a property of the [`SymbolId`]s in a
//! term, and is kept by the module that makes them (`emulate`).
//!
//! Normal forms are bounded by count: products carry exponents, sums and products beyond a few dozen
//! parts become operations that are kept as they are ([`BinaryOp::Add`], [`BinaryOp::Multiply`]), and
//! a large term is not rebuilt all through for a simpler form. So two terms of equal value may have
//! different ids, but terms of different values never have the same. All work is charged to the arena
//! ([`Arena::charge`]).
//!
//! **Architecture invariant:** nothing here knows PTX, control flow or the solver.

mod arena;
mod bits;
mod budget;
mod build;
mod columns;
mod compare;
mod eval;
mod extend;
mod facts;
mod found;
mod functions;
mod intervals;
mod known_bits;
mod linear;
mod low_bits;
mod node;
mod order;
mod quotient;
mod range;
mod refute;
mod rewrite;
mod search;
mod shape;
mod table;
mod valuation;
mod walk;

pub use arena::Arena;
pub use bits::{mask, power, sign_extend, to_signed};
pub use budget::{Exhausted, within};
pub use eval::{Evaluator, evaluate_binary, evaluate_node, evaluate_unary, neighbour};
pub use facts::Facts;
pub use found::Search;
pub use functions::Functions;
pub use linear::{MAX_FACTORS, MAX_SUMMANDS};
pub use node::{BinaryOp, Comparison, FunctionId, Node, SymbolId, TermId, UnaryOp};
pub use quotient::{Division, small_dividends};
pub use range::Range;
pub use refute::{are_contradictory, follows};
pub use rewrite::Substitution;
pub use search::Searcher;
pub use table::{Column, Table, value_at};
pub use valuation::{LaneValuation, Valuation};
