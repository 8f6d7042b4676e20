//! What the lanes of a warp do together: `shfl`, `vote`, `match`, `redux`, `bar.warp.sync`,
//! `elect`, `activemask`.

use super::body::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use crate::interp::fault::Fault;
use crate::interp::program::{Collective, CollectiveKind, Op, Reduction, Shuffle};
use crate::interp::registers::{File, Slot};
use crate::ptx::{Operand, ScalarType};

const MASK: ScalarType = ScalarType::B32;

type Results = (Option<Slot>, Option<Slot>);

/// `d`, `d|p`, where either may be `_`.
fn results<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    operand: &'m Operand<'s>,
    ty: ScalarType,
) -> Result<Results, Fault> {
    let mut one = |operand: &'m Operand<'s>, ty| match operand {
        Operand::Sink(_) => Ok(None),
        _ => cx.dest(operand, ty).map(Some),
    };
    match operand {
        Operand::Pair(pair) => Ok((one(&pair[0], ty)?, one(&pair[1], ScalarType::Pred)?)),
        single => Ok((one(single, ty)?, None)),
    }
}

fn emit(cx: &mut Decoder<'_, '_, '_>, collective: Collective) {
    cx.emit(Op::Collective(Box::new(collective)));
}

/// `shfl{.sync}.mode.b32 d{|p}, a, b, c{, members}`.
pub fn shuffle<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let sync = inst.take("sync");
    let mode = inst.take_with(|m| {
        Some(match m {
            "up" => Shuffle::Up,
            "down" => Shuffle::Down,
            "bfly" => Shuffle::Bfly,
            "idx" => Shuffle::Idx,
            _ => return None,
        })
    });
    let Some(mode) = mode else { return Err(inst.unsupported("a shuffle needs a mode")) };
    let ty = inst.take_type()?;
    inst.finish()?;
    if file_of(ty) != File::W32 {
        return Err(inst.bad_type(ty));
    }
    let mut s = [0; 3];
    for (index, slot) in s.iter_mut().enumerate() {
        *slot = cx.source(inst.operand(index + 1)?, MASK)?;
    }
    let members = if sync { Some(cx.source(inst.operand(4)?, MASK)?) } else { None };
    let (d, p) = results(cx, inst.operand(0)?, ty)?;
    let kind = CollectiveKind::Shuffle(mode);
    emit(cx, Collective { kind, members, s, negated: false, d, p });
    Ok(())
}

/// `vote{.sync}.{all,any,uni}.pred`, `vote{.sync}.ballot.b32`.
pub fn vote<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let sync = inst.take("sync");
    let kind = inst.take_with(|m| {
        Some(match m {
            "all" => CollectiveKind::All,
            "any" => CollectiveKind::Any,
            "uni" => CollectiveKind::Uni,
            "ballot" => CollectiveKind::Ballot,
            _ => return None,
        })
    });
    let Some(kind) = kind else { return Err(inst.unsupported("a vote needs a mode")) };
    let ty = inst.take_type()?;
    inst.finish()?;
    let (operand, negated) = match inst.operand(1)? {
        Operand::Not(name) => (cx.register(*name).map(|r| r.slot), true),
        other => (Some(cx.source(other, ScalarType::Pred)?), false),
    };
    let Some(source) = operand else { return Err(inst.unsupported("a vote needs a predicate")) };
    let members = if sync { Some(cx.source(inst.operand(2)?, MASK)?) } else { None };
    let (d, p) = results(cx, inst.operand(0)?, ty)?;
    emit(cx, Collective { kind, members, s: [source, 0, 0], negated, d, p });
    Ok(())
}

/// `match.{any,all}.sync.{b32,b64} d{|p}, a, members`.
pub fn matching<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take("sync");
    let any = inst.take("any");
    if !any && !inst.take("all") {
        return Err(inst.unsupported("`match` needs a mode"));
    }
    let ty = inst.take_type()?;
    inst.finish()?;
    let file = file_of(ty);
    let kind = if any { CollectiveKind::MatchAny(file) } else { CollectiveKind::MatchAll(file) };
    let source = cx.source(inst.operand(1)?, ty)?;
    let members = Some(cx.source(inst.operand(2)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, MASK)?;
    emit(cx, Collective { kind, members, s: [source, 0, 0], negated: false, d, p });
    Ok(())
}

/// `redux.sync.op.type d, a, members`.
pub fn reduction<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take("sync");
    let operation = inst.take_with(|m| {
        ["add", "min", "max", "and", "or", "xor"].into_iter().find(|&name| name == m)
    });
    let (abs, nan) = (inst.take("abs"), inst.take("NaN"));
    let ty = inst.take_type()?;
    inst.finish()?;
    let operation = match (operation, ty) {
        (Some("add"), ScalarType::U32 | ScalarType::S32) => Reduction::Add,
        (Some("min"), ScalarType::U32) => Reduction::MinU,
        (Some("max"), ScalarType::U32) => Reduction::MaxU,
        (Some("min"), ScalarType::S32) => Reduction::MinS,
        (Some("max"), ScalarType::S32) => Reduction::MaxS,
        (Some("and"), ScalarType::B32) => Reduction::And,
        (Some("or"), ScalarType::B32) => Reduction::Or,
        (Some("xor"), ScalarType::B32) => Reduction::Xor,
        (Some("min"), ScalarType::F32) => Reduction::Float { max: false, abs, nan },
        (Some("max"), ScalarType::F32) => Reduction::Float { max: true, abs, nan },
        _ => return Err(inst.bad_type(ty)),
    };
    let source = cx.source(inst.operand(1)?, ty)?;
    let members = Some(cx.source(inst.operand(2)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, ty)?;
    let kind = CollectiveKind::Redux(operation);
    emit(cx, Collective { kind, members, s: [source, 0, 0], negated: false, d, p });
    Ok(())
}

/// `bar.warp.sync members`.
pub fn warp_barrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take("warp");
    inst.take("sync");
    inst.finish()?;
    let members = Some(cx.source(inst.operand(0)?, MASK)?);
    let kind = CollectiveKind::Sync;
    emit(cx, Collective { kind, members, s: [0; 3], negated: false, d: None, p: None });
    Ok(())
}

/// `elect.sync d|p, members`.
pub fn elect<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    inst.take("sync");
    inst.finish()?;
    let members = Some(cx.source(inst.operand(1)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, MASK)?;
    let kind = CollectiveKind::Elect;
    emit(cx, Collective { kind, members, s: [0; 3], negated: false, d, p });
    Ok(())
}

/// `activemask.b32 d`.
pub fn active_mask<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ty = inst.take_type()?;
    inst.finish()?;
    let d = cx.dest(inst.operand(0)?, ty)?;
    cx.emit(Op::ActiveMask(d));
    Ok(())
}
