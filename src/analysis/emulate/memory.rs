//! Loads, stores, atomics: the addresses that they access, the values that they read, the version of
//! memory that they leave behind.

use smallvec::SmallVec;

use super::effects::{Effect, effect, strong};
use super::granule::{Granule, granule};
use super::operands;
use super::state::State;
use super::symbols::{Function, LaneDependence, SymbolInfo, SymbolKind};
use super::trace::Access;
use super::window::Window;
use super::wmma::WmmaMatrix;
use crate::cfg::{Arg, Base, Inst, RegisterId};
use crate::expr::{Range, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::{ScalarType, StateSpace};

/// Emulates a load, a store or an atomic.
pub(super) fn access<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    guard: Option<TermId>,
) {
    let effect = effect(inst);
    let index = record(state, inst, effect, guard);
    match effect {
        Effect::Load => load(state, inst, index, guard),
        Effect::Atomic => operands::forget(state, inst, guard),
        _ => {}
    }
    let access = &state.accesses[index];
    let strong = access.strong.is_some();
    let written = Window::written(access.space);
    if effect == Effect::Atomic || effect == Effect::Load && strong {
        // The access may synchronise with another thread, and in each lane with a different one or at
        // a different time: the lanes' reads from now on need not be uniform.
        state.change_memory(&Window::MEMORY, |_| LaneDependence::Varying);
    } else if effect != Effect::Load {
        let windows = if strong { &Window::MEMORY } else { written };
        match strong {
            true => state.change_memory(windows, |before| LaneDependence::DependsOn(vec![before])),
            false => state.store_memory(windows),
        }
    }
}

/// Adds an instruction to the trace; gives its index there.
pub(super) fn record<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    effect: Effect,
    guard: Option<TermId>,
) -> usize {
    let ast = inst.ast;
    let elements = ast.form.elements().unwrap_or(1);
    let address = inst.args.iter().find_map(|arg| match arg {
        Arg::Memory { base, offset, rest } if rest.is_empty() => Some((*base, *offset)),
        _ => None,
    });
    let accesses_memory = matches!(effect, Effect::Load | Effect::Store | Effect::Atomic);
    let address = match address {
        Some((base, offset)) if accesses_memory => address_of(state, base, offset),
        _ => None,
    };
    let registers = match effect {
        Effect::Load => inst.args.first().map(destinations).unwrap_or_default(),
        _ => SmallVec::new(),
    };
    let values = match effect {
        Effect::Store => stored(state, inst),
        _ => SmallVec::new(),
    };
    let access = Access {
        inst: state.at,
        block: state.block,
        effect,
        space: ast.form.space(),
        address,
        ty: ast.form.last_type(),
        elements,
        values,
        guard,
        guard_settled: inst.guard.is_some_and(|(register, _)| state.is_settled(register)),
        read_only: ast.form.opcode == Opcode::Ldu || ast.form.has(Qualifier::Nc),
        strong: strong(&ast.form),
        registers,
    };
    state.accesses.push(access);
    state.accesses.len() - 1
}

/// Adds what `cp.async`, `ldmatrix`, `stmatrix`, `wmma.load` and `wmma.store` access to [`KernelTrace::moved`](super::KernelTrace::moved).
pub(super) fn moved<'s>(state: &mut State<'_, '_, 's>, inst: &Inst<'_, 's>, guard: Option<TermId>) {
    let form = &inst.ast.form;
    let matrix = WmmaMatrix::of(inst);
    let sides: &[(Effect, usize, StateSpace, u32)] = match (form.opcode, granule(inst)) {
        (Opcode::Wmma, _) => match (matrix, form.has(Qualifier::Store)) {
            (Some(matrix), true) => &[(Effect::Store, 0, form.space(), matrix.part_bytes)],
            (Some(matrix), false) => &[(Effect::Load, 1, form.space(), matrix.part_bytes)],
            (None, _) => return,
        },
        (Opcode::Cp, Some(Granule { bytes, .. })) => &[
            (Effect::Store, 0, StateSpace::Shared, bytes),
            (Effect::Load, 1, StateSpace::Global, bytes),
        ],
        (Opcode::Ldmatrix, Some(Granule { operand, bytes })) => {
            &[(Effect::Load, operand, form.space(), bytes)]
        }
        (_, Some(Granule { operand, bytes })) => &[(Effect::Store, operand, form.space(), bytes)],
        (_, None) => return,
    };
    for &(effect, operand, space, bytes) in sides {
        let Some(&Arg::Memory { base, offset, .. }) = inst.args.get(operand) else { continue };
        let start = address_of(state, base, offset);
        let address = match matrix {
            Some(matrix) => start.and_then(|start| matrix.part(state, inst, start)),
            None => start,
        };
        state.moved.push(Access {
            inst: state.at,
            block: state.block,
            effect,
            space,
            address,
            ty: Some(ScalarType::B32),
            elements: (bytes / 4) as u8,
            values: SmallVec::new(),
            guard,
            guard_settled: false,
            read_only: false,
            strong: None,
            registers: SmallVec::new(),
        });
    }
}

