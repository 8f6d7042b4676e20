//! What kind of thing each instruction is to the validator: a function of its operands, a weak load,
//! or an event that both programs must have alike.
//!
//! An opcode that stands in no table is an event that may do anything, so a gap here costs a proof,
//! never its truth.

use smallvec::{SmallVec, smallvec};

use super::special::{Special, special};
use super::symbols::Window;
use crate::cfg::{Arg, Inst, RegisterId};
use crate::ptx::StateSpace;

/// What an instruction is to the validator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    /// Its results depend on its operands alone.
    Pure,
    /// A weak load: its results depend on memory and address.
    Load,
    /// A weak store.
    Store,
    /// A barrier or fence: what other threads wrote becomes visible.
    Barrier,
    /// Looks at clocks, at who else is there, or changes nothing but a cache: nobody notices if it
    /// is left out where its result is not wanted.
    Observe,
    /// Exchanges values with other lanes of the warp, or waits for them: an event of the whole warp,
    /// which the others notice whether this lane wants the result or not. Changes no memory.
    Collective,
    /// Leaves the function.
    Leave,
    /// Transfers control within the function: the graph has it.
    Branch,
    /// Anything else: atomics, strong accesses, calls, what is not known.
    Effect,
}

/// Sorted, since it is searched for every instruction many times.
const PURE: &[&str] = &[
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "xor",
];

const OBSERVE: &[&str] = &[
    "activemask",
    "applypriority",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "suld",
    "suq",
    "tex",
    "tld4",
    "txq",
];

/// What a lane does together with others of its warp; results stand in the first operand. Whatever
/// else is a `.sync` or `.aligned` instruction stands in no table, and may do anything.
const COLLECTIVES: &[&str] =
    &["elect", "ldmatrix", "match", "mma", "movmatrix", "redux", "shfl", "vote"];

const BARRIERS: &[&str] = &["bar", "barrier", "fence", "membar"];

/// Qualifiers that make an access more than weak (PTX ISA, "Memory Consistency Model").
const STRONG: &[&str] =
    &["volatile", "relaxed", "acquire", "release", "mmio", "cv", "async", "bulk"];

/// Classifies an instruction.
pub(super) fn role(inst: &Inst<'_, '_>) -> Role {
    let ast = inst.ast;
    let is_strong = || ast.modifiers().any(|word| STRONG.contains(&word));
    match ast.mnemonic() {
        name if PURE.binary_search(&name).is_ok() => match reads_unsteady(inst) {
            true => Role::Observe,
            false => Role::Pure,
        },
        "ld" | "ldu" if !is_strong() => Role::Load,
        "st" if !is_strong() => Role::Store,
        "ret" | "exit" | "trap" => Role::Leave,
        "bra" | "brx" => Role::Branch,
        // A barrier that reduces delivers what other threads put in.
        "bar" | "barrier" if ast.has("red") => Role::Effect,
        name if BARRIERS.contains(&name) => Role::Barrier,
        name if COLLECTIVES.contains(&name) => Role::Collective,
        "wmma" if ast.has("load") || ast.has("mma") => Role::Collective,
        name if OBSERVE.contains(&name) => Role::Observe,
        _ => Role::Effect,
    }
}

/// Whether an operand, wherever it stands, is a special register that may change.
fn reads_unsteady(inst: &Inst<'_, '_>) -> bool {
    fn unsteady(arg: &Arg<'_>) -> bool {
        match arg {
            Arg::Special(name) => matches!(special(name), Special::Unsteady(_)),
            Arg::Vector(elements) | Arg::Memory { rest: elements, .. } => {
                elements.iter().any(unsteady)
            }
            Arg::Pair(pair) => pair.iter().any(unsteady),
            Arg::Register(_)
            | Arg::Sum(..)
            | Arg::Not(_)
            | Arg::Modified(_)
            | Arg::Constant(_)
            | Arg::Symbol { .. }
            | Arg::Sink => false,
        }
    }
    inst.args.iter().any(unsteady)
}

/// Whether a lane may have to wait here until other lanes or threads do something, so that lanes
/// which were together before need not be together behind it: one of them may wait for what another
/// one does later (PTX ISA, "bar.warp.sync", "barrier"). Not so `bar` for the whole block and
/// collectives of all 32 lanes, which each lane that comes by takes part in alike, and atomics and
/// copies, which wait for nobody else.
pub(super) fn may_wait(inst: &Inst<'_, '_>) -> bool {
    let ast = inst.ast;
    let together = |inst: &Inst<'_, '_>| inst.guard.is_none();
    let whole = |arg: Option<&Arg<'_>>| {
        matches!(arg, Some(Arg::Constant(value))
            if value.as_integer().is_some_and(|bits| bits as u32 == u32::MAX))
    };
    match role(inst) {
        Role::Pure | Role::Load | Role::Store | Role::Observe => false,
        // These end blocks.
        Role::Leave | Role::Branch => true,
        Role::Collective => match ast.mnemonic() {
            "shfl" | "vote" | "match" | "redux" | "elect" => {
                !(together(inst) && ast.has("sync") && whole(inst.args.last()))
            }
            _ => !together(inst),
        },
        Role::Barrier => match ast.mnemonic() {
            "fence" | "membar" => false,
            _ if ast.has("warp") => !(together(inst) && whole(inst.args.first())),
            _ => !together(inst),
        },
        Role::Effect => !matches!(ast.mnemonic(), "atom" | "red" | "ld" | "st" | "cp"),
    }
}

