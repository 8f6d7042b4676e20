//! Writes changes into the original text: a plan of one function, code at its places, one new text.
//!
//! In: the text, and what patterns plan through a [`Planner`]. Out: a new text and a map of its lines. The program is
//! never printed anew: bytes that no edit touches stay as they are. All patterns share this module: free names,
//! registers as the original names them, checks that are made once for several loads, and code that is duplicated under
//! a test. A pattern adds a [`Part`].
//!
//! Every pattern has to obey the [`laws`]; each law shows a kernel that breaks without it.

mod assemble;
mod bytes;
mod checks;
mod condition;
mod edit;
pub mod laws;
mod mention;
mod mode;
mod names;
mod plan;
mod replacement;
mod steps;
mod versions;

pub use assemble::drafts;
pub use bytes::Assembly;
pub use checks::Checks;
pub use condition::{Condition, WarpTest};
pub use edit::{Edit, Edits};
pub use mention::{Draft, declaration, name};
pub use mode::Mode;
pub use names::Names;
pub use plan::{KernelPlan, Part, Planner, Prepared, line_end};
pub use replacement::{CheckedRegister, Replacement, Transfer};
pub use versions::NOT_PREDICATED;
