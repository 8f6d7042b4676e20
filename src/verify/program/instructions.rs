//! The role of each instruction for the validator: a function of its operands, a weak load, or an
//! event that both programs must have alike.
//!
//! An opcode that is not modelled, or not known, is an event that may do anything, so a gap here
//! costs a proof, never its truth.

use smallvec::{SmallVec, smallvec};

use super::special::{Belief, belief};
use super::window::Window;
use crate::cfg::{Arg, Inst, RegisterId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::StateSpace;

/// How the validator treats an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    /// The results depend on the operands alone.
    Pure,
    /// A weak load: the results depend on memory and address.
    Load,
    /// A weak store.
    Store,
    /// A barrier or fence: writes of other threads become visible.
    Barrier,
    /// Looks at clocks or at which lanes are there, or changes nothing but a cache: if the result is
    /// not wanted, the instruction may be left out unnoticed.
    Observe,
    /// Exchanges values with other lanes of the warp, or waits for them: an event of the whole warp,
    /// which the other lanes notice whether this lane wants the result or not. Changes no memory.
    Collective,
    /// Leaves the function.
    Leave,
    /// Transfers control within the function: the graph represents it.
    Branch,
    /// Any other instruction: atomics, strong accesses, calls, instructions that are not known.
    Effect,
}

/// Qualifiers that make an access strong (PTX ISA, "Memory Consistency Model").
const STRONG: &[Qualifier] = &[
    Qualifier::Volatile,
    Qualifier::Relaxed,
    Qualifier::Acquire,
    Qualifier::Release,
    Qualifier::Mmio,
    Qualifier::Cv,
    Qualifier::Async,
    Qualifier::Bulk,
];

/// Classifies an instruction. A collective has its results in the first operand; any other `.sync` or
/// `.aligned` instruction may do anything.
pub(crate) fn role(inst: &Inst<'_, '_>) -> Role {
    use Opcode::*;
    let form = &inst.ast.form;
    let strong = form.has_any(STRONG);
    match form.opcode {
        Ld | Ldu if !strong => Role::Load,
        St if !strong => Role::Store,
        Ld | Ldu | St => Role::Effect,
        Ret | Exit | Trap => Role::Leave,
        Bra | Brx => Role::Branch,
        // A barrier with a reduction delivers a value that depends on other threads.
        Bar | Barrier if form.has(Qualifier::Red) => Role::Effect,
        Bar | Barrier | Membar | Fence => Role::Barrier,
        Add | Addc | Sub | Subc | Mul | Mad | Madc | Mul24 | Mad24 | Sad | Div | Rem | Abs
        | Neg | Min | Max | Popc | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a
        | Dp2a | Testp | Copysign | Fma | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh
        | Set | Setp | Selp | Slct | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr | Mov
        | Prmt | Isspacep | Cvta | Cvt | Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr
        | Vmad | Vset | Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 | Vadd4
        | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => {
            if reads_volatile(inst) {
                Role::Observe
            } else {
                Role::Pure
            }
        }
        Shfl | Vote | Match | Redux | Elect | Mma | Ldmatrix | Movmatrix => Role::Collective,
        Wmma if form.has_any(&[Qualifier::Load, Qualifier::Mma]) => Role::Collective,
        Wmma => Role::Effect,
        Prefetch | Prefetchu | ApplyPriority | Tex | Tld4 | Txq | Suld | Suq | ActiveMask
        | NanoSleep | PmEvent => Role::Observe,
        Multimem | Discard | CreatePolicy | Istypep | Mapa | Getctarank | Cp | Tensormap | Sust
        | Sured | Call | Brkpt | Atom | Red | GridDepControl | Mbarrier | ClusterLaunchControl
        | Stmatrix | Wgmma | Tcgen05 | Alloca | StackSave | StackRestore | SetMaxNReg | Cctl
        | Cctlu | SpCompress | SpDecompress | Unknown => Role::Effect,
    }
}

/// Whether any operand is a special register that may change.
fn reads_volatile(inst: &Inst<'_, '_>) -> bool {
    fn is_volatile(arg: &Arg<'_>) -> bool {
        match arg {
            Arg::Special(register) => matches!(belief(*register), Belief::Volatile(_)),
            Arg::Vector(elements) | Arg::Memory { rest: elements, .. } => {
                elements.iter().any(is_volatile)
            }
            Arg::Pair(pair) => pair.iter().any(is_volatile),
            Arg::Register(_)
            | Arg::Sum(..)
            | Arg::Not(_)
            | Arg::Modified(_)
            | Arg::Constant(_)
            | Arg::Symbol { .. }
            | Arg::Sink => false,
        }
    }
    inst.args.iter().any(is_volatile)
}

