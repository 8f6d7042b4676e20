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

/// What an instruction is to the validator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::verify) enum Role {
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
pub(in crate::verify) fn role(inst: &Inst<'_, '_>) -> Role {
    let form = &inst.ast.form;
    let strong = form.has_any(STRONG);
    match form.opcode {
        Opcode::Ld | Opcode::Ldu if !strong => Role::Load,
        Opcode::St if !strong => Role::Store,
        Opcode::Ld | Opcode::Ldu | Opcode::St => Role::Effect,
        Opcode::Ret | Opcode::Exit | Opcode::Trap => Role::Leave,
        Opcode::Bra | Opcode::Brx => Role::Branch,
        // A barrier with a reduction delivers a value that depends on other threads.
        Opcode::Bar | Opcode::Barrier if form.has(Qualifier::Red) => Role::Effect,
        Opcode::Bar | Opcode::Barrier | Opcode::Membar | Opcode::Fence => Role::Barrier,
        Opcode::Add
        | Opcode::Addc
        | Opcode::Sub
        | Opcode::Subc
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Madc
        | Opcode::Mul24
        | Opcode::Mad24
        | Opcode::Sad
        | Opcode::Div
        | Opcode::Rem
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Popc
        | Opcode::Clz
        | Opcode::Bfind
        | Opcode::Fns
        | Opcode::Brev
        | Opcode::Bfe
        | Opcode::Bfi
        | Opcode::Szext
        | Opcode::Bmsk
        | Opcode::Dp4a
        | Opcode::Dp2a
        | Opcode::Testp
        | Opcode::Copysign
        | Opcode::Fma
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Rsqrt
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Lg2
        | Opcode::Ex2
        | Opcode::Tanh
        | Opcode::Set
        | Opcode::Setp
        | Opcode::Selp
        | Opcode::Slct
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Cnot
        | Opcode::Lop3
        | Opcode::Shf
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Mov
        | Opcode::Prmt
        | Opcode::Isspacep
        | Opcode::Cvta
        | Opcode::Cvt
        | Opcode::Vadd
        | Opcode::Vsub
        | Opcode::Vabsdiff
        | Opcode::Vmin
        | Opcode::Vmax
        | Opcode::Vshl
        | Opcode::Vshr
        | Opcode::Vmad
        | Opcode::Vset
        | Opcode::Vadd2
        | Opcode::Vsub2
        | Opcode::Vavrg2
        | Opcode::Vabsdiff2
        | Opcode::Vmin2
        | Opcode::Vmax2
        | Opcode::Vset2
        | Opcode::Vadd4
        | Opcode::Vsub4
        | Opcode::Vavrg4
        | Opcode::Vabsdiff4
        | Opcode::Vmin4
        | Opcode::Vmax4
        | Opcode::Vset4 => {
            if reads_unsteady(inst) {
                Role::Observe
            } else {
                Role::Pure
            }
        }
        Opcode::Shfl
        | Opcode::Vote
        | Opcode::Match
        | Opcode::Redux
        | Opcode::Elect
        | Opcode::Mma
        | Opcode::Ldmatrix
        | Opcode::Movmatrix => Role::Collective,
        Opcode::Wmma if form.has_any(&[Qualifier::Load, Qualifier::Mma]) => Role::Collective,
        Opcode::Wmma => Role::Effect,
        Opcode::Prefetch
        | Opcode::Prefetchu
        | Opcode::ApplyPriority
        | Opcode::Tex
        | Opcode::Tld4
        | Opcode::Txq
        | Opcode::Suld
        | Opcode::Suq
        | Opcode::ActiveMask
        | Opcode::NanoSleep
        | Opcode::PmEvent => Role::Observe,
        Opcode::Multimem
        | Opcode::Discard
        | Opcode::CreatePolicy
        | Opcode::Istypep
        | Opcode::Mapa
        | Opcode::Getctarank
        | Opcode::Cp
        | Opcode::Tensormap
        | Opcode::Sust
        | Opcode::Sured
        | Opcode::Call
        | Opcode::Brkpt
        | Opcode::Atom
        | Opcode::Red
        | Opcode::GridDepControl
        | Opcode::Mbarrier
        | Opcode::ClusterLaunchControl
        | Opcode::Stmatrix
        | Opcode::Wgmma
        | Opcode::Tcgen05
        | Opcode::Alloca
        | Opcode::StackSave
        | Opcode::StackRestore
        | Opcode::SetMaxNReg
        | Opcode::Cctl
        | Opcode::Cctlu
        | Opcode::SpCompress
        | Opcode::SpDecompress
        | Opcode::Unknown => Role::Effect,
    }
}

/// Whether an operand, wherever it stands, is a special register that may change.
fn reads_unsteady(inst: &Inst<'_, '_>) -> bool {
    fn unsteady(arg: &Arg<'_>) -> bool {
        match arg {
            Arg::Special(register) => matches!(belief(*register), Belief::Unsteady(_)),
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

/// Whether a lane may have to wait here until other lanes or threads do something, so that lanes which
/// were together before need not be together behind it: one of them may wait for what another one does
/// later (PTX ISA, "bar.warp.sync", "barrier"). `bar` for the whole block and collectives of all 32
/// lanes are no such instructions, since each lane that comes by takes part in them alike; nor are
/// atomics and copies, which wait for no other lane.
pub(in crate::verify) fn may_wait(inst: &Inst<'_, '_>) -> bool {
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

/// Whether an instruction's result tells which lanes are converged where it stands: that is the
/// assembler's choice, which is the same only if control flow is.
pub(in crate::verify) fn depends_on_convergence(inst: &Inst<'_, '_>) -> bool {
    match inst.ast.form.opcode {
        Opcode::ActiveMask => true,
        Opcode::Shfl | Opcode::Vote => !inst.ast.form.has(Qualifier::Sync),
        _ => false,
    }
}

/// The windows that a store may write.
pub(in crate::verify) fn written(space: StateSpace) -> &'static [Window] {
    match space {
        StateSpace::Global => &[Window::Global],
        StateSpace::Shared => &[Window::Shared],
        StateSpace::Local => &[Window::Local],
        StateSpace::Param => &[Window::Param],
        _ => &[Window::Global, Window::Shared, Window::Local],
    }
}

/// The windows whose contents an instruction may change.
pub(in crate::verify) fn changed(inst: &Inst<'_, '_>) -> &'static [Window] {
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
pub(in crate::verify) type Places = SmallVec<[u16; 2]>;

/// The registers that an instruction may write.
pub(in crate::verify) fn results(inst: &Inst<'_, '_>) -> SmallVec<[RegisterId; 2]> {
    placed_results(inst).into_iter().map(|(register, _)| register).collect()
}

/// The registers that an instruction may write, each with the numbers of its results. A result that is
/// not wanted (`_`) has a number, too.
pub(in crate::verify) fn placed_results(
    inst: &Inst<'_, '_>,
) -> SmallVec<[(RegisterId, Places); 2]> {
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
