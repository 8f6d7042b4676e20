//! The free symbols of one kernel: what each stands for and how it depends on the lane; and its uninterpreted functions.

use std::fmt;

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use crate::cfg::{LoopId, RegisterId};
use crate::expr::{Arena, FunctionId, Functions, Range, SymbolId, TermId};
use crate::isa::{Axis, Opcode, Qualifier, Special};
use crate::ptx::{ScalarType, StateSpace};

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// `%tid`: the thread's index in its block.
    Tid(Axis),
    /// `%laneid`
    LaneId,
    /// A special register that has one value for all lanes of a warp, named as in PTX.
    WarpUniform(Special),
    /// A kernel parameter (or a part of one) at a byte offset.
    Parameter {
        /// The parameter's name.
        name: String,
        /// Bytes from its start.
        offset: i64,
        /// Width of the part in bits.
        bits: u8,
    },
    /// The address of a variable or function.
    Address(String),
    /// How many times the latch of a loop has been taken.
    Iteration(LoopId),
    /// The contents of all memory, or of a window of it, at some point of the program.
    Memory(u32),
    /// A register at the header of a loop that changes it.
    LoopValue(RegisterId, u32),
    /// A register where several flows meet.
    JoinValue(RegisterId, u32),
    /// The result of something that is not modelled, or a register that was never written.
    Unknown(u32),
    /// The value that another symbol has `n` lanes further.
    Shifted(SymbolId, i32),
    /// The value that a term has in two lanes which are asked about it: the same, or one that grows by 1
    /// from lane to lane if it is said to grow.
    Alike(TermId, bool),
}

/// How a symbol's value differs between the lanes of a warp whose lanes are consecutive in
/// `tid.x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaneDependence {
    /// One value for the warp.
    Uniform,
    /// `%tid.x`, `%laneid`: one more in the next lane.
    Consecutive,
    /// Nothing is known of how the symbol differs between lanes.
    Varying,
    /// The symbol was made from these terms (it is *fed by* them), and is uniform if all of them are.
    DependsOn(Vec<TermId>),
}

/// Facts about a symbol.
#[derive(Clone, Debug)]
pub struct SymbolInfo {
    /// The meaning of the symbol.
    pub kind: SymbolKind,
    /// Width in bits.
    pub width: u8,
    /// How the symbol's value differs between lanes.
    pub dependence: LaneDependence,
    /// The innermost loop whose iterations give the symbol new values.
    pub created_in: Option<LoopId>,
}

/// An uninterpreted function: equal operands give equal results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// The value of a weak load.
    Load {
        /// The state space that the load names.
        space: StateSpace,
        /// Width in bits.
        bits: u32,
    },
    /// An instruction that has no exact meaning here: its opcode with its modifiers as written.
    Opcode(String),
    /// A comparison of floating-point numbers.
    Compare {
        /// The comparison.
        operator: Qualifier,
        /// Whether subnormal numbers count as zero.
        flushes: bool,
        /// The operands' type.
        ty: ScalarType,
    },
    /// The result of `div` or `rem` by zero, a function of the dividend.
    ByZero {
        /// Which of the two.
        opcode: Opcode,
        /// Whether the operands are signed.
        signed: bool,
    },
    /// The result of `fns` whose base is larger than 31.
    NthBitBeyondWord,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Function::Load { space, bits } => write!(f, "load.{space:?}.{bits}"),
            Function::Opcode(text) => f.write_str(text),
            Function::Compare { operator, flushes, ty } => {
                write!(f, "compare.{operator}{}{ty}", if *flushes { ".ftz" } else { "" })
            }
            Function::ByZero { opcode, signed } => write!(f, "{opcode}-by-zero.{signed}"),
            Function::NthBitBeyondWord => f.write_str("fns-base-beyond-31"),
        }
    }
}

/// All symbols and uninterpreted functions of one kernel.
#[derive(Debug, Default)]
pub struct Symbols {
    infos: TiVec<SymbolId, SymbolInfo>,
    by_kind: FxHashMap<SymbolKind, SymbolId>,
    functions: Functions<Function>,
    fresh: u32,
}

impl crate::solver::Names for Symbols {
    fn symbol(&self, symbol: SymbolId) -> String {
        format!("{:?}", self.info(symbol).kind)
    }

    fn function(&self, function: FunctionId) -> &str {
        self.functions.name(function)
    }
}

impl Symbols {
    /// A symbol's description.
    pub fn info(&self, symbol: SymbolId) -> &SymbolInfo {
        &self.infos[symbol]
    }

    /// All symbols with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SymbolId, &SymbolInfo)> {
        self.infos.iter_enumerated()
    }

    /// Completes a symbol's dependence, once every term that feeds it is known.
    pub fn set_dependence(&mut self, symbol: SymbolId, dependence: LaneDependence) {
        self.infos[symbol].dependence = dependence;
    }

    /// The symbol of a kind, made when it is first used.
    pub fn get(&mut self, info: SymbolInfo) -> SymbolId {
        let next = self.infos.next_key();
        let id = *self.by_kind.entry(info.kind.clone()).or_insert(next);
        if id == next {
            self.infos.push(info);
        }
        id
    }

    /// The term of a symbol, which is made when it is first used.
    pub fn term(&mut self, arena: &mut Arena, info: SymbolInfo, range: Range) -> TermId {
        let width = info.width;
        let known = self.by_kind.contains_key(&info.kind);
        let id = self.get(info);
        if known { arena.symbol(id, width) } else { arena.symbol_within(id, width, range) }
    }

    /// The address of a variable or function; `scope` is the scope of the body in which it is
    /// declared, if one is. The address is one value for the warp.
    pub fn address(
        &mut self,
        arena: &mut Arena,
        name: &str,
        scope: Option<u32>,
        width: u8,
    ) -> TermId {
        let scope = scope.map_or(String::new(), |scope| format!("{scope}."));
        let info = SymbolInfo {
            kind: SymbolKind::Address(format!("{scope}{name}:{width}")),
            width,
            dependence: LaneDependence::Uniform,
            created_in: None,
        };
        self.term(arena, info, Range::full(width))
    }

    /// A number that no symbol has had yet.
    pub fn next_fresh(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    /// The id of an uninterpreted function, made when it is first used.
    pub fn function(&mut self, function: Function) -> FunctionId {
        self.functions.id(function)
    }

    /// Whether an uninterpreted function gives the value of a load: from a version of memory and an address.
    pub fn is_load(&self, function: FunctionId) -> bool {
        matches!(self.functions.get(function), Function::Load { .. })
    }

    /// The name of an uninterpreted function.
    pub fn function_name(&self, function: FunctionId) -> &str {
        self.functions.name(function)
    }
}
