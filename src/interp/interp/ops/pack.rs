//! `mov`: copies, addresses, and packing and unpacking of vectors (PTX ISA, "Data Movement: mov").

use crate::algebra::Meaning;
use crate::interp::decode::{Decoder, Element, Inst, file_of};
use crate::interp::fault::Fault;
use crate::interp::registers::{File, WarpFn, warp};
use crate::isa::Qualifier;
use crate::ptx::Operand;
use crate::ptx::ScalarType::{self, B8, B16, B32, B64, B128, Pred};

/// `mov.type d, a`, where one side may be a vector of smaller elements.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let by_element = inst.take(Qualifier::V2) || inst.take(Qualifier::V4);
    let ty = inst.take_type()?;
    inst.finish()?;
    let (d, a) = (inst.operand(0)?, inst.operand(1)?);
    let vector = |cx: &mut Decoder<'_, 'm, 's>, operand| {
        cx.vector(operand).filter(|elements| elements.len() > 1)
    };
    match (vector(cx, d), vector(cx, a)) {
        (Some(to), Some(from)) if by_element && to.len() == from.len() => {
            copy_elements(cx, ty, &to, &from)
        }
        // With `.v2` or `.v4`, too, a scalar is split into parts for a vector.
        (Some(to), None) => unpack(cx, inst, ty, &to, a),
        (None, Some(from)) if !by_element => pack(cx, inst, ty, d, &from),
        (Some(_), Some(_)) | (None, Some(_)) => Err(inst.unsupported(
            "a move between vectors takes `.v2` or `.v4` and as many elements on both sides",
        )),
        (None, None) if by_element => {
            Err(inst.unsupported("`mov.v2` and `mov.v4` take two vectors"))
        }
        _ if ty == B128 => {
            let (a, d) = (cx.pair(a)?, cx.pair(d)?);
            let copy = warp!(bits 1; |a: u64| -> u64 { a });
            cx.emit_lanes(copy, &[d], &[a]);
            cx.emit_lanes(copy, &[d.plus(1)], &[a.plus(1)]);
            Ok(())
        }
        _ => {
            let run = copy(ty);
            // In old modules the registers of addresses may be wider or narrower than the type.
            if ty != Pred {
                return cx.apply_wide(run, (d, ty), &[(a, ty)]);
            }
            cx.apply(inst, run, ty, &[ty])
        }
    }
}

/// Copies a value, cut to the type: some special registers are wider than the type.
fn copy(ty: ScalarType) -> WarpFn {
    match ty.bits() {
        1 => warp!(bits 1; |a: bool| -> bool { a }),
        2..=8 => warp!(bits 1; |a: u8| -> u8 { a }),
        9..=16 => warp!(bits 1; |a: u16| -> u16 { a }),
        17..=32 => warp!(means Meaning::Copy; bits 1; |a: u32| -> u32 { a }),
        _ => warp!(means Meaning::Copy; bits 1; |a: u64| -> u64 { a }),
    }
}

/// `mov.v2`, `mov.v4`: each element has the type. All elements are read before one is written.
fn copy_elements<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    ty: ScalarType,
    to: &[Element<'m, 's>],
    from: &[Element<'m, 's>],
) -> Result<(), Fault> {
    let run = copy(ty);
    let mut values = Vec::new();
    for &element in from {
        let source = cx.element_source(element, ty)?;
        let value = cx.scratch(file_of(ty));
        cx.emit_lanes(run, &[value], &[source]);
        values.push(value);
    }
    for (&element, value) in to.iter().zip(values) {
        if let Some(d) = cx.element_result(element, ty)? {
            cx.emit_lanes(run, &[d], &[value]);
        }
    }
    Ok(())
}

fn element(inst: &Inst<'_, '_>, ty: ScalarType, count: usize) -> Result<ScalarType, Fault> {
    match (ty.bits() as usize).checked_div(count) {
        Some(8) => Ok(B8),
        Some(16) => Ok(B16),
        Some(32) => Ok(B32),
        Some(64) => Ok(B64),
        _ => Err(inst.bad_type(ty)),
    }
}

