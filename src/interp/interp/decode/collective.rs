//! Warp-wide instructions: `shfl`, `vote`, `match`, `redux`, `bar.warp.sync`,
//! `elect`, `activemask`.

use super::decoder::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use crate::interp::fault::Fault;
use crate::interp::program::{Collective, CollectiveKind, Op, Reduction, Shuffle};
use crate::interp::registers::{File, Slot};
use crate::isa::Qualifier;
use crate::ptx::{Operand, ScalarType};

const MASK: ScalarType = ScalarType::B32;

type Results = (Option<Slot>, Option<Slot>);

/// In the place of an operand that an instruction does not have.
const NONE: Slot = Slot(0);

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
pub(crate) fn shuffle<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let sync = inst.take(Qualifier::Sync);
    let mode = inst.take_qualifier(|m| {
        Some(match m {
            Qualifier::Up => Shuffle::Up,
            Qualifier::Down => Shuffle::Down,
            Qualifier::Bfly => Shuffle::Bfly,
            Qualifier::Idx => Shuffle::Idx,
            _ => return None,
        })
    });
    let Some(mode) = mode else { return Err(inst.unsupported("a shuffle needs a mode")) };
    let ty = inst.take_type()?;
    inst.finish()?;
    if file_of(ty) != File::W32 {
        return Err(inst.bad_type(ty));
    }
    let mut s = [NONE; 3];
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
pub(crate) fn vote<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let sync = inst.take(Qualifier::Sync);
    let kind = inst.take_qualifier(|m| {
        Some(match m {
            Qualifier::All => CollectiveKind::All,
            Qualifier::Any => CollectiveKind::Any,
            Qualifier::Uni => CollectiveKind::Uni,
            Qualifier::Ballot => CollectiveKind::Ballot,
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
    emit(cx, Collective { kind, members, s: [source, NONE, NONE], negated, d, p });
    Ok(())
}

/// `match.{any,all}.sync.{b32,b64} d{|p}, a, members`.
pub(crate) fn matching<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Sync);
    let any = inst.take(Qualifier::Any);
    if !any && !inst.take(Qualifier::All) {
        return Err(inst.unsupported("`match` needs a mode"));
    }
    let ty = inst.take_type()?;
    inst.finish()?;
    let file = file_of(ty);
    let kind = if any { CollectiveKind::MatchAny(file) } else { CollectiveKind::MatchAll(file) };
    let source = cx.source(inst.operand(1)?, ty)?;
    let members = Some(cx.source(inst.operand(2)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, MASK)?;
    emit(cx, Collective { kind, members, s: [source, NONE, NONE], negated: false, d, p });
    Ok(())
}

/// `redux.sync.op.type d, a, members`.
pub(crate) fn reduction<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Sync);
    let operation = inst.take_one_of(&[
        Qualifier::Add,
        Qualifier::Min,
        Qualifier::Max,
        Qualifier::And,
        Qualifier::Or,
        Qualifier::Xor,
    ]);
    let (abs, nan) = (inst.take(Qualifier::Abs), inst.take(Qualifier::PropagateNan));
    let ty = inst.take_type()?;
    inst.finish()?;
    let operation = match (operation, ty) {
        (Some(Qualifier::Add), ScalarType::U32 | ScalarType::S32) => Reduction::Add,
        (Some(Qualifier::Min), ScalarType::U32) => Reduction::MinU,
        (Some(Qualifier::Max), ScalarType::U32) => Reduction::MaxU,
        (Some(Qualifier::Min), ScalarType::S32) => Reduction::MinS,
        (Some(Qualifier::Max), ScalarType::S32) => Reduction::MaxS,
        (Some(Qualifier::And), ScalarType::B32) => Reduction::And,
        (Some(Qualifier::Or), ScalarType::B32) => Reduction::Or,
        (Some(Qualifier::Xor), ScalarType::B32) => Reduction::Xor,
        (Some(Qualifier::Min), ScalarType::F32) => Reduction::Float { max: false, abs, nan },
        (Some(Qualifier::Max), ScalarType::F32) => Reduction::Float { max: true, abs, nan },
        _ => return Err(inst.bad_type(ty)),
    };
    let source = cx.source(inst.operand(1)?, ty)?;
    let members = Some(cx.source(inst.operand(2)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, ty)?;
    let kind = CollectiveKind::Redux(operation);
    emit(cx, Collective { kind, members, s: [source, NONE, NONE], negated: false, d, p });
    Ok(())
}

/// `bar.warp.sync members`.
pub(crate) fn warp_barrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Warp);
    inst.take(Qualifier::Sync);
    inst.finish()?;
    let members = Some(cx.source(inst.operand(0)?, MASK)?);
    let kind = CollectiveKind::Sync;
    emit(cx, Collective { kind, members, s: [NONE; 3], negated: false, d: None, p: None });
    Ok(())
}

/// `elect.sync d|p, members`.
pub(crate) fn elect<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Sync);
    inst.finish()?;
    let members = Some(cx.source(inst.operand(1)?, MASK)?);
    let (d, p) = results(cx, inst.operand(0)?, MASK)?;
    let kind = CollectiveKind::Elect;
    emit(cx, Collective { kind, members, s: [NONE; 3], negated: false, d, p });
    Ok(())
}

/// `activemask.b32 d`.
pub(crate) fn active_mask<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ty = inst.take_type()?;
    inst.finish()?;
    let d = cx.dest(inst.operand(0)?, ty)?;
    cx.emit(Op::ActiveMask(d));
    Ok(())
}
