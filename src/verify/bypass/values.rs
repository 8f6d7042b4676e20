//! The terms of one thread block: unknown registers, unknown memory, addresses of variables, functions that are not
//! looked into.

use std::fmt;

use crate::cfg::{InstId, RegisterId};
use crate::expr::{Arena, Functions, SymbolId, TermId};
use rustc_hash::FxHashMap;

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Unknown {
    /// The value of a register at the branch: the same in all threads, or that of one thread.
    Register(RegisterId, Option<u32>),
    /// The value that an instruction reads from the kernel's parameters.
    Parameter(InstId),
    /// A special register with one value for the thread block.
    Special(String),
    /// The address of a variable in 32 bits, by its name with its scope.
    Address(String),
    /// What shared memory holds at the branch: from where, how many bytes on, how many bytes.
    Memory(TermId, u32, u32),
    /// An unknown value, by its number.
    Any(usize),
}

/// A function of operands that is not looked into: the instruction as written, with constants and the number of the
/// result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Operation(pub String);

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All terms of one comparison.
#[derive(Default)]
pub(crate) struct Values {
    pub arena: Arena,
    functions: Functions<Operation>,
    symbols: FxHashMap<Unknown, SymbolId>,
}

impl Values {
    /// The symbol of something unknown.
    pub(super) fn unknown(&mut self, unknown: Unknown, width: u8) -> TermId {
        let next = SymbolId(self.symbols.len() as u32);
        let id = *self.symbols.entry(unknown).or_insert(next);
        self.arena.symbol(id, width)
    }

    /// The symbol of an unknown value, which may differ from all others.
    pub(crate) fn any(&mut self, width: u8) -> TermId {
        self.unknown(Unknown::Any(self.symbols.len()), width)
    }

    /// The result of a function that is not looked into.
    pub(super) fn apply(&mut self, operation: String, operands: &[TermId], width: u8) -> TermId {
        let function = self.functions.id(Operation(operation));
        self.arena.apply(function, operands, width)
    }

    /// The value of a term, if it is a constant.
    pub(crate) fn constant(&self, term: TermId) -> Option<u64> {
        self.arena.constant_value(term)
    }
}
