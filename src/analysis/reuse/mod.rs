//! Finds loads whose value a register already holds, in the same lane or in another.
//!
//! In: the control flow and memory trace of one function. Out, through [`Legality`]: for a pair of loads whether one
//! may take its value from the other, at which lane distance and under which guards, or the [`Refusal`] that forbids
//! it. This module neither chooses nor edits. Every legal reuse rests on a proof, by normal form, by the path condition
//! or by the solver; a condition that cannot be proved becomes a guard that is checked at run time, or a refusal.
//!
//! Beside loads, [`shared`] has the arrays in shared memory, and where else their bytes may be.

mod adjacent_stores;
mod alignment;
mod alike;
mod availability;
mod batched;
mod batched_in_front;
mod batched_vectors;
mod candidates;
mod distance;
mod eligible;
mod facts;
mod function;
mod gathered;
mod legal_reuse;
mod legality;
mod offers;
mod pieces;
mod prove;
mod refusal;
mod restriction;
pub mod shared;
mod sharing;
mod side_effect_free;
mod sources;
mod stored_value;
pub mod transposition;
mod twice;
mod under;
mod vector_group;
mod whole;

pub use adjacent_stores::{AdjacentStores, PlainStore, StoredElement, is_apart};
pub use alignment::{MAX_VECTOR, MAX_VECTOR_SM_100, Multiple};
pub use alike::LaneClaim;
pub use availability::NoAliasCheck;
pub use batched::{Addend, Batched, Distance, MovedLoad};
pub use distance::base_address;
pub use eligible::{Element, Load, MAX_ADDRESS, OWN_REGISTERS};
pub use function::lane_stride;
pub use legal_reuse::{Guards, LegalReuse, Options};
pub use legality::Legality;
pub use pieces::{Part, Piece, pieces};
pub use prove::{NoWrap, WrapKind};
pub use refusal::{Assumed, Hindrance, InBuild, Limit, Refusal, Unprofitable};
pub use side_effect_free::SideEffectFree;
pub use sources::Offers;
pub use stored_value::StoredValue;
pub use transposition::STRUCT_WORDS;
pub use twice::Region;
pub use vector_group::VectorGroup;
