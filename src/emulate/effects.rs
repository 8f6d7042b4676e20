//! What each instruction may do to registers and memory, by table.
//!
//! An opcode that stands in no table is [`Effect::Opaque`]: it may write every register it names
//! and all memory, and synchronises. So a table that misses an opcode costs a rewrite, never a
//! value.

use smallvec::SmallVec;

use super::state::Window;
use crate::cfg::{Arg, Inst, RegisterId};
use crate::ptx::Instruction;

/// What an instruction does besides computing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: the results depend on the operands alone.
    Pure,
    /// Nothing, but the results depend on more than the operands (other lanes, clocks, textures).
    Observe,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory in one step.
    Atomic,
    /// Orders or publishes memory accesses of several threads.
    Barrier,
    /// Transfers control within the function or out of it.
    Control,
    /// Runs another function.
    Call,
    /// Not modelled.
    Opaque,
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
    "getctarank",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
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
    // Video instructions (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions").
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
    "alloca",
    "createpolicy",
    "elect",
    "istypep",
    "match",
    "mma",
    "movmatrix",
    "redux",
    "shfl",
    "stackrestore",
    "stacksave",
    "suq",
    "tex",
    "tld4",
    "txq",
    "vote",
];

/// Hints without a result that change no value.
const HINTS: &[&str] = &["applypriority", "nanosleep", "pmevent", "prefetch", "prefetchu"];

const BARRIERS: &[&str] = &["bar", "barrier", "fence", "griddepcontrol", "mbarrier", "membar"];

const CONTROL: &[&str] = &["bra", "brx", "exit", "ret", "trap", "brkpt"];

/// What makes an access more than weak (PTX ISA, "Memory Consistency Model"), and the cache operator
/// `.cv`, "don't cache and fetch again"; such accesses are never merged, moved or replaced.
const STRONG: &[&str] = &["volatile", "relaxed", "acquire", "release", "mmio", "cv"];

/// The qualifier that makes an access more than weak, if it has one.
pub(super) fn strong(ast: &Instruction<'_>) -> Option<&'static str> {
    STRONG.iter().copied().find(|strong| ast.has(strong))
}

/// The windows in which loads behind an instruction may read something else than before it.
pub(super) fn changes_memory(inst: &Inst<'_, '_>) -> &'static [Window] {
    match effect(inst) {
        Effect::Pure | Effect::Observe | Effect::Control => &[],
        Effect::Load if strong(inst.ast).is_none() => &[],
        Effect::Store if strong(inst.ast).is_none() => Window::written(inst.ast.space()),
        // It may synchronise with a thread that has written anything.
        Effect::Load | Effect::Store | Effect::Atomic => &Window::MEMORY,
        Effect::Barrier if !matches!(inst.ast.mnemonic(), "bar" | "barrier") => &Window::MEMORY,
        Effect::Barrier | Effect::Call | Effect::Opaque => &Window::ALL,
    }
}

/// Classifies an instruction.
pub fn effect(inst: &Inst<'_, '_>) -> Effect {
    let ast = inst.ast;
    match ast.mnemonic() {
        "ld" | "ldu" => Effect::Load,
        "st" if !ast.has("async") && !ast.has("bulk") => Effect::Store,
        "atom" => Effect::Atomic,
        "red" if !ast.has("async") => Effect::Atomic,
        "call" => Effect::Call,
        // `wmma.load` and `wmma.store` touch memory; only the multiplication is harmless.
        "wmma" if ast.has("mma") => Effect::Observe,
        "ldmatrix" => Effect::Observe,
        name if PURE.contains(&name) => Effect::Pure,
        name if OBSERVE.contains(&name) || HINTS.contains(&name) => Effect::Observe,
        name if BARRIERS.contains(&name) => Effect::Barrier,
        name if CONTROL.contains(&name) => Effect::Control,
        _ => Effect::Opaque,
    }
}

/// The registers that an instruction may write.
pub fn definitions(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 2]> {
    let mut written = SmallVec::new();
    let first = inst.args.first();
    match effect(inst) {
        Effect::Store | Effect::Control => {}
        Effect::Atomic if inst.ast.mnemonic() == "red" => {}
        Effect::Pure | Effect::Load | Effect::Atomic => {
            first.iter().for_each(|arg| collect(arg, &mut written));
        }
        Effect::Observe if HINTS.contains(&inst.ast.mnemonic()) => {}
        Effect::Observe => first.iter().for_each(|arg| collect(arg, &mut written)),
        // `call (results), function, (arguments)`: results are a list in front.
        Effect::Call => {
            if let Some(arg @ Arg::Vector(_)) = first {
                collect(arg, &mut written);
            }
        }
        Effect::Barrier | Effect::Opaque => {
            inst.args.iter().for_each(|arg| collect(arg, &mut written));
        }
    }
    written
}

/// The registers that an operand names as values, those inside an address excepted.
pub(super) fn registers(arg: &Arg<'_>) -> SmallVec<[RegisterId; 2]> {
    let mut found = SmallVec::new();
    collect(arg, &mut found);
    found
}

fn collect(arg: &Arg<'_>, found: &mut SmallVec<[RegisterId; 2]>) {
    match arg {
        Arg::Register(register)
        | Arg::Not(register)
        | Arg::Modified(register)
        | Arg::Sum(register, _) => found.push(*register),
        Arg::Vector(elements) => elements.iter().for_each(|element| collect(element, found)),
        Arg::Pair(pair) => pair.iter().for_each(|element| collect(element, found)),
        Arg::Memory { rest, .. } => rest.iter().for_each(|element| collect(element, found)),
        Arg::Special(_) | Arg::Constant(_) | Arg::Symbol { .. } | Arg::Sink => {}
    }
}
