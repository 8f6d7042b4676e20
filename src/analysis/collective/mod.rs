//! Collectives: joint computations of a warp's lanes by shuffles, whatever the shape of the code.
//!
//! In: the control flow of one function. Out: each [`Collective`]: a reduction, a count up to the lane, or a value
//! that a register holds already; over which lanes, by which instructions, for which lanes the result is exact; whether
//! fewer instructions may compute it ([`Form`]), or the reason why not ([`Obstacle`]). No choice is made here.
//!
//! A register's value is followed in all 32 lanes as a term over the source lanes' values (`value`, `evaluate`, `chain`), and
//! compared with the reduction and the prefix. So any network of shuffles is found, in whatever order a compiler has put
//! it, unrolled or as a loop with a known number of iterations (`counted`). What no instruction computes in the same bits
//! is not looked for: sums and prefixes of numbers, broadcasts. `find` and `looped` recognise, `users` says which lanes use
//! a result, `members` which are together, `legal` what may be replaced.

mod chain;
mod classify;
mod counted;
mod evaluate;
mod find;
mod form;
mod halves;
mod legal;
mod looped;
mod members;
mod network;
mod obstacle;
mod senders;
mod users;
mod uses;
mod value;
mod wide;

pub use chain::is_exchange;
pub use find::collectives;
pub use form::{Form, Predicate};
pub use members::Place;
pub use network::{Collective, Computes, InLoop};
pub use obstacle::Obstacle;
pub use uses::block_of;
pub use value::{Operator, Order};
