//! The possible effects of each instruction on registers and memory.
//!
//! An opcode that is not modelled, or not known, is [`Effect::Opaque`]: it may write every register it
//! names and all memory, and synchronises. So an instruction that is missing here costs a rewrite,
//! never a value.

use smallvec::SmallVec;

use super::window::Window;
use crate::cfg::{Arg, Base, Inst, RegisterId};
use crate::isa::{Form, Opcode, Qualifier};

/// The effect of an instruction besides its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: the results depend on the operands alone.
    Pure,
    /// None, but the results depend on more than the operands (other lanes, clocks, textures).
    Observe,
    /// None, and no results: a hint.
    Hint,
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

/// The qualifiers that make an access strong (PTX ISA, "Memory Consistency Model"), and the cache
/// operator `.cv`, "don't cache and fetch again"; such accesses are never merged, moved or replaced.
const STRONG: &[Qualifier] = &[
    Qualifier::Volatile,
    Qualifier::Relaxed,
    Qualifier::Acquire,
    Qualifier::Release,
    Qualifier::Mmio,
    Qualifier::Cv,
];

/// The qualifier that makes an access strong, if it has one.
pub(super) fn strong(form: &Form) -> Option<&'static str> {
    STRONG.iter().find(|strong| form.has(**strong)).map(|strong| strong.name())
}

/// The windows in which loads behind an instruction may read something else than before it.
pub(super) fn changes_memory(inst: &Inst<'_, '_>) -> &'static [Window] {
    match effect(inst) {
        Effect::Pure | Effect::Observe | Effect::Hint | Effect::Control => &[],
        Effect::Load if strong(&inst.ast.form).is_none() => &[],
        Effect::Store if strong(&inst.ast.form).is_none() => Window::written(inst.ast.form.space()),
        // A strong access may synchronise with a thread that has written anything.
        Effect::Load | Effect::Store | Effect::Atomic => &Window::MEMORY,
        Effect::Barrier if !matches!(inst.ast.form.opcode, Opcode::Bar | Opcode::Barrier) => {
            &Window::MEMORY
        }
        Effect::Barrier | Effect::Call | Effect::Opaque => &Window::ALL,
    }
}

/// Classifies an instruction.
pub fn effect(inst: &Inst<'_, '_>) -> Effect {
    use Opcode::*;
    let form = &inst.ast.form;
    match form.opcode {
        Add | Addc | Sub | Subc | Mul | Mad | Madc | Mul24 | Mad24 | Sad | Div | Rem | Abs
        | Neg | Min | Max | Popc | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a
        | Dp2a | Testp | Copysign | Fma | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh
        | Set | Setp | Selp | Slct | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr | Mov
        | Prmt | Isspacep | Cvta | Cvt | Mapa | Getctarank | Vadd | Vsub | Vabsdiff | Vmin
        | Vmax | Vshl | Vshr | Vmad | Vset | Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2
        | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => Effect::Pure,
        Ld | Ldu => Effect::Load,
        St if form.has_any(&[Qualifier::Async, Qualifier::Bulk]) => Effect::Opaque,
        St => Effect::Store,
        Red if form.has(Qualifier::Async) => Effect::Opaque,
        Atom | Red => Effect::Atomic,
        // `wmma.load` and `wmma.store` touch memory; only the multiplication is harmless.
        Wmma if form.has(Qualifier::Mma) => Effect::Observe,
        Shfl | CreatePolicy | Istypep | Tex | Tld4 | Txq | Suq | Vote | Match | ActiveMask
        | Redux | Elect | Mma | Ldmatrix | Movmatrix | Alloca | StackSave | StackRestore => {
            Effect::Observe
        }
        Prefetch | Prefetchu | ApplyPriority | NanoSleep | PmEvent => Effect::Hint,
        Bar | Barrier | Membar | Fence | GridDepControl | Mbarrier => Effect::Barrier,
        Bra | Brx | Ret | Exit | Trap | Brkpt => Effect::Control,
        Call => Effect::Call,
        Wmma | Multimem | Discard | Cp | Tensormap | Suld | Sust | Sured | ClusterLaunchControl
        | Stmatrix | Wgmma | Tcgen05 | SetMaxNReg | Cctl | Cctlu | SpCompress | SpDecompress
        | Unknown => Effect::Opaque,
    }
}

/// The registers that an instruction may write.
pub fn definitions(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 2]> {
    let mut written = SmallVec::new();
    let first = inst.args.first();
    match effect(inst) {
        Effect::Store | Effect::Control | Effect::Hint => {}
        Effect::Atomic if inst.ast.form.opcode == Opcode::Red => {}
        Effect::Pure | Effect::Load | Effect::Atomic | Effect::Observe => {
            first.iter().for_each(|arg| collect(arg, &mut written));
        }
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

/// The registers that an instruction reads.
pub fn reads(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 4]> {
    let first_is_result = match effect(inst) {
        Effect::Pure | Effect::Load | Effect::Observe => true,
        Effect::Atomic => inst.ast.form.opcode != Opcode::Red,
        _ => false,
    };
    let mut found: SmallVec<[RegisterId; 4]> = inst.guard.iter().map(|guard| guard.0).collect();
    for arg in inst.args.iter().skip(usize::from(first_is_result)) {
        found.extend(base(arg));
        found.extend(registers(arg));
    }
    // An element that is not written stays as it was.
    if inst.guard.is_some() {
        found.extend(definitions(inst));
    }
    found
}

/// The registers that an instruction names, wherever they stand, its guard predicate included.
pub fn mentions(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 4]> {
    let mut found: SmallVec<[RegisterId; 4]> = inst.args.iter().flat_map(registers).collect();
    found.extend(inst.guard.map(|(register, _)| register));
    found.extend(inst.args.iter().filter_map(base));
    found
}

/// The register that an address is relative to.
fn base(arg: &Arg<'_>) -> Option<RegisterId> {
    match arg {
        Arg::Memory { base: Base::Register(register), .. } => Some(*register),
        _ => None,
    }
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
