//! Which loads may take part at all, as source or as destination.

use super::refusal::Refusal;
use crate::cfg::{Flow, RegisterId};
use crate::emulate::{Access, KernelTrace};
use crate::expr::TermId;
use crate::ptx::StateSpace;

/// A load that may take part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Index in [`KernelTrace::accesses`].
    pub access: usize,
    /// Index of the instruction.
    pub inst: u32,
    /// Where it puts what it loads.
    pub register: RegisterId,
    /// Its address.
    pub address: TermId,
}

/// Checks a global load by itself.
pub(super) fn eligible(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    index: usize,
) -> Result<Load, Refusal> {
    let access: &Access = &trace.accesses[index];
    let ast = flow.insts[access.inst as usize].ast;
    if let Some(strong) = access.strong {
        return Err(Refusal::Strong(strong));
    }
    if access.space != StateSpace::Global {
        return Err(Refusal::Generic);
    }
    if ast.mnemonic() != "ld" {
        return Err(Refusal::Form(ast.mnemonic().to_owned()));
    }
    if access.guard.is_some() {
        return Err(Refusal::Guarded);
    }
    let bits = access.ty.map_or(0, |ty| ty.bits());
    if bits != 32 || access.elements != 1 {
        return Err(Refusal::Width(bits, access.elements));
    }
    let [Some(register)] = access.registers[..] else { return Err(Refusal::Register) };
    if flow.registers[register.0 as usize].ty.bits() != 32 {
        return Err(Refusal::Register);
    }
    let address = access.address.ok_or(Refusal::Address)?;
    Ok(Load { access: index, inst: access.inst, register, address })
}
