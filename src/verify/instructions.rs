//! What kind of thing each instruction is to the validator: a function of its operands, a weak load,
//! or an event that both programs must have alike.
//!
//! An opcode that stands in no table is an event that may do anything, so a gap here costs a proof,
//! never its truth.

use smallvec::{SmallVec, smallvec};

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
    /// Looks at other lanes, at clocks, or changes nothing but a cache; without effect on memory.
    Observe,
    /// Leaves the function.
    Leave,
    /// Transfers control within the function: the graph has it.
    Branch,
    /// Anything else: atomics, strong accesses, calls, what is not known.
    Effect,
}

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
    "xor",
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
];

const OBSERVE: &[&str] = &[
    "activemask",
    "applypriority",
    "elect",
    "match",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "redux",
    "shfl",
    "suld",
    "suq",
    "tex",
    "tld4",
    "txq",
    "vote",
];

const BARRIERS: &[&str] = &["bar", "barrier", "fence", "membar"];

/// Qualifiers that make an access more than weak (PTX ISA, "Memory Consistency Model").
const STRONG: &[&str] =
    &["volatile", "relaxed", "acquire", "release", "mmio", "cv", "async", "bulk"];

/// Special registers that differ each time they are read.
const UNSTEADY: &[&str] = &["%clock", "%globaltimer", "%pm", "%smid", "%warpid", "%envreg"];

/// Classifies an instruction.
pub(super) fn role(inst: &Inst<'_, '_>) -> Role {
    let ast = inst.ast;
    let strong = STRONG.iter().any(|qualifier| ast.has(qualifier));
    match ast.mnemonic() {
        name if reads_unsteady(inst) && PURE.contains(&name) => Role::Observe,
        "ld" | "ldu" if !strong => Role::Load,
        "st" if !strong => Role::Store,
        "ret" | "exit" | "trap" => Role::Leave,
        "bra" | "brx" => Role::Branch,
        // A barrier that reduces delivers what other threads put in.
        "bar" | "barrier" if ast.has("red") => Role::Effect,
        name if BARRIERS.contains(&name) => Role::Barrier,
        name if PURE.contains(&name) => Role::Pure,
        name if OBSERVE.contains(&name) => Role::Observe,
        _ => Role::Effect,
    }
}

fn reads_unsteady(inst: &Inst<'_, '_>) -> bool {
    inst.args.iter().skip(1).any(|arg| {
        matches!(arg, Arg::Special(name) if UNSTEADY.iter().any(|known| name.starts_with(known)))
    })
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
        Role::Pure | Role::Load | Role::Observe | Role::Leave | Role::Branch => &[],
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
    let none =
        matches!(inst.ast.mnemonic(), "red" | "nanosleep" | "pmevent" | "prefetch" | "prefetchu")
            || matches!(role(inst), Role::Store | Role::Leave | Role::Branch | Role::Barrier);
    match role(inst) {
        _ if none => {}
        Role::Pure | Role::Load | Role::Observe => {
            inst.args.first().iter().for_each(|arg| named(arg, &mut found));
        }
        // What is not known may write each register it names.
        Role::Effect if !matches!(inst.ast.mnemonic(), "atom" | "ld" | "call") => {
            inst.args.iter().for_each(|arg| named(arg, &mut found));
        }
        Role::Effect if inst.ast.mnemonic() == "call" => {
            if let Some(arg @ Arg::Vector(_)) = inst.args.first() {
                named(arg, &mut found);
            }
        }
        _ => inst.args.first().iter().for_each(|arg| named(arg, &mut found)),
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
