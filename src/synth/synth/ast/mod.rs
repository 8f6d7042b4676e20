//! The tree of a sketch, in the order of its lines.
//!
//! - `part`: names, expressions, indices and conditions. `serial`: serial loops.
//! - `statement`: the statements, with those that only networks or placements have.

mod part;
mod serial;
mod statement;

pub use part::{Folded, HoleText, Index, Name, Part, Reference, Spanned, When};
pub use serial::{LoopStatement, LoopText, SpannedValue, Start, Value};
pub use statement::Statement;