fn unpack<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    ty: ScalarType,
    items: &[Element<'m, 's>],
    a: &'m Operand<'s>,
) -> Result<(), Fault> {
    let small = element(inst, ty, items.len())?;
    // The element's bits, counted from the lowest.
    let run = match (ty.bits(), small.bits()) {
        (16, _) => warp!(bits 1; |a: u16, n: u32| -> u8 { (a >> n) as u8 }),
        (32, 8) => warp!(bits 1; |a: u32, n: u32| -> u8 { (a >> n) as u8 }),
        (32, _) => warp!(bits 1; |a: u32, n: u32| -> u16 { (a >> n) as u16 }),
        (64, 8) => warp!(bits 1; |a: u64, n: u32| -> u8 { (a >> n) as u8 }),
        (64, 16) => warp!(bits 1; |a: u64, n: u32| -> u16 { (a >> n) as u16 }),
        (64, _) => warp!(bits 1; |a: u64, n: u32| -> u32 { (a >> n) as u32 }),
        (_, 64) => return unpack_pair(cx, items, a),
        _ => return Err(inst.bad_type(ty)),
    };
    let mut source = cx.source(a, ty)?;
    if inst.ast.form.has(Qualifier::V2) || inst.ast.form.has(Qualifier::V4) {
        // The elements are as wide as the source, which may itself be one of the destinations.
        let other = cx.scratch(file_of(ty));
        cx.emit_lanes(copy(ty), &[other], &[source]);
        source = other;
    }
    for (index, &item) in items.iter().enumerate() {
        if matches!(item, Element::Operand(Operand::Sink(_))) {
            continue;
        }
        let result = cx.element_temporary(item, small)?;
        match (ty.bits(), small.bits(), index) {
            (64, 32, 0) => {
                cx.emit_lanes(warp!(bits 1; |a: u64| -> u32 { a as u32 }), &[result], &[source])
            }
            (64, 32, 1) => {
                cx.emit_lanes(
                    warp!(bits 1; |a: u64| -> u32 { (a >> 32) as u32 }),
                    &[result],
                    &[source],
                );
            }
            _ => {
                let amount = cx.immediate(File::W32, index as u64 * u64::from(small.bits()));
                cx.emit_lanes(run, &[result], &[source, amount]);
            }
        }
        cx.element_store(item, small, result)?;
    }
    Ok(())
}

fn unpack_pair<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    items: &[Element<'m, 's>],
    a: &'m Operand<'s>,
) -> Result<(), Fault> {
    let source = cx.pair(a)?;
    for (index, &item) in items.iter().enumerate() {
        if let Some(d) = cx.element_result(item, B64)? {
            cx.emit_lanes(warp!(bits 1; |a: u64| -> u64 { a }), &[d], &[source.plus(index as u32)]);
        }
    }
    Ok(())
}

fn pack<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    ty: ScalarType,
    d: &'m Operand<'s>,
    items: &[Element<'m, 's>],
) -> Result<(), Fault> {
    let small = element(inst, ty, items.len())?;
    let mut sources = Vec::new();
    for &item in items {
        sources.push(cx.element_source(item, small)?);
    }
    if ty == B128 {
        let d = cx.pair(d)?;
        for (index, &source) in sources.iter().enumerate() {
            cx.emit_lanes(warp!(bits 1; |a: u64| -> u64 { a }), &[d.plus(index as u32)], &[source]);
        }
        return Ok(());
    }
    let pairwise: [WarpFn; 2] = match (ty.bits(), small.bits()) {
        (16, 8) => [warp!(bits 2; |l: u8, h: u8| -> u16 { u16::from_le_bytes([l, h]) }); 2],
        (32, 16) => [warp!(bits 2; |l: u32, h: u32| -> u32 { l & 0xffff | h << 16 }); 2],
        (32, 8) => [
            warp!(bits 2; |l: u8, h: u8| -> u16 { u16::from_le_bytes([l, h]) }),
            warp!(bits 2; |l: u32, h: u32| -> u32 { l & 0xffff | h << 16 }),
        ],
        (64, 32) => {
            [warp!(bits 2; |l: u32, h: u32| -> u64 { u64::from(l) | u64::from(h) << 32 }); 2]
        }
        (64, 16) => [
            warp!(bits 2; |l: u32, h: u32| -> u32 { l & 0xffff | h << 16 }),
            warp!(bits 2; |l: u32, h: u32| -> u64 { u64::from(l) | u64::from(h) << 32 }),
        ],
        _ => return Err(inst.bad_type(ty)),
    };
    let d = cx.dest(d, ty)?;
    match sources[..] {
        [low, high] => cx.emit_lanes(pairwise[0], &[d], &[low, high]),
        [a, b, c, e] => {
            let (low, high) = (cx.scratch(File::W32), cx.scratch(File::W32));
            cx.emit_lanes(pairwise[0], &[low], &[a, b]);
            cx.emit_lanes(pairwise[0], &[high], &[c, e]);
            cx.emit_lanes(pairwise[1], &[d], &[low, high]);
        }
        _ => return Err(inst.bad_type(ty)),
    }
    Ok(())
}
