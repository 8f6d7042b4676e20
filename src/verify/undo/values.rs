//! The terms of one thread block: unknown registers, unknown memory, addresses of variables, functions that are not
//! looked into.

use std::fmt;

use crate::cfg::RegisterId;
use crate::expr::{Arena, BinaryOp, Functions, Node, Range, Substitution, SymbolId, TermId};
use crate::isa::Qualifier;
use crate::ptx::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::TiVec;

/// The special register that tells threads of a row apart.
pub(super) const TID: &str = "%tid.x";

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
    /// A special register, by its name, whose value lies between these bounds.
    Within(String, u32, u32),
    /// The result of a load in a thread that stands for all: the instruction, its operands, how many barriers and effects of
    /// the thread stand before it, the number of the result.
    Loaded(String, Vec<TermId>, (u32, usize), usize),
    /// One thread's value for an unknown value of the thread that stands for all.
    Of(SymbolId, u32),
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

impl Action {
    /// The instruction and its operands, without their place.
    pub(super) fn done(&self) -> (&str, &[TermId]) {
        (&self.what, &self.operands)
    }
}

/// All terms of one comparison.
#[derive(Default)]
pub(crate) struct Values {
    pub arena: Arena,
    functions: Functions<Operation>,
    symbols: FxHashMap<Unknown, SymbolId>,
    kinds: TiVec<SymbolId, Unknown>,
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
        let id = self.symbol(unknown);
        self.arena.symbol(id, width)
    }

    fn symbol(&mut self, unknown: Unknown) -> SymbolId {
        let Values { symbols, kinds, .. } = self;
        *symbols
            .entry(unknown)
            .or_insert_with_key(|unknown| kinds.push_and_get_key(unknown.clone()))
    }

    /// The symbol of a special register whose value lies between two bounds.
    pub(super) fn within(&mut self, name: String, least: u32, most: u32) -> TermId {
        let id = self.symbol(Unknown::Within(name, least, most));
        let (least, most) = (u64::from(least), u64::from(most));
        let bounds = Range::unsigned(least, most, 32);
        // (So the bits of its half, a quarter and so on are known as well.)
        let same = !u64::MAX.checked_shr((least ^ most).leading_zeros()).unwrap_or_default();
        let (zeros, ones) = (bounds.zeros | !least & same, least & same);
        self.arena.symbol_within(id, 32, Range { zeros, ones, ..bounds })
    }

    /// The symbol of an unknown value, which may differ from all others.
    pub(crate) fn any(&mut self, width: u8) -> TermId {
        self.unknown(Unknown::Any(self.symbols.len()), width)
    }

    /// The meaning of a term that is a symbol.
    fn kind(&self, term: TermId) -> Option<&Unknown> {
        match self.arena.node(term) {
            Node::Symbol(id) => Some(&self.kinds[*id]),
            _ => None,
        }
    }

    /// Whether a term is the address of a variable.
    pub(super) fn is_address(&self, term: TermId) -> bool {
        matches!(self.kind(term), Some(Unknown::Address(_)))
    }

    /// Whether a term may have other values in other threads.
    pub(super) fn varies(&self, term: TermId) -> bool {
        let (mut work, mut seen) = (vec![term], FxHashSet::default());
        while let Some(next) = work.pop() {
            self.arena.charge(1);
            match self.kind(next) {
                Some(Unknown::Within(name, ..)) if name != TID => {}
                Some(
                    Unknown::Register(_, None)
                    | Unknown::Parameter(_)
                    | Unknown::Special(_)
                    | Unknown::Address(_)
                    | Unknown::Memory(..),
                ) => {}
                Some(_) => return true,
                None => work
                    .extend(self.arena.operands(next).into_iter().filter(|one| seen.insert(*one))),
            }
        }
        false
    }

    /// A term of the thread that stands for all as one thread has it, whose number is given.
    pub(super) fn of_thread(
        &mut self,
        term: TermId,
        (thread, number): (u32, TermId),
        done: &mut Substitution,
    ) -> TermId {
        let Values { arena, symbols, kinds, .. } = self;
        done.apply(arena, term, &mut |arena, id, symbol| {
            let own = match &kinds[id] {
                Unknown::Within(name, ..) if name == TID => return number,
                Unknown::Register(register, Some(_)) => Unknown::Register(*register, Some(thread)),
                Unknown::Result(..) | Unknown::Loaded(..) | Unknown::Any(_) => {
                    Unknown::Of(id, thread)
                }
                _ => return symbol,
            };
            let add = |own: &Unknown| kinds.push_and_get_key(own.clone());
            let id = *symbols.entry(own).or_insert_with_key(add);
            arena.symbol(id, arena.width(symbol))
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
