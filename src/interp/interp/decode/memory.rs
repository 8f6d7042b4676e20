//! `ld`, `st`, `atom`, `red`, `cp.async`, `cvta`, `isspacep` (PTX ISA, "Data Movement and
//! Conversion Instructions").

use super::atomic::{self as atomics};
use super::decoder::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use super::transaction;
use super::vector::Element;
use crate::interp::exec::format_of;
use crate::interp::fault::Fault;
use crate::interp::program::transaction::CopyGroup;
use crate::interp::program::{
    Atomic, CopyAsync, CopyLimit, Destination, Load, Op, Order, Scope, Store,
};
use crate::interp::registers::{File, Slot, WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{self, B128, Pred, U32, U64};
use crate::ptx::{Operand, StateSpace, Value};

/// Modifiers that only concern the speed of an access or its visibility, never the moved bytes.
fn is_hint(modifier: Qualifier) -> bool {
    matches!(
        modifier,
        Qualifier::Nc
            | Qualifier::Ca
            | Qualifier::Cg
            | Qualifier::Cs
            | Qualifier::Lu
            | Qualifier::Cv
            | Qualifier::Wb
            | Qualifier::Wt
            | Qualifier::Weak
            | Qualifier::Volatile
            | Qualifier::Relaxed
            | Qualifier::Acquire
            | Qualifier::Release
            | Qualifier::AcqRel
            | Qualifier::Sc
            | Qualifier::Mmio
            | Qualifier::Cta
            | Qualifier::Gpu
            | Qualifier::Sys
            | Qualifier::Cluster
            | Qualifier::Unified
            | Qualifier::Noftz
            | Qualifier::NonCoherent
            | Qualifier::L1EvictNormal
            | Qualifier::L1EvictUnchanged
            | Qualifier::L1EvictFirst
            | Qualifier::L1EvictLast
            | Qualifier::L1NoAllocate
            | Qualifier::L2EvictNormal
            | Qualifier::L2EvictUnchanged
            | Qualifier::L2EvictFirst
            | Qualifier::L2EvictLast
            | Qualifier::L2CacheHint
            | Qualifier::L2Bytes64
            | Qualifier::L2Bytes128
            | Qualifier::L2Bytes256
    )
}

/// The memory order of an access; none if it is weak.
fn order(inst: &Inst<'_, '_>) -> Option<Order> {
    let strong = inst.ast.form.has_any(&[
        Qualifier::Volatile,
        Qualifier::Relaxed,
        Qualifier::Acquire,
        Qualifier::Release,
        Qualifier::Mmio,
    ]);
    strong.then(|| order_of(inst))
}

/// The memory order of a strong access.
fn order_of(inst: &Inst<'_, '_>) -> Order {
    let both = inst.ast.form.has(Qualifier::AcqRel);
    Order {
        scope: scope(inst),
        acquires: both || inst.ast.form.has(Qualifier::Acquire),
        releases: both || inst.ast.form.has(Qualifier::Release),
        polls: false,
    }
}

/// The scope that an instruction names; that of the device where it names none.
fn scope(inst: &Inst<'_, '_>) -> Scope {
    match inst.ast.form.has_any(&[Qualifier::Cta, Qualifier::Cluster]) {
        true => Scope::Block,
        false => Scope::Device,
    }
}

/// `membar`, `fence`.
pub(crate) fn fence<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
) -> Result<(), Fault> {
    let form = &inst.ast.form;
    let orders = !form.has(Qualifier::Proxy)
        && form.has_any(&[
            Qualifier::Cta,
            Qualifier::Cluster,
            Qualifier::Gpu,
            Qualifier::Gl,
            Qualifier::Sys,
        ]);
    cx.emit(Op::Fence(orders.then(|| scope(inst))));
    Ok(())
}

/// How many elements of how many bytes move, and in what steps.
struct Shape {
    ty: ScalarType,
    bytes: u32,
    align: u32,
}

fn shape<'m, 's>(inst: &mut Inst<'m, 's>) -> Result<(StateSpace, Shape), Fault> {
    inst.drop_hints(is_hint);
    let space = inst.take_space();
    let count = inst.take_qualifier(|m| match m {
        Qualifier::V2 => Some(2),
        Qualifier::V4 => Some(4),
        Qualifier::V8 => Some(8),
        _ => None,
    });
    let ty = inst.take_type()?;
    inst.finish()?;
    if ty == Pred {
        return Err(inst.bad_type(ty));
    }
    let bytes = ty.bits() / 8;
    Ok((space, Shape { ty, bytes: bytes.min(8), align: bytes * count.unwrap_or(1) }))
}

fn check_count(inst: &Inst<'_, '_>, shape: &Shape, count: usize) -> Result<(), Fault> {
    if count as u32 * (shape.ty.bits() / 8) == shape.align {
        return Ok(());
    }
    Err(inst
        .unsupported("the vector operand does not have as many elements as the instruction says"))
}

