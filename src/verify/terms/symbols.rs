//! The free symbols of one pair of functions, and the terms made of them. Both programs share one
//! arena and one table, so values that are equal by construction are one term.

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use super::functions::{Function, Load};
use crate::cfg::{InstId, LoopId};
use crate::expr::{Arena, FunctionId, Functions, Node, Range, Substitution, SymbolId, TermId};
use crate::isa::{Axis, Special};
use crate::program::{Places, Window};
use crate::solver::Names;

/// The origin of a version of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Origin {
    /// The start of the function.
    Entry,
    /// The event of the original with this number.
    Event(InstId),
    /// The header of a loop that changes memory.
    Header(LoopId),
    /// An event that only the rewritten program has.
    RewrittenOnly(InstId),
}

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// `%tid` in a dimension, 0 to 2.
    Tid(Axis),
    /// `%laneid`
    LaneId,
    /// A special register with one value for the warp.
    Uniform(Special),
    /// The value of a special register that may change, as an instruction reads it: the program, the
    /// instruction's number, the register's name.
    Volatile(Side, InstId, String),
    /// A parameter of the function, or a part of one.
    Parameter { name: String, offset: i64, bits: u8 },
    /// The address of a variable or function.
    Address(String),
    /// The number of this thread: it distinguishes values that only one thread can see.
    Thread,
    /// A register before it was written: the program, its name, and its number among the registers of
    /// that name.
    Unwritten(Side, String, u32),
    /// A register at a loop's header; the program is the original unless only the rewritten one
    /// changes it.
    Phi(Side, LoopId, u32),
    /// A version of memory.
    Memory(Window, Origin),
    /// A result of an event of the original: the event's number, and the result's.
    Event(InstId, Places),
    /// A result of an event that only the rewritten program has.
    RewrittenOnly(InstId, Places),
    /// The condition code register at an instruction where it is not known: the program, and the
    /// instruction.
    Carry(Side, InstId),
    /// The lanes that are converged at an instruction of the rewritten program.
    Mask(InstId),
    /// The value that a shuffle delivers where the PTX ISA promises none.
    Unpredictable(InstId),
    /// The value that a term has in the lane of a number, which is a constant in the term: for a value that this
    /// lane might not read.
    InLane(u32, TermId),
    /// A symbol in place of a term that a proof does not look into.
    Abstract(TermId),
    /// An arbitrary value, by a number: a proof about it holds for all values.
    Any(u32),
    /// The value of another symbol some lanes up.
    Shifted(SymbolId, i32),
}

/// One of the two programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    Original,
    Rewritten,
}

/// Facts about a symbol.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub kind: Kind,
    pub width: u8,
    /// The innermost loop whose iterations give the symbol new values.
    pub made_in: Option<LoopId>,
}

/// The names in messages for the sources of symbols: of each program, the original first.
#[derive(Debug, Default)]
pub(crate) struct TextNames {
    /// The registers' names.
    pub registers: [Vec<String>; 2],
    /// The instructions' opcodes and 1-based lines.
    pub insts: [TiVec<InstId, (String, u32)>; 2],
}

/// All symbols and uninterpreted functions.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub names: TextNames,
    infos: TiVec<SymbolId, Info>,
    ids: FxHashMap<Kind, SymbolId>,
    functions: Functions<Function>,
}

impl Names for Symbols {
    fn symbol(&self, symbol: SymbolId) -> String {
        format!("{:?}", self.info(symbol).kind)
    }

    fn function(&self, function: FunctionId) -> &str {
        self.functions.name(function)
    }
}

impl Symbols {
    pub(crate) fn info(&self, symbol: SymbolId) -> &Info {
        &self.infos[symbol]
    }

    /// The name of a register of one of the programs, for messages.
    pub(crate) fn register(&self, side: Side, register: u32) -> &str {
        let names = &self.names.registers[side as usize];
        names.get(register as usize).map_or("a register", String::as_str)
    }

    /// An instruction's opcode and line in one of the programs, for messages.
    pub(crate) fn inst(&self, side: Side, inst: InstId) -> String {
        match (side, self.names.insts[side as usize].get(inst)) {
            (Side::Original, Some((opcode, line))) => format!("`{opcode}` of original line {line}"),
            (Side::Rewritten, Some((opcode, line))) => format!("`{opcode}` of line {line}"),
            (_, None) => "an instruction".to_owned(),
        }
    }