/// The address of a memory operand, as wide as the register it comes from.
fn address_of<'s>(state: &mut State<'_, '_, 's>, base: Base<'s>, offset: i64) -> Option<TermId> {
    let start = match base {
        Base::Register(register) => state.read(register),
        Base::Symbol { name, local } => state.symbols.address(&mut state.arena, name, local, 64),
        Base::Absolute => state.arena.constant(0, 64),
    };
    let usable = state.arena.width(start) >= 32;
    usable.then(|| state.arena.add_constant(start, offset as u64))
}

/// The values of a store's elements, the low bits of each operand ("st": "Operand Size Exceeding
/// Instruction-Type Size").
fn stored<'s>(state: &mut State<'_, '_, 's>, inst: &Inst<'_, 's>) -> SmallVec<[Option<TermId>; 4]> {
    let (Some(&ty), Some(source)) = (inst.ast.form.types().last(), inst.args.get(1)) else {
        return SmallVec::new();
    };
    let known = ty.bits() <= 64;
    let width = ty.bits().min(64) as u8;
    let mut value = |arg: &Arg<'s>| operands::value(state, arg, width).filter(|_| known);
    match source {
        Arg::Vector(elements) => elements.iter().map(value).collect(),
        single => SmallVec::from_iter([value(single)]),
    }
}

fn load<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    index: usize,
    guard: Option<TermId>,
) {
    let access = state.accesses[index].clone();
    let Some(ty) = access.ty else {
        operands::forget(state, inst, guard);
        return;
    };
    for (element, register) in access.registers.iter().enumerate() {
        let Some(register) = *register else { continue };
        let offset = (element as u64) * u64::from(ty.bits() / 8);
        let width = ty.bits().min(64) as u8;
        let value = match parameter(state, inst, offset, width) {
            Some(value) => value,
            None => loaded(state, &access, offset, ty, width),
        };
        operands::write(state, &Arg::Register(register), (value, ty), guard);
    }
}

/// `ld.param` of a kernel parameter or of a call's result.
fn parameter<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    element: u64,
    width: u8,
) -> Option<TermId> {
    if inst.ast.form.space() != StateSpace::Param {
        return None;
    }
    let named = match inst.args.get(1) {
        Some(&Arg::Memory { base: Base::Symbol { name, local: None }, offset, .. }) => {
            Some((name.to_owned(), offset))
        }
        Some(&Arg::Memory { base: Base::Register(register), offset, .. }) => {
            let base = state.read(register);
            state.parameter_at(base).map(|(name, from)| (name, from.wrapping_add(offset)))
        }
        _ => None,
    };
    let Some((name, offset)) = named else { return Some(state.unknown(width)) };
    let offset = offset.wrapping_add(element as i64);
    let kind = SymbolKind::Parameter { name, offset, bits: width };
    let dependence = state.parameter_dependence();
    let info = SymbolInfo { kind, width, dependence, created_in: None };
    Some(state.symbols.term(&mut state.arena, info, Range::full(width)))
}

/// The value that a load reads: a function of the version of memory and the address, so that lanes
/// which read the same bytes at the same time get the same value.
fn loaded<'s>(
    state: &mut State<'_, '_, 's>,
    access: &Access,
    offset: u64,
    ty: ScalarType,
    width: u8,
) -> TermId {
    let shared_by_lanes =
        matches!(access.space, StateSpace::Global | StateSpace::Shared | StateSpace::Const);
    let (Some(address), true, None) = (access.address, shared_by_lanes, access.strong) else {
        return state.unknown(width);
    };
    let constant = access.space == StateSpace::Const || access.read_only;
    let window = if access.space == StateSpace::Shared { Window::Shared } else { Window::Global };
    let version =
        if constant { state.arena.constant(0, 32) } else { state.memory[window as usize] };
    let address = state.arena.add_constant(address, offset);
    let load = Function::Load { space: access.space, bits: ty.bits() };
    let function = state.symbols.function(load);
    state.arena.apply(function, &[version, address], width)
}

fn destinations(arg: &Arg<'_>) -> SmallVec<[Option<RegisterId>; 4]> {
    match arg {
        Arg::Register(register) => SmallVec::from_slice(&[Some(*register)]),
        Arg::Vector(elements) => elements
            .iter()
            .map(|element| match element {
                Arg::Register(register) => Some(*register),
                _ => None,
            })
            .collect(),
        _ => SmallVec::new(),
    }
}