/// `ld`, `ldu`.
pub(crate) fn load<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let (order, read_only) = (order(inst), inst.ast.form.has(Qualifier::Nc));
    let (space, shape) = shape(inst)?;
    let place = cx.place(inst.operand(1)?, space)?;
    let items = cx.elements(inst.operand(0)?);
    check_count(inst, &shape, items.len())?;
    let mut dests = Vec::new();
    for item in items {
        if shape.ty == B128 {
            let slot = cx.element_pair(item)?;
            for slot in [slot, slot.plus(1)] {
                dests.push(Some(Destination { file: File::W64, slot, sign_to: 0 }));
            }
        } else {
            dests.push(cx.element_dest(item, shape.ty)?);
        }
    }
    let Shape { bytes, align, .. } = shape;
    cx.emit(Op::Load(Box::new(Load { place, bytes, align, dests, order, read_only })));
    Ok(())
}

/// `st`.
pub(crate) fn store<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let order = order(inst);
    let (space, shape) = shape(inst)?;
    let place = cx.place(inst.operand(0)?, space)?;
    let items = cx.elements(inst.operand(1)?);
    check_count(inst, &shape, items.len())?;
    let mut sources = Vec::new();
    for item in items {
        if shape.ty == B128 {
            let slot = cx.element_pair(item)?;
            sources.extend([(File::W64, slot), (File::W64, slot.plus(1))]);
        } else {
            sources.push((file_of(shape.ty), cx.element_source(item, shape.ty)?));
        }
    }
    let Shape { bytes, align, .. } = shape;
    cx.emit(Op::Store(Box::new(Store { place, bytes, align, sources, order })));
    Ok(())
}

/// `atom{.sem}{.scope}{.space}.op{.vec}.type d, [a], b{, c}` and `red`.
pub(crate) fn atomic<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    if inst.ast.form.has(Qualifier::Async) {
        return Err(inst.unsupported("`red.async` is not modelled"));
    }
    let returns = inst.opcode() == Opcode::Atom;
    let order = order_of(inst);
    let operation = inst.take_one_of(&atomics::OPERATIONS);
    let (space, shape) = shape(inst)?;
    let Some(operation) = operation else {
        return Err(inst.unsupported("this atomic operation is not modelled"));
    };
    let at = usize::from(returns);
    let place = cx.place(inst.operand(at)?, space)?;
    let Shape { ty, bytes, align } = shape;
    if ty == B128 {
        let compare = operation == Qualifier::Cas;
        let d = (File::W64, cx.pair(inst.operand(0)?)?);
        let b = (File::W64, cx.pair(inst.operand(2)?)?);
        let c = if compare { Some((File::W64, cx.pair(inst.operand(3)?)?)) } else { None };
        let (elements, run) = (vec![(Some(d), b)], atomics::keep as _);
        let wide = Some(compare);
        cx.emit(Op::Atomic(Box::new(Atomic {
            place,
            bytes,
            align,
            run,
            elements,
            c,
            exchanges: !compare,
            wide,
            order,
            sum: None,
        })));
        return Ok(());
    }
    let flush = space != StateSpace::Shared;
    let run = atomics::operation(operation, ty, flush).ok_or_else(|| inst.bad_type(ty))?;
    let values = cx.elements(inst.operand(at + 1)?);
    check_count(inst, &shape, values.len())?;
    let mut pairs = Vec::new();
    let results = if returns { cx.elements(inst.operand(0)?) } else { Vec::new() };
    for (index, value) in values.into_iter().enumerate() {
        let value = match value {
            Element::Operand(operand) => cx.source(operand, ty)?,
            element => cx.element_source(element, ty)?,
        };
        let b = (file_of(ty), value);
        let d = match results.get(index) {
            Some(&element) => cx.element_result(element, ty)?.map(|slot| (file_of(ty), slot)),
            None => None,
        };
        pairs.push((d, b));
    }
    let c = match operation {
        Qualifier::Cas => Some((file_of(ty), cx.source(inst.operand(at + 2)?, ty)?)),
        _ => None,
    };
    let (elements, wide, exchanges) = (pairs, None, operation == Qualifier::Exch);
    let sum = if operation == Qualifier::Add { format_of(ty) } else { None };
    cx.emit(Op::Atomic(Box::new(Atomic {
        place,
        bytes,
        align,
        run,
        elements,
        c,
        exchanges,
        wide,
        order,
        sum,
    })));
    Ok(())
}

