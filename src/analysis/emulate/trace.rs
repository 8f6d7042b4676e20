//! The result of an emulation: every memory access with its address term, the conditions under which each block runs,
//! and the meaning of the symbols.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::TiVec;

use super::effects::Effect;
use super::symbols::Symbols;
use super::uniform::{self, Beliefs, Uniformity};
use crate::cfg::{BlockId, Flow, InstId, RegisterId};
use crate::expr::{Arena, Facts, Node, SymbolId, TermId};
use crate::ptx::{ScalarType, StateSpace};

/// An instruction that reads, writes or orders memory.
#[derive(Clone, Debug)]
pub struct Access {
    /// The instruction.
    pub inst: InstId,
    /// The block that holds the instruction.
    pub block: BlockId,
    /// The instruction's effect.
    pub effect: Effect,
    /// The state space that the instruction names.
    pub space: StateSpace,
    /// The address of the first byte, with loop values resolved; `None` if the instruction has no
    /// address, or an unknown one.
    pub address: Option<TermId>,
    /// Type of one element.
    pub ty: Option<ScalarType>,
    /// Number of elements.
    pub elements: u8,
    /// The values that a store writes, element by element from the address up, each as wide as the element, with
    /// loop values resolved; `None` for an element that is not known. Empty for anything but a store.
    pub values: SmallVec<[Option<TermId>; 4]>,
    /// The predicate under which the instruction runs, if it is guarded.
    pub guard: Option<TermId>,
    /// Whether the guard predicate's only definition dominates the access, so that the register tells
    /// whether the access ran, wherever the access dominates.
    pub guard_settled: bool,
    /// Whether the access reads memory that the kernel only reads: `ld.global.nc`, `ldu`.
    pub read_only: bool,
    /// The qualifier that makes the access strong (`volatile`, `relaxed`, ...), if it is.
    pub strong: Option<&'static str>,
    /// The registers written, element by element; `None` is a sink.
    pub registers: SmallVec<[Option<RegisterId>; 4]>,
}

impl Access {
    /// Bytes of all elements together.
    pub fn bytes(&self) -> u32 {
        self.ty.map_or(0, |ty| ty.bits() / 8) * u32::from(self.elements)
    }

    /// Whether the access is a load that reads (or may read) global memory.
    pub fn is_global_load(&self) -> bool {
        self.effect == Effect::Load
            && matches!(self.space, StateSpace::Global | StateSpace::Generic)
    }
}

/// A register that was extended to 64 bits on the way to an address: in it a check against wrapping
/// around finds the value.
#[derive(Clone, Copy, Debug)]
pub struct Widened {
    /// The register.
    pub register: RegisterId,
    /// Its value, with loop values resolved.
    pub value: TermId,
    /// The block in which the register was extended.
    pub block: BlockId,
    /// The instruction that extended the register.
    pub inst: InstId,
    /// Whether the register's only definition dominates the extension, so that the register still holds
    /// the value wherever the extension dominates.
    pub settled: bool,
}

/// A register that got a value which is not a sum: a quotient, a remainder, a choice. Where an address is made
/// from such values, lanes can be asked about them.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The register, 32 or 64 bits wide.
    pub register: RegisterId,
    /// Its value, with loop values resolved.
    pub value: TermId,
    /// The block in which the register has got the value.
    pub block: BlockId,
    /// The instruction that wrote the register; without one it has the value from the block's start on,
    /// where several ways meet.
    pub inst: Option<InstId>,
    /// Whether that is the register's only definition.
    pub settled: bool,
}

/// The symbolic memory trace of one kernel or device function.
#[derive(Debug)]
pub struct KernelTrace {
    /// All terms.
    pub arena: Arena,
    /// The meaning of the symbols that occur in terms.
    pub symbols: Symbols,
    /// Accesses in the order of blocks.
    pub accesses: Vec<Access>,
    /// Both sides of each `cp.async`, the rows that lanes name for `ldmatrix` and `stmatrix`, and the parts of a matrix
    /// of `wmma` as if each lane accessed one ([`super::WmmaMatrix`]): addresses without values. To everything but `traffic` and the layouts of arrays these instructions are
    /// not modelled.
    pub moved: Vec<Access>,
    /// For each block, its facts beyond those of its immediate dominator: they hold on every edge into it.
    pub assumptions: TiVec<BlockId, Option<TermId>>,
    /// The condition by which each block branches, read at its end.
    pub branches: TiVec<BlockId, Option<TermId>>,
    /// Which blocks can be reached.
    pub reachable: TiVec<BlockId, bool>,
    /// Registers that were widened.
    pub widened: Vec<Widened>,
    /// Registers whose values are no sums.
    pub held: Vec<Held>,
    /// How often each register is written in the text.
    pub definitions: TiVec<RegisterId, u32>,
    /// The loop values that turned out to be induction variables.
    pub induction: FxHashMap<SymbolId, TermId>,
    /// Which symbols have one value for the whole warp, as far as nothing is believed.
    pub uniformity: Uniformity,
    /// The instructions whose results are approximated, and how, for people: `(instruction, how)`.
    pub approximations: Vec<(InstId, String)>,
    /// Results that all lanes of a warp get together: of votes, and of shuffles from a constant lane. Only
    /// [`KernelTrace::uniformity_under`] takes them to be uniform.
    pub warp_wide: Vec<SymbolId>,
}

impl KernelTrace {
    /// A term without widening and narrowing around it.
    pub fn plain(&self, mut term: TermId) -> TermId {
        while let Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) =
            *self.arena.node(term)
        {
            term = inner;
        }
        term
    }

    /// The facts that hold wherever a block is executed.
    pub fn facts(&self, flow: &Flow<'_, '_>, block: BlockId) -> Facts {
        let mut facts = Facts::default();
        for at in flow.dominators.chain(block) {
            self.arena.charge(1);
            if let Some(known) = self.assumptions[at] {
                facts.add(&self.arena, known);
            }
        }
        facts
    }

    /// The predicates that decide whether a lane executes an access, each with the value that it has then: those of the facts
    /// in its block, and its guard.
    pub fn conditions(&self, access: &Access, facts: &Facts) -> Vec<(TermId, bool)> {
        let guard = access.guard.map(|guard| (guard, true));
        facts.literals(&self.arena).chain(guard).collect()
    }

    /// Which symbols are uniform if more is believed of some.
    pub fn uniformity_under(&self, flow: &Flow<'_, '_>, beliefs: &Beliefs) -> Uniformity {
        uniform::solve(&self.arena, &self.symbols, flow, &self.branches, beliefs)
    }
}