/// Whether a lane may have to wait here until other lanes or threads do something, so that lanes which were together
/// before need not be together behind it: one of them may wait for a later action of another one (PTX ISA,
/// "bar.warp.sync", "barrier"). `bar` for the whole block and collectives of all 32 lanes are no such instructions,
/// since each lane that comes by takes part in them alike; nor are atomics and copies, which wait for no other lane.
pub(crate) fn may_wait(inst: &Inst<'_, '_>) -> bool {
    let ast = inst.ast;
    let together = |inst: &Inst<'_, '_>| inst.guard.is_none();
    let whole = |arg: Option<&Arg<'_>>| {
        matches!(arg, Some(Arg::Constant(value))
            if value.as_integer().is_some_and(|bits| bits as u32 == u32::MAX))
    };
    match role(inst) {
        Role::Pure | Role::Load | Role::Store | Role::Observe => false,
        // These instructions end blocks.
        Role::Leave | Role::Branch => true,
        Role::Collective => match ast.form.opcode {
            Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux | Opcode::Elect => {
                !(together(inst) && ast.form.has(Qualifier::Sync) && whole(inst.args.last()))
            }
            _ => !together(inst),
        },
        Role::Barrier => match ast.form.opcode {
            Opcode::Fence | Opcode::Membar => false,
            _ if ast.form.has(Qualifier::Warp) => !(together(inst) && whole(inst.args.first())),
            _ => !together(inst),
        },
        Role::Effect => !matches!(
            ast.form.opcode,
            Opcode::Atom | Opcode::Red | Opcode::Ld | Opcode::St | Opcode::Cp
        ),
    }
}

/// Whether an instruction's result tells which lanes are converged there: that is the
/// assembler's choice, which is the same only if control flow is.
pub(crate) fn depends_on_convergence(inst: &Inst<'_, '_>) -> bool {
    match inst.ast.form.opcode {
        Opcode::ActiveMask => true,
        Opcode::Shfl | Opcode::Vote => !inst.ast.form.has(Qualifier::Sync),
        _ => false,
    }
}

/// The windows that a store may write.
pub(crate) fn written(space: StateSpace) -> &'static [Window] {
    match space {
        StateSpace::Global => &[Window::Global],
        StateSpace::Shared => &[Window::Shared],
        StateSpace::Local => &[Window::Local],
        StateSpace::Param => &[Window::Param],
        _ => &[Window::Global, Window::Shared, Window::Local],
    }
}

/// The windows whose contents an instruction may change.
pub(crate) fn changed(inst: &Inst<'_, '_>) -> &'static [Window] {
    match role(inst) {
        Role::Pure | Role::Load | Role::Observe | Role::Collective | Role::Leave | Role::Branch => {
            &[]
        }
        Role::Store => written(inst.ast.form.space()),
        Role::Barrier => &[Window::Global, Window::Shared],
        Role::Effect => &Window::ALL,
    }
}

/// The numbers of an instruction's results that a register gets; more than one if the operands name it
/// more than once.
pub(crate) type Places = SmallVec<[u16; 2]>;

/// The registers that an instruction may write.
pub(crate) fn results(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 2]> {
    placed_results(inst).into_iter().map(|(register, _)| register).collect()
}

/// The registers that an instruction may write, each with the numbers of its results. A result that is
/// not wanted (`_`) has a number, too.
pub(crate) fn placed_results(inst: &Inst<'_, '_>) -> SmallVec<[(RegisterId, Places); 2]> {
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
    let none = matches!(
        inst.ast.form.opcode,
        Opcode::Red | Opcode::NanoSleep | Opcode::PmEvent | Opcode::Prefetch | Opcode::Prefetchu
    ) || matches!(role(inst), Role::Store | Role::Leave | Role::Branch | Role::Barrier);
    match role(inst) {
        _ if none => {}
        Role::Pure | Role::Load | Role::Observe | Role::Collective => {
            inst.args.first().iter().for_each(|arg| named(arg, &mut found));
        }
        // An instruction that is not known may write each register it names.
        Role::Effect
            if !matches!(inst.ast.form.opcode, Opcode::Atom | Opcode::Ld | Opcode::Call) =>
        {
            inst.args.iter().for_each(|arg| named(arg, &mut found));
        }
        Role::Effect if inst.ast.form.opcode == Opcode::Call => {
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

/// The registers that an operand names, in order, with `None` for each `_`.
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