/// `cp.async.{ca,cg}.shared.global [dst], [src], bytes{, src-size | ignore}`, and the instructions on
/// groups of copies.
pub(crate) fn copy_async<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match () {
        () if inst.ast.form.has(Qualifier::Bulk) => return transaction::copy_bulk(cx, inst),
        () if inst.ast.form.has(Qualifier::Mbarrier) => return transaction::copy_arrives(cx, inst),
        () if inst.take(Qualifier::Async) => {}
        () => return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text))),
    }
    let group = match () {
        () if inst.ast.form.has(Qualifier::CommitGroup) => Some(CopyGroup::Commit),
        () if inst.ast.form.has(Qualifier::WaitAll) => Some(CopyGroup::All),
        () if inst.ast.form.has(Qualifier::WaitGroup) => match inst.operand(0)? {
            Operand::Immediate(immediate) => match immediate.value {
                Value::Signed(keep @ 0..) => Some(CopyGroup::Wait(keep as usize)),
                Value::Unsigned(keep) => Some(CopyGroup::Wait(keep as usize)),
                _ => return Err(inst.unsupported("a wait leaves out 0 groups or more")),
            },
            _ => return Err(inst.unsupported("a wait leaves out a constant number of groups")),
        },
        () => None,
    };
    if let Some(group) = group {
        cx.emit(Op::CopyGroup(group));
        return Ok(());
    }
    inst.drop_hints(is_hint);
    let (to, from) = (inst.take_space(), inst.take_space());
    inst.finish()?;
    let to = cx.place(inst.operand(0)?, to)?;
    let from = cx.place(inst.operand(1)?, from)?;
    let bytes = match inst.operand(2)? {
        Operand::Immediate(immediate) => match immediate.value {
            Value::Signed(v @ (4 | 8 | 16)) => v as u32,
            Value::Unsigned(v @ (4 | 8 | 16)) => v as u32,
            _ => return Err(inst.unsupported("`cp.async` copies 4, 8 or 16 bytes")),
        },
        _ => return Err(inst.unsupported("`cp.async` copies 4, 8 or 16 bytes")),
    };
    let limit = match inst.operands().get(3) {
        None => CopyLimit::All,
        Some(Operand::Name(name)) => match cx.register(*name) {
            Some(register) if register.file == File::Pred => CopyLimit::Ignore(register.slot),
            _ => CopyLimit::Bytes(cx.source(inst.operand(3)?, U32)?),
        },
        Some(_) => CopyLimit::Bytes(cx.source(inst.operand(3)?, U32)?),
    };
    cx.emit(Op::CopyAsync(Box::new(CopyAsync { to, from, bytes, limit })));
    Ok(())
}

/// `cvta{.to}.space.size d, a` and `isspacep.space p, a`.
pub(crate) fn address<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let to = inst.take(Qualifier::To);
    let space = inst.take_space();
    if inst.opcode() == Opcode::Isspacep {
        inst.finish()?;
        let (p, a) = (cx.dest(inst.operand(0)?, Pred)?, inst.operand(1)?);
        let ty = match a {
            Operand::Name(name) if cx.register(*name).is_some_and(|r| r.file == File::W32) => U32,
            _ => U64,
        };
        let mut a = cx.source(a, ty)?;
        if ty == U32 {
            let wide = cx.scratch(File::W64);
            cx.emit_lanes(warp!(bits 1; |a: u32| -> u64 { u64::from(a) }), &[wide], &[a]);
            a = wide;
        }
        cx.emit(Op::IsSpace(p, a, space));
        return Ok(());
    }
    let ty = inst.take_type()?;
    inst.finish()?;
    let base = cx.unit.layout.window_base(space);
    let run: WarpFn = match (ty.bits(), to) {
        (64, false) => warp!(as Sum; |a: u64, base: u64| -> u64 { a.wrapping_add(base) }),
        (64, true) => warp!(as Sum; |a: u64, base: u64| -> u64 { a.wrapping_sub(base) }),
        (32, false) => warp!(as Sum; |a: u32, base: u32| -> u32 { a.wrapping_add(base) }),
        (32, true) => warp!(as Sum; |a: u32, base: u32| -> u32 { a.wrapping_sub(base) }),
        _ => return Err(inst.bad_type(ty)),
    };
    let base = cx.immediate(file_of(ty), base);
    let a = cx.source(inst.operand(1)?, ty)?;
    let d = cx.dest(inst.operand(0)?, ty)?;
    cx.emit_lanes(run, &[d], &[a, base]);
    Ok(())
}

impl<'m, 's> Decoder<'_, 'm, 's> {
    /// The first of the two slots of a 128-bit register.
    ///
    /// # Errors The operand is not such a register.
    pub(crate) fn pair(&mut self, operand: &'m Operand<'s>) -> Result<Slot, Fault> {
        let register = match operand {
            Operand::Name(name) => self.register(*name),
            _ => None,
        };
        match register {
            Some(register) if register.bits == 128 => Ok(register.slot),
            _ => Err(self.error(operand.span(), "a 128-bit register is expected here")),
        }
    }
}
