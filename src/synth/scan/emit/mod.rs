//! Code of an operator: a CUDA header and PTX kernels that scan and reduce a list with one block.
//!
//! Each thread goes through its share of the list as the serial loop does; the states are combined in the warp by
//! the networks of `scan.sketch` and `reduce.sketch`, and across warps in shared memory.
//!
//! - `numbers`: the type of accumulators. `names`: names that C takes. `networks`: the networks.
//! - `cuda`, `ptx`: the texts; `writer`: PTX of terms and states. `check`: their execution beside the serial loop,
//!   `sweep`: on many lists of each length.

mod abreast;
pub mod check;
mod cuda;
mod names;
mod networks;
mod numbers;
mod ptx;
mod serial;
pub mod sweep;
mod writer;

pub use cuda::{ARITHMETIC, blocks, cuda, entries as cuda_entries, functions};
pub use networks::{Networks, solved};
pub use numbers::{natural, with_bits};
pub use ptx::ptx;

use super::search::Found;
use super::subject::{Kind, Loop};
use super::term::{Op, Shared, Sort, Term};
use crate::planted::Bug;

/// An operator, and how it is written.
#[derive(Clone, Debug)]
pub struct Code<'f> {
    /// The operator.
    pub found: &'f Found,
    /// What names in the code begin with.
    pub name: String,
    /// The type of numbers that are accumulated: integers or floating-point numbers of 32 or 64 bits.
    pub numbers: Kind,
}

impl<'f> Code<'f> {
    /// An operator with numbers of so many bits; else of as many as it needs.
    pub fn new(found: &'f Found, name: &str, bits: Option<u32>) -> Code<'f> {
        let natural = natural(found);
        let numbers = bits.map_or(natural, |bits| with_bits(natural, bits));
        Code { found, name: name.to_owned(), numbers }
    }

    /// Whether this mistake is planted.
    fn has(&self, bug: Bug) -> bool {
        self.found.subject.planted.has(bug)
    }

    /// The loop.
    fn subject(&self) -> &'f Loop {
        &self.found.subject
    }

    /// The type of the result of this number in memory.
    fn result(&self, at: usize) -> Kind {
        let subject = self.subject();
        let signed = subject.inputs.iter().chain(&subject.givens);
        let signed = signed.into_iter().any(|read| matches!(read.kind, Kind::Signed(_)));
        match (sort(subject, &subject.result[at]), self.numbers) {
            (Sort::Boolean, _) => Kind::Boolean,
            (_, Kind::Unsigned(bits)) if signed => Kind::Signed(bits),
            (_, numbers) => numbers,
        }
    }
}

/// What the values of a term range over.
fn sort(subject: &Loop, term: &Shared) -> Sort {
    match &**term {
        Term::Number(_) => subject.numbers,
        Term::Truth(_) | Term::Not(_) => Sort::Boolean,
        Term::Variable(variable) => subject.sort(*variable),
        Term::If(_, a, _) => sort(subject, a),
        Term::Binary(op, ..) => match op {
            Op::Equal | Op::Less | Op::LessEqual | Op::And | Op::Or => Sort::Boolean,
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::Min | Op::Max => subject.numbers,
        },
    }
}
