//! The accesses of a function that requests are counted for, before anything is counted.
//!
//! In: the memory trace. Out: for each load, store, atomic and reduction of global, generic and shared memory its kind,
//! its state space and its bytes.

use rustc_hash::FxHashMap;

use crate::cfg::{Flow, InstId};
use crate::emulate::{Access, Effect, KernelTrace, SymbolKind};
use crate::expr::{Node, TermId};
use crate::isa::Opcode;
use crate::lanes::{Aligned, Assumed};
use crate::ptx::{Function, Module, StateSpace};

/// A search for a variable in an address goes through this many terms at most.
const MAX_ADDRESS_TERMS: usize = 64;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum AccessKind {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom`.
    Atomic,
    /// `red`.
    Reduction,
}

impl AccessKind {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Whether the access is an atomic operation.
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::Atomic | AccessKind::Reduction)
    }
}

/// An access, before anything is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identified {
    /// Index into [`KernelTrace::accesses`].
    pub index: usize,
    /// The instruction.
    pub inst: InstId,
    /// Its kind.
    pub kind: AccessKind,
    /// The state space that the instruction names; shared where a generic address is that of a shared variable.
    pub space: StateSpace,
    /// Bytes of each lane.
    pub bytes: u32,
}

impl Identified {
    /// `spaces`: the state spaces of variables, by their names. `None` for an access that is not counted.
    pub(super) fn of(
        flow: &Flow<'_, '_>,
        trace: &KernelTrace,
        spaces: &FxHashMap<String, StateSpace>,
        (index, access): (usize, &Access),
    ) -> Option<Identified> {
        let opcode = flow.insts[access.inst].ast.form.opcode;
        let kind = match access.effect {
            Effect::Load => AccessKind::Load,
            Effect::Store => AccessKind::Store,
            Effect::Atomic if opcode == Opcode::Red => AccessKind::Reduction,
            Effect::Atomic => AccessKind::Atomic,
            _ => return None,
        };
        let space = home(trace, spaces, access);
        let is_counted = match space {
            StateSpace::Global | StateSpace::Generic => true,
            // Wavefronts depend on which lane holds which element, and PTX does not say that.
            StateSpace::Shared => opcode != Opcode::Wmma,
            _ => false,
        };
        let bytes = access.bytes();
        (is_counted && bytes > 0).then_some(Identified {
            index,
            inst: access.inst,
            kind,
            space,
            bytes,
        })
    }
}

/// The accesses of a function that are counted, in the order of the text.
pub fn identified(
    module: &Module<'_>,
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
) -> Vec<Identified> {
    let aligned = Aligned::of(module, function, trace, &Assumed::default());
    let each = trace.accesses.iter().enumerate();
    let mut found: Vec<Identified> =
        each.filter_map(|one| Identified::of(flow, trace, &aligned.spaces, one)).collect();
    found.sort_by_key(|one| one.inst);
    found
}

/// The state space of an access; of a generic one that of the variable whose address is in its address, or of the window
/// that its address was made in.
fn home(
    trace: &KernelTrace,
    spaces: &FxHashMap<String, StateSpace>,
    access: &Access,
) -> StateSpace {
    let (StateSpace::Generic, Some(address)) = (access.space, access.address) else {
        return access.space;
    };
    let arena = &trace.arena;
    let mut open: Vec<TermId> =
        arena.linear_parts(address).1.iter().map(|(term, _)| *term).collect();
    for _ in 0..MAX_ADDRESS_TERMS {
        let Some(term) = open.pop() else { break };
        match arena.node(term) {
            Node::Symbol(symbol) => {
                if let SymbolKind::Address(name) = &trace.symbols.info(*symbol).kind
                    && let Some(space @ (StateSpace::Shared | StateSpace::Local)) = spaces.get(name)
                {
                    return *space;
                }
            }
            // A loaded pointer is unrelated to the address it was loaded from.
            Node::Apply(function, _) if trace.symbols.is_load(*function) => {}
            // A window that is named, though no variable is.
            Node::Apply(function, _)
                if trace.symbols.function_name(*function).starts_with("cvta.shared") =>
            {
                return StateSpace::Shared;
            }
            _ => open.extend(arena.operands(term)),
        }
    }
    StateSpace::Generic
}