    /// The symbol of a kind, if it has been made.
    pub(crate) fn find(&self, kind: &Kind) -> Option<SymbolId> {
        self.ids.get(kind).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SymbolId, &Info)> {
        self.infos.iter_enumerated()
    }

    /// An uninterpreted function.
    pub(crate) fn function_of(&self, id: FunctionId) -> &Function {
        self.functions.get(id)
    }

    /// The term of a symbol, which is made when it is first used.
    pub(crate) fn term(
        &mut self,
        arena: &mut Arena,
        kind: Kind,
        width: u8,
        made_in: Option<LoopId>,
        range: Range,
    ) -> TermId {
        let (id, new) = self.id(Info { kind, width, made_in });
        let width = self.info(id).width;
        if new { arena.symbol_within(id, width, range) } else { arena.symbol(id, width) }
    }

    fn id(&mut self, info: Info) -> (SymbolId, bool) {
        let next = self.infos.next_key();
        let id = *self.ids.entry(info.kind.clone()).or_insert(next);
        if id == next {
            self.infos.push(info);
        }
        (id, id == next)
    }
}

/// Terms and the meanings of their symbols.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub arena: Arena,
    pub symbols: Symbols,
    /// Terms in which everything that is not linear is replaced by symbols, for quick proofs.
    pub abstraction: Substitution,
    /// Predicates that hold everywhere, by the user's word.
    pub assumed: Vec<TermId>,
    /// Parameters whose bytes do not overlap, by the user's word.
    pub no_alias: Vec<TermId>,
    /// Whether nothing that is widened wraps around, by the user's word.
    pub assume_no_wrap: bool,
}

impl Terms {
    /// No terms yet; making them may take `steps` steps.
    pub(crate) fn within(steps: u64) -> Terms {
        Terms { arena: Arena::with_limit(steps), ..Terms::default() }
    }

    /// Whether a distance is one between pointers whose bytes do not overlap, by the user's word.
    pub(crate) fn is_apart(&self, distance: TermId) -> bool {
        if self.no_alias.is_empty() {
            return false;
        }
        let (_, addends) = self.arena.linear_parts(distance);
        let own = addends.iter().filter(|(term, _)| self.no_alias.contains(term));
        let mut factors: Vec<u64> = own.map(|(_, factor)| *factor).collect();
        factors.sort_unstable();
        factors == [1, crate::expr::mask(64)]
    }

    /// The symbol of a kind; only its width is known.
    pub(crate) fn symbol(&mut self, kind: Kind, width: u8, made_in: Option<LoopId>) -> TermId {
        self.bounded(kind, width, made_in, Range::full(width))
    }

    /// The symbol of a kind, made when it is first used.
    pub(crate) fn bounded(
        &mut self,
        kind: Kind,
        width: u8,
        made_in: Option<LoopId>,
        range: Range,
    ) -> TermId {
        self.symbols.term(&mut self.arena, kind, width, made_in, range)
    }

    /// An uninterpreted function of some operands.
    pub(crate) fn apply(&mut self, function: Function, operands: &[TermId], width: u8) -> TermId {
        let id = self.symbols.functions.id(function);
        self.arena.apply(id, operands, width)
    }

    /// The function and the operands of a term that is an uninterpreted function of operands.
    pub(crate) fn applied(&self, term: TermId) -> Option<(&Function, &[TermId])> {
        match self.arena.node(term) {
            Node::Apply(function, operands) => {
                Some((self.symbols.functions.get(*function), operands))
            }
            _ => None,
        }
    }

    /// The load and the operands of a term that is a load's value.
    pub(crate) fn loaded(&self, term: TermId) -> Option<(Load, &[TermId])> {
        let (function, operands) = self.applied(term)?;
        Some((function.as_load()?, operands))
    }

    /// Whether an address is global, as a predicate.
    pub(crate) fn is_global(&mut self, address: TermId) -> TermId {
        self.apply(Function::IsGlobal, &[address], 1)
    }

    /// The symbol that a term is, if it is one.
    pub(crate) fn as_symbol(&self, term: TermId) -> Option<SymbolId> {
        match *self.arena.node(term) {
            Node::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }
}
