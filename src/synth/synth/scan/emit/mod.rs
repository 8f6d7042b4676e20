//! Code of an operator: a CUDA header and PTX kernels that scan and reduce a list with one block.
//!
//! Each thread goes through its share of the list as the serial loop does; the states are combined in the warp by
//! the networks of `scan.sketch` and `reduce.sketch`, and across warps in shared memory.
//!
//! - `numbers`: the type of accumulators. `names`: names that C takes. `networks`: the networks.
//! - `cuda`, `ptx`: the texts; `writer`: PTX of terms and states; `collectives`: accumulators that one instruction combines
//!   over a warp. `check`: their execution beside the serial loop, `sweep`: on many lists of each length.

pub mod check;
mod collectives;
mod cuda;
mod names;
mod networks;
mod numbers;
mod ptx;
pub mod sweep;
mod writer;

pub use cuda::{ARITHMETIC, blocks, cuda, entries as cuda_entries, functions};
pub use networks::{Networks, solved};
pub use numbers::{natural, with_bits};
pub use ptx::ptx;

use super::search::Found;
use super::subject::{Kind, Loop};
use super::term::{Shared, Sort};

/// An operator, and how it is written.
#[derive(Clone, Debug)]
pub struct Code<'f> {
    /// The operator.
    pub found: &'f Found,
    /// The prefix of names in the code.
    pub name: String,
    /// The type of integers that are accumulated, of 32 or 64 bits.
    pub integers: Kind,
    /// The type of floating-point numbers that are accumulated, of 32 or 64 bits.
    pub reals: Kind,
    /// The architecture whose instructions the PTX may use, 80 for sm_80; 70 if nothing else is said.
    pub architecture: u32,
}

/// The oldest architecture for which code is written.
const OLDEST: u32 = 70;

impl<'f> Code<'f> {
    /// An operator whose numbers have `bits` bits, or else the width that its accumulators declare, or the one it needs.
    pub fn new(found: &'f Found, name: &str, bits: Option<u32>) -> Code<'f> {
        let kind = |sort: Sort| {
            let own = found.subject.accumulators.iter().filter(|own| own.sort == sort);
            let declared = own.filter_map(|own| own.declared).next().map(Kind::bits);
            let natural = natural(found, sort);
            bits.or(declared).map_or(natural, |bits| with_bits(natural, bits))
        };
        let name = name.to_owned();
        let (integers, reals) = (kind(Sort::Integer), kind(Sort::Real));
        Code { found, name, integers, reals, architecture: OLDEST }
    }

    /// The same for an architecture.
    #[must_use]
    pub fn for_architecture(self, architecture: u32) -> Self {
        Code { architecture: architecture.max(OLDEST), ..self }
    }

    /// The type of values of a sort.
    fn kind(&self, sort: Sort) -> Kind {
        match sort {
            Sort::Boolean => Kind::Boolean,
            Sort::Integer => self.integers,
            Sort::Real => self.reals,
        }
    }

    /// The type of an accumulator.
    fn accumulated(&self, at: usize) -> Kind {
        self.kind(self.subject().accumulators[at].sort)
    }

    /// Whether integers wrap around.
    fn wraps(&self) -> bool {
        matches!(self.integers, Kind::Unsigned(_)) && !self.subject().has(Sort::Real)
    }

    /// The sort of a term's values.
    fn sort(&self, term: &Shared) -> Sort {
        let subject = self.subject();
        subject.sort_of(term).unwrap_or_else(|| subject.literals())
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
        match self.kind(self.sort(&subject.result[at])) {
            Kind::Unsigned(bits) if signed => Kind::Signed(bits),
            kind => kind,
        }
    }
}
