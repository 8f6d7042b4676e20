//! The facts of a kernel's text about its parameters: sizes, types, members of structs, and which of them become global
//! addresses.

use std::collections::BTreeMap;

use crate::isa::Opcode;
use crate::launch::Type;
use crate::ptx::{AddressBase, Function, Instruction, Operand, ScalarType, StateSpace, Statement};

/// A kernel's parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    /// Its name as written.
    pub name: String,
    /// The name without the kernel's name in front, for people.
    pub short: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is a struct or an array.
    pub compound: bool,
    /// The parts that the kernel reads, by the offset in bytes.
    pub parts: BTreeMap<u64, Part>,
}

/// A scalar, or a member of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its type.
    pub ty: Type,
    /// Whether the text makes it a global address, or declares it to be a pointer.
    pub pointer: bool,
}

/// The type of a launch file that is like a type of PTX, with the other name where the text says no more
/// than a number of bits.
pub(super) fn like(ty: ScalarType) -> Option<Type> {
    Some(match ty {
        ScalarType::U8 | ScalarType::Pred | ScalarType::E4m3 | ScalarType::E5m2 => Type::U8,
        ScalarType::S8 => Type::S8,
        ScalarType::B8 => Type::B8,
        ScalarType::U16 => Type::U16,
        ScalarType::S16 => Type::S16,
        ScalarType::B16 => Type::B16,
        ScalarType::F16 => Type::F16,
        ScalarType::Bf16 => Type::Bf16,
        ScalarType::U32 => Type::U32,
        ScalarType::S32 => Type::S32,
        ScalarType::F32 | ScalarType::Tf32 => Type::F32,
        ScalarType::U64 => Type::U64,
        ScalarType::S64 => Type::S64,
        ScalarType::F64 => Type::F64,
        ScalarType::B64 | ScalarType::F32x2 => Type::B64,
        ScalarType::B128 => return None,
        ScalarType::B32
        | ScalarType::F16x2
        | ScalarType::Bf16x2
        | ScalarType::U16x2
        | ScalarType::S16x2 => Type::B32,
    })
}

/// Whether a type is untyped bits.
pub(super) fn is_untyped(ty: Type) -> bool {
    matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64)
}

/// Calls `each` for every instruction of a body.
pub(super) fn instructions<'a, 's>(
    statements: &'a [Statement<'s>],
    each: &mut dyn FnMut(&'a Instruction<'s>),
) {
    let mut open: Vec<std::slice::Iter<'a, Statement<'s>>> = vec![statements.iter()];
    while let Some(top) = open.last_mut() {
        match top.next() {
            Some(Statement::Instruction(instruction)) => each(instruction),
            Some(Statement::Block { statements, .. }) => open.push(statements.iter()),
            Some(_) => {}
            None => {
                open.pop();
            }
        }
    }
}

/// The floating-point types that a kernel computes with.
pub(super) fn floats(kernel: &Function<'_>) -> Vec<Type> {
    let mut found = Vec::new();
    instructions(kernel.statements().unwrap_or_default(), &mut |inst| {
        if !matches!(inst.form.opcode, Opcode::Ld | Opcode::St | Opcode::Mov) {
            found.extend(inst.form.types().iter().filter_map(|ty| match ty {
                ScalarType::F16x2 => Some(Type::F16),
                ScalarType::Bf16x2 => Some(Type::Bf16),
                ty => like(*ty).filter(|ty| ty.is_float()),
            }));
        }
    });
    found
}

/// The parameters of a kernel, in order.
pub(super) fn parameters(kernel: &Function<'_>) -> Vec<Parameter> {
    let mut found = Vec::new();
    for variable in &kernel.params {
        for declared in &variable.names {
            let name = declared.name.text;
            let element = variable.ty.map_or(64, |ty| ty.bits());
            let compound = !declared.dimensions.is_empty() || variable.vector > 1;
            let sizes = declared.dimensions.iter().map(|size| size.unwrap_or(0));
            let size = u64::from(element / 8) * u64::from(variable.vector);
            let mut parts = BTreeMap::new();
            if let (false, Some(ty)) = (compound, variable.ty.and_then(like)) {
                parts.insert(0, Part { ty, pointer: variable.pointer.is_some() });
            }
            let short = name.strip_prefix(kernel.name.text).unwrap_or(name);
            found.push(Parameter {
                name: name.to_owned(),
                short: short.trim_start_matches('_').to_owned(),
                size: sizes.fold(size, u64::saturating_mul),
                compound,
                parts,
            });
        }
    }
    read_parts(kernel, &mut found);
    found
}

/// Adds the parts of the parameters that the body reads.
fn read_parts(kernel: &Function<'_>, parameters: &mut [Parameter]) {
    // The parameter and its part that a register holds. A register that is written twice holds either.
    let mut held: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let mut pointers = Vec::new();
    instructions(kernel.statements().unwrap_or_default(), &mut |inst| match (
        inst.form.opcode,
        &inst.operands[..],
    ) {
        (Opcode::Ld, [to, Operand::Address(from)]) if inst.form.space() == StateSpace::Param => {
            let AddressBase::Name(base) = from.base else { return };
            let Some(index) = parameters.iter().position(|p| p.name == base.text) else {
                return;
            };
            let Some(ty) = inst.form.types().last().copied().and_then(like) else { return };
            let single = std::slice::from_ref(to);
            let elements = if let Operand::Vector(all, _) = to { &all[..] } else { single };
            for (number, element) in elements.iter().enumerate() {
                let Ok(at) = u64::try_from(from.offset) else { continue };
                let at = at + (number * ty.bytes()) as u64;
                let part = Part { ty, pointer: false };
                let known = parameters[index].parts.entry(at).or_insert(part);
                if is_untyped(known.ty) && known.ty.bytes() == ty.bytes() {
                    known.ty = ty;
                }
                if let Operand::Name(register) = element {
                    held.insert(register.text, (index, at));
                }
            }
        }
        (Opcode::Cvta, [_, Operand::Name(from)]) if inst.form.space() == StateSpace::Global => {
            pointers.extend(held.get(from.text));
        }
        (Opcode::Mov, [Operand::Name(to), Operand::Name(from)]) => {
            if let Some(&part) = held.get(from.text) {
                held.insert(to.text, part);
            }
        }
        _ => {}
    });
    for (index, at) in pointers {
        if let Some(part) = parameters[index].parts.get_mut(&at) {
            part.pointer = part.ty.bytes() == 8;
        }
    }
}
