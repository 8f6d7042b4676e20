//! Collectives: joint computations of a warp's lanes by shuffles, whatever the shape of the code.
//!
//! In: the control flow of one function. Out: each [`Collective`]: a reduction, a prefix sum, a broadcast, or a value
//! that a register holds already; over which lanes, by which instructions, for which lanes the result is exact; whether
//! fewer instructions may compute it ([`Form`]), or the reason why not ([`Obstacle`]). No choice is made here.
//!
//! A register's value is followed in all 32 lanes as a term over the source lanes' values (`value`, `evaluate`, `chain`), and
//! compared with the reduction, the prefix, the broadcast. So any network of shuffles is found, in whatever order a
//! compiler has put it. `find` recognises, `lanes` says which lanes use a result, `legal` what may be replaced.

mod chain;
mod evaluate;
mod find;
mod form;
mod lanes;
mod legal;
mod network;
mod obstacle;
mod uses;
mod value;

pub use chain::is_exchange;
pub use find::collectives;
pub use form::{Form, Predicate};
pub use legal::Place;
pub use network::{Collective, Computes};
pub use obstacle::Obstacle;
pub use uses::{block_of, reads};
pub use value::{Operator, Order};
