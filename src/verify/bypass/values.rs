//! The terms of one thread block: unknown registers, unknown memory, addresses of variables, functions that are not
//! looked into.

use std::fmt;

use crate::cfg::RegisterId;
use crate::expr::{Arena, BinaryOp, Functions, Range, SymbolId, TermId};
use crate::isa::Qualifier;
use crate::ptx::ScalarType;
use rustc_hash::FxHashMap;

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Unknown {
    /// The value of a register at the branch: the same in all threads, or that of one thread.
    Register(RegisterId, Option<u32>),
    /// The value that an instruction reads from the kernel's parameters: the operand as written, with its type.
    Parameter(String),
    /// A result of a thread's action outside of shared memory: the numbers of the thread, of the action, of the result.
    Result(u32, usize, usize),
    /// A special register with one value for the thread block.
    Special(String),
    /// The address of a variable in 32 bits, by its name with its scope.
    Address(String),
    /// What shared memory holds at the branch: from where, how many bytes on, how many bytes.
    Memory(TermId, u32, u32),
    /// The number of a thread that is not in the first warp.
    Other,
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

/// An action of a thread outside of shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Action {
    /// How often the threads of the block, and the lanes of the warp, have waited for each other before.
    pub when: (u32, u32),
    /// The instruction as written, without its registers.
    pub what: String,
    pub operands: Vec<TermId>,
}

/// All terms of one comparison.
#[derive(Default)]
pub(crate) struct Values {
    pub arena: Arena,
    functions: Functions<Operation>,
    symbols: FxHashMap<Unknown, SymbolId>,
    /// The operands of joined values: the same set in another order is the same value.
    joined: FxHashMap<TermId, (String, Vec<TermId>)>,
}

impl Values {
    /// No terms yet, and a limit to the work with them ([`crate::expr::within`]).
    pub(super) fn within_limit(limit: u64) -> Values {
        Values { arena: Arena::with_limit(limit), ..Values::default() }
    }

    /// The symbol of something unknown.
    pub(super) fn unknown(&mut self, unknown: Unknown, width: u8) -> TermId {
        let next = SymbolId(self.symbols.len() as u32);
        let id = *self.symbols.entry(unknown).or_insert(next);
        self.arena.symbol(id, width)
    }

    /// The same of a value within bounds.
    pub(super) fn within(&mut self, unknown: Unknown, width: u8, range: Range) -> TermId {
        let next = SymbolId(self.symbols.len() as u32);
        let id = *self.symbols.entry(unknown).or_insert(next);
        self.arena.symbol_within(id, width, range)
    }

    /// The symbol of an unknown value, which may differ from all others.
    pub(crate) fn any(&mut self, width: u8) -> TermId {
        self.unknown(Unknown::Any(self.symbols.len()), width)
    }

    /// Whether a term is the address of a variable.
    pub(super) fn is_address(&mut self, term: TermId) -> bool {
        let Values { arena, symbols, .. } = self;
        symbols.iter().any(|(unknown, id)| {
            matches!(unknown, Unknown::Address(_)) && arena.symbol(*id, 32) == term
        })
    }

    /// The result of a function that is not looked into.
    pub(super) fn apply(&mut self, operation: String, operands: &[TermId], width: u8) -> TermId {
        let function = self.functions.id(Operation(operation));
        self.arena.apply(function, operands, width)
    }

    /// Two integers joined by an operation for which neither order nor grouping counts; of a minimum and the like
    /// repetition does not count, either.
    pub(super) fn joined(
        &mut self,
        op: Qualifier,
        ty: ScalarType,
        [a, b]: [TermId; 2],
    ) -> Option<TermId> {
        let op = match op {
            Qualifier::Add => return Some(self.arena.add(a, b)),
            Qualifier::Xor => return Some(self.arena.xor(a, b)),
            Qualifier::And => return Some(self.arena.binary(BinaryOp::And, a, b)),
            Qualifier::Or => return Some(self.arena.binary(BinaryOp::Or, a, b)),
            Qualifier::Min => "min",
            Qualifier::Max => "max",
            _ => return None,
        };
        let name = format!("{op}.{ty}");
        let mut all = Vec::new();
        for term in [a, b] {
            match self.joined.get(&term) {
                Some((known, parts)) if *known == name => all.extend_from_slice(parts),
                _ => all.push(term),
            }
        }
        all.sort_unstable();
        all.dedup();
        if let [one] = all[..] {
            return Some(one);
        }
        let width = self.arena.width(a);
        let term = self.apply(format!("{name} of {}", all.len()), &all, width);
        self.joined.insert(term, (name, all));
        Some(term)
    }

    /// The value of a term, if it is a constant.
    pub(crate) fn constant(&self, term: TermId) -> Option<u64> {
        self.arena.constant_value(term)
    }
}