/// Whether an instruction's result tells which lanes are converged where it stands: that is the
/// assembler's choice, and only where control flow is the same is it made alike.
pub(super) fn depends_on_convergence(inst: &Inst<'_, '_>) -> bool {
    match inst.ast.mnemonic() {
        "activemask" => true,
        "shfl" | "vote" => !inst.ast.has("sync"),
        _ => false,
    }
}

/// The windows that a store may write.
pub(super) fn written(space: StateSpace) -> &'static [Window] {
    match space {
        StateSpace::Global => &[Window::Global],
        StateSpace::Shared => &[Window::Shared],
        StateSpace::Local => &[Window::Local],
        StateSpace::Param => &[Window::Param],
        _ => &[Window::Global, Window::Shared, Window::Local],
    }
}

/// The windows whose contents an instruction may change.
pub(super) fn changed(inst: &Inst<'_, '_>) -> &'static [Window] {
    match role(inst) {
        Role::Pure | Role::Load | Role::Observe | Role::Collective | Role::Leave | Role::Branch => {
            &[]
        }
        Role::Store => written(inst.ast.space()),
        Role::Barrier => &[Window::Global, Window::Shared],
        Role::Effect => &Window::ALL,
    }
}

/// Which of an instruction's results a register gets; more than one where it is named more than
/// once.
pub(super) type Places = SmallVec<[u16; 2]>;

/// The registers that an instruction may write.
pub(super) fn results(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 2]> {
    placed_results(inst).into_iter().map(|(register, _)| register).collect()
}

/// The registers that an instruction may write, each with its places among the results. A result
/// that is not wanted (`_`) has a place, too.
pub(super) fn placed_results(inst: &Inst<'_, '_>) -> SmallVec<[(RegisterId, Places); 2]> {
    let mut found: SmallVec<[(RegisterId, Places); 2]> = SmallVec::new();
    for (place, register) in (0..).zip(destinations(inst)) {
        let Some(register) = register else { continue };
        match found.iter_mut().find(|(known, _)| *known == register) {
            Some((_, places)) => places.push(place),
            None => found.push((register, smallvec![place])),
        }
    }
    found
}

fn destinations(inst: &Inst<'_, '_>) -> SmallVec<[Option<RegisterId>; 4]> {
    let mut found = SmallVec::new();
    let first = |found: &mut _| inst.args.first().iter().for_each(|arg| named(arg, found));
    match role(inst) {
        Role::Store | Role::Leave | Role::Branch | Role::Barrier => {}
        Role::Pure | Role::Load | Role::Collective => first(&mut found),
        Role::Observe | Role::Effect => match inst.ast.mnemonic() {
            "red" | "nanosleep" | "pmevent" | "prefetch" | "prefetchu" => {}
            "call" => {
                if let Some(arg @ Arg::Vector(_)) = inst.args.first() {
                    named(arg, &mut found);
                }
            }
            "atom" | "ld" => first(&mut found),
            // What is not known may write each register it names.
            _ if role(inst) == Role::Effect => {
                inst.args.iter().for_each(|arg| named(arg, &mut found));
            }
            _ => first(&mut found),
        },
    }
    found
}

/// The registers that an operand names, addresses left out.
pub(super) fn registers(arg: &Arg<'_>, found: &mut SmallVec<[RegisterId; 2]>) {
    let mut all = SmallVec::new();
    named(arg, &mut all);
    found.extend(all.into_iter().flatten());
}

/// The same, with `None` for each `_`.
fn named(arg: &Arg<'_>, found: &mut SmallVec<[Option<RegisterId>; 4]>) {
    match arg {
        Arg::Register(register)
        | Arg::Not(register)
        | Arg::Modified(register)
        | Arg::Sum(register, _) => found.push(Some(*register)),
        Arg::Vector(elements) => elements.iter().for_each(|element| named(element, found)),
        Arg::Pair(pair) => pair.iter().for_each(|element| named(element, found)),
        Arg::Memory { rest, .. } => rest.iter().for_each(|element| named(element, found)),
        Arg::Sink => found.push(None),
        Arg::Special(_) | Arg::Constant(_) | Arg::Symbol { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_searched_is_sorted() {
        assert!(super::PURE.is_sorted());
    }
}
