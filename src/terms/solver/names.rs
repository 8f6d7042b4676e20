//! What symbols and functions are called in queries.

use crate::expr::{FunctionId, SymbolId};

/// The names of symbols and functions in queries; different ones must have different names.
pub trait Names {
    /// A symbol's name.
    fn symbol(&self, symbol: SymbolId) -> String;
    /// An uninterpreted function's name.
    fn function(&self, function: FunctionId) -> &str;
}
