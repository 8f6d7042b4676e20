//! Which loads may take part, as source or as destination, and their elements.

use smallvec::SmallVec;

use super::refusal::Refusal;
use crate::cfg::{Arg, Base, Flow, Inst, InstId, RegisterId};
use crate::emulate::{Access, KernelTrace, definitions};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::ptx::{ScalarType, StateSpace};

/// One element of a load: some bytes that go into one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes from the load's address.
    pub offset: i64,
    /// The type of the element in memory.
    pub ty: ScalarType,
    /// The register that the element goes into.
    pub register: RegisterId,
    /// Width of that register in bits: 16, 32 or 64.
    pub register_bits: u32,
}

impl Element {
    /// Whether the register of `self` holds exactly the bits that a load of `other` would put into its
    /// own register: the same bytes, extended alike to the same width.
    pub fn stands_for(&self, other: &Element) -> bool {
        let extended = self.ty.bits() < self.register_bits;
        self.ty.bits() == other.ty.bits()
            && self.register_bits == other.register_bits
            && (!extended || self.ty.is_signed() == other.ty.is_signed())
    }
}

/// A load that may take part.
#[derive(Clone, Debug)]
pub struct Load {
    /// Index in [`KernelTrace::accesses`].
    pub access: usize,
    /// The instruction.
    pub inst: InstId,
    /// Its address.
    pub address: TermId,
    /// Its elements, sinks left out.
    pub elements: SmallVec<[Element; 4]>,
    /// Bytes in all.
    pub bytes: i64,
    /// Its guard predicate and whether that is negated; `None` if there is none, or if it is true
    /// wherever the load stands.
    pub guard: Option<(RegisterId, bool)>,
    /// Whether it names no state space.
    pub generic: bool,
}

/// A load whose address is made of more terms takes no part: no reuse is found in chains this long,
/// and every lane and every sample would go through all of it.
pub const MAX_ADDRESS: usize = 2048;

/// How the names of all registers begin that a rewrite adds.
pub const OWN_REGISTERS: &str = "%ptxasw";

/// Checks a global load by itself. `always` says whether a guard is true wherever its block is
/// reached.
pub(super) fn eligible(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    index: usize,
    always: impl Fn(TermId) -> bool,
) -> Result<Load, Refusal> {
    let access: &Access = &trace.accesses[index];
    let inst = &flow.insts[access.inst];
    if let Some(strong) = access.strong {
        return Err(Refusal::Strong(strong));
    }
    if inst.pragma {
        return Err(Refusal::Form(".pragma \"used_bytes_mask\"".to_owned()));
    }
    if inst.ast.form.opcode != Opcode::Ld {
        return Err(Refusal::Form(inst.ast.form.opcode.name().to_owned()));
    }
    // Under a check of a rewrite, or for a rewrite's own use: in front of a loop, or as a part of a vector.
    let guard = inst.guard.map(|(register, _)| register);
    let own = |register: RegisterId| flow.registers[register].name.starts_with(OWN_REGISTERS);
    if guard.into_iter().chain(definitions(inst)).any(own) {
        return Err(Refusal::CornerCase);
    }
    let guard = match access.guard {
        Some(term) if !always(term) => inst.guard,
        _ => None,
    };
    if guard.is_some() && !access.guard_settled {
        return Err(Refusal::Guarded);
    }
    let address = access.address.ok_or(Refusal::Address)?;
    if trace.arena.are_larger_than([address], MAX_ADDRESS) {
        return Err(Refusal::LargeAddress);
    }
    let generic = access.space == StateSpace::Generic;
    // Whether the address is global is asked at run time, which needs a 64-bit register.
    if generic && (trace.arena.width(address) != 64 || !addressed_by_register(inst)) {
        return Err(Refusal::Form("generic ld without a 64-bit address register".to_owned()));
    }
    Ok(Load {
        access: index,
        inst: access.inst,
        address,
        elements: elements(flow, access)?,
        bytes: i64::from(access.bytes()),
        guard,
        generic,
    })
}

/// Whether the address is a register and a constant.
pub(super) fn addressed_by_register(inst: &Inst<'_, '_>) -> bool {
    inst.args.iter().any(|arg| matches!(arg, Arg::Memory { base: Base::Register(_), .. }))
}

fn elements(flow: &Flow<'_, '_>, access: &Access) -> Result<SmallVec<[Element; 4]>, Refusal> {
    let bits = access.ty.map_or(0, ScalarType::bits);
    let refusal = Refusal::Width(bits, access.elements);
    let (Some(ty), 8 | 16 | 32 | 64) = (access.ty, bits) else { return Err(refusal) };
    if access.registers.len() != usize::from(access.elements) {
        return Err(refusal);
    }
    let mut found = SmallVec::new();
    for (index, register) in access.registers.iter().enumerate() {
        let Some(register) = *register else { continue };
        let described = &flow.registers[register];
        // The real ptxas takes `%v.x` in loads and moves, but not in `shfl`.
        if described.component.is_some() {
            return Err(Refusal::VectorRegister);
        }
        let register_bits = described.ty.bits();
        if !matches!(register_bits, 16 | 32 | 64) || register_bits < bits {
            return Err(Refusal::Register);
        }
        let offset = index as i64 * i64::from(bits / 8);
        found.push(Element { offset, ty, register, register_bits });
    }
    if found.is_empty() { Err(Refusal::Register) } else { Ok(found) }
}
