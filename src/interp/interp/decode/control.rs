//! `bra`, `brx.idx`, `ret`, `exit`, `trap`, and the barriers of a block.

use super::decoder::Decoder;
use super::inst::Inst;
use super::scope::Symbol;
use crate::interp::fault::Fault;
use crate::interp::program::{AT_RETURN, Barrier, BarrierKind, IndexedBranch, Op, Pc};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::{Name, Operand, ScalarType};

/// `bra{.uni} label`.
pub(crate) fn branch<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Uni);
    inst.finish()?;
    let Operand::Name(name) = inst.operand(0)? else {
        return Err(inst.unsupported("the target of a branch is a label"));
    };
    let target = label(cx, *name)?;
    cx.emit(Op::Branch { target, meet: AT_RETURN });
    Ok(())
}

fn label<'s>(cx: &mut Decoder<'_, '_, 's>, name: Name<'s>) -> Result<Pc, Fault> {
    match cx.lookup(name)? {
        Symbol::Label(label) => Ok(label.target()),
        _ => Err(cx.error(name.span, format!("`{}` is not a label", name.text))),
    }
}

/// `brx.idx{.uni} index, list`.
pub(crate) fn indexed_branch<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Idx);
    inst.take(Qualifier::Uni);
    inst.finish()?;
    let index = cx.source(inst.operand(0)?, ScalarType::U32)?;
    let Operand::Name(list) = inst.operand(1)? else {
        return Err(inst.unsupported("the targets of `brx.idx` are a list's label"));
    };
    let Symbol::Targets(list) = cx.lookup(*list)? else {
        return Err(inst.unsupported(format!("`{}` is not a list of branch targets", list.text)));
    };
    let targets = cx.branch_targets(list).iter().map(|&label| label.target()).collect();
    cx.emit(Op::IndexedBranch(Box::new(IndexedBranch { index, targets, meet: AT_RETURN })));
    Ok(())
}

/// `ret{.uni}`, `exit`, `trap`, `brkpt`.
pub(crate) fn leave<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Uni);
    inst.finish()?;
    cx.emit(match inst.ast.form.opcode {
        Opcode::Ret => Op::Return,
        Opcode::Exit => Op::Exit,
        _ => Op::Trap,
    });
    Ok(())
}

/// `bar{.cta}.{sync,arrive,red}`, `barrier{.cta}.*{.aligned}`.
pub(crate) fn barrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Cta);
    // `bar` is `barrier.aligned` (PTX ISA, "barrier").
    let aligned = inst.take(Qualifier::Aligned) || inst.ast.form.opcode == Opcode::Bar;
    let operands = inst.operands();
    let mut rest = 1;
    let sync = inst.take(Qualifier::Sync);
    let mut result = None;
    if !sync && !inst.take(Qualifier::Arrive) {
        if !inst.take(Qualifier::Red) {
            return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
        }
        let operation = inst.take_one_of(&[Qualifier::Popc, Qualifier::And, Qualifier::Or]);
        let ty = inst.take_type()?;
        let Some((Operand::Name(last), negated)) = operands.last().map(|last| match last {
            Operand::Not(name) => (Operand::Name(*name), true),
            other => (other.clone(), false),
        }) else {
            return Err(inst.unsupported("the last operand of a barrier reduction is a predicate"));
        };
        let Some(predicate) = cx.register(last) else {
            return Err(inst.unsupported("the last operand of a barrier reduction is a predicate"));
        };
        let d = cx.dest(inst.operand(0)?, ty)?;
        let p = predicate.slot;
        result = Some(match operation {
            Some(Qualifier::Popc) => BarrierKind::Popc { d, p, negated },
            Some(Qualifier::And) => BarrierKind::And { d, p, negated },
            _ => BarrierKind::Or { d, p, negated },
        });
        rest = 2;
    }
    inst.finish()?;
    let end = operands.len() - usize::from(result.is_some());
    let id = Some(cx.source(inst.operand(rest - 1)?, ScalarType::U32)?);
    let threads = match operands.get(rest..end) {
        Some([threads]) => Some(cx.source(threads, ScalarType::U32)?),
        Some([]) => None,
        _ => return Err(inst.unsupported("wrong number of operands of a barrier")),
    };
    let kind = result.unwrap_or(if sync { BarrierKind::Sync } else { BarrierKind::Arrive });
    if matches!(kind, BarrierKind::Arrive) && threads.is_none() {
        return Err(inst.unsupported("a barrier arrival needs a thread count"));
    }
    cx.emit(Op::Barrier(Box::new(Barrier { id, threads, kind, aligned })));
    Ok(())
}
